/* ops/ascender/background.c: the background variant of ASCender attention as one node (the second draft of the ASCender
 * papers; doc/ascender.md), without N×N memory. For each head:
 *
 *   S_ij = q_i·k_j/√d + ω_align RN(β^align)_ij + ω_sep RN(β^sep)_ij + ω_coh RN(β^coh)_ij + β^other_ij
 *   A_i = softmax of S_i/(τ_score + ε) over J_i,  y_i = Σ_j A_ij v_j
 *
 *   β^align_ij = tanh(⟨u_i, u_j⟩) [j ∈ N(i) or i ∈ N(j)],  u the unit headings
 *   β^sep_ij = -λ_dist w_ij - λ_ρ ρ_j,  w_ij = exp(-‖z_i - z_j‖²/(τ_sep + ε)),  ρ_i = the mean of w_il over l ∈ N(i)
 *   β^coh_ij = relu(⟨z_j, c_i⟩ - θ) [j ∈ N(i)],  c_i = the mean of z_l over l ∈ N(i)
 *
 * RN(β) = (β - μ)/(σ + ε) over the row, ε = 1e-6. ρ_i and c_i are 0 where N(i) is empty. */
#include "ops/ascender/background.h"

#include <string.h>

/* ---- shapes ---- */

/* Input (B, n, H w) of the first input's dtype. */
static asc_status check_heads(asc_call *call, int input, int64_t n, int64_t width)
{
    const asc_array *q = &call->in[BACKGROUND_Q], *a = &call->in[input];
    int64_t H = asc_background_options(call)->heads;
    if (asc_expect_floating(call, input)) {
        return ASC_ERR_ARG;
    }
    if (a->ndim != 3 || a->shape[0] != q->shape[0] || a->shape[1] != n || a->shape[2] % H ||
        (width >= 0 && a->shape[2] != width)) {
        return width >= 0 ? asc_call_expect(call, input, "(%lld, %lld, %lld)", (long long)q->shape[0], (long long)n,
                                            (long long)width)
                          : asc_call_expect(call, input, "(%lld, %lld, H d) with H = %lld", (long long)q->shape[0],
                                            (long long)n, (long long)H);
    }
    return a->shape[2] > INT32_MAX ? asc_call_expect(call, input, "at most %d elements a position", INT32_MAX) : ASC_OK;
}

static asc_status check_tensors(asc_call *call)
{
    const asc_array *q = &call->in[BACKGROUND_Q], *k = &call->in[BACKGROUND_K];
    int64_t H = asc_background_options(call)->heads;
    if (asc_expect_floating(call, BACKGROUND_Q)) {
        return ASC_ERR_ARG;
    }
    if (q->ndim != 3 || q->shape[2] % H || q->shape[2] == 0 || q->shape[2] > INT32_MAX) {
        return asc_call_expect(call, BACKGROUND_Q, "(B, N, H d) with H = %lld", (long long)H);
    }
    if (k->ndim != 3 || k->shape[1] < q->shape[1] || k->shape[1] > INT32_MAX) {
        return asc_call_expect(call, BACKGROUND_K, "(%lld, M, %lld) with M >= %lld", (long long)q->shape[0],
                               (long long)q->shape[2], (long long)q->shape[1]);
    }
    bool heading = call->in[BACKGROUND_HEADING].ndim >= 0;
    return check_heads(call, BACKGROUND_K, k->shape[1], q->shape[2]) ||
                   check_heads(call, BACKGROUND_V, k->shape[1], -1) ||
                   check_heads(call, BACKGROUND_Z, k->shape[1], -1) ||
                   check_heads(call, BACKGROUND_H, k->shape[1], -1) ||
                   (heading && check_heads(call, BACKGROUND_HEADING, k->shape[1], q->shape[2]))
               ? ASC_ERR_ARG
               : ASC_OK;
}

/* What the other variant has, and what a cut of the sequence cannot do. */
static asc_status check_options(asc_call *call, const asc_allowed *J)
{
    const asc_ascender_options *o = asc_background_options(call);
    if ((unsigned)o->neighbors > ASC_NEIGHBORS_HYBRID_INTERSECTION) {
        return asc_call_fail(call, "neighbors is %d, expected an asc_neighbors", (int)o->neighbors);
    }
    if (o->gate != ASC_GATE_BEFORE || o->without_gamma || o->without_eta || o->tau_squared || o->rho_self) {
        return asc_call_fail(call, "gates, squared temperatures and a density that counts i itself belong to the other "
                             "variant");
    }
    if (J->N < J->M && (!o->causal || o->all_statistics)) {
        return asc_call_fail(call, "%lld queries and %lld keys: expected as many, or a causal set with its own "
                             "statistics", (long long)J->N, (long long)J->M);
    }
    const asc_array *density = &call->in[BACKGROUND_DENSITY];
    int64_t shape[] = {J->B, J->H, J->M - J->N, 1};
    if (J->N < J->M || density->ndim >= 0) {
        return asc_expect_shape(call, BACKGROUND_DENSITY, call->in[BACKGROUND_Q].dtype, 4, shape,
                                "ρ of the keys before the queries");
    }
    return ASC_OK;
}

static asc_status declare(asc_call *call, const asc_allowed *J)
{
    asc_dtype dtype = call->in[BACKGROUND_Q].dtype;
    asc_neighbor_rule rule = asc_background_rule(call);
    int64_t numbers = sizeof(asc_background_row) / sizeof(double), dz = call->in[BACKGROUND_Z].shape[2] / J->H;
    asc_status status =
        asc_call_output(call, BACKGROUND_Y, dtype, 3, (int64_t[]){J->B, J->N, call->in[BACKGROUND_V].shape[2]});
    status = status ? status : asc_call_output(call, BACKGROUND_RHO, dtype, 4, (int64_t[]){J->B, J->H, J->N, 1});
    status = status ? status : asc_call_save(call, BACKGROUND_ROWS, ASC_F64, 4, (int64_t[]){J->B, J->H, J->N, numbers});
    status = status ? status : asc_call_save(call, BACKGROUND_LISTS, ASC_I64, 4,
                                             (int64_t[]){J->B, J->H, J->N, asc_background_capacity(&rule)});
    return status ? status : asc_call_save(call, BACKGROUND_CENTROIDS, dtype, 4, (int64_t[]){J->B, J->H, J->N, dz});
}

static asc_status infer(asc_call *call)
{
    const asc_ascender_options *o = asc_background_options(call);
    if (asc_expect_window(call, o->heads, o->window, o->globals, o->random) || check_tensors(call)) {
        return ASC_ERR_ARG;
    }
    asc_dtype dtype = call->in[BACKGROUND_Q].dtype;
    asc_allowed J = asc_background_sizes(call);
    for (int s = 0; s < ASC_BACKGROUND_SCALARS; s++) {
        if (asc_expect_shape(call, BACKGROUND_SCALARS + s, dtype, 1, &J.H, "one a head")) {
            return ASC_ERR_ARG;
        }
    }
    if (asc_expect_position_table(call, BACKGROUND_REL_BIAS, J.H) ||
        asc_expect_allowed(call, BACKGROUND_LENGTHS, BACKGROUND_MASK, &J) || check_options(call, &J) ||
        asc_expect_neighbors(call, BACKGROUND_NEIGHBORS, BACKGROUND_K_OF, o, &J) ||
        asc_expect_given_bias(call, BACKGROUND_BIAS, &J)) {
        return ASC_ERR_ARG;
    }
    return declare(call, &J);
}

/* Base scores, distances, the mixing of v, and the cosines that choose. */
static double flops(const asc_call *call)
{
    asc_allowed J = asc_background_sizes(call);
    asc_allowed_inputs(&J, &call->in[BACKGROUND_LENGTHS], &call->in[BACKGROUND_MASK]);
    asc_neighbor_rule rule = asc_background_rule(call);
    bool cosines = asc_neighbors_scored(&rule) && rule.kind != ASC_NEIGHBORS_BASE;
    int64_t width = call->in[BACKGROUND_Q].shape[2] + call->in[BACKGROUND_V].shape[2] +
                    call->in[BACKGROUND_Z].shape[2] + (cosines ? call->in[BACKGROUND_H].shape[2] : 0);
    return 2 * asc_allowed_pairs(&J) * (double)(width / J.H);
}

static uint32_t causal_inputs(const asc_call *call)
{
    const asc_ascender_options *o = asc_background_options(call);
    return o->causal && !o->all_statistics ? ((1u << BACKGROUND_SCALARS) - 1) | 1u << BACKGROUND_BIAS : 0;
}

#define OPTIONS(...) .attrs = &(const asc_background_attrs){{__VA_ARGS__}}
#define TENSORS(B, N, M, Hd, Hv, Hz, Ha) \
    {'f', 3, {B, N, Hd}}, {'f', 3, {B, M, Hd}}, {'f', 3, {B, M, Hv}}, {'f', 3, {B, M, Hz}}, {'f', 3, {B, M, Ha}}
#define ONES(H) {'u', 1, {H}, .5, 1.5}
#define SCALARS(H) ONES(H), ONES(H), ONES(H), {'u', 1, {H}, .05, .1}, ONES(H), ONES(H), ONES(H), ONES(H)
static const asc_sample samples[] = {
    {.in = {TENSORS(2, 6, 6, 6, 4, 4, 4), {0}, SCALARS(2)}, OPTIONS(.heads = 2, .causal = true, .k = 2)},
    {.in = {TENSORS(1, 7, 7, 4, 4, 6, 4), {'f', 3, {1, 7, 4}}, SCALARS(2)}, OPTIONS(.heads = 2, .k = 2),
     .note = "full, headings of their own"},
    {.in = {TENSORS(2, 6, 6, 3, 2, 2, 2), {0}, SCALARS(1), {'f', 2, {1, 5}}, {'i', 1, {2}, 0, 7}},
     OPTIONS(.heads = 1, .alibi = true, .neighbors = ASC_NEIGHBORS_WINDOW, .radius = 1, .neighbor_self = true),
     .note = "neighbours in a window, biases by place, lengths"},
    {.in = {TENSORS(1, 9, 9, 2, 2, 2, 2), {0}, SCALARS(1)},
     OPTIONS(.heads = 1, .causal = true, .window = 4, .globals = 1, .k = 2, .radius = 1,
             .neighbors = ASC_NEIGHBORS_HYBRID_UNION, .unbiased = true),
     .note = "window and globals, hybrid neighbours, the sample's deviation"},
    {.in = {TENSORS(1, 6, 6, 4, 2, 2, 4), {0}, SCALARS(2), {0}, {0}, {'b', 4, {1, 2, 6, 6}}, {0}, {'i', 1, {2}, 1, 4}},
     OPTIONS(.heads = 2, .k = 3, .radius = 3, .neighbors = ASC_NEIGHBORS_HYBRID_INTERSECTION),
     .note = "a mask, one k a head"},
    {.in = {TENSORS(1, 5, 5, 4, 2, 2, 2), {0}, SCALARS(1), {0}, {0}, {0}, {'i', 4, {1, 1, 5, 3}, -1, 5}},
     OPTIONS(.heads = 1), .note = "given neighbours"},
    {.in = {TENSORS(1, 6, 6, 4, 2, 2, 2), {0}, SCALARS(1)},
     OPTIONS(.heads = 1, .causal = true, .k = 2, .all_statistics = true), .note = "statistics over whole rows"},
    {.in = {TENSORS(1, 2, 5, 4, 2, 2, 2), {0}, SCALARS(1), {0}, {0}, {0}, {0}, {0}, {'u', 4, {1, 1, 3, 1}, .1, 1}},
     OPTIONS(.heads = 1, .causal = true, .k = 2), .note = "fewer queries than keys"},
    {.in = {TENSORS(1, 12, 12, 2, 2, 2, 2), {0}, SCALARS(1)},
     OPTIONS(.heads = 1, .causal = true, .window = 2, .random = 2, .k = 2), .note = "random links"},
    {.in = {TENSORS(2, 5, 5, 4, 2, 2, 2), {0}, SCALARS(2), {0}, {0}, {0}, {0}, {0}, {0}, {'f', 3, {2, 5, 5}}},
     OPTIONS(.heads = 2, .causal = true, .k = 2), .note = "a bias that the batch shares"},
    {.in = {TENSORS(1, 1, 1, 4, 2, 2, 2), {0}, SCALARS(2)}, OPTIONS(.heads = 2, .causal = true, .k = 2),
     .note = "length 1"},
    {.in = {TENSORS(0, 3, 3, 2, 2, 2, 2), {0}, SCALARS(1)}, OPTIONS(.heads = 1, .k = 1), .note = "no batch"},
};

const asc_op asc_op_ascender_background = {
    .abi = ASC_OP_ABI,
    .name = "ascender_background",
    .equation = "y_i = Σ_j A_ij v_j, A_i = softmax_j∈J of (q_i·k_j/√d + Σ ω RN(β)_ij + β_ij)/(τ_score + ε) per head;  "
                "the second draft of the ASCender papers",
    .inputs = "q k v z h heading? lambda_dist lambda_rho tau_sep theta_coh omega_align omega_sep omega_coh tau_score "
              "rel_bias? lengths? mask? neighbors? k_of? density? bias?",
    .n_out = 2,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(asc_background_attrs),
    .saves_in = ((1u << BACKGROUND_INPUTS) - 1) & ~(1u << BACKGROUND_H),
    .saves_out = 1u << BACKGROUND_RHO,
    .no_grad_out = 1u << BACKGROUND_RHO,
    .infer = infer,
    .forward = asc_background_forward,
    .backward = asc_background_backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {TENSORS(32, 128, 128, 256, 256, 128, 128), {0}, SCALARS(4)},
                                 OPTIONS(.heads = 4, .causal = true, .k = 16)},
    .causal = causal_inputs,
};

asc_tensor asc_ascender_background(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *options,
                                   asc_tensor density, asc_tensor *rho)
{
    if (rho) {
        *rho = asc_null();
    }
    if (ASC_NEED(ctx, "ascender_background: in options", in, options)) {
        return asc_null();
    }
    if (!asc_is_null(in->z_queries) || !asc_is_null(in->h_queries)) {
        asc_fail(ctx, ASC_ERR_ARG, "ascender_background: z_queries and h_queries belong to ascender: densities are of "
                 "the keys, and queries apart are none of them");
        return asc_null();
    }
    asc_tensor inputs[BACKGROUND_INPUTS] = {in->q, in->k, in->v, in->z, in->h, in->heading}, out[2];
    asc_background_attrs a = {*options};
    memcpy(inputs + BACKGROUND_SCALARS, in->scalar, ASC_BACKGROUND_SCALARS * sizeof *inputs);
    inputs[BACKGROUND_REL_BIAS] = in->rel_bias;
    inputs[BACKGROUND_LENGTHS] = in->lengths;
    inputs[BACKGROUND_MASK] = in->mask;
    inputs[BACKGROUND_NEIGHBORS] = in->neighbors;
    inputs[BACKGROUND_K_OF] = asc_neighbors_k_of(ctx, &a.o);
    inputs[BACKGROUND_DENSITY] = density;
    inputs[BACKGROUND_BIAS] = in->bias;
    asc_apply(ctx, &asc_op_ascender_background, inputs, BACKGROUND_INPUTS, &a, out);
    asc_release(inputs[BACKGROUND_K_OF]);
    asc_give(rho, out[BACKGROUND_RHO]);
    return out[BACKGROUND_Y];
}
