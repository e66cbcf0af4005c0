/* tests/ops/expected.h: tensors from numbers that are written out, and comparison with such numbers. */
#ifndef TESTS_OPS_EXPECTED_H
#define TESTS_OPS_EXPECTED_H

#include "tests/ops/values.h"

#define VALUES(...) (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__}

/* A tensor of these values, a leaf if dtype is floating. */
static inline asc_tensor given(asc_dtype dtype, int n, const double *values, int ndim, const int64_t *shape)
{
    asc_tensor t = asc_zeros(ctx, dtype, ndim, shape);
    ck_assert_int_eq(asc_numel(t), n);
    void *data = asc_data_mut(t);
    for (int i = 0; i < n; i++) {
        switch (dtype) {
        case ASC_F32: ((float *)data)[i] = (float)values[i]; break;
        case ASC_F64: ((double *)data)[i] = values[i]; break;
        case ASC_I64: ((int64_t *)data)[i] = (int64_t)values[i]; break;
        default: ((uint8_t *)data)[i] = (uint8_t)values[i];
        }
    }
    if (dtype == ASC_F32 || dtype == ASC_F64) {
        ck_assert_int_eq(asc_require_grad(t, true), ASC_OK);
    }
    return t;
}

/* t has these values: bits for infinities, NaN for NaN, else to 10 digits, or to f32's. */
static inline void expect_values(asc_tensor t, int n, const double *values)
{
    no_error();
    ck_assert_int_eq(asc_numel(t), n);
    for (int i = 0; i < n; i++) {
        double got = value(t, i), tolerance = asc_dtype_of(t) == ASC_F32 ? 1e-6 : 2e-11;
        bool same = isnan(values[i]) ? isnan(got) : isinf(values[i]) ? got == values[i]
                                                  : fabs(got - values[i]) <= tolerance * (1 + fabs(values[i]));
        ck_assert_msg(same, "element %d is %.12g, expected %.12g", i, got, values[i]);
    }
}

/* Adds the gradients of the sum of y. */
static inline void backward_of_sum(asc_tensor y)
{
    no_error();
    asc_tensor ones = asc_full(ctx, asc_dtype_of(y), 1, asc_ndim(y), asc_shape(y));
    asc_backward(ctx, y, ones, false);
    no_error();
}

#endif
