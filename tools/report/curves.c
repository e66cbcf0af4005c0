/* tools/report/curves.c: learning curves over tokens, minutes and products, and ω over time: means with bands. */
#include <math.h>
#include <string.h>

#include "tools/metric.h"
#include "tools/report/report.h"

enum { WIDTH = 820, HEIGHT = 460, LEFT = 80, TOP = 60, BOTTOM = 60, PLACES = 80, STRAIGHT = 8 };

/* ---- one variant ---- */

/* A run's points of a number over tokens, times `scale`. In the scope; n 0 where there are none. */
static asc_curve points_of(report *r, const asc_run *run, const char *key, double scale)
{
    int64_t rows = (int64_t)asc_run_rows(run), n = 0;
    double *x = report_numbers(r, rows), *y = report_numbers(r, rows);
    for (int64_t row = 0; x && y && row < rows; row++) {
        double at = asc_run_value(run, (size_t)row, "tokens"), value = scale * asc_run_value(run, (size_t)row, key);
        if (isfinite(at) && isfinite(value)) {
            x[n] = at;
            y[n++] = value;
        }
    }
    return (asc_curve){x, y, n};
}

/* Where the mean of curves is taken: at the points of the first, where all have these, else at even places from where
 * the last begins to where the first ends. */
static double *choose_places(report *r, const asc_curve *curves, int64_t n, int64_t *places)
{
    double low = -INFINITY, high = INFINITY;
    bool same = true;
    for (int64_t i = 0; i < n; i++) {
        low = fmax(low, curves[i].x[0]);
        high = fmin(high, curves[i].x[curves[i].n - 1]);
        same = same && curves[i].n == curves[0].n &&
               memcmp(curves[i].x, curves[0].x, (size_t)curves[0].n * sizeof(double)) == 0;
    }
    *places = same ? curves[0].n : high > low ? PLACES : 1;
    double *at = report_numbers(r, *places);
    for (int64_t i = 0; at && i < *places; i++) {
        at[i] = same ? curves[0].x[i] : *places == 1 ? low : low + (high - low) * (double)i / (PLACES - 1);
    }
    if (at && !same && *places > 1) {
        at[*places - 1] = high;
    }
    return at;
}

/* The mean of curves with their deviation to both sides; n 0 where it can't be had. In the scope. */
static figure_series band_of(report *r, const asc_curve *curves, int64_t n)
{
    figure_series s = {.mark = FIGURE_LINE_AND_POINTS};
    int64_t places;
    double *at = n > 0 ? choose_places(r, curves, n, &places) : NULL;
    if (!at) {
        return s;
    }
    double *mean = report_numbers(r, places), *low = report_numbers(r, places), *high = report_numbers(r, places);
    if (!mean || !low || !high || asc_stats_band(r->ctx, curves, n, at, places, mean, high)) {
        return s;
    }
    for (int64_t i = 0; i < places; i++) {
        low[i] = mean[i] - high[i];
        high[i] = mean[i] + high[i];
    }
    s.x = at;
    s.y = mean;
    s.low = low;
    s.high = high;
    s.n = places;
    return s;
}

/* The curves of a variant's runs over tokens, of the metric; how many. */
static int64_t metric_curves(report *r, const variant *v, asc_curve *curves)
{
    int64_t n = 0;
    for (int64_t i = 0; curves && i < v->n; i++) {
        curves[n] = points_of(r, v->runs[i].run, r->metric, 1);
        n += curves[n].n > 0;
    }
    return n;
}

/* The same, of what they spent. */
static int64_t spent_curves(report *r, const variant *v, report_axis axis, asc_curve *curves)
{
    int64_t n = 0;
    for (int64_t i = 0; curves && i < v->n; i++) {
        const char *key;
        double scale;
        report_axis_of(r, &v->runs[i], axis, &key, &scale);
        curves[n] = points_of(r, v->runs[i].run, key, scale);
        n += curves[n].n > 0;
    }
    return n;
}

/* Each point stands at what the seeds had spent there on the average. */
figure_series report_curve(report *r, const variant *v, report_axis axis)
{
    asc_curve *curves = cli_room(r->ctx, v->n, sizeof *curves);
    figure_series s = band_of(r, curves, metric_curves(r, v, curves));
    if (axis == REPORT_TOKENS || s.n == 0) {
        return s;
    }
    int64_t n = spent_curves(r, v, axis, curves);
    double *spent = report_numbers(r, s.n), *off = report_numbers(r, s.n);
    if (n == 0 || !spent || !off || asc_stats_band(r->ctx, curves, n, s.x, s.n, spent, off)) {
        return (figure_series){.n = 0};
    }
    s.x = spent;
    return s;
}

/* ---- learning curves ---- */

/* Whether values reach over so much that a straight scale would show the beginning alone. */
static bool spans_much(const figure_series *series, int64_t n)
{
    double least = INFINITY, most = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t e = 0; e < series[i].n; e++) {
            least = fmin(least, series[i].y[e]);
            most = fmax(most, series[i].y[e]);
        }
    }
    return least > 0 && most > STRAIGHT * least;
}

static void draw_curves(report *r, const char *name, report_axis axis)
{
    const char *x_title = report_axis_title(r, axis);
    char title[400], caption[300];
    int64_t n = 0;
    asc_scope_begin(r->ctx);
    figure_series *series = cli_room(r->ctx, r->n_variants, sizeof *series);
    for (int i = 0; series && i < r->n_variants; i++) {
        figure_series s = report_curve(r, &r->variants[i], axis);
        s.name = r->variants[i].name;
        s.style = i;
        series[n] = s;
        n += s.n > 0;
    }
    if (series && n > 0) {
        figure f;
        double key = figure_key_width(series, n);
        figure_box box = {LEFT, TOP, WIDTH - LEFT - 20, HEIGHT - TOP - BOTTOM}, beside = {WIDTH - 8, TOP, 0, 0};
        snprintf(title, sizeof title, "%.200s: %s", asc_experiment_name(r->experiment), metric_title(r->metric));
        snprintf(caption, sizeof caption,
                 "Learning curves: %s over %s; mean over the seeds, the band is one deviation%s.",
                 metric_title(r->metric), x_title,
                 axis == REPORT_TOKENS ? "" : "; each point stands at the mean of what they spent");
        figure_begin(&f, title, WIDTH + (int)key, HEIGHT);
        figure_curves(&f, &box,
                      &(figure_plot){.x_title = x_title,
                                     .y_title = metric_title(r->metric),
                                     .series = series,
                                     .n_series = n,
                                     .log_y = spans_much(series, n),
                                     .key = &beside});
        report_end_figure(r, &f, name, caption);
    }
    asc_scope_end(r->ctx);
}

/* Whether an evaluation of a run's has no finite number of the metric's, as a perplexity beyond all floats. */
static bool has_holes(const report *r, const asc_run *run)
{
    bool hole = false, of_evaluations = strncmp(r->metric, "valid_", strlen("valid_")) == 0;
    for (size_t row = 0; row < asc_run_rows(run) && of_evaluations && !hole; row++) {
        hole = isfinite(asc_run_value(run, row, "valid_unknown")) && !isfinite(asc_run_value(run, row, r->metric));
    }
    return hole;
}

static void tell_holes(report *r)
{
    for (int i = 0; i < r->n_variants; i++) {
        const variant *v = &r->variants[i];
        int64_t n = 0;
        for (int64_t k = 0; k < v->n; k++) {
            n += has_holes(r, v->runs[k].run);
        }
        if (n > 0) {
            document_item(&r->doc, v->name,
                          "%lld of %lld seed%s with evaluations whose %s is not finite, which curves and crossings "
                          "leave out", (long long)n, (long long)v->n, v->n == 1 ? "" : "s", metric_title(r->metric));
        }
    }
    document_items_end(&r->doc);
}

void report_learning_curves(report *r)
{
    document_heading(&r->doc, "Learning curves");
    draw_curves(r, "curves-tokens", REPORT_TOKENS);
    draw_curves(r, "curves-minutes", REPORT_MINUTES);
    draw_curves(r, "curves-products", REPORT_PRODUCTS);
    report_crossings(r);
    tell_holes(r);
}

/* ---- ω over time ---- */

enum {
    BIASES = 3,
    PANEL_WIDTH = 330,
    PANEL_HEIGHT = 220,
    GAP_X = 80,
    GAP_Y = 100,
    PER_ROW = 3,
    KEY_WIDTH = 100,
    MOST_HEADS = 64
};

/* The curve of every head of every layer of every seed; how many. */
static int64_t collect_heads(report *r, const variant *v, const char *bias, asc_curve *curves, int64_t room)
{
    int64_t n = 0;
    for (int64_t i = 0; i < v->n; i++) {
        for (int layer = 0; layer < MOST_HEADS; layer++) { /* of a hybrid some are of another kind */
            for (int head = 0; head < MOST_HEADS && n < room; head++) {
                char key[80];
                snprintf(key, sizeof key, "ascender.omega_%s[%d][%d]", bias, layer, head);
                curves[n] = points_of(r, v->runs[i].run, key, 1);
                if (curves[n].n == 0) {
                    break;
                }
                n++;
            }
        }
    }
    return n;
}

static bool draw_omega(report *r, figure *f, const variant *v, int panel)
{
    static const char *const biases[BIASES] = {"align", "sep", "coh"};
    enum { ROOM = 4096 };
    figure_series series[BIASES];
    asc_curve *curves = cli_room(r->ctx, ROOM, sizeof *curves);
    int64_t n = 0;
    for (int b = 0; curves && b < BIASES; b++) {
        series[n] = band_of(r, curves, collect_heads(r, v, biases[b], curves, ROOM));
        series[n].name = biases[b];
        series[n].style = b;
        series[n].unkeyed = panel > 0;
        n += series[n].n > 0;
    }
    if (n > 0) {
        figure_box key = {f->width - KEY_WIDTH, TOP, 0, 0},
                   box = {LEFT + panel % PER_ROW * (PANEL_WIDTH + GAP_X),
                          TOP + panel / PER_ROW * (PANEL_HEIGHT + GAP_Y), PANEL_WIDTH, PANEL_HEIGHT};
        figure_curves(f, &box,
                      &(figure_plot){.title = v->name,
                                     .x_title = "tokens",
                                     .y_title = "\xcf\x89",
                                     .series = series,
                                     .n_series = n,
                                     .key = &key});
    }
    return n > 0;
}

/* Whether the variant's runs tell ω at all. */
static bool has_omega(const variant *v)
{
    const char *key;
    for (int i = 0; v->n > 0 && (key = asc_run_key_at(v->runs[0].run, i)); i++) {
        if (strncmp(key, "ascender.omega_", strlen("ascender.omega_")) == 0) {
            return true;
        }
    }
    return false;
}

void report_figure_omega(report *r)
{
    int panels = 0, drawn = 0;
    for (int i = 0; i < r->n_variants; i++) {
        panels += has_omega(&r->variants[i]);
    }
    if (panels == 0) {
        document_text(&r->doc, "\xcf\x89 over time: no run has ASCender layers.");
        return;
    }
    char title[400];
    figure f;
    int columns = panels < PER_ROW ? panels : PER_ROW, rows = (panels + PER_ROW - 1) / PER_ROW;
    snprintf(title, sizeof title, "%.200s: the weights \xcf\x89 of the biases", asc_experiment_name(r->experiment));
    figure_begin(&f, title, LEFT + columns * (PANEL_WIDTH + GAP_X) - GAP_X + KEY_WIDTH + 10,
                 TOP + rows * (PANEL_HEIGHT + GAP_Y) - 20);
    for (int i = 0; i < r->n_variants; i++) {
        if (has_omega(&r->variants[i])) {
            asc_scope_begin(r->ctx);
            drawn += draw_omega(r, &f, &r->variants[i], drawn);
            asc_scope_end(r->ctx);
        }
    }
    report_end_figure(
        r, &f, "omega",
        "\xcf\x89 of alignment, separation and cohesion over time: mean over layers, heads and seeds, the "
        "band is one deviation over them.");
}
