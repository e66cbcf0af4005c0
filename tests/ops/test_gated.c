/* tests/ops/test_gated.c: gated_memory and gated_fusion against their definitions, composed of primitive ops; streams,
 * causality and threads to the bit; errors. */
#include "tests/ops/geometry.h"

static void expect_near(asc_tensor got, asc_tensor expected, double tolerance, const char *what)
{
    ck_assert_int_eq(asc_numel(got), asc_numel(expected));
    for (int64_t i = 0; i < asc_numel(got); i++) {
        double x = value(got, i), y = value(expected, i);
        if (!(fabs(x - y) <= tolerance * (1 + fabs(y)))) {
            ck_abort_msg("%s[%lld]: %.12g, expected %.12g", what, (long long)i, x, y);
        }
    }
}

/* Copies of the leaves' gradients from y and, if it is not null, from a second output; the leaves' are cleared. */
static void gradients(const asc_tensor *leaf, int n, asc_tensor y, asc_tensor other, asc_tensor *grad)
{
    asc_tensor c = random_leaf(asc_dtype_of(y), 77, asc_ndim(y), asc_shape(y));
    asc_tensor loss = asc_sum(ctx, asc_mul(ctx, y, c), ASC_ALL_DIMS, false);
    if (!asc_is_null(other)) {
        asc_tensor d = random_leaf(asc_dtype_of(y), 78, asc_ndim(other), asc_shape(other));
        loss = asc_add(ctx, loss, asc_sum(ctx, asc_mul(ctx, other, d), ASC_ALL_DIMS, false));
    }
    asc_backward(ctx, loss, asc_null(), false);
    no_error();
    for (int i = 0; i < n; i++) {
        grad[i] = asc_scale(ctx, asc_detach(ctx, asc_grad(leaf[i])), 1);
        asc_zero_grad(leaf[i]);
    }
}

/* ---- gated_memory ---- */

static asc_tensor composed_memory(asc_tensor z, asc_tensor forget, asc_tensor initial, asc_tensor *last)
{
    asc_tensor f = asc_sigmoid(ctx, forget), m = initial, before[24], one = asc_full(ctx, asc_dtype_of(z), 1, 0, NULL);
    int64_t N = asc_size(z, 1);
    for (int64_t t = 0; t < N; t++) {
        asc_tensor ft = asc_slice(ctx, f, 1, t, t + 1, 1), zt = asc_slice(ctx, z, 1, t, t + 1, 1);
        before[t] = m;
        m = asc_add(ctx, asc_mul(ctx, ft, m), asc_mul(ctx, asc_sub(ctx, one, ft), zt));
    }
    *last = m;
    return asc_concat(ctx, before, (int)N, 1);
}

START_TEST(memory_is_its_definition)
{
    static const int64_t widths[] = {1, 3, 31, 32, 33, 64, 130};
    for (int f = 0; f < 2; f++) {
        double tolerance = f == 0 ? 2e-6 : 1e-14;
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            int64_t r = widths[k], N = k % 2 ? 24 : 1;
            asc_tensor leaf[] = {random_leaf(floats[f], 1, ASC_SHAPE(2, N, r)),
                                 random_leaf(floats[f], 2, ASC_SHAPE(2, N, r)),
                                 random_leaf(floats[f], 3, ASC_SHAPE(2, 1, r))};
            asc_tensor last, expected_last, grad[3], expected_grad[3];
            asc_tensor y = asc_gated_memory(ctx, leaf[0], leaf[1], leaf[2], &last);
            asc_tensor expected = composed_memory(leaf[0], leaf[1], leaf[2], &expected_last);
            no_error();
            expect_near(y, expected, tolerance, "before");
            expect_near(last, expected_last, tolerance, "last");
            gradients(leaf, 3, y, last, grad);
            gradients(leaf, 3, expected, expected_last, expected_grad);
            for (int i = 0; i < 3; i++) {
                expect_near(grad[i], expected_grad[i], 10 * tolerance, "gradient");
            }
        }
    }
}
END_TEST

/* No initial state is one of 0, and nothing is held before the first position. */
START_TEST(memory_starts_empty)
{
    asc_tensor z = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 5, 3)), f = random_leaf(ASC_F32, 2, ASC_SHAPE(2, 5, 3));
    asc_tensor y = asc_gated_memory(ctx, z, f, asc_null(), NULL);
    asc_tensor same = asc_gated_memory(ctx, z, f, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 1, 3)), NULL);
    no_error();
    ck_assert_mem_eq(asc_data(y), asc_data(same), 2 * 5 * 3 * sizeof(float));
    for (int64_t e = 0; e < 2 * 5 * 3; e++) {
        ck_assert(e / 3 % 5 > 0 || value(y, e) == 0);
    }
}
END_TEST

/* A gate that is open keeps, one that is shut takes over; an infinite logit is no NaN. */
START_TEST(memory_gates_at_their_ends)
{
    asc_tensor z = random_leaf(ASC_F64, 1, ASC_SHAPE(1, 4, 2)), m = random_leaf(ASC_F64, 3, ASC_SHAPE(1, 1, 2));
    asc_tensor f = asc_from(ctx, ASC_F64, (double[]){INFINITY, -INFINITY, 800, -800, INFINITY, -INFINITY, 800, -800},
                            ASC_SHAPE(1, 4, 2)), last;
    asc_gated_memory(ctx, z, f, m, &last);
    no_error();
    ck_assert_double_eq(value(last, 0), value(m, 0));
    ck_assert_double_eq(value(last, 1), value(z, 7));
}
END_TEST

/* In pieces, each with the state of the one before: the same to the bit, gradients to rounding. */
START_TEST(memory_streams)
{
    enum { N = 20, R = 40 };
    asc_tensor leaf[] = {random_leaf(ASC_F32, 1, ASC_SHAPE(1, N, R)), random_leaf(ASC_F32, 2, ASC_SHAPE(1, N, R))};
    asc_tensor whole = asc_gated_memory(ctx, leaf[0], leaf[1], asc_null(), NULL), state = asc_null(), part[3], grad[2],
               expected[2];
    for (int k = 0; k < 3; k++) {
        int64_t from = k == 0 ? 0 : k == 1 ? 1 : 12, to = k == 0 ? 1 : k == 1 ? 12 : N;
        asc_tensor z = asc_slice(ctx, leaf[0], 1, from, to, 1), f = asc_slice(ctx, leaf[1], 1, from, to, 1);
        part[k] = asc_gated_memory(ctx, z, f, state, &state);
    }
    asc_tensor joined = asc_concat(ctx, part, 3, 1);
    no_error();
    ck_assert_mem_eq(asc_data(whole), asc_data(joined), N * R * sizeof(float));
    gradients(leaf, 2, joined, asc_null(), grad);
    gradients(leaf, 2, whole, asc_null(), expected);
    expect_near(grad[0], expected[0], 1e-6, "dz");
    expect_near(grad[1], expected[1], 1e-6, "dforget");
}
END_TEST

START_TEST(memory_does_not_look_ahead)
{
    enum { N = 30, R = 5 };
    asc_tensor z = random_leaf(ASC_F32, 1, ASC_SHAPE(1, N, R)), f = random_leaf(ASC_F32, 2, ASC_SHAPE(1, N, R));
    asc_tensor before = asc_gated_memory(ctx, z, f, asc_null(), NULL);
    no_error();
    for (int64_t t = 0; t < N; t++) { /* what is held before t + 1 does not know z_{t+1}; nor does before t know z_t */
        asc_tensor changed = random_leaf(ASC_F32, 1, ASC_SHAPE(1, N, R));
        asc_tensor other = random_leaf(ASC_F32, 2, ASC_SHAPE(1, N, R));
        for (int64_t e = t * R; e < N * R; e++) {
            ((float *)asc_data_mut(changed))[e] = 3;
            ((float *)asc_data_mut(other))[e] = NAN;
        }
        asc_tensor after = asc_gated_memory(ctx, changed, other, asc_null(), NULL);
        no_error();
        ck_assert_mem_eq(asc_data(before), asc_data(after), (size_t)((t + 1) * R) * sizeof(float));
    }
}
END_TEST

/* ---- gated_fusion ---- */

static asc_tensor composed_fusion(const asc_tensor *in, asc_tensor *alpha)
{
    asc_tensor both = asc_concat(ctx, (asc_tensor[]){in[0], in[1]}, 2, asc_ndim(in[0]) - 1);
    *alpha = asc_sigmoid(ctx, asc_linear(ctx, both, in[2], in[3]));
    asc_tensor rest = asc_sub(ctx, asc_full(ctx, asc_dtype_of(in[0]), 1, 0, NULL), *alpha);
    return asc_add(ctx, asc_mul(ctx, *alpha, in[0]), asc_mul(ctx, rest, in[1]));
}

/* Few rows, and several tiles and chunks of them. */
START_TEST(fusion_is_its_definition)
{
    static const int64_t rows[] = {1, 7, 300, 4500}, widths[] = {1, 5, 24, 3};
    for (int k = 0; k < 8; k++) {
        int64_t n = rows[k / 2], D = widths[k / 2];
        asc_dtype dtype = floats[k % 2];
        double tolerance = dtype == ASC_F32 ? 2e-6 : 1e-13;
        asc_tensor leaf[] = {random_leaf(dtype, 1, ASC_SHAPE(n, D)), random_leaf(dtype, 2, ASC_SHAPE(n, D)),
                             random_leaf(dtype, 3, ASC_SHAPE(D, 2 * D)), random_leaf(dtype, 4, ASC_SHAPE(D))};
        asc_tensor alpha, expected_alpha, grad[4], expected_grad[4];
        asc_tensor y = asc_gated_fusion(ctx, leaf[0], leaf[1], leaf[2], leaf[3], &alpha);
        asc_tensor expected = composed_fusion(leaf, &expected_alpha);
        no_error();
        expect_near(y, expected, tolerance, "y");
        expect_near(alpha, expected_alpha, tolerance, "alpha");
        gradients(leaf, 4, y, asc_null(), grad);
        gradients(leaf, 4, expected, asc_null(), expected_grad);
        for (int i = 0; i < 4; i++) {
            expect_near(grad[i], expected_grad[i], tolerance * (i < 2 ? 4 : 4 + (double)n), "gradient");
        }
    }
}
END_TEST

/* Where both are the same the gate has no say, to the bit; without a bias it is as with one of 0. */
START_TEST(fusion_of_equals)
{
    asc_tensor h = random_leaf(ASC_F32, 1, ASC_SHAPE(9, 6)), W = random_leaf(ASC_F32, 3, ASC_SHAPE(6, 12));
    asc_tensor y = asc_gated_fusion(ctx, h, h, W, asc_null(), NULL);
    run_backward(y);
    for (int64_t i = 0; i < 9 * 6; i++) {
        expect_equal(y, i, value(h, i));
        expect_close(asc_grad(h), i, value(random_leaf(ASC_F32, 77, ASC_SHAPE(9, 6)), i), 1);
    }
    asc_tensor g = random_leaf(ASC_F32, 2, ASC_SHAPE(9, 6)), zero = asc_zeros(ctx, ASC_F32, ASC_SHAPE(6));
    asc_tensor without = asc_gated_fusion(ctx, h, g, W, asc_null(), NULL);
    asc_tensor with = asc_gated_fusion(ctx, h, g, W, zero, NULL);
    no_error();
    ck_assert_mem_eq(asc_data(without), asc_data(with), 9 * 6 * sizeof(float));
}
END_TEST

/* ---- threads ---- */

static void run_fusion(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor W = random_leaf(ASC_F32, 3, ASC_SHAPE(16, 32));
    asc_tensor h = leaf_of(ASC_F32, noise, ASC_SHAPE(1500, 16)), g = random_leaf(ASC_F32, 2, ASC_SHAPE(1500, 16));
    result[0] = asc_gated_fusion(ctx, h, g, W, random_leaf(ASC_F32, 4, ASC_SHAPE(16)), NULL);
    run_backward(result[0]);
    result[1] = asc_grad(W);
}

static void run_memory(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor f = random_leaf(ASC_F32, 2, ASC_SHAPE(3, 200, 70));
    result[0] = asc_gated_memory(ctx, leaf_of(ASC_F32, noise, ASC_SHAPE(3, 200, 70)), f, asc_null(), NULL);
    run_backward(result[0]);
    result[1] = asc_grad(f);
}

START_TEST(gated_threads)
{
    same_for_threads(run_fusion, 0);
    same_for_threads(run_memory, 0);
}
END_TEST

START_TEST(gated_errors)
{
    asc_tensor z = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 4, 3)), flat = random_leaf(ASC_F32, 1, ASC_SHAPE(4, 3)), last;
    expect_failure(asc_gated_memory(ctx, flat, flat, asc_null(), NULL),
                   "gated_memory: z is f32 (4, 3), expected (B, N, r)");
    expect_failure(asc_gated_memory(ctx, z, flat, asc_null(), &last),
                   "gated_memory: forget is f32 (4, 3), expected f32 (2, 4, 3), the shape of z");
    ck_assert(asc_is_null(last));
    expect_failure(asc_gated_memory(ctx, z, z, flat, NULL),
                   "gated_memory: initial is f32 (4, 3), expected f32 (2, 1, 3), (B, 1, r)");
    asc_tensor W = random_leaf(ASC_F32, 2, ASC_SHAPE(3, 6)), alpha;
    expect_failure(asc_gated_fusion(ctx, z, flat, W, asc_null(), &alpha),
                   "gated_fusion: g is f32 (4, 3), expected f32 (2, 4, 3), the shape of h");
    ck_assert(asc_is_null(alpha));
    expect_failure(asc_gated_fusion(ctx, z, z, z, asc_null(), NULL),
                   "gated_fusion: weight is f32 (2, 4, 3), expected f32 (3, 6), (D, 2 D)");
    expect_failure(asc_gated_fusion(ctx, z, z, W, W, NULL), "gated_fusion: bias is f32 (3, 6), expected f32 (3), (D)");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        memory_is_its_definition, memory_starts_empty, memory_gates_at_their_ends, memory_streams,
        memory_does_not_look_ahead, fusion_is_its_definition, fusion_of_equals, gated_threads, gated_errors,
    };
    TCase *t = tcase_create("gated");
    tcase_add_checked_fixture(t, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(t, tests[i]);
    }
    return run_suite("ops/gated", t);
}
