/* tools/figure/script.c: a figure as a gnuplot script and as a table, both in memory. */
#include <stdlib.h>
#include <string.h>

#include "tools/csv.h"
#include "tools/figure/figure.h"
#include "tools/plain.h"

/* ---- the script ---- */

/* Each of the characters `twice` is written so. */
static void quote(figure *f, const char *text, const char *twice)
{
    char *plain = cli_plain(text);
    fputc('\'', f->out);
    for (const char *c = plain; c && *c; c++) {
        if (strchr(twice, *c)) {
            fputc(*c, f->out);
        }
        fputc((unsigned char)*c < ' ' ? ' ' : *c, f->out);
    }
    fputc('\'', f->out);
    free(plain);
}

void figure_quote(figure *f, const char *text)
{
    quote(f, text, "'");
}

void figure_quote_tick(figure *f, const char *text)
{
    quote(f, text, "'%");
}

void figure_begin(figure *f, const char *title, int width, int height)
{
    *f = (figure){.width = width, .height = height};
    f->out = open_memstream(&f->text, &f->bytes);
    f->csv = open_memstream(&f->table, &f->table_bytes);
    if (f->csv) {
        fputs(FIGURE_COLUMNS "\n", f->csv);
    }
    if (f->out) {
        fprintf(f->out, "set encoding utf8\nset multiplot\nset tics nomirror out scale 0.4\nset key noenhanced\n"
                        "set label ");
        figure_quote(f, title);
        fprintf(f->out, " at screen %.5f, screen %.5f left noenhanced font ',11'\n", 12.0 / width, 1 - 18.0 / height);
    }
}

void figure_note(figure *f, double x, double y, bool turned, const char *text)
{
    if (!f->out) {
        return;
    }
    fprintf(f->out, "set label ");
    figure_quote(f, text);
    fprintf(f->out, " at screen %.5f, screen %.5f %s noenhanced\n", x / f->width, 1 - y / f->height,
            turned ? "center rotate by 90" : "left");
}

int figure_block(figure *f)
{
    return f->blocks++;
}

void figure_panel(figure *f, const figure_box *b, const char *title)
{
    fprintf(f->out, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n", b->left / f->width,
            (b->left + b->width) / f->width);
    fprintf(f->out, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n", 1 - b->top / f->height,
            1 - (b->top + b->height) / f->height);
    fprintf(f->out, "set title ");
    figure_quote(f, title ? title : "");
    fprintf(f->out, " noenhanced offset 0, -0.5\n");
}

void figure_axis_title(figure *f, char axis, const char *title)
{
    fprintf(f->out, "set %clabel ", axis);
    figure_quote(f, title ? title : "");
    fputs(" noenhanced\n", f->out);
}

/* ---- the table ---- */

void figure_row(figure *f, const char *panel, const char *series, const char *x_text, double x, double y, double low,
                double high)
{
    if (!f->csv) {
        return;
    }
    csv_text(f->csv, panel ? panel : "");
    fputc(',', f->csv);
    csv_text(f->csv, series ? series : "");
    fputc(',', f->csv);
    if (x_text) {
        csv_text(f->csv, x_text);
    } else {
        csv_number(f->csv, x);
    }
    const double rest[] = {y, low, high};
    for (int i = 0; i < 3; i++) {
        fputc(',', f->csv);
        csv_number(f->csv, rest[i]);
    }
    fputc('\n', f->csv);
}
