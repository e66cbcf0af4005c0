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
 * `pair` has something else in the wedge's place: controls.c.
 *
 * c_Δ is 1/(the number of valid offsets), 1, or a softmax of learned weights over the valid ones, with the gradient
 * dw_Δ = Σ_t c_Δ (s_Δ - Σ c s): the bias is the same for all. */
#include "ops/grassmann/grassmann.h"

enum { Z = ASC_GRASSMANN_Z, W = ASC_GRASSMANN_W, B = ASC_GRASSMANN_B, OFFSET_W = ASC_GRASSMANN_OFFSET_W,
       MEMORY = ASC_GRASSMANN_MEMORY, LENGTHS = ASC_GRASSMANN_LENGTHS };

static int pairs_of(const asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
    return a->n_offsets * (a->direction == ASC_DIRECTION_BOTH ? 2 : 1) + (call->in[MEMORY].ndim >= 0);
}

/* Of a group of n entries. */
static int64_t count_coordinates(int pair, int64_t n)
{
    switch (pair) {
    case ASC_PAIR_WEDGE: return n * (n - 1) / 2;
    case ASC_PAIR_SYMMETRIC: return n * (n + 1) / 2;
    case ASC_PAIR_PRODUCT: return n;
    default: return 2 * n;
    }
}

static asc_status check_attrs(asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
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
    if (a->pair < ASC_PAIR_WEDGE || a->pair > ASC_PAIR_CONCAT) {
        return asc_call_fail(call, "pair is %d, expected ASC_PAIR_WEDGE, _SYMMETRIC, _PRODUCT or _CONCAT", a->pair);
    }
    if (a->sum && call->in[OFFSET_W].ndim >= 0) {
        return asc_call_fail(call, "sum with an offset_weight: expected one of the two");
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
    const asc_array *z = &call->in[Z], *w = &call->in[W];
    if (check_attrs(call) || asc_grassmann_check_call(call, 2) || asc_expect_floating(call, W)) {
        return ASC_ERR_ARG;
    }
    int64_t P = a->groups * count_coordinates(a->pair, z->shape[2] / a->groups), pairs = pairs_of(call);
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
    for (; job->shifts < job->pairs; job->shifts++) {
        job->shift[job->shifts] = job->pair[job->shifts].shift;
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
    asc_grassmann_job job = asc_grassmann_job_of(call, count_coordinates(a->pair, call->in[Z].shape[2] / a->groups));
    job.kind = a->pair == ASC_PAIR_WEDGE ? &asc_grassmann_wedges : &asc_grassmann_controls;
    job.learned = call->in[OFFSET_W].ndim >= 0;
    job.lengths = call->in[LENGTHS].ndim >= 0 ? call->in[LENGTHS].data : NULL;
    list_pairs(&job);
    return job;
}

static asc_status forward(asc_call *call)
{
    asc_grassmann_job job = job_of(call);
    return asc_grassmann_run(&job);
}

static asc_status backward(asc_call *call)
{
    asc_grassmann_job job = job_of(call);
    return asc_grassmann_run_backward(&job);
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
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 2, {2, 10}}, {'f', 1, {2}}, {'f', 1, {3}}, {'f', 3, {2, 6, 4}}},
     ATTRS(USUAL, .pair = ASC_PAIR_SYMMETRIC, .n_offsets = 2, .offset = {1, 3}),
     .note = "symmetric, learned offsets, a memory"},
    {.in = {{'f', 3, {1, 6, 4}}, {'f', 2, {2, 6}}, {'f', 1, {2}}, {0}, {0}, {'i', 1, {1}, 4, 6}},
     ATTRS(.eps = 1e-8, .groups = 2, .eps_rel = 1.3, .pair = ASC_PAIR_SYMMETRIC, .n_offsets = 2, .offset = {1, 2},
           .direction = ASC_DIRECTION_BOTH),
     .note = "symmetric, some pairs below ε_rel, both directions, lengths"},
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 2, {2, 4}}, {'f', 1, {2}}, {0}, {'f', 3, {2, 4, 4}}},
     ATTRS(.eps = 1e-8, .groups = 2, .skip = 2, .pair = ASC_PAIR_PRODUCT, .n_offsets = 2, .offset = {1, 3},
           .rms = true),
     .note = "product, groups, rms, a stream"},
    {.in = {{'f', 3, {1, 6, 4}}, {'f', 2, {2, 4}}, {'f', 1, {2}}},
     ATTRS(.eps = 1e-8, .eps_rel = 0.5, .groups = 1, .pair = ASC_PAIR_PRODUCT, .n_offsets = 2, .offset = {1, 2}),
     .note = "product, some pairs below ε_rel"},
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 2, {2, 8}}, {'f', 1, {2}}, {'f', 1, {3}}, {'f', 3, {2, 6, 4}}},
     ATTRS(.eps = 2.5, .groups = 2, .pair = ASC_PAIR_CONCAT, .n_offsets = 2, .offset = {1, 1}),
     .note = "concat, groups, a memory, some pairs below ε"},
    {.in = {{'f', 3, {1, 6, 4}}, {'f', 2, {2, 8}}},
     ATTRS(.eps = 1e-8, .eps_rel = 1, .groups = 1, .pair = ASC_PAIR_CONCAT, .n_offsets = 2, .offset = {1, 2},
           .sum = true),
     .note = "concat, some pairs below ε_rel, a sum"},
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
    .flops = asc_grassmann_flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 32}}, {'f', 2, {256, 496}}, {'f', 1, {256}}},
                                 ATTRS(USUAL, .n_offsets = 6, .offset = {1, 2, 4, 8, 12, 16})},
    .causal = causal,
};

asc_tensor asc_grassmann(asc_ctx *ctx, asc_tensor z, asc_tensor weight, asc_tensor bias, asc_tensor offset_weight,
                         asc_tensor memory, asc_tensor lengths, const asc_grassmann_options *options)
{
    if (ASC_NEED(ctx, "grassmann: options", options) ||
        ASC_NEED(ctx, "grassmann: offsets", asc_unless_empty(options->offsets, options->n_offsets))) {
        return asc_null();
    }
    asc_grassmann_attrs a = {.eps = options->eps, .eps_rel = options->eps_rel, .skip = options->skip,
                             .n_offsets = options->n_offsets, .direction = (int32_t)options->direction,
                             .pair = (int32_t)options->pair,
                             .sum = options->sum, .rms = options->rms, .raw = options->raw};
    asc_grassmann_fill_in(&a, options->groups);
    for (int l = 0; l < a.n_offsets && a.n_offsets <= ASC_WEDGE_OFFSETS; l++) {
        a.offset[l] = options->offsets[l]; /* of too many none: infer refuses them */
    }
    const asc_tensor inputs[] = {z, weight, bias, offset_weight, memory, lengths};
    return asc_apply1(ctx, &asc_op_grassmann, inputs, ASC_COUNT(inputs), &a);
}
