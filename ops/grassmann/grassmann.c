/* ops/grassmann/grassmann.c: Grassmann mixing ("Attention Is Not What You Need", arXiv 2512.19428; doc/grassmann.md),
 * all offsets in one product.
 *
 *   g_t = Σ_Δ c_Δ (W p̂_Δ + b),  p̂ = p/F, F = max(‖p‖, ε, ε_rel ‖u‖‖v‖),  p = u∧v, p_ij = u_i v_j - u_j v_i, i < j,
 *   u = z_t, v = z_{t-Δ}; in G groups of r/G entries each, whose coordinates stand one after the other
 *
 * The wedge is bilinear and does not see what of v lies along u: with v⊥ = v - (u·v/‖u‖²)u
 *
 *   Σ_Δ c_Δ p̂_Δ = û∧y,  y = Σ_Δ c_Δ (‖u‖/F) v⊥,  ‖p‖ = ‖u‖‖v⊥‖
 *
 * so a token has one wedge and one projection, however many offsets. Where F = ‖p‖, y sums unit vectors. The lengths
 * come from v⊥ itself: Lagrange's ‖u‖²‖v‖² - (u·v)² has no digits left for nearly parallel vectors. u∧u is 0 to the
 * bit, because then v⊥ is: its factor is the quotient of two equal sums.
 *
 * Backward, M being the antisymmetric matrix of the cotangent of û∧y (M_ij for i < j), q = Mᵀû, s = (‖u‖/F) q·v⊥, the
 * pair's p̂·g:
 *
 *   dv = c (‖u‖/F) (q - κ v⊥) - c e v,  κ = s ‖u‖/F where F = ‖p‖, else 0;  e = s/‖v‖² where F = ε_rel ‖u‖‖v‖, else 0
 *   du = M y/‖u‖ - Σ_Δ (u·v/‖u‖²) (the first part of dv) - Σ_Δ c s u/‖u‖²,  the last where F is not ε
 *
 * One product of M with two vectors serves all offsets. What a token's pairs add to other tokens' gradients depends on
 * three numbers of the pair and on q: those are kept, and when all are there each row gathers its own, with no writes
 * that meet.
 *
 * c_Δ is 1/(the number of valid offsets), 1, or a softmax of learned weights over the valid ones, with the gradient
 * dw_Δ = Σ_t c_Δ (s_Δ - Σ c s): the bias is the same for all. */
#include "ops/grassmann/grassmann.h"

#include <math.h>


enum { Z = ASC_GRASSMANN_Z, W = ASC_GRASSMANN_W, B = ASC_GRASSMANN_B, OFFSET_W = ASC_GRASSMANN_OFFSET_W,
       MEMORY = ASC_GRASSMANN_MEMORY, LENGTHS = ASC_GRASSMANN_LENGTHS };

static int pairs_of(const asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
    return a->n_offsets * (a->direction == ASC_DIRECTION_BOTH ? 2 : 1) + (call->in[MEMORY].ndim >= 0);
}

static asc_status check_attrs(asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
    if (!(a->eps > 0) || !(a->eps_rel >= 0)) {
        return asc_call_fail(call, "eps is %g, eps_rel %g, expected above 0 and at least 0", a->eps, a->eps_rel);
    }
    if (a->n_offsets < 0 || a->n_offsets > ASC_WEDGE_OFFSETS || pairs_of(call) == 0) {
        return asc_call_fail(call, "%d offsets, expected 1 to %d, or none with a memory", a->n_offsets,
                             ASC_WEDGE_OFFSETS);
    }
    for (int l = 0; l < a->n_offsets; l++) {
        if (a->offset[l] < 1) {
            return asc_call_fail(call, "offset %d is %d, expected at least 1", l, a->offset[l]);
        }
    }
    if (a->direction < ASC_DIRECTION_PAST || a->direction > ASC_DIRECTION_BOTH) {
        return asc_call_fail(call, "direction is %d, expected ASC_DIRECTION_PAST, _FUTURE or _BOTH", a->direction);
    }
    if (a->sum && call->in[OFFSET_W].ndim >= 0) {
        return asc_call_fail(call, "sum with an offset_weight: expected one of the two");
    }
    return ASC_OK;
}

static asc_status check_z(asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
    const asc_array *z = &call->in[Z];
    if (asc_expect_floating(call, Z)) {
        return ASC_ERR_ARG;
    }
    if (z->ndim != 3) {
        return asc_call_expect(call, Z, "(B, N, r)");
    }
    if (a->groups < 1 || z->shape[2] % a->groups || z->shape[2] / a->groups < 2 || z->shape[2] > INT16_MAX) {
        return asc_call_fail(call, "groups is %d, z has %lld entries: expected groups that divide them, of two or more "
                             "each, at most %d in all", a->groups, (long long)z->shape[2], INT16_MAX);
    }
    if (a->skip < 0 || a->skip > z->shape[1]) {
        return asc_call_fail(call, "skip is %lld, expected 0 to %lld", (long long)a->skip, (long long)z->shape[1]);
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
    const asc_array *z = &call->in[Z], *w = &call->in[W];
    if (check_attrs(call) || check_z(call) || asc_expect_floating(call, W)) {
        return ASC_ERR_ARG;
    }
    int64_t width = z->shape[2] / a->groups, P = a->groups * (width * (width - 1) / 2), pairs = pairs_of(call);
    if (w->ndim != 2 || w->shape[1] != P || w->shape[0] > INT32_MAX) {
        return asc_call_expect(call, W, "(D, %lld) with D <= %d", (long long)P, INT32_MAX);
    }
    const int64_t before[] = {z->shape[0], z->shape[1] - a->skip, z->shape[2]};
    const struct {
        int input, ndim;
        asc_dtype dtype;
        const int64_t *shape;
        const char *what;
    } optional[] = {
        {B, 1, z->dtype, w->shape, "(D)"},
        {OFFSET_W, 1, z->dtype, &pairs, "one for each pair of a token"},
        {MEMORY, 3, z->dtype, before, "a vector for each position after skip"},
        {LENGTHS, 1, ASC_I64, z->shape, "one length a sequence"},
    };
    for (int i = 0; i < ASC_COUNT(optional); i++) {
        if (call->in[optional[i].input].ndim >= 0 &&
            asc_expect_shape(call, optional[i].input, optional[i].dtype, optional[i].ndim, optional[i].shape,
                             optional[i].what)) {
            return ASC_ERR_ARG;
        }
    }
    return asc_call_output(call, 0, z->dtype, 3, (int64_t[]){before[0], before[1], w->shape[0]});
}

/* ---- a call's job ---- */

static void list_pairs(asc_grassmann_job *job)
{
    const asc_grassmann_attrs *a = job->attrs;
    for (int l = 0; l < a->n_offsets; l++) {
        if (a->direction != ASC_DIRECTION_FUTURE) {
            job->pair[job->pairs++].shift = -a->offset[l];
        }
        if (a->direction != ASC_DIRECTION_PAST) {
            job->pair[job->pairs++].shift = a->offset[l];
        }
    }
    if (job->call->in[MEMORY].ndim >= 0) {
        job->pair[job->pairs++].memory = true;
    }
    const asc_array *weight = &job->call->in[OFFSET_W];
    for (int p = 0; p < job->pairs && weight->ndim >= 0; p++) {
        job->logit[p] = asc_element(weight->dtype, weight->data, p);
    }
}

static asc_grassmann_job job_of(asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
    const asc_array *z = &call->in[Z];
    asc_grassmann_job job = {.call = call, .attrs = a, .B = z->shape[0], .N = z->shape[1], .n = z->shape[1] - a->skip,
                             .r = z->shape[2], .G = a->groups, .width = z->shape[2] / a->groups,
                             .D = call->in[W].shape[0]};
    job.R = job.width * (job.width - 1) / 2;
    job.P = job.G * job.R;
    job.scale = (a->rms ? sqrt((double)job.P) : 1) * (a->raw ? ASC_GRASSMANN_FLOOR : 1);
    job.tokens = asc_tokens_of(job.B * job.n);
    list_pairs(&job);
    return job;
}

/* Columns for `entries` of each of `rows`; x NULL, with the error set, if there is no memory. */
static asc_columns columns_of(asc_call *call, int64_t entries, int64_t rows, asc_dtype dtype)
{
    asc_columns c = {.ld = rows + 2 * ASC_STRIP};
    c.x = asc_call_scratch(call, (size_t)(entries * c.ld) * asc_dtype_size(dtype));
    return c;
}

/* The vectors in columns, and the workers' memory. */
static asc_status prepare(asc_grassmann_job *job)
{
    asc_call *call = job->call;
    asc_dtype dtype = call->in[Z].dtype;
    bool has_memory = call->in[MEMORY].ndim >= 0;
    int64_t rows = job->B * job->N, tokens = job->B * job->n;
    job->worker_bytes = asc_grassmann_worker_bytes(job);
    job->workers = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * job->worker_bytes);
    job->z = columns_of(call, job->r, rows, dtype);
    if (has_memory) {
        job->memory = columns_of(call, job->r, tokens, dtype);
    }
    if (!job->workers || !job->z.x || (has_memory && !job->memory.x)) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, (rows + ASC_TILE - 1) / ASC_TILE, BY_DTYPE(dtype, asc_grassmann_lay_z), job);
    if (has_memory) {
        asc_parallel(call->ctx, (tokens + ASC_TILE - 1) / ASC_TILE, BY_DTYPE(dtype, asc_grassmann_lay_memory), job);
    }
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    asc_grassmann_job job = job_of(call);
    asc_status status = prepare(&job);
    if (!status) {
        asc_parallel(call->ctx, job.tokens.tiles, BY_DTYPE(call->in[Z].dtype, asc_grassmann_forward), &job);
    }
    return status;
}

/* ---- backward ---- */

/* Memory for what chunks add up; 0 bytes are none at all. */
static bool take(asc_call *call, bool wanted, void **memory, int64_t elements, size_t size)
{
    *memory = wanted ? asc_call_scratch(call, (size_t)elements * size) : NULL;
    return !wanted || *memory;
}

static asc_status prepare_backward(asc_grassmann_job *job)
{
    asc_call *call = job->call;
    asc_dtype dtype = call->in[Z].dtype;
    size_t size = asc_dtype_size(dtype);
    int64_t rows = job->B * job->N, chunks = job->tokens.chunks;
    void *doffset;
    if (!take(call, call->grad_in[W].data, &job->dw, chunks * job->D * job->P, size) ||
        !take(call, call->grad_in[B].data, &job->db, chunks * job->D, size) ||
        !take(call, call->grad_in[OFFSET_W].data, &doffset, chunks * job->pairs, sizeof(double))) {
        return ASC_ERR_MEMORY;
    }
    job->doffset = doffset;
    job->keeps = true;
    if (call->grad_in[Z].data) {
        job->q = columns_of(call, job->r, rows, dtype);
        job->own = columns_of(call, job->r, rows, ASC_F64);
        job->shares = columns_of(call, 3 * job->pairs * job->G, rows, ASC_F64);
        if (!job->q.x || !job->own.x || !job->shares.x) {
            return ASC_ERR_MEMORY;
        }
        asc_clear(call->ctx, job->shares.x, (size_t)(3 * job->pairs * job->G * job->shares.ld) * sizeof(double));
        if (job->attrs->skip > 0) { /* those rows have no token */
            asc_clear(call->ctx, job->own.x, (size_t)(job->r * job->own.ld) * sizeof(double));
        }
    }
    return prepare(job);
}

static void join_offsets(const asc_grassmann_job *job)
{
    asc_array *to = &job->call->grad_in[OFFSET_W];
    for (int p = 0; p < job->pairs && to->data; p++) {
        double sum = 0;
        for (int64_t i = 0; i < job->tokens.chunks; i++) {
            sum += job->doffset[i * job->pairs + p];
        }
        double old = job->call->fresh[OFFSET_W] ? 0 : asc_element(to->dtype, to->data, p);
        asc_set_element(to->dtype, to->data, p, old + sum);
    }
}

static asc_status backward(asc_call *call)
{
    asc_grassmann_job job = job_of(call);
    asc_dtype dtype = call->in[Z].dtype;
    asc_status status = prepare_backward(&job);
    if (status) {
        return status;
    }
    asc_parallel(call->ctx, job.tokens.chunks, BY_DTYPE(dtype, asc_grassmann_backward), &job);
    if (job.dw) {
        asc_join_chunks(call->ctx, dtype, job.dw, job.tokens.chunks, job.D * job.P, call->grad_in[W].data,
                        call->fresh[W]);
    }
    if (job.db) {
        asc_join_chunks(call->ctx, dtype, job.db, job.tokens.chunks, job.D, call->grad_in[B].data, call->fresh[B]);
    }
    join_offsets(&job);
    if (call->grad_in[Z].data) {
        asc_parallel(call->ctx, (job.B * job.N + ASC_STRIP - 1) / ASC_STRIP, BY_DTYPE(dtype, asc_grassmann_gather),
                     &job);
    }
    return ASC_OK;
}

static double flops(const asc_call *call)
{
    return 2.0 * (double)call->in[W].numel * (double)(call->out[0].shape[0] * call->out[0].shape[1]);
}

static uint32_t causal(const asc_call *call)
{
    return ((const asc_grassmann_attrs *)call->attrs)->direction == ASC_DIRECTION_PAST ? 1u << Z | 1u << MEMORY : 0;
}

#define USUAL .eps = 1e-8, .groups = 1
#define ATTRS(...) .attrs = &(const asc_grassmann_attrs){__VA_ARGS__}
static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 2, {3, 6}}, {'f', 1, {3}}}, ATTRS(USUAL, .n_offsets = 3, .offset = {1, 2, 2}),
     .note = "one offset twice"},
    {.in = {{'f', 3, {2, 7, 6}}, {'f', 2, {2, 6}}, {'f', 1, {2}}, {'f', 1, {3}}, {'f', 3, {2, 7, 6}}},
     ATTRS(.eps = 1e-8, .groups = 2, .n_offsets = 2, .offset = {3, 1}, .rms = true),
     .note = "groups, rms, learned offsets, a memory"},
    {.in = {{'f', 3, {3, 5, 4}}, {'f', 2, {2, 6}}, {'f', 1, {2}}, {'f', 1, {4}}, {0}, {'i', 1, {3}, 0, 6}},
     ATTRS(USUAL, .n_offsets = 2, .offset = {1, 3}, .direction = ASC_DIRECTION_BOTH),
     .note = "both directions, learned, lengths"},
    {.in = {{'f', 3, {1, 5, 4}}, {'f', 2, {2, 6}}, {'f', 1, {2}}},
     ATTRS(USUAL, .n_offsets = 2, .offset = {2, 1}, .direction = ASC_DIRECTION_FUTURE, .sum = true),
     .note = "the future, a sum"},
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 2, {2, 6}}, {0}, {0}, {'f', 3, {2, 4, 4}}},
     ATTRS(USUAL, .skip = 2, .n_offsets = 2, .offset = {1, 3}), .note = "a stream: earlier positions, memory, no bias"},
    {.in = {{'f', 3, {2, 3, 3}}, {'f', 2, {2, 3}}, {'f', 1, {2}}, {0}, {'f', 3, {2, 3, 3}}}, ATTRS(USUAL),
     .note = "memory alone"},
    {.in = {{'f', 3, {1, 6, 4}}, {'f', 2, {2, 6}}, {'f', 1, {2}}},
     ATTRS(.eps = 1e3, .groups = 1, .n_offsets = 2, .offset = {1, 2}), .note = "below the floor ε: linear in p"},
    {.in = {{'f', 3, {1, 6, 4}}, {'f', 2, {2, 6}}, {'f', 1, {2}}},
     ATTRS(.eps = 1e-8, .eps_rel = 0.8, .groups = 1, .n_offsets = 2, .offset = {1, 2}),
     .note = "some pairs below ε_rel"},
    {.in = {{'u', 3, {1, 5, 5}, .lo = 5, .hi = 6}, {'f', 2, {2, 10}}, {'f', 1, {2}}},
     ATTRS(USUAL, .n_offsets = 1, .offset = {1}), .note = "nearly parallel"},
    {.in = {{'f', 3, {2, 2, 3}}, {'f', 2, {1, 3}}, {'f', 1, {1}}}, ATTRS(USUAL, .n_offsets = 2, .offset = {5, 1}),
     .note = "an offset beyond the sequence"},
    {.in = {{'f', 3, {1, 1, 2}}, {'f', 2, {2, 1}}, {'f', 1, {2}}}, ATTRS(USUAL, .n_offsets = 1, .offset = {1}),
     .note = "one position: no pairs"},
    {.in = {{'f', 3, {2, 0, 3}}, {'f', 2, {2, 3}}, {'f', 1, {2}}}, ATTRS(USUAL, .n_offsets = 1, .offset = {1}),
     .note = "length 0"},
    {.in = {{'f', 3, {1, 6, 6}}, {'f', 2, {2, 6}}, {'f', 1, {2}}, {0}, {'f', 3, {1, 6, 6}}},
     ATTRS(.eps = ASC_GRASSMANN_FLOOR, .groups = 2, .n_offsets = 2, .offset = {1, 2}, .raw = true),
     .note = "p as it is"},
};

const asc_op asc_op_grassmann = {
    .abi = ASC_OP_ABI,
    .name = "grassmann",
    .equation = "g_t = Σ_Δ c_Δ (W (z_t∧z_{t-Δ})/F + b);  z (B, N, r), W (D, G C(r/G, 2)), b (D)  (arXiv 2512.19428)",
    .inputs = "z weight bias? offset_weight? memory? lengths?",
    .n_out = 1,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(asc_grassmann_attrs),
    .saves_in = 1u << Z | 1u << W | 1u << OFFSET_W | 1u << MEMORY | 1u << LENGTHS,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 32}}, {'f', 2, {256, 496}}, {'f', 1, {256}}},
                                 ATTRS(USUAL, .n_offsets = 6, .offset = {1, 2, 4, 8, 12, 16})},
    .causal = causal,
};

asc_tensor asc_grassmann(asc_ctx *ctx, asc_tensor z, asc_tensor weight, asc_tensor bias, asc_tensor offset_weight,
                         asc_tensor memory, asc_tensor lengths, const asc_grassmann_options *options)
{
    if (ASC_NEED(ctx, "grassmann: options", options)) {
        return asc_null();
    }
    asc_grassmann_attrs a = {.eps = options->eps, .eps_rel = options->eps_rel, .skip = options->skip,
                             .groups = options->groups > INT32_MAX ? INT32_MAX : (int32_t)options->groups,
                             .n_offsets = options->n_offsets, .direction = (int32_t)options->direction,
                             .sum = options->sum, .rms = options->rms, .raw = options->raw};
    a.eps = a.raw ? ASC_GRASSMANN_FLOOR : a.eps;
    a.eps_rel = a.raw ? 0 : a.eps_rel;
    a.groups = a.groups == 0 ? 1 : a.groups;
    for (int l = 0; l < a.n_offsets && a.n_offsets <= ASC_WEDGE_OFFSETS && options->offsets; l++) {
        a.offset[l] = options->offsets[l]; /* of too many none: infer refuses them */
    }
    const asc_tensor inputs[] = {z, weight, bias, offset_weight, memory, lengths};
    return asc_apply1(ctx, &asc_op_grassmann, inputs, ASC_COUNT(inputs), &a);
}
