/* tests/nn/test_ascender_node.c: the ASCender node against its definition from primitive ops, on random shapes, sets
 * and options; in single precision, with close points far from the origin; features that are NaNs. */
#include "tensor/dtype.h"
#include "tests/nn/ascender.h"

static void check_call(uint64_t seed, int64_t B, int64_t N, int64_t more)
{
    call c = draw_call(seed, ASC_F64, B, N, more);
    outcome node = run_node(&c), composed = run_composed(&c);
    compare(&node, &composed, 1e-9, seed);
}

START_TEST(node_is_its_definition)
{
    static const int64_t N[] = {1, 2, 3, 5, 8, 13, 20, 33, 63, 64, 65, 90, 130};
    for (size_t i = 0; i < sizeof N / sizeof *N; i++) {
        asc_scope_begin(ctx);
        check_call((uint64_t)_i * 100 + i, 1 + (int64_t)(i % 3), N[i], 0);
        asc_scope_end(ctx);
    }
}
END_TEST

START_TEST(queries_may_be_the_last_positions)
{
    check_call((uint64_t)_i + 5000, 2, 1 + _i * 7, 1 + _i * 11 % 70);
}
END_TEST

START_TEST(queries_may_stand_apart)
{
    static const int64_t M[] = {1, 2, 3, 31, 32, 65, 100};
    int64_t N = 1 + _i * 7 % 70;
    check_call((uint64_t)_i + 6000, 2, N, -M[_i % 7]);
}
END_TEST

/* Of a context of nothing comes 0, and so does a gradient; for a sequence of two the first sees no context. */
START_TEST(a_context_may_be_empty)
{
    call c = draw_call(77 + (uint64_t)_i, floats[_i], 2, 40, -3);
    const int64_t lengths[] = {0, 3};
    c.in.lengths = asc_from(ctx, ASC_I64, lengths, ASC_SHAPE(2));
    c.in.mask = asc_null();
    asc_tensor y = asc_ascender(ctx, &c.in, &c.o, NULL);
    run_backward(y);
    int64_t each = asc_numel(y) / 2, w = asc_size(c.in.z_queries, 2);
    for (int64_t e = 0; e < each; e++) {
        expect_equal(y, e, 0);
    }
    for (int64_t e = 0; e < 40 * w; e++) {
        expect_equal(asc_grad(c.in.z_queries), e, 0);
    }
    ck_assert(each == 0 || value(y, each) != 0);
}
END_TEST

/* A bias of -∞ is as a mask: the same output, and gradients that are numbers. */
START_TEST(a_bias_of_minus_infinity_is_a_mask)
{
    call c = draw_call(123, floats[_i], 2, 40, 0);
    c.losses = false;
    c.o = (asc_ascender_options){.heads = c.o.heads, .neighbors = ASC_NEIGHBORS_WINDOW, .radius = 2,
                                 .all_statistics = true, .gate = ASC_GATE_AFTER};
    c.k_a_head = false;
    c.in.lengths = c.in.neighbors = asc_null();
    c.in.mask = asc_empty(ctx, ASC_U8, ASC_SHAPE(40, 40));
    c.in.bias = c.leaf[BIAS] = asc_null();
    asc_tensor bias = asc_zeros(ctx, c.dtype, ASC_SHAPE(40, 40));
    uint8_t *mask = asc_data_mut(c.in.mask);
    void *values = asc_data_mut(bias);
    for (int64_t e = 0; e < 1600; e++) {
        mask[e] = e % 3 != 1 && e / 40 != 7;
        if (c.dtype == ASC_F32) {
            ((float *)values)[e] = mask[e] ? 0 : -(float)INFINITY;
        } else {
            ((double *)values)[e] = mask[e] ? 0 : -INFINITY;
        }
    }
    asc_require_grad(bias, true);
    outcome masked = run_node(&c);
    c.in.mask = asc_null();
    c.in.bias = bias;
    outcome biased = run_node(&c);
    compare(&biased, &masked, c.dtype == ASC_F32 ? 1e-4 : 1e-10, 123);
}
END_TEST

START_TEST(long_sequences)
{
    check_call((uint64_t)_i + 7000, 1, _i == 0 ? 1000 : 200 * _i + 1, 0);
}
END_TEST

/* In float the node stays near what double gives; near-ties among the scores may choose other neighbours, so the
 * neighbours are a window. */
START_TEST(single_precision)
{
    outcome r[2];
    for (int i = 0; i < 2; i++) {
        call c = draw_call((uint64_t)_i + 9000, floats[i], 2, 70, 0);
        c.o.neighbors = ASC_NEIGHBORS_WINDOW;
        c.o.gate = ASC_GATE_AFTER; /* before it, gradients of λ and κ are differences of nearly equal numbers */
        r[i] = run_node(&c);
    }
    compare(&r[0], &r[1], 2e-3, (uint64_t)_i);
}
END_TEST

/* ---- places close together and far from the origin ---- */

START_TEST(close_places_far_away)
{
    outcome r[2];
    for (int dtype = 0; dtype < 2; dtype++) {
        call c = draw_call(31, ASC_F32, 1, 40, 0);
        c.dtype = floats[dtype];
        c.o = (asc_ascender_options){.heads = 1, .causal = true, .neighbors = ASC_NEIGHBORS_WINDOW, .radius = 2,
                                     .sep_self = true, .gate = ASC_GATE_AFTER};
        c.losses = true;
        const int64_t width[] = {4, 4, 4, 3, 5};
        asc_tensor *slot[] = {&c.in.q, &c.in.k, &c.in.v, &c.in.z, &c.in.h};
        for (int i = 0; i < TOKENS; i++) {
            c.leaf[i] = i < HEADING ? random_leaf(c.dtype, (uint64_t)i, ASC_SHAPE(1, 40, width[i])) : asc_null();
        }
        void *z = asc_data_mut(c.leaf[Z]);
        for (int64_t e = 0; e < 40 * 3; e++) { /* steps of 1/128 near 3000, exact in float */
            double place = 3000 + (double)(e * 7 % 64) / 128;
            if (dtype == 0) {
                ((float *)z)[e] = (float)place;
            } else {
                ((double *)z)[e] = place;
            }
        }
        for (int i = 0; i < HEADING; i++) {
            *slot[i] = c.leaf[i];
        }
        for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
            c.in.scalar[i] = c.leaf[TOKENS + i] =
                asc_full(ctx, c.dtype, i == ASC_ASCENDER_KAPPA ? 8 : .5, ASC_SHAPE(1));
            asc_require_grad(c.leaf[TOKENS + i], true);
        }
        c.leaf[REL] = c.leaf[BIAS] = c.in.rel_bias = c.in.bias = asc_null();
        c.in.lengths = c.in.mask = c.in.neighbors = c.in.heading = asc_null();
        r[dtype] = run_node(&c);
    }
    compare(&r[0], &r[1], 1e-4, 31);
}
END_TEST

/* ---- small densities ---- */

/* ρ is a sum of small weights beside i's own, which is 1: in float it keeps its digits, and y's show it. */
START_TEST(small_densities_keep_their_digits)
{
    enum { N = 40, WIDTH = 4 };
    double y[2][N * WIDTH];
    for (int dtype = 0; dtype < 2; dtype++) {
        asc_ascender_inputs in = {.heading = asc_null(), .rel_bias = asc_null(), .lengths = asc_null(),
                                  .mask = asc_null(), .neighbors = asc_null()};
        const asc_ascender_options o = {.heads = 1, .neighbors = ASC_NEIGHBORS_WINDOW, .radius = 2,
                                        .gate = ASC_GATE_AFTER};
        asc_tensor *slot[] = {&in.q, &in.k, &in.v, &in.z, &in.h};
        for (int i = 0; i < HEADING; i++) {
            *slot[i] = random_leaf(floats[dtype], 70 + (uint64_t)i, ASC_SHAPE(1, N, WIDTH));
        }
        for (int64_t e = 0; e < N * WIDTH; e++) { /* on a line, so far apart that w^sep is e^-9 at most */
            double place = e % WIDTH == 0 ? 3 * (double)(e / WIDTH) : 0;
            if (dtype == 0) {
                ((float *)asc_data_mut(in.z))[e] = (float)place;
            } else {
                ((double *)asc_data_mut(in.z))[e] = place;
            }
        }
        for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
            double scalar = i == ASC_ASCENDER_KAPPA       ? 0x1p-10
                            : i == ASC_ASCENDER_OMEGA_SEP ? 4
                            : i == ASC_ASCENDER_DELTA     ? 0
                                                          : 1;
            in.scalar[i] = asc_full(ctx, floats[dtype], scalar, ASC_SHAPE(1));
        }
        asc_tensor out = asc_ascender(ctx, &in, &o, NULL);
        no_error();
        for (int64_t e = 0; e < N * WIDTH; e++) {
            y[dtype][e] = value(out, e);
        }
    }
    for (int64_t e = 0; e < N * WIDTH; e++) {
        if (!(fabs(y[0][e] - y[1][e]) <= 1e-5 * fmax(fabs(y[1][e]), .1))) {
            ck_abort_msg("element %lld is %.9g, expected %.9g", (long long)e, y[0][e], y[1][e]);
        }
    }
}
END_TEST

/* ---- rows that are constant but for rounding ---- */

/* Both keys are every query's neighbours: k̃_1·u = k̃_2·u whatever the headings, so these have no gradient. What comes
 * of rounding is magnified by 1/ε, and where headings are nearly opposite. */
static asc_tensor nearly_opposite(asc_dtype dtype, int64_t heads)
{
    asc_tensor headings = random_leaf(dtype, 95, ASC_SHAPE(1, 2, 2 * heads));
    void *x = asc_data_mut(headings);
    for (int64_t h = 0; h < heads; h++) {
        double length = 1 + .01 * (double)h, turn = 3.1 - .02 * (double)h;
        asc_set_element(dtype, x, 2 * (heads + h), length * cos(turn + (double)h));
        asc_set_element(dtype, x, 2 * (heads + h) + 1, length * sin(turn + (double)h));
        asc_set_element(dtype, x, 2 * h, cos((double)h));
        asc_set_element(dtype, x, 2 * h + 1, sin((double)h));
    }
    return headings;
}

START_TEST(rows_that_are_constant_by_rule)
{
    enum { HEADS = 64, N = 9, W = 2 };
    const asc_dtype dtype = _i ? ASC_F32 : ASC_F64;
    const asc_ascender_options o = {.heads = HEADS, .k = 2, .gate = ASC_GATE_NONE, .unbiased = true};
    asc_ascender_inputs in = {.heading = nearly_opposite(dtype, HEADS)};
    asc_tensor *keys[] = {&in.k, &in.v, &in.z, &in.h}, *queries[] = {&in.q, &in.z_queries, &in.h_queries};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        *keys[i] = random_leaf(dtype, 96 + i, ASC_SHAPE(1, 2, HEADS * W));
    }
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        *queries[i] = random_leaf(dtype, 100 + i, ASC_SHAPE(1, N, HEADS * W));
    }
    for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
        in.scalar[i] = asc_full(ctx, dtype, .7, 1, &o.heads);
    }
    run_backward(asc_ascender(ctx, &in, &o, NULL));
    for (int64_t e = 0; e < 2 * HEADS * W; e++) {
        double g = value(asc_grad(in.heading), e);
        ck_assert_msg(fabs(g) < 1e-7, "element %lld is %g", (long long)e, g);
    }
}
END_TEST

/* ---- features that are not numbers ---- */

/* They choose some neighbours, each once, and show in y. */
START_TEST(features_that_are_nan)
{
    static const int64_t most[] = {16, 60};
    const asc_ascender_options o = {.heads = 2, .k = most[_i % 2], .sep_self = true, .gate = ASC_GATE_AFTER};
    asc_ascender_inputs in = {.heading = asc_null(), .rel_bias = asc_null(), .lengths = asc_null(),
                              .mask = asc_null(), .neighbors = asc_null()};
    asc_tensor *slot[] = {&in.q, &in.k, &in.v, &in.z, &in.h};
    for (int i = 0; i < HEADING; i++) {
        *slot[i] = random_leaf(ASC_F32, 80 + (uint64_t)i, ASC_SHAPE(1, 60, 8));
    }
    for (int64_t e = _i < 2 ? 0 : 30 * 8; e < 60 * 8; e++) {
        ((float *)asc_data_mut(in.h))[e] = NAN;
    }
    for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
        in.scalar[i] = asc_full(ctx, ASC_F32, .7, 1, &o.heads);
    }
    asc_tensor y = asc_ascender(ctx, &in, &o, NULL);
    no_error();
    ck_assert_int_eq(asc_backward(ctx, asc_sum(ctx, y, ASC_ALL_DIMS, false), asc_null(), false), ASC_OK);
    for (int64_t e = 0; e < asc_numel(y); e++) {
        ck_assert(isnan(value(y, e)));
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("definition");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, node_is_its_definition, 0, 24);
    tcase_add_loop_test(t, queries_may_be_the_last_positions, 0, 24);
    tcase_add_loop_test(t, queries_may_stand_apart, 0, 28);
    tcase_add_loop_test(t, a_context_may_be_empty, 0, 2);
    tcase_add_loop_test(t, a_bias_of_minus_infinity_is_a_mask, 0, 2);
    tcase_add_loop_test(t, long_sequences, 0, 4);
    tcase_add_loop_test(t, single_precision, 0, 8);
    tcase_add_test(t, close_places_far_away);
    tcase_add_test(t, small_densities_keep_their_digits);
    tcase_add_loop_test(t, rows_that_are_constant_by_rule, 0, 2);
    tcase_add_loop_test(t, features_that_are_nan, 0, 4);
    return run_suite("nn/ascender node", t);
}
