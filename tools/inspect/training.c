/* tools/inspect/training.c: metrics.jsonl as curves: losses and, of ASCender layers, the scalars of each head. */
#include <sys/stat.h>

#include "tools/inspect/inspect.h"

enum { PANEL_WIDTH = 330, PANEL_HEIGHT = 180, GAP_X = 78, GAP_Y = 80, LEFT = 70, TOP = 62, PER_ROW = 3 };

/* The scalars that are logged, in the order of the panels; a row for each kind. Not all runs have all. */
static const struct series {
    const char *key, *title;
} scalars[] = {
    {"omega_align", "\xcf\x89 align"},
    {"omega_sep", "\xcf\x89 sep"},
    {"omega_coh", "\xcf\x89 coh"},
    {"lambda_align", "\xce\xbb align"},
    {"lambda_sep", "\xce\xbb sep"},
    {"lambda_coh", "\xce\xbb coh"},
    {"gamma_align", "mean gate \xce\xb3 align"},
    {"eta", "mean \xce\xb7 (sep)"},
    {"gamma_coh", "mean gate \xce\xb3 coh"},
    {"lambda_dist", "\xce\xbb dist"},
    {"lambda_rho", "\xce\xbb rho"},
};
enum { N_SCALARS = sizeof scalars / sizeof *scalars };

/* The log, and room for the curves of one panel. */
typedef struct training {
    const inspection *in;
    json_t *lines; /* of the log */
    double *x, *y; /* curves × lines of the log */
    figure_line *curves;
    int64_t room; /* curves */
} training;

/* ---- reading ---- */

static void metrics_path(const inspection *in, char path[4096])
{
    snprintf(path, 4096, "%s/metrics.jsonl", in->model->run ? in->model->run : "");
}

/* Also where there is something that can't be read, which the reading says. */
bool inspect_has_training(const inspection *in)
{
    struct stat s;
    char path[4096];
    metrics_path(in, path);
    return in->model->run && lstat(path, &s) == 0 && (s.st_size > 0 || !S_ISREG(s.st_mode));
}

/* The log's lines; one that a training is writing at this moment is left out. New. */
static json_t *read_lines(const inspection *in)
{
    json_t *lines = json_array();
    const char *line;
    size_t n;
    char path[4096];
    metrics_path(in, path);
    asc_text *text = asc_text_open(in->ctx, path, ASC_TEXT_OWN);
    while (text && asc_text_next(text, &line, &n) == ASC_OK && line) {
        json_t *object = json_loadb(line, n, 0, NULL);
        if (json_is_object(object)) {
            json_array_append_new(lines, object);
        } else {
            json_decref(object);
        }
    }
    asc_text_close(text);
    return lines;
}

/* ---- curves ---- */

/* The points of one curve: value `key` of each line or, with a layer >= 0, that of a head under "ascender". */
static int64_t collect(training *t, int64_t curve, const char *key, int64_t layer, int64_t head)
{
    double *x = t->x + curve * (int64_t)json_array_size(t->lines), *y = t->y + (x - t->x);
    int64_t n = 0;
    size_t i;
    json_t *line;
    json_array_foreach(t->lines, i, line) {
        json_t *value =
            layer < 0
                ? json_object_get(line, key)
                : json_array_get(json_array_get(json_object_get(json_object_get(line, "ascender"), key), (size_t)layer),
                                 (size_t)head);
        if (json_is_number(value)) {
            x[n] = (double)json_integer_value(json_object_get(line, "step"));
            y[n++] = json_number_value(value);
        }
    }
    t->curves[curve] = (figure_line){.x = x, .y = y, .n = n};
    return n;
}

/* The curves of a scalar, one for each head, in the colour of its layer. */
static int64_t collect_heads(training *t, const char *key)
{
    int64_t curves = 0;
    for (int64_t l = 0; l < t->in->layers; l++) {
        for (int64_t h = 0; h < inspect_heads(t->in, l) && curves < t->room; h++) {
            if (collect(t, curves, key, l, h) > 0) {
                t->curves[curves++].shade = t->in->layers > 1 ? (double)l / (double)(t->in->layers - 1) : 0;
            }
        }
    }
    return curves;
}

/* The first n curves, in a row and column of panels; nothing if there are none. */
static void draw_panel(figure *f, const training *t, const char *title, int64_t n, int row, int column)
{
    figure_box box = {LEFT + column * (PANEL_WIDTH + GAP_X), TOP + row * (PANEL_HEIGHT + GAP_Y), PANEL_WIDTH,
                      PANEL_HEIGHT};
    if (n > 0) {
        figure_lines(f, &box, &(figure_plot){.title = title, .x_title = "step", .lines = t->curves, .n_lines = n});
    }
}

static void draw_losses(figure *f, training *t)
{
    int64_t n = 0;
    if (collect(t, n, "loss", -1, 0) > 0) {
        t->curves[n].title = "train";
        t->curves[n++].shade = .55;
    }
    if (collect(t, n, "valid_loss", -1, 0) > 0) {
        t->curves[n].title = "valid";
        t->curves[n].dots = true;
        t->curves[n++].shade = 0;
    }
    draw_panel(f, t, "loss (nats per token)", n, 0, 0);
    draw_panel(f, t, "learning rate", collect(t, 0, "lr", -1, 0) > 0, 0, 1);
    draw_panel(f, t, "norm of the gradient", collect(t, 0, "grad_norm", -1, 0) > 0, 0, 2);
}

static int draw(inspection *in, training *t)
{
    int panels[N_SCALARS], shown = 0;
    for (int i = 0; i < N_SCALARS; i++) {
        if (collect_heads(t, scalars[i].key) > 0) {
            panels[shown++] = i;
        }
    }
    int rows = 1 + (shown + PER_ROW - 1) / PER_ROW;
    figure f;
    figure_begin(&f,
                 shown ? "training; curves of heads in their layer's colour, from the first (dark) to the last (light)"
                       : "training",
                 LEFT + PER_ROW * (PANEL_WIDTH + GAP_X) - 40, TOP + rows * (PANEL_HEIGHT + GAP_Y) - 10);
    draw_losses(&f, t);
    for (int i = 0; i < shown; i++) {
        int64_t n = collect_heads(t, scalars[panels[i]].key);
        draw_panel(&f, t, scalars[panels[i]].title, n, 1 + i / PER_ROW, i % PER_ROW);
    }
    return inspect_end_figure(in, &f, "training");
}

int inspect_draw_training(inspection *in)
{
    training t = {.in = in, .lines = read_lines(in), .room = 2};
    for (int64_t l = 0; l < in->layers; l++) {
        t.room += inspect_heads(in, l);
    }
    int status = CLI_OK;
    asc_scope_begin(in->ctx);
    int64_t shape[] = {t.room, (int64_t)json_array_size(t.lines)};
    t.x = asc_data_mut(asc_zeros(in->ctx, ASC_F64, 2, shape));
    t.y = asc_data_mut(asc_zeros(in->ctx, ASC_F64, 2, shape));
    t.curves = asc_data_mut(asc_zeros(in->ctx, ASC_U8, 2, (int64_t[]){t.room, sizeof *t.curves}));
    if (t.x && t.y && t.curves && asc_error(in->ctx) == ASC_OK) {
        status = draw(in, &t);
    }
    asc_scope_end(in->ctx);
    json_decref(t.lines);
    return status == CLI_OK ? cli_report(in->ctx) : status;
}
