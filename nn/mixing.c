/* nn/mixing.c: the table of mixings, parameters, and a layer alone. */
#include "nn/mixing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"

extern const asc_mixing asc_mixing_transformer;

static const asc_mixing *const mixings[] = {&asc_mixing_transformer};
const char *const asc_mixing_names[] = {"transformer", NULL};

const asc_mixing *asc_mixing_of(int i)
{
    return i >= 0 && i < (int)(sizeof mixings / sizeof *mixings) ? mixings[i] : NULL;
}

const char *asc_mixing_at(int i)
{
    const asc_mixing *m = asc_mixing_of(i);
    return m ? m->name : NULL;
}

/* ---- parameters ---- */

/* A stream of its own for each name (FNV-1a), so that a parameter's initial value does not depend on the others. */
static uint64_t stream_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    }
    return hash;
}

asc_tensor asc_make_param(asc_maker *m, const char *name, asc_init init, int ndim, const int64_t *shape)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", m->prefix, name);
    asc_tensor t = asc_null();
    if (init == ASC_INIT_LINEAR) {
        double bound = 1 / sqrt((double)shape[ndim - 1]);
        t = asc_uniform(m->ctx, m->dtype, -bound, bound, m->seed, stream_of(full), ndim, shape);
    } else if (init == ASC_INIT_EMBEDDING) {
        t = asc_normal(m->ctx, m->dtype, 0, .02, m->seed, stream_of(full), ndim, shape);
    } else {
        t = asc_full(m->ctx, m->dtype, init == ASC_INIT_ONE, ndim, shape);
    }
    bool decay = init == ASC_INIT_LINEAR || init == ASC_INIT_EMBEDDING;
    if (asc_is_null(t) || asc_require_grad(t, true) || asc_params_add(m->params, full, t, decay)) {
        asc_release(t);
        return asc_null();
    }
    asc_disown(t); /* the list holds it */
    return t;
}

asc_affine asc_make_linear(asc_maker *m, const char *name, int64_t in, int64_t out)
{
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    return (asc_affine){asc_make_param(m, weight, ASC_INIT_LINEAR, 2, (int64_t[]){out, in}),
                        asc_make_param(m, bias, ASC_INIT_ZERO, 1, &out)};
}

asc_affine asc_make_norm(asc_maker *m, const char *name, int64_t width)
{
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    return (asc_affine){asc_make_param(m, weight, ASC_INIT_ONE, 1, &width),
                        asc_make_param(m, bias, ASC_INIT_ZERO, 1, &width)};
}

/* ---- layers ---- */

asc_status asc_layer_init(asc_layer *l, const asc_mixing *mixing, int64_t D, asc_config *config, asc_maker *maker,
                          int layer, int layers)
{
    asc_ctx *ctx = maker->ctx;
    *l = (asc_layer){.ctx = ctx, .mixing = mixing, .D = D, .dtype = maker->dtype, .self = asc_alloc(ctx, mixing->size)};
    if (!l->self) {
        return ASC_ERR_MEMORY;
    }
    memset(l->self, 0, mixing->size);
    asc_status status = mixing->init(l, config, maker, layer, layers);
    return status ? status : asc_error(ctx);
}

void asc_layer_clear(asc_layer *l)
{
    if (l->self) {
        asc_free(l->ctx, l->self, l->mixing->size);
        l->self = NULL;
    }
}

static asc_status fill_alone(asc_layer *l, asc_ctx *ctx, const char *mixing, int64_t d_model, const char *text,
                             asc_dtype dtype, uint64_t seed)
{
    int index = 0;
    while (asc_mixing_names[index] && strcmp(asc_mixing_names[index], mixing) != 0) {
        index++;
    }
    if (!asc_mixing_names[index] || d_model < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "layer: mixing '%s' on width %lld: there is no such one", mixing,
                        (long long)d_model);
    }
    asc_config config;
    asc_maker maker = {.ctx = ctx, .params = asc_params_new(ctx), .dtype = dtype, .seed = seed};
    if (!maker.params) {
        return ASC_ERR_MEMORY;
    }
    if (asc_config_parse(ctx, text, &config)) {
        asc_params_free(maker.params);
        return asc_error(ctx);
    }
    asc_status status = asc_layer_init(l, asc_mixing_of(index), d_model, &config, &maker, 0, 1);
    l->params = maker.params;
    status = status ? status : asc_config_finish(&config);
    asc_config_free(&config);
    return status;
}

asc_layer *asc_layer_new(asc_ctx *ctx, const char *mixing, int64_t d_model, const char *config, asc_dtype dtype,
                         uint64_t seed)
{
    asc_layer *l = asc_alloc(ctx, sizeof *l);
    if (!l) {
        return NULL;
    }
    *l = (asc_layer){.ctx = ctx};
    if (fill_alone(l, ctx, mixing, d_model, config, dtype, seed)) {
        asc_layer_free(l);
        return NULL;
    }
    return l;
}

void asc_layer_free(asc_layer *l)
{
    if (l) {
        asc_layer_clear(l);
        asc_params_free(l->params);
        asc_free(l->ctx, l, sizeof *l);
    }
}

asc_params *asc_layer_params(asc_layer *l)
{
    return l->params;
}

asc_tensor asc_layer_forward(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    if (asc_ndim(x) != 3 || asc_size(x, 2) != l->D) {
        asc_fail(l->ctx, ASC_ERR_ARG, "layer: x has %d dimensions and width %lld, expected (B, N, %lld)", asc_ndim(x),
                 (long long)asc_size(x, -1), (long long)l->D);
        return asc_null();
    }
    return l->mixing->forward(l, x, lengths);
}
