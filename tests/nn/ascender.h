/* tests/nn/ascender.h: random calls of the ASCender node, and what comes of them: values and all gradients. */
#ifndef TESTS_NN_ASCENDER_H
#define TESTS_NN_ASCENDER_H

#include "nn/ascender_composed.h"
#include "tests/draw.h"
#include "tests/ops/values.h"

enum { Q, K_, V, Z, H_, HEADING, TOKENS, REL = TOKENS + ASC_ASCENDER_SCALARS, BIAS, Z_QUERIES, H_QUERIES, LEAVES };

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
        c->o.random = draw(2) ? draw(5) : 0;
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
    return random_leaf(c->dtype, draw_state ^ stream, ASC_SHAPE(c->B, rows, c->o.heads * width));
}

static void draw_scalars(call *c)
{
    static const double range[ASC_ASCENDER_SCALARS][2] = {{-1.5, 1.5}, {.5, 1.5}, {.5, 1.5}, {.8, 3}, {.8, 3}, {.5, 6},
                                                       {-.3, .3},   {-2, 1},   {-1, 1},   {.1, .6}, {.1, .6}, {-.6, .6},
                                                       {.6, 1.4}};
    for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
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

/* Of pairs, alike for some. */
static asc_tensor draw_bias(const call *c, uint64_t seed)
{
    const int64_t shape[] = {draw(2) ? c->B : 1, draw(2) ? c->o.heads : 1, c->N, c->M};
    int first = (int)draw(3);
    return random_leaf(c->dtype, seed + 7, 4 - first, first == 0 ? shape : first == 1 ? shape + 1 : shape + 2);
}

/* Queries apart from the keys, as in cross-attention: nothing goes by position. */
static void part(call *c, int64_t dz, int64_t da)
{
    c->leaf[Z_QUERIES] = c->in.z_queries = leaf(c, 8, c->N, dz);
    c->leaf[H_QUERIES] = c->in.h_queries = leaf(c, 9, c->N, da);
    c->leaf[REL] = c->in.rel_bias = asc_null();
    c->o.causal = c->o.alibi = c->losses = false;
    c->o.window = c->o.globals = c->o.random = 0;
    c->o.neighbors = draw(2) ? ASC_NEIGHBORS_SEMANTIC : ASC_NEIGHBORS_BASE;
}

/* M = N + more; below 0: queries of a context of -more. */
static call draw_call(uint64_t seed, asc_dtype dtype, int64_t B, int64_t N, int64_t more)
{
    draw_state = seed;
    call c = {.dtype = dtype, .B = B, .N = N, .M = more < 0 ? -more : N + more};
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
    c.leaf[BIAS] = c.in.bias = draw(3) == 0 ? draw_bias(&c, seed) : asc_null();
    if (more < 0) {
        part(&c, dz, da);
    }
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

static inline outcome run_composed(const call *c)
{
    asc_ascender_options o = options_of(c);
    asc_ascender_parts p;
    ck_assert_msg(asc_ascender_composed(ctx, &c->in, &o, &p) == ASC_OK, "%s", asc_error_message(ctx));
    return outcome_of(c, p.y, (asc_ascender_losses){p.loss_coh, p.loss_sep, p.loss_align});
}

/* Every part of a within `tolerance` of b's largest magnitude, or of 1. */
static inline void compare(const outcome *a, const outcome *b, double tolerance, uint64_t seed)
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

#endif
