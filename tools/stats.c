/* tools/stats.c: ascgrad stats: paired tests, calibration, clusters and p values of numbers from files. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/data.h>
#include <ascgrad/stats.h>
#include <program/names.h>

#include "tools/commands.h"

struct args {
    int64_t resamples, seed, bins, threads;
    bool json;
};

static const cli_option options[] = {
    {"resamples", 0, "R", CLI_INT, offsetof(struct args, resamples), 1, 1e9,
     "of the bootstrap and of randomisation (10000)"},
    {"seed", 0, "N", CLI_INT, offsetof(struct args, seed), 0, 1e15, "of the resamples (1)"},
    {"bins", 0, "N", CLI_INT, offsetof(struct args, bins), 1, 1e6, "of confidences (15)"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* ---- files ---- */

/* A file's columns: `values` of each line side by side, numbers, or for labels the numbers of words. */
typedef struct table {
    asc_ctx *ctx;
    double *value;
    size_t n, capacity; /* values */
    int columns;
    void *tree; /* of labels, of those seen so far: tsearch's */
    struct label *last;
    size_t labels;
} table;

typedef struct label {
    struct label *before; /* the one seen before it */
    double number;        /* how many had been seen */
    char word[];
} label;

static int compare_labels(const void *a, const void *b)
{
    return strcmp(((const label *)a)->word, ((const label *)b)->word);
}

static void table_free(table *t)
{
    while (t->last) {
        label *one = t->last;
        t->last = one->before;
        tdelete(one, &t->tree, compare_labels);
        free(one);
    }
    free(t->value);
}

/* Room for one more element of an array, at `array` its pointer; false without memory. */
static bool grow(void *array, size_t *capacity, size_t n, size_t size)
{
    void *old;
    if (n < *capacity) {
        return true;
    }
    size_t room = *capacity ? 2 * *capacity : 1024;
    memcpy(&old, array, sizeof old);
    void *more = realloc(old, room * size);
    if (more) {
        memcpy(array, &more, sizeof more);
        *capacity = room;
    }
    return more != NULL;
}

static asc_status no_memory(asc_ctx *ctx)
{
    return asc_fail(ctx, ASC_ERR_MEMORY, "stats: out of memory");
}

static asc_status add_value(table *t, double value)
{
    if (!grow(&t->value, &t->capacity, t->n, sizeof *t->value)) {
        return no_memory(t->ctx);
    }
    t->value[t->n++] = value;
    return ASC_OK;
}

/* The number of a label; a new one's is how many there were. -1 without memory. */
static double number_of(table *t, const char *word)
{
    size_t n = strlen(word);
    label *one = malloc(sizeof *one + n + 1);
    label **found = NULL;
    if (one) {
        *one = (label){.before = t->last, .number = (double)t->labels};
        memcpy(one->word, word, n + 1);
        found = tsearch(one, &t->tree, compare_labels);
    }
    if (found && *found == one) {
        t->last = one;
        t->labels++;
    } else {
        free(one);
    }
    return found ? (*found)->number : -1;
}

static asc_status refuse(const table *t, const char *path, int64_t line, const char *got, const char *expected)
{
    return asc_fail(t->ctx, ASC_ERR_FORMAT, "%s: line %lld: got '%.60s', expected %s", path, (long long)line, got,
                    expected);
}

/* The cell at *text, cut off in place, and *text moves to the next, or becomes NULL behind the last: cells have blanks
 * between them, or a comma and blanks. */
static char *next_cell(char **text)
{
    static const char blanks[] = " \t\r\n";
    char *cell = *text + strspn(*text, blanks), *end = cell + strcspn(cell, " \t\r\n,");
    char *next = end + strspn(end, blanks);
    bool comma = *next == ',';
    *text = comma ? next + 1 : *next ? next : NULL;
    *end = '\0';
    return cell;
}

static asc_status read_line(table *t, const char *path, int64_t line, char *text, bool labels, const char *expected)
{
    char whole[61];
    snprintf(whole, sizeof whole, "%s", text);
    int n = 0;
    for (; text; n++) {
        const char *cell = next_cell(&text);
        if (n == t->columns || !*cell) {
            return refuse(t, path, line, whole, expected);
        }
        double value = 0;
        bool right = labels || asc_real_parse(cell, &value);
        value = labels ? number_of(t, cell) : value;
        if (labels && value < 0) {
            return no_memory(t->ctx);
        }
        if (!right) {
            return refuse(t, path, line, whole, expected);
        }
        if (add_value(t, value)) {
            return ASC_ERR_MEMORY;
        }
    }
    return n == t->columns ? ASC_OK : refuse(t, path, line, whole, expected);
}

static asc_status read_table(table *t, const char *path, bool labels, const char *expected)
{
    asc_text *text = asc_text_open(t->ctx, path, 0);
    const char *line;
    size_t n;
    while (text && asc_text_next(text, &line, &n) == ASC_OK && line) {
        char *copy = malloc(n + 1);
        if (!copy) {
            no_memory(t->ctx);
            break;
        }
        memcpy(copy, line, n);
        copy[n > 0 && copy[n - 1] == '\n' ? n - 1 : n] = '\0';
        read_line(t, path, asc_text_lines(text), copy, labels, expected);
        free(copy);
        if (asc_error(t->ctx)) {
            break;
        }
    }
    asc_text_close(text);
    if (t->n == 0 && !asc_error(t->ctx)) {
        asc_fail(t->ctx, ASC_ERR_FORMAT, "%s: is empty, expected %s a line", path, expected);
    }
    return asc_error(t->ctx);
}

/* ---- the kinds ---- */

typedef struct kind {
    const char *name;
    int files;
    json_t *(*run)(asc_ctx *ctx, char **path, const struct args *args); /* NULL with the error set */
} kind;

static void set_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, cli_json_real(value));
}

static json_t *describe_pair(const asc_pair_stats *s)
{
    json_t *o = json_pack("{s:I}", "n", (json_int_t)s->n);
    set_real(o, "mean_a", s->mean_a);
    set_real(o, "mean_b", s->mean_b);
    set_real(o, "difference", s->difference);
    set_real(o, "ci_low", s->ci_low);
    set_real(o, "ci_high", s->ci_high);
    set_real(o, "p_bootstrap", s->p_bootstrap);
    set_real(o, "p_randomization", s->p_randomization);
    set_real(o, "cohen_dz", s->cohen_dz);
    set_real(o, "cohen_d", s->cohen_d);
    set_real(o, "cliff_delta", s->cliff_delta);
    return o;
}

/* Of two systems on the same items. */
static asc_status check_lines(const table *a, const table *b, char **path)
{
    return a->n == b->n
               ? ASC_OK
               : asc_fail(a->ctx, ASC_ERR_FORMAT,
                          "%s has %zu numbers and %s has %zu, expected as many: line by line they are the same item's",
                          path[0], a->n, path[1], b->n);
}

static json_t *run_pair(asc_ctx *ctx, char **path, const struct args *args)
{
    table a = {.ctx = ctx, .columns = 1}, b = a;
    asc_resampling how = {args->resamples, (uint64_t)args->seed};
    asc_pair_stats s;
    json_t *result = NULL;
    if (read_table(&a, path[0], false, "one number") == ASC_OK &&
        read_table(&b, path[1], false, "one number") == ASC_OK && check_lines(&a, &b, path) == ASC_OK &&
        asc_stats_pair(ctx, a.value, b.value, (int64_t)a.n, &how, &s) == ASC_OK) {
        result = describe_pair(&s);
    }
    table_free(&a);
    table_free(&b);
    return result;
}

/* Lines of 0 or 1. */
static asc_status read_rights(table *t, const char *path, uint8_t **right)
{
    static const char expected[] = "0 or 1: whether the system is right";
    if (read_table(t, path, false, expected)) {
        return asc_error(t->ctx);
    }
    *right = asc_alloc(t->ctx, t->n);
    for (size_t i = 0; *right && i < t->n && !asc_error(t->ctx); i++) {
        (*right)[i] = t->value[i] == 1;
        if (t->value[i] != 0 && t->value[i] != 1) {
            char got[40];
            snprintf(got, sizeof got, "%g", t->value[i]);
            refuse(t, path, (int64_t)i + 1, got, expected);
        }
    }
    return asc_error(t->ctx);
}

static json_t *describe_mcnemar(const asc_mcnemar *m, size_t n)
{
    json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:I}", "n", (json_int_t)n, "both", (json_int_t)m->both, "only_a",
                          (json_int_t)m->only_a, "only_b", (json_int_t)m->only_b, "neither", (json_int_t)m->neither);
    set_real(o, "chi2", m->chi2);
    set_real(o, "p", m->p);
    return o;
}

static json_t *run_mcnemar(asc_ctx *ctx, char **path, const struct args *args)
{
    (void)args;
    table a = {.ctx = ctx, .columns = 1}, b = a;
    uint8_t *right[2] = {NULL, NULL};
    asc_mcnemar m;
    json_t *result = NULL;
    if (read_rights(&a, path[0], &right[0]) == ASC_OK && read_rights(&b, path[1], &right[1]) == ASC_OK &&
        check_lines(&a, &b, path) == ASC_OK && asc_stats_mcnemar(ctx, right[0], right[1], (int64_t)a.n, &m) == ASC_OK) {
        result = describe_mcnemar(&m, a.n);
    }
    asc_free(ctx, right[0], a.n);
    asc_free(ctx, right[1], b.n);
    table_free(&a);
    table_free(&b);
    return result;
}

static json_t *run_calibration(asc_ctx *ctx, char **path, const struct args *args)
{
    static const char expected[] = "a confidence from 0 to 1, and 0 or 1";
    table t = {.ctx = ctx, .columns = 2};
    json_t *result = NULL;
    read_table(&t, path[0], false, expected);
    size_t n = t.n / 2;
    double *confidence = asc_alloc(ctx, (n + 1) * sizeof *confidence), ece = 0, accuracy = 0;
    uint8_t *correct = asc_alloc(ctx, n + 1);
    for (size_t i = 0; confidence && correct && i < n && !asc_error(ctx); i++) {
        confidence[i] = t.value[2 * i];
        correct[i] = t.value[2 * i + 1] != 0;
        if (!(confidence[i] >= 0 && confidence[i] <= 1) || (double)correct[i] != t.value[2 * i + 1]) {
            char got[60];
            snprintf(got, sizeof got, "%g %g", t.value[2 * i], t.value[2 * i + 1]);
            refuse(&t, path[0], (int64_t)i + 1, got, expected);
        }
    }
    if (!asc_error(ctx) &&
        !asc_stats_calibration(ctx, confidence, correct, (int64_t)n, (int)args->bins, &ece, &accuracy)) {
        result = json_pack("{s:f, s:f, s:I, s:I}", "ece", ece, "accuracy", accuracy, "n", (json_int_t)n, "bins",
                           (json_int_t)args->bins);
    }
    asc_free(ctx, confidence, (n + 1) * sizeof *confidence);
    asc_free(ctx, correct, n + 1);
    table_free(&t);
    return result;
}

static json_t *run_clusters(asc_ctx *ctx, char **path, const struct args *args)
{
    (void)args;
    table t = {.ctx = ctx, .columns = 2};
    json_t *result = NULL;
    read_table(&t, path[0], true, "two labels");
    size_t n = t.n / 2, bytes = (n + 1) * sizeof(int64_t);
    int64_t *x = asc_alloc(ctx, bytes), *y = asc_alloc(ctx, bytes);
    double nmi = 0, ari = 0;
    for (size_t i = 0; x && y && i < n; i++) {
        x[i] = (int64_t)t.value[2 * i];
        y[i] = (int64_t)t.value[2 * i + 1];
    }
    if (!asc_error(ctx) && !asc_stats_clusters(ctx, x, y, (int64_t)n, &nmi, &ari)) {
        result = json_pack("{s:f, s:f, s:I}", "nmi", nmi, "ari", ari, "n", (json_int_t)n);
    }
    asc_free(ctx, x, bytes);
    asc_free(ctx, y, bytes);
    table_free(&t);
    return result;
}

static json_t *run_holm(asc_ctx *ctx, char **path, const struct args *args)
{
    (void)args;
    table t = {.ctx = ctx, .columns = 1};
    json_t *result = NULL;
    read_table(&t, path[0], false, "one p value");
    for (size_t i = 0; i < t.n && asc_error(ctx) == ASC_OK; i++) {
        if (t.value[i] < 0 || t.value[i] > 1) {
            char got[40];
            snprintf(got, sizeof got, "%g", t.value[i]);
            refuse(&t, path[0], (int64_t)i + 1, got, "a p value from 0 to 1");
        }
    }
    if (asc_error(ctx) == ASC_OK && asc_stats_holm(ctx, t.value, (int64_t)t.n, t.value) == ASC_OK) {
        json_t *list = json_array();
        for (size_t i = 0; i < t.n; i++) {
            json_array_append_new(list, json_real(t.value[i]));
        }
        result = json_pack("{s:o}", "adjusted", list);
    }
    table_free(&t);
    return result;
}

static const kind kinds[] = {
    {"pair", 2, run_pair},         {"mcnemar", 2, run_mcnemar}, {"calibration", 1, run_calibration},
    {"clusters", 1, run_clusters}, {"holm", 1, run_holm},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const kind *find_kind(const char *name)
{
    const char *names[KINDS + 1] = {NULL};
    for (int i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
        if (strcmp(name, names[i]) == 0) {
            return &kinds[i];
        }
    }
    char hint[ASC_NAME_HINT];
    cli_wrong_usage("got '%s', expected pair, mcnemar, calibration, clusters or holm%s", name,
                    asc_name_hint(asc_name_guess(name, names), hint));
}

static void print_value(const char *key, const json_t *value)
{
    if (json_is_null(value)) {
        cli_print("%-16s -\n", key);
    } else if (json_is_integer(value)) {
        cli_print("%-16s %lld\n", key, (long long)json_integer_value(value));
    } else {
        cli_print("%-16s %.6g\n", key, json_number_value(value));
    }
}

static void print_result(json_t *object)
{
    const char *key;
    json_t *value, *entry;
    size_t i;
    json_object_foreach(object, key, value)
    {
        if (!json_is_array(value)) {
            print_value(key, value);
        }
        json_array_foreach(value, i, entry)
        {
            print_value(key, entry);
        }
    }
}

static int run(int argc, char **argv)
{
    struct args args = {.resamples = 10000, .seed = 1, .bins = 15};
    int n = cli_parse(&command_stats, argc, argv, &args);
    cli_expect_operands(n, argv, 1, argc, "pair, mcnemar, calibration, clusters or holm");
    const kind *k = find_kind(argv[0]);
    cli_expect_operands(n, argv, k->files + 1, k->files + 1, k->files == 2 ? "a FILE for each system" : "a FILE");
    if (cli_given_option("bins", 4) && k->run != run_calibration) {
        cli_wrong_usage("--bins is for calibration, and %s has none", k->name);
    }
    asc_ctx *ctx = cli_ctx_new(args.threads);
    json_t *result = k->run(ctx, argv + 1, &args);
    int status = cli_report(ctx);
    if (status == CLI_USAGE) {
        status = CLI_IO; /* what is wrong stands in a file */
    }
    if (result && args.json) {
        status = cli_print_json(json_incref(result));
    } else if (result) {
        print_result(result);
    }
    json_decref(result);
    asc_ctx_free(ctx);
    return status;
}

const cli_command command_stats = {
    "stats",
    "tests and measures of numbers in files",
    "pair A B | mcnemar A B | calibration FILE | clusters FILE | holm FILE",
    "  pair         what two systems scored on the same items, a number a line: difference, its 95 % interval, p by "
    "paired bootstrap and by randomisation, effect sizes\n"
    "  mcnemar      two classifiers on the same items, 1 (right) or 0 a line: how often one alone is right, and p\n"
    "  calibration  lines of a confidence and 0 or 1\n"
    "  clusters     lines of two labels\n"
    "  holm         a p value a line",
    "ascgrad stats pair new.txt old.txt --json\n"
    "ascgrad stats mcnemar new.right old.right",
    options,
    run,
};
