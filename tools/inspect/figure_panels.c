/* tools/inspect/figure_panels.c: heat maps and curves, as gnuplot commands. */
#include <math.h>

#include "tools/inspect/figure.h"

enum { LABEL_PIXELS = 11, BAR_PIXELS = 9, LABEL_MAX = 14, VECTOR_CELLS = 4096 };

/* What stands in the data where there is nothing, as gnuplot warns of NaN; it reads matrices as float. */
#define NOTHING    "1e30"
#define IS_NOTHING "$3 > 9e29"

/* Both are safe for colour-blind eyes (ColorBrewer's RdBu and YlGnBu), and so is viridis, for lines. */
static const char *const palettes[] = {
    [FIGURE_DIVERGING] = "0 '#2166ac', 1 '#67a9cf', 2 '#d1e5f0', 3 '#f7f7f7', 4 '#fddbc7', 5 '#ef8a62', 6 '#b2182b'",
    [FIGURE_SEQUENTIAL] = "0 '#ffffd9', 1 '#edf8b1', 2 '#c7e9b4', 3 '#7fcdbb', 4 '#41b6c4', 5 '#1d91c0', 6 '#225ea8', "
                          "7 '#253494', 8 '#081d58'",
};
static const char viridis[] = "0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d'";

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
    figure_quote(f, text);
}

/* As many of the labels as there is room for. */
static void put_labels(figure *f, char axis, const figure_labels *labels, double pixels)
{
    if (!labels) {
        fprintf(f->out, "unset %ctics\n", axis);
        return;
    }
    double each = pixels / (double)labels->n;
    int64_t every = each >= LABEL_PIXELS ? 1 : (int64_t)ceil(LABEL_PIXELS / each);
    fprintf(f->out, "set %ctics nomirror out %s noenhanced (", axis,
            axis == 'x' && labels->texts ? "rotate by 90 right" : "norotate");
    for (int64_t i = 0; i < labels->n; i += every) {
        fputs(i ? ", " : "", f->out);
        put_label(f, labels, i);
        fprintf(f->out, " %lld", (long long)i);
    }
    fputs(")\n", f->out);
}

static void put_axis_title(figure *f, char axis, const char *title)
{
    fprintf(f->out, "set %clabel ", axis);
    figure_quote(f, title ? title : "");
    fputs(" noenhanced\n", f->out);
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
        bool dark = m->palette == FIGURE_SEQUENTIAL ? part > .55 : part < .15 || part > .85;
        fprintf(f->out, "set label %lld ", (long long)e + 1000);
        figure_quote(f, m->cells + (size_t)e * m->cell_bytes);
        fprintf(f->out, " at first %lld, first %lld center front noenhanced textcolor rgb '%s'\n",
                (long long)(e % m->columns), (long long)(e / m->columns), dark ? "white" : "black");
    }
}

void figure_heat(figure *f, const figure_box *box, const figure_map *m)
{
    if (!f->out) {
        return;
    }
    figure_panel(f, box, m->title);
    int block = put_matrix(f, m);
    put_bar(f, box, m);
    put_labels(f, 'x', m->x, box->width);
    put_labels(f, 'y', m->y, box->height);
    put_axis_title(f, 'x', m->x_title);
    put_axis_title(f, 'y', m->y_title);
    fprintf(f->out, "set xrange [-0.5:%g]\nset yrange [%g:-0.5]\n", (double)m->columns - .5, (double)m->rows - .5);
    put_cells(f, m);
    fprintf(f->out, "set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind fillcolor rgb '#e4e4e4' "
                    "fillstyle solid noborder\n");
    /* viewers of SVG smooth images: cells stay cells where they are rectangles, as long as these are not too many */
    fprintf(f->out, "style = svg && %d ? 'image pixels' : 'image'\n", m->rows * m->columns <= VECTOR_CELLS);
    fprintf(f->out, "plot $m%d matrix using 1:2:(" IS_NOTHING " ? NaN : $3) with @style notitle\n", block);
    fputs("unset object 1\nunset label\n", f->out);
}

/* ---- curves ---- */

static void put_points(figure *f, const figure_line *line)
{
    fprintf(f->out, "$m%d << END\n", figure_block(f));
    for (int64_t i = 0; i < line->n; i++) {
        fprintf(f->out, "%.9g %.6g\n", line->x[i], line->y[i]);
    }
    fputs("END\n", f->out);
}

/* Whether all points of all curves have one x (or y), which is in *value. */
static bool all_equal(const figure_plot *p, bool x, double *value)
{
    bool any = false;
    for (int64_t i = 0; i < p->n_lines; i++) {
        const double *at = x ? p->lines[i].x : p->lines[i].y;
        for (int64_t e = 0; e < p->lines[i].n; e++) {
            if (any && at[e] != *value) {
                return false;
            }
            *value = at[e];
            any = true;
        }
    }
    return any;
}

/* gnuplot warns of an axis without extent. */
static void put_range(figure *f, const figure_plot *p, bool x)
{
    double value;
    if (all_equal(p, x, &value)) {
        double room = value != 0 ? fabs(value) / 2 : 1;
        fprintf(f->out, "set %crange [%.9g:%.9g]\n", x ? 'x' : 'y', value - room, value + room);
    } else if (!x && p->from_zero) {
        fprintf(f->out, p->high > 0 ? "set yrange [0:%g]\n" : "set yrange [0:*]\n", p->high);
    } else {
        fprintf(f->out, x ? "set xrange [*:*]\nset autoscale xfix\n" : "set yrange [*:*]\n");
    }
}

static void put_scales(figure *f, const figure_plot *p)
{
    fputs("unset xtics\nunset ytics\nset ytics nomirror out norotate autofreq\nset xtics nomirror out norotate ",
          f->out);
    fprintf(f->out, p->x_step > 0 ? "%g\n" : "autofreq\n", p->x_step);
    put_range(f, p, true);
    put_range(f, p, false);
}

void figure_lines(figure *f, const figure_box *box, const figure_plot *p)
{
    if (!f->out) {
        return;
    }
    int first = f->blocks;
    bool key = false;
    for (int64_t i = 0; i < p->n_lines; i++) {
        put_points(f, &p->lines[i]);
        key = key || p->lines[i].title;
    }
    figure_panel(f, box, p->title);
    put_axis_title(f, 'x', p->x_title);
    put_axis_title(f, 'y', p->y_title);
    put_scales(f, p);
    fprintf(f->out, "set palette defined (%s)\nset cbrange [0:1]\nunset colorbox\n%s", viridis,
            !key          ? "unset key\n"
            : p->high > 0 ? "set key bottom right\n"
                          : "set key top right\n");
    fputs("plot ", f->out);
    for (int64_t i = 0; i < p->n_lines; i++) {
        const figure_line *line = &p->lines[i];
        fprintf(f->out, "%s$m%d using 1:2 with %s linewidth 1.5 linecolor palette frac %.4f ", i ? ", \\\n     " : "",
                first + (int)i, line->dots || line->n == 1 ? "linespoints pointtype 7 pointsize 0.5" : "lines",
                line->shade);
        fputs(line->title ? "title " : "notitle", f->out);
        if (line->title) {
            figure_quote(f, line->title);
        }
    }
    fputs("\nunset label\n", f->out);
}
