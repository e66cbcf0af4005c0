/* data/json.c: JSON from files, within limits, and into files. */
#include "data/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <program/file.h>

#include "data/file.h"

enum { MOST_BYTES = 4 << 20 };

/* ---- values ---- */

/* How many values the text may become: one, and one more behind each comma or opening bracket out of strings. */
static int64_t count_values(const char *text, size_t n, int64_t most)
{
    int64_t values = 1;
    bool within = false;
    for (size_t i = 0; i < n && values <= most; i++) {
        char c = text[i];
        if (c == '"') {
            within = !within;
        } else if (within) {
            i += c == '\\';
        } else {
            values += c == ',' || c == '[' || c == '{';
        }
    }
    return values;
}

json_t *asc_json_parse(const char *text, size_t n, int64_t most, size_t flags, json_error_t *where)
{
    size_t mark = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (count_values(text, n, most) <= most) {
        return json_loadb(text + mark, n - mark, flags, where);
    }
    *where = (json_error_t){.line = 1, .column = 1, .position = (int)(n < INT32_MAX ? n : INT32_MAX)};
    snprintf(where->text, sizeof where->text, "has more than %lld values", (long long)most);
    return NULL;
}

void asc_text_drop(char *text)
{
    free(text);
}

/* ---- files ---- */

/* An open file, at most so many bytes of it; how many there are, below 0 with the error set. */
static ssize_t read_all(asc_ctx *ctx, const char *path, int fd, char *text, size_t most)
{
    ssize_t n = 0, got;
    do {
        got = read(fd, text + n, most - (size_t)n);
        n += got > 0 ? got : 0;
    } while ((got > 0 && (size_t)n < most) || (got < 0 && errno == EINTR));
    if (got < 0) {
        asc_fail(ctx, ASC_ERR_IO, "%s: can't read: %s", path, strerror(errno));
    }
    return got < 0 ? got : n;
}

/* What stands in the way of it as JSON that the parser has no words for, or others'; NULL: nothing. */
static const char *why_no_json(const char *text, size_t n)
{
    size_t blanks = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark is no text, either */
    while (blanks < n && strchr(" \t\r\n", text[blanks]) && text[blanks]) {
        blanks++;
    }
    bool wide = n >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
    return blanks == n            ? "is empty, expected a JSON object"
           : wide                 ? "is a text in UTF-16, expected a JSON object in UTF-8"
           : memchr(text, '\0', n) ? "has a zero byte, which is no text, expected a JSON object"
                                  : NULL;
}

static json_t *parse_object(asc_ctx *ctx, const char *path, const char *text, size_t n, size_t flags)
{
    json_error_t where;
    if (n > MOST_BYTES) {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: has more than %d bytes, expected settings in at most that", path,
                 (int)MOST_BYTES);
        return NULL;
    }
    json_t *object = asc_json_parse(text, n, MOST_BYTES, JSON_REJECT_DUPLICATES | flags, &where);
    if (json_is_object(object)) {
        return object;
    }
    const char *why = object ? NULL : why_no_json(text, n);
    if (why) {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: %s", path, why);
    } else {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: line %d: %s", path, object ? 1 : where.line,
                 object ? "not a JSON object" : where.text);
    }
    json_decref(object);
    return NULL;
}

/* Of an open file, which it closes; fd below 0: the error is set. */
static json_t *read_object(asc_ctx *ctx, const char *path, int fd, size_t flags)
{
    struct stat info;
    bool known = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= MOST_BYTES;
    size_t capacity = known ? (size_t)info.st_size + 1 : MOST_BYTES + 1;
    char *text = fd < 0 ? NULL : asc_alloc(ctx, capacity);
    ssize_t n = text ? read_all(ctx, path, fd, text, capacity) : -1;
    json_t *object = n < 0 ? NULL : parse_object(ctx, path, text, (size_t)n, flags);
    asc_free(ctx, text, capacity);
    if (fd >= 0) {
        close(fd);
    }
    return object;
}

json_t *asc_json_read(asc_ctx *ctx, const char *path, bool own)
{
    int fd = own ? asc_file_open(ctx, path, O_RDONLY | O_NOFOLLOW) : asc_input_open(ctx, path);
    return read_object(ctx, path, fd, 0);
}

json_t *asc_json_read_as(asc_ctx *ctx, const char *path, size_t flags)
{
    return read_object(ctx, path, asc_file_open(ctx, path, O_RDONLY), flags);
}

asc_status asc_json_write(asc_ctx *ctx, const char *path, json_t *value, size_t digits)
{
    char *text = path && !asc_error(ctx) ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(digits)) : NULL;
    json_decref(value);
    if (!text && asc_error(ctx)) {
        return asc_error(ctx);
    }
    if (!text) {
        return asc_fail(ctx, ASC_ERR_MEMORY, "%s: out of memory", path ? path : "JSON");
    }
    size_t n = strlen(text);
    text[n] = '\n'; /* in place of the 0 at its end */
    asc_status status = asc_file_write_atomic(ctx, path, text, n + 1);
    free(text);
    return status;
}
