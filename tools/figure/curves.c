/* tools/figure/curves.c: curves with bands, points with error bars, fronts and bars, as gnuplot commands. */
#include <math.h>
#include <string.h>

#include "tools/figure/figure.h"

enum { NAME_MAX_SHOWN = 44, MARKERS = 8 };

/* Neighbours in this list differ in lightness, too (L* 29, 72, 48, 0, 65, 50, 33, 80), in dashes and in markers. */
static const struct style {
    const char *colour;
    int dashes, marker;
    bool light; /* what is written on it is black */
} styles[FIGURE_STYLES] = {
    {"#004488", 1, 7, false}, {"#ddaa33", 2, 9, true},  {"#bb5566", 4, 5, false}, {"#000000", 3, 13, false},
    {"#44aadd", 5, 11, true}, {"#228833", 2, 4, false}, {"#882255", 3, 6, false}, {"#bbccaa", 1, 8, true},
};
/* viridis, whose lightness rises throughout; without its palest part, which a white page swallows. */
static const char row_of_colours[] = "0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#d8c21d'";

static struct style style_of(const figure_series *s)
{
    int round = s->style / FIGURE_STYLES, at = s->style % FIGURE_STYLES;
    struct style look = styles[at];
    look.dashes = (look.dashes - 1 + round) % 5 + 1;
    look.marker = styles[(at + 3 * round) % FIGURE_STYLES].marker;
    return look;
}

/* ---- data ---- */

static bool shows(const figure_plot *p, const figure_series *s, int64_t i)
{
    return isfinite(s->x[i]) && isfinite(s->y[i]) && (!p->log_x || s->x[i] > 0) && (!p->log_y || s->y[i] > 0);
}

static int64_t count_points(const figure_plot *p, const figure_series *s)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        n += shows(p, s, i);
    }
    return n;
}

static double end_of(const figure_plot *p, const double *ends, int64_t i, double y)
{
    return ends && isfinite(ends[i]) && (!p->log_y || ends[i] > 0) ? ends[i] : y;
}

/* Where bars of several series stand beside each other, in parts of a group. */
static double place(const figure_plot *p, const figure_series *s, double x)
{
    double bar = .8 / (double)p->n_series;
    return s->mark == FIGURE_BARS ? x - .4 + bar * ((double)(s - p->series) + .5) : x;
}

static void put_points(figure *f, const figure_plot *p, const figure_series *s)
{
    fprintf(f->out, "$m%d << END\n", figure_block(f));
    for (int64_t i = 0; i < s->n; i++) {
        if (shows(p, s, i)) {
            fprintf(f->out, "%.9g %.9g %.9g %.9g\n", place(p, s, s->x[i]), s->y[i], end_of(p, s->low, i, s->y[i]),
                    end_of(p, s->high, i, s->y[i]));
        }
    }
    fputs("END\n", f->out);
}

static void put_rows(figure *f, const figure_plot *p, const figure_series *s)
{
    char number[24];
    snprintf(number, sizeof number, "%d", (int)(s - p->series));
    for (int64_t i = 0; i < s->n; i++) {
        int64_t group = p->groups ? (int64_t)s->x[i] : -1;
        figure_row(f, p->title ? p->title : p->panel, s->name ? s->name : number,
                   group >= 0 && group < p->n_groups ? p->groups[group] : NULL, s->x[i], s->y[i],
                   s->low ? s->low[i] : NAN, s->high ? s->high[i] : NAN);
    }
}

/* ---- axes ---- */

/* Whether all points of all series have one x (or y), to the digits that axes could show; *value has it. */
static bool all_equal(const figure_plot *p, bool x, double *value)
{
    bool any = false;
    for (int64_t i = 0; i < p->n_series; i++) {
        const figure_series *s = &p->series[i];
        for (int64_t e = 0; e < s->n; e++) {
            const double at[] = {x ? s->x[e] : s->y[e], x ? s->x[e] : end_of(p, s->low, e, s->y[e]),
                                 x ? s->x[e] : end_of(p, s->high, e, s->y[e])};
            for (int k = 0; k < 3 && shows(p, s, e); k++) {
                if (any && fabs(at[k] - *value) > 1e-8 * fabs(*value)) {
                    return false;
                }
                *value = at[k];
                any = true;
            }
        }
    }
    return any;
}

/* gnuplot warns of an axis without extent. */
static void put_range(figure *f, const figure_plot *p, bool x)
{
    double value;
    if (x && p->groups) {
        fprintf(f->out, "set xrange [-0.6:%g]\n", (double)p->n_groups - .4);
    } else if (!x && p->from_zero && p->high > 0) {
        fprintf(f->out, "set yrange [0:%g]\n", p->high);
    } else if (!x && p->from_zero) {
        fputs(all_equal(p, x, &value) && value == 0 ? "set yrange [0:1]\n" : "set yrange [0:*]\n", f->out);
    } else if (all_equal(p, x, &value)) {
        double room = value != 0 ? fabs(value) / 2 : 1;
        fprintf(f->out, "set %crange [%.9g:%.9g]\n", x ? 'x' : 'y', value - room, value + room);
    } else {
        fprintf(f->out, x ? "set xrange [*:*]\n" : "set yrange [*:*]\n");
    }
}

static void put_groups(figure *f, const figure_plot *p)
{
    fputs("set xtics nomirror scale 0 rotate by 30 right noenhanced (", f->out);
    for (int64_t i = 0; i < p->n_groups; i++) {
        fputs(i ? ", " : "", f->out);
        figure_quote_tick(f, p->groups[i]);
        fprintf(f->out, " %lld", (long long)i);
    }
    fputs(")\n", f->out);
}

static void put_scales(figure *f, const figure_plot *p)
{
    bool points = p->n_series > 0 && p->series[0].mark == FIGURE_POINTS;
    fputs(points ? "set offsets graph 0.06, graph 0.06, graph 0.06, graph 0.06\n" : "unset offsets\n", f->out);
    fputs("unset xtics\nunset ytics\nunset logscale\nset ytics nomirror out norotate autofreq\n", f->out);
    if (p->groups) {
        put_groups(f, p);
    } else {
        fputs("set xtics nomirror out norotate ", f->out);
        fprintf(f->out, p->x_step > 0 ? "%g\n" : "autofreq\n", p->x_step);
    }
    fprintf(f->out, "set format x '%s'\nset format y '%s'\n", p->log_x ? "%h" : "% h", "% h");
    put_range(f, p, true);
    put_range(f, p, false);
    if (p->log_x > 0) {
        fprintf(f->out, "set logscale x %d\n", p->log_x);
    }
    fputs(p->log_y ? "set logscale y\n" : "", f->out);
}

static void put_key(figure *f, const figure_plot *p)
{
    bool any = false;
    for (int64_t i = 0; i < p->n_series; i++) {
        any = any || (p->series[i].name && !p->series[i].unkeyed);
    }
    if (!any) {
        fputs("unset key\n", f->out);
    } else if (p->key) {
        fprintf(f->out, "set key at screen %.5f, screen %.5f left top Left reverse vertical maxrows 40 samplen 3\n",
                p->key->left / f->width, 1 - p->key->top / f->height);
    } else {
        fprintf(f->out, "set key inside opaque %s right noreverse Right vertical maxrows 40 samplen 3\n",
                p->high > 0 ? "bottom" : "top");
    }
}

/* ---- series ---- */

static void put_title(figure *f, const figure_series *s)
{
    if (!s->name || s->unkeyed) {
        fputs(" notitle", f->out);
        return;
    }
    size_t at = 0, characters = 0;
    for (; s->name[at]; at++) {
        bool starts = ((unsigned char)s->name[at] & 0xc0) != 0x80;
        if (starts && ++characters > NAME_MAX_SHOWN) {
            break;
        }
    }
    char text[4 * NAME_MAX_SHOWN + sizeof "\xe2\x80\xa6"];
    snprintf(text, sizeof text, "%.*s%s", (int)at, s->name, s->name[at] ? "\xe2\x80\xa6" : "");
    fputs(" title ", f->out);
    figure_quote(f, text);
}

static void put_colour(figure *f, const figure_series *s)
{
    if (s->shaded) {
        fprintf(f->out, " linecolor palette frac %.4f", s->shade);
    } else {
        fprintf(f->out, " linecolor rgb '%s'", style_of(s).colour);
    }
}

static void put_next(figure *f, bool *first)
{
    fputs(*first ? "plot " : ", \\\n     ", f->out);
    *first = false;
}

static bool has_spread(const figure_series *s)
{
    for (int64_t i = 0; s->low && s->high && i < s->n; i++) {
        if (isfinite(s->low[i]) && isfinite(s->high[i])) {
            return true;
        }
    }
    return false;
}

/* What stands behind the series' line or points, or before its bars: bands and error bars. */
static void put_spread(figure *f, const figure_series *s, int block, bool *first)
{
    bool line = s->mark == FIGURE_LINE || s->mark == FIGURE_LINE_AND_POINTS;
    if (!has_spread(s) || (line && f->plain)) {
        return;
    }
    put_next(f, first);
    if (line) {
        fprintf(f->out, "$m%d using 1:3:4 with filledcurves fillstyle transparent solid 0.18 noborder", block);
        put_colour(f, s);
    } else if (s->mark == FIGURE_BARS) {
        fprintf(f->out,
                "$m%d using 1:3:(0):($4-$3) with vectors heads size graph 0.01,90 linewidth 1 dashtype 1 "
                "linecolor rgb '#404040'",
                block);
    } else {
        fprintf(f->out,
                "$m%d using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 dashtype 1 linecolor rgb '#404040'",
                block);
    }
    fputs(" notitle", f->out);
}

/* "with …": how the series is drawn, of n points. */
static void put_look(figure *f, const figure_series *s, int64_t n)
{
    struct style look = style_of(s);
    bool points = s->mark == FIGURE_POINTS, marked = points || s->mark == FIGURE_LINE_AND_POINTS || n == 1;
    if (s->mark == FIGURE_BARS) {
        fprintf(f->out,
                " with boxes fillstyle solid 0.85 border linecolor rgb '#404040' fillcolor rgb '%s' linewidth 0.5",
                look.colour);
        return;
    }
    if (s->mark == FIGURE_STEPS) {
        fputs(" with steps linewidth 1.2 dashtype 3", f->out);
        put_colour(f, s);
        return;
    }
    fprintf(f->out, " with %s", points ? "points" : marked ? "linespoints" : "lines");
    if (!points) {
        fprintf(f->out, " linewidth 1.5 dashtype %d", look.dashes);
    }
    put_colour(f, s);
    if (marked) {
        fprintf(f->out, " pointtype %d pointsize %s", look.marker, points ? "1.0" : "0.6");
        if (!points && n > MARKERS) {
            fprintf(f->out, " pointnumber %d", MARKERS);
        }
    }
}

/* The bars' values at their feet: heights alone hide small differences. */
static void put_values(figure *f, const figure_series *s, int block, bool *first)
{
    put_next(f, first);
    fprintf(f->out,
            "$m%d using 1:(0):(sprintf('%%.4g', $2)) with labels rotate by 90 left offset 0, 0.4 "
            "textcolor rgb '%s' notitle",
            block, style_of(s).light ? "black" : "white");
}

static void put_series(figure *f, const figure_series *s, int block, int64_t n, bool *first)
{
    if (s->mark != FIGURE_BARS) {
        put_spread(f, s, block, first);
    }
    put_next(f, first);
    fprintf(f->out, "$m%d using 1:2", block);
    put_look(f, s, n);
    put_title(f, s);
    if (s->mark == FIGURE_BARS) {
        put_spread(f, s, block, first);
        put_values(f, s, block, first);
    }
}

/* What stands in the key alone. */
static void put_key_entry(figure *f, const figure_series *s, bool *first)
{
    put_next(f, first);
    fputs("keyentry", f->out);
    put_look(f, s, 2);
    put_title(f, s);
}

double figure_key_width(const figure_series *series, int64_t n)
{
    size_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t length = series[i].name && !series[i].unkeyed ? strlen(series[i].name) : 0;
        most = length > most ? length : most;
    }
    return most == 0 ? 0 : 58 + 6.2 * (double)(most < NAME_MAX_SHOWN ? most : NAME_MAX_SHOWN);
}

/* ---- the panel ---- */

/* A frame that says that there is nothing, rather than one with no sign of why. */
static void put_nothing(figure *f)
{
    fputs("unset logscale\nset xrange [0:1]\nset yrange [0:1]\nunset xtics\nunset ytics\nunset key\n"
          "set label 'no values' at graph 0.5, graph 0.5 center noenhanced\nplot -1 notitle\n",
          f->out);
}

void figure_curves(figure *f, const figure_box *box, const figure_plot *p)
{
    if (!f->out) {
        return;
    }
    int block = f->blocks;
    int64_t points = 0;
    for (int64_t i = 0; i < p->n_series; i++) {
        put_points(f, p, &p->series[i]);
        put_rows(f, p, &p->series[i]);
        points += count_points(p, &p->series[i]);
    }
    figure_panel(f, box, p->title);
    figure_axis_title(f, 'x', p->x_title);
    figure_axis_title(f, 'y', p->y_title);
    if (points == 0) {
        put_nothing(f);
    } else {
        put_scales(f, p);
        put_key(f, p);
        fprintf(f->out, "set palette defined (%s)\nset cbrange [0:1]\nunset colorbox\nset boxwidth %.4f\n",
                row_of_colours, .8 / (double)p->n_series);
        bool first = true;
        for (int64_t i = 0; i < p->n_series; i++) {
            const figure_series *s = &p->series[i];
            int64_t n = count_points(p, s);
            if (n > 0) {
                put_series(f, s, block + (int)i, n, &first);
            } else if (s->n == 0 && s->name && !s->unkeyed) {
                put_key_entry(f, s, &first);
            }
        }
    }
    fputs("\nunset label\nunset logscale\n", f->out);
}
