/* stats/stats.h: what the statistics' files share. */
#ifndef STATS_STATS_H
#define STATS_STATS_H

#include <ascgrad/stats.h>

/* x[n] is there, n is at least `least`, and every value is finite. `function` and `name` are for the message. */
asc_status asc_stats_expect(asc_ctx *ctx, const char *function, const char *name, const double *x, int64_t n,
                            int64_t least);
/* The same of x[n, d], of at least one item of one number. */
asc_status asc_stats_expect_items(asc_ctx *ctx, const char *function, const double *x, int64_t n, int64_t d);

/* n numbers, all 0, of the scope; NULL with the error set. */
double *asc_stats_reals(asc_ctx *ctx, int64_t n);
int64_t *asc_stats_integers(asc_ctx *ctx, int64_t n);
/* Of two int64_t, for qsort and bsearch. */
int asc_stats_compare_integers(const void *a, const void *b);

/* A number on [0, 1) for each (seed, stream, draw), by Philox. */
double asc_stats_uniform(uint64_t seed, uint64_t stream, uint64_t draw);
/* A random order of x[n] (Fisher and Yates 1938), the same for the same (seed, stream). */
void asc_stats_shuffle(int64_t *x, int64_t n, uint64_t seed, uint64_t stream);

/* Rising order. */
void asc_stats_sort(double *x, int64_t n);

/* The median of x[n], which it puts in order; NaN of nothing. */
double asc_median(double *x, int64_t n);

/* The share p of the way through x[n], in rising order, between two values in proportion. */
double asc_stats_percentile(const double *x, int64_t n, double p);

/* Up to so many items all patterns of signs are tried; and the number of resamples where none is given. */
enum { ASC_EXACT_ITEMS = 12, ASC_RESAMPLES = 10000 };

/* Fills in the interval and both p of the paired differences d[n], whose mean is result->difference and may be
 * as far off as `rounding`. */
asc_status asc_stats_resample(asc_ctx *ctx, const double *d, int64_t n, double rounding, const asc_resampling *how,
                              asc_pair_stats *result);

/* Predictions by their confidence: bin m, from 0, has those in (m/bins, (m+1)/bins], the first 0, too. */
typedef struct asc_bin {
    double n, confidence, right; /* how many, the sum of their confidences, and how many are right */
} asc_bin;

void asc_bins_add(asc_bin *all, int bins, double confidence, bool right);

/* The expected calibration error, and *accuracy; NaN where nothing was added. */
double asc_bins_ece(const asc_bin *all, int bins, double *accuracy);

#endif
