/*
 * ascgrad/safetensors.h: files of named tensors in the safetensors format, which PyTorch and others read and write.
 * Format: https://github.com/huggingface/safetensors (8 bytes with the header's length, a JSON header, the data).
 *
 * Dtypes of a file and what they are read as:
 *     F16 BF16 F32      f32, or f64 where asked
 *     F64               f64, or f32 where asked (rounded)
 *     U8 BOOL           u8, or i64 where asked
 *     I8 I16 I32 I64    i64
 *     U16 U32           i64
 */
#ifndef ASCGRAD_SAFETENSORS_H
#define ASCGRAD_SAFETENSORS_H

#include <ascgrad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading ---- */

/* An open file: its header is in memory, its data is not. */
typedef struct asc_safetensors asc_safetensors;

/* A tensor as the file declares it. */
typedef struct asc_safetensors_entry {
    const char *name;
    const char *stored; /* dtype in the file: "F16" */
    asc_dtype dtype;    /* what ASC_STORED reads it as */
    int ndim;
    int64_t shape[ASC_MAX_DIMS];
    int64_t numel;
    int64_t offset, bytes; /* where the file holds it */
} asc_safetensors_entry;

typedef struct asc_safetensors_pair {
    const char *key, *value;
} asc_safetensors_pair;

/* Opens `path` and checks all of its header; to be closed before the context is freed. NULL on failure:
 * ASC_ERR_ARG: no path; ASC_ERR_IO; ASC_ERR_MEMORY; ASC_ERR_FORMAT: truncated, corrupt, or with a dtype other than
 * the ones above or a tensor of more than 8 dimensions. */
ASC_API asc_safetensors *asc_safetensors_open(asc_ctx *ctx, const char *path);

/* Closes the file and frees what belongs to it, entries and metadata included. NULL is accepted. */
ASC_API void asc_safetensors_close(asc_safetensors *file);

/* The number of tensors, and number i of them in the order of the data; borrowed, NULL past the last. */
ASC_API int64_t asc_safetensors_count(const asc_safetensors *file);
ASC_API const asc_safetensors_entry *asc_safetensors_at(const asc_safetensors *file, int64_t i);
/* The tensor of that name; borrowed, NULL if there is none. */
ASC_API const asc_safetensors_entry *asc_safetensors_find(const asc_safetensors *file, const char *name);

/* The metadata's value for a key; borrowed, NULL if there is none. */
ASC_API const char *asc_safetensors_metadata(const asc_safetensors *file, const char *key);
/* Pair i of the metadata, in the file's order; borrowed, NULL past the last. */
ASC_API const asc_safetensors_pair *asc_safetensors_metadata_at(const asc_safetensors *file, int64_t i);

#define ASC_STORED (-1) /* in place of a dtype: the file's own, see the table above */

/* A new tensor with the values of the one called `name`. `ctx` is the one that opened the file; `dtype` is an
 * asc_dtype or ASC_STORED. Of a file that could not be opened the error is the opening's.
 * ASC_ERR_ARG: there is no such tensor, or its dtype is not read as the one asked for; ASC_ERR_IO; ASC_ERR_MEMORY;
 * ASC_ERR_FORMAT: the file has become shorter since it was opened. */
ASC_API asc_tensor asc_safetensors_read(asc_ctx *ctx, const asc_safetensors *file, const char *name, int dtype);

/* The same into a tensor that exists: contiguous, of the same shape, of a dtype that the entry is read as.
 * Errors as above; on ASC_ERR_IO and ASC_ERR_FORMAT part of the values may have been replaced. */
ASC_API asc_status asc_safetensors_read_into(asc_ctx *ctx, const asc_safetensors *file, const char *name,
                                             asc_tensor tensor);

/* ---- writing ---- */

typedef struct asc_named_tensor {
    const char *name;
    asc_tensor tensor;
} asc_named_tensor;

/* Writes `n` tensors (f32, f64, i64, u8, of any strides) and `n_metadata` pairs to `path`, atomically as
 * asc_file_write_atomic does. The bytes depend on names, values and metadata alone, not on the order of `tensors`:
 * the widest dtypes come first, so that each is aligned, then by name; metadata keeps its order.
 * ASC_ERR_ARG: no path, a null tensor, a name or key that is NULL, given twice, not UTF-8 or (a name)
 * "__metadata__"; ASC_ERR_IO, with the system's reason; ASC_ERR_MEMORY. */
ASC_API asc_status asc_safetensors_write(asc_ctx *ctx, const char *path, const asc_named_tensor *tensors, int64_t n,
                                         const asc_safetensors_pair *metadata, int64_t n_metadata);

#ifdef __cplusplus
}
#endif
#endif
