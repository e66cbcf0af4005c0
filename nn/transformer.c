/* nn/transformer.c: multi-head attention with biases: y = attention(x Wqᵀ + bq, x Wkᵀ + bk, x Wvᵀ + bv) Woᵀ + bo.
 */
#include <ascgrad/inspect.h>
#include <ascgrad/ops.h>

#include "nn/attention.h"
#include "nn/cap.h"
#include "nn/given.h"
#include "nn/inspect/scores.h"
#include "nn/qk_norm.h"
#include "tensor/ctx.h"

typedef struct transformer {
    asc_affine q, k, v, o;
    asc_tensor rel_bias; /* [H, 2R + 1], or null */
    asc_attention_options options;
    asc_qk_norm qk_norm;
    bool rotary;
} transformer;

enum { KEYS, VALUES };

typedef struct values {
    int64_t heads, window, globals, random, rel;
    int mask, positions, qk_norm;
    double attn_cap;
} values;

#define AT(field) offsetof(values, field)

static const asc_setting settings[] = {
    ASC_HEADS_SETTING(AT(heads)),
    ASC_MASK_SETTING(AT(mask)),
    ASC_LINK_SETTINGS(AT),
    ASC_QK_NORM_SETTING(AT(qk_norm)),
    {"attn_cap", ASC_SETTING_REAL, AT(attn_cap), "0",
     .help = "c > 0 bounds the scores softly, by c tanh(s/c), before position biases", .max = 1e6},
    {0},
};

static asc_status check(asc_layer *l)
{
    const values *v = l->settings;
    bool rotary = v->positions == ASC_POSITIONS_ROTARY;
    if (l->D % v->heads || (rotary && l->D / v->heads % 2)) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "heads", " is %lld, expected a divisor of the width %lld%s",
                           (long long)v->heads, (long long)l->D,
                           rotary ? " with an even quotient, for rotary positions" : "");
    }
    if (v->globals > 0 && v->window == 0) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "globals", " is %lld, expected a window beside it",
                           (long long)v->globals);
    }
    if (v->random > 0 && v->window == 0) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "random", " is %lld, expected a window beside it",
                           (long long)v->random);
    }
    return asc_cap_check(l->ctx, "attn_cap", v->attn_cap);
}

static asc_status init(asc_layer *l, asc_maker *maker)
{
    const values *v = l->settings;
    transformer *t = l->self;
    t->rotary = v->positions == ASC_POSITIONS_ROTARY;
    t->options = (asc_attention_options){.heads = v->heads, .window = v->window, .globals = v->globals,
                                         .random = v->random,
                                         .causal = v->mask == ASC_MASK_CAUSAL,
                                         .alibi = v->positions == ASC_POSITIONS_ALIBI, .cap = v->attn_cap};
    t->q = asc_make_linear(maker, "q", l->D, l->D);
    t->k = asc_make_linear(maker, "k", l->D, l->D);
    t->v = asc_make_linear(maker, "v", l->D, l->D);
    t->o = asc_make_linear(maker, "o", l->D, l->D);
    t->qk_norm = asc_qk_norm_make(maker, v->qk_norm, v->heads, l->D / v->heads);
    if (v->rel > 0) {
        t->rel_bias = asc_make_param(maker, "rel_bias", ASC_INIT_ZERO, 2, (int64_t[]){v->heads, 2 * v->rel + 1});
    }
    return asc_error(l->ctx);
}

/* The projection of x to queries or keys, normalised, turned to the positions from `start` on. */
static asc_tensor placed(asc_layer *l, asc_tensor x, asc_affine w, asc_tensor gain, int64_t start)
{
    const transformer *t = l->self;
    asc_tensor y = asc_qk_norm_apply(l->ctx, &t->qk_norm, asc_affine_apply(l, x, w), gain);
    if (!t->rotary) {
        return y;
    }
    asc_tensor turned = asc_rotary(l->ctx, y, t->options.heads, start);
    asc_release(y);
    return turned;
}

static asc_attention_options options_of(const asc_layer *l)
{
    asc_attention_options o = ((const transformer *)l->self)->options;
    o.causal = o.causal && asc_is_null(l->context);
    return o;
}

static asc_status check_call(asc_layer *l)
{
    const values *v = l->settings;
    const asc_unfit unfit[] = {{v->window > 0, "window"}, {v->positions != ASC_POSITIONS_NONE, "positions"},
                               {v->rel > 0, "rel"}};
    return asc_check_context(l, unfit, sizeof unfit / sizeof *unfit);
}

/* start: of the queries; q goes. */
static asc_tensor attend(asc_layer *l, asc_tensor q, asc_tensor k, asc_tensor v, asc_tensor lengths, int64_t start)
{
    const transformer *t = l->self;
    asc_attention_options o = options_of(l);
    asc_given given = asc_given_for(l, start, asc_size(q, 1), asc_size(k, 1));
    asc_attention_inputs in = {.q = q, .k = k, .v = v, .rel_bias = t->rel_bias, .bias = given.bias, .lengths = lengths,
                               .mask = given.mask};
    asc_tensor y = asc_attention(l->ctx, &in, &o);
    asc_tensor out = asc_affine_apply(l, y, t->o);
    asc_given_release(l, given);
    asc_release(q);
    asc_release(y);
    return out;
}

/* Queries of x, which stands behind `before` of the keys' tokens in `all`. */
static asc_tensor look(asc_layer *l, asc_tensor x, asc_tensor all, int64_t before, asc_tensor lengths)
{
    const transformer *t = l->self;
    asc_tensor q = placed(l, x, t->q, t->qk_norm.q, before), k = placed(l, all, t->k, t->qk_norm.k, 0);
    asc_tensor v = asc_affine_apply(l, all, t->v), y = attend(l, q, k, v, lengths, before);
    asc_release(k);
    asc_release(v);
    return y;
}

static asc_tensor forward(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)aux; /* it has none */
    return check_call(l) ? asc_null() : look(l, x, asc_looked_at(l, x), 0, lengths);
}

static asc_tensor carry(asc_layer *l, asc_layer_cache *held, asc_tensor past, asc_tensor x)
{
    (void)held; /* keys and values are made anew, with the weights of today */
    asc_tensor all = asc_behind(l, past, x);
    return asc_after(all, look(l, x, all, asc_size(past, 1), asc_null()));
}

static asc_status inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    const transformer *t = l->self;
    asc_attention_options o = options_of(l);
    asc_ctx *ctx = l->ctx;
    if (check_call(l)) {
        return asc_error(ctx);
    }
    asc_tensor q = asc_split_heads(ctx, placed(l, x, t->q, t->qk_norm.q, 0), o.heads);
    asc_tensor k = asc_split_heads(ctx, placed(l, asc_looked_at(l, x), t->k, t->qk_norm.k, 0), o.heads);
    int64_t N = asc_size(q, 2), M = asc_size(k, 2);
    asc_given given = asc_given_for(l, 0, N, M);
    const asc_other_bias biases = {o.alibi, t->rel_bias, given.bias};
    asc_tensor base = asc_base_scores(ctx, q, k);
    base = o.cap > 0 ? asc_soft_cap(ctx, base, o.cap) : base;
    asc_tensor other = asc_other_scores(ctx, base, &biases), s = asc_add_other(ctx, base, &biases);
    asc_tensor allowed = asc_allowed_mask(ctx, N, M, &(asc_allowed_options){o.causal, o.window, o.globals, o.random,
                                                                            lengths, given.mask});
    asc_tensor attn = asc_softmax(ctx, s, allowed);
    if (!asc_is_null(other)) {
        asc_add_part(parts, ctx, "s_base", base, allowed);
        asc_add_part(parts, ctx, "b_other", other, allowed);
    }
    asc_add_part(parts, ctx, "s", s, allowed);
    asc_add_part(parts, ctx, "attn", attn, asc_null());
    return asc_add_entropies(parts, ctx, s, attn, asc_null());
}

static asc_status cache(asc_layer *l, asc_layer_cache *c, int64_t capacity)
{
    asc_cache_make(l, c, KEYS, l->D, capacity);
    return asc_cache_make(l, c, VALUES, l->D, capacity);
}

static asc_tensor next(asc_layer *l, asc_layer_cache *c, asc_tensor x)
{
    const transformer *t = l->self;
    asc_tensor q = placed(l, x, t->q, t->qk_norm.q, c->length);
    asc_tensor k = asc_cache_append(l, c, KEYS, placed(l, x, t->k, t->qk_norm.k, c->length));
    asc_tensor v = asc_cache_append(l, c, VALUES, asc_affine_apply(l, x, t->v));
    return attend(l, q, k, v, asc_null(), c->length);
}

static const char *looks_ahead(const asc_layer *l)
{
    return ((const transformer *)l->self)->options.causal ? NULL : "mask is full";
}

static const char *const outputs[] = {"o.weight", NULL};

const asc_mixing asc_mixing_transformer = {
    .abi = ASC_MIXING_ABI,
    .name = "transformer",
    .settings = settings,
    .settings_size = sizeof(values),
    .sample = "{\"heads\": 2}",
    .takes_mask = true,
    .takes_bias = true,
    .takes_context = true,
    .size = sizeof(transformer),
    .check = check,
    .init = init,
    .forward = forward,
    .inspect = inspect,
    .cache = cache,
    .next = next,
    .carry = carry,
    .looks_ahead = looks_ahead,
    .outputs = outputs,
};
