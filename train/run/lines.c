/* train/run/lines.c: metrics.jsonl, read line by line. Another process may be writing it, so a last line that is not
 * whole is none; before the end each line is one of numbers, or the file is refused. */
#include "train/run/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/file.h"
#include "tensor/ctx.h"
#include "train/path.h"
#include "train/state.h"

enum { LINE_BYTES = 1 << 20, KEY_BYTES = 200 };

/* ---- lines ---- */

typedef struct lines {
    asc_ctx *ctx;
    const char *path;
    int fd;
    char *buffer;      /* LINE_BYTES */
    size_t start, end; /* what is read and not yet taken */
    bool all_read;
    const char *text; /* the line taken last … */
    size_t n;
    int64_t number;
    bool whole; /* … which has an end */
} lines;

/* Moves what is left to the front and fills up behind it. */
static asc_status refill(lines *l)
{
    memmove(l->buffer, l->buffer + l->start, l->end - l->start);
    l->end -= l->start;
    l->start = 0;
    while (!l->all_read && l->end < LINE_BYTES) {
        ssize_t got = read(l->fd, l->buffer + l->end, LINE_BYTES - l->end);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return asc_fail(l->ctx, ASC_ERR_IO, "%s: %s", l->path, strerror(errno));
        }
        l->end += (size_t)got;
        l->all_read = got == 0;
    }
    return ASC_OK;
}

/* Takes the next line, without its end; false: there is none, or the error is set. */
static bool next_line(lines *l)
{
    char *stop = memchr(l->buffer + l->start, '\n', l->end - l->start);
    if (!stop) {
        if (refill(l)) {
            return false;
        }
        stop = memchr(l->buffer, '\n', l->end);
    }
    l->number++;
    if (!stop && !l->all_read) {
        asc_fail(l->ctx, ASC_ERR_FORMAT, "%s: line %" PRId64 " has more than %d bytes", l->path, l->number,
                 LINE_BYTES - 1);
        return false;
    }
    l->whole = stop != NULL;
    l->text = l->buffer + l->start;
    l->n = (size_t)((stop ? stop : l->buffer + l->end) - l->text);
    l->start += l->n + l->whole;
    return l->n > 0 || l->whole;
}

/* ---- numbers ---- */

/* A value's name while its line is gone through: parts are appended, and cut off again. */
typedef struct key_text {
    char text[KEY_BYTES];
    size_t n;
} key_text;

static bool extend(key_text *key, const char *format, const char *name, size_t index)
{
    size_t room = sizeof key->text - key->n;
    int n = name ? snprintf(key->text + key->n, room, format, name) : snprintf(key->text + key->n, room, format, index);
    key->n += n > 0 && (size_t)n < room ? (size_t)n : 0;
    return n >= 0 && (size_t)n < room;
}

static bool add_number(asc_run_lines *r, const key_text *key, double value)
{
    int32_t id = asc_strings_add(&r->keys, key->text, key->n + 1);
    if (id < 0 || !asc_grow(r->ctx, &r->numbers, &r->numbers_capacity, r->n_numbers + 1, sizeof(asc_row_number))) {
        return false;
    }
    ((asc_row_number *)r->numbers)[r->n_numbers++] = (asc_row_number){id, value};
    return true;
}

/* What is no number, a text or null, has no value. false: a name is too long, or the error is set. */
static bool add_value(asc_run_lines *r, key_text *key, const json_t *value)
{
    size_t before = key->n, i;
    bool good = true;
    const char *name;
    json_t *part;
    if (json_is_number(value)) {
        return add_number(r, key, json_number_value(value));
    }
    json_object_foreach((json_t *)value, name, part) {
        good = good && extend(key, before ? ".%s" : "%s", name, 0) && add_value(r, key, part);
        key->n = before;
    }
    json_array_foreach(value, i, part) {
        good = good && extend(key, "[%zu]", NULL, i) && add_value(r, key, part);
        key->n = before;
    }
    return good;
}

static int by_key(const void *a, const void *b)
{
    const asc_row_number *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Enters the line's numbers as a row. */
static asc_status add_row(asc_run_lines *r, const lines *l, const json_t *line)
{
    const json_t *step = json_object_get(line, "step");
    double before = r->n > 0 ? asc_run_lines_value(r, r->n - 1, "step") : 0, now = json_number_value(step);
    if (!json_is_integer(step) || now < before || now > (double)ASC_STEPS_MOST) {
        return asc_fail(r->ctx, ASC_ERR_FORMAT, "%s: line %" PRId64 ": expected a step from %.0f to %.0f", l->path,
                        l->number, before, (double)ASC_STEPS_MOST);
    }
    size_t start = r->n_numbers;
    key_text key = {"", 0};
    if (!add_value(r, &key, line)) {
        return asc_fail(r->ctx, ASC_ERR_FORMAT, "%s: line %" PRId64 ": a name has more than %d bytes", l->path,
                        l->number, KEY_BYTES - 1);
    }
    qsort((asc_row_number *)r->numbers + start, r->n_numbers - start, sizeof(asc_row_number), by_key);
    if (!asc_grow(r->ctx, &r->ends, &r->ends_capacity, r->n + 1, sizeof(size_t))) {
        return asc_error(r->ctx);
    }
    ((size_t *)r->ends)[r->n++] = r->n_numbers;
    return ASC_OK;
}

static asc_status read_all(asc_run_lines *r, lines *l)
{
    while (asc_error(r->ctx) == ASC_OK && next_line(l)) {
        json_error_t where;
        json_t *line = json_loadb(l->text, l->n, JSON_REJECT_DUPLICATES, &where);
        if (json_is_object(line)) {
            add_row(r, l, line);
        } else if (l->whole) {
            asc_fail(r->ctx, ASC_ERR_FORMAT, "%s: line %" PRId64 ": %s", l->path, l->number,
                     line        ? "not a JSON object"
                     : l->n == 0 ? "is empty, expected a JSON object"
                                 : where.text);
        }
        json_decref(line);
    }
    return asc_error(r->ctx);
}

asc_status asc_run_lines_read(asc_run_lines *rows, asc_ctx *ctx, const char *path)
{
    *rows = (asc_run_lines){.ctx = ctx, .keys = {.ctx = ctx}};
    if (!asc_path_exists(path)) {
        return ASC_OK;
    }
    lines l = {.ctx = ctx, .path = path, .fd = asc_file_open(ctx, path, O_RDONLY | O_NOFOLLOW)};
    if (l.fd < 0) {
        return asc_error(ctx);
    }
    l.buffer = asc_alloc(ctx, LINE_BYTES);
    asc_status status = l.buffer ? read_all(rows, &l) : asc_error(ctx);
    asc_free(ctx, l.buffer, LINE_BYTES);
    close(l.fd);
    return status;
}

void asc_run_lines_free(asc_run_lines *rows)
{
    if (rows->ctx) {
        asc_strings_free(&rows->keys);
        asc_free(rows->ctx, rows->numbers, rows->numbers_capacity * sizeof(asc_row_number));
        asc_free(rows->ctx, rows->ends, rows->ends_capacity * sizeof(size_t));
    }
    *rows = (asc_run_lines){0};
}

double asc_run_lines_value(const asc_run_lines *rows, size_t row, const char *key)
{
    int32_t id = asc_strings_find(&rows->keys, key, strlen(key) + 1);
    if (row >= rows->n || id < 0) {
        return NAN;
    }
    const size_t *ends = rows->ends;
    const asc_row_number *numbers = rows->numbers;
    size_t start = row > 0 ? ends[row - 1] : 0;
    const asc_row_number wanted = {id, 0};
    const asc_row_number *found = bsearch(&wanted, numbers + start, ends[row] - start, sizeof *numbers, by_key);
    return found ? found->value : NAN;
}
