/* tools/run_names.c: which settings of runs differ, and names from that. */
#include "tools/run_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/train.h>

#include "tools/plain.h"

enum { MOST_KEYS = 3 };

bool run_setting_is_neutral(const char *key)
{
    const asc_setting *row = asc_setting_find(asc_settings_schema(NULL, 0).settings, key);
    return row && row->flags & ASC_SETTING_NEUTRAL;
}

/* Whether a and b have another checksum though they name the same data, tokenizer and encoder. */
static bool has_changed(const asc_run *a, const asc_run *b, const char *key)
{
    static const char *const from[] = {"data", "tokenizer", "encoder"};
    const char *x = asc_run_setting(a, key), *y = asc_run_setting(b, key);
    bool changed = x && y && strcmp(x, y) != 0;
    for (size_t i = 0; i < sizeof from / sizeof *from && changed; i++) {
        x = asc_run_setting(a, from[i]);
        y = asc_run_setting(b, from[i]);
        changed = !x || !y || strcmp(x, y) == 0;
    }
    return changed;
}

static bool find_change(const asc_run *const *runs, size_t n, const char *key, size_t pair[2])
{
    for (pair[1] = 1; pair[1] < n; pair[1]++) {
        for (pair[0] = 0; pair[0] < pair[1]; pair[0]++) {
            if (has_changed(runs[pair[0]], runs[pair[1]], key)) {
                return true;
            }
        }
    }
    return false;
}

bool run_data_changed(const asc_run *const *runs, size_t n, char *text, size_t bytes)
{
    static const char *const parts[][2] = {
        {RUN_CHECKSUM "train", "training text"}, {RUN_CHECKSUM "valid", "validation split"},
        {RUN_CHECKSUM "test", "test split"}, {RUN_CHECKSUM "vocab", "vocabulary"}, {RUN_CHECKSUM "encoder", "encoder"}};
    size_t pair[2];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (find_change(runs, n, parts[i][0], pair)) {
            char sums[2][24];
            for (int k = 0; k < 2; k++) {
                run_setting_text(runs[pair[k]], parts[i][0], sums[k], sizeof sums[k]);
            }
            snprintf(text, bytes, "%s and %s name the same data, but the %s has changed between them: checksums %s and "
                     "%s", asc_run_folder(runs[pair[0]]), asc_run_folder(runs[pair[1]]), parts[i][1], sums[0], sums[1]);
            return true;
        }
    }
    return false;
}

bool run_setting_follows(const asc_run *const *runs, size_t n, const char *key)
{
    if (strncmp(key, RUN_CHECKSUM, strlen(RUN_CHECKSUM)) == 0) {
        size_t pair[2];
        return !find_change(runs, n, key, pair);
    }
    bool follows = strcmp(key, "min_lr") == 0;
    for (size_t i = 0; i < n && follows; i++) {
        const char *highest = asc_run_setting(runs[i], "lr"), *lowest = asc_run_setting(runs[i], key);
        double tenth = highest ? strtod(highest, NULL) / 10 : NAN;
        follows = !lowest || fabs(strtod(lowest, NULL) - tenth) <= 1e-12 * tenth;
    }
    return follows;
}

static bool differs(const asc_run *const *runs, size_t n, const char *key)
{
    const char *first = asc_run_setting(runs[0], key);
    bool any = false;
    for (size_t i = 1; i < n && first; i++) {
        const char *other = asc_run_setting(runs[i], key);
        if (!other) {
            return false;
        }
        any = any || strcmp(first, other) != 0;
    }
    return any;
}

void run_setting_text(const asc_run *run, const char *key, char *text, size_t bytes)
{
    run_value_text(asc_run_setting(run, key), text, bytes);
}

void run_value_text(const char *value, char *text, size_t bytes)
{
    size_t n = value ? strlen(value) : 0;
    if (!value) {
        snprintf(text, bytes, "-");
    } else if (n >= 2 && value[0] == '"') {
        snprintf(text, bytes, "%.*s", (int)(n - 2), value + 1);
    } else if (strncmp(value, "[\"", 2) == 0) { /* names */
        size_t to = 0;
        for (; *value && to + 1 < bytes; value++) {
            if (!strchr("[]\"", *value)) {
                text[to++] = *value;
            }
        }
        text[to] = '\0';
    } else {
        snprintf(text, bytes, "%s", value);
    }
    text[cli_whole(text, bytes - 1)] = '\0';
}

/* The last part of the folder's path. */
static void folder_name(const asc_run *run, char name[RUN_NAME])
{
    const char *folder = asc_run_folder(run);
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/') {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && folder[begin - 1] != '/') {
        begin--;
    }
    snprintf(name, RUN_NAME, "%.*s", (int)(end - begin), folder + begin);
    name[cli_whole(name, RUN_NAME - 1)] = '\0';
}

/* The keys of the settings that differ, the seed last; how many, or MOST_KEYS + 1 where there are more. */
static int differing(const asc_run *const *runs, size_t n, const char *keys[MOST_KEYS + 1])
{
    const char *key, *seed = NULL;
    int found = 0;
    for (int i = 0; n > 0 && found <= MOST_KEYS && (key = asc_run_setting_at(runs[0], i)); i++) {
        if (run_setting_is_neutral(key) || !differs(runs, n, key) || run_setting_follows(runs, n, key)) {
            continue;
        }
        if (strcmp(key, "seed") == 0) {
            seed = key;
        } else {
            keys[found++] = key;
        }
    }
    if (seed && found <= MOST_KEYS) {
        keys[found++] = seed;
    }
    return found;
}

/* "model ascender, seed 2"; whether all of it is there: what is cut may be equal where the values are not. */
static bool name_by_settings(const asc_run *run, const char *const *keys, int n, char name[RUN_NAME])
{
    size_t used = 0;
    bool whole = true;
    for (int i = 0; i < n && used < RUN_NAME; i++) {
        char value[64];
        run_setting_text(run, keys[i], value, sizeof value);
        whole = whole && strlen(value) + 4 < sizeof value; /* one that was cut may lack a part of a character, too */
        used += (size_t)snprintf(name + used, RUN_NAME - used, "%s%s %s", i ? ", " : "",
                                 strcmp(keys[i], "mix") == 0 ? "model" : keys[i], value);
    }
    return whole && used < RUN_NAME;
}

static bool are_distinct(char (*names)[RUN_NAME], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[i], names[k]) == 0) {
                return false;
            }
        }
    }
    return true;
}

void run_names(const asc_run *const *runs, size_t n, char (*names)[RUN_NAME])
{
    const char *keys[MOST_KEYS + 1];
    int n_keys = differing(runs, n, keys);
    bool whole = n_keys > 0 && n_keys <= MOST_KEYS;
    for (size_t i = 0; i < n && whole; i++) {
        whole = name_by_settings(runs[i], keys, n_keys, names[i]);
    }
    if (whole && are_distinct(names, n)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        folder_name(runs[i], names[i]);
    }
    bool distinct = are_distinct(names, n);
    for (size_t i = 0; i < n && !distinct; i++) {
        snprintf(names[i], RUN_NAME, "%.*s", (int)cli_whole(asc_run_folder(runs[i]), RUN_NAME - 1),
                 asc_run_folder(runs[i]));
    }
    for (size_t i = n; i-- > 1;) { /* from the last, before which all names are still without a number */
        int nth = 1;
        for (size_t k = 0; k < i; k++) {
            nth += strcmp(names[k], names[i]) == 0;
        }
        if (nth > 1) {
            size_t used = cli_whole(names[i], RUN_NAME - 8);
            snprintf(names[i] + used, RUN_NAME - used, " #%d", nth);
        }
    }
}
