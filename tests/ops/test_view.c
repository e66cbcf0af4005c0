/* tests/ops/test_view.c: views, contiguous, concat and cast. */
#include "tests/ops/values.h"

/* A leaf 0, 1, 2, … */
static asc_tensor counting(asc_dtype dtype, int ndim, const int64_t *shape)
{
    asc_tensor t = asc_empty(ctx, ASC_F64, ndim, shape), leaf = asc_empty(ctx, dtype, ndim, shape);
    double *p = asc_data_mut(t);
    for (int64_t i = 0; i < asc_numel(t); i++) {
        p[i] = (double)i;
    }
    ck_assert_int_eq(asc_copy(ctx, leaf, t), ASC_OK);
    ck_assert_int_eq(asc_require_grad(leaf, true), ASC_OK);
    return leaf;
}

/* y's elements are numbers of x's elements: dx must be the sums of dy where they came from. */
static void check_scatter(asc_tensor y, asc_tensor x)
{
    no_error();
    asc_zero_grad(x);
    asc_tensor dy = run_backward(y), dx = asc_grad(x);
    int64_t n = asc_numel(x);
    double *expected = asc_alloc(ctx, (size_t)n * sizeof *expected), *scale = asc_alloc(ctx, (size_t)n * sizeof *scale);
    memset(expected, 0, (size_t)n * sizeof *expected);
    memset(scale, 0, (size_t)n * sizeof *scale);
    for (int64_t i = 0; i < asc_numel(y); i++) {
        int64_t from = (int64_t)value(y, i);
        expected[from] += value(dy, i);
        scale[from] += fabs(value(dy, i));
    }
    for (int64_t i = 0; i < n; i++) {
        expect_close(dx, i, expected[i], 10 * scale[i]);
    }
    asc_free(ctx, expected, (size_t)n * sizeof *expected);
    asc_free(ctx, scale, (size_t)n * sizeof *scale);
}

static void expect_view(asc_tensor y, asc_tensor x, bool is_view)
{
    no_error();
    const char *from = asc_data(x), *at = asc_data(y);
    bool inside = at >= from && at < from + asc_numel(x) * (int64_t)asc_dtype_size(asc_dtype_of(x));
    ck_assert(inside == is_view);
}

/* ---- reshape ---- */

START_TEST(reshape)
{
    for (int i = 0; i < 2; i++) {
        asc_tensor x = counting(floats[i], ASC_SHAPE(60, 70, 8)), y = asc_reshape(ctx, x, 2, (int64_t[]){-1, 80});
        expect_shape(y, ASC_SHAPE(420, 80));
        expect_view(y, x, true);
        for (int64_t e = 0; e < 33600; e += 7) {
            expect_equal(y, e, (double)e);
        }
        check_scatter(y, x);
    }
    asc_tensor x = counting(ASC_F32, ASC_SHAPE(1));
    expect_shape(asc_reshape(ctx, x, 0, NULL), 0, NULL);
    expect_shape(asc_reshape(ctx, asc_scalar(ctx, ASC_I64, 1), 3, (int64_t[]){1, -1, 1}), ASC_SHAPE(1, 1, 1));
    expect_shape(asc_reshape(ctx, asc_zeros(ctx, ASC_U8, ASC_SHAPE(0, 3)), 2, (int64_t[]){5, 0}), ASC_SHAPE(5, 0));
    expect_shape(asc_reshape(ctx, asc_zeros(ctx, ASC_U8, ASC_SHAPE(0, 3)), 2, (int64_t[]){7, -1}), ASC_SHAPE(7, 0));
}
END_TEST

START_TEST(reshape_of_strided_tensors)
{
    asc_tensor x = counting(ASC_F64, ASC_SHAPE(4, 6, 10)); /* of it a part, split and joined */
    asc_tensor part = asc_slice(ctx, x, -1, 2, 8, 1), odd = asc_slice(ctx, x, 1, 1, 6, 2);
    asc_tensor swapped = asc_transpose(ctx, x, 0, 1), row = asc_slice(ctx, x, 0, 1, 2, 1);
    asc_tensor wide = asc_expand(ctx, asc_reshape(ctx, x, 4, (int64_t[]){4, 6, 10, 1}), 4, (int64_t[]){4, 6, 10, 3});
    const struct {
        asc_tensor of;
        int ndim;
        int64_t shape[5];
        bool is_view;
    } cases[] = {
        {part, 4, {4, 6, 2, 3}, true},       {part, 2, {24, 6}, true},      {part, 5, {2, 2, 1, 6, 6}, true},
        {part, 3, {4, 9, 4}, false},         {part, 1, {144}, false},       {odd, 3, {12, 5, 2}, true},
        {odd, 2, {4, 30}, false},            {swapped, 4, {2, 3, 4, 10}, true}, {swapped, 2, {24, 10}, false},
        {swapped, 4, {6, 4, 1, 10}, true},   {row, 1, {60}, true},          {row, 4, {1, 6, 10, 1}, true},
        {wide, 2, {240, 3}, true},           {wide, 1, {720}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_tensor y = asc_reshape(ctx, cases[i].of, cases[i].ndim, cases[i].shape);
        expect_shape(y, cases[i].ndim, cases[i].shape);
        expect_view(y, x, cases[i].is_view);
        for (int64_t e = 0; e < asc_numel(y); e++) {
            expect_equal(y, e, value(cases[i].of, e));
        }
        asc_zero_grad(x);
        asc_backward(ctx, y, asc_full(ctx, ASC_F64, 1, cases[i].ndim, cases[i].shape), true);
        no_error();
        double sum = 0;
        for (int64_t e = 0; e < 240; e++) {
            sum += value(asc_grad(x), e);
        }
        ck_assert_double_eq(sum, (double)asc_numel(y));
    }
}
END_TEST

START_TEST(reshape_errors)
{
    asc_tensor x = counting(ASC_F32, ASC_SHAPE(4, 6));
    expect_failure(asc_reshape(ctx, x, 2, (int64_t[]){5, 5}), "reshape: x is (4, 6), which does not reshape to (5, 5)");
    expect_failure(asc_reshape(ctx, x, 2, (int64_t[]){5, -1}),
                   "reshape: x is (4, 6), which does not reshape to (5, -1)");
    expect_failure(asc_reshape(ctx, x, 2, (int64_t[]){-1, -1}),
                   "reshape: x is (4, 6), which does not reshape to (-1, -1)");
    expect_failure(asc_reshape(ctx, x, 1, (int64_t[]){-24}), "reshape: x is (4, 6), which does not reshape to (-24)");
    expect_failure(asc_reshape(ctx, x, 3, (int64_t[]){(int64_t)1 << 32, (int64_t)1 << 32, 24}),
                   "reshape: x is (4, 6), which does not reshape to (4294967296, 4294967296, 24)");
    expect_failure(asc_reshape(ctx, x, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 4, 6}),
                   "reshape: shape has 9 dimensions, expected 0 to 8");
    expect_failure(asc_reshape(ctx, asc_null(), 1, (int64_t[]){1}), "reshape: x is null");
}
END_TEST

START_TEST(squeeze_and_unsqueeze)
{
    asc_tensor x = counting(ASC_F64, ASC_SHAPE(2, 3));
    expect_shape(asc_unsqueeze(ctx, x, 0), ASC_SHAPE(1, 2, 3));
    expect_shape(asc_unsqueeze(ctx, x, -1), ASC_SHAPE(2, 3, 1));
    expect_shape(asc_unsqueeze(ctx, asc_transpose(ctx, x, 0, 1), 1), ASC_SHAPE(3, 1, 2));
    expect_view(asc_unsqueeze(ctx, asc_transpose(ctx, x, 0, 1), 1), x, true);
    asc_tensor one = asc_squeeze(ctx, asc_unsqueeze(ctx, x, 1), -2);
    expect_shape(one, ASC_SHAPE(2, 3));
    check_scatter(one, x);
    expect_shape(asc_unsqueeze(ctx, asc_scalar(ctx, ASC_F32, 1), 0), ASC_SHAPE(1));
    expect_shape(asc_squeeze(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(1)), 0), 0, NULL);
    expect_failure(asc_squeeze(ctx, x, 1), "squeeze: dimension 1 of 2 is of size 3, expected 1");
    expect_failure(asc_squeeze(ctx, x, 2), "squeeze: dim is 2, x has 2 dimensions");
    expect_failure(asc_unsqueeze(ctx, x, 3), "unsqueeze: dim is 3, x has 2 dimensions of at most 8");
    expect_failure(asc_unsqueeze(ctx, asc_null(), 3), "reshape: x is null");
    expect_failure(asc_squeeze(ctx, asc_null(), 3), "reshape: x is null");
}
END_TEST

/* ---- permute ---- */

START_TEST(permute)
{
    static const int orders[][4] = {{0, 2, 1, 3}, {3, 2, 1, 0}, {1, -1, 0, 2}, {0, 1, 2, 3}};
    for (int k = 0; k < 8; k++) {
        const int *order = orders[k / 2];
        asc_tensor x = counting(floats[k % 2], ASC_SHAPE(3, 50, 9, 21)), y = asc_permute(ctx, x, 4, order);
        expect_view(y, x, true);
        for (int d = 0; d < 4; d++) {
            ck_assert_int_eq(asc_size(y, d), asc_size(x, order[d]));
            ck_assert_int_eq(asc_strides(y)[d], asc_strides(x)[(order[d] + 4) % 4]);
        }
        check_scatter(y, x);
    }
}
END_TEST

START_TEST(transpose)
{
    asc_tensor x = counting(ASC_F64, ASC_SHAPE(300, 200)), y = asc_transpose(ctx, x, -1, 0);
    expect_shape(y, ASC_SHAPE(200, 300));
    for (int64_t e = 0; e < 60000; e += 11) {
        expect_equal(y, e, (double)(e % 300 * 200 + e / 300));
    }
    check_scatter(y, x);
    check_scatter(asc_transpose(ctx, x, 1, 1), x);
}
END_TEST

START_TEST(permute_errors)
{
    asc_tensor x = counting(ASC_F32, ASC_SHAPE(4, 6));
    expect_failure(asc_permute(ctx, x, 3, (int[]){0, 1, 2}), "permute: order has 3 dimensions, x has 2");
    expect_failure(asc_permute(ctx, x, 2, (int[]){1, -1}), "permute: order names dimension 1 twice");
    expect_failure(asc_permute(ctx, x, 2, (int[]){0, 2}), "permute: x is f32 (4, 6), expected to have dimension 2");
    expect_failure(asc_transpose(ctx, x, 0, 2), "transpose: dimensions 0 and 2, x has 2");
    expect_failure(asc_transpose(ctx, asc_null(), 0, 1), "permute: x is null");
}
END_TEST

/* ---- slice ---- */

static const int64_t length = 10;

/* The elements that Python's x[start:stop:step] has, for step >= 1. */
static void check_slice(asc_tensor x, int64_t start, int64_t stop, int64_t step)
{
    int64_t expected[10], n = 0;
    int64_t from = start < 0 ? start + length : start, to = stop < 0 ? stop + length : stop;
    for (int64_t i = from < 0 ? 0 : from; i < to && i < length; i += step < length ? step : length) {
        expected[n++] = i;
    }
    asc_tensor y = asc_slice(ctx, x, 1, start, stop, step);
    expect_shape(y, ASC_SHAPE(3, n, 2));
    for (int64_t e = 0; e < 3 * n * 2; e++) {
        expect_equal(y, e, (double)((e / (2 * n) * length + expected[e / 2 % n]) * 2 + e % 2));
    }
    check_scatter(y, x);
}

START_TEST(slice)
{
    asc_tensor x = counting(ASC_F64, ASC_SHAPE(3, length, 2));
    for (int64_t start = -13; start <= 13; start += 2) {
        for (int64_t stop = -13; stop <= 13; stop += 1) {
            check_slice(x, start, stop, 1);
            check_slice(x, start, stop, 3);
        }
    }
    check_slice(x, 0, ASC_SLICE_END, 1);
    check_slice(x, 2, ASC_SLICE_END, INT64_MAX);
    expect_shape(asc_slice(ctx, x, -1, INT64_MIN, ASC_SLICE_END, 1), ASC_SHAPE(3, length, 2));
    asc_tensor none = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 0, 3));
    expect_shape(asc_slice(ctx, none, 0, 1, 2, 1), ASC_SHAPE(1, 0, 3));
    expect_shape(asc_slice(ctx, none, 2, 1, ASC_SLICE_END, 2), ASC_SHAPE(2, 0, 1));
}
END_TEST

START_TEST(slices_of_one_tensor_add_up)
{
    asc_tensor x = counting(ASC_F32, ASC_SHAPE(500, 60)), parts[3];
    for (int i = 0; i < 3; i++) {
        parts[i] = asc_slice(ctx, x, 1, 10 * i, 30 + 10 * i, 1); /* they overlap */
    }
    check_scatter(asc_concat(ctx, parts, 3, 0), x);
}
END_TEST

START_TEST(slice_errors)
{
    asc_tensor x = counting(ASC_F32, ASC_SHAPE(4, 6));
    expect_failure(asc_slice(ctx, x, 2, 0, 1, 1), "slice: x is f32 (4, 6), expected to have dimension 2");
    expect_failure(asc_slice(ctx, x, 0, 0, 1, 0), "slice: step is 0, expected at least 1");
    expect_failure(asc_slice(ctx, x, 0, 3, 1, -1), "slice: step is -1, expected at least 1");
    expect_failure(asc_slice(ctx, asc_scalar(ctx, ASC_F32, 1), 0, 0, 1, 1),
                   "slice: x is f32 (), expected to have dimension 0");
}
END_TEST

/* ---- expand ---- */

START_TEST(expand)
{
    static const struct {
        int from, to;
        int64_t had[3], gets[4];
    } cases[] = {
        {2, 3, {40, 1}, {7, 40, 300}},   {1, 2, {50}, {900, 50}},          {0, 2, {0}, {130, 140}},
        {3, 3, {1, 60, 1}, {90, -1, 3}}, {3, 4, {30, 1, 20}, {2, -1, 40, 20}}, {2, 2, {30, 20}, {30, 20}},
    };
    for (int k = 0; k < 12; k++) {
        asc_tensor x = counting(floats[k % 2], cases[k / 2].from, cases[k / 2].had);
        asc_tensor y = asc_expand(ctx, x, cases[k / 2].to, cases[k / 2].gets);
        expect_view(y, x, true);
        int added = cases[k / 2].to - cases[k / 2].from;
        for (int d = 0; d < cases[k / 2].to; d++) {
            int64_t gets = cases[k / 2].gets[d];
            ck_assert_int_eq(asc_size(y, d), gets == -1 ? cases[k / 2].had[d - added] : gets);
        }
        check_scatter(y, x);
    }
}
END_TEST

/* Added one by one in float, rows of .1 are off by 2e-3 of their sum. */
START_TEST(sums_of_many_repetitions)
{
    enum { N = 1 << 18 };
    static const struct {
        int from, to;
        int64_t had[2], gets[3];
    } cases[] = {
        {0, 1, {0}, {N}}, {1, 2, {3}, {N, 3}}, {2, 2, {3, 1}, {3, N}}, {2, 3, {3, 1}, {N / 4, 3, 4}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        asc_tensor x = asc_zeros(ctx, ASC_F32, cases[k].from, cases[k].had);
        ck_assert_int_eq(asc_require_grad(x, true), ASC_OK);
        asc_tensor y = asc_expand(ctx, x, cases[k].to, cases[k].gets);
        asc_tensor sum = asc_sum(ctx, asc_scale(ctx, y, .1), ASC_ALL_DIMS, false);
        ck_assert_int_eq(asc_backward(ctx, sum, asc_null(), false), ASC_OK);
        for (int64_t i = 0; i < asc_numel(x); i++) {
            expect_close(asc_grad(x), i, N * (double).1F, 40 * N * .1);
        }
    }
}
END_TEST

START_TEST(expand_to_nothing)
{
    asc_tensor x = counting(ASC_F64, ASC_SHAPE(1, 3)), y = asc_expand(ctx, x, 2, (int64_t[]){0, 3});
    expect_shape(y, ASC_SHAPE(0, 3));
    run_backward(y);
    for (int64_t i = 0; i < 3; i++) {
        expect_equal(asc_grad(x), i, 0);
    }
}
END_TEST

START_TEST(expand_errors)
{
    asc_tensor x = counting(ASC_F32, ASC_SHAPE(4, 1));
    expect_failure(asc_expand(ctx, x, 2, (int64_t[]){5, 2}), "expand: size 4 of dimension 0 does not expand to 5");
    expect_failure(asc_expand(ctx, x, 1, (int64_t[]){4}), "expand: shape has 1 dimensions, expected 2 to 8");
    expect_failure(asc_expand(ctx, x, 3, (int64_t[]){-1, 4, 1}), "expand: size 1 of dimension 0 does not expand to -1");
    expect_failure(asc_expand(ctx, x, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 4, 1}),
                   "expand: shape has 9 dimensions, expected 2 to 8");
    expect_failure(asc_expand(ctx, x, 4, (int64_t[]){INT64_MAX, 2, -1, 1}),
                   "expand: view 0 would be (9223372036854775807, 2, 4, 1), more bytes than there are");
}
END_TEST

/* ---- contiguous ---- */

START_TEST(contiguous)
{
    for (int i = 0; i < 2; i++) {
        asc_tensor x = counting(floats[i], ASC_SHAPE(90, 7, 40)), t = asc_permute(ctx, x, 3, (int[]){2, 0, 1});
        asc_tensor y = asc_contiguous(ctx, t);
        ck_assert(asc_is_contiguous(y) && !asc_is_contiguous(t));
        expect_view(y, x, false);
        for (int64_t e = 0; e < asc_numel(y); e++) {
            expect_equal(y, e, value(t, e));
        }
        check_scatter(y, x);
        ck_assert(asc_is_same(asc_contiguous(ctx, x), x));
    }
    static const asc_dtype whole[] = {ASC_I64, ASC_U8};
    for (int i = 0; i < 2; i++) { /* any dtype */
        asc_tensor x = asc_zeros(ctx, whole[i], ASC_SHAPE(5, 3)), t = asc_transpose(ctx, x, 0, 1);
        for (int64_t e = 0; e < 15; e++) {
            if (whole[i] == ASC_I64) {
                ((int64_t *)asc_data_mut(x))[e] = e - ((int64_t)1 << 60);
            } else {
                ((uint8_t *)asc_data_mut(x))[e] = (uint8_t)(250 + e);
            }
        }
        asc_tensor y = asc_contiguous(ctx, t);
        for (int64_t e = 0; e < 15; e++) {
            expect_equal(y, e, value(t, e));
        }
    }
}
END_TEST

/* ---- concat ---- */

START_TEST(concat)
{
    static const int64_t lengths[] = {30, 1, 0, 17};
    for (int k = 0; k < 6; k++) {
        int dim = k / 2;
        int64_t shape[] = {40, 12, 25}, total[] = {40, 12, 25}, inner = 1;
        total[dim] = 48;
        for (int d = dim + 1; d < 3; d++) {
            inner *= shape[d];
        }
        asc_tensor x[4];
        for (int i = 0; i < 4; i++) {
            shape[dim] = lengths[i];
            x[i] = random_leaf(floats[k % 2], (uint64_t)i, 3, shape);
        }
        asc_tensor y = asc_concat(ctx, x, 4, k % 2 ? dim : dim - 3);
        expect_shape(y, 3, total);
        asc_tensor dy = run_backward(y);
        for (int64_t e = 0; e < asc_numel(y); e++) {
            int64_t at = e / inner % 48;
            int i = at < 30 ? 0 : at < 31 ? 1 : 3;
            int64_t from = (e / (inner * 48) * lengths[i] + at - (i == 0 ? 0 : i == 1 ? 30 : 31)) * inner + e % inner;
            expect_equal(y, e, value(x[i], from));
            expect_equal(asc_grad(x[i]), from, value(dy, e));
        }
    }
}
END_TEST

START_TEST(concat_of_views_and_of_the_same)
{
    asc_tensor x = counting(ASC_F64, ASC_SHAPE(3, 5)), t = asc_transpose(ctx, x, 0, 1), many[24];
    for (int i = 0; i < 24; i++) {
        many[i] = t;
    }
    asc_tensor y = asc_concat(ctx, many, 24, 1);
    expect_shape(y, ASC_SHAPE(5, 72));
    check_scatter(y, x);
    asc_tensor ids = asc_full(ctx, ASC_I64, 3, ASC_SHAPE(2)); /* of any dtype */
    ck_assert_int_eq(asc_dtype_of(asc_concat(ctx, (asc_tensor[]){ids, ids}, 2, 0)), ASC_I64);
}
END_TEST

START_TEST(concat_errors)
{
    asc_tensor x = counting(ASC_F32, ASC_SHAPE(4, 6)), many[ASC_MAX_IN + 1];
    for (int i = 0; i <= ASC_MAX_IN; i++) {
        many[i] = x;
    }
    expect_failure(asc_concat(ctx, (asc_tensor[]){x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(4, 5))}, 2, 0),
                   "concat: x[1] is f32 (4, 5), expected f32 (4, 6) but for dimension 0, as x[0]");
    expect_failure(asc_concat(ctx, (asc_tensor[]){x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(4))}, 2, 0),
                   "concat: x[1] is f32 (4), expected f32 (4, 6) but for dimension 0, as x[0]");
    expect_failure(asc_concat(ctx, (asc_tensor[]){x, asc_zeros(ctx, ASC_F64, ASC_SHAPE(4, 6))}, 2, 0),
                   "concat: x[1] is f64 (4, 6), expected f32 (4, 6) but for dimension 0, as x[0]");
    expect_failure(asc_concat(ctx, &x, 1, 2), "concat: x[0] is f32 (4, 6), expected to have dimension 2");
    expect_failure(asc_concat(ctx, many, ASC_MAX_IN + 1, 0), "concat: 33 inputs, expected 1 to 32");
    expect_failure(asc_concat(ctx, NULL, 0, 0), "concat: 0 inputs, expected 1 to 32");
    expect_failure(asc_concat(ctx, (asc_tensor[]){x, asc_null()}, 2, 0), "concat: x[1] is null");
}
END_TEST

/* ---- cast ---- */

START_TEST(cast)
{
    for (int i = 0; i < 2; i++) {
        asc_tensor x = random_leaf(floats[i], 1, ASC_SHAPE(40000)), y = asc_cast(ctx, x, floats[1 - i]);
        ck_assert_int_eq(asc_dtype_of(y), floats[1 - i]);
        ck_assert(asc_is_same(asc_cast(ctx, x, floats[i]), x));
        asc_tensor dy = run_backward(y);
        for (int64_t e = 0; e < 40000; e++) {
            expect_equal(y, e, value(x, e));
            expect_equal(asc_grad(x), e, value(dy, e));
        }
    }
    asc_tensor mask = asc_cast(ctx, asc_full(ctx, ASC_U8, 1, ASC_SHAPE(3)), ASC_F32);
    expect_equal(mask, 2, 1);
    expect_equal(asc_cast(ctx, asc_scalar(ctx, ASC_F64, 0.1), ASC_F32), 0, (double)0.1f);
    expect_failure(asc_cast(ctx, mask, ASC_I64), "cast: dtype is i64, expected f32 or f64");
    expect_failure(asc_cast(ctx, asc_null(), ASC_F32), "cast: x is null");
}
END_TEST

/* What gives back its input as it is does not give back what is no tensor. */
START_TEST(nothing_is_given_back_of_what_is_gone)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3)), y[3];
    asc_release(x);
    for (int i = 0; i < 3; i++) {
        y[i] = i == 0 ? asc_cast(ctx, x, ASC_F32) : i == 1 ? asc_dropout(ctx, x, 0) : asc_contiguous(ctx, x);
        ck_assert(asc_is_null(y[i]));
        expect_error_with(ASC_ERR_STATE, "x is a tensor that is gone");
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("view");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, reshape);
    tcase_add_test(t, reshape_of_strided_tensors);
    tcase_add_test(t, reshape_errors);
    tcase_add_test(t, squeeze_and_unsqueeze);
    tcase_add_test(t, permute);
    tcase_add_test(t, transpose);
    tcase_add_test(t, permute_errors);
    tcase_add_test(t, slice);
    tcase_add_test(t, slices_of_one_tensor_add_up);
    tcase_add_test(t, slice_errors);
    tcase_add_test(t, expand);
    tcase_add_test(t, sums_of_many_repetitions);
    tcase_add_test(t, expand_to_nothing);
    tcase_add_test(t, expand_errors);
    tcase_add_test(t, contiguous);
    tcase_add_test(t, concat);
    tcase_add_test(t, concat_of_views_and_of_the_same);
    tcase_add_test(t, concat_errors);
    tcase_add_test(t, cast);
    tcase_add_test(t, nothing_is_given_back_of_what_is_gone);
    return run_suite("ops/view", t);
}
