/* tools/inspect/planes.c: the Plücker coordinates of a layer: a map for each pair, tokens down, coordinates across. */
#include <math.h>

#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

enum { TOP = 84, BAR_SPACE = 60, ROW_SPACE = 70, PER_ROW = 2, NAME = 24 };

typedef struct coordinates {
    const double *values; /* (m, N, P) */
    int64_t pairs, N, P;
    figure_labels names; /* of the coordinates; most are empty */
    double reach;        /* of the colours: three times the root mean square, or the largest if that is less */
} coordinates;

bool inspect_has_layer_planes(const inspection *in)
{
    return inspect_has_planes(in, in->layer);
}

/* The coordinates pair by pair, a pair that is not there as NaN. */
static coordinates collect(const inspection *in)
{
    asc_tensor p = asc_params_find(in->parts, "plucker");
    asc_tensor by_pair = asc_transpose(in->ctx, asc_squeeze(in->ctx, asc_cast(in->ctx, p, ASC_F64), 0), 0, 1);
    asc_tensor copy = asc_zeros(in->ctx, ASC_F64, asc_ndim(by_pair), asc_shape(by_pair));
    asc_copy(in->ctx, copy, by_pair);
    coordinates c = {.pairs = asc_size(copy, 0), .N = asc_size(copy, 1), .P = asc_size(copy, 2)};
    double *values = asc_data_mut(copy), squares = 0, largest = 0, count = 0;
    for (int64_t row = 0; values && row < c.pairs * c.N; row++) {
        double most = 0;
        for (int64_t e = row * c.P; e < (row + 1) * c.P; e++) {
            most = fmax(most, fabs(values[e]));
            squares += values[e] * values[e];
        }
        for (int64_t e = row * c.P; most == 0 && e < (row + 1) * c.P; e++) {
            values[e] = NAN;
        }
        largest = fmax(largest, most);
        count += most > 0 ? (double)c.P : 0;
    }
    c.values = values;
    c.reach = count > 0 ? fmin(3 * sqrt(squares / count), largest) : 1;
    return c;
}

/* Names each first coordinate of an i by "i,j", from 0, with the group before it where there are several. */
static void name_group(const char **names, char *texts, int64_t q, int64_t group, int64_t groups)
{
    int64_t e = 0;
    for (int64_t i = 0; i + 1 < q; i++) {
        snprintf(texts + e * NAME, NAME, groups > 1 ? "%d,%d of %d" : "%d,%d", (int)i, (int)i + 1, (int)group);
        for (int64_t j = i + 1; j < q; j++, e++) {
            names[e] = texts + e * NAME;
        }
    }
}

static void name_coordinates(const inspection *in, coordinates *c)
{
    int64_t groups = asc_size(inspect_planes(in, in->parts, in->layer), 2), each = c->P / groups;
    char *texts = cli_room(in->ctx, c->P, NAME);
    const char **names = cli_room(in->ctx, c->P, sizeof *names);
    for (int64_t g = 0; g < groups && texts && names; g++) {
        name_group(names + g * each, texts + g * each * NAME, asc_plane_space(each), g, groups);
    }
    c->names = (figure_labels){texts ? names : NULL, c->P};
}

static int draw(inspection *in, const coordinates *c)
{
    double labels = figure_labels_width(&in->tokens), width = fmin(fmax(1.2 * (double)c->P, 260), 600);
    double height = fmin(fmax(11.5 * (double)c->N, 120), 400), pitch_x = width + BAR_SPACE,
           pitch_y = height + ROW_SPACE;
    int columns = c->pairs > 1 ? PER_ROW : 1, rows = (int)(c->pairs + columns - 1) / columns;
    char title[80], pair[32], name[64];
    figure f;
    snprintf(title, sizeof title, "layer %lld, normalised Pl\xc3\xbc\x63ker coordinates", (long long)in->layer);
    inspect_begin_figure(in, &f, title,
                         "Tokens down, coordinates p_ij across, i < j in row-major order; where i changes its number "
                         "and that of j stand below.",
                         (int)fmax(16 + labels + columns * pitch_x, 700), (int)(TOP + rows * pitch_y));
    for (int64_t i = 0; i < c->pairs; i++) {
        int64_t row = i / columns, column = i % columns;
        inspect_pair_name(in, in->layer, i, pair, sizeof pair);
        snprintf(name, sizeof name, *pair == 't' ? "z(t) \xe2\x88\xa7 z(%s)" : "z(t) \xe2\x88\xa7 %s", pair);
        figure_heat(&f,
                    &(figure_box){16 + labels + (double)column * pitch_x, TOP + (double)row * pitch_y, width, height},
                    &(figure_map){
                        .title = name,
                        .values = c->values + i * c->N * c->P,
                        .rows = c->N,
                        .columns = c->P,
                        .low = -c->reach,
                        .high = c->reach,
                        .beyond = true,
                        .palette = FIGURE_DIVERGING,
                        .x = &c->names,
                        .y = &in->tokens,
                        .no_y_ticks = column > 0,
                    });
    }
    return inspect_end_figure(in, &f, "planes");
}

int inspect_draw_planes(inspection *in)
{
    int status = CLI_OK;
    asc_scope_begin(in->ctx);
    coordinates c = collect(in);
    name_coordinates(in, &c);
    if (c.values && c.names.texts) {
        status = draw(in, &c);
    }
    asc_scope_end(in->ctx);
    return status == CLI_OK ? cli_report(in->ctx) : status;
}
