/* stats/kmeans.c: k-means: items go to the nearest centre, centres to the mean of their items, until nothing moves
 * (Lloyd 1982). The first centres are items, each drawn with a probability in proportion to its squared distance from
 * those before it (k-means++, Arthur and Vassilvitskii 2007). */
#include <math.h>
#include <string.h>

#include <ascgrad/probe.h>
#include <ascgrad/tensor.h>

#include "stats/stats.h"
#include "tensor/need.h"

enum { ITEMS_A_PIECE = 128 };

typedef struct job {
    asc_ctx *ctx;
    const double *x;
    int64_t n, d, k, known; /* known: so many centres are where they were when `distance` was last measured */
    double *centre;   /* [k, d] */
    double *distance; /* [n], squared, from the nearest centre */
    int64_t *cluster; /* [n] */
    int64_t *size;    /* [k] */
} job;

static double square_distance(const double *x, const double *y, int64_t d)
{
    double sum = 0;
    for (int64_t i = 0; i < d; i++) {
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return sum;
}

/* The nearest of the centres, the first of several. */
static void assign_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t end = (piece + 1) * ITEMS_A_PIECE < j->n ? (piece + 1) * ITEMS_A_PIECE : j->n;
    for (int64_t i = piece * ITEMS_A_PIECE; i < end; i++) {
        double least = j->known > 0 ? j->distance[i] : INFINITY;
        for (int64_t c = j->known; c < j->k; c++) {
            double distance = square_distance(j->x + i * j->d, j->centre + c * j->d, j->d);
            if (distance < least) {
                least = distance;
                j->cluster[i] = c;
            }
        }
        j->distance[i] = least;
    }
}

/* Puts all items to centres; returns the sum of their squared distances. */
static double assign(job *j)
{
    asc_parallel(j->ctx, (j->n + ITEMS_A_PIECE - 1) / ITEMS_A_PIECE, assign_piece, j);
    double sum = 0;
    for (int64_t i = 0; i < j->n; i++) {
        sum += j->distance[i];
    }
    return sum;
}

static void put_centre(job *j, int64_t c, int64_t item)
{
    memcpy(j->centre + c * j->d, j->x + item * j->d, (size_t)j->d * sizeof *j->x);
}

/* Where the running sum of the distances passes u; the last item with one, if rounding leads beyond. */
static int64_t drawn_item(const job *j, double u)
{
    double sum = 0;
    int64_t item = 0;
    for (int64_t i = 0; i < j->n && sum <= u; i++) {
        sum += j->distance[i];
        item = j->distance[i] > 0 ? i : item;
    }
    return item;
}

/* The first centre is any item; a later one is drawn by the distances from those before it. */
static void seed_centres(job *j, uint64_t seed, uint64_t restart)
{
    int64_t k = j->k;
    put_centre(j, 0, (int64_t)(asc_stats_uniform(seed, restart, 0) * (double)j->n));
    for (int64_t c = 1; c < k; c++) {
        j->known = c - 1;
        j->k = c;
        double sum = assign(j);
        put_centre(j, c, drawn_item(j, asc_stats_uniform(seed, restart, (uint64_t)c) * sum));
    }
    j->known = 0;
    j->k = k;
}

/* Centres become the means of their items; one without items goes to the item that is farthest from its own. */
static void move_centres(job *j)
{
    memset(j->centre, 0, (size_t)(j->k * j->d) * sizeof *j->centre);
    memset(j->size, 0, (size_t)j->k * sizeof *j->size);
    for (int64_t i = 0; i < j->n; i++) {
        double *centre = j->centre + j->cluster[i] * j->d;
        j->size[j->cluster[i]]++;
        for (int64_t e = 0; e < j->d; e++) {
            centre[e] += j->x[i * j->d + e];
        }
    }
    for (int64_t c = 0; c < j->k; c++) {
        int64_t far = 0;
        for (int64_t i = 1; i < j->n && j->size[c] == 0; i++) {
            far = j->distance[i] > j->distance[far] ? i : far;
        }
        for (int64_t e = 0; e < j->d && j->size[c] > 0; e++) {
            j->centre[c * j->d + e] /= (double)j->size[c];
        }
        if (j->size[c] == 0) {
            put_centre(j, c, far);
            j->distance[far] = 0; /* no second centre there */
        }
    }
}

static double run(job *j, uint64_t seed, uint64_t restart, int64_t iterations)
{
    seed_centres(j, seed, restart);
    double inertia = assign(j);
    for (int64_t i = 0; i < iterations; i++) {
        move_centres(j);
        double now = assign(j);
        if (!(now < inertia)) {
            return now;
        }
        inertia = now;
    }
    return inertia;
}

static asc_status check(asc_ctx *ctx, const double *x, int64_t n, int64_t d, int64_t k,
                        const asc_kmeans_options *options, const int64_t *cluster)
{
    asc_status status = ASC_NEED(ctx, "kmeans: x cluster", x, cluster);
    status = status ? status : asc_stats_expect_items(ctx, "kmeans", x, n, d);
    if (!status && (k < 1 || k > n || options->restarts < 0 || options->iterations < 0)) {
        status = asc_fail(ctx, ASC_ERR_ARG, "kmeans: got %lld clusters of %lld items, %lld restarts and %lld "
                          "iterations, expected at least 1 and no more than items, 0 and 0", (long long)k,
                          (long long)n, (long long)options->restarts, (long long)options->iterations);
    }
    return status;
}

asc_status asc_kmeans(asc_ctx *ctx, const double *x, int64_t n, int64_t d, int64_t k,
                      const asc_kmeans_options *given, int64_t *cluster, double *inertia)
{
    asc_kmeans_options o = given ? *given : (asc_kmeans_options){0};
    asc_status status = check(ctx, x, n, d, k, &o, cluster);
    if (status) {
        return status;
    }
    asc_scope_begin(ctx);
    job j = {.ctx = ctx, .x = x, .n = n, .d = d, .k = k,
             .centre = asc_stats_reals(ctx, k * d), .distance = asc_stats_reals(ctx, n),
             .cluster = asc_stats_integers(ctx, n), .size = asc_stats_integers(ctx, k)};
    double best = INFINITY;
    int64_t restarts = o.restarts ? o.restarts : 4;
    for (int64_t r = 0; r < restarts && !asc_error(ctx); r++) {
        double found = run(&j, o.seed, (uint64_t)r, o.iterations ? o.iterations : 100);
        if (r == 0 || found < best) {
            best = found;
            memcpy(cluster, j.cluster, (size_t)n * sizeof *cluster);
        }
    }
    if (inertia && !asc_error(ctx)) {
        *inertia = best;
    }
    asc_scope_end(ctx);
    return asc_error(ctx);
}
