/*
 * ascgrad/stats.h: are two systems different, and by how much: paired tests, effect sizes, calibration, clusters;
 * and what pictures of runs are made of.
 *
 *     asc_pair_stats s;
 *     asc_stats_pair(ctx, a, b, n, NULL, &s);       a[i], b[i]: what systems a and b scored on item i
 *     printf("%g [%g, %g], p %g\n", s.difference, s.ci_low, s.ci_high, s.p_bootstrap);
 *
 * Items are what both systems were scored on: blocks of tokens, sentences. They stand for the items that might have
 * been drawn, and for nothing else: not for another seed's training.
 *
 * All functions: numbers that are not finite, NULL where an array or a result is expected, and sizes below those stated
 * are ASC_ERR_ARG; nothing is written then. ASC_ERR_MEMORY.
 */
#ifndef ASCGRAD_STATS_H
#define ASCGRAD_STATS_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_resampling {
    int64_t resamples; /* 0: 10,000 */
    uint64_t seed;
} asc_resampling;

typedef struct asc_pair_stats {
    int64_t n;
    double mean_a, mean_b;
    double difference;      /* Δ = mean_a - mean_b */
    double ci_low, ci_high; /* the interval of Δ: percentiles 2.5 and 97.5 of the bootstrap's, interpolated */
    double p_bootstrap, p_randomization; /* two-sided */
    double cohen_dz;    /* Δ/sd(d); NaN where the deviation is 0 … */
    double cohen_d;     /* Δ/√((s_a² + s_b²)/2); … but for rounding, or n is 1 */
    double cliff_delta; /* (#{a_i > b_j} - #{a_i < b_j})/n² */
} asc_pair_stats;

/* Compares n >= 1 paired scores, d_i = a_i - b_i, with R resamples (`how` NULL: all defaults):
 *
 *   paired bootstrap           items drawn with replacement; p = (1 + #{|Δ* - Δ| >= |Δ|})/(R + 1)
 *   approximate randomisation  a_i, b_i change places with probability ½; p = (1 + #{|Δ*| >= |Δ|})/(R + 1); all 2^n
 *                              patterns where n <= 12, p their share (Noreen 1989)
 *
 * Deviations are those of samples. Differences within rounding count as equal. An item is drawn with a probability that
 * is right to n/2^32. The same for any number of threads. Cost O(R n + n log n), memory O(R + n). Sources: Efron and
 * Tibshirani 1993; Cohen 1988; Cliff 1993. */
ASC_API asc_status asc_stats_pair(asc_ctx *ctx, const double *a, const double *b, int64_t n, const asc_resampling *how,
                                  asc_pair_stats *result);

/* Two classifiers on the same items. */
typedef struct asc_mcnemar {
    int64_t both, only_a, only_b, neither; /* how many items both get right, a alone … */
    double chi2; /* (|only_a - only_b| - 1)²/(only_a + only_b), 0 where they are equal; NaN where p is exact */
    double p;    /* two-sided */
} asc_mcnemar;

/* McNemar's test: whether two classifiers are right equally often; a[i], b[i] of n >= 1 items are 0 where they are
 * wrong. Only the items count that one of them alone gets right. Fewer than 25 of these: p is exact, from the binomial
 * distribution, 1 where there is none; else from chi-square with one degree of freedom, with the correction for
 * continuity (Edwards 1948). Source: McNemar 1947. */
ASC_API asc_status asc_stats_mcnemar(asc_ctx *ctx, const uint8_t *a, const uint8_t *b, int64_t n, asc_mcnemar *result);

/* The mean of n >= 1 values; *std, unless NULL, becomes their sample deviation, NaN for n = 1, infinite where its
 * square is more than a double holds. NaN with the error set. */
ASC_API double asc_stats_mean(asc_ctx *ctx, const double *x, int64_t n, double *std);

/* *low to *high has the mean of what x[n] is a sample of with probability p, as 0.95, by Student's t: for values that
 * are normally distributed. Both NaN for n = 1. */
ASC_API asc_status asc_stats_interval(asc_ctx *ctx, const double *x, int64_t n, double p, double *low, double *high);

/* adjusted[n] = p[n], each on [0, 1], for n >= 0 comparisons that are made together (Holm 1979): in rising order the
 * i-th of n, from 0, is the largest of min(1, (n - i) p) so far. May be p itself. */
ASC_API asc_status asc_stats_holm(asc_ctx *ctx, const double *p, int64_t n, double *adjusted);

/* How well confidences fit: of n >= 1 predictions with confidence[i] on [0, 1], right where correct[i] is not 0,
 * *accuracy is the share of right ones, and *ece = Σ_m |B_m|/n |accuracy of B_m - mean confidence of B_m| over `bins`
 * >= 1 bins ((m-1)/bins, m/bins], 0 in the first. Guo et al. 2017. */
ASC_API asc_status asc_stats_calibration(asc_ctx *ctx, const double *confidence, const uint8_t *correct, int64_t n,
                                         int bins, double *ece, double *accuracy);

/* How far two labellings of n >= 1 items agree: *nmi, the mutual information over the arithmetic mean of the entropies,
 * 1 where both have one label only; *ari, the Rand index adjusted for chance (Hubert and Arabie 1985). Labels are any
 * numbers. O(n log n). */
ASC_API asc_status asc_stats_clusters(asc_ctx *ctx, const int64_t *x, const int64_t *y, int64_t n, double *nmi,
                                      double *ari);

/* ---- for pictures of runs ---- */

/* smooth[n] of a noisy series x[n], n >= 0: s_i = w s_{i-1} + (1 - w) x_i from s = 0, divided by 1 - w^i so that the
 * beginning is not drawn towards 0; 0 <= weight < 1. May be x itself. */
ASC_API asc_status asc_stats_smooth(asc_ctx *ctx, const double *x, int64_t n, double weight, double *smooth);

/* A curve's points: n >= 1, x never falling. */
typedef struct asc_curve {
    const double *x, *y;
    int64_t n;
} asc_curve;

/* The mean over n >= 1 curves at each of m >= 0 places at[m], and their sample deviation, NaN for one curve. A curve
 * that has no point at a place is taken on the straight line between its neighbours; where one of them has begun too
 * late or ended before, mean and deviation are NaN. O(n m log points). */
ASC_API asc_status asc_stats_band(asc_ctx *ctx, const asc_curve *curves, int64_t n, const double *at, int64_t m,
                                  double *mean, double *std);

/* on_front[i] becomes 1 where none of the n >= 0 others is better than i in cost or in loss and no worse in the other,
 * both to be small (the Pareto front), else 0. O(n²). */
ASC_API asc_status asc_stats_front(asc_ctx *ctx, const double *cost, const double *loss, int64_t n, uint8_t *on_front);

#ifdef __cplusplus
}
#endif
#endif
