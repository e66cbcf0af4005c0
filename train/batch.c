/* train/batch.c: batches of a split for a model: tokens, sequences with a class, pairs of sentences. */
#include "train/batch.h"

#include <string.h>

#include <ascgrad/op.h>
#include <ascgrad/ops.h>

static asc_status make_tokens(const asc_batch_source *s, const int32_t *which, int64_t n, asc_batch *b)
{
    int64_t width = asc_split_width(s->split, s->block, which, n);
    b->x = asc_empty(s->ctx, ASC_I64, ASC_SHAPE(n, width));
    b->y = asc_empty(s->ctx, ASC_I64, ASC_SHAPE(n, width));
    return asc_error(s->ctx) ? asc_error(s->ctx)
                             : asc_block_fill(s->ctx, s->split, s->block, which, n, asc_data_mut(b->x),
                                              asc_data_mut(b->y));
}

static asc_status make_sequences(const asc_batch_source *s, const int32_t *which, int64_t n, asc_batch *b)
{
    b->x = asc_empty(s->ctx, ASC_I64, ASC_SHAPE(n, asc_class_width(s->split, which, n)));
    b->lengths = asc_empty(s->ctx, ASC_I64, 1, &n);
    return asc_error(s->ctx) ? asc_error(s->ctx)
                             : asc_class_fill(s->ctx, s->split, which, n, asc_data_mut(b->x),
                                              asc_data_mut(b->lengths), asc_data_mut(b->y));
}

/* ---- pairs ---- */

/* Leaves out what the model is not to see: the second sentence moves to the front where the first goes. A row of x is
 * `bytes` long. */
static void leave_out(const asc_pair_inputs *in, char *x, size_t bytes, int64_t width, int64_t *lengths, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        char *own = x + (size_t)(i * width) * bytes;
        if (in->left_out[0]) {
            memmove(own, own + (size_t)lengths[2 * i] * bytes, (size_t)lengths[2 * i + 1] * bytes);
        }
        for (int side = 0; side < 2; side++) {
            lengths[2 * i + side] = in->left_out[side] ? 0 : lengths[2 * i + side];
        }
        size_t used = (size_t)(lengths[2 * i] + lengths[2 * i + 1]) * bytes;
        memset(own + used, 0, (size_t)width * bytes - used);
    }
}

static asc_status make_token_pairs(const asc_batch_source *s, const asc_pair_inputs *in, const int32_t *which,
                                   int64_t n, asc_batch *b)
{
    int64_t width = asc_pair_width(s->split, which, n, s->block);
    b->x = asc_empty(s->ctx, ASC_I64, ASC_SHAPE(n, width));
    if (asc_error(s->ctx) || asc_pair_fill(s->ctx, s->split, which, n, s->block, asc_data_mut(b->x),
                                           asc_data_mut(b->lengths), asc_data_mut(b->y))) {
        return asc_error(s->ctx);
    }
    leave_out(in, asc_data_mut(b->x), sizeof(int64_t), width, asc_data_mut(b->lengths), n);
    return ASC_OK;
}

/* The rows of pair s that the model sees. */
static void count_rows(const asc_batch_source *s, const asc_pair_inputs *in, int32_t pair, int64_t rows[2])
{
    if (in->together) {
        rows[0] = asc_features_first_rows(s->features, pair);
        rows[1] = asc_features_rows(s->features, pair) - rows[0];
        return;
    }
    for (int side = 0; side < 2; side++) {
        rows[side] = in->left_out[side] ? 0 : asc_features_rows(s->features, 2 * (int64_t)pair + side);
    }
}

/* The premise's rows, and behind them the hypothesis's. */
static asc_status read_rows(const asc_batch_source *s, const asc_pair_inputs *in, int32_t pair, const int64_t rows[2],
                            float *to)
{
    if (in->together) {
        return asc_features_read(s->features, pair, to);
    }
    asc_status status = ASC_OK;
    for (int side = 0; side < 2 && !status; side++) {
        float *own = to + (side ? rows[0] * in->states : 0);
        status = rows[side] > 0 ? asc_features_read(s->features, 2 * (int64_t)pair + side, own) : ASC_OK;
    }
    return status;
}

static asc_status make_state_pairs(const asc_batch_source *s, const asc_pair_inputs *in, const int32_t *which,
                                   int64_t n, asc_batch *b)
{
    int64_t width = 1, E = in->states, *lengths = asc_data_mut(b->lengths), *labels = asc_data_mut(b->y);
    for (int64_t i = 0; lengths && labels && i < n; i++) {
        count_rows(s, in, which[i], lengths + 2 * i);
        labels[i] = s->split->labels[which[i]];
        width = lengths[2 * i] + lengths[2 * i + 1] > width ? lengths[2 * i] + lengths[2 * i + 1] : width;
    }
    b->x = asc_zeros(s->ctx, ASC_F32, ASC_SHAPE(n, width, E));
    float *to = asc_data_mut(b->x);
    for (int64_t i = 0; to && lengths && i < n; i++, to += width * E) {
        if (read_rows(s, in, which[i], lengths + 2 * i, to)) {
            return asc_error(s->ctx);
        }
    }
    b->x = asc_cast(s->ctx, b->x, asc_dtype_of(asc_params_at(asc_lm_params((asc_lm *)s->lm), 0)));
    return asc_error(s->ctx);
}

static asc_status make_pairs(const asc_batch_source *s, const asc_pair_inputs *in, const int32_t *which, int64_t n,
                             asc_batch *b)
{
    b->lengths = asc_empty(s->ctx, ASC_I64, ASC_SHAPE(n, 2));
    if (!s->split->seconds || !s->split->labels) {
        return asc_fail_on(s->ctx, ASC_ERR_ARG, "data", ": the model is one of pairs, and the data has no two texts "
                           "and a class each");
    }
    if (in->states == 0) {
        return make_token_pairs(s, in, which, n, b);
    }
    int64_t sentences = (in->together ? 1 : 2) * s->split->n_sequences;
    if (asc_features_dim(s->features) != in->states || asc_features_count(s->features) < sentences) { /* of a part */
        return asc_fail_on(s->ctx, ASC_ERR_ARG, "encoder",
                           ": the model takes states of %lld entries, and %lld "
                           "sentences have some of %lld, expected %lld",
                           (long long)in->states, (long long)asc_features_count(s->features),
                           (long long)asc_features_dim(s->features), (long long)sentences);
    }
    return make_state_pairs(s, in, which, n, b);
}

asc_status asc_batch_make(const asc_batch_source *s, const int32_t *which, int64_t n, asc_batch *batch)
{
    asc_pair_inputs in = asc_lm_pair_inputs(s->lm);
    *batch = (asc_batch){asc_null(), asc_null(), asc_null()};
    if (asc_lm_classes(s->lm) == 0) {
        return make_tokens(s, which, n, batch);
    }
    batch->y = asc_empty(s->ctx, ASC_I64, 1, &n);
    return in.pairs ? make_pairs(s, &in, which, n, batch) : make_sequences(s, which, n, batch);
}

int64_t asc_batch_rows(const asc_batch_source *s, int32_t which)
{
    asc_pair_inputs in = asc_lm_pair_inputs(s->lm);
    if (!in.pairs) {
        return asc_lm_classes(s->lm) > 0 ? asc_class_width(s->split, &which, 1)
                                         : asc_split_width(s->split, s->block, &which, 1);
    }
    if (in.states == 0) {
        return asc_pair_width(s->split, &which, 1, s->block);
    }
    int64_t rows[2];
    count_rows(s, &in, which, rows);
    return rows[0] + rows[1];
}
