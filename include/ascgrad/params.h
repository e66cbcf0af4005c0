/*
 * ascgrad/params.h: an ordered list of named tensors: a model's parameters, an optimiser's state.
 */
#ifndef ASCGRAD_PARAMS_H
#define ASCGRAD_PARAMS_H

#include <ascgrad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_params asc_params;

/* A new, empty list; NULL without memory. Freed by asc_params_free, before the context; NULL is accepted. */
ASC_API asc_params *asc_params_new(asc_ctx *ctx);
ASC_API void asc_params_free(asc_params *params);

/* Adds a tensor under a name (both kept: the list takes a reference of its own, and copies the name).
 * `decay`: weight decay acts on it. ASC_ERR_ARG: the name is taken or empty, or the tensor is null, gone or
 * another context's. */
ASC_API asc_status asc_params_add(asc_params *params, const char *name, asc_tensor tensor, bool decay);

/* Adds all tensors of `other`, their names with `prefix` ("" for none) before them, with its decay: the parts of a
 * network in one list. ASC_ERR_ARG: a name is taken, or too long (over 1000 bytes); those before it stay added. */
ASC_API asc_status asc_params_extend(asc_params *params, const char *prefix, const asc_params *other);

ASC_API int asc_params_count(const asc_params *params);
/* Entry i, 0 <= i < count, else NULL, null and false; the name is borrowed. */
ASC_API const char *asc_params_name(const asc_params *params, int i);
ASC_API asc_tensor asc_params_at(const asc_params *params, int i);
ASC_API bool asc_params_decays(const asc_params *params, int i);
/* By name; null if there is none. */
ASC_API asc_tensor asc_params_find(const asc_params *params, const char *name);
/* The number of elements of all. */
ASC_API int64_t asc_params_numel(const asc_params *params);
/* Writes all to the safetensors file `path`, with checksums, atomically: see asc_safetensors_write. */
ASC_API asc_status asc_params_save(asc_ctx *ctx, const asc_params *params, const char *path);
/* Reads the values of all from such a file, from wherever it comes: it has to have tensors of these names and shapes,
 * of dtypes that are read as theirs, and no others. ASC_ERR_FORMAT: it has not, and nothing was changed, or its values
 * are not what its checksums say; ASC_ERR_ARG; ASC_ERR_IO. */
ASC_API asc_status asc_params_load(asc_ctx *ctx, asc_params *params, const char *path);
/* asc_zero_grad of all. */
ASC_API void asc_params_zero_grad(asc_params *params);

#ifdef __cplusplus
}
#endif
#endif
