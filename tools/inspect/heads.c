/* tools/inspect/heads.c: layers × heads: what each head does, and which bias weighs most in it. */
#include <math.h>

#include "tools/inspect/inspect.h"

enum { PANELS = 7, TOP = 62, LEFT = 62, GAP_X = 92, GAP_Y = 78, CELL_TEXT = 24 };
static const double cell_width = 64, cell_height = 26;

/* A panel for each number; `cell` says how it is written, with the text of `label` before it. */
static const struct panel {
    const char *key, *title, *cell, *label;
    bool of_swarm;
    enum { FROM_ZERO, SIGNED, SHARE } range; /* SIGNED: the same for all such panels */
} panels[PANELS] = {
    {"entropy", "attention entropy (nats)", "%s%.2f", "", false, FROM_ZERO},
    {"distance", "mean distance |i \xe2\x88\x92 j|", "%s%.1f", "", false, FROM_ZERO},
    {"self", "attention on the token itself", "%s%.2f", "", false, FROM_ZERO},
    {"omega_align", "\xcf\x89 align", "%s%.2f", "", true, SIGNED},
    {"omega_sep", "\xcf\x89 sep", "%s%.2f", "", true, SIGNED},
    {"omega_coh", "\xcf\x89 coh", "%s%.2f", "", true, SIGNED},
    {"dominant_share", "largest bias, its share of the three", "%s %.2f", "dominant", true, SHARE},
};

/* Layers × heads; layers without heads stay empty. */
typedef struct grid {
    const inspection *in;
    int64_t columns;
    bool swarm;
    double *values;
    char *texts; /* CELL_TEXT bytes each */
} grid;

static void measure(grid *g)
{
    for (int64_t l = 0; l < g->in->layers; l++) {
        int64_t heads = inspect_heads(g->in, l);
        g->columns = heads > g->columns ? heads : g->columns;
        g->swarm = g->swarm || inspect_has_omega(g->in, l);
    }
}

/* Fills in a panel's values and texts; returns the largest magnitude. */
static double fill(grid *g, const struct panel *p)
{
    double most = 0;
    for (int64_t e = 0; e < g->in->layers * g->columns; e++) {
        int64_t layer = e / g->columns, head = e % g->columns;
        double value = inspect_number(g->in, layer, p->key, head);
        value = fabs(value) < .005 ? 0 : value; /* no -0.00 */
        g->values[e] = value;
        most = fmax(most, fabs(value));
        snprintf(g->texts + e * CELL_TEXT, CELL_TEXT, isfinite(value) ? p->cell : "",
                 *p->label ? inspect_text(g->in, layer, p->label, head) : "", value);
    }
    return most;
}

/* What the colours of a panel reach to. */
static double reach(grid *g, const struct panel *p)
{
    double most = fill(g, p);
    for (int i = 0; i < PANELS && p->range == SIGNED; i++) {
        most = panels[i].range == SIGNED ? fmax(most, fill(g, &panels[i])) : most;
    }
    fill(g, p);
    return p->range == SHARE ? 1 : most;
}

static void draw_panel(figure *f, grid *g, const struct panel *p, const figure_box *box)
{
    double most = reach(g, p);
    figure_heat(f, box,
                &(figure_map){
                    .title = p->title,
                    .values = g->values,
                    .rows = g->in->layers,
                    .columns = g->columns,
                    .low = p->range == SIGNED ? -most : 0,
                    .high = most,
                    .palette = p->range == SIGNED ? FIGURE_DIVERGING : FIGURE_SEQUENTIAL,
                    .x = &(figure_labels){NULL, g->columns},
                    .y = &(figure_labels){NULL, g->in->layers},
                    .x_title = "head",
                    .y_title = "layer",
                    .cells = g->texts,
                    .cell_bytes = CELL_TEXT,
                });
}

static int draw(inspection *in, grid *g)
{
    /* attention's panels stand in the first row, the biases' in the second */
    double width = fmax(cell_width * (double)g->columns, 190), height = cell_height * (double)in->layers;
    int columns = g->swarm ? 4 : 3, rows = g->swarm ? 2 : 1;
    figure f;
    inspect_begin_figure(in, &f, "all heads", NULL, (int)(LEFT + columns * (width + GAP_X)),
                 (int)(TOP + rows * (height + GAP_Y)));
    int placed[2] = {0, 0};
    for (int i = 0; i < PANELS; i++) {
        int row = panels[i].of_swarm;
        if (row < rows) {
            draw_panel(
                &f, g, &panels[i],
                &(figure_box){LEFT + placed[row]++ * (width + GAP_X), TOP + row * (height + GAP_Y), width, height});
        }
    }
    return inspect_end_figure(in, &f, "heads");
}

bool inspect_has_heads(const inspection *in)
{
    grid g = {.in = in};
    measure(&g);
    return g.columns > 0;
}

int inspect_draw_heads(inspection *in)
{
    grid g = {.in = in};
    int status = CLI_OK;
    measure(&g);
    asc_scope_begin(in->ctx);
    g.values = asc_data_mut(asc_zeros(in->ctx, ASC_F64, 2, (int64_t[]){in->layers, g.columns}));
    g.texts = asc_data_mut(asc_zeros(in->ctx, ASC_U8, 3, (int64_t[]){in->layers, g.columns, CELL_TEXT}));
    if (g.values && g.texts) {
        status = draw(in, &g);
    }
    asc_scope_end(in->ctx);
    return status == CLI_OK ? cli_report(in->ctx) : status;
}
