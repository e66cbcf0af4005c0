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

int64_t asc_config_int(asc_config *c, const char *key, int64_t absent, int64_t least, int64_t most)
{
    const json_t *v = json_object_get(c->given, key);
    bool required = absent == INT64_MIN;
    int64_t value = required ? least : absent;
    if (json_is_integer(v) && json_integer_value(v) >= least && json_integer_value(v) <= most) {
        value = json_integer_value(v);
    } else if (v) {
        char expected[100];
        snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)least, (long long)most);
        reject(c, key, v, expected);
    } else if (required) {
        asc_fail(c->ctx, ASC_ERR_ARG, "config: %s is missing", key);
    }
    note(c, key, json_integer(value));
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

int asc_config_choice_at(asc_config *c, const char *key, int layer, int layers, int absent, const char *const *names)
{
    const json_t *v = json_object_get(c->given, key);
    if (!json_is_array(v)) {
        return asc_config_choice(c, key, absent, names);
    }
    note(c, key, json_deep_copy(v));
    if ((int)json_array_size(v) != layers) {
        asc_fail(c->ctx, ASC_ERR_ARG, "config: %s has %zu entries, expected one a layer: %d", key, json_array_size(v),
                 layers);
        return absent;
    }
    int value = choose(c, key, json_array_get(v, (size_t)layer), names);
    return value < 0 ? absent : value;
}

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
