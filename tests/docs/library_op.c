/* tests/docs/library_op.c: the op of the guide's chapter "An op in the library", with the test that stands there. */
#include <math.h>
#include <stdio.h>

#include <ascgrad/ascgrad.h>

#include "guide/an_op_in_the_library_02.h"

extern const asc_op asc_op_wave;

static asc_ctx *ctx;
static int failed;

/* What tests/ops/ has under these names. */
#define VALUES(...) (const double[]){__VA_ARGS__}
#define START_TEST(name) static void test_##name(void)
#define END_TEST

static asc_tensor given(asc_dtype dtype, const double *values, int ndim, const int64_t *shape)
{
    asc_tensor t = asc_cast(ctx, asc_from(ctx, ASC_F64, values, ndim, shape), dtype);
    t = asc_detach(ctx, t);
    asc_require_grad(t, true);
    return t;
}

static void backward_of_sum(asc_tensor y)
{
    asc_backward(ctx, asc_sum(ctx, y, ASC_ALL_DIMS, false), asc_null(), false);
}

static void expect_values(asc_tensor got, const double *values)
{
    const float *x = asc_data(got);
    for (int64_t i = 0; i < asc_numel(got); i++) {
        if (!x || fabs((double)x[i] - values[i]) > 1e-6) {
            printf("value %lld is %g, expected %g\n", (long long)i, x ? (double)x[i] : NAN, values[i]);
            failed = 1;
        }
    }
}

#include "guide/an_op_in_the_library_03.h"

int main(void)
{
    ctx = asc_ctx_new(NULL);
    test_wave();
    asc_gradcheck_report report = {0};
    asc_gradcheck(ctx, &asc_op_wave, NULL, &report);
    if (asc_error(ctx) || !report.passed) {
        printf("%s\n", asc_error(ctx) ? asc_error_message(ctx) : "wave does not pass its check");
        failed = 1;
    }
    asc_ctx_free(ctx);
    return failed;
}
