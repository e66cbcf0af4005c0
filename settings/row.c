/* settings/row.c: the values of one setting: what they may be, and how they are read, kept and written. */
#include "settings/reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "tensor/locale.h"

const asc_setting *asc_setting_find(const asc_setting *table, const char *key)
{
    for (; table && key && table->key; table++) {
        if (strcmp(table->key, key) == 0) {
            return table;
        }
    }
    return NULL;
}

static asc_status no_memory(asc_ctx *ctx)
{
    return asc_fail(ctx, ASC_ERR_MEMORY, "settings: out of memory");
}

/* ---- what is expected ---- */

enum { EXPECTED = 400 };

static void append(char *text, const char *more)
{
    size_t n = strlen(text);
    snprintf(text + n, EXPECTED - n, "%s", more);
}

static void append_names(char *text, const char *const *names)
{
    for (int i = 0; names[i]; i++) {
        append(text, i ? ", " : "");
        append(text, names[i]);
    }
}

static int index_of(const char *const *names, const char *name)
{
    for (int i = 0; name && names && names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* What a number had to be; `got` (or NULL) is one that is out of range. */
static void expect_number(const asc_setting *row, const json_t *got, char *text)
{
    double value = json_number_value(got);
    bool number = json_is_number(got) || asc_real_parse(json_string_value(got), &value); /* of any size */
    bool real = row->type == ASC_SETTING_REAL, above = number && value > row->max;
    const char *kind = row->flags & ASC_SETTING_MINUTES ? "a time, as 90s, 30m or 2h, or a number of minutes"
                       : real                           ? "a number"
                                                        : "a whole number";
    bool any = row->min <= -1e9 && row->max >= 1e9 && !json_is_number(got);
    asc_snprintf(text, EXPECTED, any ? "%s" : row->max >= 1e9 && !above ? "%s >= %.10g" : "%s from %.10g to %.10g",
                 kind, row->min, row->max);
}

/* In place of `got`, the value or what of it is wrong. */
static void expect(const asc_setting *row, const json_t *got, char *text)
{
    const char *name = json_string_value(got), *nearest = name && row->choices && row->choices[0]
                                                              ? asc_name_guess(name, row->choices) : NULL;
    char hint[ASC_NAME_HINT];
    text[0] = 0;
    switch (row->type) {
    case ASC_SETTING_INT:
    case ASC_SETTING_REAL: expect_number(row, got, text); break;
    case ASC_SETTING_BOOL: append(text, "true or false"); break;
    case ASC_SETTING_TEXT: append(text, "a text in UTF-8"); break;
    case ASC_SETTING_COUNT: append(text, "true, false or a whole number"); break;
    case ASC_SETTING_CHOICE:
        append(text, "one of ");
        append_names(text, row->choices);
        append(text, asc_name_hint(nearest, hint));
        break;
    case ASC_SETTING_SET:
    case ASC_SETTING_HEADS:
        snprintf(text, EXPECTED, "a list of names, as [\"%s\"]", nearest ? nearest : row->choices[0]);
        break;
    case ASC_SETTING_INTS:
        snprintf(text, EXPECTED, "a list of at most %d whole numbers, as [1,2,4]%s", ASC_SETTING_LIST,
                 row->flags & ASC_SETTING_PER_LAYER ? ", or one such list a layer" : "");
        if (row->choices) {
            append(text, ", or one of ");
            append_names(text, row->choices);
        }
        break;
    case ASC_SETTING_TUPLES:
        snprintf(text, EXPECTED, "a list of at most %d lists of whole numbers, as [[1,2],[1,4]]%s", ASC_SETTING_LIST,
                 row->flags & ASC_SETTING_PER_LAYER ? ", or one such list a layer" : "");
        break;
    }
}

enum { SHOWN = 160 }; /* bytes of a value that a message repeats: a file may hold any number of them */

/* Cuts a value's text where it is long, between characters. */
static void shorten(char *text)
{
    size_t n = strlen(text);
    if (n > SHOWN) {
        n = SHOWN - 3;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) {
            n--;
        }
        memcpy(text + n, "...", 4);
    }
}

/* `wrong` says what it should have been, in the words of a row that takes one value. */
static asc_status refuse(asc_ctx *ctx, const asc_setting *wrong, const char *name, const json_t *got)
{
    char expected[EXPECTED], *text = json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    expect(wrong, got, expected);
    if (text) {
        shorten(text);
    }
    asc_fail_on(ctx, ASC_ERR_ARG, name, ": got %s, expected %s", text ? text : "?", expected);
    free(text);
    return asc_error(ctx);
}

/* ---- checking ---- */

static asc_setting one_number(const asc_setting *row)
{
    return (asc_setting){.type = ASC_SETTING_INT, .min = row->min, .max = row->max};
}

/* A real number is kept rounded, and is to be in range when it is read again. */
static bool in_range(const asc_setting *row, const json_t *v)
{
    double x = json_number_value(v), kept = json_is_real(v) ? asc_setting_round(x) : x;
    return isfinite(kept) && fmin(x, kept) >= row->min && fmax(x, kept) <= row->max;
}

static asc_status check_ints(asc_ctx *ctx, const asc_setting *row, const char *name, const json_t *v)
{
    if (index_of(row->choices, json_string_value(v)) >= 0) {
        return ASC_OK;
    }
    if (!json_is_array(v) || json_array_size(v) > ASC_SETTING_LIST) {
        return refuse(ctx, row, name, v);
    }
    asc_setting entry = one_number(row);
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *number = json_array_get(v, i);
        if (!json_is_integer(number) || !in_range(row, number)) {
            return refuse(ctx, &entry, name, number);
        }
    }
    return ASC_OK;
}

/* Lists of numbers, all of one length. */
static asc_status check_tuples(asc_ctx *ctx, const asc_setting *row, const char *name, const json_t *v)
{
    if (!json_is_array(v) || json_array_size(v) > ASC_SETTING_LIST) {
        return refuse(ctx, row, name, v);
    }
    size_t length = json_array_size(json_array_get(v, 0));
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *tuple = json_array_get(v, i);
        if (!json_is_array(tuple) || json_array_size(tuple) == 0) {
            return refuse(ctx, row, name, tuple);
        }
        if (check_ints(ctx, row, name, tuple)) {
            return asc_error(ctx);
        }
        if (json_array_size(tuple) != length) {
            return asc_fail_on(ctx, ASC_ERR_ARG, name, " has lists of %zu and of %zu numbers, expected one length",
                               length, json_array_size(tuple));
        }
    }
    return ASC_OK;
}

/* The place of "NAME" or "NAME:HEAD" among the names, or -1; *head is -1 without one. */
static int index_of_head(const char *const *names, const char *text, int64_t *head)
{
    const char *colon = text ? strchr(text, ':') : NULL;
    char name[64];
    *head = -1;
    if (!colon) {
        return index_of(names, text);
    }
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits == 0 || digits > 9 || colon[1 + digits] || colon - text >= (ptrdiff_t)sizeof name) {
        return -1;
    }
    snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    *head = atoll(colon + 1);
    return index_of(names, name);
}

/* The names of a set, with heads or without. */
static asc_status check_set(asc_ctx *ctx, const asc_setting *row, const char *name, const json_t *v)
{
    if (!json_is_array(v)) {
        return refuse(ctx, row, name, v);
    }
    const asc_setting entry = {.type = ASC_SETTING_CHOICE, .choices = row->choices};
    for (size_t i = 0; i < json_array_size(v); i++) {
        const char *text = json_string_value(json_array_get(v, i));
        int64_t head;
        bool plain = row->type == ASC_SETTING_SET;
        int found = plain ? index_of(row->choices, text) : index_of_head(row->choices, text, &head);
        if (found < 0) {
            return refuse(ctx, &entry, name, json_array_get(v, i));
        }
    }
    return ASC_OK;
}

/* The name that a choice's JSON stands for; NULL: none. */
static const char *choice_name(const json_t *v)
{
    return json_is_boolean(v) ? json_is_true(v) ? "true" : "false" : json_string_value(v);
}

static asc_status check_one(asc_ctx *ctx, const asc_setting *row, const char *name, const json_t *v)
{
    bool right = false;
    switch (row->type) {
    case ASC_SETTING_INT: right = json_is_integer(v) && in_range(row, v); break;
    case ASC_SETTING_REAL: right = json_is_number(v) && in_range(row, v); break;
    case ASC_SETTING_BOOL: right = json_is_boolean(v); break;
    case ASC_SETTING_CHOICE: right = index_of(row->choices, choice_name(v)) >= 0; break;
    case ASC_SETTING_TEXT: right = json_is_string(v); break;
    case ASC_SETTING_COUNT: right = json_is_boolean(v) || (json_is_integer(v) && in_range(row, v)); break;
    case ASC_SETTING_INTS: return check_ints(ctx, row, name, v);
    case ASC_SETTING_SET:
    case ASC_SETTING_HEADS: return check_set(ctx, row, name, v);
    case ASC_SETTING_TUPLES: return check_tuples(ctx, row, name, v);
    }
    return right ? ASC_OK : refuse(ctx, row, name, v);
}

/* Lists within lists: 0 of what is none, 1 of [] and [1], 2 of [[]], and so on. */
static int depth_of(const json_t *v)
{
    int inner = 0;
    for (size_t i = 0; i < json_array_size(v); i++) {
        int depth = depth_of(json_array_get(v, i));
        inner = depth > inner ? depth : inner;
    }
    return json_is_array(v) ? 1 + inner : 0;
}

/* [[], []], as no tuple is empty: no tuples in any layer. */
static bool holds_nothing(const json_t *v)
{
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (!json_is_array(json_array_get(v, i)) || json_array_size(json_array_get(v, i)) > 0) {
            return false;
        }
    }
    return json_array_size(v) > 0;
}

bool asc_setting_is_spread(const asc_setting *row, const json_t *v)
{
    static const int lists[] = {[ASC_SETTING_INTS] = 1, [ASC_SETTING_SET] = 1, [ASC_SETTING_HEADS] = 1,
                                [ASC_SETTING_TUPLES] = 2}; /* of one value */
    return row->flags & (ASC_SETTING_PER_LAYER | ASC_SETTING_PER_HEAD) &&
           (depth_of(v) > lists[row->type] || (row->type == ASC_SETTING_TUPLES && holds_nothing(v)));
}

asc_status asc_setting_check(asc_ctx *ctx, const asc_setting *row, const char *name, const json_t *v)
{
    if (!asc_setting_is_spread(row, v)) {
        return check_one(ctx, row, name, v);
    }
    asc_status status = ASC_OK;
    for (size_t i = 0; i < json_array_size(v) && !status; i++) {
        status = check_one(ctx, row, name, json_array_get(v, i));
    }
    return status;
}

/* ---- values in their places ---- */

static void free_ints(asc_ctx *ctx, asc_ints *list)
{
    asc_free(ctx, list->at, (size_t)list->n * sizeof *list->at);
    *list = (asc_ints){0};
}

static void clear_one(asc_ctx *ctx, const asc_setting *row, void *values)
{
    void *field = (char *)values + row->offset;
    if (row->type == ASC_SETTING_TEXT) {
        char *text = *(char **)field;
        asc_free(ctx, text, text ? strlen(text) + 1 : 0);
        *(char **)field = NULL;
    } else if (row->flags & ASC_SETTING_PER_HEAD && row->type == ASC_SETTING_REAL) {
        asc_reals *list = field;
        asc_free(ctx, list->at, (size_t)list->n * sizeof *list->at);
        *list = (asc_reals){0};
    } else if (row->type == ASC_SETTING_INTS || row->type == ASC_SETTING_HEADS || row->type == ASC_SETTING_TUPLES ||
               row->flags & ASC_SETTING_PER_HEAD) {
        free_ints(ctx, field); /* tuples begin so */
    }
}

_Static_assert(offsetof(asc_ints, at) == offsetof(asc_tuples, at), "lists are freed alike");

void asc_values_clear(asc_ctx *ctx, const asc_setting *table, void *values)
{
    for (; values && table->key; table++) {
        clear_one(ctx, table, values);
    }
}

static asc_status store_text(asc_ctx *ctx, const asc_setting *row, const char *text, void *values)
{
    size_t n = strlen(text) + 1;
    char *copy = asc_alloc(ctx, n);
    if (!copy) {
        return ASC_ERR_MEMORY;
    }
    clear_one(ctx, row, values);
    *(char **)((char *)values + row->offset) = memcpy(copy, text, n);
    return ASC_OK;
}

/* A list of n numbers in place of what is there; *at is its memory. */
static asc_status take_ints(asc_ctx *ctx, const asc_setting *row, size_t n, void *values, int64_t **at)
{
    *at = n ? asc_alloc(ctx, n * sizeof **at) : NULL;
    if (n && !*at) {
        return ASC_ERR_MEMORY;
    }
    clear_one(ctx, row, values);
    *(asc_ints *)((char *)values + row->offset) = (asc_ints){(int64_t)n, *at};
    return ASC_OK;
}

static asc_status store_ints(asc_ctx *ctx, const asc_setting *row, const json_t *v, void *values)
{
    int64_t *at;
    asc_status status = take_ints(ctx, row, json_array_size(v), values, &at);
    for (size_t i = 0; !status && i < json_array_size(v); i++) {
        at[i] = json_integer_value(json_array_get(v, i));
    }
    return status;
}

static asc_status store_heads(asc_ctx *ctx, const asc_setting *row, const json_t *v, void *values)
{
    int64_t *at;
    asc_status status = take_ints(ctx, row, 2 * json_array_size(v), values, &at);
    for (size_t i = 0; !status && i < json_array_size(v); i++) {
        at[2 * i] = index_of_head(row->choices, json_string_value(json_array_get(v, i)), &at[2 * i + 1]);
    }
    return status;
}

static asc_status store_tuples(asc_ctx *ctx, const asc_setting *row, const json_t *v, void *values)
{
    size_t size = json_array_size(json_array_get(v, 0));
    int64_t *at;
    asc_status status = take_ints(ctx, row, json_array_size(v) * size, values, &at);
    for (size_t i = 0; !status && i < json_array_size(v) * size; i++) {
        at[i] = json_integer_value(json_array_get(json_array_get(v, i / size), i % size));
    }
    if (!status) {
        ((asc_tuples *)((char *)values + row->offset))->size = (int64_t)size;
    }
    return status;
}

static uint64_t set_of(const asc_setting *row, const json_t *v)
{
    uint64_t set = 0;
    for (size_t i = 0; i < json_array_size(v); i++) {
        set |= UINT64_C(1) << index_of(row->choices, json_string_value(json_array_get(v, i)));
    }
    return set;
}

double asc_setting_round(double x)
{
    char text[32];
    asc_snprintf(text, sizeof text, "%.15g", x);
    return asc_strtod(text, NULL);
}

asc_status asc_setting_store(asc_ctx *ctx, const asc_setting *row, const json_t *v, void *values)
{
    void *field = (char *)values + row->offset;
    switch (row->type) {
    case ASC_SETTING_INT: *(int64_t *)field = json_integer_value(v); break;
    case ASC_SETTING_REAL: *(double *)field = asc_setting_round(json_number_value(v)); break;
    case ASC_SETTING_BOOL: *(bool *)field = json_is_true(v); break;
    case ASC_SETTING_CHOICE: *(int *)field = index_of(row->choices, choice_name(v)); break;
    case ASC_SETTING_SET: *(uint64_t *)field = set_of(row, v); break;
    case ASC_SETTING_COUNT:
        *(int64_t *)field = json_is_true(v) ? ASC_SETTING_ALL : json_integer_value(v);
        break;
    case ASC_SETTING_TEXT: return store_text(ctx, row, json_string_value(v), values);
    case ASC_SETTING_INTS: return store_ints(ctx, row, v, values);
    case ASC_SETTING_HEADS: return store_heads(ctx, row, v, values);
    case ASC_SETTING_TUPLES: return store_tuples(ctx, row, v, values);
    }
    return ASC_OK;
}

/* ---- and back ---- */

static json_t *ints_json(const asc_ints *list)
{
    json_t *json = json_array();
    for (int64_t i = 0; i < list->n; i++) {
        json_array_append_new(json, json_integer(list->at[i]));
    }
    return json;
}

static json_t *tuples_json(const asc_tuples *list)
{
    json_t *json = json_array();
    for (int64_t i = 0; i < list->n; i += list->size) {
        json_array_append_new(json, ints_json(&(asc_ints){list->size, list->at + i}));
    }
    return json;
}

static json_t *set_json(const asc_setting *row, uint64_t set)
{
    json_t *json = json_array();
    for (int i = 0; row->choices[i]; i++) {
        if (set >> i & 1) {
            json_array_append_new(json, json_string(row->choices[i]));
        }
    }
    return json;
}

static json_t *heads_json(const asc_setting *row, const asc_ints *list)
{
    json_t *json = json_array();
    for (int64_t i = 0; i + 1 < list->n; i += 2) {
        char text[100];
        snprintf(text, sizeof text, list->at[i + 1] < 0 ? "%s" : "%s:%lld", row->choices[list->at[i]],
                 (long long)list->at[i + 1]);
        json_array_append_new(json, json_string(text));
    }
    return json;
}

static json_t *choice_json(const char *name)
{
    bool yes = strcmp(name, "true") == 0, no = strcmp(name, "false") == 0;
    return yes || no ? json_boolean(yes) : json_string(name);
}

json_t *asc_setting_json(const asc_setting *row, const void *values)
{
    const void *field = (const char *)values + row->offset;
    if (row->flags & ASC_SETTING_PER_HEAD) { /* one for all; a list was noted as it was given */
        return row->type == ASC_SETTING_REAL ? json_real(*((const asc_reals *)field)->at)
                                             : json_integer(*((const asc_ints *)field)->at);
    }
    int64_t count = row->type == ASC_SETTING_COUNT ? *(const int64_t *)field : 0;
    switch (row->type) {
    case ASC_SETTING_INT: return json_integer(*(const int64_t *)field);
    case ASC_SETTING_REAL: return json_real(*(const double *)field);
    case ASC_SETTING_BOOL: return json_boolean(*(const bool *)field);
    case ASC_SETTING_CHOICE: return choice_json(row->choices[*(const int *)field]);
    case ASC_SETTING_SET: return set_json(row, *(const uint64_t *)field);
    case ASC_SETTING_COUNT: return count == 0 || count == ASC_SETTING_ALL ? json_boolean(count) : json_integer(count);
    case ASC_SETTING_TEXT: return json_string(*(const char *const *)field ? *(const char *const *)field : "");
    case ASC_SETTING_INTS: return ints_json(field);
    case ASC_SETTING_HEADS: return heads_json(row, field);
    case ASC_SETTING_TUPLES: return tuples_json(field);
    }
    return NULL;
}

/* ---- from text ---- */

/* Numbers, too, that JSON does not know: .1, 1., +1; what else strtod takes, as nan and 0x1, is a text. */
static json_t *parse_any(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    if (value || !*text || text[strspn(text, "+-.0123456789eE")]) {
        return value ? value : json_string(text);
    }
    char *end;
    double number = asc_strtod(text, &end);
    return *end || !isfinite(number) ? json_string(text) : json_real(number);
}

static json_t *parse_count(const char *text)
{
    int64_t value;
    return asc_count_parse(text, &value) ? json_integer(value) : NULL;
}

static json_t *parse_real(const asc_setting *row, const char *text)
{
    double value;
    bool right = row->flags & ASC_SETTING_MINUTES ? asc_time_parse(text, 60, &value) : asc_real_parse(text, &value);
    return right ? json_real(value) : NULL;
}

static json_t *parse_as(const asc_setting *row, const char *text)
{
    bool yes = strcmp(text, "true") == 0, no = strcmp(text, "false") == 0;
    if (row->flags & (ASC_SETTING_PER_LAYER | ASC_SETTING_PER_HEAD) && text[0] == '[') {
        return parse_any(text);
    }
    switch (row->type) {
    case ASC_SETTING_INT: return parse_count(text);
    case ASC_SETTING_REAL: return parse_real(row, text);
    case ASC_SETTING_BOOL: return yes || no ? json_boolean(yes) : NULL;
    case ASC_SETTING_CHOICE:
    case ASC_SETTING_TEXT: return json_string(text);
    case ASC_SETTING_COUNT: return yes || no ? json_boolean(yes) : parse_count(text);
    case ASC_SETTING_INTS:
    case ASC_SETTING_SET:
    case ASC_SETTING_HEADS:
    case ASC_SETTING_TUPLES: break;
    }
    return parse_any(text);
}

json_t *asc_setting_plain(asc_ctx *ctx, const asc_setting *row, const char *name, json_t *value)
{
    bool whole = row->type == ASC_SETTING_INT || row->type == ASC_SETTING_COUNT;
    double real = json_real_value(value);
    if (json_is_string(value) && (whole || row->type == ASC_SETTING_REAL)) {
        return asc_setting_parse(ctx, row, name, json_string_value(value));
    }
    if (whole && json_is_real(value) && real == floor(real) && fabs(real) < 1e18) {
        json_t *integer = json_integer((json_int_t)real);
        return integer ? integer : (no_memory(ctx), NULL);
    }
    return json_incref(value);
}

json_t *asc_setting_parse(asc_ctx *ctx, const asc_setting *row, const char *name, const char *text)
{
    json_t *value = parse_as(row, text);
    if (value && json_is_array(value)) {
        return value;
    }
    bool number = json_is_number(value) &&
                  (row->type == ASC_SETTING_INT || row->type == ASC_SETTING_REAL || row->type == ASC_SETTING_COUNT);
    bool choice = row->type == ASC_SETTING_CHOICE && value && index_of(row->choices, text) < 0;
    if (!value || (number && !in_range(row, value)) || choice) { /* said in the words that were given */
        char expected[EXPECTED];
        json_t *given = value ? value : json_string(text);
        expect(row, given, expected);
        json_decref(given);
        asc_fail_on(ctx, ASC_ERR_ARG, name, ": got '%s', expected %s", text, expected);
        return NULL;
    }
    return value;
}

json_t *asc_setting_default(asc_ctx *ctx, const asc_setting *row)
{
    return row->fallback ? asc_setting_parse(ctx, row, row->key, row->fallback) : NULL;
}
