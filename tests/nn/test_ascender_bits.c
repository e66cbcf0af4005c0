/* tests/nn/test_ascender_bits.c: the ASCender node to the bit: causality, threads, rows that may look at nothing; wrong
 * calls. */
#include "tests/nn/ascender.h"

static const asc_ascender_options causal_options[] = {
    {.heads = 2, .causal = true, .k = 5, .sep_self = true},
    {.heads = 2, .causal = true, .k = 5, .gate = ASC_GATE_AFTER, .neighbors = ASC_NEIGHBORS_BASE, .alibi = true},
    {.heads = 2, .causal = true, .k = 5, .radius = 3, .window = 11, .globals = 3,
     .neighbors = ASC_NEIGHBORS_HYBRID_UNION, .gate = ASC_GATE_AFTER, .sep_self = true},
    {.heads = 2, .causal = true, .k = 5, .window = 7, .random = 3, .gate = ASC_GATE_AFTER, .sep_self = true},
};
enum { CAUSAL = sizeof causal_options / sizeof *causal_options };

/* A call in float, of two sequences of 150; tokens from `changed` on are others. */
static call plain_call(const asc_ascender_options *o, int64_t changed)
{
    enum { N = 150, WIDTH = 16 };
    call c = {.dtype = ASC_F32, .B = 2, .N = N, .M = N, .o = *o};
    asc_tensor *slot[] = {&c.in.q, &c.in.k, &c.in.v, &c.in.z, &c.in.h};
    for (int i = 0; i < HEADING; i++) {
        *slot[i] = c.leaf[i] = random_leaf(ASC_F32, 40 + (uint64_t)i, ASC_SHAPE(2, N, WIDTH));
        float *x = asc_data_mut(c.leaf[i]);
        for (int64_t e = 0; e < 2 * N * WIDTH; e++) {
            x[e] = e / WIDTH % N >= changed ? 30 * x[(e * 7 + 3) % (2 * N * WIDTH)] : x[e];
        }
    }
    for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
        c.in.scalar[i] = c.leaf[TOKENS + i] = asc_full(ctx, ASC_F32, .7, 1, &o->heads);
        asc_require_grad(c.leaf[TOKENS + i], true);
    }
    c.leaf[HEADING] = c.leaf[REL] = c.in.heading = c.in.rel_bias = asc_null();
    c.in.lengths = c.in.mask = c.in.neighbors = asc_null();
    return c;
}

START_TEST(causal_to_the_bit)
{
    static const int64_t cuts[] = {1, 2, 63, 64, 65, 130, 149};
    call c = plain_call(&causal_options[_i], 150);
    asc_tensor y = asc_ascender(ctx, &c.in, &c.o, NULL);
    no_error();
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        call other = plain_call(&causal_options[_i], cuts[i]);
        asc_tensor changed = asc_ascender(ctx, &other.in, &other.o, NULL);
        no_error();
        const float *p = asc_data(y), *q = asc_data(changed);
        for (int b = 0; b < 2; b++, p += 150 * 16, q += 150 * 16) {
            ck_assert_int_eq(memcmp(p, q, (size_t)cuts[i] * 16 * sizeof *p), 0);
            ck_assert_int_ne(memcmp(p, q, (size_t)(cuts[i] + 1) * 16 * sizeof *p), 0);
        }
    }
}
END_TEST

START_TEST(gradients_are_causal)
{
    enum { ROWS = 66, WIDTH = 16 };
    call c = plain_call(&causal_options[_i], 150);
    asc_tensor y = asc_ascender(ctx, &c.in, &c.o, NULL), dy = asc_zeros(ctx, ASC_F32, 3, asc_shape(y));
    for (int64_t e = 0; e < ROWS * WIDTH; e++) {
        ((float *)asc_data_mut(dy))[e] = 1 + (float)(e % 5);
    }
    ck_assert_int_eq(asc_backward(ctx, y, dy, false), ASC_OK);
    for (int i = 0; i < HEADING; i++) {
        const float *g = asc_data(asc_grad(c.leaf[i]));
        for (int64_t e = 0; e < asc_numel(c.leaf[i]); e++) {
            if (!isfinite(g[e]) || (e >= ROWS * WIDTH && g[e] != 0)) {
                ck_abort_msg("input %d: element %lld of the gradient is %g", i, (long long)e, (double)g[e]);
            }
        }
    }
}
END_TEST

static void run_random(asc_tensor *result, int i)
{
    call c = i < 6 ? draw_call((uint64_t)i, ASC_F32, 1, 300, 0) : draw_call((uint64_t)i, ASC_F32, 2, 300, -170);
    if (i % 3 == 0) { /* one that all heads share */
        c.leaf[BIAS] = c.in.bias = random_leaf(ASC_F32, 99, ASC_SHAPE(300, c.M));
    }
    outcome r = run_node(&c);
    memcpy(result, r.part, sizeof r.part);
}

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    same_for_threads(run_random, _i);
}
END_TEST

/* ---- rows that may look at nothing ---- */

START_TEST(empty_rows_are_zero)
{
    call c = plain_call(&causal_options[_i], 150);
    const int64_t lengths[] = {0, 150};
    c.in.lengths = asc_from(ctx, ASC_I64, lengths, ASC_SHAPE(2));
    asc_tensor y = asc_ascender(ctx, &c.in, &c.o, NULL);
    run_backward(y);
    for (int64_t e = 0; e < 150 * 16; e++) {
        expect_equal(y, e, 0);
        for (int i = 0; i < HEADING; i++) {
            expect_equal(asc_grad(c.leaf[i]), e, 0);
        }
    }
    ck_assert(value(y, 150 * 16) != 0);
}
END_TEST

/* ---- errors ---- */

static asc_tensor with_options(call c, asc_ascender_options o)
{
    return asc_ascender(ctx, &c.in, &o, NULL);
}

START_TEST(wrong_calls)
{
    call c = plain_call(&causal_options[0], 150), bad = c;
    expect_failure(with_options(c, (asc_ascender_options){.heads = 0}), "ascender: heads is 0, expected at least 1");
    expect_failure(with_options(c, (asc_ascender_options){.heads = 2, .globals = 1}),
                   "ascender: window is 0, globals is 1: expected none below 0, and globals with a window only");
    expect_failure(with_options(c, (asc_ascender_options){.heads = 2, .k = -1}),
                   "ascender: k is -1, radius is 0, expected none below 0");
    expect_failure(with_options(c, (asc_ascender_options){.heads = 2, .k_of = (int64_t[]){3, -2}}),
                   "ascender: k is -2, radius is 0, expected none below 0");
    expect_failure(with_options(c, (asc_ascender_options){.heads = 2, .gate = (asc_gate)3}),
                   "ascender: neighbors is 0, gate is 3, expected an asc_neighbors and an asc_gate");
    expect_failure(with_options(c, (asc_ascender_options){.heads = 3}),
                   "ascender: q is f32 (2, 150, 16), expected (B, N, H d) with H = 3");
    bad.in.z = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 149, 16));
    expect_failure(with_options(bad, c.o),
                   "ascender: z is f32 (2, 149, 16), expected (2, 150, H w) with H = 2, w >= 1");
    bad = c;
    bad.in.scalar[ASC_ASCENDER_KAPPA] = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3));
    expect_failure(with_options(bad, c.o), "ascender: kappa is f32 (3), expected f32 (2), one number a head");
    bad = c;
    bad.in.neighbors = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 3, 150, 1));
    expect_failure(with_options(bad, c.o),
                   "ascender: neighbors is i64 (2, 3, 150, 1), expected i64 (1 or 2, 1 or 2, 150, m)");
    bad = c;
    bad.in.mask = asc_zeros(ctx, ASC_U8, ASC_SHAPE(149));
    expect_failure(with_options(bad, c.o),
                   "ascender: mask is u8 (149), expected u8 of a shape that broadcasts to (2, 2, 150, 150)");
    bad = c;
    bad.in.bias = asc_zeros(ctx, ASC_F32, ASC_SHAPE(150, 149));
    expect_failure(with_options(bad, c.o),
                   "ascender: bias is f32 (150, 149), expected f32 (1 or 2, 1 or 2, 150, 150)");
    bad = c;
    bad.in.z_queries = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 150, 16));
    expect_failure(with_options(bad, c.o),
                   "ascender: h_queries is absent, expected f32 (2, 150, 16), the queries' features");
    bad.in.h_queries = bad.in.z_queries;
    expect_failure(with_options(bad, c.o),
                   "ascender: queries that stand apart from the keys have no position: expected no causal set, window, "
                   "alibi, rel_bias, neighbours in a window or losses");
    expect_failure(asc_ascender_background(ctx, &bad.in, &c.o, asc_null(), NULL),
                   "ascender_background: z_queries and h_queries belong to ascender: densities are of the keys, and "
                   "queries apart are none of them");
    bad = c;
    bad.in.q = asc_slice(ctx, c.in.q, 1, 100, 150, 1);
    asc_ascender_losses losses;
    expect_failure(asc_ascender(ctx, &bad.in, &c.o, &losses),
                   "ascender: 50 queries of 150 positions: losses take the headings of all, expected as many");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("bits");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, causal_to_the_bit, 0, CAUSAL);
    tcase_add_loop_test(t, gradients_are_causal, 0, CAUSAL);
    tcase_add_loop_test(t, any_number_of_threads_gives_the_same_bits, 0, 10);
    tcase_add_loop_test(t, empty_rows_are_zero, 0, CAUSAL);
    tcase_add_test(t, wrong_calls);
    return run_suite("nn/ascender bits", t);
}
