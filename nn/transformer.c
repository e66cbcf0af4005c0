/* nn/transformer.c: multi-head attention with biases: y = attention(x Wqᵀ + bq, x Wkᵀ + bk, x Wvᵀ + bv) Woᵀ + bo.
 */
#include <ascgrad/ops.h>

#include <string.h>

#include "nn/mixing.h"
#include "tensor/ctx.h"

typedef struct transformer {
    asc_affine q, k, v, o;
    asc_tensor rel_bias; /* [H, 2R + 1], or null */
    asc_attention_options options;
    bool rotary;
} transformer;

enum { KEYS, VALUES };

static const asc_setting settings[] = {
    {"heads", "attention heads; a divisor of d_model"},
    {"mask", "causal or full; a language model is causal"},
    {"window", "w > 0: only |i - j| < w, and the global tokens"},
    {"globals", "tokens at the start that all look at, beside a window"},
    {"positions", "none, rotary or alibi, beside or in place of learned positions"},
    {"rel", "R > 0: a learned bias for each distance up to R"},
    {NULL, NULL},
};

static asc_status init(asc_layer *l, asc_config *config, asc_maker *maker, int layer, int layers)
{
    (void)layer;
    (void)layers;
    static const char *const masks[] = {"causal", "full", NULL}, *const positions[] = {"none", "rotary", "alibi", NULL};
    transformer *t = l->self;
    int64_t H = asc_config_int(config, "heads", INT64_MIN, 1, l->D);
    if (asc_error(l->ctx)) {
        return asc_error(l->ctx);
    }
    int position = asc_config_choice(config, "positions", 0, positions);
    t->rotary = position == 1;
    t->options = (asc_attention_options){
        .heads = H,
        .window = asc_config_int(config, "window", 0, 0, INT32_MAX),
        .globals = asc_config_int(config, "globals", 0, 0, INT32_MAX),
        .causal = asc_config_choice(config, "mask", 0, masks) == 0,
        .alibi = position == 2,
    };
    int64_t R = asc_config_int(config, "rel", 0, 0, INT32_MAX);
    if (l->D % H || (t->rotary && l->D / H % 2)) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "config: heads is %lld, expected a divisor of the width %lld%s",
                        (long long)H, (long long)l->D, t->rotary ? " with an even quotient, for rotary positions" : "");
    }
    if (t->options.globals > 0 && t->options.window == 0) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "config: globals is %lld, expected a window beside it",
                        (long long)t->options.globals);
    }
    t->q = asc_make_linear(maker, "q", l->D, l->D);
    t->k = asc_make_linear(maker, "k", l->D, l->D);
    t->v = asc_make_linear(maker, "v", l->D, l->D);
    t->o = asc_make_linear(maker, "o", l->D, l->D);
    if (R > 0) {
        t->rel_bias = asc_make_param(maker, "rel_bias", ASC_INIT_ZERO, 2, (int64_t[]){H, 2 * R + 1});
    }
    return asc_error(l->ctx);
}

static asc_tensor project(asc_layer *l, asc_tensor x, asc_affine w)
{
    return asc_linear(l->ctx, x, w.weight, w.bias);
}

/* The projection of x, turned to the positions from `start` on. */
static asc_tensor placed(asc_layer *l, asc_tensor x, asc_affine w, int64_t start)
{
    const transformer *t = l->self;
    asc_tensor y = project(l, x, w);
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
    asc_tensor y = asc_attention(l->ctx, q, k, v, t->rel_bias, lengths, &t->options);
    asc_tensor out = project(l, y, t->o);
    asc_release(q);
    asc_release(y);
    return out;
}

static asc_tensor forward(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    const transformer *t = l->self;
    asc_tensor q = placed(l, x, t->q, 0), k = placed(l, x, t->k, 0), v = project(l, x, t->v);
    asc_tensor y = attend(l, q, k, v, lengths);
    asc_release(k);
    asc_release(v);
    return y;
}

static asc_status cache(asc_layer *l, asc_layer_cache *c, int64_t capacity)
{
    for (int i = KEYS; i <= VALUES; i++) {
        asc_tensor t = asc_empty(l->ctx, l->dtype, 3, (int64_t[]){1, capacity, l->D});
        c->state[i] = asc_keep(t);
        asc_disown(t);
    }
    return asc_error(l->ctx);
}

/* Writes the new rows behind those held, and returns all. */
static asc_tensor append(asc_layer *l, const asc_layer_cache *c, int which, asc_tensor rows)
{
    if (asc_is_null(rows)) {
        return rows;
    }
    size_t row = (size_t)l->D * asc_dtype_size(l->dtype);
    int64_t n = asc_size(rows, 1);
    char *held = asc_data_mut(c->state[which]);
    memcpy(held + (size_t)c->length * row, asc_data(rows), (size_t)n * row);
    asc_release(rows);
    return asc_slice(l->ctx, c->state[which], 1, 0, c->length + n, 1);
}

static asc_tensor next(asc_layer *l, asc_layer_cache *c, asc_tensor x)
{
    const transformer *t = l->self;
    asc_tensor q = placed(l, x, t->q, c->length);
    asc_tensor k = append(l, c, KEYS, placed(l, x, t->k, c->length));
    asc_tensor v = append(l, c, VALUES, project(l, x, t->v));
    return attend(l, q, k, v, asc_null());
}

static bool causal(const asc_layer *l)
{
    return ((const transformer *)l->self)->options.causal;
}

const asc_mixing asc_mixing_transformer = {
    .name = "transformer",
    .settings = settings,
    .size = sizeof(transformer),
    .init = init,
    .forward = forward,
    .cache = cache,
    .next = next,
    .causal = causal,
};
