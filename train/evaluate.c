/* train/evaluate.c: the loss of a model on a split, token by token. */
#include <math.h>
#include <string.h>

#include <ascgrad/train.h>

#include "tensor/need.h"

typedef struct evaluation {
    asc_ctx *ctx;
    asc_lm *lm;
    const asc_split *split;
    const asc_eval_options *options;
    double *losses; /* batch * block */
    double nats;
    int64_t tokens, unknown; /* predicted, and those of them that the tokenizer does not know */
} evaluation;

static int64_t count_unknown(const asc_split *split, const int64_t *ids, int64_t n)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        found += ids[i] >= 0 && ids[i] == split->unknown; /* a token that is given is -1 */
    }
    return found;
}

/* The losses of `n` blocks from number `first`, all of `width` tokens, into e->losses. */
static asc_status run_blocks(evaluation *e, int64_t first, int64_t n, int64_t width)
{
    asc_ctx *ctx = e->ctx;
    asc_scope_begin(ctx);
    asc_tensor x = asc_empty(ctx, ASC_I64, ASC_SHAPE(n, width)), y = asc_empty(ctx, ASC_I64, ASC_SHAPE(n, width));
    asc_tensor each = asc_null(), wide = asc_empty(ctx, ASC_F64, ASC_SHAPE(n, width));
    int32_t *which = asc_alloc(ctx, (size_t)n * sizeof *which);
    for (int64_t i = 0; which && i < n; i++) {
        which[i] = (int32_t)(first + i);
    }
    if (asc_error(ctx) == ASC_OK &&
        asc_block_fill(ctx, e->split, asc_lm_block(e->lm), which, n, asc_data_mut(x), asc_data_mut(y)) == ASC_OK) {
        asc_lm_loss(e->lm, x, y, &each);
        asc_copy(ctx, wide, each);
    }
    if (asc_error(ctx) == ASC_OK) {
        memcpy(e->losses, asc_data(wide), (size_t)(n * width) * sizeof *e->losses);
        e->tokens += asc_block_targets(e->split, asc_lm_block(e->lm), which, n);
        e->unknown += count_unknown(e->split, asc_data(y), n * width);
        asc_status status = e->options->tokens
                                ? e->options->tokens(e->options->user, asc_data(y), e->losses, n * width)
                                : ASC_OK;
        if (status) {
            asc_fail(ctx, status, "evaluate: the receiver of the tokens' losses failed");
        }
    }
    asc_free(ctx, which, (size_t)n * sizeof *which);
    asc_scope_end(ctx);
    return asc_error(ctx);
}

static asc_status run_all(evaluation *e)
{
    int64_t length = asc_lm_block(e->lm), n_tokens = e->split->n_tokens;
    int64_t full = asc_block_count(n_tokens, length, false), all = asc_block_count(n_tokens, length, true);
    for (int64_t first = 0; first < all;) {
        int64_t end = first < full ? full : all;
        int64_t n = end - first < e->options->batch ? end - first : e->options->batch;
        int64_t width = asc_block_length(n_tokens, length, first);
        asc_status status = run_blocks(e, first, n, width);
        if (status) {
            return status;
        }
        for (int64_t i = 0; i < n * width; i++) {
            e->nats += e->losses[i];
        }
        first += n;
        if (e->options->progress && !e->options->progress(e->options->user, (double)first / (double)all)) {
            return asc_fail(e->ctx, ASC_ERR_INTERRUPTED, "the evaluation was stopped");
        }
    }
    return ASC_OK;
}

static void sum_up(const evaluation *e, asc_eval_result *r)
{
    const asc_split *s = e->split;
    double bits = 1 / (log(2) * (double)s->bytes);
    r->tokens = e->tokens;
    r->loss = e->nats / (double)e->tokens;
    r->ppl = exp(r->loss);
    r->bits_per_byte = e->nats * bits;
    r->unknown = (double)e->unknown / (double)e->tokens;
}

asc_status asc_evaluate(asc_ctx *ctx, asc_lm *lm, const asc_split *split, const asc_eval_options *options,
                        asc_eval_result *result)
{
    asc_status status = ASC_NEED(ctx, "evaluate: lm split options result", lm, split, options, result);
    if (status) {
        return status;
    }
    if (options->batch < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "evaluate: batch is %lld, expected at least 1", (long long)options->batch);
    }
    size_t bytes = (size_t)options->batch * (size_t)asc_lm_block(lm) * sizeof(double);
    evaluation e = {.ctx = ctx, .lm = lm, .split = split, .options = options, .losses = asc_alloc(ctx, bytes)};
    if (!e.losses) {
        return ASC_ERR_MEMORY;
    }
    bool recording = asc_set_recording(ctx, false);
    asc_lm_set_dropout(lm, 0);
    status = run_all(&e);
    asc_set_recording(ctx, recording);
    asc_free(ctx, e.losses, bytes);
    if (status == ASC_OK) {
        sum_up(&e, result);
    }
    return status;
}
