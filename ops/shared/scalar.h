/* ops/shared/scalar.h: single elements of f32 or f64 arrays: parameters that are one number, losses. */
#ifndef OPS_SCALAR_H
#define OPS_SCALAR_H

#include "ops/shared/op.h"

static inline double asc_scalar_at(const asc_array *a, int64_t i)
{
    return a->dtype == ASC_F32 ? (double)((const float *)a->data)[i] : ((const double *)a->data)[i];
}

static inline void asc_scalar_put(const asc_array *a, int64_t i, double value)
{
    if (a->dtype == ASC_F32) {
        ((float *)a->data)[i] = (float)value;
    } else {
        ((double *)a->data)[i] = value;
    }
}

#endif
