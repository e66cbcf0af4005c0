/* tools/report/speeds.c: what trainings spend: tokens, products, and minutes by the clock or by steps timed here. */
#include <math.h>

#include <ascgrad/bench.h>
#include <ascgrad/nn.h>

#include "tools/progress.h"
#include "tools/report/report.h"

enum { STEPS = 9 };

const char *report_axis_title(report_axis axis)
{
    static const char *const titles[REPORT_AXES] = {"tokens", "minutes", "PFLOP of training"};
    return titles[axis];
}

void report_axis_of(const trained *t, report_axis axis, const char **key, double *scale)
{
    bool clock = axis == REPORT_MINUTES && !isfinite(t->bench_speed);
    *key = clock ? "elapsed_s" : "tokens";
    *scale = clock                     ? 1 / 60.
             : axis == REPORT_MINUTES  ? 1 / (60 * t->bench_speed)
             : axis == REPORT_PRODUCTS ? 1e-6 * asc_run_info_of(t->run)->gflop_per_token
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

/* The seeds of a variant take the same time. */
static asc_status measure(asc_ctx *ctx, variant *v)
{
    const asc_run *run = v->runs[0].run;
    asc_bench_result result = {0};
    asc_settings *settings = asc_settings_new(ctx);
    asc_settings_resume(settings, asc_run_folder(run));
    int64_t vocab = asc_error(ctx) ? 0 : find_vocab(ctx, run);
    asc_bench_train(ctx, settings, vocab, STEPS, &result);
    asc_settings_free(settings);
    for (int64_t i = 0; i < v->n && asc_error(ctx) == ASC_OK; i++) {
        v->runs[i].bench_speed = result.tokens_per_s;
    }
    return asc_error(ctx);
}

asc_status report_measure_speeds(report *r, int64_t threads)
{
    asc_ctx *ctx = cli_ctx_new(threads); /* the runs' precisions are set on it */
    progress bar = progress_start();
    for (int i = 0; i < r->n_variants && asc_error(ctx) == ASC_OK; i++) {
        progress_part(&bar, r->variants[i].name, (double)i / r->n_variants);
        if (r->variants[i].n > 0) {
            measure(ctx, &r->variants[i]);
        }
    }
    progress_clear(&bar);
    if (asc_error(ctx)) {
        asc_fail(r->ctx, asc_error(ctx), "--bench: %s", asc_error_message(ctx));
    }
    r->bench_threads = asc_threads(ctx);
    asc_ctx_free(ctx);
    return asc_error(r->ctx);
}

/* ---- saying it ---- */

static const column columns[] = {
    {"system", "system", COLUMN_TEXT, 0, false},
    {"tokens/s", "tokens_per_s", COLUMN_NUMBER, 0, false},
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
            table_number(&t, first->bench_speed);
            table_number(&t, 1e6 / first->bench_speed / 60);
            table_number(&t, first->bench_speed * asc_run_info_of(first->run)->gflop_per_token);
        }
    }
    table_end(&t);
    document_text(&r->doc,
                  "Median of %d steps on %s, %d thread%s; the minutes of the learning curves and of what follows "
                  "from them are tokens at these speeds.",
                  STEPS, asc_machine_info().processor, r->bench_threads, r->bench_threads == 1 ? "" : "s");
}
