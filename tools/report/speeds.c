/* tools/report/speeds.c: what trainings spend: tokens, products, and minutes by the clock or by steps timed here. */
#include <math.h>
#include <string.h>

#include <ascgrad/bench.h>
#include <ascgrad/nn.h>

#include "tools/progress.h"
#include "tools/report/report.h"

/* A machine's speed changes: the systems take turns. */
enum { ROUNDS = 5, STEPS = 3 };

const char *report_axis_title(const report *r, report_axis axis)
{
    return axis == REPORT_TOKENS     ? "tokens"
           : axis == REPORT_PRODUCTS ? "PFLOP of training"
           : r->bench_threads > 0    ? "minutes by steps timed for the report"
                                     : "minutes by the runs' clocks";
}

/* Whether a setting that changes what a step is has a schedule. */
static bool grows(const trained *t, const char *schedule)
{
    const char *value = asc_run_setting(t->run, schedule);
    return value && strcmp(value, "\"\"") != 0;
}

/* Along a curve: with blocks that grow, the mean of the whole run says nothing of the points before its end. */
static double gflop_along(const trained *t)
{
    return grows(t, "block_schedule") ? (double)NAN : asc_run_info_of(t->run)->gflop_per_token;
}

void report_axis_of(const report *r, const trained *t, report_axis axis, const char **key, double *scale)
{
    bool clock = axis == REPORT_MINUTES && r->bench_threads == 0;
    *key = clock ? "elapsed_s" : "tokens";
    *scale = clock                     ? 1 / 60.
             : axis == REPORT_MINUTES  ? 1 / (60 * t->speed.mean)
             : axis == REPORT_PRODUCTS ? 1e-6 * gflop_along(t)
                                       : 1;
}

/* ---- measuring ---- */

static int64_t find_vocab(asc_ctx *ctx, const asc_run *run)
{
    asc_model *model = asc_model_open(ctx, asc_run_folder(run), NULL, NULL);
    int64_t vocab = model ? asc_lm_vocab(model->lm) : 0;
    asc_model_free(ctx, model);
    return vocab;
}

/* Tokens/s of some steps of a run's; NaN with the error set. */
static double time_steps(asc_ctx *ctx, const asc_run *run)
{
    asc_settings *settings = asc_settings_new(ctx);
    asc_settings_resume(settings, asc_run_folder(run));
    int64_t vocab = asc_error(ctx) ? 0 : find_vocab(ctx, run);
    double tokens_per_s = asc_bench_speed(ctx, settings, vocab, STEPS);
    asc_settings_free(settings);
    return tokens_per_s;
}

/* A variant that can't be timed is told, once, and has no speed. */
static asc_status tell_untimed(asc_ctx *ctx, const variant *v, progress *bar)
{
    asc_status status = asc_error(ctx);
    if (status && status != ASC_ERR_MEMORY && status != ASC_ERR_INTERRUPTED) {
        progress_clear(bar);
        cli_message("%s: not timed: %s", v->name, asc_error_message(ctx));
        asc_error_clear(ctx);
    }
    return asc_error(ctx);
}

/* One round: speed[i * ROUNDS] of each variant, whose seeds take the same time. */
static asc_status measure(report *r, asc_ctx *ctx, int round, double *speed, progress *bar)
{
    for (int i = 0; i < r->n_variants && asc_error(ctx) == ASC_OK; i++) {
        const variant *v = &r->variants[i];
        double *own = &speed[i * ROUNDS];
        progress_part(bar, v->name, (round + (double)i / r->n_variants) / ROUNDS);
        own[round] = NAN;
        if (v->n > 0 && (round == 0 || isfinite(own[round - 1]))) {
            const trained *first = v->runs;
            if (grows(first, "block_schedule") || grows(first, "batch_schedule")) {
                asc_fail(ctx, ASC_ERR_ARG, "its steps grow");
            } else {
                own[round] = time_steps(ctx, first->run);
            }
            tell_untimed(ctx, v, bar);
        }
    }
    return asc_error(ctx);
}

static void keep(report *r, const double *speed)
{
    for (int i = 0; i < r->n_variants; i++) {
        asc_spread s = {NAN, NAN};
        bool timed = true; /* in every round */
        for (int round = 0; round < ROUNDS; round++) {
            timed = timed && isfinite(speed[i * ROUNDS + round]);
        }
        if (timed) {
            s.mean = asc_stats_mean(r->ctx, &speed[i * ROUNDS], ROUNDS, &s.std);
        }
        for (int64_t k = 0; k < r->variants[i].n; k++) {
            r->variants[i].runs[k].speed = s;
        }
    }
}

asc_status report_measure_speeds(report *r, int64_t threads)
{
    asc_ctx *ctx = cli_ctx_new(threads); /* the runs' precisions are set on it */
    asc_scope_begin(r->ctx);
    double *speed = report_numbers(r, (int64_t)r->n_variants * ROUNDS);
    progress bar = progress_start();
    for (int round = 0; speed && round < ROUNDS && measure(r, ctx, round, speed, &bar) == ASC_OK; round++) {
    }
    progress_clear(&bar);
    if (asc_error(ctx)) {
        asc_fail(r->ctx, asc_error(ctx), "--bench: %s", asc_error_message(ctx));
    } else if (speed) {
        keep(r, speed);
    }
    asc_scope_end(r->ctx);
    r->bench_threads = asc_threads(ctx);
    asc_ctx_free(ctx);
    return asc_error(r->ctx);
}

/* ---- saying it ---- */

static const column columns[] = {
    {"system", "system", COLUMN_TEXT, 0, false},
    {"tokens/s", "tokens_per_s", COLUMN_SPREAD, 0, false},
    {"minutes a million tokens", "minutes_per_million", COLUMN_NUMBER, -1, false},
    {"GFLOP/s", "gflops", COLUMN_NUMBER, 1, false},
    {0},
};

void report_speeds(report *r)
{
    table t;
    if (r->bench_threads == 0) {
        return;
    }
    table_begin(&t, &r->doc, "speeds", "Training steps timed for this report", columns);
    for (int i = 0; i < r->n_variants; i++) {
        const trained *first = r->variants[i].n > 0 ? r->variants[i].runs : NULL;
        if (first) {
            table_text(&t, r->variants[i].name);
            table_spread(&t, first->speed.mean, first->speed.std, NULL);
            table_number(&t, 1e6 / first->speed.mean / 60);
            table_number(&t, first->speed.mean * gflop_along(first));
        }
    }
    table_end(&t);
    document_text(
        &r->doc,
        "Mean \xc2\xb1 deviation over %d turns of %d steps, the median of each, on %s, %d thread%s: the minutes "
        "below are tokens at these speeds; those under \"What it cost\" are of the runs' own clocks.",
        ROUNDS, STEPS, asc_machine_info().processor, r->bench_threads, r->bench_threads == 1 ? "" : "s");
}
