/*
 * ascgrad/npz.h: arrays in NumPy's .npz format, for who goes on in Python: numpy.load("x.npz")["attn"].
 * Format: a ZIP archive (PKWARE's APPNOTE) of NAME.npy members, .npy version 1.0
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
 */
#ifndef ASCGRAD_NPZ_H
#define ASCGRAD_NPZ_H

#include <ascgrad/params.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An array of the file: a tensor, or texts. */
typedef struct asc_npz_array {
    const char *name;         /* its key: "attn" */
    asc_tensor tensor;        /* f32, f64, i64 or u8 become float32, float64, int64, uint8; null: texts */
    const char *const *texts; /* n_texts UTF-8 strings, which become a vector of str ('<U7') */
    int64_t n_texts;
} asc_npz_array;

/* Writes `n` arrays to `path`, atomically, as asc_safetensors_write does; tensors may have any strides. Nothing is
 * compressed, and the bytes depend on names and values alone.
 * ASC_ERR_ARG: no path, an array with neither tensor nor texts, a name that is NULL, empty, over 1000 bytes or given
 * twice, a text that is NULL or not UTF-8, 4 GiB or more in all, over 65535 arrays; ASC_ERR_IO, with the system's
 * reason; ASC_ERR_MEMORY. */
ASC_API asc_status asc_npz_write(asc_ctx *ctx, const char *path, const asc_npz_array *arrays, int64_t n);

/* Adds the arrays of the .npz file `path`, stored or deflated, to the list, by their keys. Floats of 32 and 64 bits
 * become f32 and f64, bytes and truth values u8, other whole numbers i64; Fortran's order becomes C's; texts are left
 * out. ASC_ERR_FORMAT: another file, a damaged one, one of 4 GiB or more, another dtype, big-endian numbers, a name
 * that the list has already; ASC_ERR_IO; ASC_ERR_MEMORY. After an error the list may have some of them. */
ASC_API asc_status asc_npz_read(asc_ctx *ctx, const char *path, asc_params *into);

/* One array from a .npy file, new; and one to such a file, atomically, of any strides. Errors as above. */
ASC_API asc_tensor asc_npy_read(asc_ctx *ctx, const char *path);
ASC_API asc_status asc_npy_write(asc_ctx *ctx, const char *path, asc_tensor tensor);

#ifdef __cplusplus
}
#endif
#endif
