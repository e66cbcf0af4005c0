/* data/safetensors_values.c: the data of a safetensors file turned into tensors. */
#include <string.h>
#include <zlib.h>

#include "data/byte_order.h"
#include "data/safetensors.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

enum { CHUNK_BYTES = 1 << 18 };

bool asc_safetensors_converts(const asc_safetensors_entry *e, int dtype)
{
    return dtype >= ASC_F32 && dtype <= ASC_U8 && asc_stored_dtype_find(e->stored)->convert[dtype];
}

/* The entry, if the file has it and it is read as `dtype`; else NULL and an error. */
static const asc_safetensors_entry *find_as(const asc_safetensors *file, const char *name, int dtype)
{
    const asc_safetensors_entry *e = asc_safetensors_find(file, name);
    if (!e) {
        asc_safetensors_fail(file, ASC_ERR_ARG, name ? name : "", "there is none of that name in the file");
        return NULL;
    }
    if (!asc_safetensors_converts(e, dtype)) {
        bool known = dtype >= ASC_F32 && dtype <= ASC_U8;
        asc_safetensors_fail(file, ASC_ERR_ARG, name, "it is %s, which is not read as %s", e->stored,
                             known ? asc_dtype_name((asc_dtype)dtype) : "an unknown dtype");
        return NULL;
    }
    return e;
}

/* A chunk at a time goes into its place, or into `chunk` to be converted, and into the checksum while it is at hand. */
static asc_status read_chunks(const asc_safetensors *file, const asc_safetensors_entry *e, asc_dtype dtype, char *out,
                              void *chunk)
{
    const asc_stored_dtype *stored = asc_stored_dtype_find(e->stored);
    uLong crc = crc32_z(0, NULL, 0);
    for (int64_t done = 0; done < e->bytes; done += CHUNK_BYTES) {
        int64_t bytes = e->bytes - done < CHUNK_BYTES ? e->bytes - done : CHUNK_BYTES;
        void *in = chunk ? chunk : out;
        if (asc_safetensors_fetch(file, in, bytes, e->offset + done)) {
            return asc_error(file->ctx);
        }
        crc = file->crc ? crc32_z(crc, in, (size_t)bytes) : crc;
        size_t n = (size_t)(bytes / stored->size);
        asc_file_order(in, n, (size_t)stored->size);
        stored->convert[dtype](out, in, n);
        out += n * asc_dtype_size(dtype);
    }
    return asc_safetensors_check_values(file, e, (uint32_t)crc);
}

static asc_status read_values(const asc_safetensors *file, const asc_safetensors_entry *e, asc_tensor tensor)
{
    asc_dtype dtype = asc_dtype_of(tensor);
    void *out = asc_data_mut(tensor);
    if (asc_stored_dtype_find(e->stored)->convert[dtype] == asc_stored_same) {
        return read_chunks(file, e, dtype, out, NULL);
    }
    void *chunk = asc_alloc(file->ctx, CHUNK_BYTES);
    asc_status status = chunk ? read_chunks(file, e, dtype, out, chunk) : ASC_ERR_MEMORY;
    asc_free(file->ctx, chunk, CHUNK_BYTES);
    return status;
}

asc_tensor asc_safetensors_read(asc_ctx *ctx, const asc_safetensors *file, const char *name, int dtype)
{
    if (ASC_NEED(ctx, "safetensors_read: file name", file, name)) {
        return asc_null();
    }
    if (dtype == ASC_SAFETENSORS_STORED) {
        const asc_safetensors_entry *entry = asc_safetensors_find(file, name);
        dtype = entry ? (int)entry->dtype : ASC_SAFETENSORS_STORED;
    }
    const asc_safetensors_entry *e = find_as(file, name, dtype);
    asc_tensor t = e ? asc_empty(ctx, (asc_dtype)dtype, e->ndim, e->shape) : asc_null();
    if (!asc_is_null(t) && read_values(file, e, t)) {
        asc_release(t);
        return asc_null();
    }
    return t;
}

asc_status asc_safetensors_read_into(asc_ctx *ctx, const asc_safetensors *file, const char *name, asc_tensor tensor)
{
    asc_status status = ASC_NEED(ctx, "safetensors_read_into: file name", file, name);
    if (status) {
        return status;
    }
    if (!asc_is_valid(tensor) || !asc_is_contiguous(tensor)) {
        return asc_safetensors_fail(file, ASC_ERR_ARG, name ? name : "", "the tensor to read into is %s",
                                    asc_is_valid(tensor) ? "not contiguous" : "null or gone");
    }
    const asc_safetensors_entry *e = find_as(file, name, (int)asc_dtype_of(tensor));
    if (!e) {
        return ASC_ERR_ARG;
    }
    const asc_array *array = &asc_node_of(tensor)->array;
    asc_array stored = {.ndim = e->ndim};
    memcpy(stored.shape, e->shape, sizeof stored.shape);
    if (!asc_same_shape(array, &stored)) {
        char have[ASC_SHAPE_TEXT], want[ASC_SHAPE_TEXT];
        return asc_safetensors_fail(file, ASC_ERR_ARG, name, "its shape is %s, that of the tensor to read into %s",
                                    asc_shape_text(&stored, have), asc_shape_text(array, want));
    }
    return read_values(file, e, tensor);
}
