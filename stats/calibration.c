/* stats/calibration.c: whether predictions are as often right as they claim. */
#include <math.h>
#include <string.h>

#include "stats/stats.h"
#include "tensor/need.h"

/* The bin ((m-1)/bins, m/bins] of c, from 0. The product may round across a bound; the bounds themselves decide. */
static int bin_of(double c, int bins)
{
    int m = (int)ceil(c * bins);
    m = m < 1 ? 1 : m > bins ? bins : m;
    while (m > 1 && c <= (double)(m - 1) / bins) {
        m--;
    }
    while (m < bins && c > (double)m / bins) {
        m++;
    }
    return m - 1;
}

void asc_bins_add(asc_bin *all, int bins, double confidence, bool right)
{
    asc_bin *b = &all[bin_of(confidence, bins)];
    b->n++;
    b->confidence += confidence;
    b->right += right;
}

double asc_bins_ece(const asc_bin *all, int bins, double *accuracy)
{
    double n = 0, right = 0, sum = 0;
    for (int m = 0; m < bins; m++) {
        n += all[m].n;
        right += all[m].right;
        sum += fabs(all[m].right - all[m].confidence); /* |B| |accuracy - confidence| */
    }
    *accuracy = right / n;
    return sum / n;
}

asc_status asc_stats_calibration(asc_ctx *ctx, const double *confidence, const uint8_t *correct, int64_t n, int bins,
                                 double *ece, double *accuracy)
{
    asc_status status =
        ASC_NEED(ctx, "stats_calibration: confidence correct ece accuracy", confidence, correct, ece, accuracy);
    status = status ? status : asc_stats_expect(ctx, "stats_calibration", "confidence", confidence, n, 1);
    if (status) {
        return status;
    }
    if (bins < 1 || bins > 1000000) {
        return asc_fail(ctx, ASC_ERR_ARG, "stats_calibration: bins is %d, expected 1 to 1000000", bins);
    }
    for (int64_t i = 0; i < n; i++) {
        if (confidence[i] < 0 || confidence[i] > 1) {
            return asc_fail(ctx, ASC_ERR_ARG, "stats_calibration: confidence[%lld] is %g, expected 0 to 1",
                            (long long)i, confidence[i]);
        }
    }
    asc_bin *all = asc_alloc(ctx, (size_t)bins * sizeof *all);
    if (!all) {
        return ASC_ERR_MEMORY;
    }
    memset(all, 0, (size_t)bins * sizeof *all);
    for (int64_t i = 0; i < n; i++) {
        asc_bins_add(all, bins, confidence[i], correct[i] != 0);
    }
    *ece = asc_bins_ece(all, bins, accuracy);
    asc_free(ctx, all, (size_t)bins * sizeof *all);
    return ASC_OK;
}
