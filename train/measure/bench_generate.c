/* train/measure/bench_generate.c: the time of the next token, far into a sequence. */
#include <math.h>

#include "stats/stats.h"
#include "tensor/need.h"
#include "train/measure/bench.h"
#include "train/trainer.h"

enum { PIECE = 512 }; /* tokens given to the cache at a time, on the way to a position */

typedef struct writer {
    asc_ctx *ctx;
    asc_lm_cache *cache;
    int64_t vocab;
    uint64_t state;
} writer;

/* Appends n tokens. */
static asc_status append(writer *w, int64_t n)
{
    int64_t tokens[PIECE];
    for (int64_t i = 0; i < n; i++) {
        tokens[i] = asc_bench_token(&w->state, w->vocab);
    }
    asc_scope_begin(w->ctx);
    asc_lm_next(w->cache, tokens, n);
    asc_scope_end(w->ctx);
    return asc_error(w->ctx);
}

/* Fills the cache up to `position`; the last token comes alone, as those that are timed. */
static asc_status go_to(writer *w, int64_t position)
{
    if (asc_lm_cache_length(w->cache) > position) {
        asc_lm_cache_reset(w->cache);
    }
    asc_status status = ASC_OK;
    for (int64_t left; !status && (left = position - asc_lm_cache_length(w->cache)) > 0;) {
        status = append(w, left == 1 ? 1 : left - 1 < PIECE ? left - 1 : PIECE);
    }
    return status;
}

static asc_status time_tokens(writer *w, int64_t position, int64_t steps, double *times, double *ms)
{
    int64_t room = asc_lm_cache_capacity(w->cache) - position;
    steps = steps < room ? steps : room;
    *ms = NAN;
    asc_status status = steps < 1 ? ASC_OK : go_to(w, position);
    for (int64_t i = 0; i < steps && !status; i++) {
        double start = asc_clock();
        status = append(w, 1);
        times[i] = asc_clock() - start;
    }
    if (steps >= 1 && !status) {
        *ms = asc_median(times, steps) * 1e3;
    }
    return status;
}

static asc_lm_cache *open_cache(asc_lm *lm, int64_t end)
{
    if (!asc_is_null(asc_params_find(asc_lm_params(lm), "pos_emb.weight"))) {
        return asc_lm_cache_new(lm, asc_lm_block(lm));
    }
    return asc_lm_cache_new(lm, asc_lm_streams(lm) ? ASC_LM_ENDLESS : end);
}

asc_status asc_bench_generate(asc_ctx *ctx, const asc_settings *settings, int64_t vocab, const int64_t *positions,
                              int n, int64_t steps, double *ms)
{
    asc_status status = ASC_NEED(ctx, "bench_generate: settings positions ms", settings, positions, ms);
    if (status) {
        return status;
    }
    if (asc_error(ctx)) {
        return asc_error(ctx); /* of what made the settings */
    }
    if (n < 1 || steps < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "bench_generate: %d positions, %lld steps: expected at least 1", n,
                        (long long)steps);
    }
    asc_lm *lm = asc_bench_model(ctx, settings, vocab);
    writer w = {.ctx = ctx, .vocab = vocab, .cache = lm ? open_cache(lm, positions[n - 1] + steps) : NULL};
    size_t bytes = (size_t)steps * sizeof(double);
    double *times = w.cache ? asc_alloc(ctx, bytes) : NULL;
    status = asc_error(ctx);
    for (int i = 0; i < n && !status; i++) {
        status = positions[i] < (i ? positions[i - 1] : 0)
                     ? asc_fail_on(ctx, ASC_ERR_ARG, "positions", ": got %lld, expected numbers that rise from 0",
                                (long long)positions[i])
                     : time_tokens(&w, positions[i], steps, times, &ms[i]);
    }
    asc_free(ctx, times, bytes);
    asc_lm_cache_free(w.cache);
    asc_lm_free(lm);
    return asc_error(ctx);
}
