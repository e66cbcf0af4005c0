/* data/npz_read.c: arrays from NumPy's .npy and .npz, whose members are stored or deflated. Nothing is believed before
 * it is checked. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <ascgrad/npz.h>

#include "data/byte_order.h"
#include "data/file.h"
#include "tensor/ctx.h"
#include "tensor/dtype.h"
#include "tensor/need.h"

enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46, END_BYTES = 22, STORED = 0, DEFLATED = 8, MOST_NAME = 1000 };

typedef struct bytes {
    unsigned char *at;
    size_t n;
} bytes;

/* What is read, for messages: a file, and the array in it, or "". */
typedef struct place {
    asc_ctx *ctx;
    const char *path;
    char name[MOST_NAME + 8];
} place;

static asc_status bad(const place *p, const char *what)
{
    bool named = *p->name;
    return asc_fail(p->ctx, ASC_ERR_FORMAT, "%s:%s%s%s %s", p->path, named ? " '" : "", p->name, named ? "':" : "",
                    what);
}

static asc_status read_file(const place *p, bytes *content)
{
    struct stat s;
    int fd = asc_file_open(p->ctx, p->path, O_RDONLY);
    if (fd < 0) {
        return asc_error(p->ctx);
    }
    asc_status status = ASC_OK;
    if (fstat(fd, &s) != 0) {
        status = asc_fail(p->ctx, ASC_ERR_IO, "%s: %s", p->path, strerror(errno));
    }
    content->n = status ? 0 : (size_t)s.st_size;
    content->at = status ? NULL : asc_alloc(p->ctx, content->n + 1);
    status = status || content->at ? status : ASC_ERR_MEMORY;
    for (size_t done = 0; !status && done < content->n;) {
        ssize_t n = read(fd, content->at + done, content->n - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            status = asc_fail(p->ctx, ASC_ERR_IO, "%s: %s", p->path, n < 0 ? strerror(errno) : "has become shorter");
        }
        done += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return status;
}

/* ---- .npy ---- */

typedef struct header {
    char type; /* 'f', 'i', 'u', 'b'; 'U': text */
    int size;  /* bytes of an element */
    bool fortran;
    asc_array a; /* shape, and the dtype that it becomes */
    size_t begin;
} header;

/* What stands behind 'KEY': in the dictionary, or NULL. */
static const char *value_of(const char *dictionary, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *at = strstr(dictionary, quoted);
    return at ? at + strlen(quoted) + strspn(at + strlen(quoted), " ") : NULL;
}

static asc_status read_shape(const place *p, const char *at, header *h)
{
    int64_t shape[ASC_MAX_DIMS];
    int n = 0;
    for (at = at && *at == '(' ? at + 1 : ""; *at && *at != ')';) {
        char *end;
        errno = 0;
        long long size = strtoll(at, &end, 10);
        if (end == at || errno || size < 0 || n == ASC_MAX_DIMS) {
            return bad(p, "has a shape that is none, or of more than 8 dimensions");
        }
        shape[n++] = size;
        at = end + strspn(end, ", ");
    }
    if (*at != ')' || !asc_array_init(&h->a, h->a.dtype, n, shape)) {
        return bad(p, "has a shape that is none");
    }
    return ASC_OK;
}

static asc_status read_type(const place *p, const char *at, header *h)
{
    char order = 0, what[80];
    h->type = 0;
    if (!at || sscanf(at, "'%c%c%d'", &order, &h->type, &h->size) != 3 || !strchr("<|=", order)) {
        return bad(p, "is of a dtype that is not read, or of big-endian numbers");
    }
    bool whole = (h->type == 'i' || h->type == 'u') && (h->size == 1 || h->size == 2 || h->size == 4);
    if (h->type == 'f' && (h->size == 4 || h->size == 8)) {
        h->a.dtype = h->size == 4 ? ASC_F32 : ASC_F64;
    } else if ((h->type == 'u' || h->type == 'b') && h->size == 1) {
        h->a.dtype = ASC_U8;
    } else if (whole || (h->type == 'i' && h->size == 8)) {
        h->a.dtype = ASC_I64;
    } else if (h->type != 'U') {
        snprintf(what, sizeof what, "is of dtype '%c%d', which is not read", h->type, h->size);
        return bad(p, what);
    }
    return ASC_OK;
}

static asc_status read_header(const place *p, bytes b, header *h)
{
    if (b.n < 12 || memcmp(b.at, "\x93NUMPY", 6) != 0 || b.at[6] < 1 || b.at[6] > 3) {
        return bad(p, "is no .npy array");
    }
    size_t length = (size_t)b.at[8] | (size_t)b.at[9] << 8, from = 10;
    if (b.at[6] > 1) {
        length |= (size_t)b.at[10] << 16 | (size_t)b.at[11] << 24;
        from = 12;
    }
    char text[2048];
    if (length > b.n - from || length >= sizeof text) {
        return bad(p, "has a header that is too long");
    }
    memcpy(text, b.at + from, length);
    text[length] = 0;
    h->begin = from + length;
    const char *fortran = value_of(text, "fortran_order");
    h->fortran = fortran && strncmp(fortran, "True", 4) == 0;
    asc_status status = read_type(p, value_of(text, "descr"), h);
    return status || h->type == 'U' ? status : read_shape(p, value_of(text, "shape"), h);
}

static int64_t whole_at(const unsigned char *at, char type, int size)
{
    uint64_t v = 0;
    for (int i = 0; i < size; i++) {
        v |= (uint64_t)at[i] << 8 * i;
    }
    bool negative = type == 'i' && size < 8 && v >> (8 * size - 1) & 1;
    return (int64_t)(negative ? v | UINT64_MAX << 8 * size : v);
}

/* The elements, as they stand, as `to`'s dtype. */
static void convert(const header *h, const unsigned char *from, void *to)
{
    size_t size = asc_dtype_size(h->a.dtype);
    if ((size_t)h->size == size) {
        memcpy(to, from, (size_t)h->a.numel * size);
        asc_file_order(to, (size_t)h->a.numel, size);
        return;
    }
    for (int64_t i = 0; i < h->a.numel; i++) {
        ((int64_t *)to)[i] = whole_at(from + i * h->size, h->type, h->size);
    }
}

/* Puts elements in Fortran's order into C's. */
static asc_status reorder(asc_ctx *ctx, const header *h, void *values)
{
    size_t n = asc_array_bytes(&h->a);
    asc_array from = h->a;
    int64_t stride = 1;
    for (int d = 0; d < from.ndim; d++) {
        from.stride[d] = stride;
        stride *= from.shape[d];
    }
    from.data = asc_alloc(ctx, n + 1);
    if (!from.data) {
        return ASC_ERR_MEMORY;
    }
    memcpy(from.data, values, n);
    asc_pack(&from, from.dtype, values);
    asc_free(ctx, from.data, n + 1);
    return ASC_OK;
}

/* A new tensor; null without an error for an array of text. */
static asc_tensor read_npy(const place *p, bytes b)
{
    header h = {0};
    if (read_header(p, b, &h) || h.type == 'U') {
        return asc_null();
    }
    if (h.a.numel > 0 && (size_t)h.a.numel > (b.n - h.begin) / (size_t)h.size) {
        bad(p, "is cut short");
        return asc_null();
    }
    asc_tensor t = asc_empty(p->ctx, h.a.dtype, h.a.ndim, h.a.shape);
    void *values = asc_data_mut(t);
    if (values && h.a.numel > 0) {
        convert(&h, b.at + h.begin, values);
        if (h.fortran && reorder(p->ctx, &h, values)) {
            asc_release(t);
            return asc_null();
        }
    }
    return t;
}

asc_tensor asc_npy_read(asc_ctx *ctx, const char *path)
{
    if (ASC_NEED(ctx, "npy_read: path", path) || asc_error(ctx)) {
        return asc_null();
    }
    place p = {ctx, path, ""};
    bytes b = {NULL, 0};
    asc_tensor t = read_file(&p, &b) ? asc_null() : read_npy(&p, b);
    if (asc_is_null(t) && asc_error(ctx) == ASC_OK) {
        bad(&p, "holds text, and no numbers");
    }
    asc_free(ctx, b.at, b.n + 1);
    return t;
}

/* ---- the archive ---- */

typedef struct member {
    int method;
    uint32_t crc;
    size_t packed, whole, local;
} member;

static uint32_t get(const unsigned char *at, int n)
{
    return (uint32_t)whole_at(at, 'u', n);
}

/* The archive's end record, or NULL: the last in the file. */
static const unsigned char *find_end(bytes b)
{
    for (size_t back = END_BYTES; back <= b.n && back <= END_BYTES + 65535; back++) {
        const unsigned char *at = b.at + b.n - back;
        if (memcmp(at, "PK\5\6", 4) == 0) {
            return at;
        }
    }
    return NULL;
}

/* The central header at *at, and *at behind it. */
static asc_status next_member(place *p, bytes b, size_t *at, member *m)
{
    const unsigned char *h = b.at + *at;
    if (*at > b.n || b.n - *at < CENTRAL_BYTES || memcmp(h, "PK\1\2", 4) != 0) {
        return bad(p, "is a damaged archive");
    }
    *m = (member){.method = (int)get(h + 10, 2), .crc = get(h + 16, 4), .packed = get(h + 20, 4),
                  .whole = get(h + 24, 4), .local = get(h + 42, 4)};
    size_t name = get(h + 28, 2), rest = name + get(h + 30, 2) + get(h + 32, 2);
    if (name > MOST_NAME || rest > b.n - *at - CENTRAL_BYTES || m->packed == UINT32_MAX || m->whole == UINT32_MAX) {
        return bad(p, "is a damaged archive, or one of 4 GiB and more");
    }
    memcpy(p->name, h + CENTRAL_BYTES, name);
    p->name[name] = 0;
    *at += CENTRAL_BYTES + rest;
    return m->method == STORED || m->method == DEFLATED ? ASC_OK : bad(p, "is packed in a way that is not read");
}

static asc_status inflate_member(const place *p, const unsigned char *from, const member *m, unsigned char *to)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)from, .avail_in = (uInt)m->packed, .next_out = to,
                  .avail_out = (uInt)m->whole};
    if (inflateInit2(&z, -15) != Z_OK) {
        return asc_fail(p->ctx, ASC_ERR_MEMORY, "%s: out of memory", p->path);
    }
    int end = inflate(&z, Z_FINISH);
    bool good = end == Z_STREAM_END && z.total_out == m->whole;
    inflateEnd(&z);
    return good ? ASC_OK : bad(p, "is damaged");
}

/* The member's bytes, unpacked; new. */
static asc_status unpack(const place *p, bytes b, const member *m, bytes *content)
{
    const unsigned char *h = b.at + m->local;
    if (m->local > b.n || b.n - m->local < LOCAL_BYTES || memcmp(h, "PK\3\4", 4) != 0) {
        return bad(p, "is damaged");
    }
    size_t from = m->local + LOCAL_BYTES + get(h + 26, 2) + get(h + 28, 2);
    if (from > b.n || m->packed > b.n - from || (m->method == STORED && m->packed != m->whole) ||
        m->whole / 1100 > m->packed) { /* more than deflate can do */
        return bad(p, "is damaged");
    }
    *content = (bytes){asc_alloc(p->ctx, m->whole + 1), m->whole};
    if (!content->at) {
        return ASC_ERR_MEMORY;
    }
    asc_status status = ASC_OK;
    if (m->method == STORED) {
        memcpy(content->at, b.at + from, m->whole);
    } else {
        status = inflate_member(p, b.at + from, m, content->at);
    }
    return status || crc32(0, content->at, (uInt)m->whole) == m->crc ? status : bad(p, "is not what its checksum says");
}

static asc_status add_member(place *p, bytes b, const member *m, asc_params *into)
{
    size_t n = strlen(p->name);
    if (n < 4 || strcmp(p->name + n - 4, ".npy") != 0) {
        return ASC_OK; /* not an array */
    }
    p->name[n - 4] = 0;
    bytes content = {NULL, 0};
    asc_status status = unpack(p, b, m, &content);
    asc_tensor t = status ? asc_null() : read_npy(p, content);
    asc_free(p->ctx, content.at, content.n + 1);
    if (!asc_is_null(t) && !asc_is_null(asc_params_find(into, p->name))) {
        bad(p, "is there already, expected distinct names");
        asc_release(t);
        return asc_error(p->ctx);
    }
    if (!asc_is_null(t)) {
        asc_params_add(into, p->name, t, false);
        asc_release(t);
    }
    return asc_error(p->ctx);
}

asc_status asc_npz_read(asc_ctx *ctx, const char *path, asc_params *into)
{
    asc_status status = ASC_NEED(ctx, "npz_read: path into", path, into);
    if (status || (status = asc_error(ctx))) {
        return status;
    }
    place p = {ctx, path, ""};
    bytes b = {NULL, 0};
    status = read_file(&p, &b);
    const unsigned char *end = status ? NULL : find_end(b);
    if (!status && !end) {
        status = bad(&p, "is no .npz archive");
    }
    size_t at = end ? get(end + 16, 4) : 0;
    size_t left = b.n; /* of the file: members that share bytes could unpack to any size */
    uint32_t members = end ? get(end + 10, 2) : 0;
    if (members == UINT16_MAX) {
        status = bad(&p, "has too many arrays, expected fewer than 65535");
    }
    for (; members > 0 && !status; members--) {
        member m = {0};
        p.name[0] = 0;
        status = next_member(&p, b, &at, &m);
        if (!status && m.packed + LOCAL_BYTES > left) {
            status = bad(&p, "shares its bytes with another one");
        }
        left -= status ? 0 : m.packed + LOCAL_BYTES;
        status = status ? status : add_member(&p, b, &m, into);
    }
    asc_free(ctx, b.at, b.n + 1);
    return status;
}
