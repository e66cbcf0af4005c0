/* nn/lm_head.c: what stands on the hidden states.
 *
 *   language model   logits = h E^T, E the embedding, or as lm_parts.c has it;  loss: the mean of the targets'
 *                    cross-entropy
 *   classifier       logits = W pool(h) + b, pool the mean over a sequence's tokens, or its first token's state;
 *                    of pairs: lm_pairs.c */
#include <math.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "nn/lm_parts.h"
#include "tensor/ctx.h"
#include "tensor/dtype.h"
#include "tensor/need.h"

/* ---- next tokens ---- */

/* Whether y's entries are there to be read, one for each of the states h (B, N, D). */
static bool is_of_tokens(asc_tensor y, asc_tensor h)
{
    return asc_dtype_of(y) == ASC_I64 && asc_is_contiguous(y) && asc_ndim(h) == 3 && asc_ndim(y) == 2 &&
           asc_size(y, 0) == asc_size(h, 0) && asc_size(y, 1) == asc_size(h, 1);
}

/* 0 also where one is beyond the vocabulary, which is told of all of them. */
static int64_t count_targets(asc_tensor y, int64_t vocab)
{
    const int64_t *id = asc_data(y);
    int64_t n = 0;
    for (int64_t i = 0; id && i < asc_numel(y); i++) {
        if (id[i] >= vocab) {
            return 0;
        }
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

/* What *few, (n) or (n, K), has of each target, at its place, 0 elsewhere: of y's shape, or that and K. */
static void spread(asc_ctx *ctx, asc_tensor *few, asc_tensor at, asc_tensor y)
{
    if (!few || asc_is_null(*few)) {
        return;
    }
    asc_array shape = asc_array_of(y);
    int64_t K = asc_ndim(*few) > 1 ? asc_size(*few, 1) : 1;
    if (asc_ndim(*few) > 1) {
        shape.shape[shape.ndim++] = K;
    }
    asc_tensor all = asc_zeros(ctx, asc_dtype_of(*few), shape.ndim, shape.shape);
    size_t bytes = (size_t)K * asc_dtype_size(asc_dtype_of(*few));
    const int64_t *place = asc_data(at);
    const char *from = asc_data(*few);
    char *to = asc_data_mut(all);
    for (int64_t i = 0; to && from && i < asc_numel(at); i++) {
        memcpy(to + (size_t)place[i] * bytes, from + (size_t)i * bytes, bytes);
    }
    asc_release(*few);
    *few = all;
}

/* The cross-entropy of the targets' rows alone: where most tokens are given, most of the head's products would be for
 * nothing. */
static asc_tensor loss_of_few(asc_lm *lm, asc_tensor h, asc_tensor y, int64_t n, asc_tensor *token_loss,
                              asc_tensor *top)
{
    asc_ctx *ctx = lm->ctx;
    asc_tensor targets, at = find_targets(ctx, y, n, &targets), rows = take_rows(ctx, h, at);
    asc_tensor loss = asc_linear_cross_entropy_top(ctx, rows, lm->head, targets, lm->logit_cap, token_loss, top);
    spread(ctx, token_loss, at, y);
    spread(ctx, top, at, y);
    asc_release(rows);
    asc_release(at);
    asc_release(targets);
    return loss;
}

/* The cross-entropy of hidden states; h goes. */
static asc_tensor head_loss(asc_lm *lm, asc_tensor h, asc_tensor y, asc_tensor *token_loss, asc_tensor *top)
{
    const char *outer = asc_set_label(lm->ctx, "head");
    h = asc_lm_head_input(lm, h);
    int64_t n = is_of_tokens(y, h) ? count_targets(y, asc_lm_vocab(lm)) : 0;
    asc_tensor loss = n > 0 && n <= asc_numel(y) / 4
                          ? loss_of_few(lm, h, y, n, token_loss, top)
                          : asc_linear_cross_entropy_top(lm->ctx, h, lm->head, y, lm->logit_cap, token_loss, top);
    asc_set_label(lm->ctx, outer);
    asc_release(h);
    return loss;
}

asc_tensor asc_lm_loss_top(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss, asc_tensor *top)
{
    if (token_loss) {
        *token_loss = asc_null();
    }
    if (top) {
        *top = asc_null();
    }
    if (!asc_lm_given(lm, x, "lm_loss: lm", ASC_HEAD_LM)) {
        return asc_null();
    }
    return head_loss(lm, asc_lm_hidden_in_full(lm, x, asc_null(), NULL), y, token_loss, top);
}

asc_tensor asc_lm_loss(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss)
{
    return asc_lm_loss_top(lm, x, y, token_loss, NULL);
}

/* The objective and its value, with the auxiliary losses added; both go. */
static asc_tensor with_aux(asc_ctx *ctx, asc_tensor objective, asc_tensor aux, double *loss)
{
    if (loss) {
        *loss = asc_item(objective);
    }
    return asc_is_null(aux) ? objective : asc_after(aux, asc_after(objective, asc_add(ctx, objective, aux)));
}

asc_tensor asc_lm_objective(asc_lm *lm, asc_tensor x, asc_tensor y, double *loss)
{
    asc_tensor aux = asc_null(), objective = asc_null();
    if (asc_lm_given(lm, x, "lm_objective: lm", ASC_HEAD_LM)) {
        asc_tensor h = asc_lm_hidden_in_full(lm, x, asc_null(), lm->without_aux ? NULL : &aux);
        objective = head_loss(lm, h, y, NULL, NULL);
    }
    return with_aux(lm ? lm->ctx : NULL, objective, aux, loss);
}

asc_tensor asc_lm_logits(asc_lm *lm, asc_tensor x)
{
    if (!asc_lm_given(lm, x, "lm_logits: lm", ASC_HEAD_LM)) {
        return asc_null();
    }
    return asc_lm_head_logits(lm, asc_lm_hidden_in_full(lm, x, asc_null(), NULL));
}

/* ---- the highest ---- */

/* Of the n numbers from number `first` on, the first of the largest. */
static int64_t top_of(asc_dtype dtype, const void *x, int64_t first, int64_t n)
{
    int64_t top = 0;
    double most = asc_element(dtype, x, first);
    for (int64_t i = 1; i < n; i++) {
        double value = asc_element(dtype, x, first + i);
        if (value > most) {
            most = value;
            top = i;
        }
    }
    return top;
}

asc_status asc_top_classes(asc_ctx *ctx, asc_tensor logits, int64_t *top)
{
    asc_status status = ASC_NEED(ctx, "top_classes: top", top);
    if (status || (status = asc_need_tensor(ctx, logits, "top_classes", "logits"))) {
        return status;
    }
    asc_array a = asc_array_of(logits);
    int64_t n = asc_size(logits, -1);
    if (n < 1 || !(a.dtype == ASC_F32 || a.dtype == ASC_F64)) {
        char text[ASC_SHAPE_TEXT];
        return asc_fail(ctx, ASC_ERR_ARG, "top_classes: logits are %s %s, expected f32 or f64 (..., C), C >= 1",
                        asc_dtype_name(a.dtype), asc_shape_text(&a, text));
    }
    if (!asc_is_contiguous(logits)) {
        return asc_fail(ctx, ASC_ERR_ARG, "top_classes: logits are not contiguous");
    }
    for (int64_t row = 0; row < asc_numel(logits) / n; row++) {
        top[row] = top_of(a.dtype, asc_data(logits), row * n, n);
    }
    return ASC_OK;
}

/* ---- classes ---- */

asc_tensor asc_mean_within(asc_ctx *ctx, asc_tensor x, asc_tensor lengths)
{
    if (asc_ndim(x) == 3 && asc_size(x, 1) == 0 && asc_is_null(lengths)) {
        return asc_zeros(ctx, asc_dtype_of(x), ASC_SHAPE(asc_size(x, 0), asc_size(x, 2)));
    }
    if (asc_is_null(x) || asc_is_null(lengths)) {
        return asc_mean(ctx, x, 1, (int[]){1}, false);
    }
    char text[2][ASC_SHAPE_TEXT];
    asc_array a = asc_array_of(x), l = asc_array_of(lengths);
    int64_t B = asc_size(x, 0), N = asc_size(x, 1);
    if (a.ndim != 3 || l.dtype != ASC_I64 || l.ndim != 1 || l.numel != B || !asc_is_contiguous(lengths)) {
        asc_fail(ctx, ASC_ERR_ARG, "mean_within: x is %s and lengths are %s %s, expected (B, N, D) and contiguous i64 "
                 "(B)", asc_shape_text(&a, text[0]), asc_dtype_name(l.dtype), asc_shape_text(&l, text[1]));
        return asc_null();
    }
    const int64_t *length = asc_data(lengths);
    for (int64_t b = 0; b < B; b++) {
        if (length[b] < 0 || length[b] > N) {
            asc_fail(ctx, ASC_ERR_ARG, "mean_within: length %lld is %lld, expected 0 to %lld", (long long)b,
                     (long long)length[b], (long long)N);
            return asc_null();
        }
    }
    asc_tensor behind = asc_empty(ctx, ASC_U8, ASC_SHAPE(B, N, 1)), inverse = asc_empty(ctx, ASC_F64, ASC_SHAPE(B, 1));
    uint8_t *mark = asc_data_mut(behind);
    double *one_over = asc_data_mut(inverse);
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

/* The first token's states of h (B, N, D): (B, D), 0 for a length of 0. */
static asc_tensor first_within(asc_ctx *ctx, asc_tensor h, asc_tensor lengths)
{
    int64_t B = asc_size(h, 0), D = asc_size(h, 2);
    if (asc_size(h, 1) == 0) {
        return asc_zeros(ctx, asc_dtype_of(h), ASC_SHAPE(B, D));
    }
    asc_tensor first = asc_slice(ctx, h, 1, 0, 1, 1), pooled = asc_reshape(ctx, first, ASC_SHAPE(B, D));
    asc_release(first);
    if (asc_is_null(lengths)) {
        return pooled;
    }
    asc_tensor zero = asc_zeros(ctx, ASC_I64, ASC_SHAPE(1)), none = asc_equal(ctx, lengths, zero);
    asc_tensor column = asc_reshape(ctx, none, ASC_SHAPE(B, 1)), filled = asc_masked_fill(ctx, pooled, column, 0);
    asc_release(zero);
    asc_release(none);
    asc_release(column);
    asc_release(pooled);
    return filled;
}

/* Logits (B, C) of hidden states; h goes. */
static asc_tensor classify(asc_lm *lm, asc_tensor h, asc_tensor lengths)
{
    asc_ctx *ctx = lm->ctx;
    if (lm->is_pairs) {
        return asc_pairs_classify(lm, h, lengths);
    }
    const char *outer = asc_set_label(ctx, "head");
    asc_tensor pooled;
    if (lm->pool_first) {
        pooled = first_within(ctx, h, lengths);
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

asc_status asc_lm_set_class_weights(asc_lm *lm, const double *weights)
{
    asc_status status = ASC_NEED(lm ? lm->ctx : NULL, "lm_set_class_weights: lm", lm);
    if (status) {
        return status;
    }
    for (int64_t c = 0; weights && c < lm->classes; c++) {
        if (!(weights[c] >= 0) || !isfinite(weights[c])) {
            return asc_fail(lm->ctx, ASC_ERR_ARG, "lm_set_class_weights: weight %lld is %g, expected a finite number "
                            ">= 0", (long long)c, weights[c]);
        }
    }
    size_t bytes = (size_t)lm->classes * sizeof *weights;
    asc_free(lm->ctx, lm->class_weights, bytes);
    lm->class_weights = weights && bytes > 0 ? asc_alloc(lm->ctx, bytes) : NULL;
    if (lm->class_weights) {
        memcpy(lm->class_weights, weights, bytes);
    }
    return asc_error(lm->ctx);
}

/* −Σ w_y log p_y / Σ w_y. */
static asc_tensor weighted_cross_entropy(asc_lm *lm, asc_tensor logits, asc_tensor labels)
{
    asc_ctx *ctx = lm->ctx;
    bool recording = asc_set_recording(ctx, false);
    asc_release(asc_cross_entropy(ctx, logits, labels, -1, NULL)); /* refuses labels that are none */
    asc_set_recording(ctx, recording);
    if (asc_error(ctx)) {
        return asc_null();
    }
    int64_t B = asc_size(logits, 0), C = lm->classes;
    asc_tensor whole = asc_contiguous(ctx, labels);
    const int64_t *label = asc_data(whole);
    asc_tensor factors = asc_zeros(ctx, ASC_F64, ASC_SHAPE(B, C));
    double *factor = asc_data_mut(factors), all = 0;
    for (int pass = 0; factor && label && pass < 2; pass++) {
        for (int64_t b = 0; b < B; b++) {
            double w = label[b] >= 0 ? lm->class_weights[label[b]] : 0;
            if (pass == 0) {
                all += w;
            } else if (w > 0) {
                factor[b * C + label[b]] = -w / all;
            }
        }
    }
    asc_tensor own = asc_cast(ctx, factors, asc_dtype_of(logits)), logs = asc_log_softmax(ctx, logits, asc_null());
    asc_tensor product = asc_mul(ctx, own, logs), sum = asc_sum(ctx, product, ASC_ALL_DIMS, false);
    if (!asc_is_same(whole, labels)) {
        asc_release(whole);
    }
    asc_release(factors);
    asc_release(own);
    asc_release(logs);
    asc_release(product);
    return sum;
}

asc_tensor asc_lm_class_objective(asc_lm *lm, asc_tensor x, asc_tensor lengths, asc_tensor labels, double *loss)
{
    asc_tensor aux = asc_null(), objective = asc_null();
    if (asc_lm_given(lm, x, "lm_class_objective: lm", ASC_HEAD_CLASSIFIER)) {
        asc_tensor h = asc_lm_hidden_in_full(lm, x, lengths, lm->without_aux ? NULL : &aux);
        asc_tensor logits = classify(lm, h, lengths);
        objective = lm->class_weights ? weighted_cross_entropy(lm, logits, labels)
                                      : asc_cross_entropy(lm->ctx, logits, labels, -1, NULL);
        asc_release(logits);
    }
    return with_aux(lm ? lm->ctx : NULL, objective, aux, loss);
}
