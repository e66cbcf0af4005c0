/* ops/recurrent/rg_lru.c: the real-gated linear recurrence of Griffin (De et al., arXiv 2402.19427), RG-LRU: a leaky
 * sum of its inputs whose decay and whose input gate depend on the token.
 *
 *   l_t = -8 softplus(λ)∘σ(r_t),  a_t = exp(l_t),  s_t = a_t∘s_{t-1} + √(1 - a_t²)∘σ(i_t)∘c_t,  last = s_{N-1}
 *   with e_t = ∂L/∂s_t = ds_t + a_{t+1}∘e_{t+1}, e_{N-1} = ds_{N-1} + dlast, and w_t = √(1 - a_t²):
 *   dc_t = e_t∘w_t∘σ(i_t),  di_t = e_t∘w_t∘c_t∘σ(i_t)∘(1 - σ(i_t)),
 *   dl_t = e_t∘a_t∘s_{t-1} - e_t∘σ(i_t)∘c_t∘a_t²/w_t,  dr_t = -8 softplus(λ)∘σ(r_t)∘(1 - σ(r_t))∘dl_t,
 *   dλ = -8 σ(λ)∘Σ_t σ(r_t)∘dl_t
 *
 * 1 - a² comes from expm1: it has its digits where a is close to 1. A scan in time, parallel over sequences and
 * channels; gates and decays are computed again in the backward pass, a tile of tokens at a time. */
#include "ops/shared/channels.h"

#include <string.h>

enum { C, R, I, DECAY, INITIAL };
enum { S, LAST };
enum { STEPS = 16, TILE = STEPS * ASC_CHANNELS }; /* of a piece, so that they stay in the first cache */
enum { LINE = 64 };                               /* bytes of a cache line */

typedef struct scan {
    asc_call *call;
    int64_t N, R, ahead;  /* ahead: from a row to that of the next tile */
    void *rate;           /* [R]: -8 softplus(λ) */
    void *drate;          /* [B][R]; NULL: not wanted */
} scan;

/* ---- float, and f64.awk makes the same for double ---- */

/* A tile of a piece: arrays [STEPS, width]. */
typedef struct tile_f32 {
    float c[TILE], open[TILE], gate[TILE], a[TILE], root[TILE], before[TILE], e[TILE], da[TILE], dr[TILE];
} tile_f32;

static inline float *at_f32(const asc_array *a, const scan *s, asc_channels p, int64_t t)
{
    return a->data ? (float *)a->data + (p.sequence * s->N + t) * s->R + p.first : NULL;
}

static inline float *state_at_f32(const asc_array *a, const scan *s, asc_channels p)
{
    return a->data ? (float *)a->data + p.sequence * s->R + p.first : NULL;
}

/* Rows of an array into a tile; 0 where there is no array. Rows are too far apart for the processor to see which ones
 * come next: those of the next tile are asked for, which may be none of the array's. */
static void take_rows_f32(float *to, const float *from, const scan *s, asc_channels p, int64_t steps)
{
    for (int64_t t = 0; t < steps; t++) {
        if (from) {
            uintptr_t next = (uintptr_t)(from + t * s->R) + (uintptr_t)(s->ahead * s->R) * sizeof *from;
            for (size_t line = 0; line < (size_t)p.width * sizeof *from; line += LINE) {
                __builtin_prefetch((const void *)(next + line));
            }
            memcpy(to + t * p.width, from + t * s->R, (size_t)p.width * sizeof *to);
        } else {
            memset(to + t * p.width, 0, (size_t)p.width * sizeof *to);
        }
    }
}

static void give_rows_f32(float *to, const float *from, const scan *s, asc_channels p, int64_t steps, bool fresh)
{
    for (int64_t t = 0; t < steps && to; t++) {
        if (fresh) {
            memcpy(to + t * s->R, from + t * p.width, (size_t)p.width * sizeof *to);
        } else {
            asc_kernels_f32()->acc(to + t * s->R, from + t * p.width, p.width);
        }
    }
}

static void start_f32(float *state, const scan *s, asc_channels p)
{
    const float *initial = state_at_f32(&s->call->in[INITIAL], s, p);
    take_rows_f32(state, initial, s, p, 1);
}

/* c, σ(r), σ(i), a and √(1 - a²) of the steps from t on. */
static void open_tile_f32(tile_f32 *x, const scan *s, asc_channels p, int64_t t, int64_t steps)
{
    const float *rate = (const float *)s->rate + p.first;
    take_rows_f32(x->c, at_f32(&s->call->in[C], s, p, t), s, p, steps);
    take_rows_f32(x->open, at_f32(&s->call->in[R], s, p, t), s, p, steps);
    take_rows_f32(x->gate, at_f32(&s->call->in[I], s, p, t), s, p, steps);
    asc_kernels_f32()->rg_lru_open(x->a, x->root, x->open, x->gate, rate, steps, p.width);
}

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const scan *s = arg;
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    asc_channels p = asc_channels_at(piece, s->R);
    float state[ASC_CHANNELS];
    tile_f32 x;
    start_f32(state, s, p);
    for (int64_t t = 0; t < s->N; t += STEPS) {
        int64_t steps = s->N - t < STEPS ? s->N - t : STEPS, n = steps * p.width;
        open_tile_f32(&x, s, p, t, steps);
        k->mul(x.e, x.gate, x.c, n);
        k->mul(x.e, x.e, x.root, n);
        k->scan(x.e, state, x.a, x.e, steps, p.width);
        give_rows_f32(at_f32(&s->call->out[S], s, p, t), x.e, s, p, steps, true);
    }
    memcpy(state_at_f32(&s->call->out[LAST], s, p), state, (size_t)p.width * sizeof *state);
}

/* The steps from t on, whose states before are s_{t-1} …; dm as scan_grad has it. */
static void backward_tile_f32(tile_f32 *x, const scan *s, asc_channels p, int64_t t, int64_t steps, float *dm,
                              float *drate)
{
    asc_call *call = s->call;
    const float *rate = (const float *)s->rate + p.first;
    open_tile_f32(x, s, p, t, steps);
    take_rows_f32(x->e, at_f32(&call->grad_out[S], s, p, t), s, p, steps);
    if (t == 0) {
        start_f32(x->before, s, p);
        take_rows_f32(x->before + p.width, at_f32(&call->out[S], s, p, 0), s, p, steps - 1);
    } else {
        take_rows_f32(x->before, at_f32(&call->out[S], s, p, t - 1), s, p, steps);
    }
    asc_kernels_f32()->scan_grad(x->e, x->da, dm, x->a, x->before, steps, p.width);
    /* the gradients of c and i take the place of e and da */
    asc_kernels_f32()->rg_lru_grad(x->e, x->da, x->dr, drate, x->e, x->da, x->a, x->root, x->open, x->gate, x->c, rate,
                                   steps, p.width);
    give_rows_f32(at_f32(&call->grad_in[C], s, p, t), x->e, s, p, steps, call->fresh[C]);
    give_rows_f32(at_f32(&call->grad_in[I], s, p, t), x->da, s, p, steps, call->fresh[I]);
    give_rows_f32(at_f32(&call->grad_in[R], s, p, t), x->dr, s, p, steps, call->fresh[R]);
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const scan *s = arg;
    asc_call *call = s->call;
    asc_channels p = asc_channels_at(piece, s->R);
    float dm[ASC_CHANNELS], unused[ASC_CHANNELS];
    tile_f32 x;
    float *drate = s->drate ? (float *)s->drate + p.sequence * s->R + p.first : unused;
    memset(drate, 0, (size_t)p.width * sizeof *drate);
    take_rows_f32(dm, state_at_f32(&call->grad_out[LAST], s, p), s, p, 1);
    int64_t tiles = (s->N + STEPS - 1) / STEPS;
    for (int64_t tile = tiles - 1; tile >= 0; tile--) {
        int64_t t = tile * STEPS, steps = s->N - t < STEPS ? s->N - t : STEPS;
        backward_tile_f32(&x, s, p, t, steps, dm, drate);
    }
    give_rows_f32(state_at_f32(&call->grad_in[INITIAL], s, p), dm, s, p, 1, call->fresh[INITIAL]);
}

static void find_rates_f32(const scan *s)
{
    float *rate = s->rate;
    asc_kernels_f32()->softplus(rate, s->call->in[DECAY].data, s->R);
    asc_kernels_f32()->scale(rate, -8, rate, s->R);
}

/* dλ (+)= Σ_b -8 σ(λ)∘drate_b, in order. */
static void finish_decay_f32(const scan *s)
{
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    asc_call *call = s->call;
    float *slope = s->rate, *to = call->grad_in[DECAY].data;
    k->sigmoid(slope, call->in[DECAY].data, s->R);
    k->scale(slope, -8, slope, s->R);
    if (call->fresh[DECAY]) {
        memset(to, 0, (size_t)s->R * sizeof *to);
    }
    for (int64_t b = 0; b < call->in[C].shape[0]; b++) {
        k->mul_acc(to, (const float *)s->drate + b * s->R, slope, s->R);
    }
}

/* ---- end of float ---- */
#include "ops/recurrent/rg_lru.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *c = &call->in[C];
    if (asc_expect_floating(call, C)) {
        return ASC_ERR_ARG;
    }
    if (c->ndim != 3) {
        return asc_call_expect(call, C, "(B, N, R)");
    }
    const int64_t state[] = {c->shape[0], 1, c->shape[2]}; /* one position */
    if (asc_expect_shape(call, R, c->dtype, 3, c->shape, "the shape of c") ||
        asc_expect_shape(call, I, c->dtype, 3, c->shape, "the shape of c") ||
        asc_expect_shape(call, DECAY, c->dtype, 1, c->shape + 2, "(R)") ||
        (call->in[INITIAL].ndim >= 0 && asc_expect_shape(call, INITIAL, c->dtype, 3, state, "(B, 1, R)"))) {
        return ASC_ERR_ARG;
    }
    asc_status status = asc_call_output(call, S, c->dtype, 3, c->shape);
    return status ? status : asc_call_output(call, LAST, c->dtype, 3, state);
}

static asc_status begin(asc_call *call, scan *s, int64_t ahead)
{
    const asc_array *c = &call->in[C];
    *s = (scan){call, c->shape[1], c->shape[2], ahead, NULL, NULL};
    s->rate = asc_call_scratch(call, (size_t)s->R * asc_dtype_size(c->dtype));
    if (!s->rate) {
        return ASC_ERR_MEMORY;
    }
    BY_DTYPE(c->dtype, find_rates)(s);
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    const asc_array *c = &call->in[C];
    scan s;
    if (begin(call, &s, STEPS)) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, c->shape[0] * asc_channel_pieces(s.R), BY_DTYPE(c->dtype, forward_piece), &s);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    const asc_array *c = &call->in[C];
    bool wanted = call->grad_in[DECAY].data;
    scan s;
    if (begin(call, &s, -STEPS)) {
        return ASC_ERR_MEMORY;
    }
    if (wanted) {
        s.drate = asc_call_scratch(call, (size_t)(c->shape[0] * s.R) * asc_dtype_size(c->dtype));
        if (!s.drate) {
            return ASC_ERR_MEMORY;
        }
    }
    asc_parallel(call->ctx, c->shape[0] * asc_channel_pieces(s.R), BY_DTYPE(c->dtype, backward_piece), &s);
    if (wanted) {
        BY_DTYPE(c->dtype, finish_decay)(&s);
    }
    return ASC_OK;
}

static uint32_t causal(const asc_call *call)
{
    (void)call;
    return 1u << C | 1u << R | 1u << I;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 5, 3}}, {'f', 3, {2, 5, 3}}, {'f', 3, {2, 5, 3}}, {'u', 1, {3}, -4, 0}, {'f', 3, {2, 1, 3}}}},
    {.in = {{'f', 3, {1, 70, 66}}, {'f', 3, {1, 70, 66}}, {'f', 3, {1, 70, 66}}, {'u', 1, {66}, -6, -2}},
     .note = "no initial state, two pieces of channels, two tiles"},
    {.in = {{'f', 3, {2, 1, 2}}, {'f', 3, {2, 1, 2}}, {'f', 3, {2, 1, 2}}, {'f', 1, {2}}, {'f', 3, {2, 1, 2}}},
     .note = "one position"},
    {.in = {{'f', 3, {2, 0, 3}}, {'f', 3, {2, 0, 3}}, {'f', 3, {2, 0, 3}}, {'f', 1, {3}}, {'f', 3, {2, 1, 3}}},
     .note = "length 0"},
};

const asc_op asc_op_rg_lru = {
    .abi = ASC_OP_ABI,
    .name = "rg_lru",
    .equation = "s_t = a_t∘s_{t-1} + √(1 - a_t²)∘σ(i_t)∘c_t, a = exp(-8 softplus(decay)∘σ(r)), last = s_{N-1};  "
                "c, r, i (B, N, R)  (arXiv 2402.19427)",
    .inputs = "c r i decay initial?",
    .n_out = 2,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .saves_in = 1u << C | 1u << R | 1u << I | 1u << DECAY | 1u << INITIAL,
    .saves_out = 1u << S,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}},
                                        {'f', 3, {32, 128, 256}},
                                        {'f', 3, {32, 128, 256}},
                                        {'u', 1, {256}, -6, -2}}},
    .causal = causal,
};

asc_tensor asc_rg_lru(asc_ctx *ctx, asc_tensor c, asc_tensor r, asc_tensor i, asc_tensor decay, asc_tensor initial,
                      asc_tensor *last)
{
    asc_tensor out[2];
    asc_apply(ctx, &asc_op_rg_lru, (asc_tensor[]){c, r, i, decay, initial}, 5, NULL, out);
    asc_give(last, out[LAST]);
    return out[S];
}
