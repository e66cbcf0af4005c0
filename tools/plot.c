/* tools/plot.c: ascgrad plot: curves of runs, in one picture. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <program/file.h>
#include <ascgrad/runs.h>
#include <ascgrad/stats.h>
#include <program/names.h>

#include "tools/commands.h"
#include "tools/figure/figure.h"
#include "tools/metric.h"
#include "tools/run_names.h"
#include "tools/spare.h"

enum { WIDTH = 860, HEIGHT = 520, LEFT = 80, TOP = 50, BOTTOM = 60, CELL_X = 7, CELL_Y = 15, MOST_RUNS = 256 };

struct args {
    const char *x, *y, *out, *csv;
    double smooth;
    bool log_x, log_y, json;
};

static const cli_option options[] = {
    {"x", 'x', "tokens|steps|minutes", CLI_CHOICE, offsetof(struct args, x), 0, 0, "what goes across (tokens)"},
    {"y", 'y', "KEY", CLI_TEXT, offsetof(struct args, y), 0, 0,
     "up: a key of metrics.jsonl, as loss, valid_loss, lr, ascender.omega_sep[0][3] (valid_accuracy where that chooses "
     "the best, else valid_ppl, or loss without it)"},
    {"out", 'o', "FILE", CLI_TEXT, offsetof(struct args, out), 0, 0,
     "write FILE.svg, .png, .pdf, or .gp, gnuplot's script, and the data beside it (on a terminal: characters)"},
    {"csv", 0, "FILE", CLI_TEXT, offsetof(struct args, csv), 0, 0, "write the data here"},
    {"smooth", 0, "W", CLI_REAL, offsetof(struct args, smooth), 0, 0.9999,
     "running mean, W the weight of what came before, as 0.9; the picture says so (0)"},
    {"log-x", 0, NULL, CLI_FLAG, offsetof(struct args, log_x), 0, 0, "a logarithmic scale across"},
    {"log-y", 0, NULL, CLI_FLAG, offsetof(struct args, log_y), 0, 0, "a logarithmic scale up"},
    CLI_JSON(struct args),
    {0},
};

static const struct axis {
    const char *name, *key, *title;
    double scale;
} axes[] = {
    {"tokens", "tokens", "tokens", 1},
    {"steps", "step", "steps", 1},
    {"minutes", "elapsed_s", "minutes", 1 / 60.},
};
enum { N_AXES = sizeof axes / sizeof *axes };

/* The runs, and a curve of each. */
typedef struct plot {
    asc_ctx *ctx;
    const struct args *args;
    const struct axis *across;
    const char *y;
    asc_run *runs[MOST_RUNS];
    size_t n;
    int left_out; /* the status of runs that can't be read, beside others that can */
    figure_series series[MOST_RUNS];
    char names[MOST_RUNS][RUN_NAME];
    int64_t n_series;
    char y_title[160];
} plot;

/* ---- reading ---- */

static bool add_run(void *user, const char *folder)
{
    plot *p = user;
    if (p->n == MOST_RUNS) {
        asc_fail(p->ctx, ASC_ERR_ARG, "more than %d runs", MOST_RUNS);
        return false;
    }
    asc_run *run = asc_run_read(p->ctx, folder);
    if (run) {
        p->runs[p->n++] = run;
    } else if (asc_error(p->ctx) == ASC_ERR_MEMORY) {
        return false;
    } else { /* one that is damaged does not hide the others */
        p->left_out = cli_report(p->ctx);
        asc_error_clear(p->ctx);
    }
    return true;
}

/* A RUN, or all that are in a folder. */
static int read_operand(plot *p, const char *folder)
{
    size_t before = p->n;
    int left_out = p->left_out;
    p->left_out = CLI_OK;
    asc_runs_find(p->ctx, folder, add_run, p);
    if (asc_error(p->ctx) == ASC_OK && p->n == before && p->left_out == CLI_OK) {
        asc_fail(p->ctx, ASC_ERR_IO, "%s: there is no run there", folder);
    }
    int status = cli_report(p->ctx);
    p->left_out = p->left_out ? p->left_out : left_out;
    return status;
}

static bool has_key(const plot *p, const char *wanted)
{
    for (size_t r = 0; r < p->n; r++) {
        const char *key;
        for (int i = 0; (key = asc_run_key_at(p->runs[r], i)); i++) {
            if (strcmp(key, wanted) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The key nearest to what was asked for, of all the runs'. */
static const char *nearest_key(const plot *p, const char *wanted)
{
    const char *best = NULL, *key;
    for (size_t r = 0; r < p->n; r++) {
        for (int i = 0; (key = asc_run_key_at(p->runs[r], i)); i++) {
            best = !best || asc_name_distance(wanted, key) < asc_name_distance(wanted, best) ? key : best;
        }
    }
    return best;
}

static const struct axis *read_axis(const char *name)
{
    int i = 0;
    while (i < N_AXES - 1 && strcmp(name, axes[i].name) != 0) {
        i++;
    }
    return &axes[i];
}

static const char *usual_y(const plot *p)
{
    bool accuracy = true;
    for (size_t r = 0; r < p->n; r++) {
        accuracy = accuracy && asc_run_info_of(p->runs[r])->by_accuracy;
    }
    const char *usual = accuracy ? "valid_accuracy" : "valid_ppl";
    return has_key(p, usual) ? usual : "loss";
}

static void choose_y(plot *p)
{
    p->y = p->args->y ? p->args->y : usual_y(p);
    if (!has_key(p, p->y)) {
        const char *near = nearest_key(p, p->y);
        if (!near) {
            cli_message("%s: has no measurements yet", asc_run_folder(p->runs[0]));
            exit(CLI_IO);
        }
        cli_wrong_usage("--y: no run has '%s'; did you mean '%s'?", p->y, near);
    }
    snprintf(p->y_title, sizeof p->y_title, "%s", metric_title(p->y));
    if (p->args->smooth > 0) {
        size_t n = strlen(p->y_title);
        snprintf(p->y_title + n, sizeof p->y_title - n, ", running mean (weight %g)", p->args->smooth);
    }
}

/* ---- curves ---- */

/* The points of a run, in the scope. */
static void add_curve(plot *p, size_t r)
{
    const asc_run *run = p->runs[r];
    int64_t rows = (int64_t)asc_run_rows(run), n = 0, room = rows > 0 ? rows : 1;
    double *x = asc_data_mut(asc_zeros(p->ctx, ASC_F64, 1, &room)),
           *y = asc_data_mut(asc_zeros(p->ctx, ASC_F64, 1, &room));
    for (int64_t row = 0; x && y && row < rows; row++) {
        double at = asc_run_value(run, (size_t)row, p->across->key), value = asc_run_value(run, (size_t)row, p->y);
        if (isfinite(at) && isfinite(value)) {
            x[n] = at * p->across->scale;
            y[n++] = value;
        }
    }
    if (n == 0) {
        cli_message("%s has no %s over %s, and is left out", asc_run_folder(run), p->y, p->across->name);
        return;
    }
    if (p->args->smooth > 0) {
        asc_stats_smooth(p->ctx, y, n, p->args->smooth, y);
    }
    bool sparse = strncmp(p->y, "valid_", 6) == 0;
    p->series[p->n_series] = (figure_series){.name = p->names[r],
                                             .x = x,
                                             .y = y,
                                             .n = n,
                                             .style = (int)p->n_series,
                                             .mark = sparse || p->n > 1 ? FIGURE_LINE_AND_POINTS : FIGURE_LINE};
    p->n_series++;
}

static void draw(const plot *p, figure *f, int width, int height, bool terminal)
{
    double beside = p->n > 1 && !terminal ? figure_key_width(p->series, p->n_series) : 0;
    char title[400];
    snprintf(title, sizeof title, p->n == 1 ? "%.300s" : "%.0s%d runs", asc_run_folder(p->runs[0]), (int)p->n);
    figure_begin(f, terminal ? "" : title, width + (int)beside, height);
    f->plain = terminal;
    figure_box box = {LEFT, terminal ? CELL_Y : TOP, width - LEFT - 20,
                      height - (terminal ? 4.5 * CELL_Y : TOP + BOTTOM)},
               key = {width - 8, TOP, 0, 0};
    figure_curves(f, &box,
                  &(figure_plot){
                      .x_title = p->across->title,
                      .y_title = terminal ? NULL : p->y_title,
                      .title = terminal ? p->y_title : NULL,
                      .series = p->series,
                      .n_series = p->n_series,
                      .log_x = p->args->log_x ? 10 : 0,
                      .log_y = p->args->log_y,
                      .key = beside > 0 ? &key : NULL,
                  });
}

/* ---- where it goes ---- */

static int print_in_terminal(const plot *p)
{
    struct winsize size = {0};
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    int columns = known ? size.ws_col : 80, rows = known ? size.ws_row - 1 : 24;
    columns = columns < 40 ? 40 : columns > 160 ? 160 : columns;
    rows = rows < 12 ? 12 : rows > 40 ? 40 : rows;
    figure f;
    draw(p, &f, columns * CELL_X, rows * CELL_Y, true);
    bool colour = term && strcmp(term, "dumb") != 0 && !(no_colour && *no_colour);
    return figure_print(&f, p->ctx, columns, rows, colour);
}

/* FILE without its end, and the end's format. */
static unsigned read_out(const char *out, char *stem, size_t bytes)
{
    const char *dot = strrchr(out, '.'), *slash = strrchr(out, '/');
    unsigned format = dot && (!slash || dot > slash + 1) && dot > out ? figure_format(dot + 1, strlen(dot + 1)) : 0;
    if (format == 0) {
        cli_wrong_usage("--out: got '%s', expected a name that ends with .svg, .png, .pdf, .gp or .csv", out);
    }
    snprintf(stem, bytes, "%.*s", (int)(dot - out), out);
    return format;
}

static int write_table(const plot *p, const char *path, json_t *files)
{
    figure f;
    draw(p, &f, WIDTH, HEIGHT, false);
    return figure_write_csv(&f, p->ctx, path, files);
}

static int write_all(const plot *p, json_t *files)
{
    const struct args *args = p->args;
    char stem[4096];
    int status = CLI_OK;
    if (args->csv) {
        status = write_table(p, args->csv, files);
    }
    if (args->out && status == CLI_OK) {
        figure f;
        unsigned format = read_out(args->out, stem, sizeof stem);
        draw(p, &f, WIDTH, HEIGHT, false);
        status = figure_end(&f, p->ctx, stem, format | (args->csv ? 0 : FIGURE_CSV), files);
    }
    return status;
}

static json_t *list(const double *values, int64_t n)
{
    json_t *all = json_array();
    for (int64_t i = 0; i < n; i++) {
        json_array_append_new(all, cli_json_real(values[i]));
    }
    return all;
}

static int print_result(const plot *p, json_t *files)
{
    json_t *curves = json_array(), *file;
    for (int64_t i = 0; i < p->n_series && p->args->json; i++) {
        const figure_series *s = &p->series[i];
        json_array_append_new(curves, json_pack("{s:o, s:I, s:o, s:o}", "name", cli_json_string(s->name),
                                                "points", (json_int_t)s->n, "x", list(s->x, s->n), "y",
                                                list(s->y, s->n)));
    }
    if (p->args->json) {
        return cli_print_json(
            json_pack("{s:s, s:s, s:o, s:O}", "x", p->across->name, "y", p->y, "curves", curves, "files", files));
    }
    json_decref(curves);
    size_t i;
    json_array_foreach(files, i, file)
    {
        cli_print(i ? " %s" : "written: %s", json_string_value(file));
    }
    puts("");
    return CLI_OK;
}

static int make(plot *p)
{
    choose_y(p);
    run_names((const asc_run *const *)p->runs, p->n, p->names);
    for (size_t r = 0; r < p->n; r++) {
        add_curve(p, r);
    }
    if (asc_error(p->ctx)) {
        return cli_report(p->ctx);
    }
    if (!p->args->out && !p->args->csv && !p->args->json) {
        return print_in_terminal(p);
    }
    json_t *files = json_array();
    int status = write_all(p, files);
    status = status == CLI_OK ? print_result(p, files) : status;
    json_decref(files);
    return status;
}

static int run(int argc, char **argv)
{
    struct args args = {.x = "tokens"};
    int n = cli_parse(&command_plot, argc, argv, &args);
    cli_expect_operands(n, argv, 1, argc, "a RUN");
    char stem[4096], data[4096 + 4] = "";
    if (args.out) {
        read_out(args.out, stem, sizeof stem);
        snprintf(data, sizeof data, "%s.csv", stem);
    }
    if (args.out && args.csv && strcmp(args.out, args.csv) == 0) {
        cli_wrong_usage("--csv: got %s, as --out: expected another file", args.csv);
    }
    if (args.out && !args.csv && figure_is_strange(data)) {
        cli_wrong_usage("--out: the data of %s stand in %s, which is there and is no figure's: expected another name, "
                        "or --csv FILE", args.out, data);
    }
    if (!args.out && !args.csv && !args.json && !isatty(STDOUT_FILENO)) {
        cli_wrong_usage("--out is missing: a picture needs a file here, as -o curves.svg, .png or .pdf; without one it "
                        "is drawn in a terminal, and there is none");
    }
    static plot p;
    p = (plot){.ctx = cli_ctx_new(1), .args = &args, .across = read_axis(args.x)};
    int status = CLI_OK;
    for (int i = 0; i < n && status == CLI_OK; i++) {
        status = read_operand(&p, argv[i]);
    }
    status = status == CLI_OK && p.n == 0 ? p.left_out : status;
    for (size_t r = 0; r < p.n; r++) {
        const char *const folder[] = {asc_run_folder(p.runs[r])};
        spare_inputs("csv", args.csv, 1, folder);
        spare_inputs("out", args.out, 1, folder);
        spare_inputs("out", args.out && !args.csv ? data : NULL, 1, folder); /* the data stand beside the picture */
    }
    asc_scope_begin(p.ctx);
    status = status == CLI_OK ? make(&p) : status;
    status = status == CLI_OK ? p.left_out : status;
    asc_scope_end(p.ctx);
    for (size_t r = 0; r < p.n; r++) {
        asc_run_free(p.runs[r]);
    }
    asc_ctx_free(p.ctx);
    return status;
}

const cli_command command_plot = {
    "plot",
    "draws curves of runs",
    "RUN...",
    "One curve for each RUN, or for each of those in a folder, named by the settings that differ. Pictures are drawn "
    "by\n"
    "gnuplot; the data stand beside them as CSV: panel,series,x,y,low,high.",
    "ascgrad plot runs/first runs/second\n"
    "ascgrad plot runs --x minutes --y valid_loss -o curves.svg\n"
    "ascgrad plot runs/first --y loss --smooth 0.9 --log-y -o loss.pdf",
    options,
    run,
};
