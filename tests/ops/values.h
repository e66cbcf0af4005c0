/* tests/ops/values.h: what the tests of op files share: values in and out of tensors of either floating dtype, expected
 * errors. */
#ifndef TESTS_OPS_VALUES_H
#define TESTS_OPS_VALUES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "tests/threads.h"

/* t is null, and the error is this one. */
static inline void expect_failure(asc_tensor t, const char *message)
{
    ck_assert(asc_is_null(t));
    expect_error(ASC_ERR_ARG, message);
}

/* Element i, in row-major order, of a tensor of any strides and dtype. */
static inline double value(asc_tensor t, int64_t i)
{
    asc_array a = asc_array_of(t);
    int64_t at = 0;
    if (i < 0 || i >= a.numel) { /* Check writes to a pipe for every assertion: too slow here */
        ck_abort_msg("element %lld of %lld", (long long)i, (long long)a.numel);
    }
    for (int d = a.ndim - 1; d >= 0; d--) {
        at += i % a.shape[d] * a.stride[d];
        i /= a.shape[d];
    }
    switch (a.dtype) {
    case ASC_F32: return ((const float *)a.data)[at];
    case ASC_F64: return ((const double *)a.data)[at];
    case ASC_I64: return (double)((const int64_t *)a.data)[at];
    default: return ((const uint8_t *)a.data)[at];
    }
}

/* A leaf with normal values that f32 holds too. */
static inline asc_tensor random_leaf(asc_dtype dtype, uint64_t stream, int ndim, const int64_t *shape)
{
    asc_tensor t = asc_normal(ctx, ASC_F32, 0, 1, 11, stream, ndim, shape);
    asc_tensor leaf = asc_empty(ctx, dtype, ndim, shape);
    ck_assert_int_eq(asc_copy(ctx, leaf, t), ASC_OK);
    ck_assert_int_eq(asc_require_grad(leaf, true), ASC_OK);
    return leaf;
}

/* A cotangent for y, which it is handed back with. */
static inline asc_tensor run_backward(asc_tensor y)
{
    no_error();
    asc_tensor c = random_leaf(asc_dtype_of(y), 77, asc_ndim(y), asc_shape(y));
    asc_backward(ctx, y, c, false);
    no_error();
    return c;
}

static inline void expect_shape(asc_tensor t, int ndim, const int64_t *shape)
{
    no_error();
    ck_assert_int_eq(asc_ndim(t), ndim);
    for (int d = 0; d < ndim; d++) {
        ck_assert_int_eq(asc_size(t, d), shape[d]);
    }
}

/* Check writes a file at every assertion that it passes: these two, which stand in long loops, assert only failures. */
static inline void expect_equal(asc_tensor t, int64_t i, double expected)
{
    double got = value(t, i);
    if (got != expected) {
        ck_abort_msg("element %lld is %.17g, expected %.17g", (long long)i, got, expected);
    }
}

/* Some units in the last place of a sum of terms that add up to `scale` in magnitude. */
static inline void expect_close(asc_tensor t, int64_t i, double expected, double scale)
{
    double tolerance = (asc_dtype_of(t) == ASC_F32 ? 4e-7 : 4e-15) * (fabs(expected) + scale);
    double got = value(t, i);
    if (!(fabs(got - expected) <= tolerance)) {
        ck_abort_msg("element %lld is %.9g, expected %.9g", (long long)i, got, expected);
    }
}

static const asc_dtype floats[] = {ASC_F32, ASC_F64};

#endif
