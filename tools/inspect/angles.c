/* tools/inspect/angles.c: how a Grassmann model's planes turn: from token to token in a layer, from layer to layer; the
 * spectra of the mean planes; the gates. */
#include <math.h>

#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

enum { TOP = 66, GAP = 70, PLOT_HEIGHT = 190, ROW_NAME = 24 };
static const double degrees = 57.295779513082320877;

/* ---- from token to token: maps of both angles, a row for each pair and group ---- */

typedef struct turns {
    double *theta[2]; /* (rows, N - 1) in degrees */
    const char **names;
    int64_t rows, columns;
} turns;

static void name_rows(const inspection *in, turns *t, int64_t groups, char *texts)
{
    for (int64_t row = 0; row < t->rows; row++) {
        char *text = texts + row * ROW_NAME, pair[ROW_NAME - 8];
        inspect_pair_name(in, in->layer, row / groups, pair, sizeof pair);
        snprintf(text, ROW_NAME, groups > 1 ? "%s/%d" : "%s", pair, (int)(row % groups));
        t->names[row] = text;
    }
}

/* In the scope; rows is 0 where there is nothing to show. */
static turns measure(inspection *in)
{
    asc_ctx *ctx = in->ctx;
    asc_tensor p = inspect_planes(in, in->parts, in->layer);
    int64_t N = asc_size(p, 0), pairs = asc_size(p, 1), groups = asc_size(p, 2);
    if (N < 2) {
        return (turns){.rows = 0};
    }
    turns t = {.rows = pairs * groups, .columns = N - 1};
    const double *angle = asc_data(asc_contiguous(ctx, inspect_next_angles(in, p)));
    char *texts = cli_room(ctx, t.rows, ROW_NAME);
    t.names = cli_room(ctx, t.rows, sizeof *t.names);
    t.theta[0] = asc_data_mut(asc_zeros(ctx, ASC_F64, 2, (int64_t[]){t.rows, t.columns}));
    t.theta[1] = asc_data_mut(asc_zeros(ctx, ASC_F64, 2, (int64_t[]){t.rows, t.columns}));
    if (!angle || !texts || !t.names || !t.theta[0] || !t.theta[1]) {
        return (turns){.rows = 0};
    }
    name_rows(in, &t, groups, texts);
    for (int64_t e = 0; e < t.rows * t.columns; e++) {
        int64_t row = e / t.columns, column = e % t.columns;
        for (int a = 0; a < 2; a++) {
            t.theta[a][e] = degrees * angle[2 * (column * t.rows + row) + a];
        }
    }
    return t;
}

static void draw_turns(figure *f, const inspection *in, const turns *t, const figure_box *box, int which)
{
    char title[80];
    snprintf(title, sizeof title, "layer %lld: angle \xce\xb8%d from a token's plane to the next one's",
             (long long)in->layer, which + 1);
    figure_heat(f, box,
                &(figure_map){
                    .title = title,
                    .values = t->theta[which],
                    .rows = t->rows,
                    .columns = t->columns,
                    .low = 0,
                    .high = 90,
                    .palette = FIGURE_SEQUENTIAL,
                    .x = &(figure_labels){in->tokens.texts, t->columns},
                    .y = which == 0 ? &(figure_labels){t->names, t->rows} : NULL,
                });
}

/* ---- all layers: curves from the summary ---- */

/* Bars, so that the one pair of layers that a small model has is to be seen. */
static void add_angles_to_below(inspect_curves *c)
{
    static const char *const names[] = {"\xce\xb8\x31", "\xce\xb8\x32"};
    c->n = 0;
    for (size_t a = 0; a < 2; a++) {
        figure_series *bars = inspect_curve(c, c->in->layers, (int)a, names[a]);
        bars->mark = FIGURE_BARS;
        for (int64_t l = 1; l < c->in->layers; l++) {
            inspect_point(bars, (double)l - 1, json_array_get(inspect_member(c->in, l, "angles_to_layer_below"), a));
            snprintf(c->names[l - 1], INSPECT_CURVE_NAME, "%lld over %lld", (long long)l, (long long)l - 1);
            c->groups[l - 1] = c->names[l - 1];
        }
    }
    c->n = c->lines[0].n > 0 ? 2 : 0; /* a model of one layer has none below */
}

/* The plots that there is something for, side by side. */
static void draw_layers(figure *f, inspect_curves *c, double left, double top, double width)
{
    int column = 0;
    for (int i = 0; i < 3; i++) {
        figure_plot plot = {.from_zero = true};
        if (i == 0) {
            inspect_curves_of(c, "gate", "histogram", .5 / INSPECT_BINS, 1. / INSPECT_BINS);
            plot.title = "gate \xce\xb1: how its values are distributed";
            plot.x_title = "\xce\xb1, the share of h";
            plot.x_step = .25;
        } else if (i == 1) {
            inspect_curves_of(c, "mean_spectrum", NULL, 1, 1);
            plot.title = "mean projector: eigenvalues";
            plot.x_title = "number";
        } else {
            add_angles_to_below(c);
            plot.title = "mean angles to the layer below (degrees)";
            plot.x_title = "layers";
            plot.high = 90;
            plot.groups = c->groups;
            plot.n_groups = c->in->layers - 1;
        }
        figure_box key = {left + column * (width + GAP) + width + 8, top, 0, 0};
        plot.key = i == 2 ? &key : NULL;
        plot.series = c->lines;
        plot.n_series = c->n;
        if (c->n > 0) {
            figure_curves(f, &(figure_box){left + column++ * (width + GAP), top, width, PLOT_HEIGHT}, &plot);
        }
    }
}

/* ---- the figure ---- */

static int draw(inspection *in, const turns *t, inspect_curves *c)
{
    double labels = figure_labels_width(&in->tokens), left = 90, width = fmin(fmax(14 * (double)t->columns, 420), 560);
    double height = fmin(fmax(16 * (double)t->rows, 60), 400), second = t->rows > 0 ? TOP + height + labels + 40 : TOP;
    double plot = (2 * width + GAP - 2 * GAP) / 3;
    figure f;
    inspect_begin_figure(in, &f, "angles between planes, their means, gates", NULL,
                         (int)(left + 2 * (width + GAP) + 20), (int)(second + PLOT_HEIGHT + 60));
    for (int a = 0; a < 2 && t->rows > 0; a++) {
        draw_turns(&f, in, t, &(figure_box){left + a * (width + GAP), TOP, width, height}, a);
    }
    draw_layers(&f, c, left, second, fmax(plot, 150));
    return inspect_end_figure(in, &f, "angles");
}

int inspect_draw_angles(inspection *in)
{
    int status = CLI_OK;
    asc_scope_begin(in->ctx);
    turns t = measure(in);
    inspect_curves c = inspect_curves_make(in, 2);
    if (asc_error(in->ctx) == ASC_OK) {
        status = draw(in, &t, &c);
    }
    asc_scope_end(in->ctx);
    return status == CLI_OK ? cli_report(in->ctx) : status;
}
