/* data/record.c: records of a file: lines of JSON, or of columns between tabs. */
#include "data/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/json.h"
#include "tensor/ctx.h"
#include "tensor/locale.h"

asc_status asc_record_fail(const asc_records *r, const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    asc_vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return asc_fail(r->ctx, ASC_ERR_FORMAT, "%s: line %" PRId64 ": %s", r->path, asc_text_lines(r->text), what);
}

/* Takes a copy of a field's value. */
static asc_status put(asc_records *r, int field, const char *text, size_t n)
{
    void *value = r->value[field];
    if (!asc_grow(r->ctx, &value, &r->capacity[field], n + 1, 1)) {
        return ASC_ERR_MEMORY;
    }
    r->value[field] = value;
    memcpy(value, text, n);
    r->value[field][n] = 0;
    return ASC_OK;
}

/* ---- rows ---- */

/* The bytes of a line without its end. */
static size_t trim(const char *line, size_t n)
{
    while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) {
        n--;
    }
    return n;
}

/* The column that starts at *at; its length, with *at behind the tab after it, past the end at the last. */
static size_t next_column(const char *line, size_t n, size_t *at)
{
    const char *tab = memchr(line + *at, '\t', n - *at);
    size_t end = tab ? (size_t)(tab - line) : n, length = end - *at;
    *at = end + 1;
    return length;
}

static int find_column(const char *line, size_t n, const char *name, int *columns)
{
    int found = -1;
    *columns = 0;
    for (size_t at = 0; at <= n; ++*columns) {
        size_t start = at, length = next_column(line, n, &at);
        if (found < 0 && strlen(name) == length && memcmp(name, line + start, length) == 0) {
            found = *columns;
        }
    }
    return found;
}

/* A column's number, from 0; -1: it is a name. */
static int column_number(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);
    return *end || end == name || number < 1 || number > 100000 ? -1 : (int)number - 1;
}

static asc_status read_header(asc_records *r)
{
    bool numbered = true;
    for (int f = 0; f < ASC_RECORD_FIELDS; f++) {
        r->column[f] = r->fields.name[f] ? column_number(r->fields.name[f]) : -1;
        numbered = numbered && (!r->fields.name[f] || r->column[f] >= 0);
    }
    const char *line;
    size_t n;
    if (numbered || asc_text_next(r->text, &line, &n)) {
        return asc_error(r->ctx);
    }
    if (!line) {
        return asc_fail(r->ctx, ASC_ERR_FORMAT, "%s: is empty, expected a header", r->path);
    }
    n = trim(line, n);
    for (int f = 0; f < ASC_RECORD_FIELDS; f++) {
        const char *name = r->fields.name[f];
        r->column[f] = name ? find_column(line, n, name, &r->columns) : -1;
        if (name && r->column[f] < 0) {
            return asc_record_fail(r, "the header has no column '%s': %.*s", name, (int)(n < 200 ? n : 200), line);
        }
    }
    return ASC_OK;
}

static asc_status read_row(asc_records *r, const char *line, size_t n)
{
    int columns = 0, last = -1;
    asc_status status = ASC_OK;
    for (size_t at = 0; at <= n && !status; columns++) {
        size_t start = at, length = next_column(line, n, &at);
        for (int f = 0; f < ASC_RECORD_FIELDS && !status; f++) {
            status = r->column[f] == columns ? put(r, f, line + start, length) : ASC_OK;
        }
    }
    for (int f = 0; f < ASC_RECORD_FIELDS; f++) {
        last = r->column[f] > last ? r->column[f] : last;
    }
    if (!status && (columns <= last || (r->columns > 0 && columns != r->columns))) {
        return asc_record_fail(r, "has %d columns, expected %d%s", columns, r->columns > 0 ? r->columns : last + 1,
                               r->columns > 0 ? ", as the header has" : " or more");
    }
    return status;
}

/* ---- objects ---- */

/* With as many digits as it takes to read the same number again: what the file has of them, mostly. New. */
static char *number_text(const json_t *value)
{
    char *text = NULL;
    for (size_t digits = 15; digits <= 17; digits++) {
        free(text);
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        if (!text || asc_strtod(text, NULL) == json_number_value(value)) {
            break;
        }
    }
    return text;
}

static asc_status put_json(asc_records *r, int field, const json_t *value)
{
    char *text = NULL;
    asc_status status;
    if (json_is_string(value)) {
        return put(r, field, json_string_value(value), json_string_length(value));
    }
    if (!json_is_number(value) && !json_is_boolean(value)) {
        return asc_record_fail(r, "\"%s\" is %s, expected text or a number", r->fields.name[field],
                               value ? "neither text nor a number" : "missing");
    }
    text = number_text(value);
    status = text ? put(r, field, text, strlen(text)) : asc_fail(r->ctx, ASC_ERR_MEMORY, "records: out of memory");
    free(text);
    return status;
}

static asc_status read_object(asc_records *r, const char *line, size_t n)
{
    json_error_t where;
    json_t *object = asc_json_parse(line, n, ASC_JSON_RECORD, JSON_REJECT_DUPLICATES, &where);
    asc_status status = ASC_OK;
    if (!json_is_object(object)) {
        status = object ? asc_record_fail(r, "is no JSON object")
                        : asc_record_fail(r, "is no JSON: %s, at column %d", where.text, where.column);
    }
    for (int f = 0; f < ASC_RECORD_FIELDS && !status; f++) {
        const char *name = r->fields.name[f];
        status = name ? put_json(r, f, json_object_get(object, name)) : ASC_OK;
    }
    json_decref(object);
    return status;
}

/* ---- a file ---- */

asc_status asc_records_open(asc_records *r, asc_ctx *ctx, const char *path, const asc_fields *fields)
{
    *r = (asc_records){.ctx = ctx, .path = path, .fields = *fields, .text = asc_text_open(ctx, path, 0)};
    return !r->text ? asc_error(ctx) : fields->rows ? read_header(r) : ASC_OK;
}

void asc_records_close(asc_records *r)
{
    for (int f = 0; f < ASC_RECORD_FIELDS; f++) {
        asc_free(r->ctx, r->value[f], r->capacity[f]);
    }
    asc_text_close(r->text);
    *r = (asc_records){0};
}

asc_status asc_records_next(asc_records *r, int64_t from, int64_t to, bool *more)
{
    *more = false;
    for (;;) {
        int64_t start = asc_text_bytes(r->text);
        const char *line;
        size_t n;
        if (start >= to || asc_text_next(r->text, &line, &n) || !line) {
            return asc_error(r->ctx);
        }
        n = trim(line, n);
        if (start >= from && n > 0) {
            *more = true;
            return r->fields.rows ? read_row(r, line, n) : read_object(r, line, n);
        }
    }
}

bool asc_records_have(asc_ctx *ctx, const char *path, bool rows, const char *const *names)
{
    asc_text *text = asc_text_open(ctx, path, 0);
    const char *line = NULL;
    size_t n = 0;
    bool have;
    do {
        have = text && asc_text_next(text, &line, &n) == ASC_OK && line;
        n = have ? trim(line, n) : 0;
    } while (have && n == 0 && !rows); /* records may have empty lines before them */
    if (have) {
        json_error_t where;
        json_t *object = rows ? NULL : asc_json_parse(line, n, ASC_JSON_RECORD, JSON_REJECT_DUPLICATES, &where);
        if (!rows && n > 0 && !object) {
            asc_fail(ctx, ASC_ERR_FORMAT, "%s: line %lld: is no JSON: %s, at column %d", path,
                     (long long)asc_text_lines(text), where.text, where.column);
        }
        for (int i = 0; names[i]; i++) {
            int columns;
            have = have &&
                   (rows ? find_column(line, n, names[i], &columns) >= 0 : json_object_get(object, names[i]) != NULL);
        }
        json_decref(object);
    } else if (!asc_error(ctx)) {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: is empty, expected records", path);
    }
    asc_text_close(text);
    return have;
}
