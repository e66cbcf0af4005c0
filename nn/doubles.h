/* nn/doubles.h: a tensor's values in double, for numbers about layers. */
#ifndef NN_DOUBLES_H
#define NN_DOUBLES_H

#include <ascgrad/ops.h>

/* x as contiguous f64, without a gradient: x's own values, or a copy in the scope. Null with the error set. */
static inline asc_tensor asc_doubles(asc_ctx *ctx, asc_tensor x)
{
    return asc_contiguous(ctx, asc_cast(ctx, asc_detach(ctx, x), ASC_F64));
}

#endif
