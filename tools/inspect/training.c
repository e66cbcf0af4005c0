/* tools/inspect/training.c: metrics.jsonl as curves: losses and, of ASCender layers, the scalars of each head. */
#include <math.h>
#include <sys/stat.h>

#include <ascgrad/runs.h>

#include "tools/inspect/inspect.h"
#include "tools/metric.h"

enum {
    PANEL_WIDTH = 330,
    PANEL_HEIGHT = 180,
    GAP_X = 78,
    GAP_Y = 80,
    LEFT = 70,
    TOP = 84,
    PER_ROW = 3,
    KEY_WIDTH = 90
};
enum { NAME = 32 };

/* The scalars that are logged, in the order of the panels; a row for each kind. Not all runs have all. */
static const struct scalar {
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
    const asc_run *run;
    int64_t rows;
    double *x, *y; /* curves × rows of the log */
    figure_series *curves;
    char (*names)[NAME];
    int64_t room, heads; /* curves; the most heads that a layer has */
    char constant[400];  /* the scalars that keep one value in all heads, which need no panel */
    const figure_box *key;
} training;

/* Also where there is something that can't be read, which the reading says. */
bool inspect_has_training(const inspection *in)
{
    struct stat s;
    char path[4096];
    snprintf(path, sizeof path, "%s/metrics.jsonl", in->model->run ? in->model->run : "");
    return in->model->run && lstat(path, &s) == 0 && (s.st_size > 0 || !S_ISREG(s.st_mode));
}

/* ---- curves ---- */

/* The points of one curve: where the log has a value under `key`. How many there are. */
static int64_t collect(training *t, int64_t curve, const char *key)
{
    double *x = t->x + curve * t->rows, *y = t->y + curve * t->rows;
    int64_t n = 0;
    for (int64_t row = 0; row < t->rows; row++) {
        double value = asc_run_value(t->run, (size_t)row, key);
        if (isfinite(value)) {
            x[n] = asc_run_value(t->run, (size_t)row, "step");
            y[n++] = value;
        }
    }
    t->curves[curve] = (figure_series){.x = x, .y = y, .n = n, .name = t->names[curve]};
    return n;
}

static double shade_of(const training *t, int64_t layer)
{
    return t->in->layers > 1 ? (double)layer / (double)(t->in->layers - 1) : 0;
}

/* The curves of a scalar, one for each head: colours are layers, dashes and markers heads. */
static int64_t collect_heads(training *t, const char *key)
{
    int64_t curves = 0;
    for (int64_t l = 0; l < t->in->layers; l++) {
        for (int64_t h = 0; h < inspect_heads(t->in, l); h++) {
            char full[80];
            snprintf(full, sizeof full, "ascender.%s[%d][%d]", key, (int)l, (int)h);
            snprintf(t->names[curves], NAME, "layer %d, head %d", (int)l, (int)h);
            if (collect(t, curves, full) > 0) {
                figure_series *s = &t->curves[curves++];
                s->mark = FIGURE_LINE_AND_POINTS;
                s->shaded = s->unkeyed = true;
                s->shade = shade_of(t, l);
                s->style = (int)h;
            }
        }
    }
    return curves;
}

/* What the colours, and the dashes and markers, stand for; n curves are there. How many there are with them. */
static int64_t add_key(training *t, int64_t n)
{
    for (int64_t l = 0; l < t->in->layers; l++, n++) {
        snprintf(t->names[n], NAME, "layer %d", (int)l);
        t->curves[n] = (figure_series){.name = t->names[n], .shaded = true, .shade = shade_of(t, l)};
    }
    for (int64_t h = 0; h < t->heads; h++, n++) {
        snprintf(t->names[n], NAME, "head %d", (int)h);
        t->curves[n] =
            (figure_series){.name = t->names[n], .mark = FIGURE_LINE_AND_POINTS, .style = (int)h, .shaded = true};
    }
    return n;
}

/* Whether all of the n curves keep one and the same value. */
static bool is_constant(const training *t, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t e = 0; e < t->curves[i].n; e++) {
            if (t->curves[i].y[e] != t->curves[0].y[0]) {
                return false;
            }
        }
    }
    return true;
}

/* ---- panels ---- */

/* The first n curves, in a row and column of panels; nothing if there are none. */
static void draw_panel(figure *f, const training *t, const char *title, int64_t n, const figure_box *key, int row,
                       int column)
{
    figure_box box = {LEFT + column * (PANEL_WIDTH + GAP_X), TOP + row * (PANEL_HEIGHT + GAP_Y), PANEL_WIDTH,
                      PANEL_HEIGHT};
    if (n > 0) {
        figure_curves(
            f, &box, &(figure_plot){.title = title, .x_title = "step", .series = t->curves, .n_series = n, .key = key});
    }
}

static void draw_losses(figure *f, training *t)
{
    int64_t n = 0;
    int column = 0;
    snprintf(t->names[n], NAME, "train");
    n += collect(t, n, "loss") > 0;
    snprintf(t->names[n], NAME, "valid");
    if (collect(t, n, "valid_loss") > 0) {
        t->curves[n].mark = FIGURE_LINE_AND_POINTS;
        t->curves[n].style = n > 0 ? 2 : 0;
        n++;
    }
    draw_panel(f, t, "loss (nats per token)", n, NULL, 0, column);
    column += n > 0;
    static const char *const others[] = {"lr", "grad_norm"};
    for (int i = 0; i < 2; i++) {
        snprintf(t->names[0], NAME, "%s", others[i]);
        if (collect(t, 0, others[i]) > 0) {
            t->curves[0].unkeyed = true;
            draw_panel(f, t, metric_title(others[i]), 1, NULL, 0, column++);
        }
    }
}

/* The numbers of the scalars that have panels; how many. */
static int choose(training *t, int panels[N_SCALARS])
{
    int shown = 0;
    size_t used = 0;
    for (int i = 0; i < N_SCALARS; i++) {
        int64_t n = collect_heads(t, scalars[i].key);
        if (n > 0 && !is_constant(t, n)) {
            panels[shown++] = i;
        } else if (n > 0 && used < sizeof t->constant) {
            used += (size_t)snprintf(t->constant + used, sizeof t->constant - used, "%s %s = %g",
                                     used ? "," : "Throughout:", scalars[i].title, t->curves[0].y[0]);
        }
    }
    return shown;
}

static int draw(inspection *in, training *t)
{
    int panels[N_SCALARS], shown = choose(t, panels), rows = 1 + (shown + PER_ROW - 1) / PER_ROW;
    figure_box key = {LEFT + PER_ROW * (PANEL_WIDTH + GAP_X) - 40, TOP + PANEL_HEIGHT + GAP_Y, 0, 0};
    int key_rows = (int)(in->layers + t->heads) * 16 > PANEL_HEIGHT + GAP_Y ? 2 : 1;
    figure f;
    inspect_begin_figure(in, &f, "training", *t->constant ? t->constant : NULL,
                         (int)key.left + (shown ? KEY_WIDTH + 20 : 0),
                         TOP + (rows < key_rows + 1 && shown ? key_rows + 1 : rows) * (PANEL_HEIGHT + GAP_Y) - 10);
    draw_losses(&f, t);
    for (int i = 0; i < shown; i++) {
        int64_t n = collect_heads(t, scalars[panels[i]].key);
        if (i == 0) {
            n = add_key(t, n);
        }
        draw_panel(&f, t, scalars[panels[i]].title, n, i == 0 ? &key : NULL, 1 + i / PER_ROW, i % PER_ROW);
    }
    return inspect_end_figure(in, &f, "training");
}

int inspect_draw_training(inspection *in)
{
    asc_run *run = asc_run_read(in->ctx, in->model->run);
    training t = {.in = in, .run = run, .rows = (int64_t)asc_run_rows(run), .room = 2};
    for (int64_t l = 0; l < in->layers; l++) {
        int64_t heads = inspect_heads(in, l);
        t.room += heads + 1;
        t.heads = heads > t.heads ? heads : t.heads;
    }
    t.room += t.heads;
    int status = CLI_OK;
    asc_scope_begin(in->ctx);
    int64_t shape[] = {t.room, t.rows};
    t.x = asc_data_mut(asc_zeros(in->ctx, ASC_F64, 2, shape));
    t.y = asc_data_mut(asc_zeros(in->ctx, ASC_F64, 2, shape));
    t.curves = cli_room(in->ctx, t.room, sizeof *t.curves);
    t.names = cli_room(in->ctx, t.room, NAME);
    if (t.x && t.y && t.curves && t.names && asc_error(in->ctx) == ASC_OK) {
        status = draw(in, &t);
    }
    asc_scope_end(in->ctx);
    asc_run_free(run);
    return status == CLI_OK ? cli_report(in->ctx) : status;
}
