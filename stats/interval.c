/* stats/interval.c: the interval of a mean of few values, by Student's t. */
#include <math.h>

#include <ascgrad/stats.h>

#include "tensor/need.h"

enum { HALVINGS = 200 };
static const double pi = 3.14159265358979323846;

/* How probable it is that t lies within ±t, for n >= 1 degrees of freedom (Abramowitz and Stegun 1964, 26.7.3, .4). */
static double within(double t, int64_t n)
{
    double angle = atan(t / sqrt((double)n)), square = cos(angle) * cos(angle);
    double term = n % 2 ? cos(angle) : 1, sum = n > 1 ? term : 0;
    for (int64_t i = n % 2 ? 3 : 2; i < n; i += 2) {
        term *= square * (double)(i - 1) / (double)i;
        sum += term;
    }
    return n % 2 ? 2 / pi * (angle + sin(angle) * sum) : sin(angle) * sum;
}

/* The t that it is within with probability p < 1. */
static double quantile(double p, int64_t n)
{
    double low = 0, high = 1;
    while (within(high, n) < p) {
        high *= 2;
    }
    for (int i = 0; i < HALVINGS && low < high; i++) {
        double middle = (low + high) / 2;
        *(within(middle, n) < p ? &low : &high) = middle;
    }
    return high;
}

asc_status asc_stats_interval(asc_ctx *ctx, const double *x, int64_t n, double p, double *low, double *high)
{
    asc_status status = ASC_NEED(ctx, "stats_interval: x low high", x, low, high);
    if (status) {
        return status;
    }
    if (!(p > 0 && p < 1)) {
        return asc_fail(ctx, ASC_ERR_ARG, "stats_interval: p: got %g, expected a probability between 0 and 1", p);
    }
    double std, mean = asc_stats_mean(ctx, x, n, &std);
    if (asc_error(ctx)) {
        return asc_error(ctx);
    }
    double half = n > 1 ? quantile(p, n - 1) * std / sqrt((double)n) : (double)NAN;
    *low = mean - half;
    *high = mean + half;
    return ASC_OK;
}
