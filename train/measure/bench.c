/* train/measure/bench.c: the speed of training steps on random tokens. */
#include "train/measure/bench.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include <program/settings.h>

#include "stats/stats.h"
#include "tensor/need.h"
#include "train/trainer.h"

enum { WARM_UP = 2 };

/* ---- models ---- */

json_t *asc_bench_setting(const asc_settings *s, const char *model_key)
{
    json_t *value = json_incref(json_object_get(s->model, model_key));
    bool model;
    const asc_setting *row = asc_settings_find(s->ctx, model_key, &model);
    return value || !row ? value : asc_setting_default(s->ctx, row);
}

int64_t asc_bench_whole(const asc_settings *s, const char *model_key)
{
    json_t *value = asc_bench_setting(s, model_key);
    int64_t whole = json_integer_value(value);
    json_decref(value);
    return whole;
}

asc_lm *asc_bench_model(asc_ctx *ctx, const asc_settings *settings, int64_t vocab)
{
    const asc_values *v = &settings->values;
    if (asc_settings_set_precision(settings)) {
        return NULL;
    }
    char *config = asc_settings_model(settings, NULL, &(asc_model_sizes){.vocab = vocab});
    asc_lm *lm = config ? asc_lm_new(ctx, config, asc_settings_dtype(settings), (uint64_t)v->seed) : NULL;
    asc_text_drop(config);
    if (asc_lm_classes(lm) > 0) {
        asc_fail_on(ctx, ASC_ERR_ARG, "head", " is %s, expected lm: what is measured is a language model",
                    asc_settings_pairs(settings) ? "pairs" : "classifier");
        asc_lm_free(lm);
        return NULL;
    }
    asc_lm_set_recompute(lm, v->recompute);
    return lm;
}

/* ---- tokens ---- */

/* A 64-bit linear congruential generator (Knuth's MMIX constants). */
int64_t asc_bench_token(uint64_t *state, int64_t vocab)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((*state >> 33) % (uint64_t)vocab);
}

typedef struct source {
    asc_ctx *ctx;
    int64_t vocab, block;
    uint64_t state;
} source;

static asc_status make(void *user, int64_t first, int64_t n, asc_batch *b)
{
    (void)first;
    source *s = user;
    *b = (asc_batch){asc_empty(s->ctx, ASC_I64, ASC_SHAPE(n, s->block)),
                     asc_empty(s->ctx, ASC_I64, ASC_SHAPE(n, s->block)), asc_null()};
    int64_t *x = asc_data_mut(b->x), *y = asc_data_mut(b->y);
    for (int64_t i = 0; x && y && i < n * s->block; i++) {
        x[i] = asc_bench_token(&s->state, s->vocab);
        y[i] = asc_bench_token(&s->state, s->vocab);
    }
    return asc_error(s->ctx);
}

/* ---- steps ---- */

/* Products of one forward pass, in GFLOP per token. */
static double count_products(const asc_stepper *s)
{
    asc_ctx *ctx = s->ctx;
    asc_span span;
    asc_span_begin(ctx, &span, "set-up");
    bool recording = asc_set_recording(ctx, false);
    asc_scope_begin(ctx);
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(s->batch, s->block));
    asc_lm_carried *carried = s->carried ? asc_lm_carried_new(s->lm, asc_lm_carry(s->lm)) : NULL;
    if (carried) {
        asc_run_up(s, carried, s->batch);
    }
    asc_flops_reset(ctx);
    asc_lm_loss(s->lm, x, x, NULL);
    double flops = asc_flops(ctx);
    asc_lm_set_carried(s->lm, NULL);
    asc_lm_carried_free(carried);
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    asc_span_end(ctx, &span);
    return flops / (double)(s->batch * s->block) * 1e-9;
}

static int64_t sequences_of(const asc_settings *settings)
{
    return settings->values.batch * settings->values.accumulate;
}

/* A step, and how long it takes. */
static asc_status time_step(const asc_stepper *s, const asc_settings *settings, int64_t step, double *time)
{
    asc_step_result result;
    double start = asc_clock();
    asc_status status = asc_step_run(s, step, sequences_of(settings), 1e-4, &result);
    *time = asc_clock() - start;
    return status;
}

/* The steps that take the memory, and before them what they carry in full. */
static asc_status warm_up(const asc_stepper *s, const asc_settings *settings)
{
    asc_span span;
    asc_span_begin(s->ctx, &span, "warm-up");
    int64_t shards = asc_stepper_shards(s), streams = s->carried ? settings->values.accumulate * shards : 0;
    asc_status status = asc_error(s->ctx);
    for (int64_t i = 0; i < streams && !status; i++) {
        status = asc_run_up(s, s->carried[i], s->batch / shards);
    }
    asc_lm_set_carried(s->lm, NULL);
    for (int64_t i = 0; i < WARM_UP && status == ASC_OK; i++) {
        status = time_step(s, settings, i, &(double){0});
    }
    asc_span_end(s->ctx, &span);
    return status;
}

/* The most memory that this process has had. */
double asc_peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* What is measured: steps, and the machine's products between them. */
typedef struct plan {
    const asc_settings *settings;
    int64_t steps;
    bool products;
} plan;

/* The machine's matrix product of the settings' precision, now. */
static double time_products(const asc_stepper *s, const plan *p)
{
    if (!p->products) {
        return NAN;
    }
    asc_span span;
    asc_span_begin(s->ctx, &span, "products");
    double gflops = asc_bench_gemm(s->ctx, p->settings);
    asc_span_end(s->ctx, &span);
    return gflops;
}

/* The times of steps, each with matrix products before and after it: a machine's clock changes within seconds. The
 * `shares` are of a step's products per second in those of its neighbours. */
static asc_status time_steps(const asc_stepper *s, const plan *p, double *times, double *shares,
                             asc_bench_result *result)
{
    const asc_settings *settings = p->settings;
    double gflop = result->gflop_per_token * (double)(sequences_of(settings) * s->block);
    asc_status status = warm_up(s, settings);
    result->peak_rss_mib = asc_peak_mib(); /* without what the BLAS takes for threads of its own */
    double before = time_products(s, p);
    result->gemm_gflops = before;
    for (int64_t i = 0; i < p->steps && status == ASC_OK; i++) {
        status = time_step(s, settings, WARM_UP + i, &times[i]);
        double after = time_products(s, p);
        shares[i] = gflop / times[i] / ((before + after) / 2);
        result->gemm_gflops = fmax(result->gemm_gflops, after);
        before = after;
    }
    bool apart = p->products && settings->values.precision != ASC_PRECISION_F32;
    result->sgemm_gflops = apart ? asc_bench_sgemm(s->ctx, settings) : result->gemm_gflops;
    return status ? status : asc_error(s->ctx);
}

static asc_status run(const asc_stepper *s, const plan *p, asc_bench_result *result)
{
    size_t bytes = 2 * (size_t)p->steps * sizeof(double);
    double *times = asc_alloc(s->ctx, bytes), *shares = times + p->steps;
    if (!times) {
        return ASC_ERR_MEMORY;
    }
    asc_bench_result r = {.gflop_per_token = 3 * count_products(s)};
    if (asc_error(s->ctx) == ASC_OK && time_steps(s, p, times, shares, &r) == ASC_OK) {
        double median = asc_median(times, p->steps);
        r.tokens_per_s = (double)(sequences_of(p->settings) * s->block) / median;
        r.step_ms = median * 1e3;
        r.gflops = r.gflop_per_token * r.tokens_per_s;
        r.efficiency = r.gflops / r.gemm_gflops;
        r.paired_efficiency = p->products ? asc_median(shares, p->steps) : NAN;
        *result = r;
    }
    asc_free(s->ctx, times, bytes);
    return asc_error(s->ctx);
}

/* Whether there are such steps to time. */
static asc_status check_plan(asc_ctx *ctx, const plan *p)
{
    if (asc_error(ctx)) {
        return asc_error(ctx); /* of what made the settings */
    }
    if (p->steps < 1) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "steps", ": got %lld, expected at least 1", (long long)p->steps);
    }
    const asc_values *v = &p->settings->values;
    const char *schedule = *v->batch_schedule     ? "batch_schedule"
                           : *v->block_schedule   ? "block_schedule"
                           : *v->dropout_schedule ? "dropout_schedule"
                                                  : NULL;
    if (schedule) {
        return asc_fail_on(ctx, ASC_ERR_ARG, schedule, ": the steps that are timed are alike, expected none");
    }
    if (v->shards < 1 || v->batch % v->shards != 0) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "shards", " is %lld, expected a divisor of batch, %lld",
                           (long long)v->shards, (long long)v->batch);
    }
    return ASC_OK;
}

static asc_status measure(asc_ctx *ctx, const plan *p, int64_t vocab, asc_bench_result *result)
{
    if (check_plan(ctx, p)) {
        return asc_error(ctx);
    }
    const asc_values *v = &p->settings->values;
    asc_span span;
    asc_span_begin(ctx, &span, "set-up");
    asc_lm *lm = asc_bench_model(ctx, p->settings, vocab);
    asc_optim *optim = lm ? asc_optimizer_new(ctx, v, lm) : NULL;
    int64_t streams = v->accumulate * v->shards;
    asc_lm_carried **carried = optim && asc_lm_carry(lm) > 0 ? asc_carried_new(ctx, lm, streams) : NULL;
    asc_span_end(ctx, &span);
    if (optim && asc_error(ctx) == ASC_OK) {
        source tokens = {ctx, asc_lm_vocab(lm), asc_lm_block(lm), 1};
        asc_tree tree = {.ctx = ctx, .params = asc_lm_params(lm), .shards = v->shards};
        run(&(asc_stepper){.ctx = ctx,
                           .lm = lm,
                           .optim = optim,
                           .block = tokens.block,
                           .batch = v->batch,
                           .dropout = v->dropout,
                           .clip = v->clip,
                           .average = v->average > 0,
                           .seed = (uint64_t)v->seed,
                           .make = make,
                           .carried = carried,
                           .tree = v->shards > 1 ? &tree : NULL,
                           .user = &tokens},
            p, result);
        asc_tree_close(&tree);
    }
    asc_carried_free(ctx, carried, streams);
    asc_optim_free(optim);
    asc_lm_free(lm);
    return asc_error(ctx);
}

asc_status asc_bench_train(asc_ctx *ctx, const asc_settings *settings, int64_t vocab, int64_t steps,
                           asc_bench_result *result)
{
    asc_status status = ASC_NEED(ctx, "bench_train: settings result", settings, result);
    return status ? status : measure(ctx, &(plan){settings, steps, true}, vocab, result);
}

double asc_bench_speed(asc_ctx *ctx, const asc_settings *settings, int64_t vocab, int64_t steps)
{
    asc_bench_result result = {.tokens_per_s = NAN};
    if (!ASC_NEED(ctx, "bench_speed: settings", settings)) {
        measure(ctx, &(plan){settings, steps, false}, vocab, &result);
    }
    return result.tokens_per_s;
}

double asc_bench_sgemm(asc_ctx *ctx, const asc_settings *settings)
{
    if (ASC_NEED(ctx, "bench_sgemm: settings", settings)) {
        return 0;
    }
    int64_t D = asc_bench_whole(settings, "d_model");
    int64_t tokens = settings->values.batch * asc_bench_whole(settings, "block");
    double square = asc_gemm_speed(ctx, 1024, 1024, 1024);
    double wide = asc_gemm_speed(ctx, tokens < 4096 ? tokens : 4096, 4 * D, D);
    return square > wide ? square : wide;
}

double asc_bench_gemm(asc_ctx *ctx, const asc_settings *settings)
{
    if (ASC_NEED(ctx, "bench_gemm: settings", settings)) {
        return 0;
    }
    asc_precision precision = (asc_precision)settings->values.precision;
    if (precision == ASC_PRECISION_F32) {
        return asc_bench_sgemm(ctx, settings);
    }
    int64_t D = asc_bench_whole(settings, "d_model");
    int64_t tokens = settings->values.batch * asc_bench_whole(settings, "block");
    double square = asc_gemm_speed_of(ctx, precision, 1024, 1024, 1024);
    double wide = asc_gemm_speed_of(ctx, precision, tokens < 4096 ? tokens : 4096, 4 * D, D);
    return square > wide ? square : wide;
}
