/* ops/grassmann/subspace.c: Grassmann mixing on subspaces of two, three or four dimensions (doc/grassmann.md), all
 * tuples of lags in one product.
 *
 *   g_t = Σ_τ c_τ (W p̂_τ + b),  p̂ = p/F, F = max(‖p‖, ε, ε_rel Π‖x_a‖),  p = x_0∧x_1∧…∧x_{k-1}: the k×k minors,
 *   columns i_1 < … < i_k in lexicographic order;  x_0 = z_t, x_a = z_{t-Δ_a} for τ = (Δ_1, …, Δ_{k-1});  in G groups
 *
 * The wedge takes of each vector only what is orthogonal to those before it, x⊥_a (Gram and Schmidt), and
 * ‖p‖ = Π‖x⊥_a‖; the determinant of the Gram matrix has no digits left for nearly dependent vectors. It is
 * linear in each vector, so what tuples have in common comes out of their sum: with the tuples as a tree, z_t its root,
 *
 *   Σ_τ c_τ p̂_τ = x̂_0 ∧ Σ_1 x̂_1 ∧ Σ_2 x̂_2 ∧ …,  the last sum: Σ c_τ (Π_{a<k-1} ‖x⊥_a‖/F) x⊥_{k-1}
 *
 * A token has one form of k vectors, and one projection, however many tuples; a form of k - 1 for each first lag, and
 * so on. Tuples that share all their lags but one cost a vector each. Lags that several tuples have come first, at the
 * price of a sign.
 *
 * Backward. Of one tuple, with X = X̂ R, R triangular, p = (det R) x̂_0∧…∧x̂_{k-1}, and B_a the cotangent G contracted
 * with all x̂ but x̂_a, the gradient of the vectors is dX = c (det R/F) (B - ρ s x̂) R⁻ᵀ, s = p̂·G, ρ = 1 where
 * F = ‖p‖, else 0, and less c s x_a/‖x_a‖² where F = ε_rel Π‖x_a‖. Contractions go down the tree as sums went up it:
 * q = G⌟x̂_0 serves all that is below the root, B_0 = G⌟Σ_1… is that of all tuples, and R⁻ᵀ is a substitution from the
 * leaves up, whose factors are Gram and Schmidt's.
 *
 * Cost of a token with n = r/G, C_k = C(n, k), m tuples, m' first lags, in FLOPs: forward 2 D G C_k for the projection,
 * G (2k - 1) C_k for the form, m' G (2k - 3) C_{k-1} for those below it, about m G (k - 1)(2k + 3) n for Gram and
 * Schmidt; backward twice the first and some three times the others. z is read and g written; coordinates and forms
 * stay in cache, 4 G C_k bytes for each token of a tile. For k = 3, n = 12, D = 256, m = 2 that is 112,640 + 1,100 +
 * 400 + 430; the wedge of r = 32 with six offsets has 253,952 + 1,488 for coordinates + 1,900 for its pairs. */
#include "ops/grassmann/grassmann.h"
#include "ops/shared/sets.h"

#include <string.h>

enum { Z, W, B, LENGTHS };

static asc_status check_tuples(asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
    if (a->k < 2 || a->k > ASC_SUBSPACE_LAGS + 1) {
        return asc_call_fail(call, "k is %d, expected 2 to %d", a->k, ASC_SUBSPACE_LAGS + 1);
    }
    if (a->n_tuples < 1 || a->n_tuples > ASC_SUBSPACE_TUPLES) {
        return asc_call_fail(call, "%d tuples, expected 1 to %d", a->n_tuples, ASC_SUBSPACE_TUPLES);
    }
    for (int i = 0; i < a->n_tuples; i++) {
        for (int l = 0; l < a->k - 1; l++) {
            if (a->lag[i][l] < 1) {
                return asc_call_fail(call, "lag %d of tuple %d is %d, expected at least 1", l, i, a->lag[i][l]);
            }
        }
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_grassmann_attrs *a = call->attrs;
    const asc_array *z = &call->in[Z], *w = &call->in[W];
    if (check_tuples(call) || asc_grassmann_check_call(call, a->k) || asc_expect_floating(call, W)) {
        return ASC_ERR_ARG;
    }
    int64_t R = asc_sets_count(z->shape[2] / a->groups, a->k), P = R < 0 || R > INT32_MAX ? -1 : a->groups * R;
    if (w->ndim != 2 || w->shape[1] != P || w->shape[0] > INT32_MAX) {
        return asc_call_expect(call, W, "(D, %lld) with D <= %d", (long long)P, INT32_MAX);
    }
    if ((call->in[B].ndim >= 0 && asc_expect_shape(call, B, z->dtype, 1, w->shape, "(D)")) ||
        (call->in[LENGTHS].ndim >= 0 &&
         asc_expect_shape(call, LENGTHS, ASC_I64, 1, z->shape, "one length a sequence"))) {
        return ASC_ERR_ARG;
    }
    return asc_call_output(call, 0, z->dtype, 3, (int64_t[]){z->shape[0], z->shape[1] - a->skip, w->shape[0]});
}

/* ---- the tree of tuples ---- */

/* A tuple, its lags in the tree's order. */
typedef struct tuple {
    int index;
    int lag[ASC_SUBSPACE_LAGS];
    double sign;
} tuple;

static int count_lag(const asc_grassmann_attrs *a, int lag)
{
    int count = 0;
    for (int i = 0; i < a->n_tuples; i++) {
        for (int l = 0; l < a->k - 1; l++) {
            count += a->lag[i][l] == lag;
        }
    }
    return count;
}

/* Whether a lag stands above another one: what more tuples have. */
static bool is_above(const asc_grassmann_attrs *a, int lag, int other)
{
    int n = count_lag(a, lag), m = count_lag(a, other);
    return n > m || (n == m && lag < other);
}

static tuple order_lags(const asc_grassmann_attrs *a, int index)
{
    tuple t = {.index = index, .sign = 1};
    for (int l = 0; l < a->k - 1; l++) {
        int at = l;
        for (; at > 0 && is_above(a, a->lag[index][l], t.lag[at - 1]); at--) {
            t.lag[at] = t.lag[at - 1];
            t.sign = -t.sign;
        }
        t.lag[at] = a->lag[index][l];
    }
    return t;
}

static int compare_lags(const tuple *x, const tuple *y, int n)
{
    int l = 0;
    while (l < n && x->lag[l] == y->lag[l]) {
        l++;
    }
    return l == n ? 0 : x->lag[l] - y->lag[l];
}

/* The tuples with what begins alike side by side. */
static void order_tuples(const asc_grassmann_attrs *a, tuple *tuples)
{
    for (int i = 0; i < a->n_tuples; i++) {
        tuple t = order_lags(a, i);
        int at = i;
        for (; at > 0 && compare_lags(&t, &tuples[at - 1], a->k - 1) < 0; at--) {
            tuples[at] = tuples[at - 1];
        }
        tuples[at] = t;
    }
}

static int shift_of(asc_grassmann_job *job, int lag)
{
    int i = 0;
    while (i < job->shifts && job->shift[i] != -lag) {
        i++;
    }
    job->shift[i] = -lag;
    job->shifts = i == job->shifts ? i + 1 : job->shifts;
    return i;
}

static int add_node(asc_grassmann_job *job, int parent, int lag)
{
    asc_grassmann_tree *tree = job->tree;
    asc_grassmann_node *node = &tree->node[tree->nodes];
    *node = (asc_grassmann_node){.lag = lag};
    if (parent >= 0) {
        memcpy(node->path, tree->node[parent].path, sizeof node->path);
        node->depth = tree->node[parent].depth + 1;
        node->shift = shift_of(job, lag);
    }
    node->path[node->depth] = tree->nodes;
    return tree->nodes++;
}

static void grow_tree(asc_grassmann_job *job)
{
    const asc_grassmann_attrs *a = job->attrs;
    asc_grassmann_tree *tree = job->tree;
    tuple tuples[ASC_SUBSPACE_TUPLES];
    int at = add_node(job, -1, 0);
    order_tuples(a, tuples);
    for (int i = 0; i < a->n_tuples; i++) {
        const tuple *t = &tuples[i];
        int shared = 0;
        while (i > 0 && shared < a->k - 1 && t->lag[shared] == tuples[i - 1].lag[shared]) {
            shared++;
        }
        at = tree->node[at].path[shared];
        for (int l = shared; l < a->k - 1; l++) {
            at = add_node(job, at, t->lag[l]);
        }
        tree->leaf[t->index] = at;
        tree->sign[t->index] = t->sign;
    }
    for (int i = tree->nodes - 1; i >= 0; i--) {
        int end = i + 1;
        while (end < tree->nodes && tree->node[end].depth > tree->node[i].depth) {
            end++;
        }
        tree->node[i].end = end;
    }
}

/* ---- the terms of forms ---- */

static asc_status list_terms(asc_grassmann_job *job)
{
    asc_grassmann_tree *tree = job->tree;
    for (int k = 0; k <= tree->k; k++) {
        tree->coordinates[k] = asc_sets_count(job->width, k);
        size_t pairs = (size_t)(tree->coordinates[k] * k);
        int32_t *term = k < 2 ? NULL : asc_call_scratch(job->call, pairs * 2 * sizeof *term);
        int64_t i[] = {0, 1, 2, 3};
        tree->term[k] = term;
        if (k >= 2 && !term) {
            return ASC_ERR_MEMORY;
        }
        for (int64_t c = 0; term && c < tree->coordinates[k]; c++, asc_set_advance(i, k, job->width)) {
            for (int a = 0; a < k; a++) {
                *term++ = (int32_t)i[a];
                *term++ = (int32_t)asc_set_place_without(i, k, a, job->width);
            }
        }
    }
    return ASC_OK;
}

/* ---- the passes ---- */

static asc_grassmann_job job_of(asc_call *call, asc_grassmann_tree *tree)
{
    const asc_grassmann_attrs *a = call->attrs;
    asc_grassmann_job job = asc_grassmann_job_of(call, asc_sets_count(call->in[Z].shape[2] / a->groups, a->k));
    *tree = (asc_grassmann_tree){.k = a->k};
    job.kind = &asc_grassmann_subspaces;
    job.tree = tree;
    job.lengths = call->in[LENGTHS].ndim >= 0 ? call->in[LENGTHS].data : NULL;
    for (int i = 0; i < a->n_tuples; i++) {
        int far = 0;
        for (int l = 0; l < a->k - 1; l++) {
            far = a->lag[i][l] > far ? a->lag[i][l] : far;
        }
        job.pair[job.pairs++].shift = -far;
    }
    grow_tree(&job);
    return job;
}

static asc_status forward(asc_call *call)
{
    asc_grassmann_tree tree;
    asc_grassmann_job job = job_of(call, &tree);
    asc_status status = list_terms(&job);
    return status ? status : asc_grassmann_run(&job);
}

static asc_status backward(asc_call *call)
{
    asc_grassmann_tree tree;
    asc_grassmann_job job = job_of(call, &tree);
    asc_status status = list_terms(&job);
    return status ? status : asc_grassmann_run_backward(&job);
}

static uint32_t causal(const asc_call *call)
{
    (void)call;
    return 1u << Z;
}

#define ATTRS(...)                                                                                                     \
    .attrs = &(const asc_grassmann_attrs)                                                                              \
    {                                                                                                                  \
        .groups = 1, .eps = 1e-8, __VA_ARGS__                                                                          \
    }
#define FLOOR(...)                                                                                                     \
    .attrs = &(const asc_grassmann_attrs)                                                                              \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 6, 5}}, {'f', 2, {3, 10}}, {'f', 1, {3}}},
     ATTRS(.k = 3, .n_tuples = 1, .lag = {{1, 2}}),
     .note = "one tuple"},
    {.in = {{'f', 3, {2, 7, 10}}, {'f', 2, {2, 20}}, {'f', 1, {2}}},
     FLOOR(.eps = 1e-8, .groups = 2, .k = 3, .n_tuples = 3, .lag = {{3, 1}, {1, 2}, {4, 2}}, .rms = true),
     .note = "groups, rms, shared lags"},
    {.in = {{'f', 3, {2, 7, 5}}, {'f', 2, {2, 5}}, {'f', 1, {2}}, {'i', 1, {2}, 0, 8}},
     ATTRS(.k = 4, .n_tuples = 4, .lag = {{1, 2, 3}, {5, 1, 2}, {4, 3, 1}, {1, 2, 3}}, .sum = true),
     .note = "four dimensions, lengths, a sum, one tuple twice"},
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 2, {2, 6}}}, ATTRS(.k = 2, .n_tuples = 2, .lag = {{1}, {3}}), .note = "planes"},
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 2, {2, 4}}, {0}},
     ATTRS(.skip = 3, .k = 3, .n_tuples = 2, .lag = {{1, 2}, {2, 3}}),
     .note = "a stream: earlier positions, no bias"},
    {.in = {{'f', 3, {1, 6, 4}}, {'f', 2, {2, 4}}, {'f', 1, {2}}},
     FLOOR(.eps = 1e3, .groups = 1, .k = 3, .n_tuples = 2, .lag = {{1, 2}, {3, 1}}),
     .note = "below the floor ε: linear in p"},
    {.in = {{'f', 3, {1, 8, 4}}, {'f', 2, {2, 4}}, {'f', 1, {2}}},
     ATTRS(.eps_rel = 0.3, .k = 3, .n_tuples = 2, .lag = {{1, 2}, {3, 1}}),
     .note = "some tuples below ε_rel"},
    {.in = {{'f', 3, {1, 6, 5}}, {'f', 2, {2, 5}}, {'f', 1, {2}}},
     ATTRS(.eps_rel = 4, .k = 4, .n_tuples = 2, .lag = {{1, 2, 3}, {1, 3, 4}}),
     .note = "all tuples below ε_rel"},
    {.in = {{'u', 3, {1, 5, 5}, .lo = 5, .hi = 6}, {'f', 2, {2, 10}}, {'f', 1, {2}}},
     ATTRS(.k = 3, .n_tuples = 1, .lag = {{1, 2}}),
     .note = "nearly dependent"},
    {.in = {{'f', 3, {1, 6, 6}}, {'f', 2, {2, 2}}, {'f', 1, {2}}},
     FLOOR(.eps = .5, .groups = 2, .k = 3, .n_tuples = 2, .lag = {{1, 2}, {1, 3}}),
     .note = "one coordinate a group, which turns below the floor alone"},
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 2, {1, 4}}, {'f', 1, {1}}},
     ATTRS(.k = 3, .n_tuples = 2, .lag = {{1, 5}, {1, 2}}),
     .note = "a lag beyond the sequence"},
    {.in = {{'f', 3, {2, 0, 3}}, {'f', 2, {2, 1}}, {'f', 1, {2}}},
     ATTRS(.k = 3, .n_tuples = 1, .lag = {{1, 2}}),
     .note = "length 0"},
    {.in = {{'f', 3, {1, 6, 4}}, {'f', 2, {2, 4}}, {'f', 1, {2}}},
     FLOOR(.eps = ASC_GRASSMANN_FLOOR, .groups = 1, .k = 3, .n_tuples = 1, .lag = {{1, 2}}, .raw = true),
     .note = "p as it is"},
};

const asc_op asc_op_subspace = {
    .abi = ASC_OP_ABI,
    .name = "subspace",
    .equation = "g_t = Σ_τ c_τ (W (z_t∧z_{t-Δ_1}∧…∧z_{t-Δ_{k-1}})/F + b), τ = (Δ_1, …, Δ_{k-1});  z (B, N, r), "
                "W (D, G C(r/G, k)), b (D)",
    .inputs = "z weight bias? lengths?",
    .n_out = 1,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(asc_grassmann_attrs),
    .saves_in = 1u << Z | 1u << W | 1u << LENGTHS,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = asc_grassmann_flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 12}}, {'f', 2, {256, 220}}, {'f', 1, {256}}},
                                 ATTRS(.k = 3, .n_tuples = 2, .lag = {{1, 2}, {2, 4}})},
    .causal = causal,
};

asc_tensor asc_subspace(asc_ctx *ctx, asc_tensor z, asc_tensor weight, asc_tensor bias, asc_tensor lengths,
                        const asc_subspace_options *options)
{
    if (ASC_NEED(ctx, "subspace: options", options) ||
        ASC_NEED(ctx, "subspace: tuples", asc_unless_empty(options->tuples, options->n_tuples))) {
        return asc_null();
    }
    asc_grassmann_attrs a = {.eps = options->eps,
                             .eps_rel = options->eps_rel,
                             .skip = options->skip,
                             .k = options->k,
                             .n_tuples = options->n_tuples,
                             .sum = options->sum,
                             .rms = options->rms,
                             .raw = options->raw};
    asc_grassmann_fill_in(&a, options->groups);
    bool fit = a.k >= 2 && a.k <= ASC_SUBSPACE_LAGS + 1 && a.n_tuples <= ASC_SUBSPACE_TUPLES;
    for (int i = 0; fit && i < a.n_tuples * (a.k - 1); i++) { /* others infer refuses */
        a.lag[i / (a.k - 1)][i % (a.k - 1)] = options->tuples[i];
    }
    return asc_apply1(ctx, &asc_op_subspace, (asc_tensor[]){z, weight, bias, lengths}, 4, &a);
}
