/* data/safetensors_read.c: opens a safetensors file and checks its header; nothing is believed before it is checked. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file.h"
#include "data/json.h"
#include "data/safetensors.h"
#include "tensor/need.h"

enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100 << 20 }; /* the format's own limit */

#define BAD(file, name, ...) asc_safetensors_fail(file, ASC_ERR_FORMAT, name, __VA_ARGS__)

/* ---- the header's parts ---- */

static asc_status read_shape(const asc_safetensors *file, asc_safetensors_entry *e, const json_t *shape)
{
    if (!json_is_array(shape) || json_array_size(shape) > ASC_MAX_DIMS) {
        return BAD(file, e->name, "its shape is not a list of at most %d sizes", ASC_MAX_DIMS);
    }
    e->ndim = (int)json_array_size(shape);
    e->numel = 1;
    int64_t product = 1; /* a size of 0 counts as 1: it must not hide an overflow of the others */
    for (int d = 0; d < e->ndim; d++) {
        const json_t *size = json_array_get(shape, (size_t)d);
        e->shape[d] = json_is_integer(size) ? (int64_t)json_integer_value(size) : -1;
        if (e->shape[d] < 0) {
            return BAD(file, e->name, "size %d of its shape is not an integer of at least 0", d);
        }
        int64_t n = e->shape[d] > 1 ? e->shape[d] : 1;
        if (n > INT64_MAX / 8 / product) {
            return BAD(file, e->name, "its shape has more elements than any memory");
        }
        product *= n;
        e->numel *= e->shape[d];
    }
    return ASC_OK;
}

static asc_status read_range(const asc_safetensors *file, asc_safetensors_entry *e, const json_t *offsets)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end)) {
        return BAD(file, e->name, "its data_offsets are not two integers");
    }
    int64_t from = json_integer_value(begin), to = json_integer_value(end);
    if (from < 0 || to < from) {
        return BAD(file, e->name, "its data_offsets are [%lld, %lld]", (long long)from, (long long)to);
    }
    e->bytes = to - from;
    if (to > file->file_bytes - file->data_start) {
        return BAD(file, e->name, "%lld bytes at %lld exceed the file's %lld", (long long)e->bytes, (long long)from,
                   (long long)(file->file_bytes - file->data_start));
    }
    e->offset = file->data_start + from;
    return ASC_OK;
}

static asc_status read_entry(const asc_safetensors *file, asc_safetensors_entry *e, const json_t *info)
{
    const char *dtype = json_string_value(json_object_get(info, "dtype"));
    if (!dtype) {
        return BAD(file, e->name, "it has no dtype");
    }
    const asc_stored_dtype *stored = asc_stored_dtype_find(dtype);
    if (!stored) {
        return BAD(file, e->name, "dtype %.20s is not one that can be read", dtype);
    }
    e->stored = stored->name;
    e->dtype = stored->dtype;
    asc_status status = read_shape(file, e, json_object_get(info, "shape"));
    if (!status) {
        status = read_range(file, e, json_object_get(info, "data_offsets"));
    }
    if (!status && e->numel * stored->size != e->bytes) {
        status = BAD(file, e->name, "%lld elements of %s are %lld bytes, the file has %lld for it", (long long)e->numel,
                     stored->name, (long long)(e->numel * stored->size), (long long)e->bytes);
    }
    return status;
}

static asc_status read_metadata(asc_safetensors *file, json_t *pairs)
{
    if (!json_is_object(pairs)) {
        return BAD(file, NULL, "__metadata__ is not an object");
    }
    file->n_metadata = (int64_t)json_object_size(pairs);
    file->metadata = asc_alloc(file->ctx, (size_t)file->n_metadata * sizeof *file->metadata);
    if (!file->metadata) {
        return ASC_ERR_MEMORY;
    }
    const char *key;
    json_t *value;
    int64_t i = 0;
    json_object_foreach(pairs, key, value) {
        if (!json_is_string(value)) {
            return BAD(file, NULL, "__metadata__ '%.40s' is not a string", key);
        }
        file->metadata[i++] = (asc_safetensors_pair){key, json_string_value(value)};
    }
    return ASC_OK;
}

static asc_status read_entries(asc_safetensors *file)
{
    json_t *metadata = json_object_get(file->header, "__metadata__");
    asc_status status = metadata ? read_metadata(file, metadata) : ASC_OK;
    if (status) {
        return status;
    }
    file->count = (int64_t)json_object_size(file->header) - (metadata ? 1 : 0);
    file->entries = asc_alloc(file->ctx, (size_t)file->count * sizeof *file->entries);
    file->by_name = asc_alloc(file->ctx, (size_t)file->count * sizeof *file->by_name);
    if (!file->entries || !file->by_name) {
        return ASC_ERR_MEMORY;
    }
    const char *name;
    json_t *info;
    int64_t i = 0;
    json_object_foreach(file->header, name, info) {
        if (info != metadata) {
            file->entries[i] = (asc_safetensors_entry){.name = name};
            status = read_entry(file, &file->entries[i++], info);
            if (status) {
                return status;
            }
        }
    }
    return ASC_OK;
}

/* ---- the header as a whole ---- */

static int by_position(const void *a, const void *b)
{
    const asc_safetensors_entry *x = a, *y = b;
    if (x->offset != y->offset) {
        return x->offset < y->offset ? -1 : 1;
    }
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    const asc_safetensors_entry *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* The format wants the data covered by the tensors, each byte once. */
static asc_status check_layout(asc_safetensors *file)
{
    qsort(file->entries, (size_t)file->count, sizeof *file->entries, by_position);
    int64_t expected = file->data_start;
    for (int64_t i = 0; i < file->count; i++) {
        const asc_safetensors_entry *e = &file->entries[i];
        if (e->offset != expected) {
            return BAD(file, e->name, "it begins at %lld, %s %lld", (long long)(e->offset - file->data_start),
                       e->offset < expected ? "but another one ends at" : "after a hole from",
                       (long long)(expected - file->data_start));
        }
        expected += e->bytes;
        file->by_name[i] = e;
    }
    if (expected != file->file_bytes) {
        return BAD(file, NULL, "its tensors end at %lld, the file at %lld", (long long)expected,
                   (long long)file->file_bytes);
    }
    qsort(file->by_name, (size_t)file->count, sizeof *file->by_name, by_name);
    return ASC_OK;
}

static asc_status parse(asc_safetensors *file, const char *text, size_t n)
{
    if (text[0] != '{') {
        return BAD(file, NULL, "is not a safetensors file: its header is not a JSON object");
    }
    json_error_t error;
    file->header = asc_json_parse(text, n, ASC_JSON_TENSORS, JSON_REJECT_DUPLICATES, &error);
    if (!file->header && json_error_code(&error) == json_error_out_of_memory) {
        return asc_fail(file->ctx, ASC_ERR_MEMORY, "%s: out of memory for its header", file->path);
    }
    if (!file->header) {
        return BAD(file, NULL, "its header is not valid JSON: byte %d: %s", error.position, error.text);
    }
    asc_status status = read_entries(file);
    if (!status) {
        status = check_layout(file);
    }
    return status ? status : asc_safetensors_check_header(file);
}

static asc_status read_header(asc_safetensors *file)
{
    unsigned char length[LENGTH_BYTES] = {0};
    if (file->file_bytes < LENGTH_BYTES) {
        return BAD(file, NULL, "is not a safetensors file: %lld bytes are too few", (long long)file->file_bytes);
    }
    asc_status status = asc_safetensors_fetch(file, length, LENGTH_BYTES, 0);
    if (status) {
        return status;
    }
    uint64_t n = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) {
        n = n << 8 | length[i];
    }
    if (n < 2 || n > MAX_HEADER_BYTES || n > (uint64_t)(file->file_bytes - LENGTH_BYTES)) {
        return BAD(file, NULL, "is not a safetensors file, or is cut short: its first 8 bytes ask for a header of %llu "
                   "bytes, expected 2 to %d, within the file's %lld",
                   (unsigned long long)n, (int)MAX_HEADER_BYTES, (long long)file->file_bytes);
    }
    file->data_start = LENGTH_BYTES + (int64_t)n;
    char *text = asc_alloc(file->ctx, n);
    if (!text) {
        return ASC_ERR_MEMORY;
    }
    status = asc_safetensors_fetch(file, text, (int64_t)n, LENGTH_BYTES);
    if (!status) {
        status = parse(file, text, n);
    }
    asc_free(file->ctx, text, n);
    return status;
}

static asc_status open_file(asc_safetensors *file, int flags)
{
    file->fd = asc_file_open(file->ctx, file->path, O_RDONLY | flags);
    struct stat info;
    if (file->fd < 0) {
        return asc_error(file->ctx);
    }
    if (fstat(file->fd, &info)) {
        return asc_safetensors_fail(file, ASC_ERR_IO, NULL, "can't read: %s", strerror(errno));
    }
    file->file_bytes = (int64_t)info.st_size;
    return read_header(file);
}

/* ---- public ---- */

asc_safetensors *asc_safetensors_open_with(asc_ctx *ctx, const char *path, int flags)
{
    if (ASC_NEED(ctx, "safetensors_open: path", path)) {
        return NULL;
    }
    asc_safetensors *file = asc_alloc(ctx, sizeof *file);
    if (!file) {
        return NULL;
    }
    *file = (asc_safetensors){.ctx = ctx, .fd = -1, .path_bytes = strlen(path) + 1};
    file->path = asc_alloc(ctx, file->path_bytes);
    if (file->path) {
        memcpy(file->path, path, file->path_bytes);
    }
    if (!file->path || open_file(file, flags)) {
        asc_safetensors_close(file);
        return NULL;
    }
    return file;
}

asc_safetensors *asc_safetensors_open(asc_ctx *ctx, const char *path)
{
    return asc_safetensors_open_with(ctx, path, 0);
}

void asc_safetensors_close(asc_safetensors *file)
{
    if (!file) {
        return;
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    json_decref(file->header);
    asc_free(file->ctx, file->entries, (size_t)file->count * sizeof *file->entries);
    asc_free(file->ctx, file->crc, (size_t)file->count * sizeof *file->crc);
    asc_free(file->ctx, file->by_name, (size_t)file->count * sizeof *file->by_name);
    asc_free(file->ctx, file->metadata, (size_t)file->n_metadata * sizeof *file->metadata);
    asc_free(file->ctx, file->path, file->path_bytes);
    asc_free(file->ctx, file, sizeof *file);
}

int64_t asc_safetensors_count(const asc_safetensors *file)
{
    return file ? file->count : 0;
}

const asc_safetensors_entry *asc_safetensors_at(const asc_safetensors *file, int64_t i)
{
    return file && i >= 0 && i < file->count ? &file->entries[i] : NULL;
}

const asc_safetensors_entry *asc_safetensors_find(const asc_safetensors *file, const char *name)
{
    if (!file || !name) {
        return NULL;
    }
    const asc_safetensors_entry key = {.name = name}, *wanted = &key;
    const asc_safetensors_entry **found =
        bsearch(&wanted, file->by_name, (size_t)file->count, sizeof *file->by_name, by_name);
    return found ? *found : NULL;
}
