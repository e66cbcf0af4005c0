/* settings/typed.c: settings in structs (ascgrad/typed.h) as JSON text. */
#include <ascgrad/typed.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

/* ---- one field ---- */

/* Elements of a field that is a list, or -1; *memory: whether they are there. */
static int64_t length_of(const asc_field *f, const void *at, bool *memory)
{
    switch (f->kind) {
    case ASC_FIELD_INTS:
    case ASC_FIELD_LIST: *memory = ((const asc_ints *)at)->at; return ((const asc_ints *)at)->n;
    case ASC_FIELD_REALS: *memory = ((const asc_reals *)at)->at; return ((const asc_reals *)at)->n;
    case ASC_FIELD_BOOLS: *memory = ((const asc_bools *)at)->at; return ((const asc_bools *)at)->n;
    case ASC_FIELD_TEXTS:
    case ASC_FIELD_NAMES: *memory = ((const asc_texts *)at)->at; return ((const asc_texts *)at)->n;
    case ASC_FIELD_TUPLES: *memory = ((const asc_tuples *)at)->at; return ((const asc_tuples *)at)->n;
    default: return -1;
    }
}

/* Element i of a list as JSON; NULL if it can't be. */
static json_t *element(const asc_field *f, const void *at, int64_t i)
{
    switch (f->kind) {
    case ASC_FIELD_REALS: return json_real(((const asc_reals *)at)->at[i]);
    case ASC_FIELD_BOOLS: return json_boolean(((const asc_bools *)at)->at[i]);
    case ASC_FIELD_TEXTS:
    case ASC_FIELD_NAMES: return json_string(((const asc_texts *)at)->at[i]);
    default: return json_integer(((const asc_ints *)at)->at[i]); /* tuples begin so */
    }
}

static json_t *list_json(const asc_field *f, const void *at, int64_t from, int64_t n)
{
    json_t *list = json_array();
    for (int64_t i = from; list && i < from + n; i++) {
        if (json_array_append_new(list, element(f, at, i))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *tuples_json(const asc_field *f, const asc_tuples *tuples)
{
    json_t *list = tuples->size > 0 && tuples->n % tuples->size == 0 ? json_array() : NULL;
    for (int64_t i = 0; list && i < tuples->n; i += tuples->size) {
        if (json_array_append_new(list, list_json(f, tuples, i, tuples->size))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *choice_json(const asc_field *f, unsigned which)
{
    for (unsigned i = 0; f->choices && f->choices[i]; i++) {
        if (i + 1 == which) {
            bool yes = strcmp(f->choices[i], "true") == 0, no = strcmp(f->choices[i], "false") == 0;
            return yes || no ? json_boolean(yes) : json_string(f->choices[i]);
        }
    }
    return NULL;
}

/* The field as JSON, NULL if it can't be; *given: whether there is anything in it. */
static json_t *field_json(const asc_field *f, const void *at, bool *given)
{
    bool memory = true;
    int64_t n = length_of(f, at, &memory);
    *given = n != 0;
    if (n > 0) {
        bool whole = f->kind == ASC_FIELD_LIST || f->kind == ASC_FIELD_NAMES || n > 1;
        return !memory ? NULL : f->kind == ASC_FIELD_TUPLES ? tuples_json(f, at)
                              : whole ? list_json(f, at, 0, n) : element(f, at, 0);
    }
    int64_t integer = f->kind == ASC_FIELD_INT || f->kind == ASC_FIELD_COUNT ? *(const int64_t *)at : 0;
    switch (f->kind) {
    case ASC_FIELD_INT: *given = integer != 0; return json_integer(integer);
    case ASC_FIELD_COUNT:
        *given = integer != 0;
        return integer == ASC_SETTING_ALL ? json_true() : json_integer(integer);
    case ASC_FIELD_REAL: *given = *(const double *)at != 0; return json_real(*(const double *)at);
    case ASC_FIELD_BOOL: *given = *(const bool *)at; return json_true();
    case ASC_FIELD_TEXT: *given = *(const char *const *)at; return json_string(*given ? *(const char *const *)at : "");
    case ASC_FIELD_CHOICE: *given = *(const unsigned *)at != 0; return choice_json(f, *(const unsigned *)at);
    default: return NULL; /* a list of less than no elements */
    }
}

/* ---- all of them ---- */

static asc_status no_memory(asc_ctx *ctx)
{
    return asc_fail(ctx, ASC_ERR_MEMORY, "typed_json: out of memory");
}

/* Whether it is the first to be given for its key, or the same as that. Takes `value`. */
static asc_status add_value(asc_ctx *ctx, json_t *object, const asc_typed *part, const char *key, json_t *value)
{
    const json_t *before = json_object_get(object, key);
    bool other = before && !json_equal(before, value);
    if (other) {
        json_decref(value);
        return asc_fail_on(ctx, ASC_ERR_ARG, key, " of %s is not that of another part: a setting is the same for all",
                           part->owner);
    }
    return json_object_set_new(object, key, value) ? no_memory(ctx) : ASC_OK;
}

static asc_status add_part(asc_ctx *ctx, json_t *object, const asc_typed *part)
{
    if (!part->owner || !part->fields || !part->values) {
        return asc_fail(ctx, ASC_ERR_ARG, "typed_json: parts: owner, fields and values are needed");
    }
    for (const asc_field *f = part->fields; f->key; f++) {
        bool given = false;
        json_t *value = field_json(f, (const char *)part->values + f->offset, &given);
        if (!given) {
            json_decref(value);
        } else if (!value) {
            return asc_fail_on(ctx, ASC_ERR_ARG, f->key, " of %s is no value that the field can have", part->owner);
        } else if (add_value(ctx, object, part, f->key, value)) {
            return asc_error(ctx);
        }
    }
    return ASC_OK;
}

/* A model's mixing is that of the part beside it, unless it says so itself. */
static asc_status add_mix(asc_ctx *ctx, json_t *object, const asc_typed *parts, int n)
{
    int model = n == 2 && strcmp(parts[1].owner, "model") == 0;
    if (n != 2 || strcmp(parts[model].owner, "model") != 0 || json_object_get(object, "mix")) {
        return ASC_OK;
    }
    return json_object_set_new(object, "mix", json_string(parts[1 - model].owner)) ? no_memory(ctx) : ASC_OK;
}

/* The context's own copy of a text. */
static const char *keep(asc_ctx *ctx, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (!asc_grow(ctx, &ctx->config, &ctx->cap_config, bytes, 1)) {
        return NULL;
    }
    return memcpy(ctx->config, text, bytes);
}

const char *asc_typed_json(asc_ctx *ctx, const asc_typed *parts, int n)
{
    if (ASC_NEED(ctx, "typed_json: parts", asc_unless_empty(parts, n)) || asc_error(ctx)) {
        return NULL;
    }
    json_t *object = json_object();
    asc_status status = object ? ASC_OK : no_memory(ctx);
    for (int i = 0; i < n && !status; i++) {
        status = add_part(ctx, object, &parts[i]);
    }
    status = status ? status : add_mix(ctx, object, parts, n);
    char *text = status ? NULL : json_dumps(object, JSON_COMPACT);
    if (!status && !text) {
        no_memory(ctx);
    }
    const char *kept = text ? keep(ctx, text) : NULL;
    if (asc_error(ctx) == ASC_ERR_ARG && asc_error_subject(ctx)) {
        asc_error_place(ctx, "config");
    }
    free(text);
    json_decref(object);
    return kept;
}
