/* data/text.c: lines of text from plain and gzip files. */
#include <ascgrad/data.h>

#include <fcntl.h>
#include <string.h>

#include <program/file.h>

#include "data/file.h"
#include "data/gunzip.h"
#include "data/utf8.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

/* A line may be a whole corpus, as text8; a file that unpacks to one without end is none. */
enum { READ_BYTES = 1 << 18, LONGEST_LINE = 1 << 27 };

struct asc_text {
    asc_ctx *ctx;
    asc_gunzip *file; /* NULL: the text is in memory, all of it in `data` */
    char *buffer; /* of the file's text: data */
    size_t capacity;
    const char *data;
    size_t begin, end; /* data[begin … end-1] is still to be returned */
    bool at_end;       /* nothing follows data[end-1] */
    unsigned flags;
    asc_status status; /* of the first failure */
    int64_t lines, bytes, skipped; /* skipped: of a byte order mark */
    size_t name_bytes;
    char name[]; /* for messages */
};

static asc_text *text_new(asc_ctx *ctx, const char *name, unsigned flags)
{
    if (flags & ~(unsigned)(ASC_TEXT_NUL | ASC_TEXT_OWN)) {
        asc_fail(ctx, ASC_ERR_ARG, "text: unknown flags");
        return NULL;
    }
    size_t name_bytes = strlen(name) + 1;
    asc_text *text = asc_alloc(ctx, sizeof *text + name_bytes);
    if (text) {
        *text = (asc_text){.ctx = ctx, .flags = flags, .name_bytes = name_bytes};
        memcpy(text->name, name, name_bytes);
    }
    return text;
}

static bool is_standard_input(const char *path)
{
    return !strcmp(path, "-");
}

static asc_status open_file(asc_text *text, const char *path)
{
    bool own = text->flags & ASC_TEXT_OWN;
    int fd = own ? asc_file_open(text->ctx, path, O_RDONLY | O_NOFOLLOW) : asc_input_open(text->ctx, path);
    if (fd < 0) {
        return asc_error(text->ctx);
    }
    text->file = asc_gunzip_new(text->ctx, fd, text->name, &text->lines);
    return text->file ? ASC_OK : ASC_ERR_MEMORY;
}

asc_text *asc_text_open(asc_ctx *ctx, const char *path, unsigned flags)
{
    if (ASC_NEED(ctx, "text_open: path", path)) {
        return NULL;
    }
    asc_text *text = text_new(ctx, is_standard_input(path) ? "standard input" : path, flags);
    if (text && open_file(text, path)) {
        asc_text_close(text);
        return NULL;
    }
    return text;
}

asc_text *asc_text_open_memory(asc_ctx *ctx, const char *name, const char *data, size_t bytes, unsigned flags)
{
    if (ASC_NEED(ctx, "text_open_memory: name data", name, asc_unless_empty(data, bytes > 0))) {
        return NULL;
    }
    asc_text *text = text_new(ctx, name, flags);
    if (text) {
        text->data = data;
        text->end = bytes;
        text->at_end = true;
    }
    return text;
}

void asc_text_close(asc_text *text)
{
    if (text) {
        asc_gunzip_free(text->file);
        asc_free(text->ctx, text->buffer, text->capacity);
        asc_free(text->ctx, text, sizeof *text + text->name_bytes);
    }
}

/* Moves what is left to the start of the buffer and reads more behind it. */
static asc_status fill(asc_text *text)
{
    size_t left = text->end - text->begin;
    if (text->begin > 0 && left > 0) {
        memmove(text->buffer, text->buffer + text->begin, left);
    }
    text->begin = 0;
    text->end = left;
    void *buffer = text->buffer;
    if (!asc_grow(text->ctx, &buffer, &text->capacity, left + READ_BYTES, 1)) {
        return ASC_ERR_MEMORY;
    }
    text->data = text->buffer = buffer;
    size_t got;
    if (asc_gunzip_read(text->file, text->buffer + left, READ_BYTES, &got)) {
        return asc_error(text->ctx);
    }
    text->at_end = got == 0;
    text->end += got;
    return ASC_OK;
}

/* Finds the end of the line at data[begin]; a line that is longer than the buffer is searched once only. */
static asc_status find_line(asc_text *text, size_t *bytes)
{
    size_t searched = 0;
    for (;;) {
        size_t left = text->end - text->begin;
        const char *newline = NULL;
        if (left > searched) {
            newline = memchr(text->data + text->begin + searched, '\n', left - searched);
        }
        if (newline || text->at_end) {
            *bytes = newline ? (size_t)(newline - text->data) + 1 - text->begin : left;
            return ASC_OK;
        }
        if (left > LONGEST_LINE) {
            return asc_fail(text->ctx, ASC_ERR_FORMAT, "%s: line %lld: has more than %d MiB, expected shorter lines",
                            text->name, (long long)text->lines + 1, LONGEST_LINE >> 20);
        }
        searched = left;
        asc_status status = fill(text);
        if (status) {
            return status;
        }
    }
}

static asc_status check_line(asc_text *text, const char *line, size_t bytes)
{
    const char *nul = text->flags & ASC_TEXT_NUL ? NULL : memchr(line, 0, bytes);
    size_t good = asc_utf8_check(line, nul ? (size_t)(nul - line) : bytes);
    if (good == bytes) {
        return ASC_OK;
    }
    return asc_fail(text->ctx, ASC_ERR_FORMAT, "%s: line %lld: byte 0x%02x at offset %lld is %s", text->name,
                    (long long)text->lines + 1, (unsigned char)line[good],
                    (long long)(text->bytes + text->skipped) + (long long)good,
                    line[good] ? "not UTF-8 text" : "a zero, which no text has");
}

/* Passes over the byte order mark that some programs begin a file with, in the first line. */
static void skip_mark(asc_text *text, size_t *bytes)
{
    bool may = text->file && !text->flags && text->lines == 0;
    if (may && *bytes >= 3 && memcmp(text->data + text->begin, "\xef\xbb\xbf", 3) == 0) {
        text->begin += 3;
        text->skipped = 3;
        *bytes -= 3;
    }
}

asc_status asc_text_next(asc_text *text, const char **line, size_t *bytes)
{
    if (line) {
        *line = NULL;
    }
    if (bytes) {
        *bytes = 0;
    }
    asc_status status = ASC_NEED(text ? text->ctx : NULL, "text_next: line bytes", line, bytes);
    if (status || text->status) {
        return status ? status : text->status;
    }
    size_t n = 0;
    text->status = find_line(text, &n);
    if (!text->status) {
        skip_mark(text, &n);
    }
    if (text->status || n == 0) {
        return text->status;
    }
    text->status = check_line(text, text->data + text->begin, n);
    if (text->status) {
        return text->status;
    }
    *line = text->data + text->begin;
    *bytes = n;
    text->begin += n;
    text->lines++;
    text->bytes += (int64_t)n;
    return ASC_OK;
}

bool asc_text_waits(const asc_text *text)
{
    bool read = text && text->lines > 0; /* before that there are no bytes to look at */
    return read && text->file && !text->at_end &&
           !memchr(text->data + text->begin, '\n', text->end - text->begin) && asc_gunzip_waits(text->file);
}

int64_t asc_text_bytes(const asc_text *text)
{
    return text ? text->bytes : 0;
}

int64_t asc_text_lines(const asc_text *text)
{
    return text ? text->lines : 0;
}
