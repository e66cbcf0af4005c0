/* train/bench.c: the speed of training steps on random tokens. */
#include <stdlib.h>
#include <string.h>

#include <ascgrad/op.h>

#include "train/bench.h"
#include "train/trainer.h"

enum { WARM_UP = 2 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double asc_median(double *times, int64_t n)
{
    qsort(times, (size_t)n, sizeof *times, compare);
    return (times[(n - 1) / 2] + times[n / 2]) / 2;
}

typedef struct source {
    int64_t vocab, block;
    uint64_t state;
} source;

/* Tokens from a 64-bit linear congruential generator (Knuth's MMIX constants). */
static asc_status fill(void *user, int64_t first, int64_t n, int64_t *x, int64_t *y)
{
    (void)first;
    source *s = user;
    for (int64_t i = 0; i < n * s->block; i++) {
        s->state = s->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x[i] = (int64_t)((s->state >> 33) % (uint64_t)s->vocab);
        y[i] = (int64_t)((s->state >> 17) % (uint64_t)s->vocab);
    }
    return ASC_OK;
}

/* Products of one forward pass, in GFLOP per token. */
static double count_products(const asc_stepper *s)
{
    asc_ctx *ctx = s->ctx;
    bool recording = asc_set_recording(ctx, false);
    asc_scope_begin(ctx);
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(s->batch, s->block));
    asc_flops_reset(ctx);
    asc_lm_loss(s->lm, x, x, NULL);
    double flops = asc_flops(ctx);
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    return flops / (double)(s->batch * s->block) * 1e-9;
}

static asc_status time_steps(const asc_stepper *s, int64_t steps, double *times)
{
    for (int64_t i = -WARM_UP; i < steps; i++) {
        asc_step_result result;
        double start = asc_clock();
        if (asc_step_run(s, i + WARM_UP, s->batch, 1e-4, &result)) {
            return asc_error(s->ctx);
        }
        if (i >= 0) {
            times[i] = asc_clock() - start;
        }
    }
    return ASC_OK;
}

asc_status asc_bench_train(asc_ctx *ctx, const char *config, int64_t batch, int64_t steps, double dropout,
                           asc_bench_result *result)
{
    if (batch < 1 || steps < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "bench_train: batch and steps must be >= 1");
    }
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F32, 1);
    asc_optim *optim = lm ? asc_adamw_new(ctx, asc_lm_params(lm), &(asc_adamw_options){.weight_decay = 0.1}) : NULL;
    size_t bytes = (size_t)steps * sizeof(double);
    double *times = optim ? asc_alloc(ctx, bytes) : NULL;
    if (times) {
        source tokens = {asc_lm_vocab(lm), asc_lm_block(lm), 1};
        asc_stepper s = {.ctx = ctx, .lm = lm, .optim = optim, .block = tokens.block, .batch = batch,
                         .dropout = dropout, .clip = 1, .seed = 1, .fill = fill, .user = &tokens};
        double forward = count_products(&s);
        if (asc_error(ctx) == ASC_OK && time_steps(&s, steps, times) == ASC_OK) {
            double median = asc_median(times, steps);
            double tokens_per_s = (double)(batch * tokens.block) / median;
            *result = (asc_bench_result){tokens_per_s, median * 1e3, 3 * forward, 3 * forward * tokens_per_s};
        }
        asc_free(ctx, times, bytes);
    }
    asc_optim_free(optim);
    asc_lm_free(lm);
    return asc_error(ctx);
}
