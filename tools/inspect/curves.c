/* tools/inspect/curves.c: curves and bars of the numbers that the summary has of each layer. */
#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

inspect_curves inspect_curves_make(const inspection *in, int64_t least)
{
    int64_t room = in->layers > least ? in->layers : least;
    inspect_curves c = {.in = in};
    c.lines = cli_room(in->ctx, room, sizeof *c.lines);
    c.names = cli_room(in->ctx, room, INSPECT_CURVE_NAME);
    c.groups = cli_room(in->ctx, room, sizeof *c.groups);
    return c;
}

figure_series *inspect_curve(inspect_curves *c, int64_t n, int style, const char *name)
{
    double *x = asc_data_mut(asc_zeros(c->in->ctx, ASC_F64, 1, &n)),
           *y = asc_data_mut(asc_zeros(c->in->ctx, ASC_F64, 1, &n));
    figure_series *line = &c->lines[c->n++];
    *line = (figure_series){.name = name, .x = x, .y = y, .style = style, .mark = FIGURE_LINE_AND_POINTS};
    return line;
}

void inspect_point(figure_series *line, double x, const json_t *y)
{
    if (line->x && line->y && json_is_number(y)) {
        ((double *)line->x)[line->n] = x;
        ((double *)line->y)[line->n++] = json_number_value(y);
    }
}

void inspect_curves_of(inspect_curves *c, const char *key, const char *inner, double first, double step)
{
    c->n = 0;
    for (int64_t l = 0; l < c->in->layers; l++) {
        const json_t *list = inspect_member(c->in, l, key);
        list = inner ? json_object_get(list, inner) : list;
        int64_t n = (int64_t)json_array_size(list);
        if (n == 0) {
            continue;
        }
        snprintf(c->names[l], INSPECT_CURVE_NAME, "layer %lld", (long long)l);
        figure_series *line = inspect_curve(c, n, (int)l, c->names[l]);
        line->shaded = true;
        line->shade = c->in->layers > 1 ? (double)l / (double)(c->in->layers - 1) : 0;
        for (int64_t i = 0; i < n; i++) {
            inspect_point(line, first + step * (double)i, json_array_get(list, (size_t)i));
        }
    }
}
