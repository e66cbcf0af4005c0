/* stats/values.c: what all statistics ask of their values, and values in order. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#include <ascgrad/tensor.h>

#include "tensor/need.h"

asc_status asc_stats_expect(asc_ctx *ctx, const char *function, const char *name, const double *x, int64_t n,
                            int64_t least)
{
    asc_status status = asc_need_one(ctx, function, name, asc_unless_empty(x, n));
    if (status) {
        return status;
    }
    if (n < least || n > INT32_MAX) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: %s has %lld values, expected %lld to %d", function, name, (long long)n,
                        (long long)least, INT32_MAX);
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: %s[%lld] is %g, expected a finite number", function, name,
                            (long long)i, x[i]);
        }
    }
    return ASC_OK;
}

asc_status asc_stats_expect_items(asc_ctx *ctx, const char *function, const double *x, int64_t n, int64_t d)
{
    if (n < 1 || d < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: got %lld items of %lld numbers, expected at least 1 of 1", function,
                        (long long)n, (long long)d);
    }
    int64_t all;
    return asc_stats_expect(ctx, function, "x", x, __builtin_mul_overflow(n, d, &all) ? INT64_MAX : all, 1);
}

double *asc_stats_reals(asc_ctx *ctx, int64_t n)
{
    return asc_data_mut(asc_zeros(ctx, ASC_F64, 1, &n));
}

int64_t *asc_stats_integers(asc_ctx *ctx, int64_t n)
{
    return asc_data_mut(asc_zeros(ctx, ASC_I64, 1, &n));
}

int asc_stats_compare_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void asc_stats_sort(double *x, int64_t n)
{
    if (n > 0) { /* of nothing there may be no memory */
        qsort(x, (size_t)n, sizeof *x, compare);
    }
}

double asc_median(double *x, int64_t n)
{
    asc_stats_sort(x, n);
    return n > 0 ? (x[(n - 1) / 2] + x[n / 2]) / 2 : (double)NAN;
}

double asc_stats_percentile(const double *x, int64_t n, double p)
{
    double at = p * (double)(n - 1);
    int64_t i = (int64_t)at;
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[n - 1];
}
