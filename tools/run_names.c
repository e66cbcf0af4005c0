/* tools/run_names.c: which settings of runs differ, and names from that. */
#include "tools/run_names.h"

#include <stdio.h>
#include <string.h>

enum { MOST_KEYS = 3 };

bool run_setting_is_idle(const char *key)
{
    static const char *const idle[] = {"cache",   "checkpoint_every", "debug_nan",    "log_every",
                                       "minutes", "recompute",        "sample_every", "threads"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        if (strcmp(key, idle[i]) == 0) {
            return true;
        }
    }
    return false;
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

const char *runs_differing(const asc_run *const *runs, size_t n, int i)
{
    const char *key, *seed = NULL;
    for (int at = 0; n > 0 && (key = asc_run_setting_at(runs[0], at)); at++) {
        if (run_setting_is_idle(key) || !differs(runs, n, key)) {
            continue;
        }
        if (strcmp(key, "seed") == 0) {
            seed = key;
        } else if (i-- == 0) {
            return key;
        }
    }
    return i == 0 ? seed : NULL;
}

void run_setting_text(const asc_run *run, const char *key, char *text, size_t bytes)
{
    const char *value = asc_run_setting(run, key);
    size_t n = value ? strlen(value) : 0;
    if (!value) {
        snprintf(text, bytes, "-");
    } else if (n >= 2 && value[0] == '"') {
        snprintf(text, bytes, "%.*s", (int)(n - 2), value + 1);
    } else {
        snprintf(text, bytes, "%s", value);
    }
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
}

/* What differs, as "model ascender, seed 2"; false where that is nothing, or much. */
static bool name_by_settings(const asc_run *const *runs, size_t n, size_t i, char name[RUN_NAME])
{
    const char *key;
    size_t used = 0;
    for (int at = 0; (key = runs_differing(runs, n, at)) && used < RUN_NAME; at++) {
        char value[64];
        if (at == MOST_KEYS) {
            return false;
        }
        run_setting_text(runs[i], key, value, sizeof value);
        used += (size_t)snprintf(name + used, RUN_NAME - used, "%s%s %s", at ? ", " : "",
                                 strcmp(key, "mix") == 0 ? "model" : key, value);
    }
    return used > 0;
}

static bool is_taken(const asc_run *const *runs, size_t n, size_t i, const char *name,
                     bool (*name_it)(const asc_run *const *, size_t, size_t, char *))
{
    char other[RUN_NAME];
    for (size_t k = 0; k < n; k++) {
        if (k != i && name_it(runs, n, k, other) && strcmp(other, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool name_by_folder(const asc_run *const *runs, size_t n, size_t i, char name[RUN_NAME])
{
    (void)n;
    folder_name(runs[i], name);
    return true;
}

void run_name(const asc_run *const *runs, size_t n, size_t i, char name[RUN_NAME])
{
    if (name_by_settings(runs, n, i, name) && !is_taken(runs, n, i, name, name_by_settings)) {
        return;
    }
    folder_name(runs[i], name);
    if (is_taken(runs, n, i, name, name_by_folder)) {
        snprintf(name, RUN_NAME, "%s", asc_run_folder(runs[i]));
    }
}
