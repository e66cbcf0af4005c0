/* tests/ops/test_ascender_background.c: the fused background variant against the same from primitive ops, on any
 * threads; features that tie or are NaNs, places far away; wrong calls. */
#include "tests/ops/background.h"

/* 32 queries are a panel: sizes below, at and above it, and several. */
static const kind kinds[] = {
    {2, 2, 7, 3, 2, 4, 3, .o = {.causal = true, .k = 3}},
    {1, 1, 1, 4, 2, 3, 2, .o = {.causal = true, .k = 3}},
    {1, 1, 2, 4, 2, 3, 2, .o = {.k = 0}},
    {2, 2, 9, 3, 2, 4, 3, .o = {.k = 3}, .heading = true},
    {1, 2, 64, 4, 4, 5, 4, .o = {.causal = true, .k = 4}, .heading = true},
    {1, 2, 65, 4, 4, 5, 4, .o = {.causal = true, .k = 90, .alibi = true}},
    {1, 2, 150, 8, 4, 6, 8, .o = {.causal = true, .k = 16}, .R = 3},
    {1, 1, 150, 8, 4, 6, 8, .o = {.k = 5, .unbiased = true}},
    {1, 2, 70, 4, 2, 3, 4, .o = {.k = 4, .neighbors = ASC_NEIGHBORS_BASE}},
    {1, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 4, .neighbors = ASC_NEIGHBORS_BASE, .neighbor_self = true}},
    {2, 1, 70, 4, 2, 3, 4, .o = {.radius = 2, .neighbors = ASC_NEIGHBORS_WINDOW}},
    {2, 1, 20, 4, 2, 3, 4, .o = {.radius = 0, .neighbors = ASC_NEIGHBORS_WINDOW, .neighbor_self = true}},
    {1, 1, 20, 4, 2, 3, 4, .o = {.causal = true, .radius = INT64_MAX, .neighbors = ASC_NEIGHBORS_WINDOW}},
    {1, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .radius = 3, .neighbors = ASC_NEIGHBORS_HYBRID_UNION}},
    {1, 2, 70, 4, 2, 3, 4, .o = {.k = 9, .radius = 9, .neighbors = ASC_NEIGHBORS_HYBRID_INTERSECTION}},
    {1, 2, 140, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .window = 6, .globals = 2}},
    {1, 2, 140, 4, 2, 3, 4, .o = {.k = 3, .window = 4, .globals = 70}},
    {3, 2, 70, 4, 2, 3, 4, .o = {.k = 3}, .lengths = {70, 66, 3}, .R = 2},
    {3, 1, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3}, .lengths = {100, 1, -5}},
    {2, 2, 70, 4, 2, 3, 4, .o = {.k = 3}, .mask = true},
    {2, 2, 140, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .window = 20, .globals = 3}, .mask = true},
    {2, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .all_statistics = true}, .mask = true},
    {1, 2, 70, 4, 2, 3, 4, .o = {.k = 3, .all_statistics = true, .window = 5, .globals = 1, .unbiased = true}},
    {3, 1, 70, 4, 2, 3, 4, .o = {.k = 3, .all_statistics = true}, .lengths = {70, 20, 0}},
    {2, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3}, .given = 4},
    {2, 2, 70, 4, 2, 3, 4, .o = {.neighbor_self = true}, .given = 6, .mask = true},
    {1, 2, 70, 4, 2, 3, 4, .o = {.causal = true}, .k_of = {1, 5}},
    {1, 2, 500, 8, 4, 6, 8, .o = {.causal = true, .k = 16}, .heading = true},
    {2, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3}, .bias = 2},
    {2, 2, 70, 4, 2, 3, 4, .o = {.k = 3, .all_statistics = true}, .mask = true, .bias = 3},
    {2, 2, 40, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .window = 5}, .R = 2, .bias = 4},
    {2, 2, 140, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .window = 5, .random = 3}, .bias = 2},
    {1, 2, 140, 4, 2, 3, 4, .o = {.k = 5, .window = 4, .globals = 2, .random = 2}, .lengths = {100}},
    {1, 2, 140, 4, 2, 3, 4, .o = {.k = 5, .window = 4, .random = 3}, .mask = true, .R = 2},
    {1, 2, 70, 4, 2, 3, 4, .o = {.k = 5, .window = 4, .globals = 2, .random = 2, .all_statistics = true}},
    {1, 2, 70, 4, 2, 3, 4,
     .o = {.causal = true, .k = 3, .radius = 30, .window = 4, .random = 4, .neighbors = ASC_NEIGHBORS_HYBRID_UNION}},
    {0, 2, 4, 2, 2, 2, 2, .o = {.causal = true, .k = 2}},
    {2, 2, 0, 2, 2, 2, 2, .o = {.k = 2}},
    {1, 1, 5, 2, 0, 2, 0, .o = {.causal = true, .k = 2}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The fused op in dtype against primitive ops in double. */
static void check_kind(const kind *k, asc_dtype dtype)
{
    double tolerance = dtype == ASC_F32 ? 2e-4 : 2e-12;
    call plain = make_call(k, ASC_F64), fused = make_call(k, dtype);
    compose(&plain);
    run(&fused);
    expect_shape(fused.y, ASC_SHAPE(k->B, k->N, k->H * k->dv));
    expect_shape(fused.rho, ASC_SHAPE(k->B, k->H, k->N, 1));
    double *y[] = {values_of(fused.y), values_of(plain.y)}, *rho[] = {values_of(fused.rho), values_of(plain.rho)};
    compare(y[0], y[1], asc_numel(fused.y), tolerance, "y");
    compare(rho[0], rho[1], asc_numel(fused.rho), tolerance, "rho");
    run_backward(plain.y);
    run_backward(fused.y);
    int64_t n = collect(&fused, NULL);
    double *got = calloc((size_t)n + 1, sizeof *got), *expected = calloc((size_t)n + 1, sizeof *expected);
    collect(&fused, got);
    collect(&plain, expected);
    compare(got, expected, n, tolerance, "gradients");
    double *all[] = {y[0], y[1], rho[0], rho[1], got, expected};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
}

START_TEST(fused_is_composed)
{
    check_kind(&kinds[_i / 2], floats[_i % 2]);
}
END_TEST

static void run_kind(asc_tensor *result, int i)
{
    call c = make_call(&kinds[i], ASC_F32);
    run(&c);
    run_backward(c.y);
    *result++ = c.y;
    *result++ = c.rho;
    for (int l = 0; l < LEAVES; l++) {
        *result++ = asc_is_null(leaf_at(&c, l)) ? asc_null() : asc_grad(leaf_at(&c, l));
    }
}

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    same_for_threads(run_kind, _i);
}
END_TEST

/* ---- special values ---- */

/* Of equal features the first ones are the neighbours. */
START_TEST(ties_go_to_the_lower_place)
{
    const kind few = {1, 1, 100, 2, 2, 3, 4, .o = {.k = 3}};
    const kind listed = {1, 1, 100, 2, 2, 3, 4, .o = {.k = 3}, .given = 3};
    call chosen = make_call(&few, floats[_i]), given = make_call(&listed, floats[_i]);
    int64_t *keys = asc_data_mut(given.given);
    for (int64_t e = 0; e < 100 * 4; e++) {
        double x = (double)(e % 4) - 1.3;
        if (floats[_i] == ASC_F32) {
            ((float *)asc_data_mut(chosen.x[H_]))[e] = (float)x;
        } else {
            ((double *)asc_data_mut(chosen.x[H_]))[e] = x;
        }
    }
    for (int64_t i = 0; i < 100; i++) {
        for (int64_t m = 0; m < 3; m++) {
            keys[i * 3 + m] = m + (i <= m);
        }
    }
    run(&chosen);
    run(&given);
    for (int64_t e = 0; e < asc_numel(chosen.y); e++) {
        expect_equal(chosen.y, e, value(given.y, e));
    }
}
END_TEST

/* Features from one key on are NaNs. */
static void spoil_features(const call *c, int64_t from)
{
    int64_t width = asc_size(c->x[H_], 2);
    for (int64_t e = from * width; e < asc_numel(c->x[H_]); e++) {
        if (asc_dtype_of(c->x[H_]) == ASC_F32) {
            ((float *)asc_data_mut(c->x[H_]))[e] = NAN;
        } else {
            ((double *)asc_data_mut(c->x[H_]))[e] = (double)NAN;
        }
    }
}

/* Of features that are all NaNs the first ones are the neighbours, each once; with some, the rest is as it is. */
START_TEST(features_that_are_nan)
{
    enum { N = 60 };
    const int64_t most = _i / 2 ? N : 16, given = _i / 2 ? N - 1 : 16;
    const kind few = {1, 1, N, 2, 2, 3, 4, .o = {.k = most}}, listed = {1, 1, N, 2, 2, 3, 4, .given = given};
    call all = make_call(&few, floats[_i % 2]), some = make_call(&few, floats[_i % 2]);
    call first = make_call(&listed, floats[_i % 2]);
    int64_t *keys = asc_data_mut(first.given);
    for (int64_t e = 0; e < N * given; e++) {
        keys[e] = e % given + (e / given <= e % given);
    }
    spoil_features(&all, 0);
    spoil_features(&some, N / 2);
    run(&all);
    run(&some);
    run(&first);
    run_backward(all.y);
    run_backward(some.y);
    for (int64_t e = 0; e < asc_numel(all.y); e++) {
        expect_equal(all.y, e, value(first.y, e));
        ck_assert(isfinite(value(some.y, e)));
    }
    for (int64_t e = 0; e < asc_numel(some.x[Z]); e++) {
        ck_assert(isfinite(value(asc_grad(some.x[Z]), e)));
    }
}
END_TEST

/* Places 1e4 from the origin and 1 from one another: distances do not cancel in single precision. */
START_TEST(close_places_far_away)
{
    const kind k = {1, 1, 100, 2, 2, 4, 2, .o = {.causal = true, .k = 4}};
    call single = make_call(&k, ASC_F32), twice = make_call(&k, ASC_F64);
    for (int64_t e = 0; e < asc_numel(single.x[Z]); e++) {
        float x = 1e4f + ((const float *)asc_data(single.x[Z]))[e];
        ((float *)asc_data_mut(single.x[Z]))[e] = x;
        ((double *)asc_data_mut(twice.x[Z]))[e] = (double)x;
    }
    for (int s = 0; s < 2; s++) { /* cohesion sees the places themselves: it would drown the distances */
        call *c = s ? &twice : &single;
        c->scalar[ASC_BACKGROUND_OMEGA_COH] = asc_zeros(ctx, asc_dtype_of(c->y = c->x[Q]), 1, &k.H);
        run(c);
        run_backward(c->y);
    }
    double *got = values_of(asc_grad(single.x[Z])), *expected = values_of(asc_grad(twice.x[Z]));
    compare(got, expected, asc_numel(single.x[Z]), 1e-4, "dz");
    free(got);
    free(expected);
}
END_TEST

/* ---- wrong calls ---- */

static asc_tensor attend(asc_ascender_inputs in, asc_ascender_options o, asc_tensor density)
{
    return asc_ascender_background(ctx, &in, &o, density, NULL);
}

START_TEST(wrong_calls)
{
    const kind k = {2, 2, 5, 2, 2, 2, 2, .o = {.causal = true, .k = 2}};
    call c = make_call(&k, ASC_F32);
    const asc_ascender_inputs right = inputs_of(&c);
    const asc_ascender_options o = options_of(&k);
    asc_ascender_options other = o;
    asc_ascender_inputs in = right;
    asc_tensor none = asc_null(), narrow = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 4, 4));
    other.heads = 3;
    expect_failure(attend(in, other, none), "ascender_background: q is f32 (2, 5, 4), expected (B, N, H d) with H = 3");
    other = o;
    other.gate = ASC_GATE_NONE;
    expect_failure(attend(in, other, none), "ascender_background: gates, squared temperatures and a density that "
                   "counts i itself belong to the other variant");
    other = o;
    other.neighbors = (asc_neighbors)9;
    expect_failure(attend(in, other, none), "ascender_background: neighbors is 9, expected an asc_neighbors");
    other = o;
    other.k = -1;
    expect_failure(attend(in, other, none), "ascender_background: k is -1, radius is 0, expected none below 0");
    in.z = narrow;
    expect_failure(attend(in, o, none), "ascender_background: z is f32 (2, 4, 4), expected (2, 5, H d) with H = 2");
    in = right;
    in.heading = narrow;
    expect_failure(attend(in, o, none), "ascender_background: heading is f32 (2, 4, 4), expected (2, 5, 4)");
    in = right;
    in.scalar[ASC_BACKGROUND_THETA_COH] = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3));
    expect_failure(attend(in, o, none), "ascender_background: theta_coh is f32 (3), expected f32 (2), one a head");
    in = right;
    in.q = narrow;
    expect_failure(attend(in, o, none),
                   "ascender_background: density is absent, expected f32 (2, 2, 1, 1), ρ of the keys before the "
                   "queries");
    other = o;
    other.causal = false;
    expect_failure(attend(in, other, none), "ascender_background: 4 queries and 5 keys: expected as many, or a causal "
                   "set with its own statistics");
    in = right;
    in.h = none;
    expect_failure(attend(in, o, none), "ascender_background: h is null");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("background");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, fused_is_composed, 0, 2 * KINDS);
    tcase_add_loop_test(t, any_number_of_threads_gives_the_same_bits, 0, KINDS);
    tcase_add_loop_test(t, ties_go_to_the_lower_place, 0, 2);
    tcase_add_loop_test(t, features_that_are_nan, 0, 4);
    tcase_add_test(t, close_places_far_away);
    tcase_add_test(t, wrong_calls);
    return run_suite("ops/ascender_background", t);
}
