/* tools/runs/settings.c: the settings that differ between runs. */
#include <stdlib.h>
#include <string.h>

#include "tools/run_names.h"
#include "tools/runs/runs.h"

/* Whether two of the runs that have the setting have it with different values. */
static bool differs(const runs_list *l, const char *key)
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

/* See RUNS_FIRST. */
static int rank_of(const char *key, const asc_setting *row)
{
    static const char *const first[] = {"mix", "layers", "d_model", "lr", "seed", "block", "data", "tokenizer"};
    for (int i = 0; i < RUNS_OTHER; i++) {
        if (strcmp(key, first[i]) == 0) {
            return i;
        }
    }
    if (run_setting_is_neutral(key) || strcmp(key, "eval_every") == 0) {
        return RUNS_SHAPELESS;
    }
    return row && !row->fallback ? RUNS_FOLLOWS : RUNS_OTHER;
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

static int by_rank(const void *left, const void *right)
{
    const runs_setting *a = left, *b = right;
    return a->rank != b->rank ? a->rank - b->rank : a->nth - b->nth;
}

/* Whether an earlier run has the setting, too, as far as a look at two of them tells. */
static bool seen_before(const runs_list *l, int run, const char *key)
{
    return run > 0 && (asc_run_setting(l->runs[0], key) || asc_run_setting(l->runs[run - 1], key));
}

int runs_settings(const runs_list *l, runs_setting **found)
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
            bool shown = !known && differs(l, key) &&
                         !run_setting_follows((const asc_run *const *)l->runs, (size_t)l->n, key);
            runs_setting *longer = shown ? realloc(*found, ((size_t)n + 1) * sizeof *longer) : NULL;
            if (longer) {
                const asc_setting *row = find_row(l->ctx, key);
                *found = longer;
                longer[n] = (runs_setting){key, row && row->option ? row->option : key, rank_of(key, row), n};
                n++;
            }
        }
    }
    if (n > 0) {
        qsort(*found, (size_t)n, sizeof **found, by_rank);
    }
    return n;
}
