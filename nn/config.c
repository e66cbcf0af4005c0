/* nn/config.c: settings from JSON. */
#include "nn/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


asc_status asc_config_parse(asc_ctx *ctx, const char *text, asc_config *config)
{
    json_error_t where;
    json_t *given = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(given)) {
        asc_status status =
            given ? asc_fail(ctx, ASC_ERR_ARG, "config: got another value than an object, expected a JSON object")
                  : asc_fail(ctx, ASC_ERR_ARG, "config: line %d, column %d: %s", where.line, where.column, where.text);
        json_decref(given);
        return status;
    }
    json_t *effect = json_object();
    if (!effect) {
        json_decref(given);
        return asc_fail(ctx, ASC_ERR_MEMORY, "config: out of memory");
    }
    *config = (asc_config){ctx, given, effect};
    return ASC_OK;
}

void asc_config_free(asc_config *config)
{
    json_decref(config->given);
    json_decref(config->effect);
    *config = (asc_config){0};
}

static void note(asc_config *c, const char *key, json_t *value)
{
    if (json_object_set_new(c->effect, key, value)) {
        asc_fail(c->ctx, ASC_ERR_MEMORY, "config: out of memory");
    }
}

static void reject(asc_config *c, const char *key, const json_t *got, const char *expected)
{
    char *text = json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT);
    asc_fail(c->ctx, ASC_ERR_ARG, "config: %s is %s, expected %s", key, text ? text : "?", expected);
    free(text);
}

/* ---- one value ---- */

static bool is_int_in(const json_t *v, int64_t least, int64_t most)
{
    return json_is_integer(v) && json_integer_value(v) >= least && json_integer_value(v) <= most;
}

static bool is_real_in(const json_t *v, double least, double most)
{
    return json_is_number(v) && json_number_value(v) >= least && json_number_value(v) <= most;
}

/* The integer that v, the value of `key` or an entry of it, is; `least` with the error set if it is none. */
static int64_t take_int(asc_config *c, const char *key, const json_t *v, int64_t least, int64_t most)
{
    if (is_int_in(v, least, most)) {
        return json_integer_value(v);
    }
    char expected[100];
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)least, (long long)most);
    reject(c, key, v, expected);
    return least;
}

static double take_real(asc_config *c, const char *key, const json_t *v, double least, double most)
{
    if (is_real_in(v, least, most)) {
        return json_number_value(v);
    }
    char expected[100];
    snprintf(expected, sizeof expected, "a number from %.10g to %.10g", least, most);
    reject(c, key, v, expected);
    return least;
}

int64_t asc_config_int(asc_config *c, const char *key, int64_t absent, int64_t least, int64_t most)
{
    const json_t *v = json_object_get(c->given, key);
    bool required = absent == INT64_MIN;
    int64_t value = required ? least : absent;
    if (v) {
        value = take_int(c, key, v, least, most);
    } else if (required) {
        asc_fail(c->ctx, ASC_ERR_ARG, "config: %s is missing", key);
    }
    note(c, key, json_integer(value));
    return value;
}

double asc_config_real(asc_config *c, const char *key, double absent, double least, double most)
{
    const json_t *v = json_object_get(c->given, key);
    double value = v ? take_real(c, key, v, least, most) : absent;
    note(c, key, json_real(value));
    return value;
}

bool asc_config_bool(asc_config *c, const char *key, bool absent)
{
    const json_t *v = json_object_get(c->given, key);
    if (v && !json_is_boolean(v)) {
        reject(c, key, v, "true or false");
    }
    bool value = json_is_boolean(v) ? json_is_true(v) : absent;
    note(c, key, json_boolean(value));
    return value;
}

/* The index of a JSON string among the names, or -1 with the error set. */
static int choose(asc_config *c, const char *key, const json_t *v, const char *const *names)
{
    char expected[300] = "one of";
    for (int i = 0; names[i]; i++) {
        if (json_is_string(v) && strcmp(json_string_value(v), names[i]) == 0) {
            return i;
        }
        size_t at = strlen(expected);
        snprintf(expected + at, sizeof expected - at, "%s %s", i ? "," : "", names[i]);
    }
    if (json_is_string(v)) {
        size_t at = strlen(expected);
        snprintf(expected + at, sizeof expected - at, "; did you mean '%s'?",
                 asc_name_nearest(json_string_value(v), names));
    }
    reject(c, key, v, expected);
    return -1;
}

int asc_config_choice(asc_config *c, const char *key, int absent, const char *const *names)
{
    const json_t *v = json_object_get(c->given, key);
    int value = v ? choose(c, key, v, names) : absent;
    value = value < 0 ? absent : value;
    note(c, key, json_string(names[value]));
    return value;
}

/* ---- lists ---- */

/* Notes the list that `key` is, and says whether it has n entries; `what` they are. */
static bool note_list(asc_config *c, const char *key, json_t *v, int64_t n, const char *what)
{
    note(c, key, json_deep_copy(v));
    if ((int64_t)json_array_size(v) != n) {
        asc_fail(c->ctx, ASC_ERR_ARG, "config: %s has %zu entries, expected one a %s: %lld", key, json_array_size(v),
                 what, (long long)n);
        return false;
    }
    return true;
}

int asc_config_choice_at(asc_config *c, const char *key, int layer, int layers, int absent, const char *const *names)
{
    json_t *v = json_object_get(c->given, key);
    if (!json_is_array(v)) {
        return asc_config_choice(c, key, absent, names);
    }
    if (!note_list(c, key, v, layers, "layer")) {
        return absent;
    }
    int value = choose(c, key, json_array_get(v, (size_t)layer), names);
    return value < 0 ? absent : value;
}

int64_t asc_config_int_at(asc_config *c, const char *key, int layer, int layers, int64_t absent, int64_t least,
                          int64_t most)
{
    json_t *v = json_object_get(c->given, key);
    if (!json_is_array(v)) {
        return asc_config_int(c, key, absent, least, most);
    }
    int64_t value = least, n = note_list(c, key, v, layers, "layer") ? layers : 0;
    for (int64_t i = 0; i < n; i++) { /* entries of layers that do not read theirs are checked, too */
        int64_t entry = take_int(c, key, json_array_get(v, (size_t)i), least, most);
        value = i == layer ? entry : value;
    }
    return value;
}

bool asc_config_bool_at(asc_config *c, const char *key, int layer, int layers, bool absent)
{
    json_t *v = json_object_get(c->given, key);
    if (!json_is_array(v)) {
        return asc_config_bool(c, key, absent);
    }
    if (!note_list(c, key, v, layers, "layer")) {
        return absent;
    }
    for (int i = 0; i < layers; i++) {
        if (!json_is_boolean(json_array_get(v, (size_t)i))) {
            reject(c, key, json_array_get(v, (size_t)i), "true or false");
        }
    }
    return json_is_true(json_array_get(v, (size_t)layer));
}

void asc_config_ints(asc_config *c, const char *key, int64_t absent, int64_t least, int64_t most, int64_t n,
                     int64_t *values)
{
    json_t *v = json_object_get(c->given, key);
    bool list = json_is_array(v) && note_list(c, key, v, n, "head");
    int64_t one = json_is_array(v) ? least : asc_config_int(c, key, absent, least, most);
    for (int64_t i = 0; i < n; i++) {
        values[i] = list ? take_int(c, key, json_array_get(v, (size_t)i), least, most) : one;
    }
}

void asc_config_reals(asc_config *c, const char *key, double absent, double least, double most, int64_t n,
                      double *values)
{
    json_t *v = json_object_get(c->given, key);
    bool list = json_is_array(v) && note_list(c, key, v, n, "head");
    double one = json_is_array(v) ? absent : asc_config_real(c, key, absent, least, most);
    for (int64_t i = 0; i < n; i++) {
        values[i] = list ? take_real(c, key, json_array_get(v, (size_t)i), least, most) : one;
    }
}

static bool has_lists(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_is_array(json_array_get(list, i))) {
            return true;
        }
    }
    return false;
}

/* The numbers of a list, at most `capacity`; how many there are. */
static int take_list(asc_config *c, const char *key, const json_t *list, int64_t least, int64_t most, int capacity,
                     int64_t *values)
{
    if (!json_is_array(list) || json_array_size(list) > (size_t)capacity) {
        char expected[80];
        snprintf(expected, sizeof expected, "a list of at most %d whole numbers, or one such list a layer", capacity);
        reject(c, key, list, expected);
        return 0;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        values[i] = take_int(c, key, json_array_get(list, i), least, most);
    }
    return (int)json_array_size(list);
}

int asc_config_list_at(asc_config *c, const char *key, int layer, int layers, int absent, int64_t least, int64_t most,
                       int capacity, int64_t *values)
{
    json_t *v = json_object_get(c->given, key);
    if (!v) {
        json_t *list = json_array();
        for (int i = 0; i < absent; i++) {
            json_array_append_new(list, json_integer(values[i]));
        }
        note(c, key, list);
        return absent;
    }
    if (!has_lists(v)) {
        note(c, key, json_deep_copy(v));
        return take_list(c, key, v, least, most, capacity, values);
    }
    int n = note_list(c, key, v, layers, "layer") ? layers : 0, taken = 0;
    for (int i = 0; i < n; i++) { /* lists of layers that do not read theirs are checked, too; this one's comes last */
        taken = take_list(c, key, json_array_get(v, (size_t)((layer + 1 + i) % layers)), least, most, capacity, values);
    }
    return taken;
}

uint64_t asc_config_set(asc_config *c, const char *key, uint64_t absent, const char *const *names)
{
    const json_t *v = json_object_get(c->given, key);
    if (v && !json_is_array(v)) {
        char expected[100];
        snprintf(expected, sizeof expected, "a list of names, as [\"%s\"]",
                 json_is_string(v) ? asc_name_nearest(json_string_value(v), names) : names[0]);
        reject(c, key, v, expected);
    }
    uint64_t set = v ? 0 : absent;
    for (size_t i = 0; v && i < json_array_size(v); i++) {
        int name = choose(c, key, json_array_get(v, i), names);
        set |= name < 0 ? 0 : UINT64_C(1) << name;
    }
    json_t *list = json_array();
    for (int i = 0; names[i]; i++) {
        if (set >> i & 1) {
            json_array_append_new(list, json_string(names[i]));
        }
    }
    note(c, key, list);
    return set;
}

/* ---- all of them ---- */

asc_status asc_config_finish(asc_config *c)
{
    const char *key;
    json_t *value;
    json_object_foreach(c->given, key, value) {
        if (json_object_get(c->effect, key)) {
            continue;
        }
        const char *known, *best = NULL;
        json_t *ignored;
        json_object_foreach(c->effect, known, ignored) {
            if (!best || asc_name_distance(key, known) < asc_name_distance(key, best)) {
                best = known;
            }
        }
        return asc_fail(c->ctx, ASC_ERR_ARG, "config: unknown setting '%s'%s%s%s", key, best ? "; did you mean '" : "",
                        best ? best : "", best ? "'?" : "");
    }
    return asc_error(c->ctx);
}

char *asc_config_text(asc_config *c)
{
    char *text = json_dumps(c->effect, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text) {
        asc_fail(c->ctx, ASC_ERR_MEMORY, "config: out of memory");
    }
    return text;
}
