/* train/sample.c: drawing tokens. */
#include <math.h>
#include <stdlib.h>

#include <ascgrad/train.h>

#include "tensor/need.h"

typedef struct candidate {
    double logit, p;
    int64_t id;
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
    while (kept < most && (kept == 0 || reached < s->top_p * sum)) {
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

static int64_t sample(asc_ctx *ctx, asc_tensor logits, const asc_sampling *s, uint64_t draw)
{
    int64_t n = asc_numel(logits), id = -1;
    asc_tensor wide = asc_empty(ctx, ASC_F64, 1, &n), u = asc_uniform(ctx, ASC_F64, 0, 1, s->seed, draw, 0, NULL);
    size_t bytes = (size_t)n * sizeof(candidate);
    candidate *c = asc_alloc(ctx, bytes);
    if (c && asc_error(ctx) == ASC_OK && asc_copy(ctx, wide, logits) == ASC_OK) {
        const double *values = asc_data(wide);
        bool finite = true;
        for (int64_t i = 0; i < n; i++) {
            c[i] = (candidate){values[i], 0, i};
            finite = finite && isfinite(values[i]);
        }
        if (finite) {
            id = draw_from(c, n, s, asc_item(u));
        } else {
            asc_fail(ctx, ASC_ERR_NONFINITE, "sample: a logit is not finite");
        }
    }
    asc_free(ctx, c, bytes);
    return id;
}

int64_t asc_sample_token(asc_ctx *ctx, asc_tensor logits, const asc_sampling *s, uint64_t draw)
{
    if (ASC_NEED(ctx, "sample_token: sampling", s)) {
        return -1;
    }
    if (asc_ndim(logits) != 1 || asc_numel(logits) < 1) {
        asc_fail(ctx, ASC_ERR_ARG, "sample: the logits have %d dimensions, expected (V)", asc_ndim(logits));
        return -1;
    }
    if (!(s->temperature >= 0) || !isfinite(s->temperature) || s->top_k < 0 || !(s->top_p > 0 && s->top_p <= 1)) {
        asc_fail(ctx, ASC_ERR_ARG, "sample: temperature %g, top_k %lld, top_p %g, expected >= 0, >= 0, in (0, 1]",
                 s->temperature, (long long)s->top_k, s->top_p);
        return -1;
    }
    asc_scope_begin(ctx);
    int64_t id = sample(ctx, logits, s, draw);
    asc_scope_end(ctx);
    return id;
}
