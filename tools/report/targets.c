/* tools/report/targets.c: what it took the systems to come to the targets that the experiment names. */
#include <math.h>

#include "tools/metric.h"
#include "tools/report/report.h"

static const column columns[] = {
    {"system", "system", COLUMN_TEXT, 0, false},
    {"target", "target", COLUMN_NUMBER, -1, false},
    {"seeds there", "seeds", COLUMN_NUMBER, 0, false},
    {"million tokens", "million_tokens", COLUMN_SPREAD, -1, false},
    {"minutes", "minutes", COLUMN_SPREAD, -1, false},
    {"PFLOP", "pflop", COLUMN_SPREAD, -1, false},
    {0},
};

/* The line of the first evaluation at the target or beyond it; -1: there is none. */
static int64_t find_line(const report *r, const asc_run *run, double target)
{
    bool rises = metric_rises(r->metric);
    for (size_t row = 0; row < asc_run_rows(run); row++) {
        double value = asc_run_value(run, row, r->metric);
        if (rises ? value >= target : value <= target) { /* NaN, where none was made, is neither */
            return (int64_t)row;
        }
    }
    return -1;
}

/* What the runs that come to the target have spent by then, times `unit`; how many these are. */
static int64_t find_spent(report *r, const variant *v, double target, report_axis axis, double unit, asc_spread *spent)
{
    int64_t n = 0, there = 0;
    *spent = (asc_spread){NAN, NAN};
    asc_scope_begin(r->ctx);
    double *values = report_numbers(r, v->n);
    for (int64_t i = 0; values && i < v->n; i++) {
        int64_t line = find_line(r, v->runs[i].run, target);
        const char *key;
        double scale;
        report_axis_of(r, &v->runs[i], axis, &key, &scale);
        double value = line >= 0 ? unit * scale * asc_run_value(v->runs[i].run, (size_t)line, key) : NAN;
        there += line >= 0;
        if (isfinite(value)) {
            values[n++] = value;
        }
    }
    if (n > 0) {
        spent->mean = asc_stats_mean(r->ctx, values, n, &spent->std);
    }
    asc_scope_end(r->ctx);
    return there;
}

static void put_variant(report *r, table *t, const variant *v, double target)
{
    asc_spread tokens, minutes, products;
    int64_t n = find_spent(r, v, target, REPORT_TOKENS, 1e-6, &tokens);
    find_spent(r, v, target, REPORT_MINUTES, 1, &minutes);
    find_spent(r, v, target, REPORT_PRODUCTS, 1, &products);
    table_text(t, v->name);
    table_number(t, target);
    table_number(t, (double)n);
    table_spread(t, tokens.mean, tokens.std, NULL);
    table_spread(t, minutes.mean, minutes.std, NULL);
    table_spread(t, products.mean, products.std, NULL);
}

void report_targets(report *r)
{
    const json_t *targets = json_object_get(r->wants, "targets"), *target;
    size_t i;
    char title[200];
    bool rises = metric_rises(r->metric);
    if (json_array_size(targets) == 0) {
        return;
    }
    table t;
    snprintf(title, sizeof title, "%s to a %.120s", rises ? "Up" : "Down", metric_title(r->metric));
    table_begin(&t, &r->doc, "targets", title, columns);
    json_array_foreach(targets, i, target) {
        for (int v = 0; v < r->n_variants; v++) {
            put_variant(r, &t, &r->variants[v], json_number_value(target));
        }
    }
    table_end(&t);
    document_text(&r->doc,
                  "What was spent by the first evaluation at the target or %s it, mean ± deviation over the "
                  "seeds that come so far; %s.",
                  rises ? "above" : "below", report_axis_title(r, REPORT_MINUTES));
}
