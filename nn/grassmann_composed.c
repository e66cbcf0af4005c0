/* nn/grassmann_composed.c: Grassmann mixing from primitive ops: the definition, pair by pair, as the paper writes it,
 * and the oracle of the fused ops. "Attention Is Not What You Need", arXiv 2512.19428.
 *
 *   z_t = W_red x_t + b                                reduced vectors, (B, N, r)
 *   p   = z_t ∧ z_{t-Δ},  p̂ = scale p/max(‖p‖, ε, ε_rel ‖z_t‖‖z_{t-Δ}‖)   for each offset Δ, group by group of z
 *   g_t = Σ_Δ c_Δ (W_plü p̂ + b_plü)                    c_Δ: 1/n_t over the n_t pairs that are there, the softmax of
 *                                                      learned weights over them, or 1
 *   y_t = α⊙x_t + (1 − α)⊙g_t,  α = σ(W_gate [x_t; g_t] + b_gate)
 *
 * Extensions. A tuple of lags in an offset's place makes a subspace of k dimensions, p = z_t ∧ z_{t-Δ_1} ∧ …, the k×k
 * minors, with as many lengths under its floor. The memory is one more pair, z_t ∧ m_{t-1} for t > 0, with
 * m_t = f_t⊙m_{t-1} + (1 − f_t)⊙z_t and f_t = σ(W_f x_t + b_f), or σ(b_f) of a fixed one. The running mean adds to
 * g_t a second feature, W_mean times the mean over s ≤ t, as far as s has a pair, of Σ_Δ c_Δ p̂: the paper's global
 * invariants of the flow, so far as a causal model may know them.
 *
 * `invariants` are four more inputs of the gate, what the path of Σ_Δ c_Δ p̂ says (nn/flow.h).
 *
 * Nothing here is fast: the coordinates of all pairs, (B, N, m, P), are held. */
#include <ascgrad/ops.h>

#include "nn/flow.h"
#include "nn/grassmann.h"
#include "nn/inspect/scores.h"
#include "nn/mixing.h"
#include "tensor/dtype.h"

static asc_tensor reduce(asc_layer *l, asc_tensor x)
{
    const asc_grassmann_layer *g = l->self;
    return asc_linear(l->ctx, x, g->red.weight, g->red.bias);
}

asc_tensor asc_grassmann_forget(asc_layer *l, asc_tensor x)
{
    const asc_grassmann_layer *g = l->self;
    const int64_t shape[3] = {asc_size(x, 0), asc_size(x, 1), g->r};
    return asc_is_null(g->forget.weight) ? asc_expand(l->ctx, g->forget.bias, 3, shape)
                                         : asc_linear(l->ctx, x, g->forget.weight, g->forget.bias);
}

static asc_tensor forget(asc_layer *l, asc_tensor x)
{
    asc_tensor logits = asc_grassmann_forget(l, x);
    return asc_after(logits, asc_sigmoid(l->ctx, logits));
}

/* α, (B, N, D). */
static asc_tensor open_gate(asc_layer *l, asc_tensor x, asc_tensor g, asc_tensor more)
{
    const asc_grassmann_layer *layer = l->self;
    asc_tensor both = asc_concat(l->ctx, (asc_tensor[]){x, g, more}, asc_is_null(more) ? 2 : 3, -1);
    asc_tensor logits = asc_after(both, asc_linear(l->ctx, both, layer->gate.weight, layer->gate.bias));
    return asc_after(logits, asc_sigmoid(l->ctx, logits));
}

asc_tensor asc_grassmann_fuse(asc_layer *l, asc_tensor x, asc_tensor g, asc_tensor more)
{
    asc_ctx *ctx = l->ctx;
    asc_tensor alpha = open_gate(l, x, g, more), rest = asc_scale_shift(ctx, alpha, -1, 1);
    asc_tensor kept = asc_after(alpha, asc_mul(ctx, alpha, x)), mixed = asc_after(rest, asc_mul(ctx, rest, g));
    asc_tensor y = asc_add(ctx, kept, mixed);
    asc_release(kept);
    asc_release(mixed);
    return y;
}

/* ---- which pairs there are ---- */

/* Where vector a > 0 of pair or tuple i stands, seen from t; not of the memory. */
static int64_t shift_of(const asc_grassmann_layer *g, int i, int a)
{
    if (g->n_tuples > 0) {
        return -g->lag[i * (g->k - 1) + a - 1];
    }
    switch (g->direction) {
    case ASC_DIRECTION_PAST: return -g->offset[i];
    case ASC_DIRECTION_FUTURE: return g->offset[i];
    default: return i % 2 ? g->offset[i / 2] : -g->offset[i / 2];
    }
}

static bool is_memory(const asc_grassmann_layer *g, int i)
{
    return g->memory && i == g->n_pairs - 1;
}

/* Whether token t has pair or tuple i; `skip` tokens stand before the first, and none from `end` on. */
static bool has_pair(const asc_grassmann_layer *g, int i, int64_t t, int64_t skip, int64_t end)
{
    bool there = t < end;
    for (int a = 1; a < g->k; a++) {
        int64_t other = is_memory(g, i) ? t - 1 : t + shift_of(g, i, a);
        there = there && other >= -skip && other < end;
    }
    return there;
}

/* u8 (B, N, m): whether each pair of each token is there; `skip` tokens stand before the first. */
static asc_tensor find_pairs(asc_layer *l, int64_t B, int64_t N, int64_t skip, asc_tensor lengths)
{
    const asc_grassmann_layer *g = l->self;
    asc_tensor there = asc_empty(l->ctx, ASC_U8, ASC_SHAPE(B, N, g->n_pairs));
    const int64_t *length = asc_data(lengths);
    uint8_t *to = asc_data_mut(there);
    for (int64_t row = 0; to && row < B * N; row++) {
        int64_t t = row % N, end = length && length[row / N] < N ? length[row / N] : N;
        for (int i = 0; i < g->n_pairs; i++) {
            *to++ = has_pair(g, i, t, skip, end);
        }
    }
    return there;
}

static asc_tensor constant_shares(asc_layer *l, asc_tensor there)
{
    const asc_grassmann_layer *g = l->self;
    asc_tensor shares = asc_empty(l->ctx, l->dtype, 3, asc_shape(there));
    const uint8_t *is = asc_data(there);
    void *to = asc_data_mut(shares);
    for (int64_t row = 0; to && row < asc_numel(there) / g->n_pairs; row++) {
        const uint8_t *at = is + row * g->n_pairs;
        int n = 0;
        for (int i = 0; i < g->n_pairs; i++) {
            n += at[i];
        }
        for (int i = 0; i < g->n_pairs; i++) {
            asc_set_element(l->dtype, to, row * g->n_pairs + i, at[i] ? g->sum ? 1 : 1. / n : 0);
        }
    }
    return shares;
}

/* c (B, N, m). */
static asc_tensor find_shares(asc_layer *l, asc_tensor there)
{
    const asc_grassmann_layer *g = l->self;
    if (asc_is_null(there) || asc_is_null(g->offset_weight)) {
        return asc_is_null(there) ? there : constant_shares(l, there);
    }
    asc_tensor same = asc_expand(l->ctx, g->offset_weight, 3, asc_shape(there));
    return asc_after(same, asc_softmax(l->ctx, same, there));
}

asc_tensor asc_grassmann_inverse_counts(asc_layer *l, int64_t B, int64_t N, int64_t start, asc_tensor lengths)
{
    const asc_grassmann_layer *g = l->self;
    int64_t first = INT64_MAX; /* token that has a pair */
    for (int i = 0; i < g->n_pairs; i++) {
        int64_t reach = 1; /* the memory's */
        for (int a = 1; a < g->k && !is_memory(g, i); a++) {
            reach = -shift_of(g, i, a) > reach ? -shift_of(g, i, a) : reach;
        }
        first = reach < first ? reach : first;
    }
    asc_tensor inverse = asc_empty(l->ctx, l->dtype, ASC_SHAPE(B, N, 1));
    const int64_t *length = asc_data(lengths);
    void *to = asc_data_mut(inverse);
    for (int64_t row = 0; to && row < B * N; row++) {
        int64_t end = start + row % N + 1, n = (length && length[row / N] < end ? length[row / N] : end) - first;
        asc_set_element(l->dtype, to, row, n > 0 ? 1. / (double)n : 0);
    }
    return inverse;
}

/* ---- the partners ---- */

/* m_{t-1}, by doubling (Hillis and Steele 1986): after a pass, m_t is what the last `span` tokens left, and f_t how
 * much they leave of what was there before. */
static asc_tensor memory_before(asc_layer *l, asc_tensor x, asc_tensor z)
{
    asc_ctx *ctx = l->ctx;
    asc_tensor f = forget(l, x), enters = asc_scale_shift(ctx, f, -1, 1);
    asc_tensor m = asc_after(enters, asc_mul(ctx, enters, z));
    for (int64_t span = 1; span < asc_size(z, 1); span *= 2) {
        asc_tensor early = asc_later(ctx, m, span), stays = asc_after(early, asc_mul(ctx, f, early));
        asc_tensor f_early = asc_later(ctx, f, span);
        m = asc_after(m, asc_add(ctx, m, stays));
        f = asc_after(f, asc_mul(ctx, f, f_early));
        asc_release(stays);
        asc_release(f_early);
    }
    asc_release(f);
    if (asc_size(m, 1) == 1) { /* before a token alone there is nothing */
        return asc_after(m, asc_zeros(ctx, l->dtype, 3, asc_shape(m)));
    }
    return asc_size(m, 1) > 0 ? asc_after(m, asc_later(ctx, m, 1)) : m;
}

/* z (B, skip + N, r) where vector a of each pair of the last N stands, 0 outside of the sequence, the memory left out:
 * (B, N, m, r). */
static asc_tensor at_offsets(asc_layer *l, asc_tensor z, int64_t skip, int a)
{
    const asc_grassmann_layer *g = l->self;
    int64_t B = asc_size(z, 0), end = asc_size(z, 1), N = end - skip, m = g->n_pairs - g->memory;
    asc_tensor index = asc_empty(l->ctx, ASC_I64, ASC_SHAPE(N * m));
    int64_t *to = asc_data_mut(index);
    for (int64_t t = skip; to && t < end; t++) {
        for (int i = 0; i < m; i++) {
            int64_t at = t + shift_of(g, i, a);
            *to++ = at >= 0 && at < end ? at : end;
        }
    }
    asc_tensor ended = asc_pad(l->ctx, z, 3, (int64_t[]){0, 0, 0}, (int64_t[]){0, 1, 0}, 0);
    asc_tensor flat = asc_after(ended, asc_index_select(l->ctx, ended, 1, index));
    asc_release(index);
    return asc_after(flat, asc_reshape(l->ctx, flat, ASC_SHAPE(B, N, m, g->r)));
}

/* What the last N of z (B, skip + N, r) are paired with, before (B, N, r) being the memory's part: (B, N, m, r). */
static asc_tensor find_seconds(asc_layer *l, asc_tensor z, int64_t skip, asc_tensor before)
{
    const asc_grassmann_layer *g = l->self;
    asc_tensor others = g->n_offsets + g->n_tuples > 0 ? at_offsets(l, z, skip, 1) : asc_null();
    if (!g->memory) {
        return others;
    }
    asc_tensor last = asc_unsqueeze(l->ctx, before, 2);
    if (asc_is_null(others)) {
        return last;
    }
    asc_tensor all = asc_concat(l->ctx, (asc_tensor[]){others, last}, 2, 2);
    asc_release(others);
    asc_release(last);
    return all;
}

/* vector[1] … vector[k - 1], (B, N, m, r) each. */
static void find_partners(asc_layer *l, asc_tensor z, int64_t skip, asc_tensor before, asc_tensor *vector)
{
    vector[1] = find_seconds(l, z, skip, before);
    for (int a = 2; a < ((const asc_grassmann_layer *)l->self)->k; a++) {
        vector[a] = at_offsets(l, z, skip, a);
    }
}

/* ---- what a pair says ---- */

/* a_i b_j + a_j b_i, i <= j, in row-major order. */
static asc_tensor symmetric(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    int64_t n = asc_size(a, -1), count = n * (n + 1) / 2;
    asc_tensor first = asc_empty(ctx, ASC_I64, 1, &count), second = asc_empty(ctx, ASC_I64, 1, &count);
    int64_t *i = asc_data_mut(first), *j = asc_data_mut(second);
    for (int64_t at = 0, row = 0; i && j && row < n; row++) {
        for (int64_t column = row; column < n; column++, at++) {
            i[at] = row;
            j[at] = column;
        }
    }
    asc_tensor ab = asc_mul(ctx, asc_index_select(ctx, a, -1, first), asc_index_select(ctx, b, -1, second));
    asc_tensor ba = asc_mul(ctx, asc_index_select(ctx, a, -1, second), asc_index_select(ctx, b, -1, first));
    return asc_add(ctx, ab, ba);
}

static asc_tensor length_of(asc_ctx *ctx, asc_tensor x)
{
    return asc_norm(ctx, x, 1, (int[]){-1}, true);
}

/* p/max(‖p‖, ε, ε_rel ‖x_0‖ … ‖x_{k-1}‖) */
static asc_tensor normalise(asc_layer *l, asc_tensor p, const asc_tensor *x)
{
    const asc_grassmann_layer *g = l->self;
    asc_ctx *ctx = l->ctx;
    asc_tensor floor = asc_full(ctx, l->dtype, g->eps, 0, NULL);
    if (g->eps_rel > 0) {
        asc_tensor relative = length_of(ctx, x[0]);
        for (int a = 1; a < g->k; a++) {
            relative = asc_mul(ctx, relative, length_of(ctx, x[a]));
        }
        floor = asc_maximum(ctx, asc_scale(ctx, relative, g->eps_rel), floor);
    }
    return asc_div(ctx, p, asc_maximum(ctx, length_of(ctx, p), floor));
}

/* p̂ of k vectors (…, r/G), unscaled: the wedge's, or a control's. */
static asc_tensor describe(asc_layer *l, const asc_tensor *x)
{
    const asc_grassmann_layer *g = l->self;
    if (g->k > 2) {
        return normalise(l, asc_grassmann_minors(l->ctx, x, g->k), x);
    }
    switch (g->pair) {
    case ASC_PAIR_WEDGE: return asc_plucker_wedge(l->ctx, x[0], x[1], g->eps, g->eps_rel);
    case ASC_PAIR_SYMMETRIC: return normalise(l, symmetric(l->ctx, x[0], x[1]), x);
    case ASC_PAIR_PRODUCT: return normalise(l, asc_mul(l->ctx, x[0], x[1]), x);
    default: return normalise(l, asc_concat(l->ctx, x, 2, -1), x);
    }
}

/* p̂ of each vector[0] (B, N, r) with its partners, vector[1] … vector[k - 1] (B, N, m, r), which go: (B, N, m, P). */
static asc_tensor coordinates(asc_layer *l, asc_tensor *vector)
{
    const asc_grassmann_layer *g = l->self;
    asc_ctx *ctx = l->ctx;
    int64_t B = asc_size(vector[0], 0), N = asc_size(vector[0], 1), m = g->n_pairs;
    const int64_t pieces[] = {B, N, m, g->groups, g->r / g->groups};
    asc_tensor row = asc_unsqueeze(ctx, vector[0], 2), x[ASC_SUBSPACE_LAGS + 1];
    asc_tensor now = asc_after(row, asc_expand(ctx, row, ASC_SHAPE(-1, -1, m, -1)));
    x[0] = asc_after(now, asc_reshape(ctx, now, 5, pieces));
    for (int a = 1; a < g->k; a++) {
        x[a] = asc_after(vector[a], asc_reshape(ctx, vector[a], 5, pieces));
    }
    asc_tensor p = describe(l, x);
    for (int a = 0; a < g->k; a++) {
        asc_release(x[a]);
    }
    return asc_after(p, asc_reshape(ctx, p, ASC_SHAPE(B, N, m, g->P)));
}

/* ---- the layer ---- */

/* z, 0 from the end of each sequence on: what stands there may be anything. */
static asc_tensor end_at(asc_layer *l, asc_tensor z, asc_tensor lengths)
{
    if (asc_is_null(lengths)) {
        return z;
    }
    int64_t B = asc_size(z, 0), N = asc_size(z, 1);
    asc_tensor beyond = asc_empty(l->ctx, ASC_U8, ASC_SHAPE(B, N, 1));
    const int64_t *length = asc_data(lengths);
    uint8_t *to = asc_data_mut(beyond);
    for (int64_t row = 0; to && row < B * N; row++) {
        to[row] = row % N >= length[row / N];
    }
    asc_tensor ended = asc_masked_fill(l->ctx, z, beyond, 0);
    asc_release(beyond);
    return asc_after(z, ended);
}

/* p̂ (B, N, m, P) of the last N of z (B, skip + N, r), not scaled. */
static asc_tensor pairs_of(asc_layer *l, asc_tensor z, int64_t skip, asc_tensor before, asc_tensor lengths)
{
    asc_tensor all = end_at(l, asc_slice(l->ctx, z, 1, 0, ASC_SLICE_END, 1), lengths);
    asc_tensor now = asc_slice(l->ctx, all, 1, skip, ASC_SLICE_END, 1), vector[ASC_SUBSPACE_LAGS + 1] = {now};
    find_partners(l, all, skip, before, vector);
    asc_tensor p = coordinates(l, vector);
    asc_release(all);
    asc_release(now);
    return p;
}

/* z and p̂, not scaled, of whole sequences. */
static asc_tensor coordinates_of(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *z)
{
    *z = end_at(l, reduce(l, x), lengths);
    asc_tensor before = ((const asc_grassmann_layer *)l->self)->memory ? memory_before(l, x, *z) : asc_null();
    return asc_after(before, pairs_of(l, *z, 0, before, asc_null()));
}

/* Σ_Δ c_Δ x_Δ of x (B, N, m, n): (B, N, n). */
static asc_tensor add_up(asc_ctx *ctx, asc_tensor shares, asc_tensor x)
{
    return asc_einsum(ctx, "btm,btmn->btn", (asc_tensor[]){shares, x}, 2);
}

/* The mean of x (B, N, P) over the tokens up to each that have a pair. */
static asc_tensor running_mean(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    asc_tensor inverse = asc_grassmann_inverse_counts(l, asc_size(x, 0), asc_size(x, 1), 0, lengths);
    asc_tensor sum = asc_cumsum(l->ctx, x, 1), mean = asc_after(sum, asc_mul(l->ctx, sum, inverse));
    asc_release(inverse);
    return mean;
}

/* g of p̂ (B, N, m, P). */
static asc_tensor mix(asc_layer *l, asc_tensor unscaled, asc_tensor lengths)
{
    const asc_grassmann_layer *layer = l->self;
    asc_ctx *ctx = l->ctx;
    int64_t B = asc_size(unscaled, 0), N = asc_size(unscaled, 1);
    asc_tensor none = asc_grassmann_without_pairs(l, B, N, N);
    if (!asc_is_null(none)) {
        return none;
    }
    asc_tensor there = find_pairs(l, B, N, 0, lengths);
    asc_tensor p = asc_scale(ctx, unscaled, layer->scale), c = asc_after(there, find_shares(l, there));
    asc_tensor each = asc_linear(ctx, p, layer->plu.weight, layer->plu.bias);
    asc_tensor g = asc_after(each, add_up(ctx, c, each));
    if (!asc_is_null(layer->mean_weight)) {
        asc_tensor token = add_up(ctx, c, p), mean = asc_after(token, running_mean(l, token, lengths));
        asc_tensor second = asc_after(mean, asc_linear(ctx, mean, layer->mean_weight, asc_null()));
        g = asc_after(g, asc_add(ctx, g, second));
        asc_release(second);
    }
    asc_release(p);
    asc_release(c);
    return g;
}

/* Σ_Δ c_Δ p̂_Δ of p̂ (B, N, m, P). */
static asc_tensor sum_pairs(asc_layer *l, asc_tensor p, int64_t skip, asc_tensor lengths)
{
    const asc_grassmann_layer *g = l->self;
    asc_tensor there = find_pairs(l, asc_size(p, 0), asc_size(p, 1), skip, lengths);
    asc_tensor c = asc_after(there, find_shares(l, there)), sum = asc_after(c, add_up(l->ctx, c, p));
    return g->raw ? asc_after(sum, asc_scale(l->ctx, sum, g->scale)) : sum;
}

asc_tensor asc_grassmann_sums(asc_layer *l, asc_tensor z, int64_t skip, asc_tensor before, asc_tensor lengths)
{
    asc_tensor p = pairs_of(l, z, skip, before, lengths);
    return asc_after(p, sum_pairs(l, p, skip, lengths));
}

static asc_tensor directions_of(asc_layer *l, asc_tensor p, asc_tensor lengths)
{
    asc_tensor sums = sum_pairs(l, p, 0, lengths);
    return asc_after(sums, asc_flow_directions(l->ctx, sums, ((const asc_grassmann_layer *)l->self)->groups));
}

/* What the gate sees of the path of p̂, or null. */
static asc_tensor look_back(asc_layer *l, asc_tensor p, asc_tensor lengths)
{
    if (!((const asc_grassmann_layer *)l->self)->invariants) {
        return asc_null();
    }
    asc_tensor inverse = asc_grassmann_inverse_counts(l, asc_size(p, 0), asc_size(p, 1), 0, lengths);
    asc_tensor u = directions_of(l, p, lengths);
    asc_tensor seen = asc_after(u, asc_flow_invariants(l->ctx, u, inverse, lengths, asc_null(), NULL));
    return asc_after(inverse, seen);
}

asc_tensor asc_grassmann_composed(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    asc_scope_begin(l->ctx);
    asc_tensor z, p = coordinates_of(l, x, lengths, &z);
    asc_tensor y = asc_grassmann_fuse(l, x, mix(l, p, lengths), look_back(l, p, lengths));
    asc_scope_end_but(l->ctx, &y, 1);
    return y;
}

asc_status asc_grassmann_inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    asc_tensor z, p = coordinates_of(l, x, lengths, &z);
    asc_add_part(parts, l->ctx, "z", z, asc_null());
    const asc_grassmann_layer *g = l->self;
    asc_add_part(parts, l->ctx, "plucker", g->raw ? asc_scale(l->ctx, p, g->scale) : p, asc_null());
    asc_add_part(parts, l->ctx, "flow", directions_of(l, p, lengths), asc_null());
    asc_tensor gate = open_gate(l, x, mix(l, p, lengths), look_back(l, p, lengths));
    return asc_add_part(parts, l->ctx, "gate", gate, asc_null());
}
