/*
 * ascgrad/probe.h: what is in features, as a linear probe or clusters find it, against labels. asc_lm_features
 * (ascgrad/nn.h) gives those of a model: hidden states, attention, places, Plücker coordinates.
 *
 *     asc_probe_result r;
 *     asc_probe_labels(ctx, x, n, d, labels, NULL, &r);       x[n, d], row by row; labels[n]
 *     printf("%g held out, %g with shuffled labels\n", r.score, r.shuffled);
 *
 * Results depend on the arguments and the seed alone, not on the number of threads. All functions: numbers that are not
 * finite, NULL where an array or a result is expected, and sizes below those stated are ASC_ERR_ARG; ASC_ERR_MEMORY.
 */
#ifndef ASCGRAD_PROBE_H
#define ASCGRAD_PROBE_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a linear probe ---- */

typedef struct asc_probe_options {
    double held_out;       /* share of the items that are predicted and not fitted to, below 1; 0: a quarter */
    double ridge;          /* penalty, relative to the number of items fitted to; 0: 1e-2 */
    int64_t shuffles;      /* how often the labels fitted to are shuffled; 0: 10 */
    uint64_t seed;
    const int64_t *groups; /* [n]: items of one group, as the tokens of a block, are held out together; NULL: each item
                            * is its own */
} asc_probe_options;

typedef struct asc_probe_result {
    int64_t fitted, held_out, classes;
    double score;        /* on the items held out: accuracy of labels, R² of values … */
    double chance;       /* … of always the commonest label of those fitted to, or always their mean … */
    double shuffled;     /* … and its mean where the labels fitted to were shuffled … */
    double shuffled_std; /* … and its sample deviation; NaN of one shuffle */
} asc_probe_result;

/* How well labels[n] follow from x[n, d] by ridge regression on one indicator a label (Hoerl and Kennard 1970; Alain
 * and Bengio 2017 for probes), features standardised by the items fitted to, 10 deviations at most; the label with the
 * largest value is predicted. Items whose label is negative are left out. ASC_ERR_ARG too where less than two labels
 * are left, or no item is held out or fitted to. Cost O(n d² + d³ + s c (n d + d²)) for c
 * labels and s shuffles, memory O(n (d + c) + d²). */
ASC_API asc_status asc_probe_labels(asc_ctx *ctx, const double *x, int64_t n, int64_t d, const int64_t *labels,
                                    const asc_probe_options *options, asc_probe_result *result);

/* The same of values[n]: score is R² = 1 - Σ (y - ŷ)²/Σ (y - ȳ)² over the items held out, ȳ their own mean; classes is
 * 0. ASC_ERR_ARG too where those are all alike. */
ASC_API asc_status asc_probe_values(asc_ctx *ctx, const double *x, int64_t n, int64_t d, const double *values,
                                    const asc_probe_options *options, asc_probe_result *result);

/* ---- clusters ---- */

typedef struct asc_kmeans_options {
    int64_t restarts;   /* the best of so many is taken; 0: 4 */
    int64_t iterations; /* at most, each time; 0: 100 */
    uint64_t seed;
} asc_kmeans_options;

/* Cuts x[n, d] in k <= n clusters, cluster[i] of item i is 0 … k-1 (Lloyd 1982, from centres of k-means++, Arthur and
 * Vassilvitskii 2007). *inertia, unless NULL, becomes the sum of squared distances to the centres. Cost
 * O(restarts iterations n k d). */
ASC_API asc_status asc_kmeans(asc_ctx *ctx, const double *x, int64_t n, int64_t d, int64_t k,
                              const asc_kmeans_options *options, int64_t *cluster, double *inertia);

typedef struct asc_cluster_result {
    int64_t groups;                   /* that were clustered */
    double nmi, ari;                  /* asc_stats_clusters', the mean over groups, each by its number of items … */
    double shuffled_nmi, shuffled_ari; /* … those of the same clusters with labels shuffled within the groups … */
    double runs_nmi, runs_ari;         /* … and those of as many runs of one length, in the items' order */
} asc_cluster_result;

/* How far clusters of x[n, d] are labels[n]: each group of items (NULL: all are one) is cut by asc_kmeans in as many
 * clusters as it has labels. Negative labels are left out, and groups with less than two labels. ASC_ERR_ARG too where
 * no group is left. NMI is above 0 by chance where a label has few items: the shuffled one says by how much; and where
 * labels stand in runs, as sentences do, whatever changes slowly finds them: so do runs of one length. */
ASC_API asc_status asc_cluster_labels(asc_ctx *ctx, const double *x, int64_t n, int64_t d, const int64_t *labels,
                                      const int64_t *groups, const asc_kmeans_options *options,
                                      asc_cluster_result *result);

#ifdef __cplusplus
}
#endif
#endif
