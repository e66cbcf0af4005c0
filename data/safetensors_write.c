/* data/safetensors_write.c: tensors and metadata to a safetensors file. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
    const asc_named_tensor **sorted; /* the tensors, in the order of the data */
    int64_t n;
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

static asc_status sort_tensors(safetensors_writer *w, const asc_named_tensor *tensors)
{
    w->sorted = asc_alloc(w->ctx, (size_t)w->n * sizeof *w->sorted);
    if (!w->sorted) {
        return ASC_ERR_MEMORY;
    }
    for (int64_t i = 0; i < w->n; i++) {
        const char *name = tensors[i].name;
        if (!name || strcmp(name, "__metadata__") == 0) {
            return asc_fail(w->ctx, ASC_ERR_ARG, "%s: tensor %lld of %lld is called %s", w->path, (long long)i,
                            (long long)w->n, name ? name : "NULL");
        }
        if (!asc_is_valid(tensors[i].tensor)) {
            return asc_fail(w->ctx, ASC_ERR_ARG, "%s: tensor '%s' is null or gone", w->path, name);
        }
        w->sorted[i] = &tensors[i];
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

static asc_status add_metadata(safetensors_writer *w, const asc_safetensors_pair *pairs, int64_t n)
{
    if (n == 0) {
        return ASC_OK;
    }
    json_t *object = json_object();
    asc_status status = add(w, w->header, "__metadata__", object);
    for (int64_t i = 0; i < n && !status; i++) {
        status = !pairs[i].key || !pairs[i].value
                     ? asc_fail(w->ctx, ASC_ERR_ARG, "%s: a key or value of the metadata is NULL", w->path)
                     : add(w, object, pairs[i].key, json_string(pairs[i].value));
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

static asc_status write_values(asc_ctx *ctx, asc_file *file, asc_tensor t)
{
    size_t bytes = bytes_of(t);
    if (asc_is_contiguous(t)) {
        return asc_file_write(file, asc_data(t), bytes);
    }
    void *packed = asc_alloc(ctx, bytes);
    if (!packed) {
        return ASC_ERR_MEMORY;
    }
    asc_pack(&asc_node_of(t)->array, asc_dtype_of(t), packed);
    asc_status status = asc_file_write(file, packed, bytes);
    asc_free(ctx, packed, bytes);
    return status;
}

static asc_status write_file(safetensors_writer *w)
{
    asc_file file;
    asc_file_begin(&file, w->ctx, w->path);
    asc_status status = asc_file_write(&file, w->text, w->text_bytes);
    for (int64_t i = 0; i < w->n && !status; i++) {
        status = write_values(w->ctx, &file, w->sorted[i]->tensor);
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
    asc_status status = ASC_NEED(ctx, "safetensors_write: path tensors metadata", path, asc_unless_empty(tensors, n),
                                 asc_unless_empty(metadata, n_metadata));
    if (status) {
        return status;
    }
    if (n < 0 || n_metadata < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: got %lld tensors and %lld pairs, expected at least 0", path,
                        (long long)n, (long long)n_metadata);
    }
    safetensors_writer w = {.ctx = ctx, .path = path, .n = n, .header = json_object()};
    status = sort_tensors(&w, tensors);
    if (!status) {
        status = add_metadata(&w, metadata, n_metadata);
    }
    if (!status) {
        status = add_tensors(&w);
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
