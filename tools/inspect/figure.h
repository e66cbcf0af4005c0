/*
 * tools/inspect/figure.h: figures that gnuplot draws: a script STEM.gp with its data in it, then STEM.png and STEM.svg.
 *
 *     figure f;
 *     figure_begin(&f, "title", 800, 400);
 *     figure_heat(&f, &(figure_box){80, 40, 300, 300}, &heat);
 *     figure_end(&f, ctx, "runs/look", files);
 *
 * Sizes and places are in pixels from the top left corner. Texts may hold anything: they are quoted, never run.
 */
#ifndef TOOLS_FIGURE_H
#define TOOLS_FIGURE_H

#include <stdio.h>

#include "tools/cli.h"

typedef struct figure {
    FILE *out;  /* the script, in memory */
    char *text;
    size_t bytes;
    int width, height;
    int blocks; /* of data, so far */
} figure;

typedef struct figure_box {
    double left, top, width, height;
} figure_box;

/* Tick labels, one for each row or column of a map. Long ones are cut. */
typedef struct figure_labels {
    const char *const *texts; /* NULL: 0, 1, 2, … */
    int64_t n;
} figure_labels;

typedef enum figure_palette {
    FIGURE_DIVERGING,  /* blue, white, red: signed values */
    FIGURE_SEQUENTIAL, /* pale to dark: from 0 on */
} figure_palette;

typedef struct figure_map {
    const char *title;
    const double *values; /* rows × columns; NaN: nothing is there */
    int64_t rows, columns;
    double low, high;
    bool beyond;          /* some values are above the high one, and have its colour */
    figure_palette palette;
    const figure_labels *x, *y; /* or NULL */
    const char *x_title, *y_title; /* or NULL */
    const char *cells; /* what to write into the cells, cell_bytes for each; or NULL */
    size_t cell_bytes;
} figure_map;

typedef struct figure_line {
    const double *x, *y;
    int64_t n;
    double shade;      /* 0 … 1: which colour of the row of colours */
    const char *title; /* for the key; or NULL */
    bool dots;         /* points beside the line */
} figure_line;

typedef struct figure_plot {
    const char *title, *x_title, *y_title;
    const figure_line *lines;
    int64_t n_lines;
    bool from_zero;   /* the y axis begins at 0 */
    double high;      /* and ends here; 0: where it has to */
    double x_step;    /* between the ticks; 0: as it fits */
} figure_plot;

/* Starts a figure. What fails for want of memory shows at the end. */
void figure_begin(figure *f, const char *title, int width, int height);

void figure_heat(figure *f, const figure_box *box, const figure_map *map);
void figure_lines(figure *f, const figure_box *box, const figure_plot *plot);

/* A line of text, its left end at (x, y); `turned` by a right angle, then its middle. */
void figure_note(figure *f, double x, double y, bool turned, const char *text);

/* Writes the script and draws it, and adds the files' names to the array `files`. Where there is no gnuplot, a message
 * says what to do. Ends the figure in any case. Returns an exit status. */
int figure_end(figure *f, asc_ctx *ctx, const char *stem, json_t *files);

/* The pixels that the longest label takes. */
double figure_labels_width(const figure_labels *labels);

/* For figure_*.c: the panel's frame and title; a text in gnuplot's quotes; the name of a new data block. */
void figure_panel(figure *f, const figure_box *box, const char *title);
void figure_quote(figure *f, const char *text);
int figure_block(figure *f);

#endif
