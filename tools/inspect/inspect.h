/* tools/inspect/inspect.h: what the files of ascgrad inspect share. */
#ifndef TOOLS_INSPECT_H
#define TOOLS_INSPECT_H

#include <ascgrad/inspect.h>
#include <ascgrad/train.h>

#include "tools/figure/figure.h"

typedef struct inspection {
    asc_ctx *ctx;
    asc_model *model;
    json_t *config;    /* the model's */
    asc_tensor ids;    /* i64 (1, N), the text */
    figure_labels tokens; /* the same to be read; owned */
    int64_t layers;
    int64_t layer;     /* the one whose arrays and maps are written */
    int64_t head;      /* of its heads; -1: all */
    const char *name;  /* of the run or model, as it was given */
    const char *stem;  /* of the files; NULL: none are written */
    unsigned formats;  /* of the figures */
    unsigned what;     /* the figures that were asked for, a bit each; 0: all that there are */
    asc_params *parts; /* of the layer `layer` */
    asc_params *below; /* of the one below it; NULL for the first */
    json_t *summary;   /* an object for each layer: what the tables and --json show */
    json_t *probe;     /* what --probe found, or NULL */
    double threshold;  /* below it a pair's attention counts as irrelevant */
    json_t *files;     /* the names of those written */
} inspection;

enum { INSPECT_BINS = 40 }; /* of the gates' histogram */

/* ---- the whole (inspect.c) ---- */

/* Reads the text (inspect_read_text) and looks into all layers of in->model; the layer in->layer must be there. In any
 * case to be closed; the model stays. */
asc_status inspect_begin(inspection *in, const char *text, const char *data, int64_t limit);
void inspect_close(inspection *in);

/* ---- tokens (tokens.c) ---- */

/* Reads the text (NULL: the first `limit` tokens of the validation split of `data`, a spec or NULL) into `in`. */
asc_status inspect_read_text(inspection *in, const char *text, const char *data, int64_t limit);
void inspect_free_text(inspection *in);

/* ---- numbers (summary.c) ---- */

/* Looks into every layer: fills in->summary, and in->parts of the layer in->layer. */
asc_status inspect_layers(inspection *in);

/* Makes `in`'s summary, a mean over n - 1 models of one shape, that over them and another one (mean.c). */
void inspect_add(inspection *in, const json_t *summary, int64_t n);

/* Prints them as tables (print.c); one number, or "-" for one that is not finite; a number's value, or NaN. */
void inspect_print(const inspection *in);
void inspect_print_number(int width, int digits, double value);
double inspect_value(const json_t *number);

/* Finds anew which bias weighs most in each head, after the sizes have changed. */
void inspect_dominant(inspection *in);
/* Probes all layers for a label of the tokens, over at most `limit` tokens of the validation split of `data` (a spec,
 * or NULL for the run's): fills in->probe (probe.c); and prints it. */
asc_status inspect_probe(inspection *in, const char *label, const char *data, int64_t limit);
void inspect_print_probe(const inspection *in);

/* What the summary says about a layer; NULL: nothing. */
json_t *inspect_member(const inspection *in, int64_t layer, const char *key);
/* The same of a layer, or a head of it: a number, or NaN; a text, or "-". */
double inspect_number(const inspection *in, int64_t layer, const char *key, int64_t head);
const char *inspect_text(const inspection *in, int64_t layer, const char *key, int64_t head);
/* Its number of heads; 0: it has none. */
int64_t inspect_heads(const inspection *in, int64_t layer);
bool inspect_has_planes(const inspection *in, int64_t layer);
bool inspect_has_omega(const inspection *in, int64_t layer);

/* ---- planes of a Grassmann layer (geometry.c); tensors are new ---- */

/* Their coordinates (N, m, G, P/G): token, pair, group; null where the parts have none, or others than planes. */
asc_tensor inspect_planes(const inspection *in, const asc_params *parts, int64_t layer);
/* The principal angles between the planes of each token and the next, (N - 1, m, G, 2), in radians. */
asc_tensor inspect_next_angles(const inspection *in, asc_tensor planes);
/* Those between the planes of the layer and of the one below at the same tokens and pairs, (N, m, G, 2); null where
 * these are not of one shape. */
asc_tensor inspect_below_angles(const inspection *in, const asc_params *parts, const asc_params *below, int64_t layer);
/* The mean plane of each group (asc_plane_mean): (G, q, q) for coordinates in R^q, and *spectrum (G, q). */
asc_tensor inspect_mean_planes(const inspection *in, asc_tensor planes, asc_tensor *spectrum);
/* Whether two layers have the same offsets, tuples and memory. */
bool inspect_same_pairs(const inspection *in, int64_t layer, int64_t other);
/* The name of a layer's pair: "t-4", "t+1", "memory". */
void inspect_pair_name(const inspection *in, int64_t layer, int64_t pair, char *name, size_t bytes);

/* ---- paths, decays, filters (paths.c) ---- */

/* The directions of a Grassmann layer's tokens, (N, G, n); null where the parts have none. */
asc_tensor inspect_flow(const inspection *in, const asc_params *parts);
/* What they share with those of the layer below, (N); null where these are not of one shape, or of other pairs. */
asc_tensor inspect_stability(const inspection *in, const asc_params *parts, const asc_params *below, int64_t layer);
/* What a layer's "flow" has, means over its tokens. */
extern const char *const inspect_flow_keys[5];
/* Adds what there is of them to a layer's summary; and prints it. */
void inspect_add_paths(const inspection *in, json_t *o, const asc_params *parts, const asc_params *below,
                       int64_t layer);
void inspect_print_paths(const inspection *in);

/* ---- curves of the summary's numbers (curves.c) ---- */

enum { INSPECT_CURVE_NAME = 48 };

typedef struct inspect_curves {
    const inspection *in;
    figure_series *lines; /* [n], with room for one a layer */
    char (*names)[INSPECT_CURVE_NAME];
    const char **groups;  /* of bars */
    int64_t n;
} inspect_curves;

/* None, with room for `least` or more; memory of the scope, or the error set. */
inspect_curves inspect_curves_make(const inspection *in, int64_t least);
/* One more, with room for n points. */
figure_series *inspect_curve(inspect_curves *c, int64_t n, int style, const char *name);
/* A point, where y is a number. */
void inspect_point(figure_series *line, double x, const json_t *y);
/* Makes them a curve for each layer that has a list `key`, or `inner` in an object `key`: its numbers at first,
 * first + step, … */
void inspect_curves_of(inspect_curves *c, const char *key, const char *inner, double first, double step);

/* ---- files ---- */

/* STEM.npz (arrays.c). */
asc_status inspect_write_arrays(inspection *in);

/* The figures: whether there is anything to draw, and drawing it, which returns an exit status. */
bool inspect_has_maps(const inspection *in);
int inspect_draw_maps(inspection *in); /* maps.c */
bool inspect_has_heads(const inspection *in);
int inspect_draw_heads(inspection *in); /* heads.c */
bool inspect_has_training(const inspection *in);
int inspect_draw_training(inspection *in); /* training.c */
bool inspect_has_layer_planes(const inspection *in);
int inspect_draw_planes(inspection *in); /* planes.c */
int inspect_draw_angles(inspection *in); /* angles.c */
bool inspect_has_flow(const inspection *in);
int inspect_draw_flow(inspection *in); /* flow.c */

/* Starts a figure: its title is the run, the model and `what`, `how` a second line of how to read it, or NULL. */
void inspect_begin_figure(const inspection *in, figure *f, const char *what, const char *how, int width, int height);

/* Ends a figure under the name STEM-KIND. */
int inspect_end_figure(inspection *in, figure *f, const char *kind);

#endif
