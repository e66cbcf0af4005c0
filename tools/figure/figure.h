/*
 * tools/figure/figure.h: figures that gnuplot draws. A figure is a script with its data in it, and a table of the same
 * data; from the script come SVG, PNG, PDF, or characters for a terminal.
 *
 *     figure f;
 *     figure_begin(&f, "title", 800, 400);
 *     figure_heat(&f, &(figure_box){80, 40, 300, 300}, &map);
 *     figure_curves(&f, &(figure_box){480, 40, 300, 300}, &plot);
 *     figure_end(&f, ctx, "runs/look", FIGURE_PNG | FIGURE_CSV, files);
 *
 * Sizes and places are in pixels from the top left corner. Texts may hold anything: they are quoted, never run.
 */
#ifndef TOOLS_FIGURE_H
#define TOOLS_FIGURE_H

#include <stdio.h>

#include "tools/cli.h"

/* The first line of a figure's table. */
#define FIGURE_COLUMNS "panel,series,x,y,low,high"

typedef struct figure {
    FILE *out;   /* the script, in memory */
    char *text;
    size_t bytes;
    FILE *csv;   /* the table: FIGURE_COLUMNS, and rows */
    char *table;
    size_t table_bytes;
    int width, height;
    int blocks;  /* of data, so far */
    bool plain;  /* for a terminal: characters have no areas */
} figure;

typedef struct figure_box {
    double left, top, width, height;
} figure_box;

/* ---- heat maps ---- */

/* Tick labels, one for each row or column of a map. Long ones are cut, an empty one has no tick. */
typedef struct figure_labels {
    const char *const *texts; /* NULL: 0, 1, 2, … */
    int64_t n;
} figure_labels;

typedef enum figure_palette {
    FIGURE_DIVERGING,  /* dark blue, grey, pale yellow: signed values */
    FIGURE_SEQUENTIAL, /* pale to dark: from 0 on */
} figure_palette;

typedef struct figure_map {
    const char *title;
    const double *values; /* rows × columns; NaN: nothing is there */
    int64_t rows, columns;
    double low, high;
    bool no_bar;          /* the scale stands beside another map */
    bool beyond;          /* some values are above the high one, and have its colour */
    figure_palette palette;
    const figure_labels *x, *y; /* or NULL */
    bool no_x_ticks, no_y_ticks; /* the labels are for the table alone */
    const char *x_title, *y_title; /* or NULL */
    const char *table_name; /* stands before the title in the table; or NULL */
    const char *cells; /* what to write into the cells, cell_bytes for each; or NULL */
    size_t cell_bytes;
} figure_map;

void figure_heat(figure *f, const figure_box *box, const figure_map *map);

/* The pixels that the longest label takes. */
double figure_labels_width(const figure_labels *labels);

/* ---- curves, points, bars ---- */

typedef enum figure_mark {
    FIGURE_LINE,
    FIGURE_LINE_AND_POINTS,
    FIGURE_POINTS,
    FIGURE_STEPS, /* a front: along x at the height of the point before */
    FIGURE_BARS,  /* x: the number of the group */
} figure_mark;

/* Styles that can be told apart in grey and by colour-blind eyes: colours of different lightness, dashes, markers. A
 * larger number begins again with other dashes. */
enum { FIGURE_STYLES = 8 };

typedef struct figure_series {
    const char *name;         /* for the key and the table; NULL: in the table by its number */
    const double *x, *y;
    const double *low, *high; /* a band about a line, error bars about points and bars; or NULL */
    int64_t n;                /* 0: the name stands in the key alone */
    figure_mark mark;
    int style;
    bool shaded;  /* the colour is that of `shade`, 0 … 1, in a row of colours from dark to light, not the style's */
    double shade;
    bool unkeyed; /* the name is for the table alone */
} figure_series;

typedef struct figure_plot {
    const char *title, *x_title, *y_title;
    const char *panel; /* in the table, of a panel that has no title */
    const figure_series *series;
    int64_t n_series;
    const char *const *groups; /* of bars: what stands at x = 0, 1, …, n_groups of them */
    int64_t n_groups;
    int log_x;        /* the base of its scale, as 10 or 2; 0: it is straight */
    bool log_y;
    bool from_zero;   /* the y axis begins at 0 */
    double high;      /* and ends here; 0: where it has to */
    double x_step;    /* between the ticks; 0: as it fits */
    const figure_box *key; /* where the names stand, from its top left corner; NULL: within the panel */
} figure_plot;

void figure_curves(figure *f, const figure_box *box, const figure_plot *plot);

/* The pixels that a key beside the panel takes; 0: no series has a name. */
double figure_key_width(const figure_series *series, int64_t n);

/* ---- the figure ---- */

/* Starts a figure. What fails for want of memory shows at the end. */
void figure_begin(figure *f, const char *title, int width, int height);

/* A line of text, its left end at (x, y); `turned` by a right angle, then its middle. */
void figure_note(figure *f, double x, double y, bool turned, const char *text);

enum { FIGURE_SVG = 1, FIGURE_PNG = 2, FIGURE_PDF = 4, FIGURE_SCRIPT = 8, FIGURE_CSV = 16 };

/* The bit of "svg", "png", … of n bytes; 0 for any other. */
unsigned figure_format(const char *name, size_t n);

/* Writes STEM.csv, STEM.gp, STEM.svg, … as the bits of `formats` say, adds the files' names to the array `files` (or
 * NULL), and ends the figure in any case. Returns an exit status: pictures that can't be drawn for want of gnuplot are
 * CLI_IO, once all else is written, with one message for the whole program. */
int figure_end(figure *f, asc_ctx *ctx, const char *stem, unsigned formats, json_t *files);

/* Whether the file of that name has something in it, and is no figure's table. */
bool figure_is_strange(const char *path);

/* Writes the table to the file of that name, and ends the figure. */
int figure_write_csv(figure *f, asc_ctx *ctx, const char *path, json_t *files);

/* Prints the figure on stdout as characters, `columns` by `rows` of them, and ends it. */
int figure_print(figure *f, asc_ctx *ctx, int columns, int rows, bool colour);

/* CLI_OK where there is a gnuplot, the one that ASCGRAD_GNUPLOT names or that of the search path; else CLI_IO, and one
 * message for the whole program. */
int figure_find_gnuplot(void);

/* ---- for the files beside this one ---- */

/* The panel's frame and title; a text in gnuplot's quotes, and one for a tick, which is a format there; the name of a
 * new data block. */
void figure_panel(figure *f, const figure_box *box, const char *title);
void figure_quote(figure *f, const char *text);
void figure_quote_tick(figure *f, const char *text);
int figure_block(figure *f);
void figure_axis_title(figure *f, char axis, const char *title);

/* A line of the table; a text for `x`, or where it is NULL the number. Those that are not finite stay empty. */
void figure_row(figure *f, const char *panel, const char *series, const char *x_text, double x, double y, double low,
                double high);

#endif
