/* stats/curves.c: curves made smooth, bands over several of them, Pareto fronts. */
#include <math.h>

#include "stats/stats.h"
#include "tensor/need.h"

asc_status asc_stats_smooth(asc_ctx *ctx, const double *x, int64_t n, double weight, double *smooth)
{
    asc_status status = ASC_NEED(ctx, "stats_smooth: x smooth", asc_unless_empty(x, n), asc_unless_empty(smooth, n));
    status = status ? status : asc_stats_expect(ctx, "stats_smooth", "x", x, n, 0);
    if (status) {
        return status;
    }
    if (!(weight >= 0 && weight < 1)) {
        return asc_fail(ctx, ASC_ERR_ARG, "stats_smooth: weight is %g, expected 0 or more and below 1", weight);
    }
    double state = 0, left = 1; /* w^i */
    for (int64_t i = 0; i < n; i++) {
        state = weight * state + (1 - weight) * x[i];
        left *= weight;
        smooth[i] = state / (1 - left);
    }
    return ASC_OK;
}

/* ---- bands ---- */

static asc_status check_curves(asc_ctx *ctx, const asc_curve *curves, int64_t n)
{
    if (n < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "stats_band: n is %lld, expected 1 or more", (long long)n);
    }
    for (int64_t c = 0; c < n; c++) {
        const asc_curve *curve = &curves[c];
        asc_status status = ASC_NEED(ctx, "stats_band: x y", curve->x, curve->y);
        status = status ? status : asc_stats_expect(ctx, "stats_band", "x", curve->x, curve->n, 1);
        status = status ? status : asc_stats_expect(ctx, "stats_band", "y", curve->y, curve->n, 1);
        for (int64_t i = 1; !status && i < curve->n; i++) {
            if (curve->x[i] < curve->x[i - 1]) {
                status =
                    asc_fail(ctx, ASC_ERR_ARG, "stats_band: x[%lld] of curve %lld is %g after %g, expected to rise",
                             (long long)i, (long long)c, curve->x[i], curve->x[i - 1]);
            }
        }
        if (status) {
            return status;
        }
    }
    return ASC_OK;
}

/* The curve at x; NaN before its first and behind its last point. */
static double value_at(const asc_curve *c, double x)
{
    if (!(x >= c->x[0] && x <= c->x[c->n - 1])) {
        return NAN;
    }
    int64_t low = 0, high = c->n - 1; /* x[low] <= x <= x[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(c->x[middle] <= x ? &low : &high) = middle;
    }
    if (x == c->x[high] || c->x[high] == c->x[low]) {
        return c->y[high];
    }
    double part = (x - c->x[low]) / (c->x[high] - c->x[low]);
    return c->y[low] + part * (c->y[high] - c->y[low]);
}

asc_status asc_stats_band(asc_ctx *ctx, const asc_curve *curves, int64_t n, const double *at, int64_t m, double *mean,
                          double *std)
{
    asc_status status = ASC_NEED(ctx, "stats_band: curves at mean std", curves, asc_unless_empty(at, m),
                                 asc_unless_empty(mean, m), asc_unless_empty(std, m));
    status = status ? status : asc_stats_expect(ctx, "stats_band", "at", at, m, 0);
    status = status ? status : check_curves(ctx, curves, n);
    for (int64_t i = 0; !status && i < m; i++) {
        double sum = 0, squares = 0;
        for (int64_t c = 0; c < n; c++) {
            sum += value_at(&curves[c], at[i]);
        }
        mean[i] = sum / (double)n;
        for (int64_t c = 0; c < n; c++) {
            double off = value_at(&curves[c], at[i]) - mean[i];
            squares += off * off;
        }
        std[i] = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
    }
    return status;
}

/* ---- fronts ---- */

asc_status asc_stats_front(asc_ctx *ctx, const double *cost, const double *loss, int64_t n, uint8_t *on_front)
{
    asc_status status = ASC_NEED(ctx, "stats_front: cost loss on_front", asc_unless_empty(cost, n),
                                 asc_unless_empty(loss, n), asc_unless_empty(on_front, n));
    status = status ? status : asc_stats_expect(ctx, "stats_front", "cost", cost, n, 0);
    status = status ? status : asc_stats_expect(ctx, "stats_front", "loss", loss, n, 0);
    for (int64_t i = 0; !status && i < n; i++) {
        on_front[i] = 1;
        for (int64_t j = 0; j < n && on_front[i]; j++) {
            bool better = cost[j] < cost[i] || loss[j] < loss[i];
            on_front[i] = !(better && cost[j] <= cost[i] && loss[j] <= loss[i]);
        }
    }
    return status;
}
