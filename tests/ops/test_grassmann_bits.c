/* tests/ops/test_grassmann_bits.c: the op grassmann to the bit: causality, padding, threads; streams; errors. */
#include "tests/ops/geometry.h"

/* ---- causality, padding, threads: to the bit ---- */

static asc_tensor long_call(asc_tensor z, asc_tensor memory, asc_tensor lengths)
{
    static const int offsets[] = {1, 5, 33, 300};
    asc_tensor W = random_leaf(ASC_F32, 2, ASC_SHAPE(16, 28)), b = random_leaf(ASC_F32, 3, ASC_SHAPE(16));
    return asc_grassmann(ctx, z, W, b, random_leaf(ASC_F32, 4, ASC_SHAPE(5)), memory, lengths,
                         &(asc_grassmann_options){.offsets = offsets, .n_offsets = 4, .eps = 1e-8, .eps_rel = 1e-3});
}

START_TEST(grassmann_does_not_look_ahead)
{
    expect_no_look_ahead(long_call);
}
END_TEST

START_TEST(grassmann_padding_is_not_seen)
{
    expect_padding_unseen(long_call);
}
END_TEST

static void run_all(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor leaf[] = {leaf_of(ASC_F32, noise, ASC_SHAPE(3, 400, 8)), random_leaf(ASC_F32, 2, ASC_SHAPE(16, 28)),
                         random_leaf(ASC_F32, 3, ASC_SHAPE(16)), random_leaf(ASC_F32, 4, ASC_SHAPE(3)),
                         random_leaf(ASC_F32, 5, ASC_SHAPE(3, 400, 8))};
    static const int offsets[] = {1, 40};
    asc_tensor y = asc_grassmann(ctx, leaf[0], leaf[1], leaf[2], leaf[3], leaf[4], asc_null(),
                                 &(asc_grassmann_options){.offsets = offsets, .n_offsets = 2, .eps = 1e-8});
    run_backward(y);
    *result++ = y;
    for (int l = 0; l < 5; l++) {
        *result++ = asc_grad(leaf[l]);
    }
}

START_TEST(grassmann_threads)
{
    same_for_threads(run_all, 0);
}
END_TEST

/* A stream in pieces, with the vectors that it keeps and the memory's state, gives what the whole gives. */
START_TEST(grassmann_streams)
{
    enum { N = 40, R = 6, D = 3, KEPT = 7 };
    static const int offsets[] = {1, 3, 7};
    asc_tensor z = random_leaf(ASC_F64, 1, ASC_SHAPE(1, N, R)), f = random_leaf(ASC_F64, 2, ASC_SHAPE(1, N, R));
    asc_tensor W = random_leaf(ASC_F64, 3, ASC_SHAPE(D, 15)), b = random_leaf(ASC_F64, 4, ASC_SHAPE(D));
    asc_grassmann_options o = {.offsets = offsets, .n_offsets = 3, .eps = 1e-8};
    asc_tensor memory = asc_gated_memory(ctx, z, f, asc_null(), NULL);
    asc_tensor whole = asc_grassmann(ctx, z, W, b, asc_null(), memory, asc_null(), &o), state = asc_null();
    no_error();
    for (int64_t t = 0, n; t < N; t += n) {
        n = t < 4 ? 1 : t < 20 ? 5 : 13;
        n = n < N - t ? n : N - t;
        o.skip = t < KEPT ? t : KEPT;
        asc_tensor now = asc_slice(ctx, z, 1, t, t + n, 1), next;
        asc_tensor m = asc_gated_memory(ctx, now, asc_slice(ctx, f, 1, t, t + n, 1), state, &next);
        asc_tensor seen = asc_slice(ctx, z, 1, t - o.skip, t + n, 1);
        asc_tensor g = asc_grassmann(ctx, seen, W, b, asc_null(), m, asc_null(), &o);
        state = next;
        no_error();
        for (int64_t e = 0; e < n * D; e++) {
            ck_assert_double_eq_tol(value(g, e), value(whole, t * D + e), 1e-13);
        }
    }
}
END_TEST

/* ---- errors ---- */

static const int one[] = {1};

static asc_tensor attempt(asc_tensor z, asc_tensor W, asc_tensor memory, asc_grassmann_options o)
{
    o.offsets = o.offsets ? o.offsets : one;
    o.eps = o.eps != 0 ? o.eps : 1e-8;
    return asc_grassmann(ctx, z, W, asc_null(), asc_null(), memory, asc_null(), &o);
}

START_TEST(grassmann_errors)
{
    asc_tensor z = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 4, 4)), W = random_leaf(ASC_F32, 2, ASC_SHAPE(3, 6));
    asc_tensor none = asc_null();
    expect_failure(attempt(z, W, none, (asc_grassmann_options){0}),
                   "grassmann: 0 offsets, expected 1 to 48, or none with a memory");
    expect_failure(attempt(z, W, none, (asc_grassmann_options){.n_offsets = 49}),
                   "grassmann: 49 offsets, expected 1 to 48, or none with a memory");
    expect_failure(attempt(z, W, none, (asc_grassmann_options){.n_offsets = 2, .offsets = (int[]){3, 0}}),
                   "grassmann: offset 1 is 0, expected at least 1");
    expect_failure(attempt(z, W, none, (asc_grassmann_options){.n_offsets = 1, .eps = -1}),
                   "grassmann: eps is -1, eps_rel 0, expected above 0 and at least 0");
    expect_failure(attempt(z, W, none, (asc_grassmann_options){.n_offsets = 1, .groups = 3}),
                   "grassmann: groups is 3, z has 4 entries: expected groups that divide them, of 2 or more each, at "
                   "most 32767 in all");
    expect_failure(attempt(z, W, none, (asc_grassmann_options){.n_offsets = 1, .groups = 1 - ((int64_t)1 << 32)}),
                   "grassmann: groups is -2147483648, z has 4 entries: expected groups that divide them, of 2 or more "
                   "each, at most 32767 in all");
    expect_failure(attempt(z, W, none, (asc_grassmann_options){.n_offsets = 1, .skip = 5}),
                   "grassmann: skip is 5, expected 0 to 4");
    expect_failure(attempt(z, W, none, (asc_grassmann_options){.n_offsets = 1, .groups = 2}),
                   "grassmann: weight is f32 (3, 6), expected (D, 2) with D <= 2147483647");
    expect_failure(attempt(z, W, random_leaf(ASC_F32, 3, ASC_SHAPE(2, 4, 4)),
                           (asc_grassmann_options){.n_offsets = 1, .skip = 1}),
                   "grassmann: memory is f32 (2, 4, 4), expected f32 (2, 3, 4), a vector for each position after skip");
    asc_grassmann_options o = {.offsets = one, .n_offsets = 1, .eps = 1e-8, .sum = true};
    expect_failure(asc_grassmann(ctx, z, W, none, random_leaf(ASC_F32, 3, ASC_SHAPE(1)), none, none, &o),
                   "grassmann: sum with an offset_weight: expected one of the two");
    o.sum = false;
    expect_failure(asc_grassmann(ctx, z, W, none, random_leaf(ASC_F32, 3, ASC_SHAPE(2)), none, none, &o),
                   "grassmann: offset_weight is f32 (2), expected f32 (1), one for each pair of a token");
    expect_failure(asc_grassmann(ctx, z, W, random_leaf(ASC_F32, 3, ASC_SHAPE(2)), none, none, none, &o),
                   "grassmann: bias is f32 (2), expected f32 (3), (D)");
    o.direction = (asc_direction)3;
    expect_failure(
        asc_grassmann(ctx, z, W, none, none, none, none, &o),
        "grassmann: direction is 3, expected ASC_DIRECTION_PAST, _FUTURE or _BOTH");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        grassmann_does_not_look_ahead, grassmann_padding_is_not_seen, grassmann_threads, grassmann_streams,
        grassmann_errors,
    };
    TCase *t = tcase_create("grassmann");
    tcase_add_checked_fixture(t, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(t, tests[i]);
    }
    return run_suite("ops/grassmann_bits", t);
}
