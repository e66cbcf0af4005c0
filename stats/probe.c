/* stats/probe.c: a linear probe: how well labels or values follow from features, on items that were held out, beside
 * the same with the labels that were fitted to shuffled. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/probe.h>
#include <ascgrad/tensor.h>

#include "stats/probe_fit.h"
#include "stats/stats.h"
#include "tensor/need.h"

enum { SPLIT, SHUFFLES }; /* streams of the seed: the split, then each shuffle */

/* ---- which items are held out ---- */

typedef struct item {
    double key;           /* a random number, one a group */
    int64_t group, place; /* in the caller's arrays */
} item;

static int compare(const void *a, const void *b)
{
    const item *s = a, *t = b;
    return s->key != t->key       ? (s->key > t->key) - (s->key < t->key)
           : s->group != t->group ? (s->group > t->group) - (s->group < t->group)
                                  : (s->place > t->place) - (s->place < t->place);
}

/* The groups in a random order; the last ones, about `share` of the n items, are held out: returns where they
 * begin. */
static int64_t split(item *items, int64_t n, double share)
{
    qsort(items, (size_t)n, sizeof *items, compare);
    int64_t begin = n, most = llround(share * (double)n);
    for (int64_t i = n - 1; i > 0; i--) {
        if (items[i].group != items[i - 1].group) {
            begin = n - i <= most || begin == n ? i : begin; /* one group at least */
        }
    }
    return begin;
}

/* ---- a probe ---- */

typedef struct probe {
    asc_fit fit;
    asc_probe_options o;
    int64_t *place;  /* [fit.n] in the caller's arrays */
    int64_t *target; /* [fit.n]: which of the labels, or which item's value; what is shuffled */
    const double *values; /* of the caller, or NULL: labels */
    int64_t classes;      /* 1 for values */
    double *t, *p;        /* [n_fit, classes], [n - n_fit, classes] */
} probe;

static asc_status check(asc_ctx *ctx, const char *function, const double *x, int64_t n, int64_t d,
                        const asc_probe_options *o)
{
    if (!(o->held_out >= 0 && o->held_out < 1) || !(o->ridge >= 0) || o->shuffles < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: got held_out %g, ridge %g and %lld shuffles, expected a share below 1, "
                        "0 and 0 or more", function, o->held_out, o->ridge, (long long)o->shuffles);
    }
    return asc_stats_expect_items(ctx, function, x, n, d);
}

/* Lays out the items that have a label, those to fit to first, and factors their features. */
static asc_status begin(probe *b, asc_ctx *ctx, const double *x, int64_t n, int64_t d, const int64_t *labels)
{
    int64_t kept = 0;
    item *items = (item *)(void *)asc_stats_integers(ctx, 3 * n);
    for (int64_t i = 0; items && i < n; i++) {
        int64_t group = b->o.groups ? b->o.groups[i] : i;
        if (!labels || labels[i] >= 0) {
            items[kept++] = (item){asc_stats_uniform(b->o.seed, SPLIT, (uint64_t)group), group, i};
        }
    }
    b->fit = (asc_fit){.ctx = ctx, .n = kept, .d = d, .n_fit = items ? split(items, kept, b->o.held_out) : 0};
    if (items && (b->fit.n_fit == 0 || b->fit.n_fit == kept)) {
        return asc_fail(ctx, ASC_ERR_ARG, "probe: %lld items in one group: none can be held out", (long long)kept);
    }
    b->fit.z = asc_stats_reals(ctx, kept * d);
    b->place = asc_stats_integers(ctx, kept);
    b->target = asc_stats_integers(ctx, kept);
    for (int64_t i = 0; !asc_error(ctx) && i < kept; i++) {
        b->place[i] = items[i].place;
        memcpy(b->fit.z + i * d, x + b->place[i] * d, (size_t)d * sizeof *x);
    }
    return asc_error(ctx) ? asc_error(ctx) : asc_fit_prepare(&b->fit, b->o.ridge);
}

static void put_targets(const probe *b)
{
    for (int64_t i = 0; i < b->fit.n_fit; i++) {
        if (b->values) {
            b->t[i] = b->values[b->target[i]];
        } else {
            memset(b->t + i * b->classes, 0, (size_t)b->classes * sizeof *b->t);
            b->t[i * b->classes + b->target[i]] = 1;
        }
    }
}

/* The share of the items held out whose largest prediction, the first of several, is their label's. */
static double accuracy(const probe *b)
{
    int64_t out = b->fit.n - b->fit.n_fit, right = 0;
    for (int64_t i = 0; i < out; i++) {
        const double *p = b->p + i * b->classes;
        int64_t best = 0;
        for (int64_t c = 1; c < b->classes; c++) {
            best = p[c] > p[best] ? c : best;
        }
        right += best == b->target[b->fit.n_fit + i];
    }
    return (double)right / (double)out;
}

/* 1 - Σ (y - p)²/Σ (y - ȳ)² over the items held out; NaN where those are alike, but for rounding. */
static double r_squared(const probe *b)
{
    int64_t out = b->fit.n - b->fit.n_fit;
    const int64_t *target = b->target + b->fit.n_fit;
    double mean = 0, missed = 0, spread = 0, size = 0;
    for (int64_t i = 0; i < out; i++) {
        mean += b->values[target[i]] / (double)out;
    }
    for (int64_t i = 0; i < out; i++) {
        double y = b->values[target[i]];
        missed += (y - b->p[i]) * (y - b->p[i]);
        spread += (y - mean) * (y - mean);
        size += y * y;
    }
    return spread > 1e-24 * size ? 1 - missed / spread : NAN;
}

static double score(const probe *b)
{
    put_targets(b);
    if (asc_fit_predict(&b->fit, b->t, b->classes, b->p)) {
        return NAN;
    }
    return b->values ? r_squared(b) : accuracy(b);
}

/* What one gets by always saying the same: the commonest label, or the mean, of the items fitted to. */
static double chance(const probe *b)
{
    int64_t out = b->fit.n - b->fit.n_fit;
    put_targets(b);
    for (int64_t c = 0; c < b->classes; c++) {
        double mean = 0;
        for (int64_t i = 0; i < b->fit.n_fit; i++) {
            mean += b->t[i * b->classes + c] / (double)b->fit.n_fit;
        }
        for (int64_t i = 0; i < out; i++) {
            b->p[i * b->classes + c] = mean;
        }
    }
    return b->values ? r_squared(b) : accuracy(b);
}

static asc_status finish(probe *b, asc_probe_result *result)
{
    asc_ctx *ctx = b->fit.ctx;
    int64_t n = b->fit.n, shuffles = b->o.shuffles;
    b->t = asc_stats_reals(ctx, b->fit.n_fit * b->classes);
    b->p = asc_stats_reals(ctx, (n - b->fit.n_fit) * b->classes);
    double *shuffled = asc_stats_reals(ctx, shuffles);
    if (!b->t || !b->p || !shuffled) {
        return asc_error(ctx);
    }
    asc_probe_result r = {.fitted = b->fit.n_fit, .held_out = n - b->fit.n_fit, .classes = b->values ? 0 : b->classes};
    r.chance = chance(b);
    r.score = score(b);
    for (int64_t s = 0; s < shuffles && !asc_error(ctx); s++) {
        asc_scope_begin(ctx);
        asc_stats_shuffle(b->target, b->fit.n_fit, b->o.seed, (uint64_t)(SHUFFLES + s));
        shuffled[s] = score(b);
        asc_scope_end(ctx);
    }
    if (asc_error(ctx) == ASC_OK && isnan(r.score)) {
        return asc_fail(ctx, ASC_ERR_ARG, "probe_values: the values held out are all alike");
    }
    r.shuffled = asc_error(ctx) ? NAN : asc_stats_mean(ctx, shuffled, shuffles, &r.shuffled_std);
    if (asc_error(ctx) == ASC_OK) {
        *result = r;
    }
    return asc_error(ctx);
}

static asc_probe_options defaults(const asc_probe_options *given)
{
    asc_probe_options o = given ? *given : (asc_probe_options){0};
    o.held_out = o.held_out == 0 ? .25 : o.held_out;
    o.ridge = o.ridge == 0 ? 1e-2 : o.ridge;
    o.shuffles = o.shuffles == 0 ? 10 : o.shuffles;
    return o;
}

/* ---- labels ---- */

/* The items' labels as numbers 0 … classes-1, in the labels' order. */
static asc_status number_labels(probe *b, const int64_t *labels)
{
    int64_t n = b->fit.n, *different = asc_stats_integers(b->fit.ctx, n);
    for (int64_t i = 0; different && i < n; i++) {
        different[i] = labels[b->place[i]];
    }
    if (!different) {
        return asc_error(b->fit.ctx);
    }
    qsort(different, (size_t)n, sizeof *different, asc_stats_compare_integers);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || different[i] != different[b->classes - 1]) {
            different[b->classes++] = different[i];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t *found = bsearch(&labels[b->place[i]], different, (size_t)b->classes, sizeof *found,
                                       asc_stats_compare_integers);
        b->target[i] = found - different;
    }
    return b->classes > 1 ? ASC_OK
                          : asc_fail(b->fit.ctx, ASC_ERR_ARG, "probe_labels: all items have the same label");
}

asc_status asc_probe_labels(asc_ctx *ctx, const double *x, int64_t n, int64_t d, const int64_t *labels,
                            const asc_probe_options *options, asc_probe_result *result)
{
    asc_status status = ASC_NEED(ctx, "probe_labels: x labels result", x, labels, result);
    probe b = {.o = defaults(options)};
    if (status || (status = check(ctx, "probe_labels", x, n, d, &b.o))) {
        return status;
    }
    asc_scope_begin(ctx);
    if (begin(&b, ctx, x, n, d, labels) == ASC_OK && number_labels(&b, labels) == ASC_OK) {
        finish(&b, result);
    }
    asc_scope_end(ctx);
    return asc_error(ctx);
}

/* ---- values ---- */

asc_status asc_probe_values(asc_ctx *ctx, const double *x, int64_t n, int64_t d, const double *values,
                            const asc_probe_options *options, asc_probe_result *result)
{
    asc_status status = ASC_NEED(ctx, "probe_values: x values result", x, values, result);
    probe b = {.o = defaults(options), .values = values, .classes = 1};
    if (status || (status = check(ctx, "probe_values", x, n, d, &b.o)) ||
        (status = asc_stats_expect(ctx, "probe_values", "values", values, n, 1))) {
        return status;
    }
    asc_scope_begin(ctx);
    if (begin(&b, ctx, x, n, d, NULL) == ASC_OK) {
        memcpy(b.target, b.place, (size_t)b.fit.n * sizeof *b.target);
        finish(&b, result);
    }
    asc_scope_end(ctx);
    return asc_error(ctx);
}
