/* nn/inspect/attention.c: numbers about attention, head by head, and about any values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/inspect.h>

#include "nn/doubles.h"
#include "tensor/need.h"

enum { PROFILE = 2 };

static bool of_heads(asc_tensor x)
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
    if (!asc_error(ctx) && !of_heads(attention)) {
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
    return asc_error(ctx) ? asc_null() : profile;
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
    bool fits = of_heads(x) && of_heads(attention);
    for (int d = 0; fits && d < 3; d++) {
        fits = asc_size(x, d) == asc_size(attention, d);
    }
    if (!asc_error(ctx) && !fits) {
        asc_fail(ctx, ASC_ERR_ARG, "head_rms: x and attention have %d and %d dimensions, expected both (B, H, N, N)",
                 asc_ndim(x), asc_ndim(attention));
    }
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
    return asc_error(ctx) ? asc_null() : result;
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
