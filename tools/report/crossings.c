/* tools/report/crossings.c: where the learning curves of two systems cross: who is ahead, for how long. */
#include <math.h>

#include "tools/metric.h"
#include "tools/report/report.h"

/* Two curves over what was spent, where both have values: y of the first less y of the second, in between straight. */
typedef struct gap {
    double *x, *y;
    int64_t n;
} gap;

/* The points of both curves that lie on both, in order. */
static int64_t merge_places(const figure_series *a, const figure_series *b, double *x)
{
    const figure_series *const curves[2] = {a, b};
    double low = fmax(a->x[0], b->x[0]), high = fmin(a->x[a->n - 1], b->x[b->n - 1]);
    int64_t n = 0;
    for (int c = 0; c < 2; c++) {
        for (int64_t i = 0; i < curves[c]->n; i++) {
            if (curves[c]->x[i] >= low && curves[c]->x[i] <= high) {
                x[n++] = curves[c]->x[i];
            }
        }
    }
    cli_sort(x, n);
    return n;
}

/* A mean of curves that have no place in common is one point, without a value. */
static bool has_values(const figure_series *s)
{
    return s->n > 0 && isfinite(s->x[0]) && isfinite(s->y[0]);
}

/* In the scope; n 0 where the curves have no place in common. */
static gap gap_of(report *r, const figure_series *a, const figure_series *b)
{
    gap g = {0};
    if (!has_values(a) || !has_values(b)) {
        return g;
    }
    int64_t room = a->n + b->n;
    double *x = report_numbers(r, room), *y = report_numbers(r, room), *other = report_numbers(r, room),
           *unused = report_numbers(r, room);
    if (!x || !y || !other || !unused) {
        return g;
    }
    int64_t n = merge_places(a, b, x);
    const asc_curve first = {a->x, a->y, a->n}, second = {b->x, b->y, b->n};
    if (asc_stats_band(r->ctx, &first, 1, x, n, y, unused) || asc_stats_band(r->ctx, &second, 1, x, n, other, unused)) {
        return g;
    }
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(y[i]) && isfinite(other[i])) {
            x[g.n] = x[i];
            y[g.n++] = y[i] - other[i];
        }
    }
    g.x = x;
    g.y = y;
    return g;
}

/* How often the gap changes its sign, and where it does for the last time. */
static int64_t count_crossings(const gap *g, double *last)
{
    int64_t n = 0, before = -1;
    *last = NAN;
    for (int64_t i = 0; i < g->n; i++) {
        if (g->y[i] == 0) {
            continue;
        }
        if (before >= 0 && (g->y[before] < 0) != (g->y[i] < 0)) {
            double share = g->y[i - 1] / (g->y[i - 1] - g->y[i]); /* 0 where the curves have met before */
            *last = g->x[i - 1] + share * (g->x[i] - g->x[i - 1]);
            n++;
        }
        before = i;
    }
    return n;
}

static const column columns[] = {
    {"system", "system", COLUMN_TEXT, 0, false},
    {"against", "baseline", COLUMN_TEXT, 0, false},
    {"over", "axis", COLUMN_TEXT, 0, false},
    {"first difference", "first", COLUMN_NUMBER, -1, false},
    {"crossings", "crossings", COLUMN_NUMBER, 0, false},
    {"the last at", "last_at", COLUMN_NUMBER, -1, false},
    {"last difference", "last", COLUMN_NUMBER, -1, false},
    {"at", "end", COLUMN_NUMBER, -1, false},
    {0},
};

static void put_gap(report *r, table *t, const variant *v, const variant *baseline, report_axis axis)
{
    static const double units[REPORT_AXES] = {1e-6, 1, 1};
    static const char *const titles[REPORT_AXES] = {"million tokens", "minutes", "PFLOP"};
    asc_scope_begin(r->ctx);
    figure_series a = report_curve(r, v, axis), b = report_curve(r, baseline, axis);
    gap g = gap_of(r, &a, &b);
    double last = NAN;
    int64_t crossings = count_crossings(&g, &last);
    table_text(t, v->name);
    table_text(t, baseline->name);
    table_text(t, titles[axis]);
    table_number(t, g.n > 0 ? g.y[0] : (double)NAN);
    table_number(t, g.n > 0 ? (double)crossings : (double)NAN);
    table_number(t, units[axis] * last);
    table_number(t, g.n > 0 ? g.y[g.n - 1] : (double)NAN);
    table_number(t, g.n > 0 ? units[axis] * g.x[g.n - 1] : (double)NAN);
    asc_scope_end(r->ctx);
}

static bool has_rivals(const report *r)
{
    for (int i = 0; i < r->n_variants; i++) {
        int baseline = r->cells[r->variants[i].cell].baseline;
        if (baseline >= 0 && baseline != i && r->variants[i].n > 0) {
            return true;
        }
    }
    return false;
}

void report_crossings(report *r)
{
    table t;
    if (!has_rivals(r)) {
        return;
    }
    table_begin(&t, &r->doc, "crossings", "Where the curves cross", columns);
    for (int i = 0; i < r->n_variants; i++) {
        int baseline = r->cells[r->variants[i].cell].baseline;
        bool rival = baseline >= 0 && baseline != i && r->variants[i].n > 0;
        for (int axis = 0; axis < REPORT_AXES && rival; axis++) {
            put_gap(r, &t, &r->variants[i], &r->variants[baseline], (report_axis)axis);
        }
    }
    table_end(&t);
    document_text(&r->doc,
                  "Differences in %s to the baseline, at the first and at the last place that both mean curves "
                  "have: %s 0 the system is ahead. Between evaluations a curve is taken as straight. \"-\": the curves "
                  "have no place in common or no finite numbers, or what was spent is not known.",
                  metric_title(r->metric), metric_rises(r->metric) ? "above" : "below");
}
