/* tools/inspect/planes.c: the Plücker coordinates of a layer: a map for each pair, tokens down, coordinates across. */
#include <math.h>

#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

enum { TOP = 66, BAR_SPACE = 60, ROW_SPACE = 40, PER_ROW = 2 };

typedef struct coordinates {
    const double *values; /* (m, N, P) */
    int64_t pairs, N, P;
    double reach; /* of the colours: three times the root mean square, or the largest if that is less */
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

static int draw(inspection *in, const coordinates *c)
{
    double labels = figure_labels_width(&in->tokens), width = fmin(fmax(1.2 * (double)c->P, 260), 600);
    double height = fmin(fmax(11.5 * (double)c->N, 120), 400), pitch_x = width + BAR_SPACE,
           pitch_y = height + ROW_SPACE;
    int columns = c->pairs > 1 ? PER_ROW : 1, rows = (int)(c->pairs + columns - 1) / columns;
    char title[160], pair[32], name[64];
    figure f;
    snprintf(title, sizeof title,
             "layer %lld: normalised Pl\xc3\xbc\x63ker coordinates, tokens down, %lld coordinates across",
             (long long)in->layer, (long long)c->P);
    figure_begin(&f, title, (int)fmax(16 + labels + columns * pitch_x, 700), (int)(TOP + rows * pitch_y));
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
                        .y = column == 0 ? &in->tokens : NULL,
                    });
    }
    return inspect_end_figure(in, &f, "planes");
}

int inspect_draw_planes(inspection *in)
{
    int status = CLI_OK;
    asc_scope_begin(in->ctx);
    coordinates c = collect(in);
    if (c.values) {
        status = draw(in, &c);
    }
    asc_scope_end(in->ctx);
    return status == CLI_OK ? cli_report(in->ctx) : status;
}
