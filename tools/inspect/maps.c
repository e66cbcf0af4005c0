/* tools/inspect/maps.c: the heat maps of a layer's scores, biases and attention, a row for each head. */
#include <math.h>

#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

enum { MAPS_MAX = 7, TOP = 84, BAR_SPACE = 66, ROW_SPACE = 34 };

/* The parts that are shown, in order; parts of one group share a range of colours. */
static const struct part {
    const char *name, *title, *weight;
    int group;
} parts[MAPS_MAX] = {
    {"s_base", "S base", NULL, 0},
    {"b_align", "\xce\xb2\xcc\x83 align", "omega_align", 1},
    {"b_sep", "\xce\xb2\xcc\x83 sep", "omega_sep", 1},
    {"b_coh", "\xce\xb2\xcc\x83 coh", "omega_coh", 1},
    {"b_other", "\xce\xb2 other", NULL, 0},
    {"s", "scores S", NULL, 0},
    {"attn", "attention A", NULL, 2},
};
enum { SIGNED_GROUPS = 2, ATTENTION = 2, N_GROUPS = 3 };

/* The maps of a layer: values[m][h*N*N …], NaN outside of what a row may look at. */
typedef struct maps {
    const struct part *part[MAPS_MAX];
    double *values[MAPS_MAX];
    double reach[N_GROUPS]; /* of the colours, one for all heads, so that they compare */
    int n;
    int64_t N, heads;
    double panel; /* pixels */
} maps;

/* An entry that attention is 0 at and the scores, too, is outside of the allowed set. */
static void blank(double *values, const double *scores, const double *attention, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (attention[i] == 0 && scores[i] == 0) {
            values[i] = NAN;
        }
    }
}

static double *doubles_of(const inspection *in, const char *name)
{
    asc_tensor t = asc_params_find(in->parts, name);
    asc_tensor copy = asc_is_null(t) ? t : asc_zeros(in->ctx, ASC_F64, asc_ndim(t), asc_shape(t));
    asc_copy(in->ctx, copy, t);
    return asc_data_mut(copy);
}

static bool collect(const inspection *in, maps *m)
{
    asc_tensor s = asc_params_find(in->parts, "s");
    const double *scores = doubles_of(in, "s"), *attention = doubles_of(in, "attn");
    m->heads = asc_size(s, 1);
    m->N = asc_size(s, -1);
    for (int i = 0; i < MAPS_MAX && scores && attention; i++) {
        if (!asc_is_null(asc_params_find(in->parts, parts[i].name)) &&
            (m->values[m->n] = doubles_of(in, parts[i].name))) {
            blank(m->values[m->n], scores, attention, asc_numel(s));
            m->part[m->n++] = &parts[i];
        }
    }
    return m->n > 0;
}

/* Attention has a row that is 1 whatever the head does, a token that sees itself alone: the colours end before the
 * largest four of a thousand entries. */
static double attention_extent(const inspection *in)
{
    double high = 1;
    asc_quantiles(in->ctx, asc_params_find(in->parts, "attn"), 1, &(double){.996}, &high);
    return high > 0 ? high : 1;
}

/* The largest magnitude of a map. */
static double extent(const maps *m, int map, int64_t n)
{
    double most = 0;
    for (int64_t e = 0; e < n; e++) {
        most = fmax(most, fabs(m->values[map][e])); /* NaN is passed over */
    }
    return most;
}

static void set_scales(const inspection *in, maps *m)
{
    for (int i = 0; i < m->n; i++) {
        double *reach = &m->reach[m->part[i]->group];
        *reach = fmax(*reach, extent(m, i, m->heads * m->N * m->N));
    }
    m->reach[ATTENTION] = attention_extent(in);
}

/* The part's name, and a bias's weight; a map of zeros says so. */
static void name_map(const inspection *in, const maps *m, int map, int64_t head, char *title, size_t bytes)
{
    const struct part *part = m->part[map];
    const double *values = m->values[map] + head * m->N * m->N;
    bool empty = true;
    for (int64_t e = 0; e < m->N * m->N && empty; e++) {
        empty = !(fabs(values[e]) > 0);
    }
    if (empty) {
        snprintf(title, bytes, "%s: 0 throughout", part->title);
    } else if (part->weight) {
        snprintf(title, bytes, "%s, \xcf\x89 = %.3g", part->title, inspect_number(in, in->layer, part->weight, head));
    } else {
        snprintf(title, bytes, "%s", part->title);
    }
}

/* The scales stand beside the first row. */
static void draw_row(figure *f, const inspection *in, const maps *m, int64_t head, double left, double top, bool first,
                     bool last)
{
    char note[32], title[64];
    snprintf(note, sizeof note, "head %lld", (long long)head);
    figure_note(f, 16, top + m->panel / 2, true, note);
    for (int i = 0; i < m->n; i++) {
        bool is_signed = m->part[i]->group < SIGNED_GROUPS;
        double most = m->reach[m->part[i]->group];
        name_map(in, m, i, head, title, sizeof title);
        figure_heat(f, &(figure_box){left + i * (m->panel + BAR_SPACE), top, m->panel, m->panel},
                    &(figure_map){
                        .title = title,
                        .values = m->values[i] + head * m->N * m->N,
                        .rows = m->N,
                        .columns = m->N,
                        .low = is_signed ? -most : 0,
                        .high = most,
                        .no_bar = !first,
                        .beyond = !is_signed && most < 1,
                        .palette = is_signed ? FIGURE_DIVERGING : FIGURE_SEQUENTIAL,
                        .x = &in->tokens,
                        .y = &in->tokens,
                        .no_x_ticks = !last,
                        .no_y_ticks = i > 0,
                        .table_name = note,
                    });
    }
}

/* As large as labels that can be read need, within reason. */
static double panel_size(int64_t N)
{
    return fmin(fmax(11.5 * (double)N, 170), 400);
}

/* The sum that the maps are the parts of. */
static const char *what_is_shown(const maps *m)
{
    return m->n == MAPS_MAX ? "scores S = S base + \xcf\x89 \xce\xb2\xcc\x83 align + \xcf\x89 \xce\xb2\xcc\x83 sep + "
                              "\xcf\x89 \xce\xb2\xcc\x83 coh + \xce\xb2 other, and attention"
           : m->n > 4       ? "scores S = S base + \xcf\x89 \xce\xb2\xcc\x83 align + \xcf\x89 \xce\xb2\xcc\x83 sep + "
                              "\xcf\x89 \xce\xb2\xcc\x83 coh, and attention"
           : m->n > 2       ? "scores S = S base + \xce\xb2 other, and attention"
                            : "scores and attention";
}

bool inspect_has_maps(const inspection *in)
{
    return inspect_heads(in, in->layer) > 0;
}

int inspect_draw_maps(inspection *in)
{
    maps m = {.panel = panel_size(in->tokens.n)};
    int status = CLI_OK;
    asc_scope_begin(in->ctx);
    if (collect(in, &m)) {
        int64_t first = in->head < 0 ? 0 : in->head, rows = in->head < 0 ? m.heads : 1;
        double labels = figure_labels_width(&in->tokens), left = 34 + labels, pitch = m.panel + ROW_SPACE;
        char title[160];
        figure f;
        snprintf(title, sizeof title, "layer %lld, %s", (long long)in->layer, what_is_shown(&m));
        set_scales(in, &m);
        inspect_begin_figure(
            in, &f, title,
            "Query tokens down, key tokens across. S, S base and \xce\xb2 other share one scale in all "
            "heads, so do the \xce\xb2\xcc\x83, and so does A.",
            (int)(left + m.n * (m.panel + BAR_SPACE)), (int)(TOP + (double)rows * pitch + labels));
        for (int64_t row = 0; row < rows; row++) {
            draw_row(&f, in, &m, first + row, left, TOP + (double)row * pitch, row == 0, row == rows - 1);
        }
        status = inspect_end_figure(in, &f, "maps");
    }
    asc_scope_end(in->ctx);
    return status == CLI_OK ? cli_report(in->ctx) : status;
}
