/* nn/lm_head.c: what stands on the hidden states.
 *
 *   language model   logits = h E^T, E the embedding;  loss: the mean of the targets' cross-entropy
 *   classifier       logits = W pool(h) + b, pool the mean over a sequence's tokens, or its first token's state */
#include <string.h>

#include <ascgrad/ops.h>

#include "nn/lm.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

/* ---- next tokens ---- */

static bool counts(asc_tensor y)
{
    return asc_dtype_of(y) == ASC_I64 && asc_is_contiguous(y);
}

static int64_t count_targets(asc_tensor y)
{
    const int64_t *id = asc_data(y);
    int64_t n = 0;
    for (int64_t i = 0; id && i < asc_numel(y); i++) {
        n += id[i] >= 0;
    }
    return n;
}

/* The places of the n targets, i64 (n), and what they are. */
static asc_tensor find_targets(asc_ctx *ctx, asc_tensor y, int64_t n, asc_tensor *targets)
{
    asc_tensor at = asc_empty(ctx, ASC_I64, 1, &n);
    *targets = asc_empty(ctx, ASC_I64, 1, &n);
    if (asc_error(ctx)) {
        return asc_null();
    }
    const int64_t *id = asc_data(y);
    int64_t *place = asc_data_mut(at), *target = asc_data_mut(*targets);
    for (int64_t i = 0, found = 0; i < asc_numel(y); i++) {
        if (id[i] >= 0) {
            place[found] = i;
            target[found++] = id[i];
        }
    }
    return at;
}

/* The rows of h (B, N, D) at those places: (n, D). */
static asc_tensor take_rows(asc_ctx *ctx, asc_tensor h, asc_tensor at)
{
    asc_tensor flat = asc_reshape(ctx, h, 2, (int64_t[]){-1, asc_size(h, -1)});
    asc_tensor rows = asc_embedding(ctx, flat, at);
    asc_release(flat);
    return rows;
}

/* Each target's loss at its place, 0 elsewhere; `few` goes. */
static asc_tensor spread(asc_ctx *ctx, asc_tensor few, asc_tensor at, asc_tensor y)
{
    asc_array shape = asc_array_of(y);
    asc_tensor all = asc_zeros(ctx, asc_dtype_of(few), shape.ndim, shape.shape);
    size_t bytes = asc_dtype_size(asc_dtype_of(few));
    const int64_t *place = asc_data(at);
    const char *from = asc_data(few);
    char *to = asc_data_mut(all);
    for (int64_t i = 0; to && from && i < asc_numel(at); i++) {
        memcpy(to + (size_t)place[i] * bytes, from + (size_t)i * bytes, bytes);
    }
    asc_release(few);
    return all;
}

/* The cross-entropy of the targets' rows alone: where most tokens are given, most of the head's products would be for
 * nothing. */
static asc_tensor loss_of_few(asc_lm *lm, asc_tensor h, asc_tensor y, int64_t n, asc_tensor *token_loss)
{
    asc_ctx *ctx = lm->ctx;
    asc_tensor targets, at = find_targets(ctx, y, n, &targets), rows = take_rows(ctx, h, at);
    asc_tensor loss = asc_linear_cross_entropy(ctx, rows, lm->tok_emb, targets, token_loss);
    if (token_loss && !asc_is_null(*token_loss)) {
        *token_loss = spread(ctx, *token_loss, at, y);
    }
    asc_release(rows);
    asc_release(at);
    asc_release(targets);
    return loss;
}

/* The cross-entropy of hidden states; h goes. */
static asc_tensor head_loss(asc_lm *lm, asc_tensor h, asc_tensor y, asc_tensor *token_loss)
{
    const char *outer = asc_set_label(lm->ctx, "head");
    bool fits = counts(y) && asc_ndim(h) == 3 && asc_numel(y) * lm->D == asc_numel(h);
    int64_t n = fits ? count_targets(y) : 0;
    asc_tensor loss = n > 0 && n <= asc_numel(y) / 4 ? loss_of_few(lm, h, y, n, token_loss)
                                                     : asc_linear_cross_entropy(lm->ctx, h, lm->tok_emb, y, token_loss);
    asc_set_label(lm->ctx, outer);
    asc_release(h);
    return loss;
}

asc_tensor asc_lm_loss(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss)
{
    if (token_loss) {
        *token_loss = asc_null();
    }
    if (!asc_lm_given(lm, x, "lm_loss: lm", ASC_HEAD_LM)) {
        return asc_null();
    }
    return head_loss(lm, asc_lm_hidden_in_full(lm, x, asc_null(), NULL), y, token_loss);
}

/* The objective and its value, with the auxiliary losses added. */
static asc_tensor with_aux(asc_ctx *ctx, asc_tensor objective, asc_tensor aux, double *loss)
{
    if (loss) {
        *loss = asc_item(objective);
    }
    return asc_is_null(aux) ? objective : asc_add(ctx, objective, aux);
}

asc_tensor asc_lm_objective(asc_lm *lm, asc_tensor x, asc_tensor y, double *loss)
{
    asc_tensor aux = asc_null(), objective = asc_null();
    if (asc_lm_given(lm, x, "lm_objective: lm", ASC_HEAD_LM)) {
        objective = head_loss(lm, asc_lm_hidden_in_full(lm, x, asc_null(), &aux), y, NULL);
    }
    return with_aux(lm ? lm->ctx : NULL, objective, aux, loss);
}

asc_tensor asc_lm_logits(asc_lm *lm, asc_tensor x)
{
    if (!asc_lm_given(lm, x, "lm_logits: lm", ASC_HEAD_LM)) {
        return asc_null();
    }
    asc_tensor h = asc_lm_hidden_in_full(lm, x, asc_null(), NULL);
    asc_tensor logits = asc_linear(lm->ctx, h, lm->tok_emb, asc_null());
    asc_release(h);
    return logits;
}

/* ---- the most probable ---- */

static int64_t top_of_f32(const float *x, int64_t n)
{
    int64_t top = 0;
    for (int64_t i = 1; i < n; i++) {
        top = x[i] > x[top] ? i : top;
    }
    return top;
}

static int64_t top_of_f64(const double *x, int64_t n)
{
    int64_t top = 0;
    for (int64_t i = 1; i < n; i++) {
        top = x[i] > x[top] ? i : top;
    }
    return top;
}

asc_status asc_top_classes(asc_ctx *ctx, asc_tensor logits, int64_t *top)
{
    asc_status status = ASC_NEED(ctx, "top_classes: top", top);
    if (status || (status = asc_need_tensor(ctx, logits, "top_classes", "logits"))) {
        return status;
    }
    int64_t n = asc_size(logits, -1);
    bool single = asc_dtype_of(logits) == ASC_F32;
    if (asc_ndim(logits) < 1 || n < 1 || !asc_is_contiguous(logits) || !(single || asc_dtype_of(logits) == ASC_F64)) {
        return asc_fail(ctx, ASC_ERR_ARG,
                        "top_classes: logits have %d dimensions, the last of size %lld, expected "
                        "contiguous numbers (..., C)",
                        asc_ndim(logits), (long long)n);
    }
    for (int64_t row = 0; row < asc_numel(logits) / n; row++) {
        top[row] = single ? top_of_f32((const float *)asc_data(logits) + row * n, n)
                          : top_of_f64((const double *)asc_data(logits) + row * n, n);
    }
    return ASC_OK;
}

/* The most probable tokens at the targets, some rows at a time so that few logits are held; -1 elsewhere. */
static void find_top(asc_lm *lm, asc_tensor h, asc_tensor y, int64_t *top)
{
    enum { ROWS = 512 };
    asc_ctx *ctx = lm->ctx;
    int64_t n = count_targets(y), found[ROWS];
    asc_tensor targets, at = find_targets(ctx, y, n, &targets);
    const int64_t *place = asc_data(at);
    for (int64_t i = 0; i < asc_numel(y); i++) {
        top[i] = -1;
    }
    for (int64_t from = 0; from < n && asc_error(ctx) == ASC_OK; from += ROWS) {
        int64_t end = from + ROWS < n ? from + ROWS : n;
        asc_tensor some = asc_contiguous(ctx, asc_slice(ctx, at, 0, from, end, 1)), rows = take_rows(ctx, h, some);
        asc_tensor logits = asc_linear(ctx, rows, lm->tok_emb, asc_null());
        asc_top_classes(ctx, logits, found);
        for (int64_t i = from; i < end; i++) {
            top[place[i]] = found[i - from];
        }
        asc_release(some);
        asc_release(rows);
        asc_release(logits);
    }
    asc_release(at);
    asc_release(targets);
}

asc_tensor asc_lm_score(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss, int64_t *top)
{
    if (token_loss) {
        *token_loss = asc_null();
    }
    if (!asc_lm_given(lm, x, "lm_score: lm", ASC_HEAD_LM) || ASC_NEED(lm->ctx, "lm_score: top", top)) {
        return asc_null();
    }
    if (!counts(y) || asc_numel(y) != asc_numel(x)) {
        asc_fail(lm->ctx, ASC_ERR_ARG, "lm_score: %lld targets, expected i64, contiguous, as many as tokens, %lld",
                 (long long)asc_numel(y), (long long)asc_numel(x));
        return asc_null();
    }
    bool recording = asc_set_recording(lm->ctx, false);
    asc_tensor h = asc_lm_hidden_in_full(lm, x, asc_null(), NULL);
    if (!asc_is_null(h)) {
        find_top(lm, h, y, top);
    }
    asc_tensor loss = head_loss(lm, h, y, token_loss);
    asc_set_recording(lm->ctx, recording);
    return loss;
}

/* ---- classes ---- */

asc_tensor asc_mean_within(asc_ctx *ctx, asc_tensor x, asc_tensor lengths)
{
    if (asc_is_null(x) || asc_is_null(lengths)) {
        return asc_mean(ctx, x, 1, (int[]){1}, false);
    }
    int64_t B = asc_size(x, 0), N = asc_size(x, 1);
    if (asc_ndim(x) != 3 || asc_dtype_of(lengths) != ASC_I64 || asc_ndim(lengths) != 1 || asc_numel(lengths) != B ||
        !asc_is_contiguous(lengths)) {
        asc_fail(ctx, ASC_ERR_ARG,
                 "mean_within: x has %d dimensions and there are %lld lengths, expected (B, N, D) and "
                 "i64 (B)",
                 asc_ndim(x), (long long)asc_numel(lengths));
        return asc_null();
    }
    asc_tensor behind = asc_empty(ctx, ASC_U8, ASC_SHAPE(B, N, 1)), inverse = asc_empty(ctx, ASC_F64, ASC_SHAPE(B, 1));
    uint8_t *mark = asc_data_mut(behind);
    double *one_over = asc_data_mut(inverse);
    const int64_t *length = asc_data(lengths);
    for (int64_t b = 0; mark && one_over && b < B; b++) {
        one_over[b] = length[b] > 0 ? 1 / (double)length[b] : 0;
        for (int64_t t = 0; t < N; t++) {
            mark[b * N + t] = t >= length[b];
        }
    }
    asc_tensor kept = asc_masked_fill(ctx, x, behind, 0), sum = asc_sum(ctx, kept, 1, (int[]){1}, false);
    asc_tensor factor = asc_cast(ctx, inverse, asc_dtype_of(x)), mean = asc_mul(ctx, sum, factor);
    asc_release(behind);
    asc_release(inverse);
    asc_release(kept);
    asc_release(sum);
    asc_release(factor);
    return mean;
}

/* Logits (B, C) of hidden states; h goes. */
static asc_tensor classify(asc_lm *lm, asc_tensor h, asc_tensor lengths)
{
    asc_ctx *ctx = lm->ctx;
    const char *outer = asc_set_label(ctx, "head");
    asc_tensor pooled = asc_null();
    if (lm->pool_first) {
        asc_tensor first = asc_slice(ctx, h, 1, 0, 1, 1);
        pooled = asc_reshape(ctx, first, 2, (int64_t[]){asc_size(h, 0), lm->D});
        asc_release(first);
    } else {
        pooled = asc_mean_within(ctx, h, lengths);
    }
    asc_tensor logits = asc_linear(ctx, pooled, lm->classifier.weight, lm->classifier.bias);
    asc_release(pooled);
    asc_release(h);
    asc_set_label(ctx, outer);
    return logits;
}

asc_tensor asc_lm_classify(asc_lm *lm, asc_tensor x, asc_tensor lengths)
{
    if (!asc_lm_given(lm, x, "lm_classify: lm", ASC_HEAD_CLASSIFIER)) {
        return asc_null();
    }
    return classify(lm, asc_lm_hidden_in_full(lm, x, lengths, NULL), lengths);
}

asc_tensor asc_lm_class_objective(asc_lm *lm, asc_tensor x, asc_tensor lengths, asc_tensor labels, double *loss)
{
    asc_tensor aux = asc_null(), objective = asc_null();
    if (asc_lm_given(lm, x, "lm_class_objective: lm", ASC_HEAD_CLASSIFIER)) {
        asc_tensor logits = classify(lm, asc_lm_hidden_in_full(lm, x, lengths, &aux), lengths);
        objective = asc_cross_entropy(lm->ctx, logits, labels, -1, NULL);
        asc_release(logits);
    }
    return with_aux(lm ? lm->ctx : NULL, objective, aux, loss);
}
