/* tools/runs/table.c: runs as a table. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/columns.h"
#include "tools/run_names.h"
#include "tools/runs/runs.h"

enum {
    BEFORE = 3,
    AFTER = 3,
    CELL = 24
}; /* columns before and after the settings, accuracy aside; the longest value of one */

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

/* A setting's value as it is typed; of a path and a long list the end. */
static char *value_of(const asc_run *run, const char *key)
{
    const char *value = asc_run_setting(run, key);
    char typed[4200], *end;
    double number = value ? strtod(value, &end) : 0;
    if (!value) {
        return NULL;
    }
    if (end > value && !*end) {
        return strpbrk(value, ".eE") ? text_of("%.6g", number) : text_of("%s", value); /* a seed has all its digits */
    }
    run_setting_text(run, key, typed, sizeof typed);
    char *plain = columns_clean(typed), *start = plain;
    if (!plain) {
        return NULL;
    }
    if (*start == '/') {
        start = strrchr(start, '/') + 1;
    }
    size_t n = strlen(start);
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

static void fill_row(char **cells, const asc_run *run, bool accuracy, const runs_setting *settings, int n_settings,
                     double now)
{
    const asc_run_info *i = asc_run_info_of(run);
    *cells++ = columns_clean(asc_run_folder(run));
    *cells++ = strdup(asc_run_state_name(i->state));
    *cells++ = number_of("%.4f", i->best.valid_loss);
    if (accuracy) {
        *cells++ = number_of("%.4f", i->best.valid_accuracy);
    }
    for (int s = 0; s < n_settings; s++) {
        *cells++ = value_of(run, settings[s].key);
    }
    *cells++ = steps_of(i);
    *cells++ = number_of("%.0f", i->tokens_per_s);
    *cells++ = age_of(now - i->updated_s);
}

static bool is_number(const runs_list *l, const char *key)
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
            at = cli_print(",\n  %s", columns[c].title) - 2;
        } else {
            at += cli_print("%s%s", at ? ", " : "left out, --json has all: ", columns[c].title);
        }
    }
    if (at) {
        putchar('\n');
    }
}

static void say_why(const runs_list *l)
{
    for (int i = 0; i < l->n; i++) {
        const asc_run_info *info = asc_run_info_of(l->runs[i]);
        char *folder = columns_clean(asc_run_folder(l->runs[i]));
        char *reason = info->reason ? columns_clean(info->reason) : NULL;
        if (info->state == ASC_RUN_STATE_FAILED && folder && reason) {
            size_t n = strlen(folder);
            bool named = strncmp(reason, folder, n) == 0 && strncmp(reason + n, ": ", 2) == 0;
            cli_print("%s failed: %s\n", folder, named ? reason + n + 2 : reason);
        }
        free(folder);
        free(reason);
    }
}

/* Whether the accuracy chose a run's model. */
static bool by_accuracy(const runs_list *l)
{
    bool any = false;
    for (int i = 0; i < l->n; i++) {
        any = any || asc_run_info_of(l->runs[i])->by_accuracy;
    }
    return any;
}

/* The table has the steps in a column of their own. */
static int drop_steps(runs_setting *settings, int n)
{
    for (int s = 0; s < n; s++) {
        if (strcmp(settings[s].key, "steps") == 0) {
            memmove(settings + s, settings + s + 1, (size_t)(n - s - 1) * sizeof *settings);
            return n - 1;
        }
    }
    return n;
}

/* Where there is no room, settings of higher ranks go first, then steps, what a model learns from, speed, age. */
static int column_rank(int setting)
{
    return setting < RUNS_FIRST ? 1 : setting < RUNS_OTHER ? 4 : setting;
}

void runs_print_table(const runs_list *l, runs_setting *settings, int n_settings)
{
    n_settings = drop_steps(settings, n_settings);
    bool accuracy = by_accuracy(l);
    int before = BEFORE + accuracy, n = before + n_settings + AFTER;
    char **cells = calloc((size_t)(n * l->n), sizeof *cells);
    columns_column *columns = calloc((size_t)n, sizeof *columns);
    double now = runs_now();
    if (cells && columns) {
        columns[0] = (columns_column){.title = "run"};
        columns[1] = (columns_column){.title = "state"};
        columns[2] = (columns_column){.title = "loss", .right = true};
        if (accuracy) {
            columns[BEFORE] = (columns_column){.title = "accuracy", .right = true};
        }
        for (int s = 0; s < n_settings; s++) {
            columns[before + s] = (columns_column){.title = settings[s].name,
                                                   .right = is_number(l, settings[s].key),
                                                   .rank = column_rank(settings[s].rank)};
        }
        columns[n - 3] = (columns_column){.title = "steps", .right = true, .rank = 5};
        columns[n - 2] = (columns_column){.title = "tokens/s", .right = true, .rank = 3};
        columns[n - 1] = (columns_column){.title = "age", .right = true, .rank = 2};
        for (int i = 0; i < l->n; i++) {
            fill_row(cells + i * n, l->runs[i], accuracy, settings, n_settings, now);
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
