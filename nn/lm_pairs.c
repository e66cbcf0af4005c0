/* nn/lm_pairs.c: models of pairs of sentences ("head": "pairs"), as natural-language inference asks for.
 *
 *   rows     each sentence's windows of tokens, premise's then hypothesis's; a row is the mean of its tokens' states.
 *            The states are a frozen encoder's ("states": their width E), which has read the sentences apart, or
 *            together as one ("pairs"), and their windows are the model's input; or they are embeddings of tokens, the
 *            model's own
 *   h        = P row + b (of given states) + pos_emb[place in its sentence] + seg_emb[0 premise, 1 hypothesis], then
 *            the blocks of lm_run.c
 *   u, v     = means over the premise's and the hypothesis's rows
 *   logits   = W₂ GELU(W₁ [u; v; |u−v|; u∘v] + b₁) + b₂
 *
 * Bowman et al. 2015 have the task; u, v, |u−v| are of Conneau et al. 2017, u∘v of Mou et al. 2016. */
#include <string.h>

#include <ascgrad/ops.h>

#include "nn/lm_parts.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

/* ---- windows ---- */

int64_t asc_window_count(int64_t tokens, int64_t stride)
{
    return tokens > 0 && stride > 0 ? (tokens - 1) / stride + 1 : 0;
}

/* Lengths i64 (B, S) of what `x`, (B, N, …), has; the most that one of its rows has in all. */
static asc_status check_lengths(asc_ctx *ctx, const char *what, asc_tensor x, asc_tensor lengths, int64_t *most)
{
    char text[2][ASC_SHAPE_TEXT];
    asc_array a = asc_array_of(x), l = asc_array_of(lengths);
    bool fits = a.ndim >= 2 && l.dtype == ASC_I64 && l.ndim == 2 && l.shape[0] == a.shape[0] &&
                asc_is_contiguous(lengths);
    if (!fits) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: x is %s and lengths are %s %s, expected (B, N, …) and contiguous i64 "
                        "(B, S)", what, asc_shape_text(&a, text[0]), asc_dtype_name(l.dtype),
                        asc_shape_text(&l, text[1]));
    }
    const int64_t *length = asc_data(lengths);
    *most = 0;
    for (int64_t b = 0; b < l.shape[0]; b++) {
        int64_t all = 0;
        for (int64_t s = 0; s < l.shape[1]; s++) {
            int64_t n = length[b * l.shape[1] + s];
            if (n < 0 || n > a.shape[1] - all) {
                return asc_fail(ctx, ASC_ERR_ARG, "%s: lengths of row %lld go to %lld, expected 0 to %lld", what,
                                (long long)b, (long long)(all + n), (long long)a.shape[1]);
            }
            all += n;
        }
        *most = all > *most ? all : *most;
    }
    return ASC_OK;
}

/* The windows of each of the lengths, i64 (B, S); the most of one row in all. */
static asc_tensor count_windows(asc_ctx *ctx, asc_tensor lengths, int64_t stride, int64_t *most)
{
    int64_t B = asc_size(lengths, 0), S = asc_size(lengths, 1);
    asc_tensor counts = asc_empty(ctx, ASC_I64, ASC_SHAPE(B, S));
    int64_t *count = asc_data_mut(counts);
    const int64_t *length = asc_data(lengths);
    *most = 0;
    for (int64_t b = 0; count && b < B; b++) {
        int64_t all = 0;
        for (int64_t s = 0; s < S; s++) {
            count[b * S + s] = asc_window_count(length[b * S + s], stride);
            all += count[b * S + s];
        }
        *most = all > *most ? all : *most;
    }
    return counts;
}

/* Writes 1/n to columns from … from+n-1 of a row. */
static void put_mean(double *row, int64_t from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        row[from + i] = 1 / (double)n;
    }
}

/* What the windows' means are as a product, (B, W, N): row w has 1/n at the n tokens of window w. */
static asc_tensor window_matrix(asc_ctx *ctx, asc_tensor lengths, int64_t N, int64_t W, int64_t window, int64_t stride)
{
    int64_t B = asc_size(lengths, 0), S = asc_size(lengths, 1);
    asc_tensor matrix = asc_zeros(ctx, ASC_F64, ASC_SHAPE(B, W, N));
    double *row = asc_data_mut(matrix);
    const int64_t *length = asc_data(lengths);
    for (int64_t b = 0; row && b < B; b++) {
        double *own = row + b * W * N;
        for (int64_t s = 0, first = 0; s < S; first += length[b * S + s++]) {
            for (int64_t at = 0; at < length[b * S + s]; at += stride, own += N) {
                int64_t left = length[b * S + s] - at;
                put_mean(own, first + at, left < window ? left : window);
            }
        }
    }
    return matrix;
}

/* matrix x, in x's dtype; the matrix goes. */
static asc_tensor multiply(asc_ctx *ctx, asc_tensor matrix, asc_tensor x)
{
    asc_tensor own = asc_cast(ctx, matrix, asc_dtype_of(x)), y = asc_matmul(ctx, own, x);
    asc_release(matrix);
    asc_release(own);
    return y;
}

asc_tensor asc_window_means(asc_ctx *ctx, asc_tensor x, asc_tensor lengths, int64_t window, int64_t stride,
                            asc_tensor *counts)
{
    int64_t most;
    if (counts) {
        *counts = asc_null();
    }
    if (asc_need_tensor(ctx, x, "window_means", "x") || asc_need_tensor(ctx, lengths, "window_means", "lengths")) {
        return asc_null();
    }
    if (window < 1 || stride < 1 || asc_ndim(x) != 3) {
        asc_fail(ctx, ASC_ERR_ARG, "window_means: window is %lld, stride %lld and x has %d dimensions, expected at "
                 "least 1, and 3", (long long)window, (long long)stride, asc_ndim(x));
        return asc_null();
    }
    if (check_lengths(ctx, "window_means", x, lengths, &most)) {
        return asc_null();
    }
    asc_tensor n = count_windows(ctx, lengths, stride, &most);
    most = most > 0 ? most : 1;
    asc_tensor y = multiply(ctx, window_matrix(ctx, lengths, asc_size(x, 1), most, window, stride), x);
    if (counts) {
        *counts = n;
    } else {
        asc_release(n);
    }
    return y;
}

/* ---- making ---- */

asc_status asc_lm_make_pairs(asc_lm *lm, asc_maker *m, bool pos_emb)
{
    asc_pairs *p = &lm->pairs;
    const int64_t places[] = {asc_window_count(lm->block_length, p->stride), lm->D}, segments[] = {2, lm->D};
    if (p->states > 0) {
        p->proj = asc_make_linear(m, "proj", p->states, lm->D);
    }
    if (pos_emb) {
        p->pos_emb = asc_make_param(m, "pos_emb.weight", ASC_INIT_EMBEDDING, 2, places);
    }
    p->seg_emb = asc_make_param(m, "seg_emb.weight", ASC_INIT_EMBEDDING, 2, segments);
    return asc_error(lm->ctx);
}

asc_status asc_lm_make_pairs_head(asc_lm *lm, asc_maker *m)
{
    lm->pairs.fc1 = asc_make_linear(m, "fc1", 4 * lm->D, lm->pairs.head_ff);
    lm->pairs.fc2 = asc_make_linear(m, "fc2", lm->pairs.head_ff, lm->classes);
    return asc_error(lm->ctx);
}

asc_pair_inputs asc_lm_pair_inputs(const asc_lm *lm)
{
    if (!lm || !lm->is_pairs) {
        return (asc_pair_inputs){0};
    }
    const asc_pairs *p = &lm->pairs;
    return (asc_pair_inputs){.pairs = true,
                             .states = p->states,
                             .window = p->window,
                             .stride = p->stride,
                             .together = p->together,
                             .left_out = {p->sees == ASC_SEES_HYPOTHESIS, p->sees == ASC_SEES_PREMISE}};
}

/* ---- the input ---- */

/* The rows of each pair's sentences, i64 (B, 2): of states as they came, of tokens their windows. */
static asc_tensor count_rows(asc_lm *lm, asc_tensor lengths, int64_t *most)
{
    return count_windows(lm->ctx, lengths, lm->pairs.states > 0 ? 1 : lm->pairs.stride, most);
}

/* Whether no sentence has more rows than there are positions. */
static asc_status check_rows(const asc_lm *lm, asc_tensor rows)
{
    bool counts = !asc_is_null(lm->pairs.pos_emb);
    int64_t places = counts ? asc_size(lm->pairs.pos_emb, 0) : INT64_MAX;
    const int64_t *n = asc_data(rows);
    for (int64_t i = 0; n && i < asc_numel(rows); i++) {
        if (n[i] > places) {
            return asc_fail(lm->ctx, ASC_ERR_ARG, "lm: a sentence has %lld rows, expected at most %lld, the windows of "
                            "the model's block", (long long)n[i], (long long)places);
        }
    }
    return asc_error(lm->ctx);
}

/* For each row its place in its sentence, or with `segment` which sentence it is of: i64 (B, W). */
static asc_tensor number_rows(asc_ctx *ctx, asc_tensor rows, int64_t W, bool segment)
{
    int64_t B = asc_size(rows, 0);
    asc_tensor index = asc_zeros(ctx, ASC_I64, ASC_SHAPE(B, W));
    int64_t *to = asc_data_mut(index);
    const int64_t *n = asc_data(rows);
    for (int64_t b = 0; to && b < B; b++) {
        int64_t first = n[2 * b], all = first + n[2 * b + 1];
        for (int64_t w = 0; w < all; w++) {
            to[b * W + w] = segment ? w >= first : w - (w >= first ? first : 0);
        }
    }
    return index;
}

/* h + table[index]; h and index go. */
static asc_tensor add_rows(asc_ctx *ctx, asc_tensor h, asc_tensor table, asc_tensor index)
{
    asc_tensor chosen = asc_embedding(ctx, table, index), sum = asc_add(ctx, h, chosen);
    asc_release(h);
    asc_release(index);
    asc_release(chosen);
    return sum;
}

/* What the sum begins with: the states of the rows, or the means of the tokens' own. */
static asc_tensor first_term(asc_lm *lm, asc_tensor x, asc_tensor lengths, int64_t W)
{
    asc_ctx *ctx = lm->ctx;
    const asc_pairs *p = &lm->pairs;
    if (p->states > 0) {
        asc_tensor own = W < asc_size(x, 1) ? asc_slice(ctx, x, 1, 0, W, 1) : asc_keep(x);
        asc_tensor h = asc_linear(ctx, own, p->proj.weight, p->proj.bias);
        asc_release(own);
        return h;
    }
    asc_tensor tokens = asc_embedding(ctx, lm->tok_emb, x), h = tokens;
    if (p->window > 1 || p->stride > 1) {
        h = multiply(ctx, window_matrix(ctx, lengths, asc_size(x, 1), W, p->window, p->stride), tokens);
        asc_release(tokens);
    }
    return h;
}

static asc_status check_input(asc_lm *lm, asc_tensor x, asc_tensor lengths)
{
    char text[ASC_SHAPE_TEXT];
    asc_array a = asc_array_of(x);
    int64_t E = lm->pairs.states, most;
    bool fits = E > 0 ? a.ndim == 3 && a.dtype == lm->dtype && a.shape[2] == E : a.ndim == 2 && a.dtype == ASC_I64;
    if (!fits) {
        return asc_fail(lm->ctx, ASC_ERR_ARG, "lm: x is %s %s, expected %s", asc_dtype_name(a.dtype),
                        asc_shape_text(&a, text), E > 0 ? "the states (B, N, E) of a model of pairs"
                                                        : "the tokens i64 (B, N) of a model of pairs");
    }
    if (asc_is_null(lengths) || asc_size(lengths, -1) != 2) {
        return asc_fail(lm->ctx, ASC_ERR_ARG, "lm: a model of pairs needs lengths (B, 2), of premise and hypothesis");
    }
    return check_lengths(lm->ctx, "lm", x, lengths, &most);
}

/* All windows of tokens where each is one; else those that there are. */
static int64_t width_of(const asc_lm *lm, asc_tensor x, int64_t most)
{
    bool as_they_are = lm->pairs.states == 0 && lm->pairs.window == 1 && lm->pairs.stride == 1;
    return as_they_are ? asc_size(x, 1) : most > 0 ? most : 1;
}

static asc_tensor sum_rows(asc_ctx *ctx, asc_tensor rows)
{
    int64_t B = asc_size(rows, 0);
    asc_tensor all = asc_empty(ctx, ASC_I64, 1, &B);
    int64_t *to = asc_data_mut(all);
    const int64_t *n = asc_data(rows);
    for (int64_t b = 0; to && b < B; b++) {
        to[b] = n[2 * b] + n[2 * b + 1];
    }
    return all;
}

asc_tensor asc_pairs_begin(asc_lm *lm, asc_tensor x, asc_tensor lengths, asc_tensor *all)
{
    asc_ctx *ctx = lm->ctx;
    int64_t most;
    *all = asc_null();
    if (asc_error(ctx) || check_input(lm, x, lengths)) {
        return asc_null();
    }
    const char *outer = asc_set_label(ctx, "embedding");
    asc_tensor rows = count_rows(lm, lengths, &most);
    asc_tensor h = asc_null();
    if (check_rows(lm, rows) == ASC_OK) {
        int64_t W = width_of(lm, x, most);
        h = first_term(lm, x, lengths, W);
        if (!asc_is_null(lm->pairs.pos_emb)) {
            h = add_rows(ctx, h, lm->pairs.pos_emb, number_rows(ctx, rows, W, false));
        }
        h = add_rows(ctx, h, lm->pairs.seg_emb, number_rows(ctx, rows, W, true));
        *all = sum_rows(ctx, rows);
    }
    asc_release(rows);
    asc_set_label(ctx, outer);
    return h;
}

/* ---- the head ---- */

/* What the two means are as a product, (B, 2, W). A sentence without rows has the mean 0. */
static asc_tensor mean_matrix(asc_ctx *ctx, asc_tensor rows, int64_t W)
{
    int64_t B = asc_size(rows, 0);
    asc_tensor matrix = asc_zeros(ctx, ASC_F64, ASC_SHAPE(B, 2, W));
    double *row = asc_data_mut(matrix);
    const int64_t *n = asc_data(rows);
    for (int64_t b = 0; row && b < B; b++, row += 2 * W) {
        put_mean(row, 0, n[2 * b]);
        put_mean(row + W, n[2 * b], n[2 * b + 1]);
    }
    return matrix;
}

static asc_tensor take_mean(asc_ctx *ctx, asc_tensor means, int64_t which)
{
    asc_tensor one = asc_slice(ctx, means, 1, which, which + 1, 1);
    asc_tensor flat = asc_reshape(ctx, one, 2, (int64_t[]){asc_size(means, 0), asc_size(means, 2)});
    asc_release(one);
    return flat;
}

/* [u; v; |u−v|; u∘v], (B, 4D); h goes. */
static asc_tensor compare_means(asc_lm *lm, asc_tensor h, asc_tensor lengths)
{
    asc_ctx *ctx = lm->ctx;
    int64_t most;
    asc_tensor rows = count_rows(lm, lengths, &most);
    asc_tensor means = multiply(ctx, mean_matrix(ctx, rows, asc_size(h, 1)), h);
    asc_tensor u = take_mean(ctx, means, 0), v = take_mean(ctx, means, 1), difference = asc_sub(ctx, u, v);
    asc_tensor parts[] = {u, v, asc_abs(ctx, difference), asc_mul(ctx, u, v)};
    asc_tensor f = asc_concat(ctx, parts, 4, 1);
    asc_release(rows);
    asc_release(means);
    asc_release(difference);
    for (int i = 0; i < 4; i++) {
        asc_release(parts[i]);
    }
    asc_release(h);
    return f;
}

asc_tensor asc_pairs_classify(asc_lm *lm, asc_tensor h, asc_tensor lengths)
{
    asc_ctx *ctx = lm->ctx;
    const asc_pairs *p = &lm->pairs;
    if (asc_error(ctx)) {
        return asc_null();
    }
    const char *outer = asc_set_label(ctx, "head");
    asc_tensor f = compare_means(lm, h, lengths), wide = asc_linear(ctx, f, p->fc1.weight, p->fc1.bias);
    asc_tensor active = asc_after(wide, asc_gelu(ctx, wide));
    if (lm->dropout > 0) {
        active = asc_after(active, asc_dropout(ctx, active, lm->dropout));
    }
    asc_tensor logits = asc_linear(ctx, active, p->fc2.weight, p->fc2.bias);
    asc_release(f);
    asc_release(active);
    asc_set_label(ctx, outer);
    return logits;
}
