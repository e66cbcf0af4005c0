/* train/generate/sample.c: drawing tokens. */
#include <math.h>

#include <ascgrad/train.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

enum { DRAW_BITS = 40 }; /* of the stream of random numbers; above them stands which continuation it is */

typedef struct candidate {
    double logit, p;
    int32_t id;
    bool before;
} candidate;

/* The most probable first; ties to the lower id. */
static bool precedes(const candidate *a, const candidate *b)
{
    return a->logit != b->logit ? a->logit > b->logit : a->id < b->id;
}

/* A heap of candidates, the first at its root: a draw needs only those before the one that is drawn in order. Those
 * that were taken stand behind the heap, the last taken first. */
typedef struct ranking {
    candidate *c;
    int64_t n, heap;
} ranking;

static void sift(const ranking *r, int64_t at)
{
    candidate moved = r->c[at];
    for (int64_t child = 2 * at + 1; child < r->heap; child = 2 * at + 1) {
        child += child + 1 < r->heap && precedes(&r->c[child + 1], &r->c[child]);
        if (!precedes(&r->c[child], &moved)) {
            break;
        }
        r->c[at] = r->c[child];
        at = child;
    }
    r->c[at] = moved;
}

static ranking rank(candidate *c, int64_t n)
{
    ranking r = {c, n, n};
    for (int64_t i = n / 2; i-- > 0;) {
        sift(&r, i);
    }
    return r;
}

/* The candidate of this rank. */
static candidate *at(ranking *r, int64_t i)
{
    while (r->n - r->heap <= i) {
        candidate first = r->c[0];
        r->c[0] = r->c[--r->heap];
        r->c[r->heap] = first;
        sift(r, 0);
    }
    return &r->c[r->n - 1 - i];
}

/* How many of the candidates may be drawn, the most probable ones, whose p are filled in, as shares of the greatest;
 * *total is the sum of them. */
static int64_t cut(ranking *r, const asc_sampling *s, double *total)
{
    bool some = s->top_k > 0 && s->top_k < r->n;
    int64_t most = some ? s->top_k : r->n, kept = 0;
    double greatest = r->c[0].logit, sum = 0, reached = 0;
    for (int64_t i = 0; i < most; i++) {
        candidate *one = some ? at(r, i) : &r->c[i];
        sum += one->p = exp((one->logit - greatest) / s->temperature);
    }
    if (s->top_p == 1 && s->min_p == 0) {
        *total = sum;
        return most;
    }
    while (kept < most && (kept == 0 || (reached < s->top_p * sum && at(r, kept)->p >= s->min_p))) {
        reached += at(r, kept++)->p;
    }
    *total = reached;
    return kept;
}

static int64_t draw_from(candidate *c, int64_t n, const asc_sampling *s, double u)
{
    ranking r = rank(c, n);
    if (s->temperature == 0) {
        return c[0].id;
    }
    double total, sum = 0;
    int64_t kept = cut(&r, s, &total), i = 0;
    while (i + 1 < kept && (sum += at(&r, i)->p) <= u * total && at(&r, i + 1)->p > 0) {
        i++;
    }
    return at(&r, i)->id;
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
        bool sound = true, some = false;
        for (int64_t i = 0; i < n; i++) {
            c[i] = (candidate){values[i], 0, (int32_t)i, false};
            sound = sound && values[i] < INFINITY; /* nor a NaN */
            some = some || values[i] > -INFINITY;
        }
        if (!sound || !some) {
            asc_fail(ctx, ASC_ERR_NONFINITE, sound ? "sample: each logit is -inf" : "sample: a logit is inf or nan");
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
                        "sample: temperature %g, top_k %lld, top_p %g, expected >= 0, >= 0, in (0, 1]",
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
    if (asc_need_tensor(ctx, logits, "sample", "logits")) {
        return -1;
    }
    if (asc_ndim(logits) != 1 || asc_numel(logits) < 1 || asc_numel(logits) > INT32_MAX) {
        char got[ASC_SHAPE_TEXT];
        asc_array a = asc_array_of(logits);
        asc_fail(ctx, ASC_ERR_ARG, "sample: logits are %s, expected (V) with V at least 1", asc_shape_text(&a, got));
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
