/* tools/report/wants.c: what an experiment's "report" asks for: keys and values checked, before anything is trained. */
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "tools/experiment/experiment.h"
#include "tools/report/report.h"

static bool is_text(const json_t *value)
{
    return json_string_length(value) > 0;
}

static bool is_split(const json_t *value)
{
    bool known = false;
    for (asc_split_kind kind = ASC_SPLIT_TRAIN; json_is_string(value) && kind <= ASC_SPLIT_TEST; kind++) {
        known = known || strcmp(json_string_value(value), asc_split_name(kind)) == 0;
    }
    return known;
}

static bool is_layer(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool is_length(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 1;
}

static bool is_target(const json_t *value)
{
    return json_is_number(value) && json_number_value(value) > 0;
}

static bool is_flag(const json_t *value)
{
    return json_is_boolean(value);
}

/* What a key must be, or each entry of its list. */
static const struct want {
    const char *key;
    bool list;
    bool (*is_right)(const json_t *value);
    const char *expected;
} known[] = {
    {"baselines", true, is_text, "a list of systems"},
    {"carry", false, is_flag, "true or false"},
    {"hard", false, is_text, "a system"},
    {"figures", true, report_knows_figure, "a list of " REPORT_FIGURES},
    {"layer", false, is_layer, "the number of a layer, from 0"},
    {"lengths", true, is_length, "a list of at most 32 lengths in tokens"},
    {"metric", false, is_text, "a key of metrics.jsonl"},
    {"split", false, is_split, "train, valid or test"},
    {"targets", true, is_target, "a list of at most 32 numbers above 0"},
    {"tokens", false, is_length, "a number of tokens"},
};
enum { KNOWN = sizeof known / sizeof *known };

static bool is_right(const struct want *want, const json_t *value)
{
    size_t i;
    json_t *entry;
    bool right = want->list ? json_is_array(value) && json_array_size(value) <= REPORT_MOST : want->is_right(value);
    json_array_foreach(value, i, entry) {
        right = right && want->is_right(entry);
    }
    return right;
}

static asc_status refuse(asc_ctx *ctx, const struct want *want, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    asc_fail(ctx, ASC_ERR_ARG, "report: %s: got %.80s, expected %s", want->key, text ? text : "?", want->expected);
    free(text);
    return asc_error(ctx);
}

static asc_status check_key(asc_ctx *ctx, const char *key, const json_t *value)
{
    const char *names[KNOWN + 1] = {NULL};
    for (int i = 0; i < KNOWN; i++) {
        names[i] = known[i].key;
        if (strcmp(key, known[i].key) == 0) {
            return is_right(&known[i], value) ? ASC_OK : refuse(ctx, &known[i], value);
        }
    }
    char hint[ASC_NAME_HINT];
    return asc_fail(ctx, ASC_ERR_ARG, "report: unknown key '%.60s'%s", key,
                    asc_name_hint(asc_name_guess(key, names), hint));
}

static bool is_system(const asc_experiment *e, const char *name)
{
    const char *system;
    for (int i = 0; (system = asc_experiment_system(e, i)); i++) {
        if (strcmp(system, name) == 0) {
            return true;
        }
    }
    return false;
}

asc_status experiment_check_report(asc_ctx *ctx, const asc_experiment *e)
{
    const char *key;
    json_t *value;
    size_t i;
    char *text = asc_experiment_json(e, "report");
    json_t *wants = text ? json_loads(text, 0, NULL) : NULL;
    asc_experiment_text_free(text);
    json_object_foreach(wants, key, value) {
        if (check_key(ctx, key, value)) {
            break;
        }
    }
    json_array_foreach(json_object_get(wants, "baselines"), i, value) {
        if (!asc_error(ctx) && !is_system(e, json_string_value(value))) {
            asc_fail(ctx, ASC_ERR_ARG, "report: baselines: there is no system '%.60s'", json_string_value(value));
        }
    }
    value = json_object_get(wants, "hard");
    if (value && !asc_error(ctx) && !is_system(e, json_string_value(value))) {
        asc_fail(ctx, ASC_ERR_ARG, "report: hard: there is no system '%.60s'", json_string_value(value));
    }
    json_decref(wants);
    return asc_error(ctx);
}
