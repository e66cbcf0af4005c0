/* stats/mcnemar.c: two classifiers on the same items (McNemar 1947). */
#include <math.h>

#include "stats/stats.h"
#include "tensor/need.h"

enum { FEW = 25 }; /* below it the chi-square distribution fits badly */

/* Two-sided, of n tosses of a coin of which k <= n/2 fell on one side: 2 Σ_{i<=k} C(n, i)/2^n, at most 1. */
static double exact_p(int64_t n, int64_t k)
{
    double term = 1, sum = 1;
    for (int64_t i = 1; i <= k; i++) {
        term = term * (double)(n - i + 1) / (double)i; /* C(n, i), a whole number */
        sum += term;
    }
    return fmin(1, ldexp(sum, 1 - (int)n));
}

static void test(asc_mcnemar *r)
{
    int64_t n = r->only_a + r->only_b, least = r->only_a < r->only_b ? r->only_a : r->only_b;
    double apart = fmax(0, (double)(n - 2 * least) - 1);
    r->chi2 = n < FEW ? NAN : apart * apart / (double)n;
    r->p = n < FEW ? exact_p(n, least) : erfc(sqrt(r->chi2 / 2));
}

asc_status asc_stats_mcnemar(asc_ctx *ctx, const uint8_t *a, const uint8_t *b, int64_t n, asc_mcnemar *result)
{
    asc_status status = ASC_NEED(ctx, "stats_mcnemar: a b result", a, b, result);
    if (status) {
        return status;
    }
    if (n < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "stats_mcnemar: n is %lld, expected at least 1", (long long)n);
    }
    asc_mcnemar r = {0};
    for (int64_t i = 0; i < n; i++) {
        r.both += a[i] && b[i];
        r.only_a += a[i] && !b[i];
        r.only_b += !a[i] && b[i];
        r.neither += !a[i] && !b[i];
    }
    test(&r);
    *result = r;
    return ASC_OK;
}
