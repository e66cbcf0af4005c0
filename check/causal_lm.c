/* check/causal_lm.c: whether a language model, trained or not, sees the future of what it predicts. */
#include <ascgrad/check.h>
#include <math.h>
#include <string.h>

#include "nn/lm.h"
#include "tensor/dtype.h"
#include "tensor/need.h"

enum { B = 2, MOMENTS = 16 };
enum { NOW = 1, LATER }; /* streams of random numbers */

/* Tokens, or with `other` tokens that are another one everywhere. */
static asc_tensor draw(asc_ctx *ctx, int64_t n, int64_t vocab, uint64_t seed, const int64_t *other)
{
    const int64_t shape[2] = {B, n};
    asc_tensor drawn =
        asc_uniform(ctx, ASC_F64, 0, (double)(vocab - (other != NULL)), seed, other ? LATER : NOW, 2, shape);
    asc_tensor tokens = asc_zeros(ctx, ASC_I64, 2, shape);
    const double *from = asc_data(drawn);
    int64_t *to = asc_data_mut(tokens);
    for (int64_t e = 0; from && to && e < B * n; e++) {
        to[e] = other ? (other[e] + 1 + (int64_t)from[e]) % vocab : (int64_t)from[e];
    }
    return tokens;
}

/* The first t + 1 tokens of `early`, and then those of `late`. */
static asc_tensor splice(asc_ctx *ctx, asc_tensor early, asc_tensor late, int64_t n, int64_t t)
{
    asc_tensor made = asc_zeros(ctx, ASC_I64, 2, (int64_t[]){B, n});
    int64_t *to = asc_data_mut(made);
    const int64_t *a = asc_data(early), *b = asc_data(late);
    for (int64_t e = 0; to && a && b && e < B * n; e++) {
        to[e] = e % n <= t ? a[e] : b[e];
    }
    return made;
}

/* The logits at the positions up to t have to keep their bits, and those behind it to change, or else the probe would
 * see nothing. */
static asc_status compare(asc_ctx *ctx, asc_tensor plain, asc_tensor changed, int64_t n, int64_t t,
                          asc_causal_report *report)
{
    size_t row = (size_t)asc_size(plain, 2) * asc_dtype_size(asc_dtype_of(plain));
    const char *a = asc_data(plain), *b = asc_data(changed);
    int64_t changes = 0;
    for (int64_t e = 0; a && b && e < B * n; e++) {
        bool differs = memcmp(a + (size_t)e * row, b + (size_t)e * row, row) != 0;
        changes += differs && e % n > t;
        report->outputs += e % n <= t ? asc_size(plain, 2) : 0;
        if (differs && e % n <= t && report->failures++ == 0) {
            report->first_position = e % n;
            report->first_moment = t;
        }
    }
    return asc_error(ctx) || changes > 0
               ? asc_error(ctx)
               : asc_fail(ctx, ASC_ERR_ARG,
                          "lm_causal_check: no logit behind position %lld depends on the tokens there, "
                          "so nothing can be said of it",
                          (long long)t);
}

static asc_status check_finite(asc_ctx *ctx, asc_tensor logits, int64_t n)
{
    const void *at = asc_data(logits);
    for (int64_t e = 0; at && e < asc_numel(logits); e++) {
        double logit = asc_element(asc_dtype_of(logits), at, e);
        if (!isfinite(logit)) {
            return asc_fail(ctx, ASC_ERR_NONFINITE, "lm_causal_check: a logit at position %lld is %g",
                            (long long)(e / asc_size(logits, 2) % n), logit);
        }
    }
    return asc_error(ctx);
}

static asc_status probe(asc_ctx *ctx, asc_lm *lm, uint64_t seed, asc_causal_report *report)
{
    int64_t n = asc_lm_block(lm), vocab = asc_lm_vocab(lm);
    if (n < 2 || vocab < 2) {
        return asc_fail(ctx, ASC_ERR_ARG,
                        "lm_causal_check: the model has blocks of %lld and a vocabulary of %lld, "
                        "expected 2 at least: there is no other future",
                        (long long)n, (long long)vocab);
    }
    asc_tensor early = draw(ctx, n, vocab, seed, NULL), late = draw(ctx, n, vocab, seed, asc_data(early));
    asc_tensor plain = asc_lm_logits(lm, early);
    check_finite(ctx, plain, n);
    for (int64_t i = 0; i < MOMENTS && i < n - 1 && asc_error(ctx) == ASC_OK; i++) {
        int64_t t = n - 1 > MOMENTS ? i * (n - 2) / (MOMENTS - 1) : i;
        asc_scope_begin(ctx);
        compare(ctx, plain, asc_lm_logits(lm, splice(ctx, early, late, n, t)), n, t, report);
        report->moments++;
        asc_scope_end(ctx);
    }
    return asc_error(ctx);
}

asc_status asc_lm_causal_check(asc_ctx *ctx, asc_lm *lm, const asc_gradcheck_options *options,
                               asc_causal_report *report)
{
    asc_status status = ASC_NEED(ctx, "lm_causal_check: lm report", lm, report);
    if (status) {
        return status;
    }
    *report = (asc_causal_report){.mixing = "language model", .first_of = "sequence", .causal = true};
    bool recording = asc_set_recording(ctx, false);
    double dropout = lm->dropout; /* whose masks are others in every pass */
    lm->dropout = 0;
    asc_scope_begin(ctx);
    status = probe(ctx, lm, options ? options->seed : 0, report);
    asc_scope_end(ctx);
    lm->dropout = dropout;
    asc_set_recording(ctx, recording);
    report->passed = !status && report->failures == 0;
    return status;
}
