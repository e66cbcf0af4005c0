/* tests/ops/test_topk.c: topk and topk_gather against the plainest loops. */
#include "tests/ops/values.h"

#include <stdlib.h>

/* Whether entry i stands before entry j: larger, NaN above all, ties to the lower place. */
static bool stands_before(asc_tensor x, int64_t i, int64_t j)
{
    double a = value(x, i), b = value(x, j);
    if (isnan(a) || isnan(b)) {
        return isnan(a) && (!isnan(b) || i < j);
    }
    return a > b || (a == b && i < j);
}

/* The rank of entry i among the allowed ones of its row, which begins at `row`. */
static int64_t rank_of(asc_tensor x, const uint8_t *mask, int64_t row, int64_t n, int64_t i)
{
    int64_t rank = 0;
    for (int64_t j = row; j < row + n; j++) {
        rank += (!mask || mask[j]) && stands_before(x, j, i);
    }
    return rank;
}

/* Checks topk of x [rows, n] by the rank of each entry, and its gradient. */
static void check_topk(asc_tensor x, asc_tensor mask, int64_t k)
{
    int64_t rows = asc_size(x, 0), n = asc_size(x, 1);
    const uint8_t *allowed = asc_is_null(mask) ? NULL : asc_data(mask);
    asc_tensor index, y = asc_topk(ctx, x, mask, k, &index);
    expect_shape(y, ASC_SHAPE(rows, k));
    expect_shape(index, ASC_SHAPE(rows, k));
    asc_tensor dy = run_backward(y), dx = asc_grad(x);
    for (int64_t row = 0; row < rows; row++) {
        int64_t there = 0;
        for (int64_t i = row * n; i < (row + 1) * n; i++) {
            int64_t rank = allowed && !allowed[i] ? k : rank_of(x, allowed, row * n, n, i);
            there += !allowed || allowed[i];
            ck_assert_double_eq(value(dx, i), rank < k ? value(dy, row * k + rank) : 0);
            if (rank < k) {
                ck_assert_int_eq((int64_t)value(index, row * k + rank), i - row * n);
                ck_assert(isnan(value(x, i)) || value(y, row * k + rank) == value(x, i));
            }
        }
        for (int64_t r = there; r < k; r++) {
            ck_assert_double_eq(value(index, row * k + r), -1);
            ck_assert_double_eq(value(y, row * k + r), 0);
        }
    }
    asc_zero_grad(x);
}

/* Normal values; every third row has few different ones, every fifth is constant. */
static asc_tensor scores(asc_dtype dtype, int64_t rows, int64_t n)
{
    asc_tensor x = asc_normal(ctx, dtype, 0, 1, 5, (uint64_t)n, ASC_SHAPE(rows, n));
    void *data = asc_data_mut(x);
    for (int64_t i = 0; i < rows * n; i++) {
        double v = i / n % 3 == 1 ? floor(value(x, i) * 2) : i / n % 5 == 3 ? 7 : value(x, i);
        if (dtype == ASC_F32) {
            ((float *)data)[i] = (float)v;
        } else {
            ((double *)data)[i] = v;
        }
    }
    ck_assert_int_eq(asc_require_grad(x, true), ASC_OK);
    return x;
}

static asc_tensor random_mask(int64_t rows, int64_t n)
{
    asc_tensor u = asc_uniform(ctx, ASC_F64, 0, 1, 6, 1, ASC_SHAPE(rows, n));
    asc_tensor mask = asc_zeros(ctx, ASC_U8, ASC_SHAPE(rows, n));
    uint8_t *p = asc_data_mut(mask);
    for (int64_t i = 0; i < rows * n; i++) { /* from nothing allowed to all */
        p[i] = value(u, i) * (double)(rows - 1) < (double)(i / n) ? 3 : 0;
    }
    return mask;
}

START_TEST(against_ranks)
{
    static const int64_t n[] = {1, 2, 7, 64, 255, 256, 530}, k[] = {1, 16, 33, 540};
    for (int f = 0; f < 2; f++) {
        for (int i = 0; i < 7; i++) {
            for (int j = 0; j < 4; j++) {
                int64_t rows = n[i] > 100 ? 4 : 7; /* the ranks take n² comparisons a row */
                check_topk(scores(floats[f], rows, n[i]), asc_null(), k[j]);
                check_topk(scores(floats[f], rows, n[i]), random_mask(rows, n[i]), k[j]);
            }
        }
    }
}
END_TEST

/* The masks are what a causal model has: ever longer beginnings. */
START_TEST(causal_rows)
{
    asc_tensor mask = asc_zeros(ctx, ASC_U8, ASC_SHAPE(20, 300));
    uint8_t *p = asc_data_mut(mask);
    for (int64_t i = 0; i < 20 * 300; i++) {
        p[i] = i % 300 <= i / 300 * 15;
    }
    for (int f = 0; f < 2; f++) {
        check_topk(scores(floats[f], 20, 300), mask, 16);
    }
}
END_TEST

START_TEST(special_values)
{
    static const double values[] = {-0.0, 1, NAN, -INFINITY, 0.0, INFINITY, -NAN, -1, 5e-324, -5e-324, 1e308, -1e308};
    static const int64_t order[] = {2, 6, 5, 10, 1, 8, 0, 4, 9, 7, 11, 3};
    asc_tensor x = asc_from(ctx, ASC_F64, values, ASC_SHAPE(12)), index;
    asc_tensor y = asc_topk(ctx, x, asc_null(), 12, &index);
    no_error();
    for (int64_t r = 0; r < 12; r++) {
        ck_assert_int_eq((int64_t)value(index, r), order[r]);
        ck_assert(memcmp(&((const double *)asc_data(y))[r], &values[order[r]], sizeof(double)) == 0);
    }
    static const float single[] = {-INFINITY, -0.0f, 0.0f, NAN, 1e-45f, -3e38f};
    static const int64_t single_order[] = {3, 4, 1, 2, 5, 0};
    asc_topk(ctx, asc_from(ctx, ASC_F32, single, ASC_SHAPE(6)), asc_null(), 6, &index);
    for (int64_t r = 0; r < 6; r++) {
        ck_assert_int_eq((int64_t)value(index, r), single_order[r]);
    }
    static const float real[] = {-INFINITY, -0.0f, 0.0f, INFINITY, 1e-45f, -3e38f, -INFINITY, -1e-45f};
    static const int64_t real_order[] = {3, 4, 1, 2, 7, 5, 0, 6};
    y = asc_topk(ctx, asc_from(ctx, ASC_F32, real, ASC_SHAPE(8)), asc_null(), 8, &index);
    for (int64_t r = 0; r < 8; r++) {
        ck_assert_int_eq((int64_t)value(index, r), real_order[r]);
        ck_assert(memcmp(&((const float *)asc_data(y))[r], &real[real_order[r]], sizeof(float)) == 0);
    }
}
END_TEST

/* Keys from end to end of the range, in which each pass of the selection finds most of them in one bucket. */
START_TEST(widely_spread)
{
    for (int f = 0; f < 2; f++) {
        asc_tensor x = asc_empty(ctx, floats[f], ASC_SHAPE(2, 500));
        for (int64_t i = 0; i < 1000; i++) {
            double v = ldexp(i % 7 ? 1 : -1, (int)(i * i % 250) - 125) * (i % 2 ? 1 : 1.0000001);
            if (f == 0) {
                ((float *)asc_data_mut(x))[i] = (float)v;
            } else {
                ((double *)asc_data_mut(x))[i] = v * v * v * v * v;
            }
        }
        asc_require_grad(x, true);
        check_topk(x, asc_null(), 16);
        check_topk(x, asc_null(), 400);
    }
}
END_TEST

START_TEST(masks_broadcast)
{
    static const uint8_t allowed[] = {0, 1, 1, 0, 1};
    asc_tensor x = random_leaf(ASC_F32, 3, ASC_SHAPE(2, 3, 5)), index;
    asc_topk(ctx, x, asc_from(ctx, ASC_U8, allowed, ASC_SHAPE(5)), 4, &index);
    expect_shape(index, ASC_SHAPE(2, 3, 4));
    for (int64_t row = 0; row < 6; row++) {
        ck_assert_double_eq(value(index, row * 4 + 3), -1);
        for (int64_t r = 0; r < 3; r++) {
            ck_assert(allowed[(int64_t)value(index, row * 4 + r)]);
        }
    }
    static const uint8_t rows[] = {0, 1};
    asc_topk(ctx, x, asc_from(ctx, ASC_U8, rows, ASC_SHAPE(2, 1, 1)), 1, &index);
    for (int64_t row = 0; row < 6; row++) {
        ck_assert(value(index, row) < 0 ? row < 3 : row >= 3);
    }
}
END_TEST

START_TEST(topk_shapes)
{
    asc_tensor index;
    expect_shape(asc_topk(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), asc_null(), 0, NULL), ASC_SHAPE(2, 0));
    expect_shape(asc_topk(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(0, 3)), asc_null(), 2, NULL), ASC_SHAPE(0, 2));
    asc_tensor y = asc_topk(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 0)), asc_null(), 2, &index);
    expect_shape(y, ASC_SHAPE(2, 2));
    ck_assert_double_eq(value(index, 3), -1);
}
END_TEST

START_TEST(topk_errors)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(4, 3)), index;
    expect_failure(asc_topk(ctx, x, asc_null(), -1, &index), "topk: k is -1, expected at least 0");
    ck_assert(asc_is_null(index));
    expect_failure(asc_topk(ctx, x, asc_zeros(ctx, ASC_U8, ASC_SHAPE(3, 3)), 1, NULL),
                   "topk: mask is u8 (3, 3), expected u8 of a shape that broadcasts to (4, 3)");
    expect_failure(asc_topk(ctx, x, x, 1, NULL),
                   "topk: mask is f32 (4, 3), expected u8 of a shape that broadcasts to (4, 3)");
    expect_failure(asc_topk(ctx, asc_scalar(ctx, ASC_F32, 1), asc_null(), 1, NULL),
                   "topk: x is f32 (), expected (..., n)");
    expect_failure(asc_topk(ctx, asc_null(), asc_null(), 1, NULL), "topk: x is null");
}
END_TEST

/* ---- topk_gather ---- */

/* i64 numbers from -1 to limit - 1 that repeat. */
static asc_tensor picks(int64_t limit, int ndim, const int64_t *shape)
{
    asc_tensor t = asc_empty(ctx, ASC_I64, ndim, shape);
    int64_t *p = asc_data_mut(t);
    for (int64_t i = 0; i < asc_numel(t); i++) {
        p[i] = (i * i * 7 + i / 3) % (limit + 1) - 1;
    }
    return t;
}

START_TEST(gather)
{
    enum { BATCH = 6, N = 40, D = 70, ROWS = 30, COUNT = 5 };
    for (int f = 0; f < 2; f++) {
        asc_tensor x = random_leaf(floats[f], 1, ASC_SHAPE(2, 3, N, D)), index = picks(N, ASC_SHAPE(2, 3, ROWS, COUNT));
        for (int pass = 1; pass <= 2; pass++) { /* the second adds to the first */
            asc_tensor y = asc_topk_gather(ctx, x, index);
            expect_shape(y, ASC_SHAPE(2, 3, ROWS, COUNT, D));
            asc_tensor dy = run_backward(y);
            double *expected = calloc(BATCH * N * D, sizeof *expected);
            for (int64_t e = 0; e < asc_numel(y); e++) {
                int64_t pick = e / D, from = (int64_t)value(index, pick);
                int64_t at = (pick / (ROWS * COUNT) * N + from) * D + e % D;
                ck_assert_double_eq(value(y, e), from < 0 ? 0 : value(x, at));
                if (from >= 0) {
                    expected[at] += value(dy, e);
                }
            }
            for (int64_t e = 0; e < asc_numel(x); e++) {
                expect_close(asc_grad(x), e, pass * expected[e], 20);
            }
            free(expected);
        }
    }
}
END_TEST

/* What topk found, and the gather of x itself, are the same values. */
START_TEST(gather_of_topk)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(3, 8)), index, y = asc_topk(ctx, x, random_mask(3, 8), 6, &index);
    asc_tensor column = asc_reshape(ctx, x, ASC_SHAPE(3, 8, 1));
    asc_tensor rows = asc_topk_gather(ctx, column, asc_reshape(ctx, index, ASC_SHAPE(3, 1, 6)));
    expect_shape(rows, ASC_SHAPE(3, 1, 6, 1));
    for (int64_t i = 0; i < 18; i++) {
        ck_assert_double_eq(value(rows, i), value(y, i));
    }
}
END_TEST

static void run_gather(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(20, 100));
    result[0] = asc_topk_gather(ctx, x, picks(20, ASC_SHAPE(500, 16)));
    run_backward(result[0]);
    result[1] = asc_grad(x);
}

START_TEST(gather_threads)
{
    same_for_threads(run_gather, 0);
}
END_TEST

START_TEST(gather_errors)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 4, 3)), index = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 1, 2));
    ((int64_t *)asc_data_mut(index))[3] = 4;
    expect_failure(asc_topk_gather(ctx, x, index),
                   "topk_gather: index has 4 at element 3, expected at least -1 and less than 4");
    ((int64_t *)asc_data_mut(index))[3] = -2;
    expect_failure(asc_topk_gather(ctx, x, index),
                   "topk_gather: index has -2 at element 3, expected at least -1 and less than 4");
    expect_failure(asc_topk_gather(ctx, x, asc_zeros(ctx, ASC_I64, ASC_SHAPE(3, 1, 2))),
                   "topk_gather: index is i64 (3, 1, 2), expected i64 (..., rows, k) with the leading "
                   "dimensions of x (2, 4, 3)");
    expect_failure(asc_topk_gather(ctx, x, x),
                   "topk_gather: index is f32 (2, 4, 3), expected i64 (..., rows, k) with the leading "
                   "dimensions of x (2, 4, 3)");
    expect_failure(asc_topk_gather(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(4)), index),
                   "topk_gather: x is f32 (4), expected (..., n, d), of at most 7 dimensions");
    expect_failure(asc_topk_gather(ctx, x, asc_null()), "topk_gather: index is null");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("topk");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, against_ranks);
    tcase_add_test(t, causal_rows);
    tcase_add_test(t, special_values);
    tcase_add_test(t, widely_spread);
    tcase_add_test(t, masks_broadcast);
    tcase_add_test(t, topk_shapes);
    tcase_add_test(t, topk_errors);
    tcase_add_test(t, gather);
    tcase_add_test(t, gather_of_topk);
    tcase_add_test(t, gather_threads);
    tcase_add_test(t, gather_errors);
    return run_suite("ops/topk", t);
}
