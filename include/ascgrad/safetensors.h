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
 *
 * Checksums. The format itself would not notice a changed bit. A file may have two pairs of metadata for that, which
 * asc_safetensors_write adds where it is asked to:
 *     asc_crc32_tensors  the CRC-32 of each tensor's bytes, 8 hexadecimal digits each, in the order of their names
 *                        (by bytes), with spaces between
 *     asc_crc32          the CRC-32, 8 hexadecimal digits, of a sequence of texts, each with the byte 0 after it: key
 *                        and value of every other pair, asc_crc32_tensors and unknown ones among them, in the order of
 *                        the keys; then of each tensor, in the order of the names, name, dtype, its sizes in decimal,
 *                        and an empty text
 * The first is checked when the file is opened, a tensor's when it is read. They don't depend on the order in which
 * another program writes the same tensors and pairs again. They are against accidents: within a tensor or a value
 * each change that spans at most 32 bits is noticed, any other with a probability of 1 - 2^-32. They are not against
 * someone who wants to deceive. A file with neither pair is read as it is.
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
    asc_dtype dtype;    /* what ASC_SAFETENSORS_STORED reads it as */
    int ndim;
    int64_t shape[ASC_MAX_DIMS];
    int64_t numel;
    int64_t offset, bytes; /* where the file holds it */
} asc_safetensors_entry;

typedef struct asc_safetensors_pair {
    const char *key, *value;
} asc_safetensors_pair;

/* The keys of the checksums. */
#define ASC_SAFETENSORS_CRC "asc_crc32"
#define ASC_SAFETENSORS_CRC_TENSORS "asc_crc32_tensors"

/* Opens `path` and checks all of its header; to be closed before the context is freed. NULL on failure:
 * ASC_ERR_ARG: no path; ASC_ERR_IO; ASC_ERR_MEMORY; ASC_ERR_FORMAT: truncated, corrupt, not what its checksum says,
 * or with a dtype other than the ones above or a tensor of more than 8 dimensions. */
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

#define ASC_SAFETENSORS_STORED (-1) /* in place of a dtype: the file's own, see the table above */

/* A new tensor with the values of the one called `name`. `ctx` is the one that opened the file; `dtype` is an
 * asc_dtype or ASC_SAFETENSORS_STORED. Of a file that could not be opened the error is the opening's.
 * ASC_ERR_ARG: there is no such tensor, or its dtype is not read as the one asked for; ASC_ERR_IO; ASC_ERR_MEMORY;
 * ASC_ERR_FORMAT: the file has become shorter since it was opened, or the values are not what its checksum says. */
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

/* Writes `n` tensors (f32, f64, i64, u8, of any strides) and `n_metadata` pairs to `path`, atomically: whoever opens
 * it, even after a power cut, finds the earlier content or the new one, never a part. On failure the earlier file is as
 * it was. The bytes depend on names, values and metadata alone, not on the order of `tensors`:
 * the widest dtypes come first, so that each is aligned, then by name; metadata keeps its order. A pair with the key
 * ASC_SAFETENSORS_CRC asks for checksums, whatever its value: they are computed, and stand at the metadata's end. So
 * the pairs of a file that was read can be written again with other tensors.
 * ASC_ERR_ARG: no path, a null tensor, a name or key that is NULL, given twice, not UTF-8 or (a name)
 * "__metadata__"; ASC_ERR_IO, with the system's reason; ASC_ERR_MEMORY. */
ASC_API asc_status asc_safetensors_write(asc_ctx *ctx, const char *path, const asc_named_tensor *tensors, int64_t n,
                                         const asc_safetensors_pair *metadata, int64_t n_metadata);

#ifdef __cplusplus
}
#endif
#endif
