/* ops/ascender/ascender.c: ASCender attention as one node (the first draft of the ASCender papers; doc/ascender.md):
 * self-attention whose scores take the three rules of Reynolds' boids (SIGGRAPH 1987) as row-normalised biases. Per
 * head, row i, over the entries j of its set:
 *
 *   S_ij = q_i·k_j/√d + ω_a β̃^align + ω_s β̃^sep + ω_c β̃^coh + β^other
 *   A = softmax of S/(τ_score + ε),  y_i = Σ_j A_ij v_j
 *
 *   align  k̃_j·u_i, u_i = unit(Σ_{l∈N(i)} k̃_l); gate σ(α_a v_i), v_i the variance of the neighbours' headings
 *   sep    φ_ij = w^sep_ij max(0, cos(h_i, h_j) - δ), times η_i = min(1, ρ_i/(κ + ε)), ρ_i = Σ_{l≠i} w^sep_il
 *   coh    -‖z_j - c_i‖², c_i = Σ_l w^coh_il z_l/W_i; gate σ(α_c V_i), V_i = Σ_l w^coh_il ‖z_l - c_i‖²/W_i
 *
 * with w_ij = exp(-‖z_i - z_j‖²/T), T = τ + ε or τ² + ε, W_i = Σ_l w^coh_il + ε. β̃ = (β - μ)/(σ + ε) over the row; the
 * gates stand before or behind it (ops/ascender/scores.c).
 *
 * Rows are independent given k, z, h and v, so work goes by panels (ops/attention/panel.h): a panel's five products
 * (S^base, cosines, distances, then k̃·u and ‖z - c‖², which need u and c of its rows), row by row the rest, and y. The
 * backward pass computes the panel again from a few numbers a row, its centroid and its neighbours: memory is linear in
 * N. The scores that choose neighbours have one order of summation wherever they are computed. */
#include "ops/ascender/ascender.h"

#include <string.h>

/* ---- shapes ---- */

static const asc_ascender_attrs *attrs_of(const asc_call *call)
{
    return call->attrs;
}

static bool apart(const asc_call *call)
{
    return call->in[ASCENDER_Z_QUERIES].ndim >= 0;
}

/* Input i is (B, M, H w), w >= least. */
static asc_status check_keys(asc_call *call, int i, int64_t least)
{
    const asc_array *q = &call->in[ASCENDER_Q], *k = &call->in[ASCENDER_K], *a = &call->in[i];
    int64_t H = attrs_of(call)->o.heads;
    if (asc_expect_floating(call, i)) {
        return ASC_ERR_ARG;
    }
    if (a->ndim != 3 || a->shape[0] != q->shape[0] || a->shape[1] != k->shape[1] || a->shape[2] % H ||
        a->shape[2] < least * H || a->shape[2] > INT32_MAX) {
        return asc_call_expect(call, i, "(%lld, %lld, H w) with H = %lld, w >= %lld", (long long)q->shape[0],
                               (long long)k->shape[1], (long long)H, (long long)least);
    }
    return ASC_OK;
}

static asc_status check_tensors(asc_call *call)
{
    const asc_array *q = &call->in[ASCENDER_Q], *k = &call->in[ASCENDER_K];
    int64_t H = attrs_of(call)->o.heads;
    if (asc_expect_floating(call, ASCENDER_Q) || asc_expect_floating(call, ASCENDER_K)) {
        return ASC_ERR_ARG;
    }
    if (q->ndim != 3 || q->shape[2] % H || q->shape[2] == 0 || q->shape[2] > INT32_MAX) {
        return asc_call_expect(call, ASCENDER_Q, "(B, N, H d) with H = %lld", (long long)H);
    }
    int64_t least = apart(call) ? 0 : q->shape[1];
    if (k->ndim != 3 || k->shape[0] != q->shape[0] || k->shape[2] != q->shape[2] || k->shape[1] < least ||
        k->shape[1] > INT32_MAX / 2) {
        return asc_call_expect(call, ASCENDER_K, "(%lld, M, %lld) with M >= %lld", (long long)q->shape[0],
                               (long long)q->shape[2], (long long)least);
    }
    bool heading = call->in[ASCENDER_HEADING].ndim >= 0;
    return check_keys(call, ASCENDER_V, 0) || check_keys(call, ASCENDER_Z, 1) || check_keys(call, ASCENDER_H, 1) ||
                   (heading && check_keys(call, ASCENDER_HEADING, 1))
               ? ASC_ERR_ARG
               : ASC_OK;
}

static asc_status check_per_head(asc_call *call)
{
    asc_dtype dtype = call->in[ASCENDER_Q].dtype;
    int64_t H = attrs_of(call)->o.heads;
    for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
        if (asc_expect_shape(call, ASCENDER_SCALAR + i, dtype, 1, &H, "one number a head")) {
            return ASC_ERR_ARG;
        }
    }
    return asc_expect_position_table(call, ASCENDER_REL_BIAS, H);
}

/* Queries that stand apart from the keys bring places and features of their own, and have no position. */
static asc_status check_apart(asc_call *call)
{
    const asc_ascender_options *o = &attrs_of(call)->o;
    const asc_array *q = &call->in[ASCENDER_Q], *in = call->in;
    const int64_t z[] = {q->shape[0], q->shape[1], in[ASCENDER_Z].shape[2]};
    const int64_t h[] = {q->shape[0], q->shape[1], in[ASCENDER_H].shape[2]};
    if (!apart(call) && in[ASCENDER_H_QUERIES].ndim < 0) {
        return ASC_OK;
    }
    if (asc_expect_shape(call, ASCENDER_Z_QUERIES, q->dtype, 3, z, "the queries' places") ||
        asc_expect_shape(call, ASCENDER_H_QUERIES, q->dtype, 3, h, "the queries' features")) {
        return ASC_ERR_ARG;
    }
    bool near = o->neighbors >= ASC_NEIGHBORS_WINDOW && in[ASCENDER_NEIGHBORS].ndim < 0;
    if (o->causal || o->window > 0 || o->alibi || near || in[ASCENDER_REL_BIAS].ndim >= 0 || attrs_of(call)->losses) {
        return asc_call_fail(call, "queries that stand apart from the keys have no position: expected no causal set, "
                             "window, alibi, rel_bias, neighbours in a window or losses");
    }
    return ASC_OK;
}

static asc_status check_options(asc_call *call)
{
    const asc_ascender_options *o = &attrs_of(call)->o;
    if (asc_expect_window(call, o->heads, o->window, o->globals, o->random)) {
        return ASC_ERR_ARG;
    }
    if ((unsigned)o->neighbors > ASC_NEIGHBORS_HYBRID_INTERSECTION || (unsigned)o->gate > ASC_GATE_AFTER) {
        return asc_call_fail(call, "neighbors is %d, gate is %d, expected an asc_neighbors and an asc_gate",
                             (int)o->neighbors, (int)o->gate);
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_ascender_attrs *a = attrs_of(call);
    if (check_options(call) || check_tensors(call) || check_apart(call) || check_per_head(call)) {
        return ASC_ERR_ARG;
    }
    asc_allowed J = asc_ascender_sizes(call);
    if (asc_expect_allowed(call, ASCENDER_LENGTHS, ASCENDER_MASK, &J) ||
        asc_expect_neighbors(call, ASCENDER_NEIGHBORS, ASCENDER_K_OF, &a->o, &J) ||
        asc_expect_given_bias(call, ASCENDER_BIAS, &J)) {
        return ASC_ERR_ARG;
    }
    if (a->losses && J.N != J.M) {
        return asc_call_fail(call, "%lld queries of %lld positions: losses take the headings of all, expected as many",
                             (long long)J.N, (long long)J.M);
    }
    asc_dtype dtype = call->in[ASCENDER_Q].dtype;
    int64_t dz = call->in[ASCENDER_Z].shape[2] / J.H;
    asc_neighbor_rule rule = asc_neighbor_rule_of(&a->o, &call->in[ASCENDER_NEIGHBORS], &call->in[ASCENDER_K_OF], J.M);
    asc_call_output(call, ASCENDER_Y, dtype, 3, (int64_t[]){J.B, J.N, call->in[ASCENDER_V].shape[2]});
    for (int i = ASCENDER_LOSS_COH; i <= ASCENDER_LOSS_ALIGN; i++) {
        asc_call_output(call, i, dtype, 0, NULL);
    }
    asc_call_save(call, ASCENDER_FACTS, ASC_F64, 4, (int64_t[]){J.B, J.H, J.N, FACTS});
    asc_call_save(call, ASCENDER_CENTROID, dtype, 4, (int64_t[]){J.B, J.H, J.N, dz});
    return asc_call_save(call, ASCENDER_CHOSEN, ASC_I64, 4, (int64_t[]){J.B, J.H, J.N, asc_neighbors_room(&rule)});
}

/* The mathematics' products over the allowed pairs: S^base, cosines, distances, c, r, distances from c, A V. */
static double flops(const asc_call *call)
{
    asc_allowed J = asc_ascender_sizes(call);
    asc_allowed_inputs(&J, &call->in[ASCENDER_LENGTHS], &call->in[ASCENDER_MASK]);
    const asc_array *in = call->in;
    bool heading = in[ASCENDER_HEADING].ndim >= 0;
    int64_t width = in[ASCENDER_Q].shape[2] + in[ASCENDER_V].shape[2] + in[ASCENDER_H].shape[2] +
                    3 * in[ASCENDER_Z].shape[2] + in[heading ? ASCENDER_HEADING : ASCENDER_K].shape[2];
    return 2 * asc_allowed_pairs(&J) * (double)(width / J.H);
}

static uint32_t causal_inputs(const asc_call *call)
{
    const asc_ascender_options *o = &attrs_of(call)->o;
    uint32_t sequences = ((1u << (ASCENDER_HEADING + 1)) - 1) | 1u << ASCENDER_BIAS;
    return o->causal && !o->all_statistics && !attrs_of(call)->losses ? sequences : 0; /* losses are of all rows */
}

/* ---- samples ---- */

/* d, d_z and d_a are 4, 2 and 3, of H heads; scalars keep clear of where the density saturates. */
#define TOKENS(B, N, M, H)                                                                                             \
    {'f', 3, {B, N, H * 4}}, {'f', 3, {B, M, H * 4}}, {'f', 3, {B, M, H * 2}}, {'f', 3, {B, M, H * 2}},                \
        {'f', 3, {B, M, H * 3}}
#define UNIFORM(H, lo, hi) {'u', 1, {H}, lo, hi}
#define SCALARS(H, kappa)                                                                                              \
    UNIFORM(H, .8, 1.2), UNIFORM(H, .8, 1.2), UNIFORM(H, .8, 1.2), UNIFORM(H, 1, 2), UNIFORM(H, 1, 2),                 \
        UNIFORM(H, kappa, kappa + 1), UNIFORM(H, -.2, -.1), UNIFORM(H, -1.2, -.8), UNIFORM(H, -.6, -.4),               \
        UNIFORM(H, .3, .6), UNIFORM(H, .3, .6), UNIFORM(H, .3, .6), UNIFORM(H, .8, 1.2)
#define OPTIONS(...) .attrs = &(const asc_ascender_attrs){.o = {__VA_ARGS__}}
#define LOSSES(...)  .attrs = &(const asc_ascender_attrs){.o = {__VA_ARGS__}, .losses = true}
#define NONE {0}

static const asc_sample samples[] = {
    {.in = {TOKENS(2, 6, 6, 2), NONE, SCALARS(2, 8)},
     OPTIONS(.heads = 2, .causal = true, .k = 2, .sep_self = true, .gate = ASC_GATE_AFTER)},
    {.in = {TOKENS(1, 7, 7, 1), NONE, SCALARS(1, 8)},
     OPTIONS(.heads = 1, .causal = true, .k = 3, .sep_self = true), .note = "gates before"},
    {.in = {TOKENS(1, 7, 7, 1), NONE, SCALARS(1, 8)},
     OPTIONS(.heads = 1, .k = 3, .gate = ASC_GATE_NONE, .tau_squared = true, .unbiased = true),
     .note = "no gate, τ², sample deviation, no separation from itself"},
    {.in = {TOKENS(1, 6, 6, 2), NONE, SCALARS(2, 8), {'f', 2, {2, 5}}},
     LOSSES(.heads = 2, .causal = true, .neighbors = ASC_NEIGHBORS_BASE, .k = 2, .alibi = true, .sep_self = true,
            .gate = ASC_GATE_AFTER),
     .note = "losses, position biases, base scores"},
    {.in = {TOKENS(2, 6, 6, 1), {'f', 3, {2, 6, 4}}, SCALARS(1, 8), NONE, {'i', 1, {2}, 3, 7}},
     OPTIONS(.heads = 1, .neighbors = ASC_NEIGHBORS_WINDOW, .radius = 2, .neighbor_self = true, .rho_self = true,
             .gate = ASC_GATE_AFTER),
     .note = "headings, lengths, a window of neighbours"},
    {.in = {TOKENS(1, 9, 9, 1), NONE, SCALARS(1, 8)},
     OPTIONS(.heads = 1, .causal = true, .window = 3, .globals = 2, .neighbors = ASC_NEIGHBORS_HYBRID_UNION, .k = 2,
             .radius = 1, .sep_self = true, .gate = ASC_GATE_AFTER),
     .note = "window and globals"},
    {.in = {TOKENS(1, 12, 12, 1), NONE, SCALARS(1, 8)},
     OPTIONS(.heads = 1, .window = 2, .globals = 1, .random = 2, .k = 2, .sep_self = true, .gate = ASC_GATE_AFTER),
     .note = "random links"},
    {.in = {TOKENS(1, 4, 7, 1), NONE, SCALARS(1, 8)},
     OPTIONS(.heads = 1, .causal = true, .neighbors = ASC_NEIGHBORS_HYBRID_INTERSECTION, .k = 4, .radius = 3,
             .sep_self = true, .gate = ASC_GATE_AFTER),
     .note = "fewer queries than keys"},
    {.in = {TOKENS(1, 6, 6, 2), NONE, SCALARS(2, 8), NONE, NONE, {'b', 4, {1, 2, 6, 6}, 0, .7},
            {'i', 4, {1, 2, 6, 3}, -1, 6}},
     OPTIONS(.heads = 2, .all_statistics = true, .sep_self = true, .gate = ASC_GATE_AFTER),
     .note = "a mask, statistics over all, given neighbours"},
    {.in = {TOKENS(1, 6, 6, 2), NONE, SCALARS(2, 8), NONE, NONE, {'b', 2, {6, 6}, 0, .7}, NONE, {'i', 1, {2}, 0, 3}},
     LOSSES(.heads = 2, .k = 2, .sep_self = true, .gate = ASC_GATE_AFTER), .note = "a mask, k one a head, losses"},
    {.in = {TOKENS(2, 6, 6, 2), NONE, SCALARS(2, 8), NONE, NONE, NONE, NONE, NONE, {'f', 2, {6, 6}}},
     OPTIONS(.heads = 2, .causal = true, .k = 2, .sep_self = true, .gate = ASC_GATE_AFTER), .note = "a bias"},
    {.in = {TOKENS(2, 4, 6, 2), NONE, SCALARS(2, 8), NONE, {'i', 1, {2}, 3, 7}, NONE, NONE, NONE,
            {'f', 4, {2, 1, 4, 6}}, {'f', 3, {2, 4, 4}}, {'f', 3, {2, 4, 6}}},
     OPTIONS(.heads = 2, .k = 2, .sep_self = true, .gate = ASC_GATE_AFTER),
     .note = "a context with a bias that heads share, lengths"},
    {.in = {TOKENS(1, 5, 3, 1), NONE, SCALARS(1, 8), NONE, NONE, NONE, NONE, NONE, NONE, {'f', 3, {1, 5, 2}},
            {'f', 3, {1, 5, 3}}},
     OPTIONS(.heads = 1, .k = 2, .neighbors = ASC_NEIGHBORS_BASE, .gate = ASC_GATE_AFTER),
     .note = "a context shorter than x, base scores"},
    {.in = {TOKENS(2, 1, 1, 1), NONE, SCALARS(1, 8)}, LOSSES(.heads = 1, .causal = true, .k = 2, .sep_self = true),
     .note = "one token"},
    {.in = {TOKENS(0, 3, 3, 1), NONE, SCALARS(1, 8)}, LOSSES(.heads = 1, .k = 2), .note = "no batch"},
    {.in = {TOKENS(1, 5, 5, 1), NONE, SCALARS(1, 8)},
     OPTIONS(.heads = 1, .k = 2, .sep_self = true, .gate = ASC_GATE_AFTER, .without_gamma = true,
             .without_eta = true),
     .note = "no gate, no density"},
};

static const asc_sample large = {
    .in = {{'f', 3, {32, 128, 256}}, {'f', 3, {32, 128, 256}}, {'f', 3, {32, 128, 256}}, {'f', 3, {32, 128, 128}},
           {'f', 3, {32, 128, 128}}, NONE, SCALARS(4, 32)},
    OPTIONS(.heads = 4, .causal = true, .k = 16, .sep_self = true)};

const asc_op asc_op_ascender = {
    .abi = ASC_OP_ABI,
    .name = "ascender",
    .equation = "y_i = Σ_j softmax_j((q_i·k_j/√d + ω_a β̃^align + ω_s β̃^sep + ω_c β̃^coh + β^other)/(τ_score + ε)) "
                "v_j per head, and three losses",
    .inputs = "q k v z h heading? lambda_align lambda_sep lambda_coh tau_sep tau_coh kappa delta alpha_align alpha_coh "
              "omega_align omega_sep omega_coh tau_score rel_bias? lengths? mask? neighbors? k_of? bias? "
              "z_queries? h_queries?",
    .n_out = ASCENDER_OUTPUTS,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(asc_ascender_attrs),
    .saves_in = (1u << ASCENDER_INPUTS) - 1,
    .infer = infer,
    .forward = asc_ascender_forward,
    .backward = asc_ascender_backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
    .causal = causal_inputs,
};

asc_tensor asc_ascender(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *options,
                        asc_ascender_losses *losses)
{
    if (losses) {
        *losses = (asc_ascender_losses){0};
    }
    if (ASC_NEED(ctx, "ascender: inputs options", in, options)) {
        return asc_null();
    }
    asc_ascender_attrs a = {.o = *options, .losses = losses != NULL};
    asc_tensor k_of = asc_neighbors_k_of(ctx, &a.o);
    asc_tensor inputs[ASCENDER_INPUTS] = {
        [ASCENDER_Q] = in->q, [ASCENDER_K] = in->k, [ASCENDER_V] = in->v, [ASCENDER_Z] = in->z, [ASCENDER_H] = in->h,
        [ASCENDER_HEADING] = in->heading, [ASCENDER_REL_BIAS] = in->rel_bias, [ASCENDER_LENGTHS] = in->lengths,
        [ASCENDER_MASK] = in->mask, [ASCENDER_NEIGHBORS] = in->neighbors, [ASCENDER_K_OF] = k_of,
        [ASCENDER_BIAS] = in->bias, [ASCENDER_Z_QUERIES] = in->z_queries, [ASCENDER_H_QUERIES] = in->h_queries,
    };
    memcpy(inputs + ASCENDER_SCALAR, in->scalar, sizeof in->scalar);
    asc_tensor out[ASCENDER_OUTPUTS];
    asc_apply(ctx, &asc_op_ascender, inputs, ASCENDER_INPUTS, &a, out);
    asc_release(k_of);
    asc_give(losses ? &losses->coh : NULL, out[ASCENDER_LOSS_COH]);
    asc_give(losses ? &losses->sep : NULL, out[ASCENDER_LOSS_SEP]);
    asc_give(losses ? &losses->align : NULL, out[ASCENDER_LOSS_ALIGN]);
    return out[ASCENDER_Y];
}
