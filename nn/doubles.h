/* nn/doubles.h: numbers about layers: a tensor's values in double, and the tensor that they are given back as. */
#ifndef NN_DOUBLES_H
#define NN_DOUBLES_H

#include <ascgrad/ops.h>

/* x as contiguous f64, without a gradient: x's own values, or a copy in the scope. Null with the error set. */
static inline asc_tensor asc_doubles(asc_ctx *ctx, asc_tensor x)
{
    return asc_contiguous(ctx, asc_cast(ctx, asc_detach(ctx, x), ASC_F64));
}

/* t, which the caller has made and gives back; with the error set null, and t is gone. */
static inline asc_tensor asc_unless_failed(asc_ctx *ctx, asc_tensor t)
{
    if (asc_error(ctx)) {
        asc_release(t);
        return asc_null();
    }
    return t;
}

#endif
