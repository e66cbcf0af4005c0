/* train/evaluate.c: how well a model predicts a split: its tokens, its answers, its classes. */
#include <math.h>
#include <string.h>

#include <ascgrad/ops.h>
#include <ascgrad/train.h>

#include "tensor/need.h"

typedef struct evaluation {
    asc_ctx *ctx;
    asc_lm *lm;
    const asc_split *split;
    const asc_eval_options *options;
    int64_t length; /* of a stream's blocks */
    bool classify;
    double *losses; /* of a batch */
    int64_t *top;   /* the most probable token or class, -1 for no target; of a batch */
    double nats;
    int64_t tokens, correct; /* predicted, or classes; those of them that are the most probable */
    int64_t answered, exact; /* sequences with targets, and those with all of them right */
} evaluation;

/* ---- a batch ---- */

typedef struct batch {
    int32_t *which;
    int64_t n, width; /* blocks; inputs of each */
    int64_t targets;  /* of each block: its width, or 1 class */
} batch;

static int64_t width_of(const evaluation *e, const int32_t *which, int64_t n)
{
    return e->classify ? asc_class_width(e->split, which, n) : asc_split_width(e->split, e->length, which, n);
}

static asc_tensor losses_of_classes(evaluation *e, const batch *b, asc_tensor y)
{
    asc_ctx *ctx = e->ctx;
    asc_tensor x = asc_empty(ctx, ASC_I64, ASC_SHAPE(b->n, b->width)), lengths = asc_empty(ctx, ASC_I64, 1, &b->n);
    asc_tensor each = asc_null();
    if (asc_error(ctx) == ASC_OK && asc_class_fill(ctx, e->split, b->which, b->n, asc_data_mut(x),
                                                   asc_data_mut(lengths), asc_data_mut(y)) == ASC_OK) {
        asc_tensor logits = asc_lm_classify(e->lm, x, lengths);
        asc_cross_entropy(ctx, logits, y, -1, &each);
        asc_top_classes(ctx, logits, e->top);
    }
    return each;
}

/* Which tokens are the most probable is looked for where the split says which are answers. */
static asc_tensor losses_of_tokens(evaluation *e, const batch *b, asc_tensor y)
{
    asc_ctx *ctx = e->ctx;
    asc_tensor x = asc_empty(ctx, ASC_I64, ASC_SHAPE(b->n, b->width)), each = asc_null();
    if (asc_error(ctx) == ASC_OK &&
        asc_block_fill(ctx, e->split, e->length, b->which, b->n, asc_data_mut(x), asc_data_mut(y)) == ASC_OK) {
        if (e->split->given) {
            asc_lm_score(e->lm, x, y, &each, e->top);
        } else {
            asc_lm_loss(e->lm, x, y, &each);
        }
    }
    return each;
}

static void count(evaluation *e, const batch *b, const int64_t *y)
{
    for (int64_t i = 0; i < b->n; i++) {
        int64_t targets = 0, right = 0;
        for (int64_t t = i * b->targets; t < (i + 1) * b->targets; t++) {
            targets += y[t] >= 0;
            right += y[t] >= 0 && y[t] == e->top[t];
            e->nats += e->losses[t];
        }
        e->tokens += targets;
        e->correct += right;
        e->answered += targets > 0;
        e->exact += targets > 0 && right == targets;
    }
    int64_t classes = asc_lm_classes(e->lm);
    for (int64_t i = 0; e->classify && e->options->confusion && i < b->n; i++) {
        e->options->confusion[y[i] * classes + e->top[i]]++;
    }
}

static asc_status run_batch(evaluation *e, const batch *b)
{
    asc_ctx *ctx = e->ctx;
    asc_scope_begin(ctx);
    asc_tensor y = asc_empty(ctx, ASC_I64, ASC_SHAPE(b->n, b->targets));
    if (e->classify) {
        y = asc_reshape(ctx, y, 1, &b->n);
    }
    asc_tensor each = e->classify ? losses_of_classes(e, b, y) : losses_of_tokens(e, b, y);
    asc_tensor wide = asc_cast(ctx, each, ASC_F64);
    if (asc_error(ctx) == ASC_OK) {
        memcpy(e->losses, asc_data(wide), (size_t)(b->n * b->targets) * sizeof *e->losses);
        count(e, b, asc_data(y));
        asc_status status = e->options->tokens
                                ? e->options->tokens(e->options->user, asc_data(y), e->losses, b->n * b->targets)
                                : ASC_OK;
        if (status) {
            asc_fail(ctx, status, "evaluate: the receiver of the tokens' losses failed");
        }
    }
    asc_scope_end(ctx);
    return asc_error(ctx);
}

static asc_status check_width(const evaluation *e, int64_t width)
{
    int64_t longest = asc_lm_longest(e->lm);
    if (width > longest) {
        return asc_fail_on(e->ctx, ASC_ERR_ARG, "length",
                           " is %lld, but the model has learned positions (pos_emb) for "
                           "%lld tokens; rotary or ALiBi positions, or none, go further",
                           (long long)width, (long long)longest);
    }
    return ASC_OK;
}

/* ---- all ---- */

static asc_status run_all(evaluation *e, int32_t *which)
{
    int64_t full = asc_split_blocks(e->split, e->length, false), all = asc_split_blocks(e->split, e->length, true);
    for (int64_t first = 0; first < all;) {
        int64_t end = first < full ? full : all;
        batch b = {.which = which, .n = end - first < e->options->batch ? end - first : e->options->batch};
        for (int64_t i = 0; i < b.n; i++) {
            which[i] = (int32_t)(first + i);
        }
        b.width = width_of(e, which, b.n);
        b.targets = e->classify ? 1 : b.width;
        if (check_width(e, b.width) || run_batch(e, &b)) {
            return asc_error(e->ctx);
        }
        first += b.n;
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
    r->sequences = s->n_sequences;
    r->accuracy = e->classify || s->given ? (double)e->correct / (double)e->tokens : NAN;
    r->exact = !e->classify && s->n_sequences && s->given ? (double)e->exact / (double)e->answered : NAN;
}

static asc_status check_classes(asc_ctx *ctx, const asc_lm *lm, const asc_split *split)
{
    int64_t classes = asc_lm_classes(lm);
    if (classes > 0 && (!split->labels || split->classes != classes)) {
        return asc_fail(ctx, ASC_ERR_ARG, "evaluate: the model tells %lld classes, and the data has %d",
                        (long long)classes, (int)split->classes);
    }
    return ASC_OK;
}

/* The targets of a block, at most: what a batch holds of each. */
static int64_t most_targets(const evaluation *e)
{
    return e->classify ? 1 : e->split->n_sequences ? asc_split_longest(e->split) : e->length;
}

asc_status asc_evaluate(asc_ctx *ctx, asc_lm *lm, const asc_split *split, const asc_eval_options *options,
                        asc_eval_result *result)
{
    asc_status status = ASC_NEED(ctx, "evaluate: lm split options result", lm, split, options, result);
    if (status) {
        return status;
    }
    if (options->batch < 1 || options->length < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "evaluate: batch is %lld and length %lld, expected at least 1 and 0",
                        (long long)options->batch, (long long)options->length);
    }
    if (check_classes(ctx, lm, split)) {
        return asc_error(ctx);
    }
    evaluation e = {.ctx = ctx,
                    .lm = lm,
                    .split = split,
                    .options = options,
                    .classify = asc_lm_classes(lm) > 0,
                    .length = options->length > 0 ? options->length : asc_lm_block(lm)};
    size_t blocks = (size_t)options->batch, values = blocks * (size_t)most_targets(&e);
    int32_t *which = asc_alloc(ctx, blocks * sizeof *which);
    e.losses = asc_alloc(ctx, values * sizeof *e.losses);
    e.top = asc_alloc(ctx, values * sizeof *e.top);
    if (which && e.losses && e.top) {
        memset(e.top, -1, values * sizeof *e.top);
        bool recording = asc_set_recording(ctx, false);
        asc_lm_set_dropout(lm, 0);
        run_all(&e, which);
        asc_set_recording(ctx, recording);
    }
    asc_free(ctx, which, blocks * sizeof *which);
    asc_free(ctx, e.losses, values * sizeof *e.losses);
    asc_free(ctx, e.top, values * sizeof *e.top);
    if (asc_error(ctx) == ASC_OK) {
        sum_up(&e, result);
    }
    return asc_error(ctx);
}
