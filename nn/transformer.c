/* nn/transformer.c: multi-head attention with biases: y = attention(x Wqᵀ + bq, x Wkᵀ + bk, x Wvᵀ + bv) Woᵀ + bo.
 */
#include <ascgrad/inspect.h>
#include <ascgrad/ops.h>

#include "nn/attention.h"
#include "nn/mixing.h"
#include "nn/inspect/scores.h"
#include "tensor/ctx.h"

typedef struct transformer {
    asc_affine q, k, v, o;
    asc_tensor rel_bias; /* [H, 2R + 1], or null */
    asc_attention_options options;
    bool rotary;
} transformer;

enum { KEYS, VALUES };

typedef struct values {
    int64_t heads, window, globals, rel;
    int mask, positions;
} values;

#define AT(field) offsetof(values, field)

static const asc_setting settings[] = {
    {"heads", ASC_SETTING_INT, AT(heads), "4", .help = "attention heads", .min = 1, .max = 1 << 20,
     .flags = ASC_SETTING_REQUIRED, .option = "heads"},
    {"mask", ASC_SETTING_CHOICE, AT(mask), "causal", .help = "who sees whom; a language model is causal",
     .choices = asc_mask_names, .option = "mask"},
    {"window", ASC_SETTING_INT, AT(window), "0", .help = "w > 0: only |i - j| < w, and the global tokens",
     .max = INT32_MAX},
    {"globals", ASC_SETTING_INT, AT(globals), "0", .help = "tokens at the start that all look at, beside a window",
     .max = INT32_MAX},
    {"positions", ASC_SETTING_CHOICE, AT(positions), "none",
     .help = "positions in attention, beside or in place of learned ones", .choices = asc_position_names,
     .flags = ASC_SETTING_RARE, .option = "positions", .argument = "P"},
    {"rel", ASC_SETTING_INT, AT(rel), "0", .help = "R > 0: a learned bias for each distance up to R",
     .max = INT32_MAX},
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
    return ASC_OK;
}

static asc_status init(asc_layer *l, asc_maker *maker)
{
    const values *v = l->settings;
    transformer *t = l->self;
    t->rotary = v->positions == ASC_POSITIONS_ROTARY;
    t->options = (asc_attention_options){.heads = v->heads, .window = v->window, .globals = v->globals,
                                         .causal = v->mask == ASC_MASK_CAUSAL,
                                         .alibi = v->positions == ASC_POSITIONS_ALIBI};
    t->q = asc_make_linear(maker, "q", l->D, l->D);
    t->k = asc_make_linear(maker, "k", l->D, l->D);
    t->v = asc_make_linear(maker, "v", l->D, l->D);
    t->o = asc_make_linear(maker, "o", l->D, l->D);
    if (v->rel > 0) {
        t->rel_bias = asc_make_param(maker, "rel_bias", ASC_INIT_ZERO, 2, (int64_t[]){v->heads, 2 * v->rel + 1});
    }
    return asc_error(l->ctx);
}

/* The projection of x, turned to the positions from `start` on. */
static asc_tensor placed(asc_layer *l, asc_tensor x, asc_affine w, int64_t start)
{
    const transformer *t = l->self;
    asc_tensor y = asc_affine_apply(l, x, w);
    if (!t->rotary) {
        return y;
    }
    asc_tensor turned = asc_rotary(l->ctx, y, t->options.heads, start);
    asc_release(y);
    return turned;
}

static asc_tensor attend(asc_layer *l, asc_tensor q, asc_tensor k, asc_tensor v, asc_tensor lengths)
{
    const transformer *t = l->self;
    asc_tensor y = asc_attention(l->ctx, q, k, v, t->rel_bias, lengths, l->mask, &t->options);
    asc_tensor out = asc_affine_apply(l, y, t->o);
    asc_release(q);
    asc_release(y);
    return out;
}

/* Queries of x, which stands behind `before` of the keys' tokens in `all`. */
static asc_tensor look(asc_layer *l, asc_tensor x, asc_tensor all, int64_t before, asc_tensor lengths)
{
    const transformer *t = l->self;
    asc_tensor q = placed(l, x, t->q, before), k = placed(l, all, t->k, 0), v = asc_affine_apply(l, all, t->v);
    asc_tensor y = attend(l, q, k, v, lengths);
    asc_release(k);
    asc_release(v);
    return y;
}

static asc_tensor forward(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)aux; /* it has none */
    return look(l, x, x, 0, lengths);
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
    const asc_attention_options *o = &t->options;
    asc_ctx *ctx = l->ctx;
    asc_tensor q = asc_split_heads(ctx, placed(l, x, t->q, 0), o->heads);
    asc_tensor k = asc_split_heads(ctx, placed(l, x, t->k, 0), o->heads);
    asc_tensor base = asc_base_scores(ctx, q, k), other = asc_position_scores(ctx, base, o->alibi, t->rel_bias);
    asc_tensor s = asc_add_positions(ctx, base, o->alibi, t->rel_bias);
    asc_tensor allowed = asc_allowed_mask(ctx, asc_size(x, 1), asc_size(x, 1),
                                          &(asc_allowed_options){o->causal, o->window, o->globals, lengths, l->mask});
    asc_tensor attn = asc_softmax(ctx, s, allowed);
    if (!asc_is_null(other)) {
        asc_add_part(parts, ctx, "s_base", base, allowed);
        asc_add_part(parts, ctx, "b_other", other, allowed);
    }
    asc_add_part(parts, ctx, "s", s, allowed);
    asc_add_part(parts, ctx, "attn", attn, asc_null());
    asc_add_part(parts, ctx, "entropy", asc_attention_entropy(ctx, attn), asc_null());
    return asc_add_part(parts, ctx, "entropy_rows", asc_attention_entropies(ctx, s, attn, asc_null()), asc_null());
}

static asc_status cache(asc_layer *l, asc_layer_cache *c, int64_t capacity)
{
    asc_cache_make(l, c, KEYS, l->D, capacity);
    return asc_cache_make(l, c, VALUES, l->D, capacity);
}

static asc_tensor next(asc_layer *l, asc_layer_cache *c, asc_tensor x)
{
    const transformer *t = l->self;
    asc_tensor q = placed(l, x, t->q, c->length);
    asc_tensor k = asc_cache_append(l, c, KEYS, placed(l, x, t->k, c->length));
    asc_tensor v = asc_cache_append(l, c, VALUES, asc_affine_apply(l, x, t->v));
    return attend(l, q, k, v, asc_null());
}

static const char *looks_ahead(const asc_layer *l)
{
    return ((const transformer *)l->self)->options.causal ? NULL : "mask is full";
}

const asc_mixing asc_mixing_transformer = {
    .abi = ASC_MIXING_ABI,
    .name = "transformer",
    .settings = settings,
    .settings_size = sizeof(values),
    .sample = "{\"heads\": 2}",
    .takes_mask = true,
    .size = sizeof(transformer),
    .check = check,
    .init = init,
    .forward = forward,
    .inspect = inspect,
    .cache = cache,
    .next = next,
    .carry = carry,
    .looks_ahead = looks_ahead,
};
