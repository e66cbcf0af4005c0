/* ops/shape/range.c: numbers in a row, and the lower triangle of matrices. */
#include <math.h>

#include "ops/shared/op.h"

asc_tensor asc_arange(asc_ctx *ctx, asc_dtype dtype, double start, double stop, double step)
{
    double n = ceil((stop - start) / step);
    if (step == 0 || !isfinite(start) || !isfinite(stop) || !isfinite(step) || n > 0x1p53) {
        asc_fail(ctx, ASC_ERR_ARG, "arange: %g to %g in steps of %g: expected finite numbers, a step that is not 0, "
                 "fewer than 2^53", start, stop, step);
        return asc_null();
    }
    double last = start + (n - 1) * step;
    if (n > 0 && !(asc_dtype_holds(dtype, start) && asc_dtype_holds(dtype, last))) {
        asc_fail(ctx, ASC_ERR_ARG, "arange: %g to %g, which %s does not hold", start, last, asc_dtype_name(dtype));
        return asc_null();
    }
    asc_tensor t = asc_empty(ctx, dtype, 1, &(int64_t){n > 0 ? (int64_t)n : 0});
    void *at = asc_data_mut(t);
    for (int64_t i = 0; i < asc_numel(t); i++) {
        double value = start + (double)i * step;
        if (dtype == ASC_I64) {
            ((int64_t *)at)[i] = (int64_t)value;
        } else if (dtype == ASC_U8) {
            ((uint8_t *)at)[i] = (uint8_t)value;
        } else {
            asc_set_element(dtype, at, i, value);
        }
    }
    return t;
}

asc_tensor asc_tril(asc_ctx *ctx, asc_tensor x, int64_t k)
{
    if (asc_need_tensor(ctx, x, "tril", "x")) {
        return asc_null();
    }
    if (asc_ndim(x) < 2) {
        asc_fail(ctx, ASC_ERR_ARG, "tril: x has %d dimensions, expected at least 2", asc_ndim(x));
        return asc_null();
    }
    int64_t N = asc_size(x, -2), M = asc_size(x, -1);
    asc_tensor above = asc_empty(ctx, ASC_U8, ASC_SHAPE(N, M));
    uint8_t *mark = asc_data_mut(above);
    for (int64_t i = 0; mark && i < N * M; i++) {
        mark[i] = (double)(i % M) - (double)(i / M) > (double)k; /* k may be any number */
    }
    asc_tensor y = asc_masked_fill(ctx, x, above, 0);
    asc_release(above);
    return y;
}
