/* tools/report/targets.c: what it took the systems to come down to the targets that the experiment names. */
#include <math.h>

#include "tools/report/report.h"

static const column columns[] = {
    {"system", "system", COLUMN_TEXT, 0, false},
    {"target", "target", COLUMN_NUMBER, -1, false},
    {"seeds there", "seeds", COLUMN_NUMBER, 0, false},
    {"million tokens", "million_tokens", COLUMN_SPREAD, -1, false},
    {"minutes", "minutes", COLUMN_SPREAD, -1, false},
    {0},
};

/* The line of the first evaluation at the target or below it; -1: there is none. */
static int64_t find_line(const report *r, const asc_run *run, double target)
{
    for (size_t row = 0; row < asc_run_rows(run); row++) {
        if (asc_run_value(run, row, r->metric) <= target) { /* NaN, where none was made, is not */
            return (int64_t)row;
        }
    }
    return -1;
}

static void put_spread(report *r, table *t, const double *values, int64_t n)
{
    asc_spread s = {NAN, NAN};
    if (n > 0) {
        s.mean = asc_stats_mean(r->ctx, values, n, &s.std);
    }
    table_spread(t, s.mean, s.std, NULL);
}

static void put_variant(report *r, table *t, const variant *v, double target)
{
    int64_t n = 0;
    asc_scope_begin(r->ctx);
    double *tokens = report_numbers(r, v->n), *minutes = report_numbers(r, v->n);
    for (int64_t i = 0; tokens && minutes && i < v->n; i++) {
        int64_t line = find_line(r, v->runs[i].run, target);
        if (line >= 0) {
            tokens[n] = asc_run_value(v->runs[i].run, (size_t)line, "tokens") / 1e6;
            minutes[n++] = asc_run_value(v->runs[i].run, (size_t)line, "elapsed_s") / 60;
        }
    }
    table_text(t, v->name);
    table_number(t, target);
    table_number(t, (double)n);
    put_spread(r, t, tokens, n);
    put_spread(r, t, minutes, n);
    asc_scope_end(r->ctx);
}

void report_targets(report *r)
{
    const json_t *targets = json_object_get(r->wants, "targets"), *target;
    size_t i;
    char title[200];
    if (json_array_size(targets) == 0) {
        return;
    }
    table t;
    snprintf(title, sizeof title, "Down to a %.120s", report_metric_title(r->metric));
    table_begin(&t, &r->doc, "targets", title, columns);
    json_array_foreach(targets, i, target) {
        for (int v = 0; v < r->n_variants; v++) {
            put_variant(r, &t, &r->variants[v], json_number_value(target));
        }
    }
    table_end(&t);
    document_text(&r->doc, "Tokens and minutes are those of the first evaluation at the target or below it, mean ± "
                           "deviation over the seeds that come so far.");
}
