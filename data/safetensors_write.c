/* data/safetensors_write.c: tensors and metadata to a safetensors file. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "data/byte_order.h"
#include "data/file.h"
#include "data/safetensors.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

enum { LENGTH_BYTES = 8, ALIGNMENT = 8 };

static const char *const stored_names[] = {[ASC_F32] = "F32", [ASC_F64] = "F64", [ASC_I64] = "I64", [ASC_U8] = "U8"};

/* What is being written. */
typedef struct safetensors_writer {
    asc_ctx *ctx;
    const char *path;
    const asc_named_tensor *tensors;
    const asc_values_loader *loader;
    const asc_named_tensor **sorted; /* the tensors, in the order of the data */
    int64_t n;
    const asc_safetensors_pair *metadata;
    int64_t n_metadata;
    bool checked; /* checksums are asked for */
    json_t *header;
    char *text; /* the header as it stands in the file: its length, the JSON, spaces */
    size_t text_bytes;
} safetensors_writer;

static size_t bytes_of(asc_tensor t)
{
    return (size_t)asc_numel(t) * asc_dtype_size(asc_dtype_of(t));
}

/* The widest first, so that each tensor starts at a multiple of its elements' size. */
static int by_width_and_name(const void *a, const void *b)
{
    const asc_named_tensor *const *x = a, *const *y = b;
    size_t wx = asc_dtype_size(asc_dtype_of((*x)->tensor)), wy = asc_dtype_size(asc_dtype_of((*y)->tensor));
    return wx != wy ? (wx > wy ? -1 : 1) : strcmp((*x)->name, (*y)->name);
}

static asc_status sort_tensors(safetensors_writer *w)
{
    w->sorted = asc_alloc(w->ctx, (size_t)w->n * sizeof *w->sorted);
    if (!w->sorted) {
        return ASC_ERR_MEMORY;
    }
    for (int64_t i = 0; i < w->n; i++) {
        const char *name = w->tensors[i].name;
        if (!name || strcmp(name, "__metadata__") == 0) {
            return asc_fail(w->ctx, ASC_ERR_ARG, "%s: tensor %lld of %lld is called %s", w->path, (long long)i,
                            (long long)w->n, name ? name : "NULL");
        }
        if (!asc_is_valid(w->tensors[i].tensor)) {
            return asc_fail(w->ctx, ASC_ERR_ARG, "%s: tensor '%s' is null or gone", w->path, name);
        }
        w->sorted[i] = &w->tensors[i];
    }
    qsort(w->sorted, (size_t)w->n, sizeof *w->sorted, by_width_and_name);
    return ASC_OK;
}

/* Takes `value`. JSON objects refuse what is not UTF-8, and would let a second entry of a name replace the first. */
static asc_status add(safetensors_writer *w, json_t *object, const char *key, json_t *value)
{
    if (json_object_get(object, key)) {
        json_decref(value);
        return asc_fail(w->ctx, ASC_ERR_ARG, "%s: '%s' is given twice", w->path, key);
    }
    if (json_object_set_new(object, key, value)) {
        return asc_fail(w->ctx, ASC_ERR_ARG, "%s: '%s' or what it stands for is not UTF-8", w->path, key);
    }
    return ASC_OK;
}

static bool is_checksum(const char *key)
{
    return key && (strcmp(key, ASC_SAFETENSORS_CRC) == 0 || strcmp(key, ASC_SAFETENSORS_CRC_TENSORS) == 0);
}

/* All but the checksums, which sum up the rest. */
static asc_status add_metadata(safetensors_writer *w)
{
    json_t *object = w->n_metadata > 0 ? json_object() : NULL;
    asc_status status = object ? add(w, w->header, "__metadata__", object) : ASC_OK;
    for (int64_t i = 0; i < w->n_metadata && !status; i++) {
        const char *key = w->metadata[i].key, *value = w->metadata[i].value;
        if (is_checksum(key)) {
            w->checked = true;
        } else if (!key || !value) {
            status = asc_fail(w->ctx, ASC_ERR_ARG, "%s: a key or value of the metadata is NULL", w->path);
        } else {
            status = add(w, object, key, json_string(value));
        }
    }
    return status;
}

static asc_status add_tensors(safetensors_writer *w)
{
    asc_status status = ASC_OK;
    json_int_t begin = 0;
    for (int64_t i = 0; i < w->n && !status; i++) {
        asc_tensor t = w->sorted[i]->tensor;
        json_int_t end = begin + (json_int_t)bytes_of(t);
        json_t *shape = json_array();
        for (int d = 0; d < asc_ndim(t); d++) {
            json_array_append_new(shape, json_integer(asc_size(t, d)));
        }
        status = add(w, w->header, w->sorted[i]->name,
                     json_pack("{s:s, s:o, s:[I, I]}", "dtype", stored_names[asc_dtype_of(t)], "shape", shape,
                               "data_offsets", begin, end));
        begin = end;
    }
    return status;
}

/* ---- checksums ---- */

/* The values side by side, as the file holds them: the tensor's own, or a copy in *packed of bytes_of(t), to be freed.
 * ASC_ERR_MEMORY. */
static asc_status pack(asc_ctx *ctx, asc_tensor t, const void **values, void **packed)
{
    *packed = NULL;
    *values = asc_data(t);
    size_t width = asc_dtype_size(asc_dtype_of(t));
    if (!asc_is_contiguous(t) || asc_turned_in_files(width)) {
        *values = *packed = asc_alloc(ctx, bytes_of(t));
        if (!*packed) {
            return ASC_ERR_MEMORY;
        }
        asc_pack(&asc_node_of(t)->array, asc_dtype_of(t), *packed);
        asc_file_order(*packed, (size_t)asc_numel(t), width);
    }
    return ASC_OK;
}

static asc_status load(const safetensors_writer *w, const asc_named_tensor *t)
{
    return w->loader ? w->loader->load(w->loader->user, t - w->tensors) : ASC_OK;
}

static asc_status sum_values(const safetensors_writer *w, const asc_named_tensor *named, uint32_t *crc)
{
    const void *values;
    void *packed = NULL;
    asc_tensor t = named->tensor;
    asc_status status = load(w, named);
    status = status ? status : pack(w->ctx, t, &values, &packed);
    *crc = status ? 0 : (uint32_t)crc32_z(crc32_z(0, NULL, 0), values, bytes_of(t));
    asc_free(w->ctx, packed, bytes_of(t));
    return status;
}

/* What is summed up: tensors as a reader would find them, and all pairs of the metadata. */
typedef struct summands {
    asc_safetensors_entry *entries; /* as `sorted` of the writer */
    const asc_safetensors_entry **by_name;
    asc_safetensors_pair *pairs;
    char *text; /* the checksums of the tensors */
} summands;

enum { CHECKSUM_TEXT = 9 }; /* eight digits and a space, or the end */

static int by_name(const void *a, const void *b)
{
    const asc_safetensors_entry *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static asc_status sum_tensors(const safetensors_writer *w, summands *s)
{
    for (int64_t i = 0; i < w->n; i++) {
        asc_tensor t = w->sorted[i]->tensor;
        asc_safetensors_entry *e = &s->entries[i];
        *e = (asc_safetensors_entry){.name = w->sorted[i]->name, .stored = stored_names[asc_dtype_of(t)],
                                     .ndim = asc_ndim(t)};
        memcpy(e->shape, asc_shape(t), (size_t)e->ndim * sizeof *e->shape);
        s->by_name[i] = e;
    }
    qsort(s->by_name, (size_t)w->n, sizeof *s->by_name, by_name);
    s->text[0] = '\0';
    for (int64_t i = 0; i < w->n; i++) {
        uint32_t crc;
        asc_status status = sum_values(w, w->sorted[s->by_name[i] - s->entries], &crc);
        if (status) {
            return status;
        }
        snprintf(s->text + i * CHECKSUM_TEXT, CHECKSUM_TEXT + 1, "%08" PRIx32 "%s", crc, i + 1 < w->n ? " " : "");
    }
    return ASC_OK;
}

/* Sums up, and adds the two checksums to the metadata. */
static asc_status sum_all(safetensors_writer *w, summands *s)
{
    asc_status status = sum_tensors(w, s);
    if (status) {
        return status;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < w->n_metadata; i++) {
        if (!is_checksum(w->metadata[i].key)) {
            s->pairs[n++] = w->metadata[i];
        }
    }
    s->pairs[n++] = (asc_safetensors_pair){ASC_SAFETENSORS_CRC_TENSORS, s->text};
    uint32_t crc;
    char text[CHECKSUM_TEXT];
    if (asc_safetensors_sum(w->ctx, s->pairs, n, s->by_name, w->n, &crc)) {
        return ASC_ERR_MEMORY;
    }
    snprintf(text, sizeof text, "%08" PRIx32, crc);
    json_t *metadata = json_object_get(w->header, "__metadata__");
    status = add(w, metadata, ASC_SAFETENSORS_CRC, json_string(text));
    return status ? status : add(w, metadata, ASC_SAFETENSORS_CRC_TENSORS, json_string(s->text));
}

static asc_status add_checksums(safetensors_writer *w)
{
    if (!w->checked) {
        return ASC_OK;
    }
    size_t n = (size_t)w->n, n_pairs = (size_t)w->n_metadata + 1;
    summands s = {asc_alloc(w->ctx, n * sizeof *s.entries), asc_alloc(w->ctx, n * sizeof *s.by_name),
                  asc_alloc(w->ctx, n_pairs * sizeof *s.pairs), asc_alloc(w->ctx, n * CHECKSUM_TEXT + 1)};
    asc_status status = s.entries && s.by_name && s.pairs && s.text ? sum_all(w, &s) : ASC_ERR_MEMORY;
    asc_free(w->ctx, s.entries, n * sizeof *s.entries);
    asc_free(w->ctx, s.by_name, n * sizeof *s.by_name);
    asc_free(w->ctx, s.pairs, n_pairs * sizeof *s.pairs);
    asc_free(w->ctx, s.text, n * CHECKSUM_TEXT + 1);
    return status;
}

/* ---- the file ---- */

static asc_status make_text(safetensors_writer *w)
{
    size_t n = json_dumpb(w->header, NULL, 0, JSON_COMPACT);
    size_t padded = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    w->text = asc_alloc(w->ctx, LENGTH_BYTES + padded);
    if (!w->text) {
        return ASC_ERR_MEMORY;
    }
    w->text_bytes = LENGTH_BYTES + padded;
    for (int i = 0; i < LENGTH_BYTES; i++) {
        w->text[i] = (char)(padded >> 8 * i & 255);
    }
    memset(w->text + LENGTH_BYTES, ' ', padded);
    if (n == 0 || json_dumpb(w->header, w->text + LENGTH_BYTES, n, JSON_COMPACT) != n) {
        return asc_fail(w->ctx, ASC_ERR_MEMORY, "%s: out of memory for its header", w->path);
    }
    return ASC_OK;
}

static asc_status write_values(const safetensors_writer *w, asc_file *file, const asc_named_tensor *named)
{
    const void *values;
    void *packed = NULL;
    asc_tensor t = named->tensor;
    asc_status status = load(w, named);
    status = status ? status : pack(w->ctx, t, &values, &packed);
    if (!status) {
        status = asc_file_write(file, values, bytes_of(t));
    }
    asc_free(w->ctx, packed, bytes_of(t));
    return status;
}

static asc_status write_file(safetensors_writer *w)
{
    asc_file file;
    asc_file_begin(&file, w->ctx, w->path);
    asc_status status = asc_file_write(&file, w->text, w->text_bytes);
    for (int64_t i = 0; i < w->n && !status; i++) {
        status = write_values(w, &file, w->sorted[i]);
    }
    if (status) {
        asc_file_discard(&file);
        return status;
    }
    return asc_file_commit(&file);
}

asc_status asc_safetensors_write(asc_ctx *ctx, const char *path, const asc_named_tensor *tensors, int64_t n,
                                 const asc_safetensors_pair *metadata, int64_t n_metadata)
{
    return asc_safetensors_write_loaded(ctx, path, tensors, n, metadata, n_metadata, NULL);
}

asc_status asc_safetensors_write_loaded(asc_ctx *ctx, const char *path, const asc_named_tensor *tensors, int64_t n,
                                        const asc_safetensors_pair *metadata, int64_t n_metadata,
                                        const asc_values_loader *loader)
{
    asc_status status = ASC_NEED(ctx, "safetensors_write: path tensors metadata", path, asc_unless_empty(tensors, n),
                                 asc_unless_empty(metadata, n_metadata));
    if (status) {
        return status;
    }
    if (n < 0 || n_metadata < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: got %lld tensors and %lld pairs, expected at least 0", path,
                        (long long)n, (long long)n_metadata);
    }
    safetensors_writer w = {.ctx = ctx,
                            .path = path,
                            .tensors = tensors,
                            .loader = loader,
                            .n = n,
                            .metadata = metadata,
                            .n_metadata = n_metadata,
                            .header = json_object()};
    status = sort_tensors(&w);
    if (!status) {
        status = add_metadata(&w);
    }
    if (!status) {
        status = add_tensors(&w);
    }
    if (!status) {
        status = add_checksums(&w);
    }
    if (!status) {
        status = make_text(&w);
    }
    if (!status) {
        status = write_file(&w);
    }
    json_decref(w.header);
    asc_free(ctx, w.text, w.text_bytes);
    asc_free(ctx, w.sorted, (size_t)n * sizeof *w.sorted);
    return status;
}
