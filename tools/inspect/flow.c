/* tools/inspect/flow.c: the path of a Grassmann model's coordinates as a figure: alignment, curvature and stability
 * token by token in all layers; the mean and the leading direction of one layer; what each layer has of them. */
#include <math.h>

#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

enum { TOP = 66, LEFT = 70, GAP = 70, WIDTH = 330, HEIGHT = 190, SECOND = TOP + HEIGHT + 76 };

bool inspect_has_flow(const inspection *in)
{
    bool any = false;
    for (int64_t l = 0; l < in->layers; l++) {
        any = any || inspect_member(in, l, "flow");
    }
    return any;
}

static figure_box box_of(int column, double top)
{
    return (figure_box){LEFT + column * (WIDTH + GAP), top, WIDTH, HEIGHT};
}

/* ---- token by token ---- */

static void draw_rows(figure *f, inspect_curves *c)
{
    static const struct {
        const char *key, *title;
    } rows[] = {
        {"alignment_rows", "alignment with the mean direction so far"},
        {"curvature_rows", "curvature: distance from the token before"},
        {"stability_below_rows", "stability: what is shared with the layer below"},
    };
    const figure_box key = {LEFT + 3 * WIDTH + 2 * GAP + 8, TOP, 0, 0}; /* the first one's is all the others' */
    for (int i = 0; i < 3; i++) {
        figure_box box = box_of(i, TOP);
        inspect_curves_of(c, "flow", rows[i].key, 0, 1);
        for (int64_t l = 0; l < c->n; l++) {
            c->lines[l].unkeyed = i > 0;
        }
        if (c->n > 0) {
            figure_curves(f, &box, &(figure_plot){.title = rows[i].title, .x_title = "token", .series = c->lines,
                                                  .n_series = c->n, .key = i == 0 ? &key : NULL});
        }
    }
}

/* ---- one layer's directions: groups down, coordinates across ---- */

static void draw_direction(figure *f, const figure_box *box, asc_tensor direction, const char *title)
{
    const double *values = asc_data(direction);
    double reach = 0;
    for (int64_t e = 0; values && e < asc_numel(direction); e++) {
        reach = fmax(reach, fabs(values[e]));
    }
    if (values) {
        figure_heat(f, box, &(figure_map){.title = title, .values = values, .rows = asc_size(direction, 0),
                                          .columns = asc_size(direction, 1), .low = reach > 0 ? -reach : -1,
                                          .high = reach > 0 ? reach : 1, .palette = FIGURE_DIVERGING,
                                          .x_title = "coordinate", .y_title = "group"});
    }
}

static void draw_directions(figure *f, const inspection *in)
{
    asc_tensor u = inspect_flow(in, in->parts), share;
    if (asc_is_null(u)) {
        return;
    }
    asc_tensor mean = asc_flow_mean(in->ctx, u), leading = asc_flow_leading(in->ctx, u, &share);
    figure_box half = box_of(0, SECOND), other = half;
    char title[100];
    half.width = other.width = WIDTH - 60; /* beside it stands the colours' scale */
    half.height = other.height = HEIGHT / 2. - 42;
    other.top += HEIGHT / 2. + 42;
    snprintf(title, sizeof title, "layer %lld: mean direction", (long long)in->layer);
    draw_direction(f, &half, mean, title);
    snprintf(title, sizeof title, "layer %lld: leading direction, %.0f %% of the variance", (long long)in->layer,
             100 * asc_item(asc_mean(in->ctx, share, ASC_ALL_DIMS, false)));
    draw_direction(f, &other, leading, title);
}

/* ---- layer by layer ---- */

static void draw_layers(figure *f, inspect_curves *c)
{
    static const char *const names[] = {"length of the mean", "leading share", "alignment", "curvature", "stability"};
    c->n = 0;
    for (int i = 0; i < 5; i++) {
        figure_series *bars = inspect_curve(c, c->in->layers, i, names[i]);
        bars->mark = FIGURE_BARS;
        for (int64_t l = 0; l < c->in->layers; l++) {
            inspect_point(bars, (double)l, json_object_get(inspect_member(c->in, l, "flow"), inspect_flow_keys[i]));
            snprintf(c->names[l], INSPECT_CURVE_NAME, "layer %lld", (long long)l);
            c->groups[l] = c->names[l];
        }
    }
    figure_box box = box_of(1, SECOND), key = {box.left + 2 * WIDTH + 8, SECOND, 0, 0};
    box.width = 2 * WIDTH;
    figure_curves(f, &box, &(figure_plot){.title = "means over the tokens", .series = c->lines, .n_series = c->n,
                                          .groups = c->groups, .n_groups = c->in->layers, .from_zero = true,
                                          .key = &key});
}

int inspect_draw_flow(inspection *in)
{
    figure f;
    asc_scope_begin(in->ctx);
    inspect_curves c = inspect_curves_make(in, 5);
    inspect_begin_figure(in, &f, "the path of the coordinates", NULL, LEFT + 3 * (WIDTH + GAP) + 60,
                         SECOND + HEIGHT + 60);
    if (asc_error(in->ctx) == ASC_OK) {
        draw_rows(&f, &c);
        draw_directions(&f, in);
        draw_layers(&f, &c);
    }
    int status = inspect_end_figure(in, &f, "paths");
    asc_scope_end(in->ctx);
    return status == CLI_OK ? cli_report(in->ctx) : status;
}
