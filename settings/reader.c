/* settings/reader.c: the settings of an object, and those in effect. */
#include "settings/reader.h"

#include <stdlib.h>
#include <string.h>

#include <program/names.h>
#include <program/settings.h>

static asc_status no_memory(asc_ctx *ctx)
{
    return asc_fail(ctx, ASC_ERR_MEMORY, "config: out of memory");
}

asc_status asc_reader_open(asc_reader *r, asc_ctx *ctx, const char *text)
{
    json_error_t where;
    json_t *given = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(given)) {
        asc_status status =
            given ? asc_fail(ctx, ASC_ERR_ARG, "got another value than an object, expected a JSON object")
                  : asc_fail(ctx, ASC_ERR_ARG, "line %d, column %d: %s", where.line, where.column, where.text);
        json_decref(given);
        return status;
    }
    *r = (asc_reader){ctx, given, json_object()};
    if (!r->effect) {
        json_decref(given);
        return no_memory(ctx);
    }
    return ASC_OK;
}

void asc_reader_close(asc_reader *r)
{
    json_decref(r->given);
    json_decref(r->effect);
    *r = (asc_reader){0};
}

bool asc_reader_given(const asc_reader *r, const char *key)
{
    return json_object_get(r->given, key);
}

bool asc_reader_is_list(const asc_reader *r, const char *key)
{
    return json_is_array(json_object_get(r->given, key));
}

bool asc_reader_is_spread(const asc_reader *r, const asc_setting *row)
{
    return asc_setting_is_spread(row, json_object_get(r->given, row->key));
}

const char *asc_reader_unread(const asc_reader *r, int i)
{
    const char *key;
    json_t *value;
    json_object_foreach(r->given, key, value) {
        if (!json_object_get(r->effect, key) && i-- == 0) {
            return key;
        }
    }
    return NULL;
}

/* ---- lists ---- */

static asc_status check_entries(asc_reader *r, const asc_setting *row, const json_t *v, int64_t n, const char *what)
{
    return (int64_t)json_array_size(v) == n
               ? ASC_OK
               : asc_fail_on(r->ctx, ASC_ERR_ARG, row->key, " has %zu entries, expected one a %s: %lld",
                             json_array_size(v), what, (long long)n);
}

/* The whole number that a row has, read before; 1 where there is no such row. */
static int64_t count_of(const asc_setting *table, const char *key, const void *values)
{
    const asc_setting *row = asc_setting_find(table, key);
    return row ? *(const int64_t *)((const char *)values + row->offset) : 1;
}

/* One number for all heads, or one each. */
static asc_status read_heads(asc_reader *r, const asc_setting *row, const json_t *v, int64_t n, void *values)
{
    void *field = (char *)values + row->offset;
    bool real = row->type == ASC_SETTING_REAL;
    if (json_is_array(v) && check_entries(r, row, v, n, "head")) {
        return asc_error(r->ctx);
    }
    void *at = asc_alloc(r->ctx, (size_t)n * sizeof(int64_t));
    if (!at) {
        return ASC_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        const json_t *entry = json_is_array(v) ? json_array_get(v, (size_t)i) : v;
        if (real) {
            ((double *)at)[i] = asc_setting_round(json_number_value(entry));
        } else {
            ((int64_t *)at)[i] = json_integer_value(entry);
        }
    }
    if (real) {
        *(asc_reals *)field = (asc_reals){n, at};
    } else {
        *(asc_ints *)field = (asc_ints){n, at};
    }
    return ASC_OK;
}

/* The list that the name of one stands for. New; NULL without memory. */
static json_t *expand(const asc_setting *row, const char *name, int nth)
{
    int which = 0;
    int64_t values[ASC_SETTING_LIST];
    while (strcmp(row->choices[which], name) != 0) {
        which++;
    }
    int n = row->expand(which, nth, values);
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(list, json_integer(values[i]));
    }
    return list;
}

/* ---- one row ---- */

/* Whether the row belongs to what was chosen before it. */
static bool belongs(const asc_setting *table, const asc_setting *row, const void *values)
{
    if (!row->only) {
        return true;
    }
    size_t n = strcspn(row->only, "=");
    while (strncmp(table->key, row->only, n) != 0 || table->key[n]) {
        table++;
    }
    int chosen = *(const int *)((const char *)values + table->offset);
    return asc_setting_is_for(row, table->choices[chosen]);
}

static asc_status refuse_stranger(asc_reader *r, const asc_setting *row)
{
    int n = (int)strcspn(row->only, "=");
    return asc_fail_on(r->ctx, ASC_ERR_ARG, row->key, " belongs to %.*s %s", n, row->only, row->only + n + 1);
}

/* Stores a value that is right, of which a list a layer has the layer's. */
static asc_status store(asc_reader *r, const asc_setting *table, const asc_setting *row, const asc_place *place,
                        const json_t *v, void *values)
{
    if (row->flags & ASC_SETTING_PER_HEAD) {
        return read_heads(r, row, v, count_of(table, "heads", values), values);
    }
    if (row->flags & ASC_SETTING_PER_LAYER && asc_setting_is_spread(row, v)) {
        int64_t layers = place ? place->layers : count_of(table, "layers", values);
        if (check_entries(r, row, v, layers, "layer")) {
            return asc_error(r->ctx);
        }
        v = json_array_get(v, (size_t)(place ? place->layer : 0));
    }
    if (row->type != ASC_SETTING_INTS || !json_is_string(v)) {
        return asc_setting_store(r->ctx, row, v, values);
    }
    json_t *list = expand(row, json_string_value(v), place ? place->nth : 0);
    asc_status status = list ? asc_setting_store(r->ctx, row, list, values) : no_memory(r->ctx);
    json_decref(list);
    return status;
}

/* A required setting that is not there. What is there and wrong is told first; what may have been meant is offered. */
static asc_status refuse_missing(asc_reader *r, const asc_setting *table, const asc_setting *row)
{
    const char *key;
    json_t *value;
    for (const asc_setting *other = table; other->key; other++) {
        value = other->only ? NULL : json_object_get(r->given, other->key);
        if (value && asc_setting_check(r->ctx, other, other->key, value)) {
            return asc_error(r->ctx);
        }
    }
    json_object_foreach(r->given, key, value) {
        if (asc_name_close(key, row->key) && !asc_setting_find(table, key) && !json_object_get(r->effect, key)) {
            bool fits = asc_setting_check(r->ctx, row, row->key, value) == ASC_OK;
            asc_error_clear(r->ctx);
            if (fits) {
                return asc_fail_on(r->ctx, ASC_ERR_ARG, row->key, " is missing; is it meant by '%s'?", key);
            }
        }
    }
    return asc_fail_on(r->ctx, ASC_ERR_ARG, row->key, " is missing");
}

static asc_status read_row(asc_reader *r, const asc_setting *table, const asc_setting *row, const asc_place *place,
                           void *values)
{
    json_t *v = json_object_get(r->given, row->key), *fallback = NULL;
    if (!belongs(table, row, values)) {
        return v ? refuse_stranger(r, row) : ASC_OK;
    }
    if (!v && row->flags & ASC_SETTING_REQUIRED) {
        return refuse_missing(r, table, row);
    }
    if (v && asc_setting_check(r->ctx, row, row->key, v)) {
        return asc_error(r->ctx);
    }
    if (!v && !row->fallback) {
        return ASC_OK;
    }
    if (!v) {
        v = fallback = asc_setting_default(r->ctx, row);
    }
    asc_status status = v ? store(r, table, row, place, v, values) : asc_error(r->ctx);
    json_decref(fallback);
    return status;
}

asc_status asc_reader_read(asc_reader *r, const asc_setting *table, const asc_place *place, void *values)
{
    asc_status status = ASC_OK;
    for (const asc_setting *row = table; row->key && !status; row++) {
        status = read_row(r, table, row, place, values);
    }
    return status;
}

/* ---- what is in effect ---- */

static asc_status note(asc_reader *r, const char *key, json_t *value)
{
    return json_object_set_new(r->effect, key, value) ? no_memory(r->ctx) : ASC_OK;
}

/* A list whose name was given: this layer's entry of a list with one a layer; none for the layers of other owners. */
static asc_status note_layer(asc_reader *r, const asc_setting *row, const asc_place *place, const void *values)
{
    json_t *all = json_object_get(r->effect, row->key);
    if (!all) {
        all = json_array();
        for (int l = 0; l < (place ? place->layers : 1); l++) {
            json_array_append_new(all, json_array());
        }
        if (note(r, row->key, all)) {
            return asc_error(r->ctx);
        }
    }
    size_t layer = (size_t)(place ? place->layer : 0);
    return json_array_set_new(all, layer, asc_setting_json(row, values)) ? no_memory(r->ctx) : ASC_OK;
}

asc_status asc_reader_note(asc_reader *r, const asc_setting *table, const asc_place *place, const void *values)
{
    asc_status status = ASC_OK;
    for (const asc_setting *row = table; row->key && !status; row++) {
        json_t *v = json_object_get(r->given, row->key);
        if (!belongs(table, row, values)) {
            continue;
        }
        if (asc_setting_is_spread(row, v)) {
            status = note(r, row->key, json_deep_copy(v));
        } else if (row->type == ASC_SETTING_INTS && json_is_string(v)) {
            status = note_layer(r, row, place, values);
        } else {
            status = note(r, row->key, asc_setting_json(row, values));
        }
    }
    return status;
}

void asc_reader_forget(asc_reader *r, const char *key)
{
    json_object_del(r->effect, key);
}

asc_status asc_reader_finish(asc_reader *r)
{
    const char *key = asc_reader_unread(r, 0), *known, *best = NULL, *synonym = asc_setting_synonym(key);
    if (!key) {
        return asc_error(r->ctx);
    }
    if (synonym && json_object_get(r->effect, synonym)) {
        return asc_fail(r->ctx, ASC_ERR_ARG, "unknown setting '%s'; here it is '%s'", key, synonym);
    }
    json_t *ignored;
    json_object_foreach(r->effect, known, ignored) {
        bool nearest = !best || asc_name_distance(key, known) < asc_name_distance(key, best);
        best = asc_name_close(key, known) && nearest ? known : best;
    }
    char hint[ASC_NAME_HINT];
    const char *guess = asc_setting_synonym_guess(key);
    best = !best && guess && json_object_get(r->effect, guess) ? guess : best;
    return asc_fail(r->ctx, ASC_ERR_ARG, "unknown setting '%s'%s", key, asc_name_hint(best, hint));
}

char *asc_reader_text(asc_reader *r)
{
    char *text = json_dumps(r->effect, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text) {
        no_memory(r->ctx);
    }
    return text;
}
