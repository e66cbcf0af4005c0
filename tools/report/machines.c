/* tools/report/machines.c: what the runs ran on, and those that failed. */
#include <math.h>
#include <string.h>

#include "tools/experiment/experiment.h"
#include "tools/report/report.h"

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

static bool same_machine(const asc_run_info *a, const asc_run_info *b)
{
    return strcmp(or_dash(a->processor), or_dash(b->processor)) == 0 &&
           strcmp(or_dash(a->version), or_dash(b->version)) == 0 && strcmp(or_dash(a->blas), or_dash(b->blas)) == 0 &&
           strcmp(or_dash(a->instructions), or_dash(b->instructions)) == 0 &&
           (a->threads == b->threads || (isnan(a->threads) && isnan(b->threads))) &&
           (a->memory_gib == b->memory_gib || (isnan(a->memory_gib) && isnan(b->memory_gib)));
}

/* Run number i of all the variants; NULL past the last. */
static const trained *run_at(const report *r, int64_t i)
{
    for (int v = 0; v < r->n_variants; v++) {
        if (i < r->variants[v].n) {
            return &r->variants[v].runs[i];
        }
        i -= r->variants[v].n;
    }
    return NULL;
}

static const column machines[] = {
    {"processor", "processor", COLUMN_TEXT, 0, false}, {"memory GiB", "memory_gib", COLUMN_NUMBER, 1, false},
    {"threads", "threads", COLUMN_NUMBER, 0, false},   {"instructions", "instructions", COLUMN_TEXT, 0, false},
    {"BLAS", "blas", COLUMN_TEXT, 0, false},           {"version", "version", COLUMN_TEXT, 0, false},
    {"runs", "runs", COLUMN_NUMBER, 0, false},         {0},
};

static void put_machines(report *r)
{
    const trained *t, *other;
    table rows;
    table_begin(&rows, &r->doc, "machines", "Machines", machines);
    for (int64_t i = 0; (t = run_at(r, i)); i++) {
        const asc_run_info *m = asc_run_info_of(t->run);
        int64_t first = 0, runs = 0;
        while (!same_machine(m, asc_run_info_of(run_at(r, first)->run))) {
            first++;
        }
        for (int64_t k = i; first == i && (other = run_at(r, k)); k++) {
            runs += same_machine(m, asc_run_info_of(other->run));
        }
        if (first == i) {
            table_text(&rows, m->processor);
            table_number(&rows, m->memory_gib);
            table_number(&rows, m->threads);
            table_text(&rows, m->instructions);
            table_text(&rows, m->blas);
            table_text(&rows, m->version);
            table_number(&rows, (double)runs);
        }
    }
    table_end(&rows);
}

void report_machines(report *r)
{
    const trained *t;
    double peak = NAN;
    asc_experiment_time time;
    document_heading(&r->doc, "Machines, time and memory");
    for (int64_t i = 0; (t = run_at(r, i)); i++) {
        peak = fmax(peak, asc_run_info_of(t->run)->peak_rss_mib);
    }
    if (asc_experiment_time_of(r->experiment, &time) == ASC_OK) {
        document_text(&r->doc, "Training took %.1f minutes in all, %.1f of them tuning.", time.spent_s / 60,
                      time.tuning_s / 60);
    }
    if (isfinite(peak)) {
        document_text(&r->doc, "Peak memory of a run: %.0f MiB.", peak);
    }
    put_machines(r);
}

/* ---- failures ---- */

static void put_failure(report *r, const asc_experiment_run *run)
{
    char text[EXPERIMENT_SAID];
    experiment_failure(r->experiment, run, text);
    document_item(&r->doc, run->name, "%s", run->tuning ? "of the tuning" : "failed");
    document_items_end(&r->doc);
    document_verbatim(&r->doc, *text ? text : "(nothing is known of it)");
}

void report_failures(report *r)
{
    const asc_experiment_run *run;
    bool any = false;
    for (int i = 0; (run = asc_experiment_run_at(r->experiment, i)); i++) {
        if (run->state == ASC_EXPERIMENT_STATE_FAILED) {
            if (!any) {
                document_heading(&r->doc, "What failed");
            }
            any = true;
            put_failure(r, run);
        }
    }
}
