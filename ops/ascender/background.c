/* ops/ascender/background.c: the background variant of ASCender attention, without N×N memory (spec.md §2.10, the
 * second draft of the ASCender papers). For each head:
 *
 *   S_ij = q_i·k_j/√d + ω_align RN(β^align)_ij + ω_sep RN(β^sep)_ij + ω_coh RN(β^coh)_ij + β^other_ij
 *   A_i = softmax of S_i/(τ_score + ε) over J_i,  y_i = Σ_j A_ij v_j
 *
 *   β^align_ij = tanh(⟨u_i, u_j⟩) [j ∈ N(i) or i ∈ N(j)],  u the unit headings
 *   β^sep_ij = -λ_dist w_ij - λ_ρ ρ_j,  w_ij = exp(-‖z_i - z_j‖²/(τ_sep + ε)),  ρ_i = the mean of w_il over l ∈ N(i)
 *   β^coh_ij = relu(⟨z_j, c_i⟩ - θ) [j ∈ N(i)],  c_i = the mean of z_l over l ∈ N(i)
 *
 * RN(β) = (β - μ)/(σ + ε) over the row. ρ_i and c_i are 0 where N(i) is empty.
 *
 * First come neighbours, centres and densities of all rows, then the panels (ascender_background_rows.c), which in the
 * backward pass sum dρ_j over all rows, and at last what dρ says of the places:
 *
 *   dw_il = dρ_i/|N(i)|,  dd²_il = -dw_il w_il/(τ_sep + ε),  dz_i += 2 dd²_il (z_i - z_l),  dz_l -= the same */
#include "ops/ascender/background.h"

#include <math.h>
#include <string.h>

typedef struct attrs {
    asc_ascender_options o; /* k_of is an input */
} attrs;

static const asc_ascender_options *options_of(const asc_call *call)
{
    return &((const attrs *)call->attrs)->o;
}

static asc_allowed allowed_of(const asc_call *call)
{
    const asc_ascender_options *o = options_of(call);
    asc_allowed J = {.B = call->in[BACKGROUND_Q].shape[0], .H = o->heads, .N = call->in[BACKGROUND_Q].shape[1],
                     .M = call->in[BACKGROUND_K].shape[1], .causal = o->causal, .window = o->window, .globals = o->globals};
    asc_allowed_inputs(&J, &call->in[BACKGROUND_LENGTHS], &call->in[BACKGROUND_MASK]);
    return J;
}

/* The keys of the rows' statistics. */
static asc_allowed statistics_of(const asc_call *call, const asc_allowed *J)
{
    return options_of(call)->all_statistics ? (asc_allowed){.B = J->B, .H = J->H, .N = J->N, .M = J->M} : *J;
}

static asc_neighbor_rule rule_of(const asc_call *call)
{
    return asc_neighbor_rule_of(options_of(call), &call->in[BACKGROUND_NEIGHBORS], &call->in[BACKGROUND_K_OF],
                                call->in[BACKGROUND_K].shape[1]);
}

/* Places of a list of neighbours. */
static int64_t capacity_of(const asc_neighbor_rule *rule)
{
    int64_t most = asc_neighbors_most(rule);
    return most < rule->M ? most : rule->M;
}

/* ---- shapes ---- */

/* Input (B, n, H w) of the first input's dtype. */
static asc_status check_heads(asc_call *call, int input, int64_t n, int64_t width)
{
    const asc_array *q = &call->in[BACKGROUND_Q], *a = &call->in[input];
    int64_t H = options_of(call)->heads;
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
    int64_t H = options_of(call)->heads;
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
    return check_heads(call, BACKGROUND_K, k->shape[1], q->shape[2]) || check_heads(call, BACKGROUND_V, k->shape[1], -1) ||
                   check_heads(call, BACKGROUND_Z, k->shape[1], -1) || check_heads(call, BACKGROUND_H, k->shape[1], -1) ||
                   (heading && check_heads(call, BACKGROUND_HEADING, k->shape[1], q->shape[2]))
               ? ASC_ERR_ARG
               : ASC_OK;
}

/* What the other variant has, and what a cut of the sequence cannot do. */
static asc_status check_options(asc_call *call, const asc_allowed *J)
{
    const asc_ascender_options *o = options_of(call);
    if ((unsigned)o->neighbors > ASC_NEIGHBORS_HYBRID_INTERSECTION) {
        return asc_call_fail(call, "neighbors is %d, expected an asc_neighbors", (int)o->neighbors);
    }
    if (o->gate != ASC_GATE_BEFORE || o->tau_squared || o->rho_self) {
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
    asc_neighbor_rule rule = rule_of(call);
    int64_t numbers = sizeof(asc_background_row) / sizeof(double), d_z = call->in[BACKGROUND_Z].shape[2] / J->H;
    asc_status status = asc_call_output(call, BACKGROUND_Y, dtype, 3, (int64_t[]){J->B, J->N, call->in[BACKGROUND_V].shape[2]});
    status = status ? status : asc_call_output(call, BACKGROUND_RHO, dtype, 4, (int64_t[]){J->B, J->H, J->N, 1});
    status = status ? status : asc_call_save(call, BACKGROUND_ROWS, ASC_F64, 4, (int64_t[]){J->B, J->H, J->N, numbers});
    status = status ? status : asc_call_save(call, BACKGROUND_LISTS, ASC_I64, 4,
                                             (int64_t[]){J->B, J->H, J->N, capacity_of(&rule)});
    return status ? status : asc_call_save(call, BACKGROUND_CENTERS, dtype, 4, (int64_t[]){J->B, J->H, J->N, d_z});
}

static asc_status infer(asc_call *call)
{
    const asc_ascender_options *o = options_of(call);
    if (asc_expect_window(call, o->heads, o->window, o->globals) || check_tensors(call)) {
        return ASC_ERR_ARG;
    }
    asc_dtype dtype = call->in[BACKGROUND_Q].dtype;
    asc_allowed J = {.B = call->in[BACKGROUND_Q].shape[0], .H = o->heads, .N = call->in[BACKGROUND_Q].shape[1],
                     .M = call->in[BACKGROUND_K].shape[1]};
    for (int s = 0; s < ASC_BACKGROUND_SCALARS; s++) {
        if (asc_expect_shape(call, BACKGROUND_SCALARS + s, dtype, 1, &J.H, "one a head")) {
            return ASC_ERR_ARG;
        }
    }
    if (asc_expect_position_table(call, BACKGROUND_REL_BIAS, J.H) || asc_expect_allowed(call, BACKGROUND_LENGTHS, BACKGROUND_MASK, &J) ||
        check_options(call, &J) || asc_expect_neighbors(call, BACKGROUND_NEIGHBORS, BACKGROUND_K_OF, o, &J)) {
        return ASC_ERR_ARG;
    }
    return declare(call, &J);
}

/* ---- what both passes need ---- */

static void begin_job(asc_call *call, asc_background_call *b)
{
    const asc_array *heading = &call->in[BACKGROUND_HEADING];
    const asc_ascender_options *o = options_of(call);
    *b = (asc_background_call){.call = call, .o = o, .J = allowed_of(call)};
    b->statistics = statistics_of(call, &b->J);
    b->apart = o->all_statistics;
    b->mutual = !o->causal || o->all_statistics;
    b->bias = asc_position_bias_of(call, BACKGROUND_REL_BIAS, o->alibi);
    b->d = call->in[BACKGROUND_Q].shape[2] / b->J.H;
    b->d_z = call->in[BACKGROUND_Z].shape[2] / b->J.H;
    b->scale = 1 / sqrt((double)b->d);
    b->heading = heading->ndim >= 0 ? heading : &call->in[BACKGROUND_K];
    b->widest = asc_panel_widest(&b->statistics);
    b->rule = rule_of(call);
    b->capacity = capacity_of(&b->rule);
    b->ld = asc_head_ld(b->J.M);
}

/* Memory of the workers, with so many panels each. */
static asc_status make_space(asc_background_call *b, int panels)
{
    asc_call *call = b->call;
    size_t workers = (size_t)asc_threads(call->ctx), size = asc_dtype_size(call->in[BACKGROUND_Q].dtype);
    int64_t choice = asc_neighbors_most(&b->rule);
    b->panels = panels;
    b->row_room = asc_most(asc_most(b->widest, choice + asc_neighbors_room(&b->rule)), b->capacity + b->d_z);
    b->link_room = asc_most(b->J.M, choice + asc_neighbors_room(&b->rule));
    size_t elements = (size_t)(panels * ASC_PANEL * b->widest + BACKGROUND_ROW_BUFFERS * b->row_room +
                               2 * ASC_PANEL * b->d_z);
    b->space = asc_call_scratch(call, workers * elements * size);
    b->links = asc_call_scratch(call, workers * BACKGROUND_LINK_LISTS * (size_t)b->link_room * sizeof *b->links);
    if (b->statistics.mask || b->J.mask) {
        b->lists = asc_call_scratch(call, workers * 2 * (size_t)b->widest * sizeof *b->lists);
    }
    return b->space && b->links && (b->lists || !b->J.mask) ? ASC_OK : ASC_ERR_MEMORY;
}

/* Units, transposed places, room for densities and for the lists of choosers. */
static asc_status lay_out(asc_background_call *b)
{
    asc_call *call = b->call;
    size_t size = asc_dtype_size(call->in[BACKGROUND_Q].dtype), heads = (size_t)(b->J.B * b->J.H);
    b->units = asc_call_scratch(call, asc_array_bytes(b->heading));
    b->places = asc_call_scratch(call, heads * (size_t)(b->d_z * b->ld) * size);
    b->rho = asc_call_scratch(call, heads * (size_t)b->J.M * size);
    if (b->mutual) {
        b->first_chooser = asc_call_scratch(call, heads * (size_t)(b->J.N + 1) * sizeof *b->first_chooser);
        b->choosers = asc_call_scratch(call, heads * (size_t)(b->J.N * b->capacity) * sizeof *b->choosers);
    }
    if (!b->units || !b->places || !b->rho || (b->mutual && (!b->first_chooser || !b->choosers))) {
        return ASC_ERR_MEMORY;
    }
    asc_head_units(call->ctx, b->heading, b->J.H, b->units);
    asc_head_transposes(call->ctx, &call->in[BACKGROUND_Z], b->J.H, b->places);
    return ASC_OK;
}

/* ρ of all keys, the given ones and those of the queries; who chose whom. */
static void gather(asc_background_call *b)
{
    const asc_call *call = b->call;
    size_t size = asc_dtype_size(call->in[BACKGROUND_Q].dtype), before = (size_t)(b->J.M - b->J.N) * size;
    size_t own = (size_t)b->J.N * size;
    for (int64_t head = 0; head < b->J.B * b->J.H; head++) {
        char *to = (char *)b->rho + (size_t)head * (before + own);
        if (before > 0) {
            memcpy(to, (const char *)call->in[BACKGROUND_DENSITY].data + (size_t)head * before, before);
        }
        memcpy(to + before, (const char *)call->out[BACKGROUND_RHO].data + (size_t)head * own, own);
    }
    if (b->mutual) {
        asc_background_list_choosers(b);
    }
}

/* ---- forward ---- */

/* What neighbours are chosen by, if they are by score. */
static asc_status lay_out_likeness(asc_background_call *b)
{
    asc_call *call = b->call;
    bool base = b->o->neighbors == ASC_NEIGHBORS_BASE;
    asc_array keys = call->in[base ? BACKGROUND_K : BACKGROUND_H];
    if (!asc_neighbors_scored(&b->rule)) {
        return ASC_OK;
    }
    b->like_width = keys.shape[2] / b->J.H;
    b->like_rows = base ? b->J.N : b->J.M;
    void *units = base ? NULL : asc_call_scratch(call, asc_array_bytes(&keys));
    size_t transposed = (size_t)(b->J.B * b->J.H * b->like_width * b->ld) * asc_dtype_size(keys.dtype);
    void *likes = asc_call_scratch(call, transposed);
    if ((!base && !units) || !likes) {
        return ASC_ERR_MEMORY;
    }
    if (!base) {
        asc_head_units(call->ctx, &keys, b->J.H, units);
        keys.data = units;
    }
    asc_head_transposes(call->ctx, &keys, b->J.H, likes);
    b->like = base ? call->in[BACKGROUND_Q].data : units;
    b->likes = likes;
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    asc_background_call b;
    begin_job(call, &b);
    if (make_space(&b, 2) || lay_out(&b) || lay_out_likeness(&b)) {
        return ASC_ERR_MEMORY;
    }
    asc_dtype dtype = call->in[BACKGROUND_Q].dtype;
    int64_t panels = asc_panels(&b.J);
    asc_parallel(call->ctx, panels, BY_DTYPE(dtype, asc_background_locate), &b);
    gather(&b);
    asc_parallel(call->ctx, panels, BY_DTYPE(dtype, asc_background_forward), &b);
    return ASC_OK;
}

/* ---- backward ---- */

static asc_status backward(asc_call *call)
{
    asc_background_call b;
    begin_job(call, &b);
    if (make_space(&b, 4) || lay_out(&b) || asc_background_begin_sums(&b)) {
        return ASC_ERR_MEMORY;
    }
    asc_dtype dtype = call->in[BACKGROUND_Q].dtype;
    gather(&b);
    asc_parallel(call->ctx, b.J.B * b.J.H * asc_panel_chunks(&b.J), BY_DTYPE(dtype, asc_background_backward), &b);
    asc_background_end_sums(&b);
    if (call->grad_in[BACKGROUND_H].data && call->fresh[BACKGROUND_H]) { /* the choice carries no gradient */
        asc_clear(call->ctx, call->grad_in[BACKGROUND_H].data, asc_array_bytes(&call->grad_in[BACKGROUND_H]));
    }
    return ASC_OK;
}

/* Base scores, distances, the mixing of v, and the cosines that choose. */
static double flops(const asc_call *call)
{
    asc_allowed J = allowed_of(call);
    asc_neighbor_rule rule = rule_of(call);
    bool cosines = asc_neighbors_scored(&rule) && rule.kind != ASC_NEIGHBORS_BASE;
    int64_t width = call->in[BACKGROUND_Q].shape[2] + call->in[BACKGROUND_V].shape[2] + call->in[BACKGROUND_Z].shape[2] +
                    (cosines ? call->in[BACKGROUND_H].shape[2] : 0);
    return 2 * asc_allowed_pairs(&J) * (double)(width / J.H);
}

static uint32_t causal_inputs(const asc_call *call)
{
    const asc_ascender_options *o = options_of(call);
    return o->causal && !o->all_statistics ? (1u << BACKGROUND_SCALARS) - 1 : 0;
}

#define OPTIONS(...) .attrs = &(const attrs){{__VA_ARGS__}}
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
              "rel_bias? lengths? mask? neighbors? k_of? density?",
    .n_out = 2,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(attrs),
    .saves_in = ((1u << BACKGROUND_INPUTS) - 1) & ~(1u << BACKGROUND_H),
    .saves_out = 1u << BACKGROUND_RHO,
    .no_grad_out = 1u << BACKGROUND_RHO,
    .infer = infer,
    .forward = forward,
    .backward = backward,
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
    asc_tensor inputs[BACKGROUND_INPUTS] = {in->q, in->k, in->v, in->z, in->h, in->heading}, out[2];
    attrs a = {*options};
    memcpy(inputs + BACKGROUND_SCALARS, in->scalar, ASC_BACKGROUND_SCALARS * sizeof *inputs);
    inputs[BACKGROUND_REL_BIAS] = in->rel_bias;
    inputs[BACKGROUND_LENGTHS] = in->lengths;
    inputs[BACKGROUND_MASK] = in->mask;
    inputs[BACKGROUND_NEIGHBORS] = in->neighbors;
    inputs[BACKGROUND_K_OF] = asc_null();
    inputs[BACKGROUND_DENSITY] = density;
    if (options->k_of && options->heads > 0) {
        inputs[BACKGROUND_K_OF] = asc_from(ctx, ASC_I64, options->k_of, 1, &options->heads);
        a.o.k = 0;
        for (int64_t h = 0; h < options->heads; h++) {
            a.o.k = options->k_of[h] > a.o.k ? options->k_of[h] : a.o.k;
        }
        a.o.k_of = NULL;
    }
    asc_apply(ctx, &asc_op_ascender_background, inputs, BACKGROUND_INPUTS, &a, out);
    asc_release(inputs[BACKGROUND_K_OF]);
    if (rho) {
        *rho = out[BACKGROUND_RHO];
    } else {
        asc_release(out[BACKGROUND_RHO]);
    }
    return out[BACKGROUND_Y];
}
