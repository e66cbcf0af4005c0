/* train/generate/sample.c: drawing tokens. */
#include <math.h>
#include <stdlib.h>

#include <ascgrad/train.h>

#include "tensor/need.h"

enum { DRAW_BITS = 40 }; /* of the stream of random numbers; above them stands which continuation it is */

typedef struct candidate {
    double logit, p;
    int32_t id;
    bool before;
} candidate;

/* The most probable first; ties to the lower id. */
static int compare(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->logit != y->logit) {
        return x->logit < y->logit ? 1 : -1;
    }
    return (x->id > y->id) - (x->id < y->id);
}

/* How many of the sorted candidates may be drawn; their p are filled in, not normalised. */
static int64_t cut(candidate *c, int64_t n, const asc_sampling *s, double *total)
{
    int64_t most = s->top_k > 0 && s->top_k < n ? s->top_k : n;
    double sum = 0, reached = 0;
    for (int64_t i = 0; i < most; i++) {
        c[i].p = exp((c[i].logit - c[0].logit) / s->temperature);
        sum += c[i].p;
    }
    int64_t kept = 0;
    while (kept < most && (kept == 0 || (reached < s->top_p * sum && c[kept].p >= s->min_p * c[0].p))) {
        reached += c[kept++].p;
    }
    *total = reached;
    return kept;
}

static int64_t draw_from(candidate *c, int64_t n, const asc_sampling *s, double u)
{
    if (s->temperature == 0) {
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++) {
            best = c[i].logit > c[best].logit ? i : best;
        }
        return c[best].id;
    }
    qsort(c, (size_t)n, sizeof *c, compare);
    double total, sum = 0;
    int64_t kept = cut(c, n, s, &total), i = 0;
    while (i + 1 < kept && (sum += c[i].p) <= u * total) {
        i++;
    }
    return c[i].id;
}

/* The formula stands in ascgrad/train.h. A token that was there twice is no less probable for that. */
static asc_status penalize(asc_ctx *ctx, candidate *c, int64_t n, const int32_t *before, int64_t n_before,
                           double penalty)
{
    for (int64_t i = 0; i < n_before; i++) {
        if (before[i] < 0 || before[i] >= n) {
            return asc_fail(ctx, ASC_ERR_ARG, "sample: before[%lld] is %d, expected 0 … %lld", (long long)i, before[i],
                            (long long)n - 1);
        }
        candidate *one = &c[before[i]];
        if (!one->before && penalty > 0) {
            one->before = true;
            one->logit = one->logit > 0 ? one->logit / penalty : one->logit * penalty;
        }
    }
    return ASC_OK;
}

static int64_t sample(asc_ctx *ctx, asc_tensor logits, const int32_t *before, int64_t n_before, const asc_sampling *s,
                      uint64_t draw)
{
    int64_t n = asc_numel(logits), id = -1;
    asc_tensor wide = asc_empty(ctx, ASC_F64, 1, &n);
    asc_tensor u = asc_uniform(ctx, ASC_F64, 0, 1, s->seed, s->nth << DRAW_BITS | draw, 0, NULL);
    size_t bytes = (size_t)n * sizeof(candidate);
    candidate *c = asc_alloc(ctx, bytes);
    if (c && asc_error(ctx) == ASC_OK && asc_copy(ctx, wide, logits) == ASC_OK) {
        const double *values = asc_data(wide);
        bool finite = true;
        for (int64_t i = 0; i < n; i++) {
            c[i] = (candidate){values[i], 0, (int32_t)i, false};
            finite = finite && isfinite(values[i]);
        }
        if (!finite) {
            asc_fail(ctx, ASC_ERR_NONFINITE, "sample: a logit is not finite");
        } else if (penalize(ctx, c, n, before, n_before, s->repeat_penalty) == ASC_OK) {
            id = draw_from(c, n, s, asc_item(u));
        }
    }
    asc_free(ctx, c, bytes);
    return id;
}

static asc_status check(asc_ctx *ctx, const asc_sampling *s, uint64_t draw)
{
    if (!(s->temperature >= 0) || !isfinite(s->temperature) || s->top_k < 0 || !(s->top_p > 0 && s->top_p <= 1)) {
        return asc_fail(ctx, ASC_ERR_ARG,
                        "sample: temperature %g, top_k %lld, top_p %g, expected >= 0, >= 0, in "
                        "(0, 1]",
                        s->temperature, (long long)s->top_k, s->top_p);
    }
    if (!(s->min_p >= 0 && s->min_p <= 1) || !(s->repeat_penalty >= 0) || !isfinite(s->repeat_penalty)) {
        return asc_fail(ctx, ASC_ERR_ARG, "sample: min_p %g, repeat_penalty %g, expected in [0, 1], >= 0", s->min_p,
                        s->repeat_penalty);
    }
    if (s->nth >> (64 - DRAW_BITS) || draw >> DRAW_BITS) {
        return asc_fail(ctx, ASC_ERR_ARG, "sample: nth %llu, draw %llu, expected below 2^%d, 2^%d",
                        (unsigned long long)s->nth, (unsigned long long)draw, 64 - DRAW_BITS, DRAW_BITS);
    }
    return ASC_OK;
}

int64_t asc_sample_after(asc_ctx *ctx, asc_tensor logits, const int32_t *before, int64_t n, const asc_sampling *s,
                         uint64_t draw)
{
    if (ASC_NEED(ctx, "sample_after: before sampling", asc_unless_empty(before, n), s)) {
        return -1;
    }
    if (asc_ndim(logits) != 1 || asc_numel(logits) < 1 || asc_numel(logits) > INT32_MAX) {
        asc_fail(ctx, ASC_ERR_ARG, "sample: the logits have %d dimensions, expected (V)", asc_ndim(logits));
        return -1;
    }
    if (check(ctx, s, draw)) {
        return -1;
    }
    asc_scope_begin(ctx);
    int64_t id = sample(ctx, logits, before, n, s, draw);
    asc_scope_end(ctx);
    return id;
}

int64_t asc_sample_token(asc_ctx *ctx, asc_tensor logits, const asc_sampling *s, uint64_t draw)
{
    return ASC_NEED(ctx, "sample_token: sampling", s) ? -1 : asc_sample_after(ctx, logits, NULL, 0, s, draw);
}
