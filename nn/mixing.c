/* nn/mixing.c: the table of mixings, parameters, and a layer alone. */
#include "nn/mixing.h"

#include <ascgrad/ops.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

extern const asc_mixing asc_mixing_ascender, asc_mixing_grassmann, asc_mixing_transformer;

static const asc_mixing *const mixings[] = {&asc_mixing_transformer, &asc_mixing_grassmann, &asc_mixing_ascender};
const char *const asc_mixing_names[] = {"transformer", "grassmann", "ascender", NULL};

const asc_mixing *asc_mixing_of(int i)
{
    return i >= 0 && i < (int)(sizeof mixings / sizeof *mixings) ? mixings[i] : NULL;
}

const char *asc_mixing_at(int i)
{
    const asc_mixing *m = asc_mixing_of(i);
    return m ? m->name : NULL;
}

bool asc_mixing_takes(const char *mixing, const char *key)
{
    for (int i = 0; mixing && key && asc_mixing_of(i); i++) {
        const asc_setting *s = asc_mixing_of(i)->settings;
        for (; strcmp(asc_mixing_of(i)->name, mixing) == 0 && s->key; s++) {
            if (strcmp(s->key, key) == 0) {
                return true;
            }
        }
    }
    return false;
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

/* Adds a new tensor, which the list holds from here on; null on failure. */
static asc_tensor add(asc_maker *m, const char *name, asc_tensor t, bool decay)
{
    if (asc_is_null(t) || asc_require_grad(t, true) || asc_params_add(m->params, name, t, decay)) {
        asc_release(t);
        return asc_null();
    }
    asc_disown(t);
    return t;
}

static asc_status check_memory(asc_maker *m, const char *name, int ndim, const int64_t *shape)
{
    double bytes = (double)asc_dtype_size(m->dtype);
    for (int i = 0; i < ndim; i++) {
        bytes *= (double)shape[i];
    }
    m->bytes += bytes;
    char what[200];
    snprintf(what, sizeof what, "the parameters up to %s take", name);
    return asc_memory_check(m->ctx, what, m->bytes);
}

asc_tensor asc_make_param(asc_maker *m, const char *name, asc_init init, int ndim, const int64_t *shape)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", m->prefix, name);
    if (asc_error(m->ctx) || check_memory(m, full, ndim, shape)) {
        return asc_null();
    }
    asc_tensor t = asc_null();
    if (init == ASC_INIT_LINEAR) {
        double bound = 1 / sqrt((double)shape[ndim - 1]);
        t = asc_uniform(m->ctx, m->dtype, -bound, bound, m->seed, stream_of(full), ndim, shape);
    } else if (init == ASC_INIT_EMBEDDING) {
        t = asc_normal(m->ctx, m->dtype, 0, .02, m->seed, stream_of(full), ndim, shape);
    } else {
        t = asc_full(m->ctx, m->dtype, init == ASC_INIT_ONE, ndim, shape);
    }
    return add(m, full, t, init == ASC_INIT_LINEAR || init == ASC_INIT_EMBEDDING);
}

asc_tensor asc_make_values(asc_maker *m, const char *name, int64_t n, const double *values)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", m->prefix, name);
    asc_tensor t = asc_empty(m->ctx, m->dtype, 1, &n), given = asc_from(m->ctx, ASC_F64, values, 1, &n);
    asc_copy(m->ctx, t, given);
    asc_release(given);
    return add(m, full, t, false);
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
        if (l->mixing->clear) {
            l->mixing->clear(l);
        }
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
    asc_layer *l = ASC_NEED(ctx, "layer_new: mixing config", mixing, config) ? NULL : asc_alloc(ctx, sizeof *l);
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
    return l ? l->params : NULL;
}

/* ---- what a cache holds ---- */

asc_status asc_cache_make(asc_layer *l, asc_layer_cache *c, int which, int64_t width, int64_t capacity)
{
    asc_tensor t = asc_empty(l->ctx, l->dtype, ASC_SHAPE(1, capacity, width));
    c->state[which] = asc_keep(t);
    asc_disown(t);
    return asc_error(l->ctx);
}

asc_tensor asc_cache_append(asc_layer *l, const asc_layer_cache *c, int which, asc_tensor rows)
{
    if (asc_is_null(rows)) {
        return rows;
    }
    size_t row = (size_t)asc_size(rows, 2) * asc_dtype_size(l->dtype);
    int64_t n = asc_size(rows, 1);
    char *held = asc_data_mut(c->state[which]);
    memcpy(held + (size_t)c->length * row, asc_data(rows), (size_t)n * row);
    asc_release(rows);
    return asc_slice(l->ctx, c->state[which], 1, 0, c->length + n, 1);
}

/* ---- running ---- */

/* What a function that runs a layer begins with, `names` its name and "layer". */
static asc_status check_input(asc_layer *l, asc_tensor x, const char *names)
{
    asc_status status = ASC_NEED(l ? l->ctx : asc_ctx_of(x), names, l);
    if (status) {
        return status;
    }
    if (asc_ndim(x) != 3 || asc_size(x, 2) != l->D) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "layer: x has %d dimensions and width %lld, expected (B, N, %lld)",
                        asc_ndim(x), (long long)asc_size(x, -1), (long long)l->D);
    }
    return asc_error(l->ctx);
}

asc_status asc_layer_restrict(asc_layer *l, asc_tensor mask, asc_tensor neighbors)
{
    asc_ctx *ctx = l ? l->ctx : asc_ctx_of(asc_is_null(mask) ? neighbors : mask);
    asc_status status = ASC_NEED(ctx, "layer_restrict: layer", l);
    if (status) {
        return status;
    }
    if ((!asc_is_null(mask) && !l->mixing->takes_mask) || (!asc_is_null(neighbors) && !l->mixing->takes_neighbors)) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "layer_restrict: %s has no %s", l->mixing->name,
                        l->mixing->takes_mask ? "neighbours" : "mask");
    }
    l->mask = mask;
    l->neighbors = neighbors;
    return ASC_OK;
}

asc_tensor asc_layer_forward(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    return check_input(l, x, "layer_forward: layer") ? asc_null() : l->mixing->forward(l, x, lengths, NULL);
}

asc_tensor asc_layer_forward_aux(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    if (aux) {
        *aux = asc_null();
    }
    return check_input(l, x, "layer_forward_aux: layer") ? asc_null() : l->mixing->forward(l, x, lengths, aux);
}

asc_status asc_layer_inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    asc_status status = check_input(l, x, "layer_inspect: layer");
    if (status || (status = ASC_NEED(l->ctx, "layer_inspect: parts", parts))) {
        return status;
    }
    bool recording = asc_set_recording(l->ctx, false);
    l->mixing->inspect(l, x, lengths, parts);
    asc_set_recording(l->ctx, recording);
    return asc_error(l->ctx);
}
