/* nn/layer.c: a mixing layer alone. */
#include "nn/mixing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

/* ---- making ---- */

static asc_status fill_alone(asc_layer *l, const char *mixing, int64_t d_model, const char *text, asc_dtype dtype,
                             uint64_t seed, const asc_values_source *source)
{
    asc_ctx *ctx = l->ctx;
    const asc_mixing *found = asc_mixing_choose(ctx, "mixing", mixing, false);
    if (!found) {
        return asc_error(ctx);
    }
    if (!asc_is_floating(dtype)) {
        return asc_fail(ctx, ASC_ERR_ARG, "layer_new: dtype is %s, expected f32 or f64", asc_dtype_name(dtype));
    }
    if (d_model < 1) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "d_model", " is %lld, expected at least 1", (long long)d_model);
    }
    asc_reader reader;
    asc_maker maker = {.ctx = ctx, .params = asc_params_new(ctx), .dtype = dtype, .seed = seed, .source = source};
    if (!maker.params) {
        return ASC_ERR_MEMORY;
    }
    if (asc_reader_open(&reader, ctx, text)) {
        asc_error_place(ctx, "config");
        asc_params_free(maker.params);
        return asc_error(ctx);
    }
    asc_status status = asc_layer_init(l, found, d_model, &reader, &maker, (asc_place){0, 1, 0});
    l->params = maker.params;
    status = status ? status : asc_reader_finish(&reader);
    if (!status && !(l->config = asc_reader_text(&reader))) {
        status = asc_error(ctx);
    }
    asc_reader_close(&reader);
    return status;
}

asc_layer *asc_layer_new_from(asc_ctx *ctx, const char *mixing, int64_t d_model, const char *config, asc_dtype dtype,
                              uint64_t seed, const asc_values_source *source)
{
    bool fit = ASC_NEED(ctx, "layer_new: mixing config", mixing, config) == ASC_OK && asc_error(ctx) == ASC_OK;
    asc_layer *l = fit ? asc_alloc(ctx, sizeof *l) : NULL;
    if (!l) {
        return NULL;
    }
    *l = (asc_layer){.ctx = ctx, .alone = true};
    if (fill_alone(l, mixing, d_model, config, dtype, seed, source)) {
        if (asc_error(ctx) == ASC_ERR_ARG && l->mixing) {
            asc_error_place(ctx, "config");
        }
        asc_layer_free(l);
        return NULL;
    }
    return l;
}

asc_layer *asc_layer_new(asc_ctx *ctx, const char *mixing, int64_t d_model, const char *config, asc_dtype dtype,
                         uint64_t seed)
{
    return asc_layer_new_from(ctx, mixing, d_model, config, dtype, seed, NULL);
}

void asc_layer_free(asc_layer *l)
{
    if (l && l->alone) { /* those of a model go with it */
        asc_layer_clear(l);
        asc_params_free(l->params);
        free(l->config);
        asc_free(l->ctx, l, sizeof *l);
    }
}

asc_params *asc_layer_params(asc_layer *l)
{
    return l ? l->params : NULL;
}

const char *asc_layer_config(const asc_layer *l)
{
    return l ? l->config : NULL;
}

/* ---- what a training asks ---- */

void asc_layer_project(asc_layer *l)
{
    if (l && l->mixing->project) {
        l->mixing->project(l);
    }
}

asc_status asc_layer_try_ramp(asc_layer *l, double share, const char *function)
{
    if (!(share <= 1)) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "%s: share is %g, expected at most 1", function, share);
    }
    if (l->mixing->ramp) {
        l->mixing->ramp(l, share);
    }
    return ASC_OK;
}

asc_status asc_layer_ramp(asc_layer *l, double share)
{
    asc_status status = ASC_NEED(l ? l->ctx : NULL, "layer_ramp: layer", l);
    return status ? status : asc_layer_try_ramp(l, share, "layer_ramp");
}

asc_status asc_layer_try_hold(asc_layer *l, const char *name, const double *value, bool *held)
{
    const asc_setting *row = l->mixing->hold ? asc_setting_find(l->mixing->settings, name) : NULL;
    *held = false;
    if (!asc_error(l->ctx) && row && value && !(*value >= row->min && *value <= row->max)) {
        asc_fail(l->ctx, ASC_ERR_ARG, "%s: got %g, expected %g to %g", name, *value, row->min, row->max);
    }
    if (!asc_error(l->ctx)) {
        *held = row && l->mixing->hold(l, name, value);
    }
    return asc_error(l->ctx);
}

const char *asc_layer_guess_held(const asc_layer *l, const char *name)
{
    enum { MOST_NAMES = 64 };
    const char *names[MOST_NAMES + 1] = {NULL};
    int n = 0;
    for (const asc_setting *row = l->mixing->hold ? l->mixing->settings : NULL; row && row->key; row++) {
        if (row->type == ASC_SETTING_REAL && row->flags & ASC_SETTING_PER_HEAD && n < MOST_NAMES) {
            names[n++] = row->key;
        }
    }
    const char *guess = asc_name_guess(name, names);
    return guess && strcmp(guess, name) == 0 ? NULL : guess; /* another variant's */
}

asc_status asc_layer_hold(asc_layer *l, const char *name, const double *value)
{
    bool held;
    asc_status status = ASC_NEED(l ? l->ctx : NULL, "layer_hold: layer name", l, name);
    if (status || (status = asc_error(l->ctx))) {
        return status;
    }
    status = asc_layer_try_hold(l, name, value, &held);
    if (!status && !held) {
        char hint[ASC_NAME_HINT];
        status = asc_fail(l->ctx, ASC_ERR_ARG, "%s has no number '%s' that is trained%s", l->mixing->name, name,
                          asc_name_hint(asc_layer_guess_held(l, name), hint));
    }
    asc_error_place(l->ctx, "layer_hold");
    return status;
}

/* ---- running ---- */

/* Of any mixing: a causal one may pass them over. */
static asc_status check_lengths(asc_layer *l, asc_tensor lengths, int64_t B)
{
    if (asc_is_null(lengths) || asc_need_tensor(l->ctx, lengths, l->mixing->name, "lengths")) {
        return asc_error(l->ctx);
    }
    asc_array a = asc_array_of(lengths);
    if (a.dtype != ASC_I64 || a.ndim != 1 || a.shape[0] != B) {
        char text[ASC_SHAPE_TEXT];
        return asc_fail(l->ctx, ASC_ERR_ARG, "%s: lengths is %s %s, expected i64 (%lld), one length a sequence",
                        l->mixing->name, asc_dtype_name(a.dtype), asc_shape_text(&a, text), (long long)B);
    }
    return asc_error(l->ctx);
}

/* What a function that runs a layer begins with, `names` its name and "layer". */
static asc_status check_input(asc_layer *l, asc_tensor x, asc_tensor lengths, const char *names)
{
    asc_status status = ASC_NEED(l ? l->ctx : asc_ctx_of(x), names, l);
    char function[40], text[ASC_SHAPE_TEXT];
    snprintf(function, sizeof function, "%.*s", (int)strcspn(names, ":"), names);
    status = status ? status : asc_need_tensor(l->ctx, x, function, "x");
    if (status) {
        return status;
    }
    asc_array a = asc_array_of(x);
    if (a.ndim != 3 || a.shape[2] != l->D || a.dtype != l->dtype) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "%s: x is %s %s, expected %s (B, N, %lld)", function,
                        asc_dtype_name(a.dtype), asc_shape_text(&a, text), asc_dtype_name(l->dtype), (long long)l->D);
    }
    return check_lengths(l, lengths, a.shape[0]);
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

asc_status asc_layer_set_bias(asc_layer *l, asc_tensor bias)
{
    asc_status status = ASC_NEED(l ? l->ctx : asc_ctx_of(bias), "layer_set_bias: layer", l);
    if (!status && !asc_is_null(bias) && !l->mixing->takes_bias) {
        status = asc_fail(l->ctx, ASC_ERR_ARG, "layer_set_bias: %s has no scores to add it to", l->mixing->name);
    }
    if (!status) {
        l->bias = bias;
    }
    return status;
}

asc_tensor asc_layer_forward(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    return check_input(l, x, lengths, "layer_forward: layer")
               ? asc_null()
               : asc_layer_run(l, x, lengths, NULL);
}

asc_tensor asc_layer_forward_aux(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    if (aux) {
        *aux = asc_null(); /* after an error, too */
    }
    return check_input(l, x, lengths, "layer_forward_aux: layer")
               ? asc_null()
               : asc_layer_run(l, x, lengths, aux);
}

/* ---- with a context ---- */

static asc_status check_context(asc_layer *l, asc_tensor x, asc_tensor context)
{
    asc_array got = asc_array_of(context);
    char text[ASC_SHAPE_TEXT];
    if (!l->mixing->takes_context) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "layer_cross: %s has no cross-attention", l->mixing->name);
    }
    if (asc_need_tensor(l->ctx, context, "layer_cross", "context")) {
        return asc_error(l->ctx);
    }
    if (got.ndim != 3 || got.shape[0] != asc_size(x, 0) || got.shape[2] != l->D || got.dtype != l->dtype) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "layer_cross: context is %s %s, expected %s (%lld, M, %lld)",
                        asc_dtype_name(got.dtype), asc_shape_text(&got, text), asc_dtype_name(l->dtype),
                        (long long)asc_size(x, 0), (long long)l->D);
    }
    return ASC_OK;
}

asc_tensor asc_layer_cross(asc_layer *l, asc_tensor x, asc_tensor context, asc_tensor lengths)
{
    if (check_input(l, x, lengths, "layer_cross: layer") || check_context(l, x, context)) {
        return asc_null();
    }
    l->context = context;
    asc_tensor y = asc_layer_run(l, x, lengths, NULL);
    l->context = asc_null();
    return y;
}

/* ---- looking inside ---- */

asc_status asc_layer_inspect_cross(asc_layer *l, asc_tensor x, asc_tensor context, asc_tensor lengths,
                                   asc_params *parts)
{
    asc_status status = check_input(l, x, lengths, "layer_inspect_cross: layer");
    if (status || (status = ASC_NEED(l->ctx, "layer_inspect_cross: parts", parts)) ||
        (status = check_context(l, x, context))) {
        return status;
    }
    l->context = context;
    status = asc_layer_inspect(l, x, lengths, parts);
    l->context = asc_null();
    return status;
}

asc_status asc_layer_inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    asc_status status = check_input(l, x, lengths, "layer_inspect: layer");
    if (status || (status = ASC_NEED(l->ctx, "layer_inspect: parts", parts))) {
        return status;
    }
    bool recording = asc_set_recording(l->ctx, false);
    asc_scope_begin(l->ctx);
    asc_layer_show(l, x, lengths, parts);
    asc_scope_end(l->ctx);
    asc_set_recording(l->ctx, recording);
    return asc_error(l->ctx);
}
