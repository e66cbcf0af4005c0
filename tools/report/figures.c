/* tools/report/figures.c: the figures that an experiment asks for: quality against cost, ablations, length. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "tools/report/report.h"

enum { PANEL_WIDTH = 300, PANEL_HEIGHT = 260, GAP = 90, LEFT = 80, TOP = 70, BOTTOM = 60 };

void report_end_figure(report *r, figure *f, const char *name, const char *caption)
{
    char stem[4096];
    snprintf(stem, sizeof stem, "%s/figures/%s", r->folder, name);
    unsigned formats = r->doc.status == CLI_OK ? FIGURE_SVG | FIGURE_CSV | FIGURE_SCRIPT : 0;
    int status = figure_end(f, r->ctx, stem, formats, r->files);
    r->status = status > r->status ? status : r->status;
    document_heed(&r->doc, status);
    document_figure(&r->doc, name, "svg", caption);
}

/* ---- quality against cost ---- */

static double mflop_of(const trained *t)
{
    return 1000 * asc_run_info_of(t->run)->gflop_per_token;
}

static double ms_of(const trained *t)
{
    return 1000 / asc_run_info_of(t->run)->tokens_per_s;
}

static double timed_ms_of(const trained *t)
{
    return 1000 / t->speed.mean;
}

static double memory_of(const trained *t)
{
    return asc_run_info_of(t->run)->peak_rss_mib;
}

static const struct cost {
    const char *title;
    report_number *of;
} costs[] = {
    {"MFLOP a token of training", mflop_of},
    {"ms a token by the runs' clocks", ms_of},
    {"peak memory, MiB", memory_of},
}, timed = {"ms a token, timed for the report", timed_ms_of}; /* one clock for all */
enum { COSTS = sizeof costs / sizeof *costs };

static const struct cost *cost_at(const report *r, int i)
{
    return costs[i].of == ms_of && r->bench_threads > 0 ? &timed : &costs[i];
}

/* The points of one kind of cost, one series a variant, and behind them the front. */
typedef struct scatter {
    figure_series *series;      /* [variants + 1] */
    double *x, *y, *low, *high; /* [variants] */
    double *front_x, *front_y;
    int64_t n, n_front;
} scatter;

static void add_front(report *r, scatter *s)
{
    uint8_t *on = cli_room(r->ctx, s->n, sizeof *on);
    if (!on || s->n < 2 || asc_stats_front(r->ctx, s->x, s->y, s->n, on)) {
        return;
    }
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = s->n_front;
        if (!on[i]) {
            continue;
        }
        for (; at > 0 && s->front_x[at - 1] > s->x[i]; at--) { /* by cost */
            s->front_x[at] = s->front_x[at - 1];
            s->front_y[at] = s->front_y[at - 1];
        }
        s->front_x[at] = s->x[i];
        s->front_y[at] = s->y[i];
        s->n_front++;
    }
    s->series[s->n] = (figure_series){
        .name = "Pareto front", .x = s->front_x, .y = s->front_y, .n = s->n_front, .mark = FIGURE_STEPS, .style = 3};
}

static bool collect_costs(report *r, const struct cost *cost, scatter *s)
{
    int64_t room = r->n_variants + 1;
    *s = (scatter){.series = cli_room(r->ctx, room, sizeof *s->series),
                   .x = report_numbers(r, room),
                   .y = report_numbers(r, room),
                   .low = report_numbers(r, room),
                   .high = report_numbers(r, room),
                   .front_x = report_numbers(r, room),
                   .front_y = report_numbers(r, room)};
    if (asc_error(r->ctx)) {
        return false;
    }
    for (int i = 0; i < r->n_variants; i++) {
        asc_spread x = report_spread(r, &r->variants[i], cost->of),
                   y = report_spread(r, &r->variants[i], report_quality(r));
        if (isfinite(x.mean) && isfinite(y.mean)) {
            int64_t n = s->n++;
            s->x[n] = x.mean;
            s->y[n] = y.mean;
            s->low[n] = y.mean - y.std;
            s->high[n] = y.mean + y.std;
            s->series[n] = (figure_series){.name = r->variants[i].name,
                                           .x = s->x + n,
                                           .y = s->y + n,
                                           .n = 1,
                                           .low = s->low + n,
                                           .high = s->high + n,
                                           .mark = FIGURE_POINTS,
                                           .style = i};
        }
    }
    if (s->n > 0) {
        add_front(r, s);
    }
    return s->n > 0;
}

static void draw_cost(report *r)
{
    char title[400];
    figure f;
    int panels = 0;
    asc_scope_begin(r->ctx);
    scatter s[COSTS];
    double key = 0;
    for (int i = 0; i < COSTS; i++) {
        bool any = collect_costs(r, cost_at(r, i), &s[i]);
        panels += any;
        key = any ? fmax(key, figure_key_width(s[i].series, s[i].n + (s[i].n_front > 0))) : key;
    }
    if (panels == 0) {
        document_text(&r->doc, "Quality against cost: no run says what it cost.");
    } else {
        int width = LEFT + panels * (PANEL_WIDTH + GAP) - GAP + 10, placed = 0;
        snprintf(title, sizeof title, "%.200s: quality against cost", asc_experiment_name(r->experiment));
        figure_begin(&f, title, width + (int)key, TOP + PANEL_HEIGHT + BOTTOM);
        for (int i = 0; i < COSTS; i++) {
            figure_box box = {LEFT + placed * (PANEL_WIDTH + GAP), TOP, PANEL_WIDTH, PANEL_HEIGHT},
                       beside = {width + 4, TOP, 0, 0};
            if (s[i].n > 0) {
                bool last = ++placed == panels;
                for (int64_t k = 0; k <= s[i].n; k++) {
                    s[i].series[k].unkeyed = !last;
                }
                figure_curves(&f, &box,
                              &(figure_plot){.panel = cost_at(r, i)->title,
                                             .x_title = cost_at(r, i)->title,
                                             .y_title = report_quality_title(r),
                                             .series = s[i].series,
                                             .n_series = s[i].n + (s[i].n_front > 0),
                                             .key = &beside});
            }
        }
        report_end_figure(
            r, &f, "cost",
            "Quality against cost: mean over the seeds, bars are one deviation; the front is what no other "
            "system beats in both.");
    }
    asc_scope_end(r->ctx);
}

/* ---- ablations ---- */

/* A number of every system, bars side by side for the cells. */
static figure_series *bars_of(report *r, report_number *of, const char **groups, int64_t *n_groups)
{
    int64_t n = 0;
    figure_series *series = cli_room(r->ctx, r->n_cells, sizeof *series);
    while ((groups[n] = asc_experiment_system(r->experiment, (int)n))) {
        n++;
    }
    for (int c = 0; series && c < r->n_cells; c++) {
        double *x = report_numbers(r, n), *y = report_numbers(r, n), *low = report_numbers(r, n),
               *high = report_numbers(r, n);
        int64_t bars = 0;
        for (int i = 0; x && y && low && high && i < r->n_variants; i++) {
            asc_spread s = report_spread(r, &r->variants[i], of);
            if (r->variants[i].cell == c && isfinite(s.mean)) {
                x[bars] = r->variants[i].system;
                y[bars] = s.mean;
                low[bars] = s.mean - s.std;
                high[bars++] = s.mean + s.std;
            }
        }
        series[c] = (figure_series){.name = *r->cells[c].name ? r->cells[c].name : "all",
                                    .x = x,
                                    .y = y,
                                    .low = low,
                                    .high = high,
                                    .n = bars,
                                    .mark = FIGURE_BARS,
                                    .style = c,
                                    .unkeyed = r->n_cells == 1};
    }
    *n_groups = n;
    return asc_error(r->ctx) ? NULL : series;
}

static bool has_bars(const figure_series *series, int n)
{
    for (int i = 0; series && i < n; i++) {
        if (series[i].n > 0) {
            return true;
        }
    }
    return false;
}

static size_t longest(const char *const *texts, int64_t n)
{
    size_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = strlen(texts[i]) > most ? strlen(texts[i]) : most;
    }
    return most;
}

static void draw_ablation(report *r)
{
    char title[400];
    int64_t n;
    asc_scope_begin(r->ctx);
    const char **groups = cli_room(r->ctx, r->n_variants + 1, sizeof *groups);
    figure_series *quality = groups ? bars_of(r, report_quality(r), groups, &n) : NULL;
    figure_series *flops = quality ? bars_of(r, mflop_of, groups, &n) : NULL,
                  *time = flops ? bars_of(r, ms_of, groups, &n) : NULL;
    if (time && has_bars(quality, r->n_cells)) {
        bool counted = has_bars(flops, r->n_cells);
        double width = fmax(PANEL_WIDTH, 46 * (double)n);
        figure f;
        snprintf(title, sizeof title, "%.200s: what each part is worth, and what it costs",
                 asc_experiment_name(r->experiment));
        figure_begin(&f, title, (int)(LEFT + 2 * width + GAP + 20),
                     TOP + PANEL_HEIGHT + 30 + (int)(3.4 * (double)longest(groups, n)));
        figure_curves(&f, &(figure_box){LEFT, TOP, width, PANEL_HEIGHT},
                      &(figure_plot){.title = report_quality_title(r),
                                     .series = quality,
                                     .n_series = r->n_cells,
                                     .groups = groups,
                                     .n_groups = n,
                                     .from_zero = true});
        figure_curves(&f, &(figure_box){LEFT + width + GAP, TOP, width, PANEL_HEIGHT},
                      &(figure_plot){.title = counted ? costs[0].title : costs[1].title,
                                     .series = counted ? flops : time,
                                     .n_series = r->n_cells,
                                     .groups = groups,
                                     .n_groups = n,
                                     .from_zero = true});
        report_end_figure(
            r, &f, "ablation",
            "Quality and cost of each system: mean over the seeds, lines are one deviation to both sides.");
    } else {
        document_text(&r->doc, "Ablation: no run is done.");
    }
    asc_scope_end(r->ctx);
}

/* ---- length ---- */

static int64_t read_lengths(const report *r, int64_t lengths[REPORT_MOST])
{
    json_t *list = json_object_get(r->wants, "lengths"), *value;
    int64_t n = 0;
    size_t i;
    json_array_foreach(list, i, value) {
        if (n < REPORT_MOST) {
            lengths[n++] = json_integer_value(value);
        }
    }
    for (int64_t length = 128; !list && length <= 16384; length *= 2) {
        lengths[n++] = length;
    }
    return n;
}

/* Models with learned positions have none past their block. */
static bool reaches(const asc_run *run, int64_t length)
{
    const char *learned = asc_run_setting(run, "pos_emb"), *block = asc_run_setting(run, "block");
    return !learned || strcmp(learned, "true") != 0 || !block || length <= atoll(block);
}

/* The perplexity in blocks of a length, over the seeds; NaN where it can't be had. */
static asc_spread quality_at(report *r, const variant *v, int64_t length)
{
    double *values = report_numbers(r, v->n);
    int64_t n = 0;
    for (int64_t i = 0; values && i < v->n && reaches(v->runs[i].run, length); i++) {
        asc_scores *scores = report_score_one(r, v->runs[i].run, length);
        if (scores) {
            const trained one = {.run = v->runs[i].run, .scores = scores};
            values[n++] = report_quality(r)(&one);
        } else if (asc_error(r->ctx) != ASC_ERR_MEMORY && asc_error(r->ctx) != ASC_ERR_INTERRUPTED) {
            cli_message("%s at length %lld: %s", asc_run_folder(v->runs[i].run), (long long)length,
                        asc_error_message(r->ctx));
            asc_error_clear(r->ctx);
        }
        asc_scores_free(r->ctx, scores);
    }
    return asc_error(r->ctx) ? (asc_spread){NAN, NAN} : report_spread_of(r, values, n);
}

static figure_series lengths_of(report *r, int number, const int64_t *lengths, int64_t n)
{
    const variant *v = &r->variants[number];
    double *x = report_numbers(r, n), *y = report_numbers(r, n), *low = report_numbers(r, n),
           *high = report_numbers(r, n);
    int64_t points = 0;
    for (int64_t i = 0; x && y && low && high && i < n; i++) {
        asc_spread s = quality_at(r, v, lengths[i]);
        if (isfinite(s.mean)) {
            x[points] = (double)lengths[i];
            y[points] = s.mean;
            low[points] = s.mean - s.std;
            high[points++] = s.mean + s.std;
        }
    }
    return (figure_series){.name = v->name,
                           .x = x,
                           .y = y,
                           .low = low,
                           .high = high,
                           .n = points,
                           .mark = FIGURE_LINE_AND_POINTS,
                           .style = number};
}

static void draw_length(report *r)
{
    int64_t lengths[REPORT_MOST], n = read_lengths(r, lengths), shown = 0;
    asc_scope_begin(r->ctx);
    figure_series *series = cli_room(r->ctx, r->n_variants, sizeof *series);
    for (int i = 0; series && i < r->n_variants && asc_error(r->ctx) == ASC_OK; i++) {
        series[shown] = lengths_of(r, i, lengths, n);
        shown += series[shown].n > 0;
    }
    if (shown > 0) {
        enum { WIDTH = 620 };
        char title[400];
        figure f;
        figure_box box = {LEFT, TOP, WIDTH - LEFT - 10, PANEL_HEIGHT + 40}, beside = {WIDTH + 4, TOP, 0, 0};
        snprintf(title, sizeof title, "%.200s: quality over the length", asc_experiment_name(r->experiment));
        figure_begin(&f, title, WIDTH + (int)figure_key_width(series, shown), TOP + PANEL_HEIGHT + 40 + BOTTOM);
        figure_curves(&f, &box,
                      &(figure_plot){.x_title = "tokens of a block",
                                     .y_title = report_quality_title(r),
                                     .series = series,
                                     .n_series = shown,
                                     .log_x = 2,
                                     .key = &beside});
        report_end_figure(
            r, &f, "length",
            "Quality over the length of the blocks that the models are evaluated on; mean over the seeds, "
            "the band is one deviation. Models with learned positions end at the block they were trained with.");
    } else {
        document_text(&r->doc, "Quality over length: no model could be evaluated at the lengths asked for.");
    }
    asc_scope_end(r->ctx);
}

/* ---- which ---- */

static const struct kind {
    const char *name;
    int number; /* the papers'; 0: none */
    void (*draw)(report *r);
} kinds[] = {
    {"decomposition", 1, report_figure_decomposition},
    {"cost", 2, draw_cost},
    {"ablation", 3, draw_ablation},
    {"heads", 4, report_figure_heads},
    {"length", 5, draw_length},
    {"omega", 0, report_figure_omega},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *find_kind(const json_t *wanted)
{
    json_int_t number = json_integer_value(wanted);
    for (int i = 0; i < KINDS; i++) {
        bool by_name = json_is_string(wanted) && strcmp(json_string_value(wanted), kinds[i].name) == 0;
        if (by_name || (number > 0 && number == kinds[i].number)) {
            return &kinds[i];
        }
    }
    return NULL;
}

const char *report_guess_figure(const char *name)
{
    const char *names[KINDS + 1] = {NULL};
    for (int i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
    }
    return asc_name_guess(name, names);
}

bool report_knows_figure(const json_t *wanted)
{
    return find_kind(wanted) != NULL;
}

void report_figures(report *r)
{
    json_t *figures = json_object_get(r->wants, "figures"), *wanted;
    size_t i;
    if (json_array_size(figures) > 0) {
        document_heading(&r->doc, "Figures");
    }
    json_array_foreach(figures, i, wanted)
    {
        find_kind(wanted)->draw(r);
    }
}
