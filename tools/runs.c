/* tools/runs.c: ascgrad runs. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ascgrad/runs.h>

#include "tools/columns.h"
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

/* The runs that were read. */
typedef struct list {
    asc_ctx *ctx;
    asc_run **runs;
    int n;
    int status; /* of the worst that happened */
} list;

/* ---- finding and sorting ---- */

static bool add(void *user, const char *path)
{
    list *l = user;
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
            [ASC_RUN_RUNNING] = 0,
            [ASC_RUN_FAILED] = 1,
            [ASC_RUN_INTERRUPTED] = 2,
            [ASC_RUN_DONE] = 3,
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
static void sort(list *l)
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

static void check_sort(const asc_ctx *ctx, const char *key)
{
    static const char *const keys[] = {"name", "age", "loss", "speed", "steps", "state", NULL};
    for (int i = 0; keys[i]; i++) {
        if (strcmp(keys[i], key) == 0) {
            return;
        }
    }
    asc_schema schema;
    for (int i = 0; (schema = asc_settings_schema(ctx, i)).owner; i++) {
        for (const asc_setting *row = schema.settings; row->key; row++) {
            if (strcmp(row->key, key) == 0 || (row->option && strcmp(row->option, key) == 0)) {
                return;
            }
        }
    }
    cli_wrong_usage("--sort: got '%s', expected name, age, loss, speed, steps, state or a setting; did you mean '%s'?",
                    key, asc_name_nearest(key, keys));
}

/* ---- settings that differ ---- */

/* Whether two of the runs that have the setting have it with different values. */
static bool differs(const list *l, const char *key)
{
    const char *first = NULL;
    for (int i = 0; i < l->n; i++) {
        const char *value = asc_run_setting(l->runs[i], key);
        if (value && first && strcmp(value, first) != 0) {
            return true;
        }
        first = first ? first : value;
    }
    return false;
}

/* How much a setting says: 0 … 7 what a model is and learns from, in this order; 8 other settings, 9 what follows from
 * others, 10 what does not shape the result. */
static int rank_of(const char *key, const asc_setting *row)
{
    static const char *const first[] = {"mix", "layers", "d_model", "lr", "seed", "block", "data", "tokenizer"};
    static const char *const last[] = {"threads",    "minutes",     "log_every", "checkpoint_every",
                                       "eval_every", "tensorboard", "recompute", "debug_nan"};
    for (int i = 0; i < 8; i++) {
        if (strcmp(key, first[i]) == 0) {
            return i;
        }
    }
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        if (strcmp(key, last[i]) == 0) {
            return 10;
        }
    }
    return row && !row->fallback ? 9 : 8;
}

/* Its row; NULL for one of a mixing that this program does not have. */
static const asc_setting *find_row(const asc_ctx *ctx, const char *key)
{
    asc_schema schema;
    const asc_setting *row = NULL;
    for (int i = 0; !row && (schema = asc_settings_schema(ctx, i)).owner; i++) {
        row = asc_setting_find(schema.settings, key);
    }
    return row;
}

typedef struct setting {
    const char *key, *name;
    int rank, nth;
} setting;

static int by_rank(const void *left, const void *right)
{
    const setting *a = left, *b = right;
    return a->rank != b->rank ? a->rank - b->rank : a->nth - b->nth;
}

/* Whether an earlier run has the setting, too, as far as a look at two of them tells. */
static bool seen_before(const list *l, int run, const char *key)
{
    return run > 0 && (asc_run_setting(l->runs[0], key) || asc_run_setting(l->runs[run - 1], key));
}

/* The settings that differ, what says most first; how many. New. */
static int find_settings(const list *l, setting **found)
{
    int n = 0;
    *found = NULL;
    for (int r = 0; r < l->n; r++) {
        const char *key;
        for (int i = 0; (key = asc_run_setting_at(l->runs[r], i)); i++) {
            bool known = seen_before(l, r, key);
            for (int k = 0; k < n && !known; k++) {
                known = strcmp((*found)[k].key, key) == 0;
            }
            setting *longer = known || !differs(l, key) ? NULL : realloc(*found, ((size_t)n + 1) * sizeof *longer);
            if (longer) {
                const asc_setting *row = find_row(l->ctx, key);
                *found = longer;
                longer[n] = (setting){key, row && row->option ? row->option : key, rank_of(key, row), n};
                n++;
            }
        }
    }
    if (n > 0) {
        qsort(*found, (size_t)n, sizeof **found, by_rank);
    }
    return n;
}

/* ---- the table ---- */

enum { BEFORE = 3, AFTER = 3, CELL = 24 }; /* columns before and after the settings; the longest value of one */

static char *text_of(const char *format, ...) ASC_PRINTF(1, 2);
static char *text_of(const char *format, ...)
{
    char text[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return strdup(text);
}

/* "12 s", "5 min", "3 h", "2 d": to be read, not to be added. */
static char *age_of(double seconds)
{
    double s = seconds > 0 ? seconds : 0;
    return isnan(s)     ? NULL
           : s < 90     ? text_of("%.0f s", s)
           : s < 5400   ? text_of("%.0f min", s / 60)
           : s < 129600 ? text_of("%.0f h", s / 3600)
                        : text_of("%.0f d", s / 86400);
}

static char *number_of(const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    return isnan(value) ? NULL : strdup(text);
}

static char *steps_of(const asc_run_info *i)
{
    return i->steps == 0 || i->step == i->steps ? text_of("%lld", (long long)i->step)
                                                : text_of("%lld/%lld", (long long)i->step, (long long)i->steps);
}

/* A setting's value without quotation marks; of a path and a long list the end. */
static char *value_of(const char *value)
{
    size_t n = value ? strlen(value) : 0;
    bool quoted = n >= 2 && value[0] == '"';
    char *end;
    double number = n ? strtod(value, &end) : 0;
    if (n && end > value && !*end) {
        return text_of("%.6g", number);
    }
    char *plain = n ? columns_clean(value) : NULL;
    if (!plain) {
        return NULL;
    }
    char *start = plain + quoted;
    n = strlen(plain);
    if (quoted) {
        plain[--n] = '\0';
    }
    if (quoted && *start == '/') {
        start = strrchr(start, '/') + 1;
    }
    n = strlen(start);
    memmove(plain, start, n + 1);
    if (n > CELL) { /* at a character's beginning */
        start = plain + n - CELL + 1;
        while ((*start & 0xc0) == 0x80) {
            start++;
        }
        char *cut = text_of("…%s", start);
        free(plain);
        plain = cut;
    }
    return plain;
}

static void fill_row(char **cells, const asc_run *run, const setting *settings, int n_settings, double now)
{
    const asc_run_info *i = asc_run_info_of(run);
    *cells++ = columns_clean(asc_run_folder(run));
    *cells++ = strdup(asc_run_state_name(i->state));
    *cells++ = number_of("%.4f", i->best.valid_loss);
    for (int s = 0; s < n_settings; s++) {
        *cells++ = value_of(asc_run_setting(run, settings[s].key));
    }
    *cells++ = steps_of(i);
    *cells++ = number_of("%.0f", i->tokens_per_s);
    *cells++ = age_of(now - i->updated_s);
}

static bool is_number(const list *l, const char *key)
{
    for (int i = 0; i < l->n; i++) {
        const char *value = asc_run_setting(l->runs[i], key);
        if (value && !strchr("-0123456789", *value)) {
            return false;
        }
    }
    return true;
}

static void say_what_is_left_out(const columns_column *columns, int n, int width)
{
    int at = 0;
    for (int c = 0; c < n; c++) {
        if (columns[c].shown) {
            continue;
        }
        if (at > 0 && width > 0 && at + columns_of(columns[c].title) + 3 > width) {
            at = printf(",\n  %s", columns[c].title) - 2;
        } else {
            at += printf("%s%s", at ? ", " : "left out, --json has all: ", columns[c].title);
        }
    }
    if (at) {
        putchar('\n');
    }
}

static void say_why(const list *l)
{
    for (int i = 0; i < l->n; i++) {
        const asc_run_info *info = asc_run_info_of(l->runs[i]);
        char *folder = columns_clean(asc_run_folder(l->runs[i]));
        char *reason = info->reason ? columns_clean(info->reason) : NULL;
        if (info->state == ASC_RUN_FAILED && folder && reason) {
            printf("%s failed: %s\n", folder, reason);
        }
        free(folder);
        free(reason);
    }
}

/* The table has the steps in a column of their own. */
static int drop_steps(setting *settings, int n)
{
    for (int s = 0; s < n; s++) {
        if (strcmp(settings[s].key, "steps") == 0) {
            memmove(settings + s, settings + s + 1, (size_t)(n - s - 1) * sizeof *settings);
            return n - 1;
        }
    }
    return n;
}

/* What differs first and most stays longest: a setting of the first five, age, speed, a setting of the next three. */
static int column_rank(int setting)
{
    return setting < 5 ? 1 : setting < 8 ? 4 : setting;
}

static void print_table(const list *l, setting *settings, int n_settings)
{
    n_settings = drop_steps(settings, n_settings);
    int n = BEFORE + n_settings + AFTER;
    char **cells = calloc((size_t)(n * l->n), sizeof *cells);
    columns_column *columns = calloc((size_t)n, sizeof *columns);
    double now = (double)time(NULL);
    if (cells && columns) {
        columns[0] = (columns_column){.title = "run"};
        columns[1] = (columns_column){.title = "state"};
        columns[2] = (columns_column){.title = "loss", .right = true};
        for (int s = 0; s < n_settings; s++) {
            columns[BEFORE + s] = (columns_column){.title = settings[s].name,
                                                   .right = is_number(l, settings[s].key),
                                                   .rank = column_rank(settings[s].rank)};
        }
        columns[n - 3] = (columns_column){.title = "steps", .right = true, .rank = 5};
        columns[n - 2] = (columns_column){.title = "tokens/s", .right = true, .rank = 3};
        columns[n - 1] = (columns_column){.title = "age", .right = true, .rank = 2};
        for (int i = 0; i < l->n; i++) {
            fill_row(cells + i * n, l->runs[i], settings, n_settings, now);
        }
        columns_print(columns, n, cells, l->n, columns_width());
        say_what_is_left_out(columns, n, columns_width());
        say_why(l);
    }
    for (int i = 0; cells && i < n * l->n; i++) {
        free(cells[i]);
    }
    free(cells);
    free(columns);
}

/* ---- JSON ---- */

static json_t *json_best(const asc_run_best *b)
{
    return b->step < 0 ? json_null()
                       : json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "step", (json_int_t)b->step, "tokens",
                                   cli_json_real(b->tokens), "elapsed_s", cli_json_real(b->elapsed_s), "valid_loss",
                                   cli_json_real(b->valid_loss), "valid_ppl", cli_json_real(b->valid_ppl),
                                   "valid_bits_per_byte", cli_json_real(b->valid_bits_per_byte));
}

static json_t *json_settings(const asc_run *run)
{
    json_t *all = json_object();
    const char *key;
    for (int i = 0; (key = asc_run_setting_at(run, i)); i++) {
        json_object_set_new(all, key, json_loads(asc_run_setting(run, key), JSON_DECODE_ANY, NULL));
    }
    return all;
}

static json_t *json_run(const asc_run *run, double now)
{
    const asc_run_info *i = asc_run_info_of(run);
    const char *folder = asc_run_folder(run);
    json_t *best = json_best(&i->best), *settings = json_settings(run);
    json_t *object =
        json_pack("{s:o, s:s, s:s?, s:I, s:o, s:o, s:o, s:o}", "run", cli_json_text(folder, strlen(folder)), "state",
                  asc_run_state_name(i->state), "reason", i->reason, "step", (json_int_t)i->step, "steps",
                  i->steps ? json_integer(i->steps) : json_null(), "tokens", cli_json_real(i->tokens), "epochs",
                  cli_json_real(i->epochs), "wall_s", cli_json_real(i->wall_s));
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"tokens_per_s", i->tokens_per_s},
                   {"parameters", i->parameters},
                   {"peak_rss_mib", i->peak_rss_mib},
                   {"gflop_per_token", i->gflop_per_token},
                   {"age_s", now - i->updated_s}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        json_object_set_new(object, numbers[k].key, cli_json_real(numbers[k].value));
    }
    json_object_set_new(object, "best", best);
    json_object_set_new(object, "settings", settings);
    return object;
}

static int print_json(const list *l, const setting *settings, int n_settings)
{
    json_t *runs = json_array(), *keys = json_array();
    double now = (double)time(NULL);
    for (int i = 0; i < l->n; i++) {
        json_array_append_new(runs, json_run(l->runs[i], now));
    }
    for (int s = 0; s < n_settings; s++) {
        json_array_append_new(keys, json_string(settings[s].key));
    }
    return cli_print_json(json_pack("{s:o, s:o}", "runs", runs, "differ", keys));
}

/* ---- the command ---- */

static void print(list *l, const struct args *args)
{
    setting *settings;
    int n = find_settings(l, &settings);
    if (args->json) {
        int status = print_json(l, settings, n);
        l->status = status ? status : l->status;
    } else if (l->n > 0) {
        print_table(l, settings, n);
    }
    free(settings);
}

static int run(int argc, char **argv)
{
    struct args args = {.sort = "name"};
    int n = cli_parse(&command_runs, argc, argv, &args);
    cli_expect_operands(n, argv, 0, argc, "");
    list l = {.ctx = cli_ctx_new(1)};
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
