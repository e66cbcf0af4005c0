/* nn/module.c: modules: what has parameters and makes a tensor of a tensor, and what is made of such. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ascgrad/module.h>
#include <ascgrad/ops.h>

#include "nn/mixing.h"
#include "tensor/ctx.h"
#include "tensor/locale.h"
#include "tensor/need.h"

typedef enum kind { LINEAR, EMBEDDING, LAYER_NORM, DROPOUT, FUNCTION, FEED_FORWARD, MIXING, RESIDUAL, SEQUENTIAL } kind;

struct asc_module {
    asc_ctx *ctx;
    kind kind;
    asc_params *params;
    asc_affine a, b; /* weight and bias; b is the second of a feed-forward */
    asc_layer *mixing;
    double p;
    bool evaluates;
    asc_module_fn *function;
    asc_module **part;
    int parts;
};

/* ---- making ---- */

static asc_module *module_new(asc_ctx *ctx, kind kind)
{
    if (!ctx || asc_error(ctx)) {
        return NULL;
    }
    asc_module *m = asc_alloc(ctx, sizeof *m);
    if (m) {
        *m = (asc_module){.ctx = ctx, .kind = kind, .params = asc_params_new(ctx)};
    }
    return m;
}

void asc_module_free(asc_module *m)
{
    if (!m) {
        return;
    }
    for (int i = 0; i < m->parts; i++) {
        asc_module_free(m->part[i]);
    }
    asc_free(m->ctx, m->part, (size_t)m->parts * sizeof *m->part);
    asc_layer_free(m->mixing);
    asc_params_free(m->params);
    asc_free(m->ctx, m, sizeof *m);
}

/* The module, or NULL after it was freed if something of it failed. */
static asc_module *whole(asc_module *m)
{
    if (m && asc_error(m->ctx)) {
        asc_module_free(m);
        return NULL;
    }
    return m;
}

/* A maker whose values depend on the context's seed and on how many modules drew theirs before. */
static asc_maker maker_of(asc_module *m, asc_dtype dtype)
{
    return (asc_maker){.ctx = m->ctx, .params = m->params, .dtype = dtype, .seed = asc_next_seed(m->ctx)};
}

/* A new module of parameters of that dtype, after a look at its sizes. */
static asc_module *sized(asc_ctx *ctx, kind kind, const char *function, asc_dtype dtype, const char *const *names,
                         const int64_t *sizes, int n)
{
    if (!ctx || asc_error(ctx)) {
        return NULL;
    }
    if (!asc_is_floating(dtype)) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: dtype is %s, expected f32 or f64", function, asc_dtype_name(dtype));
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        if (sizes[i] < 1) {
            asc_fail(ctx, ASC_ERR_ARG, "%s: %s is %lld, expected at least 1", function, names[i], (long long)sizes[i]);
            return NULL;
        }
    }
    return module_new(ctx, kind);
}
#define SIZED(kind, function, dtype, first, second, ...)                                                               \
    sized(ctx, kind, function, dtype, (const char *const[]){first, second}, (const int64_t[]){__VA_ARGS__},            \
          (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

asc_module *asc_module_linear(asc_ctx *ctx, asc_dtype dtype, int64_t in, int64_t out)
{
    asc_module *m = SIZED(LINEAR, "module_linear", dtype, "in", "out", in, out);
    if (m && m->params) {
        asc_maker maker = maker_of(m, dtype);
        m->a.weight = asc_make_param(&maker, "weight", ASC_INIT_LINEAR, ASC_SHAPE(out, in));
        m->a.bias = asc_make_param(&maker, "bias", ASC_INIT_ZERO, ASC_SHAPE(out));
    }
    return whole(m);
}

asc_module *asc_module_embedding(asc_ctx *ctx, asc_dtype dtype, int64_t rows, int64_t width)
{
    asc_module *m = SIZED(EMBEDDING, "module_embedding", dtype, "rows", "width", rows, width);
    if (m && m->params) {
        asc_maker maker = maker_of(m, dtype);
        m->a.weight = asc_make_param(&maker, "weight", ASC_INIT_EMBEDDING, ASC_SHAPE(rows, width));
    }
    return whole(m);
}

asc_module *asc_module_layer_norm(asc_ctx *ctx, asc_dtype dtype, int64_t width)
{
    asc_module *m = SIZED(LAYER_NORM, "module_layer_norm", dtype, "width", NULL, width);
    if (m && m->params) {
        asc_maker maker = maker_of(m, dtype);
        m->a.weight = asc_make_param(&maker, "weight", ASC_INIT_ONE, ASC_SHAPE(width));
        m->a.bias = asc_make_param(&maker, "bias", ASC_INIT_ZERO, ASC_SHAPE(width));
    }
    return whole(m);
}

asc_module *asc_module_feed_forward(asc_ctx *ctx, asc_dtype dtype, int64_t width, int64_t inner)
{
    asc_module *m = SIZED(FEED_FORWARD, "module_feed_forward", dtype, "width", "inner", width, inner);
    if (m && m->params) {
        asc_maker maker = maker_of(m, dtype);
        m->a = asc_make_linear(&maker, "fc1", width, inner);
        m->b = asc_make_linear(&maker, "fc2", inner, width);
    }
    return whole(m);
}

asc_module *asc_module_mixing(asc_ctx *ctx, asc_dtype dtype, const char *mixing, int64_t width, const char *config)
{
    if (ASC_NEED(ctx, "module_mixing: mixing config", mixing, config)) {
        return NULL;
    }
    asc_layer *layer = asc_layer_new(ctx, mixing, width, config, dtype, asc_next_seed(ctx));
    asc_module *m = layer ? module_new(ctx, MIXING) : NULL;
    if (!m) {
        asc_layer_free(layer);
        return NULL;
    }
    m->mixing = layer;
    asc_params_extend(m->params, "", asc_layer_params(layer));
    return whole(m);
}

asc_module *asc_module_attention(asc_ctx *ctx, asc_dtype dtype, int64_t width, const asc_attention_options *options)
{
    if (ASC_NEED(ctx, "module_attention: options", options)) {
        return NULL;
    }
    if (!isfinite(options->cap)) {
        asc_fail(ctx, ASC_ERR_ARG, "module_attention: cap is %g, expected a number", options->cap);
        return NULL;
    }
    char config[300];
    asc_snprintf(config, sizeof config,
                 "{\"heads\":%lld,\"mask\":\"%s\",\"window\":%lld,\"globals\":%lld,\"random\":%lld,"
                 "\"positions\":\"%s\",\"attn_cap\":%.17g}",
                 (long long)options->heads, options->causal ? "causal" : "full", (long long)options->window,
                 (long long)options->globals, (long long)options->random, options->alibi ? "alibi" : "none",
                 options->cap);
    return asc_module_mixing(ctx, dtype, "transformer", width, config);
}

asc_module *asc_module_dropout(asc_ctx *ctx, double p)
{
    if (ctx && !asc_error(ctx) && !(p >= 0 && p < 1)) {
        asc_fail(ctx, ASC_ERR_ARG, "module_dropout: p is %g, expected at least 0 and less than 1", p);
    }
    asc_module *m = module_new(ctx, DROPOUT);
    if (m) {
        m->p = p;
    }
    return whole(m);
}

asc_module *asc_module_function(asc_ctx *ctx, asc_module_fn *function)
{
    if (ASC_NEED(ctx, "module_function: function", (const void *)(uintptr_t)function)) {
        return NULL;
    }
    asc_module *m = module_new(ctx, FUNCTION);
    if (m) {
        m->function = function;
    }
    return whole(m);
}

/* ---- modules of modules ---- */

/* The parts go, whatever becomes of the module. */
static asc_module *compose(asc_ctx *ctx, kind kind, int n, asc_module *const *parts, const char *prefix)
{
    asc_module *m = module_new(ctx, kind);
    if (m) {
        m->part = asc_alloc(ctx, (size_t)n * sizeof *m->part);
        m->parts = m->part ? n : 0;
    }
    for (int i = 0; i < n; i++) {
        if (!m || !m->part) {
            asc_module_free(parts[i]);
            continue;
        }
        char name[32];
        snprintf(name, sizeof name, prefix, i);
        m->part[i] = parts[i];
        asc_params_extend(m->params, name, parts[i]->params);
    }
    return whole(m);
}

static asc_status check_parts(asc_ctx *ctx, const char *function, int n, asc_module *const *parts)
{
    for (int i = 0; i < n && !asc_error(ctx); i++) {
        if (!parts[i]) {
            asc_fail(ctx, ASC_ERR_ARG, "%s: modules[%d] is NULL", function, i);
        }
        for (int j = 0; parts[i] && j < i; j++) {
            if (parts[j] == parts[i]) {
                return asc_fail(ctx, ASC_ERR_ARG, "%s: modules[%d] is modules[%d], and would be freed twice", function,
                                i, j);
            }
        }
    }
    return asc_error(ctx);
}

static void free_parts(int n, asc_module *const *parts)
{
    for (int i = 0; i < n; i++) {
        bool again = false;
        for (int j = 0; j < i; j++) {
            again = again || parts[j] == parts[i];
        }
        if (!again) {
            asc_module_free(parts[i]);
        }
    }
}

asc_module *asc_module_sequential(asc_ctx *ctx, int n, asc_module *const *modules)
{
    asc_status status = ASC_NEED(ctx, "module_sequential: modules", modules);
    if (!status && n < 1) {
        status = asc_fail(ctx, ASC_ERR_ARG, "module_sequential: n is %d, expected at least 1", n);
    }
    status = status ? status : check_parts(ctx, "module_sequential", n, modules);
    if (status) {
        free_parts(modules ? n : 0, modules);
        return NULL;
    }
    return compose(ctx, SEQUENTIAL, n, modules, "%d.");
}

asc_module *asc_module_residual(asc_ctx *ctx, asc_module *inner)
{
    if (ASC_NEED(ctx, "module_residual: inner", inner)) {
        asc_module_free(inner);
        return NULL;
    }
    return compose(ctx, RESIDUAL, 1, &inner, "");
}

/* ---- running ---- */

asc_params *asc_module_params(asc_module *m)
{
    return m ? m->params : NULL;
}

void asc_module_train(asc_module *m, bool train)
{
    for (int i = 0; m && i < m->parts; i++) {
        asc_module_train(m->part[i], train);
    }
    if (m) {
        m->evaluates = !train;
    }
}

/* A state of the module that goes as soon as the next one stands. */
static asc_tensor step(asc_module *m, asc_tensor x, asc_tensor given)
{
    asc_tensor y = asc_module_forward(m, x);
    if (!asc_is_same(x, given) && !asc_is_same(y, x)) {
        asc_disown(x); /* a function may have kept it */
    }
    return y;
}

static asc_tensor run_parts(asc_module *m, asc_tensor x)
{
    asc_tensor y = x;
    for (int i = 0; i < m->parts; i++) {
        y = step(m->part[i], y, x);
    }
    return y;
}

/* Where the parameters would not fit x, it is x that is wrong, though the op says so of them. */
static asc_status check_input(const asc_module *m, const char *function, asc_tensor x)
{
    asc_array a = asc_array_of(x);
    asc_dtype dtype = asc_dtype_of(m->a.weight);
    int64_t width = asc_size(m->a.weight, -1);
    if (a.dtype == dtype && a.ndim > 0 && a.shape[a.ndim - 1] == width) {
        return ASC_OK;
    }
    char got[ASC_SHAPE_TEXT];
    return asc_fail(m->ctx, ASC_ERR_ARG, "%s: x is %s %s, expected %s (..., %lld)", function, asc_dtype_name(a.dtype),
                    asc_shape_text(&a, got), asc_dtype_name(dtype), (long long)width);
}

static asc_tensor linear(asc_module *m, asc_tensor x)
{
    return check_input(m, "module_linear", x) ? asc_null() : asc_linear(m->ctx, x, m->a.weight, m->a.bias);
}

static asc_tensor layer_norm(asc_module *m, asc_tensor x)
{
    return check_input(m, "module_layer_norm", x) ? asc_null()
                                                  : asc_layer_norm(m->ctx, x, m->a.weight, m->a.bias, 1e-5);
}

static asc_tensor feed_forward(asc_module *m, asc_tensor x)
{
    if (check_input(m, "module_feed_forward", x)) {
        return asc_null();
    }
    asc_tensor inner = asc_linear(m->ctx, x, m->a.weight, m->a.bias);
    return asc_after(inner, asc_gelu_linear(m->ctx, inner, m->b.weight, m->b.bias));
}

static asc_tensor residual(asc_module *m, asc_tensor x)
{
    asc_tensor branch = asc_module_forward(m->part[0], x);
    asc_tensor y = asc_add(m->ctx, x, branch);
    if (!asc_is_same(branch, x)) {
        asc_disown(branch);
    }
    return y;
}

/* A user's function: what it gives is the module's, like what an op gives; of what it holds itself that is a view. */
static asc_tensor call(asc_module *m, asc_tensor x)
{
    asc_own begun = asc_own_begin(m->ctx);
    asc_tensor y = m->function(m->ctx, x);
    asc_own_balance(m->ctx, begun, "module_forward");
    if (!asc_is_valid(y) && !asc_error(m->ctx)) {
        asc_fail(m->ctx, ASC_ERR_ARG, "module_forward: its function gave no tensor, and no error");
    }
    y = asc_is_same(y, x) || asc_error(m->ctx) ? y : asc_made_own(m->ctx, y);
    asc_own_end(m->ctx, begun);
    return asc_is_valid(y) ? y : asc_null();
}

asc_tensor asc_module_forward(asc_module *m, asc_tensor x)
{
    asc_ctx *ctx = m ? m->ctx : asc_ctx_of(x);
    if (ASC_NEED(ctx, "module_forward: module", m) || asc_need_tensor(ctx, x, "module_forward", "x")) {
        return asc_null();
    }
    switch (m->kind) {
    case LINEAR: return linear(m, x);
    case EMBEDDING: return asc_embedding(ctx, m->a.weight, x);
    case LAYER_NORM: return layer_norm(m, x);
    case DROPOUT: return m->evaluates ? x : asc_dropout(ctx, x, m->p);
    case FUNCTION: return call(m, x);
    case FEED_FORWARD: return feed_forward(m, x);
    case MIXING: return asc_layer_forward(m->mixing, x, asc_null());
    case RESIDUAL: return residual(m, x);
    case SEQUENTIAL: return run_parts(m, x);
    }
    return asc_null();
}
