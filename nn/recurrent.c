/* nn/recurrent.c: a gated linear recurrence behind a short convolution, the recurrent block of Griffin (De et al.,
 * arXiv 2402.19427): y = W_o (GELU(g(x)) ⊙ s) + b_o, s = rg_lru(c, r(x), i(x)), c the short convolution of u(x), with
 * u, g, r, i linear. A stream keeps s and W - 1 vectors. */
#include <ascgrad/ops.h>

#include <math.h>

#include "nn/inspect/scores.h"
#include "nn/mixing.h"
#include "nn/short_conv.h"
#include "tensor/ctx.h"

typedef struct recurrent {
    asc_affine u, g, r, i, o;
    asc_short_conv conv;
    asc_tensor decay; /* [R] */
    bool composed;
} recurrent;

enum { PAST, STATE };

typedef struct values {
    int64_t inner, width;
    int mask;
    bool composed;
} values;

#define AT(field) offsetof(values, field)

static const asc_setting settings[] = {
    ASC_SHORT_CONV_SETTINGS(AT),
    {"composed", ASC_SETTING_BOOL, AT(composed), "false", .help = "built from primitive ops, slow, to compare with"},
    {0},
};

static asc_status check(asc_layer *l)
{
    values *v = l->settings;
    v->inner = asc_layer_given(l, "inner") ? v->inner : l->D;
    return asc_short_conv_check(l, v->mask);
}

/* `decay` so that a = exp(-8 softplus(decay)), the fastest decay, runs evenly from 0.9 to 0.999. */
static asc_tensor make_decay(asc_layer *l, asc_maker *maker, int64_t R)
{
    double *value = asc_alloc(l->ctx, (size_t)R * sizeof *value);
    if (!value) {
        return asc_null();
    }
    for (int64_t i = 0; i < R; i++) {
        double a = R > 1 ? 0.9 + 0.099 * (double)i / (double)(R - 1) : 0.9;
        value[i] = log(expm1(-log(a) / 8));
    }
    asc_tensor decay = asc_make_values(maker, "decay", R, value);
    asc_free(l->ctx, value, (size_t)R * sizeof *value);
    return decay;
}

static asc_status init(asc_layer *l, asc_maker *maker)
{
    const values *v = l->settings;
    recurrent *c = l->self;
    c->composed = v->composed;
    c->u = asc_make_linear(maker, "u", l->D, v->inner);
    c->g = asc_make_linear(maker, "g", l->D, v->inner);
    c->conv = asc_make_short_conv(maker, v->inner, v->width);
    c->r = asc_make_linear(maker, "r", l->D, v->inner);
    c->i = asc_make_linear(maker, "i", l->D, v->inner);
    c->decay = make_decay(l, maker, v->inner);
    c->o = asc_make_linear(maker, "o", v->inner, l->D);
    return asc_error(l->ctx);
}

/* log a (B, N, R) of the gate's logits. */
static asc_tensor log_decays(asc_layer *l, asc_tensor r)
{
    asc_tensor rate = asc_scale(l->ctx, asc_softplus(l->ctx, ((const recurrent *)l->self)->decay), -8);
    return asc_mul(l->ctx, asc_sigmoid(l->ctx, r), rate);
}

/* The definition of asc_rg_lru from primitive ops, from an empty state. The scan goes by doubling (Hillis and Steele
 * 1986): after a pass, s_t is what the last `span` tokens left, and a_t how much they leave of what was there. */
static asc_tensor scan_composed(asc_layer *l, asc_tensor c, asc_tensor r, asc_tensor i)
{
    asc_ctx *ctx = l->ctx;
    asc_scope_begin(ctx);
    asc_tensor log_a = log_decays(l, r), a = asc_exp(ctx, log_a);
    asc_tensor root = asc_sqrt(ctx, asc_neg(ctx, asc_expm1(ctx, asc_scale(ctx, log_a, 2))));
    asc_tensor s = asc_mul(ctx, asc_mul(ctx, root, asc_sigmoid(ctx, i)), c);
    for (int64_t span = 1; span < asc_size(c, 1); span *= 2) {
        s = asc_add(ctx, s, asc_mul(ctx, a, asc_later(ctx, s, span)));
        a = asc_mul(ctx, a, asc_later(ctx, a, span));
    }
    asc_scope_end_but(ctx, &s, 1);
    return s;
}

static asc_tensor scan(asc_layer *l, asc_layer_cache *cache, asc_tensor c, asc_tensor r, asc_tensor i)
{
    const recurrent *layer = l->self;
    if (layer->composed && !cache) {
        return scan_composed(l, c, r, i);
    }
    asc_tensor initial = cache && cache->length > 0 ? cache->state[STATE] : asc_null(), last = asc_null();
    asc_tensor s = asc_rg_lru(l->ctx, c, r, i, layer->decay, initial, cache ? &last : NULL);
    if (cache) {
        asc_cache_stage(l, cache, STATE, last);
    }
    return s;
}

/* The block behind its convolution, with the state that `cache` holds, if any; c goes. */
static asc_tensor recur(asc_layer *l, asc_layer_cache *cache, asc_tensor x, asc_tensor c)
{
    const recurrent *layer = l->self;
    asc_tensor r = asc_affine_apply(l, x, layer->r), i = asc_affine_apply(l, x, layer->i), s = scan(l, cache, c, r, i);
    asc_release(c);
    asc_release(r);
    asc_release(i);
    asc_tensor g = asc_affine_apply(l, x, layer->g), opened = asc_after(g, asc_gelu(l->ctx, g));
    asc_tensor gated = asc_mul(l->ctx, opened, s);
    asc_release(opened);
    asc_release(s);
    return asc_after(gated, asc_affine_apply(l, gated, layer->o));
}

static asc_tensor run(asc_layer *l, asc_layer_cache *cache, asc_tensor x)
{
    const recurrent *layer = l->self;
    asc_tensor u = asc_affine_apply(l, x, layer->u);
    return recur(l, cache, x, asc_after(u, asc_short_conv_run(l, &layer->conv, cache, PAST, u)));
}

static asc_tensor forward(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)aux;     /* it has none */
    (void)lengths; /* no row sees those behind it */
    return run(l, NULL, x);
}

static asc_tensor next(asc_layer *l, asc_layer_cache *cache, asc_tensor x)
{
    return run(l, cache, x);
}

static asc_status inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    (void)lengths;
    const recurrent *layer = l->self;
    asc_tensor r = asc_affine_apply(l, x, layer->r), i = asc_affine_apply(l, x, layer->i);
    asc_add_part(parts, l->ctx, "filter", layer->conv.weight, asc_null());
    asc_add_part(parts, l->ctx, "decay", asc_exp(l->ctx, log_decays(l, r)), asc_null());
    return asc_add_part(parts, l->ctx, "input_gate", asc_sigmoid(l->ctx, i), asc_null());
}

static const char *const outputs[] = {"o.weight", NULL};
static const char *const narrow[] = {"conv.weight", NULL};

static asc_tensor carry(asc_layer *l, asc_layer_cache *held, asc_tensor past, asc_tensor x)
{
    const recurrent *layer = l->self;
    return recur(l, held, x, asc_short_conv_behind(l, &layer->conv, layer->u, past, x));
}

/* The inputs of its convolution; the rest is in the state. */
static int64_t reach(asc_layer *l, int64_t tokens)
{
    (void)tokens;
    return asc_refuse_composed(l, ((const recurrent *)l->self)->composed)
               ? -1
               : ((const values *)l->settings)->width - 1;
}

const asc_mixing asc_mixing_recurrent = {
    .abi = ASC_MIXING_ABI,
    .name = "recurrent",
    .settings = settings,
    .settings_size = sizeof(values),
    .sample = "{\"inner\": 6, \"width\": 3}",
    .size = sizeof(recurrent),
    .check = check,
    .init = init,
    .forward = forward,
    .inspect = inspect,
    .next = next,
    .outputs = outputs,
    .narrow = narrow,
    .carry = carry,
    .reach = reach,
    .carried_states = 1u << STATE,
};
