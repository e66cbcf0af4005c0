/* train/evaluate.c: how well a model predicts a split: its tokens, its answers, its classes. */
#include <math.h>
#include <string.h>

#include <ascgrad/ops.h>
#include <ascgrad/train.h>

#include "stats/stats.h"
#include "tensor/need.h"
#include "train/batch.h"

enum { BINS = 15 }; /* of confidences */

typedef struct evaluation {
    asc_ctx *ctx;
    asc_lm *lm;
    const asc_split *split;
    const asc_eval_options *options;
    int64_t length; /* of a stream's blocks */
    asc_lm_carried *carried; /* what the next one goes on from; or NULL */
    bool classify;
    double *losses; /* of a batch */
    double *top;    /* of a batch: for each loss the probability of the most probable, and 1 where that is right */
    double nats;
    int64_t tokens, unknown; /* predicted, or classes; those of the tokens that the tokenizer does not know */
    int64_t answered, exact; /* blocks with targets, and those with all of them right */
    asc_bin bins[BINS];
} evaluation;

/* ---- a batch ---- */

typedef struct batch {
    int32_t *which;
    int64_t n;       /* blocks */
    int64_t targets; /* of each block: its width, or 1 class */
} batch;

/* The most probable class of each sequence, into found: as `top`, and in the confusion. */
static asc_tensor judge_classes(evaluation *e, asc_tensor logits, asc_tensor y, int64_t *found)
{
    asc_ctx *ctx = e->ctx;
    int64_t n = asc_numel(y), classes = asc_lm_classes(e->lm), *confusion = e->options->confusion;
    asc_tensor top = asc_empty(ctx, ASC_F64, ASC_SHAPE(n, 2));
    asc_tensor share = asc_cast(ctx, asc_softmax(ctx, logits, asc_null()), ASC_F64);
    if (asc_error(ctx) || asc_top_classes(ctx, logits, found)) {
        return asc_null();
    }
    double *to = asc_data_mut(top);
    const double *p = asc_data(share);
    const int64_t *label = asc_data(y);
    for (int64_t i = 0; i < n; i++) {
        to[2 * i] = p[i * classes + found[i]];
        to[2 * i + 1] = found[i] == label[i];
        if (confusion) {
            confusion[label[i] * classes + found[i]]++;
        }
    }
    return top;
}

/* Each sequence's loss; *found, i64 (B), gets its most probable class. */
static asc_tensor losses_of_classes(evaluation *e, const asc_batch *in, asc_tensor *top, asc_tensor *found)
{
    asc_ctx *ctx = e->ctx;
    asc_tensor each = asc_null(), logits = asc_lm_classify(e->lm, in->x, in->lengths);
    int64_t n = asc_numel(in->y);
    *found = asc_empty(ctx, ASC_I64, 1, &n);
    asc_cross_entropy(ctx, logits, in->y, -1, &each);
    *top = judge_classes(e, logits, in->y, asc_data_mut(*found));
    return each;
}

/* Counts a block of n targets, its losses and `top` among them; one that is given is -1. Returns its nats. */
static double count_block(evaluation *e, const int64_t *y, const double *losses, const double *top, int64_t n,
                          int64_t *targets)
{
    double nats = 0;
    int64_t right = 0;
    *targets = 0;
    for (int64_t t = 0; t < n; t++) {
        nats += losses[t];
        if (y[t] >= 0) {
            bool unknown = !e->classify && y[t] == e->split->unknown;
            bool hit = top[2 * t + 1] != 0 && !(unknown && e->split->given); /* no word for an answer: not right */
            ++*targets;
            right += hit;
            e->unknown += unknown;
            if (top[2 * t] <= 1) { /* of a loss that is not finite it is none */
                asc_bins_add(e->bins, BINS, top[2 * t], hit);
            }
        }
    }
    e->tokens += *targets;
    e->answered += *targets > 0;
    e->exact += *targets > 0 && right == *targets;
    return nats;
}

/* Counts a batch, and tells the caller of it. found: of classes the most probable ones; else NULL. */
static asc_status take_batch(evaluation *e, const batch *b, const int64_t *y, const int64_t *found)
{
    const asc_eval_options *o = e->options;
    asc_status status = o->tokens ? o->tokens(o->user, y, e->losses, b->n * b->targets) : ASC_OK;
    if (status) {
        return asc_fail(e->ctx, status, "evaluate: the receiver of the tokens' losses failed");
    }
    for (int64_t i = 0; i < b->n * b->targets; i++) {
        e->nats += e->losses[i];
    }
    for (int64_t i = 0; found && o->sequence && i < b->n; i++) {
        if ((status = o->sequence(o->user, b->which[i], y[i], found[i], e->losses[i]))) {
            return asc_fail(e->ctx, status, "evaluate: the receiver of the sequences' classes failed");
        }
    }
    for (int64_t i = 0; i < b->n; i++) {
        int64_t at = i * b->targets, targets;
        double nats = count_block(e, y + at, e->losses + at, e->top + 2 * at, b->targets, &targets);
        status = o->block ? o->block(o->user, b->which[i], nats, targets) : ASC_OK;
        if (status) {
            return asc_fail(e->ctx, status, "evaluate: the receiver of the blocks' losses failed");
        }
    }
    return ASC_OK;
}

static asc_status run_batch(evaluation *e, const batch *b)
{
    asc_ctx *ctx = e->ctx;
    const asc_batch_source from = {ctx, e->lm, e->split, e->options->features, e->length};
    asc_batch in;
    asc_scope_begin(ctx);
    asc_tensor top = asc_null(), found = asc_null(), each = asc_null();
    if (asc_batch_make(&from, b->which, b->n, &in) == ASC_OK) {
        each = e->classify ? losses_of_classes(e, &in, &top, &found) : asc_null();
        if (!e->classify) {
            asc_lm_loss_top(e->lm, in.x, in.y, &each, &top);
        }
    }
    asc_tensor wide = asc_cast(ctx, each, ASC_F64), wide_top = asc_cast(ctx, top, ASC_F64);
    if (asc_error(ctx) == ASC_OK) {
        size_t n = (size_t)(b->n * b->targets);
        memcpy(e->losses, asc_data(wide), n * sizeof *e->losses);
        memcpy(e->top, asc_data(wide_top), 2 * n * sizeof *e->top);
        take_batch(e, b, asc_data(in.y), asc_data(found));
    }
    if (e->carried && asc_error(ctx) == ASC_OK) {
        asc_lm_carried_advance(e->carried);
    }
    asc_scope_end(ctx);
    return asc_error(ctx);
}

/* ---- all ---- */

static asc_status run_all(evaluation *e, int32_t *which)
{
    int64_t full = asc_split_blocks(e->split, e->length, false), all = asc_split_blocks(e->split, e->length, true);
    for (int64_t first = 0; first < all;) {
        int64_t end = first < full ? full : all;
        int64_t most = e->carried ? 1 : e->options->batch;
        batch b = {.which = which, .n = end - first < most ? end - first : most};
        for (int64_t i = 0; i < b.n; i++) {
            which[i] = (int32_t)(first + i);
        }
        b.targets = e->classify ? 1 : asc_split_width(e->split, e->length, which, b.n);
        if (run_batch(e, &b)) {
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
    r->unknown = (double)e->unknown / (double)e->tokens;
    r->ece = asc_bins_ece(e->bins, BINS, &r->accuracy);
    r->sequences = s->n_sequences;
    r->exact = !e->classify && s->n_sequences > 0 && s->given ? (double)e->exact / (double)e->answered : NAN;
}

/* ---- what can be evaluated ---- */

static asc_status check_options(asc_ctx *ctx, const asc_lm *lm, const asc_eval_options *o)
{
    if (o->batch < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "evaluate: batch is %lld, expected at least 1", (long long)o->batch);
    }
    if (o->carry < 0) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "carry", ": got %lld, expected at least 0", (long long)o->carry);
    }
    if (o->length < 0 || o->length > INT32_MAX) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "length", ": got %lld, expected 0 (the model's %lld) to %d",
                           (long long)o->length, (long long)asc_lm_block(lm), INT32_MAX);
    }
    return ASC_OK;
}

/* Blocks of up to `longest` inputs. */
static asc_status check_split(const evaluation *e, int64_t longest)
{
    int64_t classes = asc_lm_classes(e->lm), most = asc_lm_longest(e->lm);
    if (e->classify && (!e->split->labels || e->split->classes != classes)) {
        return asc_fail(e->ctx, ASC_ERR_ARG, "evaluate: the model tells %lld classes, and the data has %d",
                        (long long)classes, (int)e->split->classes);
    }
    if (e->options->carry > 0 && e->split->n_sequences > 0) {
        return asc_fail_on(e->ctx, ASC_ERR_ARG, "carry", " is %lld, and the data has sequences, none of which goes on "
                           "where another ends: expected none", (long long)e->options->carry);
    }
    if (longest > most && !asc_lm_pair_inputs(e->lm).pairs) {
        return asc_fail_on(e->ctx, ASC_ERR_ARG, "length", " is %lld, but the model has learned positions (pos_emb) for "
                           "%lld tokens; rotary or ALiBi positions, or none, go further", (long long)longest,
                           (long long)most);
    }
    return ASC_OK;
}

/* The most inputs of a block. */
static int64_t longest_input(const evaluation *e)
{
    const asc_split *s = e->split;
    return e->classify ? asc_class_width(s, NULL, s->n_sequences) : s->n_sequences ? asc_split_longest(s) : e->length;
}

static asc_status run(evaluation *e, int64_t longest)
{
    int64_t all = asc_split_blocks(e->split, e->length, true), most = e->options->batch;
    size_t blocks = (size_t)(most < all ? most : all), values = blocks * (size_t)(e->classify ? 1 : longest);
    int32_t *which = asc_alloc(e->ctx, blocks * sizeof *which);
    e->losses = asc_alloc(e->ctx, values * sizeof *e->losses);
    e->top = asc_alloc(e->ctx, 2 * values * sizeof *e->top);
    if (e->options->carry > 0) {
        e->carried = asc_lm_carried_new(e->lm, e->options->carry);
    }
    if (which && e->losses && e->top && asc_lm_set_carried(e->lm, e->carried) == ASC_OK) {
        bool recording = asc_set_recording(e->ctx, false);
        asc_lm_set_dropout(e->lm, 0);
        run_all(e, which);
        asc_set_recording(e->ctx, recording);
    }
    asc_lm_carried_free(e->carried);
    asc_free(e->ctx, which, blocks * sizeof *which);
    asc_free(e->ctx, e->losses, values * sizeof *e->losses);
    asc_free(e->ctx, e->top, 2 * values * sizeof *e->top);
    return asc_error(e->ctx);
}

asc_status asc_evaluate(asc_ctx *ctx, asc_lm *lm, const asc_split *split, const asc_eval_options *options,
                        asc_eval_result *result)
{
    asc_status status = ASC_NEED(ctx, "evaluate: lm split options result", lm, split, options, result);
    if (status || (status = check_options(ctx, lm, options))) {
        return status;
    }
    evaluation e = {.ctx = ctx, .lm = lm, .split = split, .options = options, .classify = asc_lm_classes(lm) > 0,
                    .length = options->length > 0 ? options->length : asc_lm_block(lm)};
    if (check_split(&e, longest_input(&e))) {
        return asc_error(ctx);
    }
    e.length = e.length < split->n_tokens ? e.length : split->n_tokens;
    if (run(&e, longest_input(&e)) == ASC_OK) {
        sum_up(&e, result);
    }
    return asc_error(ctx);
}
