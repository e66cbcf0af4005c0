/* train/bench_layer.c: the speed and memory of one mixing layer alone, on random numbers. */
#include "train/bench.h"
#include "train/trainer.h"

/* A layer with what goes into it and what comes back. */
typedef struct bench {
    asc_ctx *ctx;
    asc_layer *layer;
    asc_tensor x, dy; /* (batch, length, D); x has a gradient, as inside of a model */
} bench;

static asc_status run_once(const bench *b)
{
    asc_params_zero_grad(asc_layer_params(b->layer));
    asc_zero_grad(b->x);
    asc_scope_begin(b->ctx);
    asc_tensor y = asc_layer_forward(b->layer, b->x, asc_null());
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

asc_status asc_bench_layer(asc_ctx *ctx, const char *mixing, int64_t d_model, const char *config, int64_t batch,
                           int64_t length, int64_t steps, asc_bench_layer_result *result)
{
    if (batch < 1 || length < 1 || steps < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "bench_layer: batch, length and steps must be >= 1");
    }
    bench b = {.ctx = ctx, .layer = asc_layer_new(ctx, mixing, d_model, config, ASC_F32, 1)};
    size_t bytes = (size_t)steps * sizeof(double);
    double *times = b.layer ? asc_alloc(ctx, bytes) : NULL;
    asc_scope_begin(ctx);
    if (times) {
        b.x = asc_normal(ctx, ASC_F32, 0, 1, 1, 1, ASC_SHAPE(batch, length, d_model));
        b.dy = asc_normal(ctx, ASC_F32, 0, 1, 1, 2, ASC_SHAPE(batch, length, d_model));
        asc_require_grad(b.x, true);
    }
    if (times && asc_error(ctx) == ASC_OK && time_runs(&b, steps, times) == ASC_OK) {
        *result = (asc_bench_layer_result){asc_median(times, steps) * 1e3, asc_memory(ctx).peak_bytes};
    }
    asc_scope_end(ctx);
    asc_free(ctx, times, times ? bytes : 0);
    asc_layer_free(b.layer);
    return asc_error(ctx);
}
