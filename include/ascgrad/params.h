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
 * `decay`: weight decay acts on it. ASC_ERR_ARG: the name is taken, or the tensor is null or gone. */
ASC_API asc_status asc_params_add(asc_params *params, const char *name, asc_tensor tensor, bool decay);

ASC_API int asc_params_count(const asc_params *params);
/* Entry i, 0 <= i < count, else NULL, null and false; the name is borrowed. */
ASC_API const char *asc_params_name(const asc_params *params, int i);
ASC_API asc_tensor asc_params_at(const asc_params *params, int i);
ASC_API bool asc_params_decays(const asc_params *params, int i);
/* By name; null if there is none. */
ASC_API asc_tensor asc_params_find(const asc_params *params, const char *name);
/* The number of elements of all. */
ASC_API int64_t asc_params_numel(const asc_params *params);
/* asc_zero_grad of all. */
ASC_API void asc_params_zero_grad(asc_params *params);

#ifdef __cplusplus
}
#endif
#endif
