/* tools/runs/runs.c: ascgrad runs. */
#include "tools/runs/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <program/names.h>

#include "tools/commands.h"

struct args {
    const char *sort;
    bool json;
};

static const cli_option options[] = {
    {"sort", 's', "KEY", CLI_TEXT, offsetof(struct args, sort), 0, 0,
     "name, age (newest first), loss, speed, steps, state, or a setting (name)"},
    CLI_JSON(struct args),
    {0},
};

double runs_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- finding and sorting ---- */

static bool add(void *user, const char *path)
{
    runs_list *l = user;
    asc_run *run = asc_run_read(l->ctx, strncmp(path, "./", 2) == 0 ? path + 2 : path);
    if (!run && asc_error(l->ctx) == ASC_ERR_MEMORY) {
        return false;
    }
    if (!run) { /* one that is damaged does not hide the others */
        l->status = cli_report(l->ctx);
        asc_error_clear(l->ctx);
        return true;
    }
    asc_run **longer = realloc(l->runs, ((size_t)l->n + 1) * sizeof *longer);
    if (!longer) {
        asc_run_free(run);
        asc_fail(l->ctx, ASC_ERR_MEMORY, "out of memory");
        return false;
    }
    l->runs = longer;
    l->runs[l->n++] = run;
    return true;
}

static const char *sort_key; /* of the comparison */

/* What a run is sorted by: the smaller comes first. NaN, where it is not known, comes last. */
static double sort_value(const asc_run *run)
{
    const asc_run_info *i = asc_run_info_of(run);
    if (strcmp(sort_key, "age") == 0) {
        return -i->updated_s;
    }
    if (strcmp(sort_key, "loss") == 0) {
        return i->best.valid_loss;
    }
    if (strcmp(sort_key, "speed") == 0) {
        return -i->tokens_per_s;
    }
    if (strcmp(sort_key, "steps") == 0) {
        return -(double)i->step;
    }
    if (strcmp(sort_key, "state") == 0) {
        static const int order[] = {
            [ASC_RUN_STATE_RUNNING] = 0,
            [ASC_RUN_STATE_FAILED] = 1,
            [ASC_RUN_STATE_INTERRUPTED] = 2,
            [ASC_RUN_STATE_DONE] = 3,
        };
        return order[i->state];
    }
    const char *value = asc_run_setting(run, sort_key);
    char *end;
    double number = value ? strtod(value, &end) : NAN;
    return value && end > value && !*end ? number : NAN;
}

/* Settings that are no numbers, by their text; none at all comes last. */
static int compare_texts(const asc_run *a, const asc_run *b)
{
    const char *x = asc_run_setting(a, sort_key), *y = asc_run_setting(b, sort_key);
    return x && y ? strcmp(x, y) : (x == NULL) - (y == NULL);
}

static int compare(const void *left, const void *right)
{
    const asc_run *a = *(asc_run *const *)left, *b = *(asc_run *const *)right;
    double x = sort_value(a), y = sort_value(b);
    if (isnan(x) != isnan(y)) {
        return isnan(x) ? 1 : -1;
    }
    return isnan(x) ? compare_texts(a, b) : (x > y) - (x < y);
}

/* Runs that are equal keep the order in which they were found, that of their names. */
static void sort(runs_list *l)
{
    for (int i = 1; i < l->n; i++) {
        asc_run *run = l->runs[i];
        int at = i;
        for (; at > 0 && compare(&l->runs[at - 1], &run) > 0; at--) {
            l->runs[at] = l->runs[at - 1];
        }
        l->runs[at] = run;
    }
}

/* What --sort may be given: columns, and settings by key and by option. Into `names`, or counted where it is NULL. */
static int sort_names(const asc_ctx *ctx, const char **names)
{
    static const char *const columns[] = {"name", "age", "loss", "speed", "steps", "state"};
    int n = 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++, n++) {
        if (names) {
            names[n] = columns[i];
        }
    }
    asc_schema schema;
    for (int i = 0; (schema = asc_settings_schema(ctx, i)).owner; i++) {
        for (const asc_setting *row = schema.settings; row->key; row++, n += 2) {
            if (names) {
                names[n] = row->key;
                names[n + 1] = row->option ? row->option : row->key;
            }
        }
    }
    return n;
}

static void check_sort(const asc_ctx *ctx, const char *key)
{
    const char **names = calloc((size_t)sort_names(ctx, NULL) + 1, sizeof *names);
    if (!names) {
        cli_message("out of memory");
        exit(CLI_IO);
    }
    int n = sort_names(ctx, names);
    char name[64]; /* as settings are spelled */
    snprintf(name, sizeof name, "%s", key);
    for (char *c = name; *c; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    bool known = false;
    for (int i = 0; i < n && !known; i++) {
        known = strcmp(names[i], key) == 0 || strcmp(names[i], name) == 0;
    }
    char hint[ASC_NAME_HINT];
    asc_name_hint(known ? NULL : asc_name_guess(name, names), hint);
    free(names);
    if (!known) {
        cli_wrong_usage("--sort: got '%s', expected name, age, loss, speed, steps, state or a setting%s", key, hint);
    }
}

/* ---- the command ---- */

static void print(runs_list *l, const struct args *args)
{
    runs_setting *settings;
    int n = runs_settings(l, &settings);
    if (args->json) {
        int status = runs_print_json(l, settings, n);
        l->status = status ? status : l->status;
    } else if (l->n > 0) {
        runs_print_table(l, settings, n);
    }
    free(settings);
}

static int run(int argc, char **argv)
{
    struct args args = {.sort = "name"};
    int n = cli_parse(&command_runs, argc, argv, &args);
    cli_expect_operands(n, argv, 0, argc, "");
    runs_list l = {.ctx = cli_ctx_new(1)};
    check_sort(l.ctx, args.sort);
    for (int i = 0; i < (n > 0 ? n : 1) && asc_error(l.ctx) != ASC_ERR_MEMORY; i++) {
        if (asc_runs_find(l.ctx, n > 0 ? argv[i] : ".", add, &l) && asc_error(l.ctx) != ASC_ERR_MEMORY) {
            l.status = cli_report(l.ctx);
            asc_error_clear(l.ctx);
        }
    }
    int status = cli_report(l.ctx);
    if (status == CLI_OK) {
        if (strcmp(args.sort, "name") != 0) {
            sort_key = args.sort;
            sort(&l);
        }
        if (l.n == 0 && l.status == CLI_OK) {
            cli_message("there are no runs in %s%s; \"ascgrad train … --out RUN\" makes one",
                        n > 0 ? argv[0] : "this folder", n > 1 ? " and the others" : "");
        }
        print(&l, &args);
        status = l.status;
    }
    for (int i = 0; i < l.n; i++) {
        asc_run_free(l.runs[i]);
    }
    free(l.runs);
    asc_ctx_free(l.ctx);
    return status;
}

const cli_command command_runs = {
    "runs",
    "lists runs: state, settings that differ, loss, speed, age",
    "[FOLDER...]",
    "A FOLDER is a run, or has runs in it or below it; without one, the current folder. The loss is the best on the\n"
    "validation split; the age is the time since the last line of metrics.jsonl.",
    "ascgrad runs\nascgrad runs runs --sort loss",
    options,
    run,
};
