/* tests/test_nn_ascender_node.c: the ASCender node against its definition from primitive ops, on random shapes, sets and
 * options; causality, threads and instruction sets to the bit; close points far from the origin; errors. */
#include "nn/ascender_composed.h"
#include "tests/ops_values.h"

enum { Q, K_, V, Z, H_, HEADING, TOKENS, REL = TOKENS + ASC_SWARM_SCALARS, LEAVES };

/* A random call; the same for the same seed, whatever the dtype. */
typedef struct call {
    asc_dtype dtype;
    int64_t B, N, M;
    bool k_a_head;
    int64_t k_of[4];
    asc_ascender_options o; /* but for k_of */
    asc_ascender_inputs in;
    asc_tensor leaf[LEAVES]; /* all that may have a gradient; null: absent */
    bool losses;
} call;

static uint64_t state;

static int64_t draw(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static double draw_real(double from, double to)
{
    return from + (to - from) * (double)draw(1 << 20) / (1 << 20);
}

/* ---- random calls ---- */

static void draw_options(call *c)
{
    c->o = (asc_ascender_options){
        .heads = 1 + draw(3), .causal = draw(3) > 0, .alibi = draw(3) == 0,
        .neighbors = (asc_neighbors)draw(5), .k = draw(9), .radius = draw(5),
        .neighbor_self = draw(3) == 0, .rho_self = draw(3) == 0, .sep_self = draw(3) > 0,
        .tau_squared = draw(2), .gate = (asc_gate)draw(3), .unbiased = draw(2), .all_statistics = draw(5) == 0};
    if (draw(3) == 0) {
        c->o.window = 1 + draw(9);
        c->o.globals = draw(4);
    }
    if (draw(4) == 0) {
        for (int64_t h = 0; h < c->o.heads; h++) {
            c->k_of[h] = draw(12);
        }
        c->k_a_head = true;
    }
}

static asc_tensor leaf(const call *c, uint64_t stream, int64_t rows, int64_t width)
{
    return random_leaf(c->dtype, state ^ stream, ASC_SHAPE(c->B, rows, c->o.heads * width));
}

static void draw_scalars(call *c)
{
    static const double range[ASC_SWARM_SCALARS][2] = {{-1.5, 1.5}, {.5, 1.5}, {.5, 1.5}, {.8, 3}, {.8, 3}, {.5, 6},
                                                       {-.3, .3},   {-2, 1},   {-1, 1},   {.1, .6}, {.1, .6}, {-.6, .6},
                                                       {.6, 1.4}};
    for (int i = 0; i < ASC_SWARM_SCALARS; i++) {
        asc_tensor t = asc_empty(ctx, c->dtype, 1, &c->o.heads);
        for (int64_t h = 0; h < c->o.heads; h++) {
            float value = (float)draw_real(range[i][0], range[i][1]);
            if (c->dtype == ASC_F32) {
                ((float *)asc_data_mut(t))[h] = value;
            } else {
                ((double *)asc_data_mut(t))[h] = (double)value;
            }
        }
        ck_assert_int_eq(asc_require_grad(t, true), ASC_OK);
        c->leaf[TOKENS + i] = t;
    }
}

/* Any of lengths, a mask and given neighbours. */
static void draw_sets(call *c)
{
    int64_t length[8];
    if (draw(4) == 0) {
        for (int64_t b = 0; b < c->B; b++) {
            length[b] = draw(c->M + 2);
        }
        c->in.lengths = asc_from(ctx, ASC_I64, length, 1, &c->B);
    }
    if (draw(4) == 0) {
        c->in.mask = asc_empty(ctx, ASC_U8, ASC_SHAPE(draw(2) ? c->B : 1, draw(2) ? c->o.heads : 1, c->N, c->M));
        uint8_t *mask = asc_data_mut(c->in.mask);
        for (int64_t e = 0; e < asc_numel(c->in.mask); e++) {
            mask[e] = e / c->M % 7 != 3 && draw(4) > 0;
        }
    }
    if (draw(5) == 0) {
        c->in.neighbors = asc_empty(ctx, ASC_I64,
                                    ASC_SHAPE(draw(2) ? c->B : 1, draw(2) ? c->o.heads : 1, c->N, 1 + draw(5)));
        int64_t *place = asc_data_mut(c->in.neighbors);
        for (int64_t e = 0; e < asc_numel(c->in.neighbors); e++) {
            place[e] = draw(c->M + 2) - 1;
        }
    }
}

static call draw_call(uint64_t seed, asc_dtype dtype, int64_t B, int64_t N, int64_t more)
{
    state = seed;
    call c = {.dtype = dtype, .B = B, .N = N, .M = N + more};
    draw_options(&c);
    int64_t d = 1 + draw(9), dz = 1 + draw(7), da = 2 + draw(6);
    c.losses = more == 0 && draw(2);
    c.leaf[Q] = leaf(&c, 1, c.N, d);
    c.leaf[K_] = leaf(&c, 2, c.M, d);
    c.leaf[V] = leaf(&c, 3, c.M, draw(9));
    c.leaf[Z] = leaf(&c, 4, c.M, dz);
    c.leaf[H_] = leaf(&c, 5, c.M, da);
    c.leaf[HEADING] = draw(3) == 0 ? leaf(&c, 6, c.M, d) : asc_null();
    c.leaf[REL] = draw(3) == 0 ? random_leaf(dtype, seed, ASC_SHAPE(c.o.heads, 2 * draw(9) + 1)) : asc_null();
    draw_scalars(&c);
    c.in = (asc_ascender_inputs){.q = c.leaf[Q], .k = c.leaf[K_], .v = c.leaf[V], .z = c.leaf[Z], .h = c.leaf[H_],
                                 .heading = c.leaf[HEADING], .rel_bias = c.leaf[REL], .lengths = asc_null(),
                                 .mask = asc_null(), .neighbors = asc_null()};
    memcpy(c.in.scalar, c.leaf + TOKENS, sizeof c.in.scalar);
    draw_sets(&c);
    return c;
}

/* ---- running them ---- */

/* y and the losses, and the gradients of all leaves, in double. */
typedef struct outcome {
    asc_tensor part[4 + LEAVES];
} outcome;

static asc_tensor in_double(asc_tensor t)
{
    return asc_is_null(t) ? t : asc_cast(ctx, t, ASC_F64);
}

static outcome outcome_of(const call *c, asc_tensor y, asc_ascender_losses losses)
{
    static const double weight[] = {.7, -1.5, 2};
    asc_tensor up = asc_cast(ctx, asc_normal(ctx, ASC_F32, 0, 1, 4, 4, 3, asc_shape(y)), c->dtype);
    asc_tensor total = asc_sum(ctx, asc_mul(ctx, y, up), ASC_ALL_DIMS, false);
    const asc_tensor loss[] = {losses.coh, losses.sep, losses.align};
    outcome r = {.part = {in_double(y)}};
    for (int i = 0; c->losses && i < 3; i++) {
        total = asc_add(ctx, total, asc_scale(ctx, loss[i], weight[i]));
        r.part[1 + i] = in_double(loss[i]);
    }
    asc_backward(ctx, total, asc_null(), false);
    for (int i = 0; i < LEAVES; i++) {
        asc_tensor grad = asc_is_null(c->leaf[i]) ? asc_null() : asc_grad(c->leaf[i]);
        r.part[4 + i] = in_double(grad);
        if (!asc_is_null(c->leaf[i])) {
            asc_zero_grad(c->leaf[i]);
        }
    }
    no_error();
    return r;
}

static asc_ascender_options options_of(const call *c)
{
    asc_ascender_options o = c->o;
    o.k_of = c->k_a_head ? c->k_of : NULL;
    return o;
}

static outcome run_node(const call *c)
{
    asc_ascender_options o = options_of(c);
    asc_ascender_losses losses = {.coh = asc_null()};
    asc_tensor y = asc_ascender(ctx, &c->in, &o, c->losses ? &losses : NULL);
    no_error();
    return outcome_of(c, y, losses);
}

static outcome run_composed(const call *c)
{
    asc_ascender_options o = options_of(c);
    asc_ascender_parts p;
    ck_assert_msg(asc_ascender_composed(ctx, &c->in, &o, &p) == ASC_OK, "%s", asc_error_message(ctx));
    return outcome_of(c, p.y, (asc_ascender_losses){p.loss_coh, p.loss_sep, p.loss_align});
}

/* Every part of a within `tolerance` of b's largest magnitude, or of 1. */
static void compare(const outcome *a, const outcome *b, double tolerance, uint64_t seed)
{
    for (int i = 0; i < 4 + LEAVES; i++) {
        if (asc_is_null(b->part[i]) || asc_numel(b->part[i]) == 0) {
            continue;
        }
        const double *x = asc_data(a->part[i]), *y = asc_data(b->part[i]);
        double most = 1, off = 0;
        for (int64_t e = 0; e < asc_numel(b->part[i]); e++) {
            most = fmax(most, fabs(y[e]));
            off = isfinite(x[e] - y[e]) ? fmax(off, fabs(x[e] - y[e])) : INFINITY;
        }
        if (!(off <= tolerance * most)) {
            ck_abort_msg("call %llu: part %d is off by %g of %g", (unsigned long long)seed, i, off, most);
        }
    }
}

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
        for (int i = 0; i < ASC_SWARM_SCALARS; i++) {
            c.in.scalar[i] = c.leaf[TOKENS + i] = asc_full(ctx, c.dtype, i == ASC_KAPPA ? 8 : .5, ASC_SHAPE(1));
            asc_require_grad(c.leaf[TOKENS + i], true);
        }
        c.leaf[REL] = c.in.rel_bias = c.in.lengths = c.in.mask = c.in.neighbors = c.in.heading = asc_null();
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
        for (int i = 0; i < ASC_SWARM_SCALARS; i++) {
            double scalar = i == ASC_KAPPA ? 0x1p-10 : i == ASC_OMEGA_SEP ? 4 : i == ASC_DELTA ? 0 : 1;
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
    for (int i = 0; i < ASC_SWARM_SCALARS; i++) {
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

/* ---- to the bit ---- */

static const asc_ascender_options causal_options[] = {
    {.heads = 2, .causal = true, .k = 5, .sep_self = true},
    {.heads = 2, .causal = true, .k = 5, .gate = ASC_GATE_AFTER, .neighbors = ASC_NEIGHBORS_BASE, .alibi = true},
    {.heads = 2, .causal = true, .k = 5, .radius = 3, .window = 11, .globals = 3,
     .neighbors = ASC_NEIGHBORS_HYBRID_UNION, .gate = ASC_GATE_AFTER, .sep_self = true},
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
    for (int i = 0; i < ASC_SWARM_SCALARS; i++) {
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

/* A random call's results on some threads, as bytes. */
static unsigned char *bytes_of(uint64_t seed, int threads, size_t *size)
{
    asc_ctx *outer = ctx;
    ctx = asc_ctx_new(&(asc_options){.threads = threads});
    call c = draw_call(seed, ASC_F32, 1, 300, 0);
    outcome r = run_node(&c);
    unsigned char *all = malloc(1 << 22);
    *size = 0;
    for (int i = 0; i < 4 + LEAVES; i++) {
        size_t n = asc_is_null(r.part[i]) ? 0 : (size_t)asc_numel(r.part[i]) * sizeof(double);
        memcpy(all + *size, n ? asc_data(r.part[i]) : "", n);
        *size += n;
    }
    asc_ctx_free(ctx);
    ctx = outer;
    return all;
}

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    static const int threads[] = {2, 3, 7};
    size_t size, other_size;
    unsigned char *one = bytes_of((uint64_t)_i, 1, &size);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        unsigned char *other = bytes_of((uint64_t)_i, threads[i], &other_size);
        ck_assert_uint_eq(size, other_size);
        ck_assert_int_eq(memcmp(one, other, size), 0);
        free(other);
    }
    free(one);
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
    expect_failure(with_options(c, (asc_ascender_options){.heads = 2, .gate = (asc_gate)3}),
                   "ascender: neighbors is 0, gate is 3, expected an asc_neighbors and an asc_gate");
    expect_failure(with_options(c, (asc_ascender_options){.heads = 3}),
                   "ascender: q is f32 (2, 150, 16), expected (B, N, H d) with H = 3");
    bad.in.z = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 149, 16));
    expect_failure(with_options(bad, c.o),
                   "ascender: z is f32 (2, 149, 16), expected (2, 150, H w) with H = 2, w >= 1");
    bad = c;
    bad.in.scalar[ASC_KAPPA] = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3));
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
    bad.in.q = asc_slice(ctx, c.in.q, 1, 100, 150, 1);
    asc_ascender_losses losses;
    expect_failure(asc_ascender(ctx, &bad.in, &c.o, &losses),
                   "ascender: 50 queries of 150 positions: losses take the headings of all, expected as many");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nn/ascender node");
    TCase *same = tcase_create("definition"), *bits = tcase_create("bits"), *wrong = tcase_create("errors");
    TCase *all[] = {same, bits, wrong};
    for (int i = 0; i < 3; i++) {
        tcase_add_checked_fixture(all[i], setup, teardown);
        suite_add_tcase(suite, all[i]);
    }
    tcase_add_loop_test(same, node_is_its_definition, 0, 24);
    tcase_add_loop_test(same, queries_may_be_the_last_positions, 0, 24);
    tcase_add_loop_test(same, long_sequences, 0, 4);
    tcase_add_loop_test(same, single_precision, 0, 8);
    tcase_add_test(same, close_places_far_away);
    tcase_add_test(same, small_densities_keep_their_digits);
    tcase_add_loop_test(same, features_that_are_nan, 0, 4);
    tcase_add_loop_test(same, empty_rows_are_zero, 0, CAUSAL);
    tcase_add_loop_test(bits, causal_to_the_bit, 0, CAUSAL);
    tcase_add_loop_test(bits, gradients_are_causal, 0, CAUSAL);
    tcase_add_loop_test(bits, any_number_of_threads_gives_the_same_bits, 0, 6);
    tcase_add_test(wrong, wrong_calls);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
