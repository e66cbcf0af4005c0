/* data/params_file.c: a list of tensors as a safetensors file, and back. */
#include <ascgrad/params.h>
#include <ascgrad/safetensors.h>

#include <string.h>

#include "data/safetensors.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

asc_status asc_params_save(asc_ctx *ctx, const asc_params *params, const char *path)
{
    asc_status status = ASC_NEED(ctx, "params_save: params path", params, path);
    if (status || (status = asc_error(ctx))) {
        return status;
    }
    int n = asc_params_count(params);
    size_t bytes = (size_t)(n + 1) * sizeof(asc_named_tensor);
    asc_named_tensor *list = asc_alloc(ctx, bytes);
    for (int i = 0; list && i < n; i++) {
        list[i] = (asc_named_tensor){asc_params_name(params, i), asc_params_at(params, i)};
    }
    const asc_safetensors_pair checked = {ASC_SAFETENSORS_CRC, ""};
    status = list ? asc_safetensors_write(ctx, path, list, n, &checked, 1) : ASC_ERR_MEMORY;
    asc_free(ctx, list, bytes);
    return status;
}

/* Whether the file has just the tensors of the list, and each can be read. */
static asc_status compare(asc_ctx *ctx, const asc_params *params, const asc_safetensors *file, const char *path)
{
    for (int i = 0; i < asc_params_count(params); i++) {
        const char *name = asc_params_name(params, i);
        const asc_safetensors_entry *e = asc_safetensors_find(file, name);
        asc_array a = asc_array_of(asc_params_at(params, i)), of_file = {.ndim = e ? e->ndim : -1};
        if (!e) {
            return asc_fail(ctx, ASC_ERR_FORMAT, "%s: has no tensor '%s'", path, name);
        }
        memcpy(of_file.shape, e->shape, sizeof of_file.shape);
        if (!asc_same_shape(&a, &of_file)) {
            char text[2][ASC_SHAPE_TEXT];
            return asc_fail(ctx, ASC_ERR_FORMAT, "%s: '%s' is %s, expected %s", path, name,
                            asc_shape_text(&of_file, text[0]), asc_shape_text(&a, text[1]));
        }
        if (!asc_safetensors_converts(e, a.dtype)) {
            return asc_fail(ctx, ASC_ERR_FORMAT, "%s: '%s' is %s, which is not read as %s", path, name, e->stored,
                            asc_dtype_name(a.dtype));
        }
        if (!asc_is_contiguous(asc_params_at(params, i))) {
            return asc_fail(ctx, ASC_ERR_ARG, "params_load: '%s' is not contiguous", name);
        }
    }
    const asc_safetensors_entry *e;
    for (int64_t i = 0; (e = asc_safetensors_at(file, i)); i++) {
        if (asc_is_null(asc_params_find(params, e->name))) {
            return asc_fail(ctx, ASC_ERR_FORMAT, "%s: has a tensor '%s', which is not expected", path, e->name);
        }
    }
    return ASC_OK;
}

asc_status asc_params_load(asc_ctx *ctx, asc_params *params, const char *path)
{
    asc_status status = ASC_NEED(ctx, "params_load: params path", params, path);
    if (status || (status = asc_error(ctx))) {
        return status;
    }
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    status = file ? compare(ctx, params, file, path) : asc_error(ctx);
    for (int i = 0; i < asc_params_count(params) && !status; i++) {
        status = asc_safetensors_read_into(ctx, file, asc_params_name(params, i), asc_params_at(params, i));
    }
    asc_safetensors_close(file);
    return status;
}
