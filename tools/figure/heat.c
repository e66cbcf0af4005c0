/* tools/figure/heat.c: heat maps, as gnuplot commands. */
#include <math.h>
#include <stdlib.h>

#include "tools/figure/figure.h"

enum { LABEL_PIXELS = 11, BAR_PIXELS = 9, LABEL_MAX = 14, VECTOR_CELLS = 4096 };

/* What stands in the data where there is nothing, as gnuplot warns of NaN; it reads matrices as float. */
#define NOTHING    "1e30"
#define IS_NOTHING "$3 > 9e29"

/* Both are safe for colour-blind eyes, and their lightness rises or falls throughout, so that grey paper shows the
 * same: signed values go from dark blue over grey to pale yellow, others from pale to dark (ColorBrewer's YlGnBu). */
static const char *const palettes[] = {
    [FIGURE_DIVERGING] = "0 '#08306b', 1 '#3a5f9e', 2 '#8a8e94', 3 '#d9a95f', 4 '#ffe08a'",
    [FIGURE_SEQUENTIAL] = "0 '#ffffd9', 1 '#edf8b1', 2 '#c7e9b4', 3 '#7fcdbb', 4 '#41b6c4', 5 '#1d91c0', 6 '#225ea8', "
                          "7 '#253494', 8 '#081d58'",
};

/* ---- axes ---- */

/* The bytes of a label that are shown: at most LABEL_MAX characters. */
static size_t shown(const char *label)
{
    size_t characters = 0, at = 0;
    for (; label[at]; at++) {
        bool starts = ((unsigned char)label[at] & 0xc0) != 0x80;
        if (starts && ++characters > LABEL_MAX) {
            break;
        }
    }
    return at;
}

double figure_labels_width(const figure_labels *labels)
{
    size_t most = 0;
    for (int64_t i = 0; i < labels->n; i++) {
        size_t n = shown(labels->texts[i]);
        most = n > most ? n : most;
    }
    return 12 + 6.4 * (double)most;
}

static void put_label(figure *f, const figure_labels *labels, int64_t i)
{
    char text[LABEL_MAX * 4 + sizeof "\xe2\x80\xa6"];
    if (!labels->texts) {
        fprintf(f->out, "'%lld'", (long long)i);
        return;
    }
    size_t n = shown(labels->texts[i]);
    snprintf(text, sizeof text, "%.*s%s", (int)n, labels->texts[i], labels->texts[i][n] ? "\xe2\x80\xa6" : "");
    figure_quote_tick(f, text);
}

/* As many of the labels as there is room for; those that are empty are passed over. */
static void put_labels(figure *f, char axis, const figure_labels *labels, double pixels)
{
    if (!labels) {
        fprintf(f->out, "unset %ctics\n", axis);
        return;
    }
    double each = pixels / (double)labels->n, next = 0;
    bool turned = axis == 'x' && labels->texts, any = false;
    fprintf(f->out, "set %ctics nomirror out %s noenhanced (", axis, turned ? "rotate by 90 right" : "norotate");
    for (int64_t i = 0; i < labels->n; i++) {
        if ((double)i * each + 1e-9 < next || (labels->texts && !*labels->texts[i])) {
            continue;
        }
        next = (double)i * each + LABEL_PIXELS;
        fputs(any ? ", " : "", f->out);
        any = true;
        put_label(f, labels, i);
        fprintf(f->out, " %lld", (long long)i);
    }
    fputs(")\n", f->out);
}

/* ---- heat maps ---- */

/* gnuplot wants two rows and columns at least: what there is not has no colour, and is outside of the axes. */
static int put_matrix(figure *f, const figure_map *m)
{
    int block = figure_block(f);
    int64_t rows = m->rows > 1 ? m->rows : 2, columns = m->columns > 1 ? m->columns : 2;
    fprintf(f->out, "$m%d << END\n", block);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            double value = i < m->rows && j < m->columns ? m->values[i * m->columns + j] : NAN;
            fprintf(f->out, isfinite(value) ? "%s%.5g" : "%s" NOTHING, j ? " " : "", value);
        }
        fputc('\n', f->out);
    }
    fputs("END\n", f->out);
    return block;
}

static void put_bar(figure *f, const figure_box *b, const figure_map *m)
{
    bool flat = !(m->high > m->low); /* all is 0 */
    double low = flat && m->palette == FIGURE_DIVERGING ? -1 : m->low, high = flat ? 1 : m->high;
    fprintf(f->out, "set cbrange [%.6g:%.6g]\nset palette defined (%s)\n", low, high, palettes[m->palette]);
    if (m->no_bar) {
        fputs("unset colorbox\n", f->out);
        return;
    }
    fprintf(f->out, "set colorbox vertical user origin screen %.5f, screen %.5f size screen %.5f, screen %.5f border\n",
            (b->left + b->width + 6) / f->width, 1 - (b->top + b->height) / f->height, BAR_PIXELS / (double)f->width,
            b->height / f->height);
    fprintf(f->out, "set cbtics (");
    for (int i = 0; i <= 2; i++) {
        double at = low + (high - low) * i / 2;
        fprintf(f->out, "%s'%s%.3g' %.6g", i ? ", " : "", i == 2 && m->beyond ? "\xe2\x89\xa5" : "",
                fabs(at) < 1e-12 * high ? 0 : at, at);
    }
    fputs(") offset -0.6, 0\n", f->out);
}

static void put_cells(figure *f, const figure_map *m)
{
    for (int64_t e = 0; m->cells && e < m->rows * m->columns; e++) {
        double part = (m->values[e] - m->low) / (m->high - m->low);
        bool dark = m->palette == FIGURE_SEQUENTIAL ? part > .55 : part < .55;
        fprintf(f->out, "set label %lld ", (long long)e + 1000);
        figure_quote(f, m->cells + (size_t)e * m->cell_bytes);
        fprintf(f->out, " at first %lld, first %lld center front noenhanced textcolor rgb '%s'\n",
                (long long)(e % m->columns), (long long)(e / m->columns), dark ? "white" : "black");
    }
}

/* "3 garden": the number tells apart what has the same text. */
static void name_label(const figure_labels *labels, int64_t i, char *name, size_t bytes)
{
    const char *text = labels && labels->texts ? labels->texts[i] : "";
    snprintf(name, bytes, *text ? "%lld %s" : "%lld", (long long)i, text);
}

static void put_rows(figure *f, const figure_map *m)
{
    char row[80], column[80], panel[120], value[40];
    snprintf(panel, sizeof panel, "%s%s%s", m->table_name ? m->table_name : "", m->table_name ? ", " : "", m->title);
    for (int64_t e = 0; e < m->rows * m->columns; e++) {
        name_label(m->y, e / m->columns, row, sizeof row);
        name_label(m->x, e % m->columns, column, sizeof column);
        if (isfinite(m->values[e])) {
            snprintf(value, sizeof value, "%.9g", m->values[e]); /* all that float32 has */
            figure_row(f, panel, row, column, NAN, strtod(value, NULL), NAN, NAN);
        }
    }
}

void figure_heat(figure *f, const figure_box *box, const figure_map *m)
{
    if (!f->out) {
        return;
    }
    put_rows(f, m);
    figure_panel(f, box, m->title);
    int block = put_matrix(f, m);
    put_bar(f, box, m);
    put_labels(f, 'x', m->no_x_ticks ? NULL : m->x, box->width);
    put_labels(f, 'y', m->no_y_ticks ? NULL : m->y, box->height);
    figure_axis_title(f, 'x', m->x_title);
    figure_axis_title(f, 'y', m->y_title);
    fprintf(f->out, "unset logscale\nset xrange [-0.5:%g]\nset yrange [%g:-0.5]\n", (double)m->columns - .5,
            (double)m->rows - .5);
    put_cells(f, m);
    fprintf(f->out, "set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind fillcolor rgb '#ffffff' "
                    "fillstyle solid noborder\n");
    /* viewers of SVG smooth images: cells stay cells where they are rectangles, as long as these are not too many */
    fprintf(f->out, "style = svg && %d ? 'image pixels' : 'image'\n", m->rows * m->columns <= VECTOR_CELLS);
    fprintf(f->out, "plot $m%d matrix using 1:2:(" IS_NOTHING " ? NaN : $3) with @style notitle\n", block);
    fputs("unset object 1\nunset label\n", f->out);
}
