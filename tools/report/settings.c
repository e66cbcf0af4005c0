/* tools/report/settings.c: the settings that all runs have in common, and those that differ. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"
#include "tools/run_names.h"

enum { KEYS = 256, VALUE = 120, TUNED = 200 };

typedef struct keys {
    const char *key[KEYS];
    bool common[KEYS];
    int n;
} keys;

/* The first run of a variant; NULL: none is done. */
static const asc_run *first_run(const variant *v)
{
    return v->n > 0 ? v->runs[0].run : NULL;
}

/* The value of a setting as JSON: of what was trained, or as it is planned; NULL: not known. */
static const char *value_of(const report *r, const variant *v, const char *key)
{
    const asc_run *run = first_run(v);
    const char *value = run ? asc_run_setting(run, key) : asc_experiment_value(r->experiment, v->first, key);
    asc_error_clear(r->ctx); /* what no experiment can say, as a checksum */
    return value;
}

static bool is_known(const keys *k, const char *key)
{
    for (int i = 0; i < k->n; i++) {
        if (strcmp(k->key[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether all variants have the key, with one value, as far as is known of those that were not trained. */
static bool is_common(const report *r, const char *key)
{
    const char *value = NULL;
    for (int i = 0; i < r->n_variants; i++) {
        const variant *v = &r->variants[i];
        const char *here = value_of(r, v, key);
        if ((!here && first_run(v)) || (here && value && strcmp(here, value) != 0)) {
            return false;
        }
        value = here ? here : value;
    }
    return true;
}

static void collect(const report *r, keys *k)
{
    for (int v = 0; v < r->n_variants; v++) {
        const asc_run *run = first_run(&r->variants[v]);
        const char *key;
        for (int i = 0; run && (key = asc_run_setting_at(run, i)); i++) {
            bool tells = strcmp(key, "seed") != 0 && !run_setting_is_neutral(key);
            if (k->n < KEYS && tells && !is_known(k, key)) {
                k->common[k->n] = is_common(r, key);
                k->key[k->n++] = key;
            }
        }
    }
}

static void put_differing(report *r, const keys *k)
{
    column *columns = calloc((size_t)r->n_variants + 2, sizeof *columns);
    if (!columns) {
        asc_fail(r->ctx, ASC_ERR_MEMORY, "out of memory for the report");
        return;
    }
    columns[0] = (column){"setting", "setting", COLUMN_TEXT, 0, false};
    for (int i = 0; i < r->n_variants; i++) {
        const variant *v = &r->variants[i];
        columns[i + 1] = (column){v->name, v->name, COLUMN_TEXT, 0, false};
    }
    table t;
    table_begin(&t, &r->doc, "settings-differing", "Settings that differ", columns);
    for (int i = 0; i < k->n; i++) {
        for (int v = -1; v < r->n_variants && !k->common[i]; v++) {
            char value[VALUE] = "";
            if (v >= 0) {
                run_value_text(value_of(r, &r->variants[v], k->key[i]), value, sizeof value);
            }
            table_text(&t, v < 0 ? k->key[i] : value);
        }
    }
    table_end(&t);
    free(columns);
}

static void put_common(report *r, const keys *k)
{
    static const column columns[] = {
        {"setting", "setting", COLUMN_TEXT, 0, false}, {"value", "value", COLUMN_TEXT, 0, false}, {0}};
    const asc_run *run = NULL;
    for (int v = 0; v < r->n_variants && !run; v++) {
        run = first_run(&r->variants[v]);
    }
    table t;
    table_begin(&t, &r->doc, "settings-common", "Settings in common", columns);
    for (int i = 0; i < k->n && run; i++) {
        if (k->common[i]) {
            char value[VALUE];
            run_setting_text(run, k->key[i], value, sizeof value);
            table_text(&t, k->key[i]);
            table_text(&t, value);
        }
    }
    table_end(&t);
}

/* "lr 0.005" of a run, for each key that is tuned. */
static void put_tuned(report *r, int run, char *text, size_t size)
{
    const char *key;
    size_t used = 0;
    text[0] = '\0';
    for (int k = 0; (key = asc_experiment_tuned_key(r->experiment, k)) && used < size; k++) {
        const char *value = asc_experiment_value(r->experiment, run, key);
        used += (size_t)snprintf(text + used, size - used, "%s%s %s", k ? ", " : "", key, value ? value : "-");
    }
    text[cli_whole(text, size - 1)] = '\0';
}

/* Whether it is how often a model is right that chose. */
static bool is_tuned_by_accuracy(report *r)
{
    asc_experiment_tuning tuning;
    for (int s = 0; asc_experiment_system(r->experiment, s); s++) {
        if (asc_experiment_tuning_of(r->experiment, s, &tuning) == ASC_OK && isfinite(tuning.valid_accuracy)) {
            return true;
        }
        asc_error_clear(r->ctx);
    }
    return false;
}

/* What each system's runs of the tuning came to. */
static void put_tuning(report *r)
{
    bool accurate = is_tuned_by_accuracy(r);
    const column columns[] = {{"system", "system", COLUMN_TEXT, 0, false},
                              {"tried", "tried", COLUMN_TEXT, 0, false},
                              {"perplexity, valid", "valid_ppl", COLUMN_NUMBER, 2, accurate},
                              {"accuracy, valid, %", "valid_accuracy", COLUMN_NUMBER, 2, !accurate},
                              {"chosen", "chosen", COLUMN_TEXT, 0, false},
                              {0}};
    const asc_experiment_run *planned;
    char tried[TUNED];
    table t;
    table_begin(&t, &r->doc, "tuning", "What was tried", columns);
    for (int i = 0; (planned = asc_experiment_run_at(r->experiment, i)) && planned->tuning; i++) {
        asc_experiment_tuning tuning = {.run = -1};
        bool finite = planned->state == ASC_EXPERIMENT_STATE_DONE && !planned->diverged;
        asc_run *run = finite ? asc_run_read(r->ctx, planned->folder) : NULL;
        asc_error_clear(r->ctx); /* what can't be read was said (gather.c) */
        asc_experiment_tuning_of(r->experiment, planned->system, &tuning);
        put_tuned(r, i, tried, sizeof tried);
        table_text(&t, asc_experiment_system(r->experiment, planned->system));
        table_text(&t, tried);
        table_number(&t, run ? asc_run_info_of(run)->best.valid_ppl : (double)NAN);
        table_number(&t, run ? 100 * asc_run_info_of(run)->best.valid_accuracy : (double)NAN);
        table_text(&t, tuning.run == i ? "yes" : "");
        asc_run_free(run);
    }
    table_end(&t);
}

static void tell_tuning(report *r)
{
    const char *name;
    for (int s = 0; (name = asc_experiment_system(r->experiment, s)) && asc_experiment_tuned_key(r->experiment, 0);
         s++) {
        asc_experiment_tuning tuning;
        char chosen[TUNED] = "";
        if (asc_experiment_tuning_of(r->experiment, s, &tuning)) {
            return;
        }
        if (tuning.run >= 0) {
            put_tuned(r, tuning.run, chosen, sizeof chosen);
        }
        if (*chosen) {
            document_item(&r->doc, name, "%s, the best of %d tried%s", chosen, tuning.tried,
                          tuning.at_edge ? "; it is at the grid's edge: a wider grid may do better" : "");
        } else {
            bool wild = tuning.done == tuning.tried && tuning.to_retry == 0 && tuning.unread == 0;
            document_item(&r->doc, name, "%s, %d of %d done", wild ? "none has a finite loss" : "not tuned yet",
                          tuning.done - tuning.to_retry - tuning.unread, tuning.tried);
        }
    }
    document_items_end(&r->doc);
}

void report_settings(report *r)
{
    static keys k;
    k.n = 0;
    collect(r, &k);
    document_heading(&r->doc, "Settings");
    if (asc_experiment_tuned_key(r->experiment, 0)) {
        document_text(&r->doc,
                      "Tuned for each system, by what makes a model the best (best_by) on the validation split:");
        tell_tuning(r);
        put_tuning(r);
    }
    put_differing(r, &k);
    put_common(r, &k);
}
