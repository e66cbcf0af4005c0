/* stats/pair.c: two systems on the same items: means, deviations, effect sizes. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "stats/stats.h"
#include "tensor/need.h"

/* Relative to the first value, so that equal ones have the deviation 0 exactly. */
static double mean_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] - x[0];
    }
    return x[0] + sum / (double)n;
}

static double variance_of(const double *x, int64_t n, double mean)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (x[i] - mean) * (x[i] - mean);
    }
    return sum / (double)(n - 1); /* NaN for one value */
}

double asc_stats_mean(asc_ctx *ctx, const double *x, int64_t n, double *std)
{
    if (asc_stats_expect(ctx, "stats_mean", "x", x, n, 1)) {
        return NAN;
    }
    double mean = mean_of(x, n);
    if (!isfinite(mean)) {
        asc_fail(ctx, ASC_ERR_ARG, "stats_mean: x's values are farther apart than a double holds");
        return NAN;
    }
    if (std) {
        *std = n > 1 ? sqrt(variance_of(x, n, mean)) : NAN;
    }
    return mean;
}

static double largest(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

/* Differences of decimals that are all the same have a deviation of some rounding errors of the scores: no
 * deviation. */
static double effect(double difference, double variance, double rounding)
{
    double deviation = sqrt(variance);
    return deviation > rounding ? difference / deviation : NAN;
}

/* How far rounding may have moved a mean, and a deviation, of d = a - b; where a is b nothing was rounded. */
typedef struct rounding {
    double mean, deviation;
} rounding;

static rounding rounding_of(const double *a, const double *b, int64_t n)
{
    rounding r = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        double each = a[i] == b[i] ? 0 : 8 * DBL_EPSILON * fmax(fabs(a[i]), fabs(b[i]));
        r.mean += each / (double)n;
        r.deviation = hypot(r.deviation, each);
    }
    r.deviation /= sqrt((double)(n > 1 ? n - 1 : 1));
    return r;
}

/* Both in rising order: those of b below and at each a are counted in one walk. */
static double cliff(const double *a, const double *b, int64_t n)
{
    double balance = 0;
    int64_t below = 0, upto = 0;
    for (int64_t i = 0; i < n; i++) {
        while (below < n && b[below] < a[i]) {
            below++;
        }
        while (upto < n && b[upto] <= a[i]) {
            upto++;
        }
        balance += (double)(below - (n - upto));
    }
    return balance / ((double)n * (double)n);
}

static asc_status describe(asc_ctx *ctx, const double *a, const double *b, const double *d, int64_t n,
                           const rounding *apart, asc_pair_stats *r)
{
    double scale = fmax(largest(a, n), largest(b, n));
    r->n = n;
    r->mean_a = mean_of(a, n);
    r->mean_b = mean_of(b, n);
    r->difference = mean_of(d, n);
    double of_d = variance_of(d, n, r->difference);
    double of_both = (variance_of(a, n, r->mean_a) + variance_of(b, n, r->mean_b)) / 2;
    if (!isfinite(r->mean_a + r->mean_b + r->difference) || (n > 1 && !isfinite(of_d + of_both))) {
        return asc_fail(ctx, ASC_ERR_ARG, "stats_pair: values of a and b are farther apart than a double holds");
    }
    r->cohen_dz = effect(r->difference, of_d, apart->deviation);
    r->cohen_d = effect(r->difference, of_both, 8 * DBL_EPSILON * scale);
    return ASC_OK;
}

asc_status asc_stats_pair(asc_ctx *ctx, const double *a, const double *b, int64_t n, const asc_resampling *how,
                          asc_pair_stats *result)
{
    static const asc_resampling defaults = {0};
    how = how ? how : &defaults;
    asc_status status = ASC_NEED(ctx, "stats_pair: a b result", a, b, result);
    status = status ? status : asc_stats_expect(ctx, "stats_pair", "a", a, n, 1);
    status = status ? status : asc_stats_expect(ctx, "stats_pair", "b", b, n, 1);
    if (status) {
        return status;
    }
    if (how->resamples < 0 || how->resamples > 1000000000) {
        return asc_fail(ctx, ASC_ERR_ARG, "stats_pair: resamples is %lld, expected 0 (10,000) to 1e9",
                        (long long)how->resamples);
    }
    size_t bytes = (size_t)n * sizeof *a;
    double *sorted = asc_alloc(ctx, 3 * bytes);
    if (!sorted) {
        return ASC_ERR_MEMORY;
    }
    double *d = sorted + 2 * n;
    memcpy(sorted, a, bytes);
    memcpy(sorted + n, b, bytes);
    for (int64_t i = 0; i < n; i++) {
        d[i] = a[i] - b[i];
    }
    asc_stats_sort(sorted, n);
    asc_stats_sort(sorted + n, n);
    asc_pair_stats r = {.cliff_delta = cliff(sorted, sorted + n, n)};
    rounding apart = rounding_of(a, b, n);
    status = describe(ctx, a, b, d, n, &apart, &r);
    status = status ? status : asc_stats_resample(ctx, d, n, apart.mean, how, &r);
    asc_free(ctx, sorted, 3 * bytes);
    if (!status) {
        *result = r;
    }
    return status;
}
