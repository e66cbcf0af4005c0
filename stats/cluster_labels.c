/* stats/cluster_labels.c: how far clusters are labels, group by group. */
#include <stdlib.h>
#include <string.h>

#include <ascgrad/probe.h>
#include <ascgrad/tensor.h>

#include "stats/stats.h"
#include "tensor/need.h"

typedef struct item {
    int64_t group, place; /* in the caller's arrays */
} item;

typedef struct work {
    asc_ctx *ctx;
    const double *x;
    int64_t d;
    const int64_t *labels;
    const asc_kmeans_options *how;
    double *rows;                        /* [largest, d]: a group's items */
    int64_t *label, *cluster, *shuffled; /* [largest] */
    double items;                        /* clustered so far */
} work;

static int compare(const void *a, const void *b)
{
    const item *s = a, *t = b;
    return s->group != t->group ? (s->group > t->group) - (s->group < t->group)
                                : (s->place > t->place) - (s->place < t->place);
}

/* How many different ones; `spare` is overwritten. */
static int64_t count_labels(const int64_t *label, int64_t n, int64_t *spare)
{
    int64_t different = n > 0;
    memcpy(spare, label, (size_t)n * sizeof *spare);
    qsort(spare, (size_t)n, sizeof *spare, asc_stats_compare_integers);
    for (int64_t i = 1; i < n; i++) {
        different += spare[i] != spare[i - 1];
    }
    return different;
}

/* Adds what one group of n items comes to, times n. */
static void add_group(work *w, const item *items, int64_t n, asc_cluster_result *sum)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(w->rows + i * w->d, w->x + items[i].place * w->d, (size_t)w->d * sizeof *w->x);
        w->label[i] = w->labels[items[i].place];
    }
    int64_t k = count_labels(w->label, n, w->shuffled);
    if (k < 2 || asc_kmeans(w->ctx, w->rows, n, w->d, k, w->how, w->cluster, NULL)) {
        return;
    }
    double nmi[3] = {0}, ari[3] = {0}; /* of the clusters, with shuffled labels, of runs */
    asc_stats_clusters(w->ctx, w->cluster, w->label, n, &nmi[0], &ari[0]);
    memcpy(w->shuffled, w->label, (size_t)n * sizeof *w->shuffled);
    asc_stats_shuffle(w->shuffled, n, w->how ? w->how->seed : 0, (uint64_t)items[0].group);
    asc_stats_clusters(w->ctx, w->cluster, w->shuffled, n, &nmi[1], &ari[1]);
    for (int64_t i = 0; i < n; i++) {
        w->cluster[i] = i * k / n;
    }
    asc_stats_clusters(w->ctx, w->cluster, w->label, n, &nmi[2], &ari[2]);
    sum->groups++;
    w->items += (double)n;
    double *const to[] = {&sum->nmi, &sum->shuffled_nmi, &sum->runs_nmi, &sum->ari, &sum->shuffled_ari, &sum->runs_ari};
    for (int i = 0; i < 6; i++) {
        *to[i] += (double)n * (i < 3 ? nmi[i] : ari[i - 3]);
    }
}

/* The items with labels, group by group; how many. */
static int64_t list_items(const int64_t *labels, const int64_t *groups, int64_t n, item *items)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (labels[i] >= 0) {
            items[kept++] = (item){groups ? groups[i] : 0, i};
        }
    }
    qsort(items, (size_t)kept, sizeof *items, compare);
    return kept;
}

static void add_groups(work *w, const int64_t *groups, int64_t n, asc_cluster_result *sum)
{
    item *items = (item *)(void *)asc_stats_integers(w->ctx, 2 * n);
    w->rows = asc_stats_reals(w->ctx, n * w->d);
    w->label = asc_stats_integers(w->ctx, n);
    w->cluster = asc_stats_integers(w->ctx, n);
    w->shuffled = asc_stats_integers(w->ctx, n);
    int64_t kept = asc_error(w->ctx) ? 0 : list_items(w->labels, groups, n, items);
    for (int64_t i = 0, end; i < kept && !asc_error(w->ctx); i = end) {
        for (end = i + 1; end < kept && items[end].group == items[i].group; end++) {
        }
        add_group(w, items + i, end - i, sum);
    }
}

asc_status asc_cluster_labels(asc_ctx *ctx, const double *x, int64_t n, int64_t d, const int64_t *labels,
                              const int64_t *groups, const asc_kmeans_options *options, asc_cluster_result *result)
{
    asc_status status = ASC_NEED(ctx, "cluster_labels: x labels result", x, labels, result);
    status = status ? status : asc_stats_expect_items(ctx, "cluster_labels", x, n, d);
    if (status) {
        return status;
    }
    work w = {.ctx = ctx, .x = x, .d = d, .labels = labels, .how = options};
    asc_cluster_result sum = {0};
    asc_scope_begin(ctx);
    add_groups(&w, groups, n, &sum);
    asc_scope_end(ctx);
    if (asc_error(ctx) == ASC_OK && sum.groups == 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "cluster_labels: no group has two labels");
    }
    if (asc_error(ctx) == ASC_OK) {
        double *const mean[] = {&sum.nmi, &sum.ari, &sum.shuffled_nmi, &sum.shuffled_ari, &sum.runs_nmi, &sum.runs_ari};
        for (int i = 0; i < 6; i++) {
            *mean[i] /= w.items;
        }
        *result = sum;
    }
    return asc_error(ctx);
}
