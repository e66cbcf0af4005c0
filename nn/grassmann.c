/* nn/grassmann.c: Grassmann mixing on its fused ops, over whole sequences and over streams.
 *
 *   z = W_red x + b;  g_t = W_plü Σ_Δ c_Δ p̂(z_t ∧ z_{t-Δ}) + b_plü Σ_Δ c_Δ;  y = α⊙x + (1 − α)⊙g
 *
 * The definition is in grassmann_composed.c; doc/grassmann.md has the options. */
#include <ascgrad/ops.h>

#include "nn/flow.h"
#include "nn/grassmann.h"
#include "nn/mixing.h"
#include "tensor/ctx.h"

/* Lengths one behind the other, to be let go by drop(); null where there are none, and with the error set. */
static asc_tensor take(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    if (!asc_is_null(lengths) && (asc_dtype_of(lengths) != ASC_I64 || asc_ndim(lengths) != 1 ||
                                  asc_size(lengths, 0) != asc_size(x, 0))) {
        asc_fail(l->ctx, ASC_ERR_ARG, "grassmann: lengths are %lld of %s, expected (B) of i64, B = %lld",
                 (long long)asc_numel(lengths), asc_dtype_name(asc_dtype_of(lengths)), (long long)asc_size(x, 0));
    }
    return asc_is_null(lengths) || asc_error(l->ctx) ? asc_null() : asc_contiguous(l->ctx, lengths);
}

static void drop(asc_tensor taken, asc_tensor lengths)
{
    if (!asc_is_same(taken, lengths)) {
        asc_release(taken);
    }
}

/* What a stream keeps: the last max(1, longest offset) reduced vectors (1, k, r), the memory (1, 1, r), the sum of
 * what the running mean is of (1, 1, D), and the path so far (nn/flow.h). */
enum { REDUCED, MEMORY, SUM, FLOW };

static asc_tensor held(const asc_layer_cache *cache, int which)
{
    return cache && cache->length > 0 ? cache->state[which] : asc_null();
}

/* z behind the vectors that the cache holds. *skip is how many those are. */
static asc_tensor behind_held(asc_layer *l, asc_layer_cache *cache, asc_tensor z, int64_t *skip)
{
    const asc_grassmann_layer *g = l->self;
    asc_tensor past = held(cache, REDUCED);
    *skip = asc_size(past, 1);
    if (!cache) {
        return z;
    }
    asc_tensor all = asc_is_null(past) ? z : asc_concat(l->ctx, (asc_tensor[]){past, z}, 2, 1);
    int64_t n = asc_size(all, 1), keep = g->longest > 1 ? g->longest : 1;
    asc_tensor last = asc_slice(l->ctx, all, 1, n > keep ? n - keep : 0, n, 1);
    asc_cache_stage(l, cache, REDUCED, last);
    return all;
}

/* What the memory holds before each x, or null without one. */
static asc_tensor remember(asc_layer *l, asc_layer_cache *cache, asc_tensor x, asc_tensor z)
{
    const asc_grassmann_layer *g = l->self;
    if (!g->memory) {
        return asc_null();
    }
    asc_tensor forget = asc_grassmann_forget(l, x), last = asc_null();
    asc_tensor before = asc_gated_memory(l->ctx, z, forget, held(cache, MEMORY), cache ? &last : NULL);
    if (asc_size(z, 1) == 1) { /* before the first token it holds what it did: of this one's gate it has nothing */
        before = asc_after(before, asc_detach(l->ctx, before));
    }
    if (cache) {
        asc_cache_stage(l, cache, MEMORY, last);
    }
    asc_release(forget);
    return before;
}

/* One over the tokens that have a pair, up to each of x (B, n, …), the positions from the cache's length on. */
static asc_tensor inverse_counts(asc_layer *l, const asc_layer_cache *cache, asc_tensor x, asc_tensor lengths)
{
    return asc_grassmann_inverse_counts(l, asc_size(x, 0), asc_size(x, 1), cache ? cache->length : 0, lengths);
}

/* The running mean of x (B, n, D), the positions from the cache's length on. */
static asc_tensor mean_so_far(asc_layer *l, asc_layer_cache *cache, asc_tensor x, asc_tensor lengths)
{
    asc_tensor sum = asc_cumsum(l->ctx, x, 1), before = held(cache, SUM);
    sum = asc_is_null(before) ? sum : asc_after(sum, asc_add(l->ctx, sum, before));
    if (cache) {
        asc_cache_stage(l, cache, SUM, asc_slice(l->ctx, sum, 1, -1, ASC_SLICE_END, 1));
    }
    asc_tensor inverse = inverse_counts(l, cache, x, lengths);
    asc_tensor mean = asc_after(sum, asc_mul(l->ctx, sum, inverse));
    asc_release(inverse);
    return mean;
}

/* g with a second feature, W_mean times the running mean of the coordinates: projected first, as that is shorter. */
static asc_tensor add_mean(asc_layer *l, asc_layer_cache *cache, asc_tensor g, asc_tensor z, asc_tensor before,
                           asc_tensor lengths, int64_t skip)
{
    const asc_grassmann_layer *layer = l->self;
    asc_tensor each = asc_grassmann_project(l, z, skip, before, lengths, (asc_affine){layer->mean_weight, asc_null()},
                                            layer->rms);
    asc_tensor mean = mean_so_far(l, cache, each, lengths), sum = asc_add(l->ctx, g, mean);
    asc_release(each);
    asc_release(mean);
    asc_release(g);
    return sum;
}

/* g of z behind what a stream holds. */
static asc_tensor collect(asc_layer *l, asc_layer_cache *cache, asc_tensor z, int64_t skip, asc_tensor before,
                          asc_tensor lengths)
{
    const asc_grassmann_layer *layer = l->self;
    int64_t tokens = asc_size(z, 1);
    asc_tensor none = cache ? asc_null() : asc_grassmann_without_pairs(l, asc_size(z, 0), tokens - skip, tokens);
    if (!asc_is_null(none)) {
        return none;
    }
    asc_tensor g = asc_grassmann_project(l, z, skip, before, lengths, layer->plu, layer->rms);
    return asc_is_null(layer->mean_weight) ? g : add_mean(l, cache, g, z, before, lengths, skip);
}

/* What the gate sees of the path, of z behind what a stream holds; null where it is not asked for. */
static asc_tensor look_back(asc_layer *l, asc_layer_cache *cache, asc_tensor z, int64_t skip, asc_tensor before,
                            asc_tensor lengths)
{
    if (!((const asc_grassmann_layer *)l->self)->invariants) {
        return asc_null();
    }
    asc_tensor u = asc_grassmann_directions(l, z, skip, before, lengths), next;
    asc_tensor inverse = inverse_counts(l, cache, u, lengths);
    asc_tensor seen = asc_flow_invariants(l->ctx, u, inverse, lengths, held(cache, FLOW), cache ? &next : NULL);
    if (cache) {
        asc_cache_stage(l, cache, FLOW, next);
    }
    asc_release(u);
    asc_release(inverse);
    return seen;
}

/* The layer's output for x, of all reduced vectors, whose first `skip` stand before it, and of what the memory held;
 * both go. */
static asc_tensor fuse(asc_layer *l, asc_layer_cache *cache, asc_tensor x, asc_tensor all, int64_t skip,
                       asc_tensor before, asc_tensor lengths)
{
    const asc_grassmann_layer *layer = l->self;
    asc_tensor g = collect(l, cache, all, skip, before, lengths);
    asc_tensor seen = look_back(l, cache, all, skip, before, lengths);
    asc_tensor y = asc_is_null(seen) ? asc_gated_fusion(l->ctx, x, g, layer->gate.weight, layer->gate.bias, NULL)
                                     : asc_grassmann_fuse(l, x, g, seen);
    asc_release(seen);
    asc_release(before);
    asc_release(all);
    asc_release(g);
    return y;
}

/* x (B, n, D), the positions from the cache's length on, or from 0 without one. */
static asc_tensor run(asc_layer *l, asc_layer_cache *cache, asc_tensor x, asc_tensor lengths)
{
    const asc_grassmann_layer *layer = l->self;
    asc_ctx *ctx = l->ctx;
    int64_t skip = 0;
    asc_tensor z = asc_linear(ctx, x, layer->red.weight, layer->red.bias), before = remember(l, cache, x, z);
    asc_tensor all = behind_held(l, cache, z, &skip);
    asc_tensor y = fuse(l, cache, x, all, skip, before, lengths);
    asc_release(z); /* which `all` may have been */
    return y;
}

static asc_tensor forward(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)aux; /* it has none */
    const asc_grassmann_layer *layer = l->self;
    asc_tensor taken = take(l, x, lengths), y = asc_null();
    if (!asc_error(l->ctx)) {
        y = layer->composed ? asc_grassmann_composed(l, x, taken) : run(l, NULL, x, taken);
    }
    drop(taken, lengths);
    return y;
}

static asc_tensor next(asc_layer *l, asc_layer_cache *cache, asc_tensor x)
{
    return run(l, cache, x, asc_null());
}

static asc_tensor flow(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    const asc_grassmann_layer *layer = l->self;
    asc_tensor z = asc_linear(l->ctx, x, layer->red.weight, layer->red.bias), before = remember(l, NULL, x, z);
    asc_tensor u = asc_after(before, asc_grassmann_directions(l, z, 0, before, lengths));
    return asc_after(z, u);
}

/* Whether tokens see a mean over all before them, which with carried context is one over past and x. */
static const char *mean_of(const asc_grassmann_layer *layer)
{
    return !asc_is_null(layer->mean_weight) ? "running_mean" : layer->invariants ? "invariants" : NULL;
}

/* A memory goes on from its own value. */
static asc_tensor carry(asc_layer *l, asc_layer_cache *held, asc_tensor past, asc_tensor x)
{
    const asc_grassmann_layer *layer = l->self;
    if (layer->composed || mean_of(layer)) {
        return asc_carry_again(l, held, past, x);
    }
    asc_tensor both = asc_behind(l, past, x);
    asc_tensor all = asc_after(both, asc_linear(l->ctx, both, layer->red.weight, layer->red.bias));
    asc_tensor z = asc_slice(l->ctx, all, 1, asc_size(past, 1), ASC_SLICE_END, 1), before = remember(l, held, x, z);
    asc_release(z);
    return fuse(l, NULL, x, all, asc_size(past, 1), before, asc_null());
}

/* The memory alone needs one, to know that there was a token. */
static int64_t reach(asc_layer *l, int64_t tokens)
{
    const asc_grassmann_layer *layer = l->self;
    const char *mean = mean_of(layer);
    if (layer->memory && asc_refuse_composed(l, layer->composed)) {
        return -1;
    }
    if (mean && layer->memory) {
        asc_fail_on(l->ctx, ASC_ERR_ARG, mean, " is true, and so is the memory of layer %d: means over the tokens "
                    "carried would need what the memory held at each: expected one of them with carry", l->index);
        return -1;
    }
    if (layer->smooth > 0) {
        asc_fail_on(l->ctx, ASC_ERR_ARG, "smooth", " is %g, and the model carries context: an auxiliary loss is a mean "
                    "over whole sequences, expected 0", layer->smooth);
        return -1;
    }
    int64_t longest = layer->longest > 1 ? layer->longest : 1;
    return mean || longest > tokens ? tokens : longest;
}

static asc_status inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    asc_tensor taken = take(l, x, lengths);
    asc_status status = asc_error(l->ctx) ? asc_error(l->ctx) : asc_grassmann_inspect(l, x, taken, parts);
    drop(taken, lengths);
    return status;
}

static const char *looks_ahead(const asc_layer *l)
{
    static const char *const why[] = {
        [ASC_DIRECTION_PAST] = NULL,
        [ASC_DIRECTION_FUTURE] = "direction is future: the pair (t, t+Δ) shows a token the very one that it predicts",
        [ASC_DIRECTION_BOTH] = "direction is both: the pair (t, t+Δ) shows a token the very one that it predicts",
    };
    return why[((const asc_grassmann_layer *)l->self)->direction];
}

static const char *const from_planes[] = {"plu.weight", "mean.weight", NULL};

const asc_mixing asc_mixing_grassmann = {
    .abi = ASC_MIXING_ABI,
    .name = "grassmann",
    .settings = asc_grassmann_settings,
    .settings_size = sizeof(asc_grassmann_values),
    .sample = "{\"r\": 4, \"groups\": 2, \"offsets\": [1, 3], \"memory\": true, \"running_mean\": true, "
              "\"invariants\": true}",
    .bare = true,
    .size = sizeof(asc_grassmann_layer),
    .check = asc_grassmann_check,
    .init = asc_grassmann_init,
    .forward = forward,
    .inspect = inspect,
    .flow = flow,
    .follows = asc_grassmann_follows,
    .turn = asc_grassmann_turn,
    .next = next,
    .carry = carry,
    .reach = reach,
    .carried_states = 1u << MEMORY,
    .looks_ahead = looks_ahead,
    .outputs = from_planes,
    .narrow = from_planes,
};
