/* tests/tensor/test_random.c: what tensors draw from Philox, whose known answers are in test_kernels. */
#include <math.h>

#include <ascgrad/tensor.h>

#include "tests/context.h"

enum { N = 20000 };

/* The mean and the deviation of t, and whether all of it lies in [lo, hi). */
static void moments(asc_tensor t, double *mean, double *deviation, double lo, double hi)
{
    const double *x = asc_data(t);
    double sum = 0, squares = 0;
    bool inside = true;
    for (int i = 0; i < N; i++) {
        inside &= x[i] >= lo && x[i] < hi;
        sum += x[i];
        squares += x[i] * x[i];
    }
    ck_assert(inside);
    *mean = sum / N;
    *deviation = sqrt(squares / N - *mean * *mean);
}

START_TEST(distributions)
{
    double mean, deviation;
    moments(asc_uniform(ctx, ASC_F64, -2, 4, 7, 1, ASC_SHAPE(N)), &mean, &deviation, -2, 4);
    ck_assert_double_eq_tol(mean, 1, 0.05);                 /* 4 standard errors */
    ck_assert_double_eq_tol(deviation, 6 / sqrt(12), 0.03);
    moments(asc_normal(ctx, ASC_F64, 3, 2, 7, 1, ASC_SHAPE(N)), &mean, &deviation, -9, 15);
    ck_assert_double_eq_tol(mean, 3, 0.06);
    ck_assert_double_eq_tol(deviation, 2, 0.04);
}
END_TEST

START_TEST(an_element_depends_on_seed_stream_and_place)
{
    asc_tensor a = asc_normal(ctx, ASC_F64, 0, 1, 5, 1, ASC_SHAPE(100));
    asc_tensor longer = asc_normal(ctx, ASC_F64, 0, 1, 5, 1, ASC_SHAPE(2, 100));
    asc_tensor seed = asc_normal(ctx, ASC_F64, 0, 1, 6, 1, ASC_SHAPE(100));
    asc_tensor stream = asc_normal(ctx, ASC_F64, 0, 1, 5, 2, ASC_SHAPE(100));
    asc_tensor single = asc_normal(ctx, ASC_F32, 0, 1, 5, 1, ASC_SHAPE(100));
    const double *x = asc_data(a);
    ck_assert_mem_eq(asc_data(longer), x, 100 * sizeof *x);
    for (int i = 0; i < 100; i++) {
        ck_assert_double_ne(((const double *)asc_data(seed))[i], x[i]);
        ck_assert_double_ne(((const double *)asc_data(stream))[i], x[i]);
        ck_assert_float_eq(((const float *)asc_data(single))[i], (float)x[i]);
        ck_assert(i == 0 || x[i] != x[i - 1]);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("random");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, distributions);
    tcase_add_test(t, an_element_depends_on_seed_stream_and_place);
    return run_suite("tensor/random", t);
}
