/* nn/conv.c: gated short convolution: y = W_o (g(x) ⊙ c) + b_o, c_t = Σ_w conv_w ⊙ u(x)_{t-W+1+w} + b_conv, with
 * u and g linear: what hybrids take for the nearest tokens. A stream keeps W - 1 vectors. */
#include <ascgrad/ops.h>

#include "nn/inspect/scores.h"
#include "nn/mixing.h"
#include "nn/short_conv.h"

typedef struct conv {
    asc_affine u, g, o;
    asc_short_conv conv;
} conv;

enum { PAST };

typedef struct values {
    int64_t inner, width;
    int mask;
} values;

#define AT(field) offsetof(values, field)

static const asc_setting settings[] = {
    ASC_SHORT_CONV_SETTINGS(AT),
    {0},
};

static asc_status check(asc_layer *l)
{
    values *v = l->settings;
    v->inner = asc_layer_given(l, "inner") ? v->inner : l->D;
    return asc_short_conv_check(l, v->mask);
}

static asc_status init(asc_layer *l, asc_maker *maker)
{
    const values *v = l->settings;
    conv *c = l->self;
    c->u = asc_make_linear(maker, "u", l->D, v->inner);
    c->g = asc_make_linear(maker, "g", l->D, v->inner);
    c->conv = asc_make_short_conv(maker, v->inner, v->width);
    c->o = asc_make_linear(maker, "o", v->inner, l->D);
    return asc_error(l->ctx);
}

/* W_o (g(x) ⊙ c) + b_o; c goes. */
static asc_tensor gate(asc_layer *l, asc_tensor x, asc_tensor c)
{
    const conv *layer = l->self;
    asc_tensor g = asc_affine_apply(l, x, layer->g), gated = asc_mul(l->ctx, g, c);
    asc_release(c);
    asc_release(g);
    return asc_after(gated, asc_affine_apply(l, gated, layer->o));
}

static asc_tensor run(asc_layer *l, asc_layer_cache *cache, asc_tensor x)
{
    const conv *layer = l->self;
    asc_tensor u = asc_affine_apply(l, x, layer->u);
    return gate(l, x, asc_after(u, asc_short_conv_run(l, &layer->conv, cache, PAST, u)));
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
    (void)x;
    (void)lengths;
    return asc_add_part(parts, l->ctx, "filter", ((const conv *)l->self)->conv.weight, asc_null());
}

static const char *const outputs[] = {"o.weight", NULL};
static const char *const narrow[] = {"conv.weight", NULL};

static asc_tensor carry(asc_layer *l, asc_layer_cache *held, asc_tensor past, asc_tensor x)
{
    (void)held; /* it has no state but inputs */
    const conv *layer = l->self;
    return gate(l, x, asc_short_conv_behind(l, &layer->conv, layer->u, past, x));
}

/* Its own last inputs, however many are carried. */
static int64_t reach(asc_layer *l, int64_t tokens)
{
    (void)tokens;
    return ((const values *)l->settings)->width - 1;
}

const asc_mixing asc_mixing_conv = {
    .abi = ASC_MIXING_ABI,
    .name = "conv",
    .settings = settings,
    .settings_size = sizeof(values),
    .sample = "{\"inner\": 6, \"width\": 3}",
    .size = sizeof(conv),
    .check = check,
    .init = init,
    .forward = forward,
    .inspect = inspect,
    .next = next,
    .outputs = outputs,
    .narrow = narrow,
    .carry = carry,
    .reach = reach,
};
