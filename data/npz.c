/* data/npz.c: arrays to NumPy's .npz: a ZIP archive whose members are stored as they are, each one a .npy file.
 *
 *   member:  local header, name, .npy          .npy:  "\x93NUMPY" 1 0, length, a Python dictionary, the elements
 *   end:     a central header and name for each member, the end record */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include <ascgrad/npz.h>

#include "data/byte_order.h"
#include "data/file.h"
#include "data/utf8.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    NAME_MAX_BYTES = 1000,
    MEMBERS_MAX = 65535,
    NPY_ALIGNMENT = 64,
    NPY_PREAMBLE = 10, /* magic, version, length of the dictionary */
    NPY_MAX_BYTES = 512,
};
static const uint64_t zip_max_bytes = UINT32_MAX; /* what 32-bit ZIP can say */

static const char *const descriptions[] = {[ASC_F32] = "<f4", [ASC_F64] = "<f8", [ASC_I64] = "<i8", [ASC_U8] = "|u1"};

/* A member: what its headers say, and where its elements are. */
typedef struct npz_member {
    const char *name;
    char npy[NPY_MAX_BYTES]; /* the .npy's own header */
    size_t npy_bytes;
    const void *values;
    void *packed; /* the same, where they had to be copied; or NULL */
    size_t value_bytes;
    uint32_t crc;
    uint64_t offset; /* of the local header in the archive */
} npz_member;

typedef struct npz_writer {
    asc_ctx *ctx;
    const char *path;
    npz_member *members;
    int64_t n;
} npz_writer;

/* ---- .npy ---- */

static void make_npy(npz_member *m, const char *description, int ndim, const int64_t *shape)
{
    char *text = m->npy + NPY_PREAMBLE;
    int n = sprintf(text, "{'descr': '%s', 'fortran_order': False, 'shape': (", description);
    for (int d = 0; d < ndim; d++) {
        n += sprintf(text + n, ndim == 1 ? "%lld," : d ? ", %lld" : "%lld", (long long)shape[d]);
    }
    n += sprintf(text + n, "), }");
    size_t total = (NPY_PREAMBLE + (size_t)n + NPY_ALIGNMENT) / NPY_ALIGNMENT * NPY_ALIGNMENT;
    size_t dictionary = total - NPY_PREAMBLE;
    memset(text + n, ' ', dictionary - (size_t)n);
    text[dictionary - 1] = '\n';
    memcpy(m->npy, "\x93NUMPY\1\0", 8);
    m->npy[8] = (char)(dictionary & 255);
    m->npy[9] = (char)(dictionary >> 8);
    m->npy_bytes = total;
}

static asc_status too_large(const npz_writer *w)
{
    return asc_fail(w->ctx, ASC_ERR_ARG, "%s: its arrays have 4 GiB or more, which a ZIP archive of 32 bits can't hold",
                    w->path);
}

static asc_status take_tensor(npz_writer *w, npz_member *m, asc_tensor t)
{
    if (!asc_is_valid(t)) {
        return asc_fail(w->ctx, ASC_ERR_ARG, "%s: the tensor of '%s' is gone", w->path, m->name);
    }
    size_t width = asc_dtype_size(asc_dtype_of(t));
    m->value_bytes = (size_t)asc_numel(t) * width;
    if (m->value_bytes > zip_max_bytes) {
        return too_large(w); /* before its values are gathered */
    }
    m->values = asc_data(t);
    make_npy(m, descriptions[asc_dtype_of(t)], asc_ndim(t), asc_shape(t));
    if (!asc_is_contiguous(t) || asc_turned_in_files(width)) {
        m->values = m->packed = asc_alloc(w->ctx, m->value_bytes);
        if (!m->packed) {
            return ASC_ERR_MEMORY;
        }
        asc_pack(&asc_node_of(t)->array, asc_dtype_of(t), m->packed);
        asc_file_order(m->packed, (size_t)asc_numel(t), width);
    }
    return ASC_OK;
}

/* The number of characters of each text, at most; -1 with the error set. */
static int64_t longest_text(npz_writer *w, const asc_npz_array *a)
{
    int64_t longest = 1; /* NumPy has no strings of width 0 */
    for (int64_t i = 0; i < a->n_texts; i++) {
        size_t bytes = a->texts[i] ? strlen(a->texts[i]) : 0;
        if (!a->texts[i] || asc_utf8_check(a->texts[i], bytes) != bytes) {
            asc_fail(w->ctx, ASC_ERR_ARG, "%s: text %lld of '%s' is %s", w->path, (long long)i, a->name,
                     a->texts[i] ? "not UTF-8" : "NULL");
            return -1;
        }
        int64_t characters = 0;
        for (size_t at = 0; at < bytes; at++) {
            characters += (a->texts[i][at] & 0xc0) != 0x80;
        }
        longest = characters > longest ? characters : longest;
    }
    return longest;
}

/* NumPy's strings: UTF-32, each one filled up with 0 to the same width. */
static asc_status take_texts(npz_writer *w, npz_member *m, const asc_npz_array *a)
{
    int64_t width = longest_text(w, a);
    if (width < 0) {
        return asc_error(w->ctx);
    }
    if (width > 0 && a->n_texts > (int64_t)(zip_max_bytes / sizeof(int32_t)) / width) {
        return too_large(w);
    }
    m->value_bytes = (size_t)(a->n_texts * width) * sizeof(int32_t);
    int32_t *codes = asc_alloc(w->ctx, m->value_bytes);
    if (!codes) {
        return ASC_ERR_MEMORY;
    }
    m->values = m->packed = codes;
    memset(codes, 0, m->value_bytes);
    for (int64_t i = 0; i < a->n_texts; i++) {
        const char *at = a->texts[i];
        for (int32_t *code = codes + i * width; *at; code++) {
            at += asc_utf8_next(at, strlen(at), code);
        }
    }
    asc_file_order(codes, (size_t)(a->n_texts * width), sizeof *codes);
    char description[32];
    snprintf(description, sizeof description, "<U%lld", (long long)width);
    make_npy(m, description, 1, &a->n_texts);
    return ASC_OK;
}

/* ---- ZIP: numbers are little-endian ---- */

static unsigned char *put16(unsigned char *at, uint32_t value)
{
    *at++ = (unsigned char)value;
    *at++ = (unsigned char)(value >> 8);
    return at;
}

static unsigned char *put32(unsigned char *at, uint32_t value)
{
    return put16(put16(at, value & 0xffff), value >> 16);
}

static uint32_t checksum(uint32_t crc, const unsigned char *bytes, size_t n)
{
    while (n > 0) {
        uInt piece = n > 1 << 30 ? 1 << 30 : (uInt)n;
        crc = (uint32_t)crc32(crc, bytes, piece);
        bytes += piece;
        n -= piece;
    }
    return crc;
}

static size_t name_bytes(const npz_member *m)
{
    return strlen(m->name) + sizeof ".npy" - 1;
}

static uint64_t content_bytes(const npz_member *m)
{
    return (uint64_t)m->npy_bytes + m->value_bytes;
}

/* The part that a local and a central header have in common: version 2.0, UTF-8 names, stored, the first of January
 * 1980 (ZIP's oldest date: the file must not depend on the clock). */
static unsigned char *put_common(unsigned char *at, const npz_member *m)
{
    static const unsigned char start[] = {20, 0, 0, 8, 0, 0, 0, 0, 33, 0};
    memcpy(at, start, sizeof start);
    at = put32(at + sizeof start, m->crc);
    at = put32(at, (uint32_t)content_bytes(m));
    at = put32(at, (uint32_t)content_bytes(m));
    return put16(put16(at, (uint32_t)name_bytes(m)), 0);
}

static void write_name(asc_file *file, const npz_member *m)
{
    asc_file_write(file, m->name, strlen(m->name));
    asc_file_write(file, ".npy", 4);
}

static void write_member(asc_file *file, const npz_member *m)
{
    unsigned char header[LOCAL_BYTES];
    put_common(put32(header, 0x04034b50), m);
    asc_file_write(file, header, sizeof header);
    write_name(file, m);
    asc_file_write(file, m->npy, m->npy_bytes);
    asc_file_write(file, m->values, m->value_bytes);
}

static void write_central(asc_file *file, const npz_member *m)
{
    unsigned char header[CENTRAL_BYTES] = {0};
    unsigned char *at = put_common(put16(put32(header, 0x02014b50), 20), m);
    put32(at + 10, (uint32_t)m->offset); /* no comment, disk 0, no attributes */
    asc_file_write(file, header, sizeof header);
    write_name(file, m);
}

static asc_status write_archive(const npz_writer *w, uint64_t directory, uint64_t directory_bytes)
{
    asc_file file;
    asc_file_begin(&file, w->ctx, w->path);
    for (int64_t i = 0; i < w->n; i++) {
        write_member(&file, &w->members[i]);
    }
    for (int64_t i = 0; i < w->n; i++) {
        write_central(&file, &w->members[i]);
    }
    unsigned char end[END_BYTES] = {0};
    unsigned char *at = put32(put32(end, 0x06054b50), 0);
    at = put16(put16(at, (uint32_t)w->n), (uint32_t)w->n);
    put32(put32(at, (uint32_t)directory_bytes), (uint32_t)directory);
    asc_file_write(&file, end, sizeof end);
    return asc_file_commit(&file);
}

/* ---- the whole ---- */

static asc_status check_name(const npz_writer *w, const asc_npz_array *arrays, int64_t i)
{
    const char *name = arrays[i].name;
    size_t n = name ? strlen(name) : 0;
    if (n == 0 || n > NAME_MAX_BYTES || asc_utf8_check(name, n) != n) {
        return asc_fail(w->ctx, ASC_ERR_ARG, "%s: the name of array %lld is %s, expected 1 … %d bytes of UTF-8",
                        w->path, (long long)i, name ? n ? "too long or not UTF-8" : "empty" : "NULL", NAME_MAX_BYTES);
    }
    for (int64_t j = 0; j < i; j++) {
        if (strcmp(arrays[j].name, name) == 0) {
            return asc_fail(w->ctx, ASC_ERR_ARG, "%s: '%s' is given twice", w->path, name);
        }
    }
    return ASC_OK;
}

static asc_status take(npz_writer *w, const asc_npz_array *arrays, int64_t i)
{
    npz_member *m = &w->members[i];
    const asc_npz_array *a = &arrays[i];
    *m = (npz_member){.name = a->name};
    if (check_name(w, arrays, i)) {
        return asc_error(w->ctx);
    }
    if (asc_is_null(a->tensor) && (!a->texts || a->n_texts < 0)) {
        return asc_fail(w->ctx, ASC_ERR_ARG, "%s: '%s' has neither a tensor nor texts", w->path, a->name);
    }
    asc_status status = asc_is_null(a->tensor) ? take_texts(w, m, a) : take_tensor(w, m, a->tensor);
    if (!status) {
        m->crc = checksum(checksum(0, (const unsigned char *)m->npy, m->npy_bytes), m->values, m->value_bytes);
    }
    return status;
}

static asc_status write_all(npz_writer *w, const asc_npz_array *arrays)
{
    uint64_t offset = 0, directory_bytes = 0;
    for (int64_t i = 0; i < w->n; i++) {
        npz_member *m = &w->members[i];
        if (take(w, arrays, i)) {
            return asc_error(w->ctx);
        }
        m->offset = offset;
        offset += LOCAL_BYTES + name_bytes(m) + content_bytes(m);
        directory_bytes += CENTRAL_BYTES + name_bytes(m);
        if (offset + directory_bytes > zip_max_bytes) {
            return too_large(w);
        }
    }
    return write_archive(w, offset, directory_bytes);
}

asc_status asc_npz_write(asc_ctx *ctx, const char *path, const asc_npz_array *arrays, int64_t n)
{
    asc_status status = ASC_NEED(ctx, "npz_write: path arrays", path, asc_unless_empty(arrays, n));
    if (status) {
        return status;
    }
    if (n < 0 || n > MEMBERS_MAX) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: got %lld arrays, expected 0 … %d", path, (long long)n, MEMBERS_MAX);
    }
    size_t bytes = (size_t)n * sizeof(npz_member);
    npz_writer w = {.ctx = ctx, .path = path, .members = asc_alloc(ctx, bytes), .n = n};
    if (!w.members) {
        return ASC_ERR_MEMORY;
    }
    memset(w.members, 0, bytes);
    status = write_all(&w, arrays);
    for (int64_t i = 0; i < n; i++) {
        asc_free(ctx, w.members[i].packed, w.members[i].value_bytes);
    }
    asc_free(ctx, w.members, bytes);
    return status;
}

asc_status asc_npy_write(asc_ctx *ctx, const char *path, asc_tensor tensor)
{
    asc_status status = ASC_NEED(ctx, "npy_write: path", path);
    if (status || (status = asc_need_tensor(ctx, tensor, "npy_write", "tensor"))) {
        return status;
    }
    npz_writer w = {.ctx = ctx, .path = path};
    npz_member m = {.name = path};
    asc_file file;
    status = take_tensor(&w, &m, tensor);
    if (!status && !(status = asc_file_begin(&file, ctx, path))) {
        asc_file_write(&file, m.npy, m.npy_bytes);
        asc_file_write(&file, m.values, m.value_bytes);
        status = asc_file_commit(&file);
    }
    asc_free(ctx, m.packed, m.value_bytes);
    return status;
}
