/* tests/nn/test_precision.c: products of operands rounded to bfloat16 in models of every mixing: gradients beside those
 * of float32, tensor by tensor; the same bits for any number of threads; what stays as it was. */
#include <math.h>
#include <stdio.h>

#include <ascgrad/mixing.h>
#include <ascgrad/ops.h>

#include "tensor/cpu.h"
#include "tests/nn/model.h"
#include "tests/threads.h"

enum { B = 2, N = 70, V = 300, D = 32, LAYERS = 2 };

static const char *const models[] = {
    "\"mix\":\"transformer\",\"heads\":2",
    "\"mix\":\"transformer\",\"heads\":2,\"activation\":\"swiglu\",\"window\":9,\"globals\":2,\"random\":2",
    "\"mix\":\"grassmann\",\"r\":12,\"offsets\":[1,2,5]",
    "\"mix\":\"ascender\",\"heads\":2,\"k\":5",
    "\"mix\":\"ascender\",\"heads\":2,\"variant\":\"background\",\"k\":5",
    "\"mix\":\"linear\",\"heads\":2",
    "\"mix\":\"conv\"",
    "\"mix\":\"recurrent\"",
};
enum { MODELS = sizeof models / sizeof *models };

static asc_lm *make(const char *keys, asc_dtype dtype)
{
    char config[400];
    snprintf(config, sizeof config, "{%s,\"d_model\":%d,\"d_ff\":%d,\"layers\":%d,\"vocab\":%d,\"block\":%d}", keys, D,
             2 * D, LAYERS, V, N);
    asc_lm *lm = asc_lm_new(ctx, config, dtype, 3);
    no_error();
    return lm;
}

/* The loss of random tokens, with gradients. */
static double pass(asc_lm *lm, asc_precision precision)
{
    int64_t x[B * N + 1];
    for (int i = 0; i <= B * N; i++) {
        x[i] = (i * 7919 + i / 5 * 31) % V;
    }
    double loss;
    ck_assert_int_eq(asc_set_precision(ctx, precision), ASC_OK);
    asc_params_zero_grad(asc_lm_params(lm));
    asc_scope_begin(ctx);
    asc_tensor objective = asc_lm_objective(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, N)),
                                            asc_from(ctx, ASC_I64, x + 1, ASC_SHAPE(B, N)), &loss);
    asc_backward(ctx, objective, asc_null(), false);
    asc_scope_end(ctx);
    no_error();
    return loss;
}

/* ‖g - h‖ and ‖h‖ of a parameter's gradients. */
static void compare(asc_tensor g, asc_tensor h, double *apart, double *size)
{
    bool none = asc_is_null(asc_grad(g));
    ck_assert(asc_is_null(asc_grad(h)) == none);
    const float *a = none ? NULL : asc_data(asc_grad(g)), *b = none ? NULL : asc_data(asc_grad(h));
    double distance = 0, norm = 0;
    for (int64_t i = 0; i < asc_numel(g) && !none; i++) {
        distance += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    *apart = sqrt(distance);
    *size = sqrt(norm);
}

/* Operands are off by 2^-9 of themselves at most: a loss of some nats by less than 2^-9 of itself, a tensor's gradient,
 * behind layers of products, by some percent of its norm, or one of all gradients' where its own is small: ASCender's
 * neighbours and thresholds may tip over. */
START_TEST(gradients_beside_float32)
{
    asc_lm *lm = make(models[_i], ASC_F32), *exact = make(models[_i], ASC_F32);
    double loss = pass(lm, ASC_PRECISION_BF16), want = pass(exact, ASC_PRECISION_F32), all = 0;
    int changed = 0;
    ck_assert_double_le(fabs(loss - want), 0x1p-9 * want);
    for (int i = 0; i < asc_params_count(asc_lm_params(lm)); i++) {
        double apart, size;
        compare(asc_params_at(asc_lm_params(lm), i), asc_params_at(asc_lm_params(exact), i), &apart, &size);
        all = hypot(all, size);
    }
    for (int i = 0; i < asc_params_count(asc_lm_params(lm)); i++) {
        double apart, size;
        compare(asc_params_at(asc_lm_params(lm), i), asc_params_at(asc_lm_params(exact), i), &apart, &size);
        ck_assert_msg(apart <= .04 * size + .01 * all, "%s: off by %g of %g (all: %g)",
                      asc_params_name(asc_lm_params(lm), i), apart, size, all);
        changed += apart > 0;
    }
    ck_assert_int_gt(changed, 0);
    ck_assert_double_eq(pass(lm, ASC_PRECISION_F32), want); /* and back */
    for (int i = 0; i < asc_params_count(asc_lm_params(lm)); i++) {
        double apart, size;
        compare(asc_params_at(asc_lm_params(lm), i), asc_params_at(asc_lm_params(exact), i), &apart, &size);
        ck_assert_double_eq(apart, 0);
    }
    asc_lm_free(lm);
    asc_lm_free(exact);
}
END_TEST

START_TEST(double_stays)
{
    asc_lm *lm = make(models[_i], ASC_F64);
    double want = pass(lm, ASC_PRECISION_F32);
    ck_assert_double_eq(pass(lm, ASC_PRECISION_BF16), want);
    asc_lm_free(lm);
}
END_TEST

static void run_model(asc_tensor *result, int i)
{
    asc_lm *lm = make(models[i], ASC_F32);
    pass(lm, ASC_PRECISION_BF16);
    asc_params *params = asc_lm_params(lm);
    for (int k = 0; k < asc_params_count(params) && k < MOST_RESULTS; k++) {
        asc_tensor g = asc_grad(asc_params_at(params, k));
        result[k] = asc_is_null(g) ? g : asc_from(ctx, ASC_F32, asc_data(g), ASC_SHAPE(asc_numel(g)));
    }
    asc_lm_free(lm);
}

START_TEST(same_bits_for_any_number_of_threads)
{
    same_for_threads(run_model, _i);
}
END_TEST

/* A context that gets more threads has room for them; without memory it stays as it was. */
START_TEST(rooms)
{
    ck_assert_int_eq(asc_precision_of(NULL), ASC_PRECISION_F32);
    if (!asc_f32_packs()) { /* else there is room from the start */
        memory.fail_at = memory.calls;
        ck_assert_int_eq(asc_set_precision(ctx, ASC_PRECISION_BF16), ASC_ERR_MEMORY);
        memory.fail_at = NEVER;
        ck_assert_int_eq(asc_precision_of(ctx), ASC_PRECISION_F32);
        asc_error_clear(ctx);
    }
    asc_lm *lm = make(models[0], ASC_F32);
    double want = pass(lm, ASC_PRECISION_BF16);
    ck_assert_int_eq(asc_set_threads(ctx, 5), ASC_OK);
    ck_assert_double_eq(pass(lm, ASC_PRECISION_BF16), want);
    for (int64_t k = 0; k < 2; k++) {
        memory.fail_at = memory.calls + k;
        ck_assert_int_eq(asc_set_threads(ctx, 6), ASC_ERR_MEMORY);
        memory.fail_at = NEVER;
        asc_error_clear(ctx);
        ck_assert_int_eq(asc_threads(ctx), 5);
        ck_assert_double_eq(pass(lm, ASC_PRECISION_BF16), want);
    }
    ck_assert_int_eq(asc_set_precision(ctx, (asc_precision)7), ASC_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(asc_error_message(ctx), "got 7"));
    asc_error_clear(ctx);
    asc_lm_free(lm);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("precision");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, gradients_beside_float32, 0, MODELS);
    tcase_add_loop_test(t, double_stays, 0, MODELS);
    tcase_add_loop_test(t, same_bits_for_any_number_of_threads, 0, MODELS);
    tcase_add_test(t, rooms);
    return run_suite("nn/precision", t);
}
