/* tests/ops/geometry.h: what the tests of distances, row_norm and the wedge share. */
#ifndef TESTS_OPS_GEOMETRY_H
#define TESTS_OPS_GEOMETRY_H

#include "tests/ops/values.h"

/* A leaf of f(i) for element i, rounded to f32 in either dtype. */
static inline asc_tensor leaf_of(asc_dtype dtype, double (*f)(int64_t i), int ndim, const int64_t *shape)
{
    asc_tensor t = asc_empty(ctx, dtype, ndim, shape);
    for (int64_t i = 0; i < asc_numel(t); i++) {
        if (dtype == ASC_F32) {
            ((float *)asc_data_mut(t))[i] = (float)f(i);
        } else {
            ((double *)asc_data_mut(t))[i] = (float)f(i);
        }
    }
    ck_assert_int_eq(asc_require_grad(t, true), ASC_OK);
    return t;
}

static inline double noise(int64_t i)
{
    return sin((double)i * 12.9898 + 3) * 3 - sin((double)(i * i % 1009));
}

#endif
