/* nn/inspect/attention.c: numbers about attention, head by head, and about any values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/inspect.h>

#include "nn/doubles.h"
#include "tensor/need.h"

enum { PROFILE = 2 };

static bool is_square(asc_tensor x)
{
    return asc_ndim(x) == 4 && asc_size(x, 2) == asc_size(x, 3);
}

/* Adds Σ_j A_ij |i - j| and A_ii of the row i. */
static void add_row(const double *row, int64_t N, int64_t i, double *sum)
{
    for (int64_t j = 0; j < N; j++) {
        sum[0] += row[j] * (double)llabs(i - j);
    }
    sum[1] += row[i];
}

asc_tensor asc_attention_profile(asc_ctx *ctx, asc_tensor attention)
{
    if (!ctx) {
        return asc_null();
    }
    if (!asc_error(ctx) && !is_square(attention)) {
        asc_fail(ctx, ASC_ERR_ARG, "attention_profile: got %d dimensions, expected (B, H, N, N)", asc_ndim(attention));
    }
    int64_t B = asc_size(attention, 0), H = asc_size(attention, 1), N = asc_size(attention, 2);
    asc_tensor profile = asc_zeros(ctx, ASC_F64, ASC_SHAPE(H, PROFILE));
    asc_scope_begin(ctx);
    const double *row = asc_data(asc_doubles(ctx, attention));
    double *out = asc_data_mut(profile);
    for (int64_t head = 0; row && out && head < B * H; head++) {
        for (int64_t i = 0; i < N; i++, row += N) {
            add_row(row, N, i, out + head % H * PROFILE);
        }
    }
    for (int64_t e = 0; out && e < H * PROFILE; e++) {
        out[e] /= (double)(B * N);
    }
    asc_scope_end(ctx);
    return asc_unless_failed(ctx, profile);
}

/* Rows of (B, H, N, M) of one shape; false with the error set, which names the function and the two. */
static bool expect_alike(asc_ctx *ctx, const char *names, asc_tensor x, asc_tensor y)
{
    bool fits = asc_ndim(x) == 4 && asc_ndim(y) == 4;
    for (int d = 0; fits && d < 4; d++) {
        fits = asc_size(x, d) == asc_size(y, d);
    }
    if (!asc_error(ctx) && !fits) {
        asc_fail(ctx, ASC_ERR_ARG, "%s have %d and %d dimensions, expected both (B, H, N, M)", names, asc_ndim(x),
                 asc_ndim(y));
    }
    return asc_error(ctx) == ASC_OK;
}

/* lse - Σ A S/T = Σ A (S_m - S)/T - log A_m, m where A is largest: a sum of numbers that are not negative. */
static double entropy_of(const double *s, const double *a, int64_t M, double temperature)
{
    int64_t m = 0;
    for (int64_t j = 1; j < M; j++) {
        m = a[j] > a[m] ? j : m;
    }
    double sum = 0;
    for (int64_t j = 0; j < M; j++) {
        if (isnan(a[j])) {
            return NAN;
        }
        sum += a[j] > 0 ? a[j] * (s[m] - s[j]) : 0;
    }
    return M > 0 && a[m] > 0 ? sum / temperature - log(a[m]) : 0;
}

asc_tensor asc_attention_entropies(asc_ctx *ctx, asc_tensor scores, asc_tensor attention, asc_tensor temperature)
{
    if (!ctx || !expect_alike(ctx, "attention_entropies: scores and attention", scores, attention)) {
        return asc_null();
    }
    int64_t B = asc_size(scores, 0), H = asc_size(scores, 1), N = asc_size(scores, 2), M = asc_size(scores, 3);
    bool has = !asc_is_null(temperature);
    if (has && (asc_ndim(temperature) != 1 || asc_numel(temperature) != H)) {
        asc_fail(ctx, ASC_ERR_ARG, "attention_entropies: temperature has %lld numbers, expected (H) = (%lld)",
                 (long long)asc_numel(temperature), (long long)H);
        return asc_null();
    }
    asc_tensor result = asc_zeros(ctx, ASC_F64, ASC_SHAPE(B, H, N));
    asc_scope_begin(ctx);
    const double *s = asc_data(asc_doubles(ctx, scores)), *a = asc_data(asc_doubles(ctx, attention));
    const double *T = has ? asc_data(asc_doubles(ctx, temperature)) : NULL;
    double *to = asc_data_mut(result);
    for (int64_t row = 0; s && a && to && (T || !has) && row < B * H * N; row++) {
        to[row] = entropy_of(s + row * M, a + row * M, M, T ? T[row / N % H] : 1);
    }
    asc_scope_end(ctx);
    return asc_unless_failed(ctx, result);
}

enum { PUSHED = 3 };

asc_tensor asc_attention_pushed(asc_ctx *ctx, asc_tensor before, asc_tensor after, double threshold)
{
    if (!ctx || !expect_alike(ctx, "attention_pushed: before and after", before, after)) {
        return asc_null();
    }
    int64_t B = asc_size(before, 0), H = asc_size(before, 1), pairs_each = asc_size(before, 2) * asc_size(before, 3);
    asc_tensor result = asc_zeros(ctx, ASC_F64, ASC_SHAPE(H, PUSHED));
    asc_scope_begin(ctx);
    const double *x = asc_data(asc_doubles(ctx, before)), *y = asc_data(asc_doubles(ctx, after));
    double *to = asc_data_mut(result);
    for (int64_t h = 0; x && y && to && h < H; h++) {
        int64_t pairs = 0, count[PUSHED] = {0};
        for (int64_t e = 0; e < B * pairs_each; e++) {
            int64_t at = (e / pairs_each * H + h) * pairs_each + e % pairs_each;
            if (x[at] > 0 || y[at] > 0) {
                pairs++;
                count[0] += x[at] >= threshold && y[at] < threshold;
                count[1] += x[at] < threshold;
                count[2] += y[at] < threshold;
            }
        }
        for (int i = 0; i < PUSHED; i++) {
            to[h * PUSHED + i] = pairs > 0 ? (double)count[i] / (double)pairs : 0;
        }
    }
    asc_scope_end(ctx);
    return asc_unless_failed(ctx, result);
}

static double rms_where(const double *x, const double *weight, int64_t n)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t e = 0; e < n; e++) {
        if (weight[e] != 0) {
            sum += x[e] * x[e];
            count++;
        }
    }
    return count ? sqrt(sum / (double)count) : 0;
}

asc_tensor asc_head_rms(asc_ctx *ctx, asc_tensor x, asc_tensor attention)
{
    if (!ctx) {
        return asc_null();
    }
    expect_alike(ctx, "head_rms: x and attention", x, attention);
    int64_t H = asc_size(x, 1), each = H > 0 ? asc_numel(x) / H : 0;
    asc_tensor result = asc_zeros(ctx, ASC_F64, ASC_SHAPE(H));
    asc_scope_begin(ctx);
    /* head by head: (H, B, N, N) */
    const double *from = asc_data(asc_doubles(ctx, asc_transpose(ctx, x, 0, 1)));
    const double *weight = asc_data(asc_doubles(ctx, asc_transpose(ctx, attention, 0, 1)));
    double *to = asc_data_mut(result);
    for (int64_t h = 0; from && weight && to && h < H; h++) {
        to[h] = rms_where(from + h * each, weight + h * each, each);
    }
    asc_scope_end(ctx);
    return asc_unless_failed(ctx, result);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile_of(const double *sorted, int64_t n, double at)
{
    double place = at * (double)(n - 1);
    int64_t below = (int64_t)place;
    double part = place - (double)below;
    return n == 0 ? NAN : part == 0 ? sorted[below] : sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

asc_status asc_quantiles(asc_ctx *ctx, asc_tensor x, int n, const double *at, double *quantile)
{
    asc_status status = ASC_NEED(ctx, "quantiles: at quantile", asc_unless_empty(at, n), asc_unless_empty(quantile, n));
    if (status) {
        return status;
    }
    for (int i = 0; i < n; i++) {
        if (!(at[i] >= 0 && at[i] <= 1)) {
            return asc_fail(ctx, ASC_ERR_ARG, "quantiles: at[%d] is %g, expected 0 to 1", i, at[i]);
        }
    }
    asc_scope_begin(ctx);
    const double *values = asc_data(asc_doubles(ctx, x));
    int64_t count = asc_numel(x);
    size_t bytes = (size_t)count * sizeof *values;
    double *sorted = asc_error(ctx) ? NULL : asc_alloc(ctx, bytes);
    if (sorted) {
        memcpy(sorted, values, bytes);
        qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    }
    for (int i = 0; sorted && i < n; i++) {
        quantile[i] = quantile_of(sorted, count, at[i]);
    }
    asc_free(ctx, sorted, bytes);
    asc_scope_end(ctx);
    return asc_error(ctx);
}
