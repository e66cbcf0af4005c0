/* stats/clusters.c: how far two labellings of the same items agree. With n_ij items labelled i by one and j by the
 * other, a_i = Σ_j n_ij, b_j = Σ_i n_ij and H the entropy in nats,
 *
 *   NMI = (H(a) + H(b) - H(n_ij)) / ((H(a) + H(b))/2)
 *   ARI = (Σ C(n_ij, 2) - E)/((Σ C(a_i, 2) + Σ C(b_j, 2))/2 - E),  E = Σ C(a_i, 2) Σ C(b_j, 2)/C(n, 2) */
#include <math.h>
#include <stdlib.h>

#include "stats/stats.h"
#include "tensor/need.h"

typedef struct item {
    int64_t x, y;
} item;

static int compare(const void *a, const void *b)
{
    const item *s = a, *t = b;
    return s->x != t->x ? (s->x > t->x) - (s->x < t->x) : (s->y > t->y) - (s->y < t->y);
}

/* Of groups of equal items: the entropy, and the number of pairs within groups. */
typedef struct groups {
    double entropy, pairs;
    int64_t number;
} groups;

static groups group(item *all, int64_t n)
{
    groups g = {0};
    qsort(all, (size_t)n, sizeof *all, compare);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare(&all[i], &all[end]) == 0; end++) {
        }
        double size = (double)(end - i), part = size / (double)n;
        g.entropy -= part * log(part);
        g.pairs += size * (size - 1) / 2;
        g.number++;
    }
    return g;
}

asc_status asc_stats_clusters(asc_ctx *ctx, const int64_t *x, const int64_t *y, int64_t n, double *nmi, double *ari)
{
    asc_status status = ASC_NEED(ctx, "stats_clusters: x y nmi ari", x, y, nmi, ari);
    if (status) {
        return status;
    }
    if (n < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "stats_clusters: x has %lld labels, expected at least 1", (long long)n);
    }
    item *all = asc_alloc(ctx, (size_t)n * sizeof *all);
    if (!all) {
        return ASC_ERR_MEMORY;
    }
    groups of[3];
    for (int which = 0; which < 3; which++) {
        for (int64_t i = 0; i < n; i++) {
            all[i] = (item){which == 1 ? 0 : x[i], which == 0 ? 0 : y[i]};
        }
        of[which] = group(all, n);
    }
    asc_free(ctx, all, (size_t)n * sizeof *all);
    const groups *a = &of[0], *b = &of[1], *both = &of[2];
    double mutual = a->entropy + b->entropy - both->entropy, mean = (a->entropy + b->entropy) / 2;
    bool same = both->number == a->number && both->number == b->number; /* labels aside */
    double pairs = (double)n * (double)(n - 1) / 2, expected = n > 1 ? a->pairs * b->pairs / pairs : 0;
    double most = (a->pairs + b->pairs) / 2;
    *nmi = same ? 1 : fmin(1, fmax(0, mutual / mean));
    *ari = same ? 1 : (both->pairs - expected) / (most - expected);
    return ASC_OK;
}
