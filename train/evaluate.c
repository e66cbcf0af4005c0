/* train/evaluate.c: the loss of a model on a split, token by token. */
#include <math.h>
#include <string.h>

#include <ascgrad/train.h>

#include "nn/lm.h"
#include "stats/stats.h"
#include "tensor/need.h"

enum { BINS = 15 }; /* of confidences */

typedef struct evaluation {
    asc_ctx *ctx;
    asc_lm *lm;
    const asc_split *split;
    const asc_eval_options *options;
    int64_t length; /* of a block */
    double *losses; /* batch * block */
    double nats;
    int64_t tokens, unknown; /* predicted, and those of them that the tokenizer does not know */
    asc_bin bins[BINS];
} evaluation;

static int64_t count_unknown(const asc_split *split, const int64_t *ids, int64_t n)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        found += ids[i] >= 0 && ids[i] == split->unknown; /* a token that is given is -1 */
    }
    return found;
}

/* Sorts n predictions, of which `top` has probability and truth, into the bins. A loss that is not finite has none. */
static void sort_predictions(evaluation *e, const int64_t *ids, const double *top, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] >= 0 && top[2 * i] <= 1) {
            asc_bins_add(e->bins, BINS, top[2 * i], top[2 * i + 1] != 0);
        }
    }
}

static void tell_tokens(const evaluation *e, const int64_t *ids, int64_t n)
{
    const asc_eval_options *o = e->options;
    asc_status status = o->tokens ? o->tokens(o->user, ids, e->losses, n) : ASC_OK;
    if (status) {
        asc_fail(e->ctx, status, "evaluate: the receiver of the tokens' losses failed");
    }
}

static void tell_blocks(const evaluation *e, const int64_t *ids, int64_t first, int64_t n, int64_t width)
{
    const asc_eval_options *o = e->options;
    for (int64_t i = 0; o->block && i < n; i++) {
        double nats = 0;
        int64_t tokens = 0;
        for (int64_t t = i * width; t < (i + 1) * width; t++) {
            nats += e->losses[t];
            tokens += ids[t] >= 0;
        }
        asc_status status = o->block(o->user, first + i, nats, tokens);
        if (status) {
            asc_fail(e->ctx, status, "evaluate: the receiver of the blocks' losses failed");
            return;
        }
    }
}

/* The losses of `n` blocks from number `first`, all of `width` tokens, into e->losses. */
static asc_status run_blocks(evaluation *e, int64_t first, int64_t n, int64_t width)
{
    asc_ctx *ctx = e->ctx;
    asc_scope_begin(ctx);
    asc_tensor x = asc_empty(ctx, ASC_I64, ASC_SHAPE(n, width)), y = asc_empty(ctx, ASC_I64, ASC_SHAPE(n, width));
    asc_tensor each, top, wide = asc_empty(ctx, ASC_F64, ASC_SHAPE(n, width));
    asc_tensor wide_top = asc_empty(ctx, ASC_F64, ASC_SHAPE(n, width, 2));
    int32_t *which = asc_alloc(ctx, (size_t)n * sizeof *which);
    for (int64_t i = 0; which && i < n; i++) {
        which[i] = (int32_t)(first + i);
    }
    if (asc_error(ctx) == ASC_OK &&
        asc_block_fill(ctx, e->split, e->length, which, n, asc_data_mut(x), asc_data_mut(y)) == ASC_OK) {
        asc_lm_loss_top(e->lm, x, y, &each, &top);
        asc_copy(ctx, wide, each);
        asc_copy(ctx, wide_top, top);
    }
    if (asc_error(ctx) == ASC_OK) {
        memcpy(e->losses, asc_data(wide), (size_t)(n * width) * sizeof *e->losses);
        e->tokens += asc_block_targets(e->split, e->length, which, n);
        e->unknown += count_unknown(e->split, asc_data(y), n * width);
        sort_predictions(e, asc_data(y), asc_data(wide_top), n * width);
        tell_tokens(e, asc_data(y), n * width);
        tell_blocks(e, asc_data(y), first, n, width);
    }
    asc_free(ctx, which, (size_t)n * sizeof *which);
    asc_scope_end(ctx);
    return asc_error(ctx);
}

static asc_status run_all(evaluation *e)
{
    int64_t length = e->length, n_tokens = e->split->n_tokens;
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
    r->ece = asc_bins_ece(e->bins, BINS, &r->accuracy);
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
    if (options->length < 0 || options->length > INT32_MAX) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "length", ": got %lld, expected 0 (the model's %lld) to %d",
                           (long long)options->length, (long long)asc_lm_block(lm), INT32_MAX);
    }
    if (options->length > asc_lm_block(lm) && !asc_is_null(lm->pos_emb)) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "length", ": got %lld, but the model has learned %lld positions",
                           (long long)options->length, (long long)asc_lm_block(lm));
    }
    int64_t length = options->length ? options->length : asc_lm_block(lm);
    evaluation e = {.ctx = ctx, .lm = lm, .split = split, .options = options,
                    .length = length < split->n_tokens ? length : split->n_tokens};
    size_t bytes = (size_t)options->batch * (size_t)e.length * sizeof(double);
    e.losses = asc_alloc(ctx, bytes);
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
