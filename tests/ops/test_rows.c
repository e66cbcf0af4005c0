/* tests/ops/test_rows.c: embedding, index_select and gather against the plainest loops. */
#include "tests/ops/values.h"

/* i64 numbers below `limit` that repeat and leave gaps. */
static asc_tensor numbers(int64_t limit, int ndim, const int64_t *shape)
{
    asc_tensor t = asc_empty(ctx, ASC_I64, ndim, shape);
    int64_t *p = asc_data_mut(t);
    for (int64_t i = 0; i < asc_numel(t); i++) {
        p[i] = (i * i * 7 + i / 3) % (limit - limit / 4);
    }
    return t;
}

/* y[o, i, :] = x[o, index[i], :] as y and the gradient of x have it. */
static void check_rows(asc_tensor y, asc_tensor x, asc_tensor index, int64_t outer, int64_t limit, int64_t width,
                       int passes)
{
    asc_tensor dy = run_backward(y), dx = asc_grad(x);
    int64_t n = asc_numel(index);
    double *expected = calloc((size_t)(outer * limit * width) + 1, sizeof *expected);
    for (int64_t e = 0; e < outer * n * width; e++) {
        int64_t o = e / (n * width), row = (int64_t)value(index, e / width % n);
        int64_t from = (o * limit + row) * width + e % width;
        expect_equal(y, e, value(x, from));
        expected[from] += value(dy, e);
    }
    for (int64_t e = 0; e < outer * limit * width; e++) {
        expect_close(dx, e, passes * expected[e], 20);
    }
    free(expected);
}

START_TEST(embedding)
{
    for (int i = 0; i < 2; i++) {
        asc_tensor w = random_leaf(floats[i], 1, ASC_SHAPE(700, 70)), index = numbers(700, ASC_SHAPE(5, 90));
        asc_tensor y = asc_embedding(ctx, w, index);
        expect_shape(y, ASC_SHAPE(5, 90, 70));
        check_rows(y, w, index, 1, 700, 70, 1);
        check_rows(asc_embedding(ctx, w, index), w, index, 1, 700, 70, 2); /* adds to what is there */
    }
}
END_TEST

START_TEST(embedding_shapes)
{
    asc_tensor w = random_leaf(ASC_F64, 1, ASC_SHAPE(4, 3));
    asc_tensor one = asc_embedding(ctx, w, asc_full(ctx, ASC_I64, 2, 0, NULL));
    expect_shape(one, ASC_SHAPE(3));
    expect_equal(one, 1, value(w, 7));
    expect_shape(asc_embedding(ctx, w, asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 0))), ASC_SHAPE(2, 0, 3));
    asc_tensor narrow = random_leaf(ASC_F64, 1, ASC_SHAPE(4, 0));
    expect_shape(asc_embedding(ctx, narrow, asc_zeros(ctx, ASC_I64, ASC_SHAPE(5))), ASC_SHAPE(5, 0));
}
END_TEST

/* Runs of one number reach every piece of the work: nothing is lost between them. */
START_TEST(embedding_of_one_row)
{
    asc_tensor w = random_leaf(ASC_F64, 1, ASC_SHAPE(2, 100)), index = asc_full(ctx, ASC_I64, 1, ASC_SHAPE(1000));
    asc_tensor dy = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(1000, 100));
    ck_assert_int_eq(asc_backward(ctx, asc_embedding(ctx, w, index), dy, false), ASC_OK);
    for (int64_t i = 0; i < 100; i++) {
        expect_equal(asc_grad(w), i, 0);
        expect_equal(asc_grad(w), 100 + i, 1000);
    }
}
END_TEST

START_TEST(embedding_errors)
{
    asc_tensor w = random_leaf(ASC_F32, 1, ASC_SHAPE(4, 3)), index = numbers(4, ASC_SHAPE(2, 3));
    ((int64_t *)asc_data_mut(index))[5] = 4;
    expect_failure(asc_embedding(ctx, w, index), "embedding: index[1, 2] is 4, expected at least 0 and less than 4");
    ((int64_t *)asc_data_mut(index))[5] = -1;
    expect_failure(asc_embedding(ctx, w, index), "embedding: index[1, 2] is -1, expected at least 0 and less than 4");
    expect_failure(asc_embedding(ctx, w, asc_full(ctx, ASC_I64, 9, 0, NULL)),
                   "embedding: index is 9, expected at least 0 and less than 4");
    expect_failure(asc_embedding(ctx, w, w), "embedding: index is f32 (4, 3), expected i64, of at most 7 dimensions");
    expect_failure(asc_embedding(ctx, index, index), "embedding: weight is i64 (2, 3), expected f32 or f64");
    expect_failure(asc_embedding(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(4)), index),
                   "embedding: weight is f32 (4), expected (V, D)");
    expect_failure(asc_embedding(ctx, w, asc_null()), "embedding: index is null");
}
END_TEST

START_TEST(index_select)
{
    static const int64_t shape[] = {6, 40, 70};
    for (int i = 0; i < 2; i++) {
        for (int dim = 0; dim < 3; dim++) {
            int64_t outer = 1, width = 1, expected[] = {6, 40, 70};
            for (int d = 0; d < 3; d++) {
                outer *= d < dim ? shape[d] : 1;
                width *= d > dim ? shape[d] : 1;
            }
            expected[dim] = 33;
            asc_tensor x = random_leaf(floats[i], 2, 3, shape), index = numbers(shape[dim], ASC_SHAPE(33));
            asc_tensor y = asc_index_select(ctx, x, dim - 3, index);
            expect_shape(y, 3, expected);
            check_rows(y, x, index, outer, shape[dim], width, 1);
        }
    }
    asc_tensor whole = asc_index_select(ctx, numbers(9, ASC_SHAPE(5)), 0, numbers(5, ASC_SHAPE(7))); /* of any dtype */
    ck_assert_int_eq(asc_dtype_of(whole), ASC_I64);
}
END_TEST

START_TEST(index_select_errors)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(4, 3)), index = asc_full(ctx, ASC_I64, 3, ASC_SHAPE(2));
    expect_failure(asc_index_select(ctx, x, 2, index), "index_select: x is f32 (4, 3), expected to have dimension 2");
    expect_failure(asc_index_select(ctx, x, 1, index),
                   "index_select: index[0] is 3, expected at least 0 and less than 3");
    expect_failure(asc_index_select(ctx, x, 0, asc_zeros(ctx, ASC_I64, ASC_SHAPE(1, 2))),
                   "index_select: index is i64 (1, 2), expected i64 (n)");
    expect_failure(asc_index_select(ctx, x, 0, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2))),
                   "index_select: index is f32 (2), expected i64 (n)");
}
END_TEST

static void check_gather(asc_dtype dtype, const int64_t *xs, const int64_t *is, int dim)
{
    asc_tensor x = random_leaf(dtype, 3, 3, xs), index = numbers(xs[dim], 3, is), y = asc_gather(ctx, x, dim, index);
    expect_shape(y, 3, is);
    asc_tensor dy = run_backward(y), dx = asc_grad(x);
    double *expected = calloc((size_t)asc_numel(x), sizeof *expected);
    for (int64_t e = 0; e < asc_numel(y); e++) {
        int64_t at[] = {e / (is[1] * is[2]), e / is[2] % is[1], e % is[2]};
        at[dim] = (int64_t)value(index, e);
        int64_t from = (at[0] * xs[1] + at[1]) * xs[2] + at[2];
        expect_equal(y, e, value(x, from));
        expected[from] += value(dy, e);
    }
    for (int64_t e = 0; e < asc_numel(x); e++) {
        expect_close(dx, e, expected[e], 20);
    }
    free(expected);
}

START_TEST(gather)
{
    static const int64_t x[] = {30, 50, 20};
    static const int64_t index[][3] = {{70, 50, 20}, {30, 7, 20}, {29, 50, 33}, {1, 1, 1}, {30, 49, 3}};
    static const int dim[] = {0, 1, 2, 0, 2};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 5; k++) {
            check_gather(floats[i], x, index[k], dim[k]);
        }
    }
    asc_tensor y = asc_gather(ctx, random_leaf(ASC_F64, 3, 3, x), -1, asc_zeros(ctx, ASC_I64, ASC_SHAPE(30, 0, 2)));
    expect_shape(y, ASC_SHAPE(30, 0, 2));
}
END_TEST

START_TEST(gather_errors)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(4, 3)), index = asc_full(ctx, ASC_I64, 3, ASC_SHAPE(2, 2));
    expect_failure(asc_gather(ctx, x, 1, index), "gather: index[0, 0] is 3, expected at least 0 and less than 3");
    expect_failure(asc_gather(ctx, x, -3, index), "gather: x is f32 (4, 3), expected to have dimension -3");
    expect_failure(asc_gather(ctx, x, 0, asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 4))),
                   "gather: index is i64 (2, 4), expected i64 of at most (4, 3) but for dimension 0");
    expect_failure(asc_gather(ctx, x, 0, asc_zeros(ctx, ASC_I64, ASC_SHAPE(2))),
                   "gather: index is i64 (2), expected i64 of at most (4, 3) but for dimension 0");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("rows");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, embedding);
    tcase_add_test(t, embedding_shapes);
    tcase_add_test(t, embedding_of_one_row);
    tcase_add_test(t, embedding_errors);
    tcase_add_test(t, index_select);
    tcase_add_test(t, index_select_errors);
    tcase_add_test(t, gather);
    tcase_add_test(t, gather_errors);
    return run_suite("ops/rows", t);
}
