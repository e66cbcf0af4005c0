/* tests/ops/test_compare.c: comparisons, argmax, accuracy, ranges and triangles. */
#include <math.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "tests/context.h"

static void expect_bytes(asc_tensor t, const char *bits)
{
    no_error();
    ck_assert_int_eq(asc_dtype_of(t), ASC_U8);
    ck_assert_int_eq(asc_numel(t), (int64_t)strlen(bits));
    for (int64_t i = 0; i < asc_numel(t); i++) {
        ck_assert_int_eq(((const uint8_t *)asc_data(t))[i], bits[i] - '0');
    }
}

START_TEST(comparisons)
{
    asc_tensor a = asc_from(ctx, ASC_F32, (float[]){1, 2, 3, NAN}, ASC_SHAPE(4)), two = asc_scalar(ctx, ASC_F32, 2);
    expect_bytes(asc_equal(ctx, a, two), "0100");
    expect_bytes(asc_not_equal(ctx, a, two), "1011");
    expect_bytes(asc_less(ctx, a, two), "1000");
    expect_bytes(asc_less(ctx, two, a), "0010");
    expect_bytes(asc_less_equal(ctx, a, two), "1100");
    asc_tensor m = asc_from(ctx, ASC_F64, (double[]){0, 1}, ASC_SHAPE(2, 1));
    asc_tensor row = asc_from(ctx, ASC_F64, (double[]){0, 1, 2}, ASC_SHAPE(3));
    expect_bytes(asc_less(ctx, m, row), "011001");
    int64_t large[] = {((int64_t)1 << 60) + 1, (int64_t)1 << 60}; /* doubles are the same */
    asc_tensor i = asc_from(ctx, ASC_I64, large, ASC_SHAPE(2));
    expect_bytes(asc_equal(ctx, i, asc_slice(ctx, i, 0, 1, 2, 1)), "01");
    asc_tensor u = asc_from(ctx, ASC_U8, (uint8_t[]){3, 200, 7}, ASC_SHAPE(3));
    expect_bytes(asc_less(ctx, u, asc_slice(ctx, u, 0, 2, 3, 1)), "100");
    ck_assert(asc_item(asc_argmax(ctx, u, 0)) == 1);
    asc_equal(ctx, a, i);
    expect_error(ASC_ERR_ARG, "equal: b is i64 (2), expected f32, as a");
}
END_TEST

START_TEST(argmax)
{
    asc_tensor x = asc_from(ctx, ASC_F32, (float[]){1, 3, 3, 5, NAN, 9}, ASC_SHAPE(2, 3));
    asc_tensor rows = asc_argmax(ctx, x, -1), columns = asc_argmax(ctx, asc_transpose(ctx, x, 0, 1), -1);
    no_error();
    ck_assert_mem_eq(asc_data(rows), ((int64_t[]){1, 1}), 16);
    ck_assert_mem_eq(asc_data(columns), ((int64_t[]){1, 1, 1}), 24);
    ck_assert_mem_eq(asc_data(asc_argmax(ctx, x, 0)), asc_data(columns), 24);
    ck_assert(asc_accuracy(ctx, x, asc_from(ctx, ASC_I64, (int64_t[]){1, 0}, ASC_SHAPE(2))) == .5);
    ck_assert(asc_accuracy(ctx, x, asc_from(ctx, ASC_I64, (int64_t[]){1, -1}, ASC_SHAPE(2))) == 1);
    no_error();
    asc_accuracy(ctx, x, asc_from(ctx, ASC_I64, (int64_t[]){1, 0, 1}, ASC_SHAPE(3)));
    expect_error(ASC_ERR_ARG, "accuracy: targets are i64 (3), expected i64 (2)");
    asc_argmax(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 0)), 1);
    expect_error(ASC_ERR_ARG, "argmax: x is f32 (2, 0), expected at least one entry along dimension 1");
}
END_TEST

START_TEST(ranges)
{
    asc_tensor t = asc_arange(ctx, ASC_F64, 1, 2, .25), down = asc_arange(ctx, ASC_I64, 3, 0, -2);
    no_error();
    ck_assert_int_eq(asc_numel(t), 4);
    ck_assert(((const double *)asc_data(t))[3] == 1.75);
    ck_assert_int_eq(asc_numel(down), 2);
    ck_assert_int_eq(((const int64_t *)asc_data(down))[1], 1);
    ck_assert_int_eq(asc_numel(asc_arange(ctx, ASC_F32, 1, 0, 1)), 0);
    asc_arange(ctx, ASC_F32, 0, 1, 0);
    expect_error_with(ASC_ERR_ARG, "arange: 0 to 1 in steps of 0");
    ck_assert(asc_is_null(asc_arange(NULL, ASC_F32, 0, INFINITY, 1)));
}
END_TEST

START_TEST(triangles)
{
    asc_tensor x = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2, 3));
    asc_require_grad(x, true);
    static const double lower[] = {1, 0, 0, 1, 1, 0}, more[] = {1, 1, 0, 1, 1, 1}, none[6] = {0};
    asc_tensor y = asc_tril(ctx, x, 0);
    ck_assert_mem_eq(asc_data(y), lower, sizeof lower);
    ck_assert_mem_eq(asc_data(asc_tril(ctx, x, 1)), more, sizeof more);
    ck_assert_mem_eq(asc_data(asc_tril(ctx, x, INT64_MIN)), none, sizeof none);
    asc_backward_loss(ctx, asc_sum(ctx, y, ASC_ALL_DIMS, false));
    no_error();
    ck_assert_mem_eq(asc_data(asc_grad(x)), lower, sizeof lower);
    asc_tril(ctx, asc_scalar(ctx, ASC_F32, 1), 0);
    expect_error(ASC_ERR_ARG, "tril: x has 0 dimensions, expected at least 2");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("compare");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, comparisons);
    tcase_add_test(t, argmax);
    tcase_add_test(t, ranges);
    tcase_add_test(t, triangles);
    return run_suite("compare", t);
}
