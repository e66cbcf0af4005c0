/* tensor/shape.c: shapes, strides and dtypes; copies between layouts. */
#include "tensor/ctx.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

size_t asc_dtype_size(asc_dtype dtype)
{
    switch (dtype) {
    case ASC_F32: return 4;
    case ASC_F64: return 8;
    case ASC_I64: return 8;
    case ASC_U8: return 1;
    }
    return 0;
}

const char *asc_dtype_name(asc_dtype dtype)
{
    switch (dtype) {
    case ASC_F32: return "f32";
    case ASC_F64: return "f64";
    case ASC_I64: return "i64";
    case ASC_U8: return "u8";
    }
    return "?";
}

bool asc_is_floating(asc_dtype dtype)
{
    return dtype == ASC_F32 || dtype == ASC_F64;
}

bool asc_array_init(asc_array *a, asc_dtype dtype, int ndim, const int64_t *shape)
{
    *a = (asc_array){.dtype = dtype, .ndim = ndim, .numel = 1};
    size_t size = asc_dtype_size(dtype);
    if (size == 0 || ndim < 0 || ndim > ASC_MAX_DIMS || (ndim > 0 && !shape)) {
        return false;
    }
    /* strides count as if sizes of 0 were 1, so that they never overflow unnoticed */
    int64_t stride = 1, most = PTRDIFF_MAX / (int64_t)size;
    for (int d = ndim - 1; d >= 0; d--) {
        int64_t n = shape[d] > 1 ? shape[d] : 1;
        if (shape[d] < 0 || n > most / stride) {
            return false;
        }
        a->shape[d] = shape[d];
        a->stride[d] = stride;
        a->numel *= shape[d];
        stride *= n;
    }
    return true;
}

bool asc_array_contiguous(const asc_array *a)
{
    int64_t expected = 1;
    for (int d = a->ndim - 1; d >= 0; d--) {
        if (a->shape[d] != 1 && a->stride[d] != expected) {
            return a->numel == 0;
        }
        expected *= a->shape[d];
    }
    return true;
}

size_t asc_array_bytes(const asc_array *a)
{
    return (size_t)a->numel * asc_dtype_size(a->dtype);
}

size_t asc_array_span(const asc_array *a)
{
    int64_t last = 0;
    for (int d = 0; d < a->ndim && a->numel > 0; d++) {
        last += (a->shape[d] - 1) * a->stride[d];
    }
    return a->numel > 0 ? (size_t)(last + 1) * asc_dtype_size(a->dtype) : 0;
}

bool asc_arrays_overlap(const asc_array *a, const asc_array *b)
{
    uintptr_t from_a = (uintptr_t)a->data, from_b = (uintptr_t)b->data;
    return from_a < from_b + asc_array_span(b) && from_b < from_a + asc_array_span(a);
}

bool asc_same_shape(const asc_array *a, const asc_array *b)
{
    return a->ndim == b->ndim &&
           (a->ndim <= 0 || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0);
}

const char *asc_shape_text(const asc_array *a, char *text)
{
    if (a->ndim < 0) {
        return "absent";
    }
    int at = snprintf(text, ASC_SHAPE_TEXT, "(");
    for (int d = 0; d < a->ndim; d++) {
        at += snprintf(text + at, ASC_SHAPE_TEXT - (size_t)at, d ? ", %lld" : "%lld", (long long)a->shape[d]);
    }
    snprintf(text + at, ASC_SHAPE_TEXT - (size_t)at, ")");
    return text;
}

bool asc_shape_below_0(int ndim, const int64_t *shape, char *text)
{
    asc_array wanted = {.ndim = ndim};
    bool negative = false;
    for (int d = 0; d < ndim; d++) {
        wanted.shape[d] = shape[d];
        negative = negative || shape[d] < 0;
    }
    asc_shape_text(&wanted, text);
    return negative;
}

/* ---- copies ---- */

static double load(const void *p, asc_dtype dtype, int64_t i)
{
    switch (dtype) {
    case ASC_F32: return ((const float *)p)[i];
    case ASC_F64: return ((const double *)p)[i];
    case ASC_I64: return (double)((const int64_t *)p)[i];
    case ASC_U8: return ((const uint8_t *)p)[i];
    }
    return 0;
}

/* One run of n elements, strides in elements. */
static void copy_run(void *dst, asc_dtype dd, int64_t ds, const void *src, asc_dtype sd, int64_t ss, int64_t n)
{
    size_t size = asc_dtype_size(dd);
    if (dd == sd && ds == 1 && ss == 1) {
        memcpy(dst, src, (size_t)n * size);
    } else if (dd == sd && size == 4) {
        for (int64_t i = 0; i < n; i++) {
            memcpy((char *)dst + i * ds * 4, (const char *)src + i * ss * 4, 4);
        }
    } else if (dd == sd && size == 8) {
        for (int64_t i = 0; i < n; i++) {
            memcpy((char *)dst + i * ds * 8, (const char *)src + i * ss * 8, 8);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            asc_set_any(dd, dst, i * ds, load(src, sd, i * ss));
        }
    }
}

/* Walks `strided` row by row in step with contiguous memory of `dtype`; copies towards the one or the other. */
static void walk(const asc_array *strided, asc_dtype dtype, char *flat, bool pack)
{
    int last = strided->ndim - 1;
    int64_t n = last >= 0 ? strided->shape[last] : 1, step = last >= 0 ? strided->stride[last] : 1;
    int64_t index[ASC_MAX_DIMS] = {0}, at = 0;
    size_t size = asc_dtype_size(strided->dtype), flat_size = asc_dtype_size(dtype);
    for (int64_t done = 0; done < strided->numel; done += n, flat += (size_t)n * flat_size) {
        char *run = (char *)strided->data + at * (int64_t)size;
        if (pack) {
            copy_run(flat, dtype, 1, run, strided->dtype, step, n);
        } else {
            copy_run(run, strided->dtype, step, flat, dtype, 1, n);
        }
        for (int d = last - 1; d >= 0; d--) {
            at += strided->stride[d];
            if (++index[d] < strided->shape[d]) {
                break;
            }
            at -= index[d] * strided->stride[d];
            index[d] = 0;
        }
    }
}

void asc_pack(const asc_array *src, asc_dtype dtype, void *dst)
{
    if (src->numel == 0) {
        return; /* there may be no memory at all */
    }
    if (asc_array_contiguous(src)) {
        copy_run(dst, dtype, 1, src->data, src->dtype, 1, src->numel);
    } else {
        walk(src, dtype, dst, true);
    }
}

void asc_unpack(const void *src, asc_dtype dtype, const asc_array *dst)
{
    if (dst->numel == 0) {
        return;
    }
    if (asc_array_contiguous(dst)) {
        copy_run(dst->data, dst->dtype, 1, src, dtype, 1, dst->numel);
    } else {
        walk(dst, dtype, (char *)src, false);
    }
}
