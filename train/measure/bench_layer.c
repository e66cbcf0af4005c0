/* train/measure/bench_layer.c: the speed and memory of one mixing layer alone, on random numbers. */
#include <string.h>

#include <ascgrad/mixing.h>

#include "stats/stats.h"
#include "tensor/need.h"
#include "train/measure/bench.h"
#include "train/trainer.h"

/* ---- the layer ---- */

/* The mixing's settings: what it knows, and whatever else was asked for by name, so that the layer can refuse it. */
static char *describe(const asc_settings *s, const char *mixing)
{
    json_t *config = json_object(), *value;
    const char *key;
    json_object_foreach(s->model, key, value) {
        bool model = strcmp(key, "mix") == 0 || strcmp(key, "d_model") == 0;
        if (!model && (asc_mixing_takes(s->ctx, mixing, key) || !json_object_get(s->optional, key))) {
            json_object_set(config, key, value);
        }
    }
    const asc_mixing *m = asc_mixing_find(s->ctx, mixing);
    for (const asc_setting *row = m ? m->settings : NULL; row && row->key; row++) {
        if (row->flags & ASC_SETTING_REQUIRED && (value = asc_bench_setting(s, row->key))) {
            json_object_set_new(config, row->key, value);
        }
    }
    char *text = json_dumps(config, JSON_COMPACT);
    json_decref(config);
    return text;
}

/* A layer has no steps: of a training's settings it has a batch and a precision. */
static asc_status check_training(const asc_settings *s)
{
    for (const asc_setting *row = asc_train_settings; row->key; row++) {
        bool taken = strcmp(row->key, "batch") == 0 || strcmp(row->key, "precision") == 0;
        if (!taken && s->from[row - asc_train_settings] == ASC_SOURCE_HAND) {
            return asc_fail_on(s->ctx, ASC_ERR_ARG, row->key, ": a layer alone has no use for it, expected none");
        }
    }
    return ASC_OK;
}

static asc_layer *make_layer(asc_ctx *ctx, const asc_settings *s, int64_t d_model)
{
    json_t *mix = asc_bench_setting(s, "mix");
    const char *mixing = json_string_value(mix);
    char *config = mixing ? describe(s, mixing) : NULL;
    asc_layer *layer = config ? asc_layer_new(ctx, mixing, d_model, config, ASC_F32, 1) : NULL;
    if (!config) {
        mixing ? asc_fail(ctx, ASC_ERR_MEMORY, "bench_layer: out of memory")
               : asc_fail_on(ctx, ASC_ERR_ARG, "mix", ": got a list, expected one mixing");
    }
    asc_text_drop(config);
    json_decref(mix);
    return layer;
}

/* ---- runs ---- */

/* A layer with what goes into it and what comes back. */
typedef struct bench {
    asc_ctx *ctx;
    asc_layer *layer;
    asc_tensor x, dy;   /* (batch, length, D); x has a gradient, as inside of a model */
    asc_tensor context; /* (batch, context, D), or null */
} bench;

static asc_status run_once(const bench *b)
{
    asc_params_zero_grad(asc_layer_params(b->layer));
    asc_zero_grad(b->x);
    asc_zero_grad(b->context);
    asc_scope_begin(b->ctx);
    asc_tensor y = asc_is_null(b->context) ? asc_layer_forward(b->layer, b->x, asc_null())
                                           : asc_layer_cross(b->layer, b->x, b->context, asc_null());
    asc_backward(b->ctx, y, b->dy, false);
    asc_scope_end(b->ctx);
    return asc_error(b->ctx);
}

static asc_status time_runs(const bench *b, int64_t steps, double *times)
{
    if (run_once(b)) { /* the first one takes the memory */
        return asc_error(b->ctx);
    }
    for (int64_t i = 0; i < steps; i++) {
        double start = asc_clock();
        if (run_once(b)) {
            return asc_error(b->ctx);
        }
        times[i] = asc_clock() - start;
    }
    return ASC_OK;
}

/* `context`: its tokens; 0: none. */
static asc_status measure(asc_ctx *ctx, const asc_settings *settings, int64_t length, int64_t context, int64_t steps,
                          asc_bench_layer_result *result)
{
    if (asc_error(ctx)) {
        return asc_error(ctx); /* of what made the settings */
    }
    if (length < 1 || steps < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "bench_layer: length and steps must be >= 1");
    }
    if (asc_settings_set_precision(settings)) {
        return asc_error(ctx);
    }
    int64_t batch = settings->values.batch, d_model = asc_bench_whole(settings, "d_model");
    bench b = {.ctx = ctx, .layer = check_training(settings) ? NULL : make_layer(ctx, settings, d_model)};
    size_t bytes = (size_t)steps * sizeof(double);
    double *times = b.layer ? asc_alloc(ctx, bytes) : NULL;
    asc_scope_begin(ctx);
    if (times) {
        b.x = asc_normal(ctx, ASC_F32, 0, 1, 1, 1, ASC_SHAPE(batch, length, d_model));
        b.dy = asc_normal(ctx, ASC_F32, 0, 1, 1, 2, ASC_SHAPE(batch, length, d_model));
        asc_require_grad(b.x, true);
    }
    if (times && context > 0) {
        b.context = asc_normal(ctx, ASC_F32, 0, 1, 1, 3, ASC_SHAPE(batch, context, d_model));
        asc_require_grad(b.context, true);
    }
    if (times && asc_error(ctx) == ASC_OK && time_runs(&b, steps, times) == ASC_OK) {
        *result = (asc_bench_layer_result){asc_median(times, steps) * 1e3, asc_memory(ctx).peak_bytes,
                                           batch * length};
    }
    asc_scope_end(ctx);
    asc_free(ctx, times, bytes);
    asc_layer_free(b.layer);
    return asc_error(ctx);
}

asc_status asc_bench_layer(asc_ctx *ctx, const asc_settings *settings, int64_t length, int64_t steps,
                           asc_bench_layer_result *result)
{
    asc_status status = ASC_NEED(ctx, "bench_layer: settings result", settings, result);
    return status ? status : measure(ctx, settings, length, 0, steps, result);
}

asc_status asc_bench_layer_cross(asc_ctx *ctx, const asc_settings *settings, int64_t length, int64_t context,
                                 int64_t steps, asc_bench_layer_result *result)
{
    asc_status status = ASC_NEED(ctx, "bench_layer_cross: settings result", settings, result);
    if (!status && context < 1) {
        status = asc_fail(ctx, ASC_ERR_ARG, "bench_layer_cross: context is %lld, expected at least 1",
                          (long long)context);
    }
    return status ? status : measure(ctx, settings, length, context, steps, result);
}
