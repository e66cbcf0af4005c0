/* ops/grassmann/gated_memory.c: a leaky memory per channel, as each position finds it: what Grassmann mixing pairs a
 * token with.
 *
 *   f_t = σ(a_t),  m_t = f_t∘m_{t-1} + (1 - f_t)∘z_t,  before_t = m_{t-1},  last = m_{N-1}
 *   with e_t = ∂L/∂m_t, e_{N-1} = dlast:  dz_t = (1 - f_t)∘e_t,  da_t = f_t∘(1 - f_t)∘(m_{t-1} - z_t)∘e_t,
 *   e_{t-1} = f_t∘e_t + dbefore_t
 *
 * A scan in time, parallel over sequences and channels; a gated linear recurrence, as in minGRU (Feng et al.,
 * arXiv 2410.01201). */
#include "ops/shared/channels.h"

#include <string.h>

enum { Z, A, INITIAL };
enum { BEFORE, LAST };
enum { GATE }; /* f */

typedef struct scan {
    asc_call *call;
    int64_t N, r;
} scan;

/* ---- float, and f64.awk makes the same for double ---- */

static inline float *at_f32(const asc_array *a, const scan *s, asc_channels p)
{
    return a->data ? (float *)a->data + p.sequence * s->N * s->r + p.first : NULL;
}

static inline float *state_at_f32(const asc_array *a, const scan *s, asc_channels p)
{
    return a->data ? (float *)a->data + p.sequence * s->r + p.first : NULL;
}

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const scan *s = arg;
    asc_call *call = s->call;
    asc_channels p = asc_channels_at(piece, s->r);
    const float *a = at_f32(&call->in[A], s, p), *initial = state_at_f32(&call->in[INITIAL], s, p);
    float *f = at_f32(&call->saved[GATE], s, p), *m = state_at_f32(&call->out[LAST], s, p);
    if (initial) {
        memcpy(m, initial, (size_t)p.width * sizeof *m);
    } else {
        memset(m, 0, (size_t)p.width * sizeof *m);
    }
    if (p.width == s->r) {
        asc_kernels_f32()->sigmoid(f, a, s->N * s->r);
    }
    for (int64_t t = 0; t < s->N && p.width < s->r; t++) {
        asc_kernels_f32()->sigmoid(f + t * s->r, a + t * s->r, p.width);
    }
    asc_kernels_f32()->memory(at_f32(&call->out[BEFORE], s, p), m, at_f32(&call->in[Z], s, p), f, s->N, p.width, s->r);
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const scan *s = arg;
    asc_call *call = s->call;
    asc_channels p = asc_channels_at(piece, s->r);
    const float *dlast = state_at_f32(&call->grad_out[LAST], s, p);
    float dm[ASC_CHANNELS] = {0};
    if (dlast) {
        memcpy(dm, dlast, (size_t)p.width * sizeof *dm);
    }
    asc_kernels_f32()->memory_grad(at_f32(&call->grad_in[Z], s, p), at_f32(&call->grad_in[A], s, p), dm,
                                   at_f32(&call->grad_out[BEFORE], s, p), at_f32(&call->out[BEFORE], s, p),
                                   at_f32(&call->in[Z], s, p), at_f32(&call->saved[GATE], s, p), s->N, p.width, s->r,
                                   call->fresh[Z], call->fresh[A]);
    float *initial = state_at_f32(&call->grad_in[INITIAL], s, p);
    for (int64_t i = 0; i < p.width && initial; i++) {
        initial[i] = call->fresh[INITIAL] ? dm[i] : initial[i] + dm[i];
    }
}

/* ---- end of float ---- */
#include "ops/grassmann/gated_memory.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *z = &call->in[Z];
    if (asc_expect_floating(call, Z)) {
        return ASC_ERR_ARG;
    }
    if (z->ndim != 3) {
        return asc_call_expect(call, Z, "(B, N, r)");
    }
    const int64_t state[] = {z->shape[0], 1, z->shape[2]}; /* one position */
    if (asc_expect_shape(call, A, z->dtype, 3, z->shape, "the shape of z") ||
        (call->in[INITIAL].ndim >= 0 && asc_expect_shape(call, INITIAL, z->dtype, 3, state, "(B, 1, r)"))) {
        return ASC_ERR_ARG;
    }
    asc_status status = asc_call_output(call, BEFORE, z->dtype, 3, z->shape);
    status = status ? status : asc_call_output(call, LAST, z->dtype, 3, state);
    return status ? status : asc_call_save(call, GATE, z->dtype, 3, z->shape);
}

static asc_status run(asc_call *call, asc_piece_fn *piece)
{
    const asc_array *z = &call->in[Z];
    scan s = {call, z->shape[1], z->shape[2]};
    asc_parallel(call->ctx, z->shape[0] * asc_channel_pieces(s.r), piece, &s);
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    return run(call, BY_DTYPE(call->in[Z].dtype, forward_piece));
}

static asc_status backward(asc_call *call)
{
    return run(call, BY_DTYPE(call->in[Z].dtype, backward_piece));
}

static uint32_t causal(const asc_call *call)
{
    (void)call;
    return 1u << Z | 1u << A;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 5, 3}}, {'f', 3, {2, 5, 3}}, {'f', 3, {2, 1, 3}}}},
    {.in = {{'f', 3, {1, 4, 66}}, {'f', 3, {1, 4, 66}}}, .note = "no initial state, two pieces of channels"},
    {.in = {{'f', 3, {2, 1, 2}}, {'f', 3, {2, 1, 2}}, {'f', 3, {2, 1, 2}}}, .note = "one position"},
    {.in = {{'f', 3, {2, 0, 3}}, {'f', 3, {2, 0, 3}}, {'f', 3, {2, 1, 3}}}, .note = "length 0"},
};

const asc_op asc_op_gated_memory = {
    .abi = ASC_OP_ABI,
    .name = "gated_memory",
    .equation = "before_t = m_{t-1}, m_t = f_t∘m_{t-1} + (1 - f_t)∘z_t, f = σ(forget), last = m_{N-1};  "
                "z, forget (B, N, r)",
    .inputs = "z forget initial?",
    .n_out = 2,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .saves_in = 1u << Z,
    .saves_out = 1u << BEFORE,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 64}}, {'f', 3, {32, 128, 64}}}},
    .causal = causal,
};

asc_tensor asc_gated_memory(asc_ctx *ctx, asc_tensor z, asc_tensor forget, asc_tensor initial, asc_tensor *last)
{
    asc_tensor out[2];
    asc_apply(ctx, &asc_op_gated_memory, (asc_tensor[]){z, forget, initial}, 3, NULL, out);
    asc_give(last, out[LAST]);
    return out[BEFORE];
}
