/* nn/flow.c: invariants of a flow from primitive ops.
 *
 *   alignment  a_t = <u_t, m_t>, m_t = Σ_{s<=t} u_s/n_t          curvature  κ_t = ½‖u_t - u_{t-1}‖ ‖u_t + u_{t-1}‖
 *   agreement  <u_t, v_t>²                                       means      Σ_{s<=t} a_s/n_t, Σ_{s<=t} κ_s/(n_t - 1)
 *
 * κ is √(1 - <u_t, u_{t-1}>²) of unit vectors, without its cancellation: the sine of the angle between lines, and of
 * Plücker coordinates the chordal distance of planes. All but `agreement` look back alone. */
#include "nn/flow.h"

#include <math.h>

#include <ascgrad/ops.h>

#include "nn/mixing.h"
#include "tensor/dtype.h"

static const double fades = 1e-3, least_curvature = 1e-8;

static asc_tensor length_of(asc_ctx *ctx, asc_tensor x)
{
    return asc_norm(ctx, x, 1, (int[]){-1}, true);
}

/* <x, y> over the last dimension, the mean over the groups: (B, N, 1). */
static asc_tensor product(asc_ctx *ctx, asc_tensor x, asc_tensor y)
{
    asc_tensor both = asc_mul(ctx, x, y), sum = asc_after(both, asc_sum(ctx, both, 1, (int[]){-1}, false));
    return asc_after(sum, asc_mean(ctx, sum, 1, (int[]){-1}, true));
}

asc_tensor asc_flow_directions(asc_ctx *ctx, asc_tensor x, int64_t groups)
{
    int64_t n = groups > 0 ? asc_size(x, 2) / groups : 0;
    asc_tensor pieces = asc_reshape(ctx, x, ASC_SHAPE(asc_size(x, 0), asc_size(x, 1), groups, n));
    asc_tensor floor = asc_full(ctx, asc_dtype_of(x), fades, 0, NULL), length = length_of(ctx, pieces);
    asc_tensor divisor = asc_after(length, asc_maximum(ctx, length, floor)), u = asc_div(ctx, pieces, divisor);
    asc_release(floor);
    asc_release(divisor);
    return asc_after(pieces, u);
}

/* ---- from token to token ---- */

/* x (B, N, G, n) a token later, `before` (B, 1, G, n) in front; null: zeros. */
static asc_tensor later(asc_ctx *ctx, asc_tensor x, asc_tensor before)
{
    int64_t N = asc_size(x, 1);
    asc_tensor early = asc_slice(ctx, x, 1, 0, N > 0 ? N - 1 : 0, 1);
    if (N == 0) {
        return early;
    }
    if (!asc_is_null(before)) {
        return asc_after(early, asc_concat(ctx, (asc_tensor[]){before, early}, 2, 1));
    }
    return asc_after(early, asc_pad(ctx, early, 4, (int64_t[]){0, 1, 0, 0}, (int64_t[]){0, 0, 0, 0}, 0));
}

/* x, 0 without a gradient where it is below the least curvature, or where the token (B, N, …) is not there. */
static asc_tensor drop_small(asc_ctx *ctx, asc_tensor x, asc_tensor there)
{
    asc_tensor drop = asc_empty(ctx, ASC_U8, asc_ndim(x), asc_shape(x)), flat = asc_contiguous(ctx, x);
    const uint8_t *is = asc_data(there);
    const void *value = asc_data(flat);
    uint8_t *to = asc_data_mut(drop);
    int64_t each = asc_numel(there) > 0 ? asc_numel(x) / asc_numel(there) : 0;
    for (int64_t e = 0; is && to && value && e < asc_numel(x); e++) {
        to[e] = !is[e / each] || asc_element(asc_dtype_of(x), value, e) < least_curvature;
    }
    asc_tensor kept = asc_masked_fill(ctx, x, drop, 0);
    return asc_after(drop, kept);
}

/* √(1 - <u_t, u_{t-1}>²), the chordal distance from the token before, the mean over the groups: (B, N, 1). Below 1e-8
 * it is 0, without a gradient. before (B, 1, G, n): what stands before the first, or null; there u8 (B, N, 1): whether
 * both tokens have a direction; else it is 0. New. */
static asc_tensor curvature_of(asc_ctx *ctx, asc_tensor u, asc_tensor before, asc_tensor there)
{
    asc_tensor last = later(ctx, u, before), apart = asc_sub(ctx, u, last), together = asc_add(ctx, u, last);
    asc_release(last);
    asc_tensor less = asc_after(apart, length_of(ctx, apart)), more = asc_after(together, length_of(ctx, together));
    asc_tensor twice = asc_mul(ctx, less, more), each = asc_after(twice, asc_scale(ctx, twice, .5));
    asc_release(less);
    asc_release(more);
    asc_tensor kept = asc_after(each, drop_small(ctx, each, there));
    return asc_after(kept, asc_mean(ctx, kept, 1, (int[]){2}, false));
}

/* u8 (B, N, 1): whether t and t-1 have a direction; *steps: one over the number of such tokens up to t. */
static asc_tensor find_steps(asc_ctx *ctx, asc_tensor inverse, asc_tensor lengths, asc_tensor *steps)
{
    int64_t N = asc_size(inverse, 1);
    asc_dtype dtype = asc_dtype_of(inverse);
    asc_tensor there = asc_empty(ctx, ASC_U8, 3, asc_shape(inverse));
    *steps = asc_empty(ctx, dtype, 3, asc_shape(inverse));
    const int64_t *length = asc_data(lengths);
    const void *from = asc_data(inverse);
    void *to = asc_data_mut(*steps);
    uint8_t *is = asc_data_mut(there);
    for (int64_t row = 0; from && to && is && row < asc_numel(inverse); row++) {
        double x = asc_element(dtype, from, row);
        long long n = x > 0 ? llround(1 / x) - 1 : 0;
        asc_set_element(dtype, to, row, n > 0 ? 1. / (double)n : 0);
        is[row] = n > 0 && (!length || row % N < length[row / N]);
    }
    return there;
}

/* What stands at first … end of a state (B, 1, width), as (B, 1, G, n) where groups is not 0; null for none. */
static asc_tensor held(asc_ctx *ctx, asc_tensor state, int64_t first, int64_t end, int64_t groups)
{
    if (asc_is_null(state)) {
        return state;
    }
    asc_tensor part = asc_slice(ctx, state, 2, first, end, 1);
    return groups == 0 ? part
                       : asc_after(part, asc_reshape(ctx, part, ASC_SHAPE(asc_size(state, 0), 1, groups, -1)));
}

/* Σ_{s<=t} x_s, behind `before` (B, 1, …) or null; and that of the last token, (B, 1, *), to `last`, if not NULL. */
static asc_tensor sum_so_far(asc_ctx *ctx, asc_tensor x, asc_tensor before, asc_tensor *last)
{
    asc_tensor sum = asc_cumsum(ctx, x, 1);
    sum = asc_is_null(before) ? sum : asc_after(sum, asc_add(ctx, sum, before));
    if (last) {
        asc_tensor end = asc_slice(ctx, sum, 1, -1, ASC_SLICE_END, 1);
        *last = asc_after(end, asc_reshape(ctx, end, ASC_SHAPE(asc_size(x, 0), 1, -1)));
    }
    return sum;
}

/* <u_t, m_t>; *sum, if not NULL, as sum_so_far's. */
static asc_tensor align(asc_ctx *ctx, asc_tensor u, asc_tensor inverse, asc_tensor before, asc_tensor *sum)
{
    asc_tensor so_far = sum_so_far(ctx, u, before, sum), share = asc_unsqueeze(ctx, inverse, -1);
    asc_tensor mean = asc_after(so_far, asc_mul(ctx, so_far, share)), a = asc_after(mean, product(ctx, u, mean));
    asc_release(share);
    return a;
}

/* x and y side by side; both go. */
static asc_tensor join(asc_ctx *ctx, asc_tensor x, asc_tensor y)
{
    return asc_after(x, asc_after(y, asc_concat(ctx, (asc_tensor[]){x, y}, 2, 2)));
}

asc_tensor asc_flow_invariants(asc_ctx *ctx, asc_tensor u, asc_tensor inverse, asc_tensor lengths, asc_tensor state,
                               asc_tensor *next)
{
    int64_t groups = asc_size(u, 2), width = groups * asc_size(u, 3);
    asc_tensor steps, there = find_steps(ctx, inverse, lengths, &steps), end[3];
    asc_tensor sum = held(ctx, state, 0, width, groups), last = held(ctx, state, width, 2 * width, groups),
               totals = held(ctx, state, 2 * width, 2 * width + 2, 0);
    asc_tensor alignment = asc_after(sum, align(ctx, u, inverse, sum, next ? &end[0] : NULL));
    asc_tensor curvature = asc_after(last, asc_after(there, curvature_of(ctx, u, last, there)));
    asc_tensor both = join(ctx, alignment, curvature), so_far = sum_so_far(ctx, both, totals, next ? &end[2] : NULL);
    asc_tensor counts = asc_after(steps, asc_concat(ctx, (asc_tensor[]){inverse, steps}, 2, 2));
    asc_tensor means = asc_after(so_far, asc_after(counts, asc_mul(ctx, so_far, counts)));
    if (next) {
        asc_tensor at_end = asc_slice(ctx, u, 1, -1, ASC_SLICE_END, 1);
        end[1] = asc_after(at_end, asc_reshape(ctx, at_end, ASC_SHAPE(asc_size(u, 0), 1, width)));
        *next = asc_after(end[0], asc_after(end[1], asc_after(end[2], asc_concat(ctx, end, 3, 2))));
    }
    asc_release(totals);
    return join(ctx, both, means);
}

/* ---- from layer to layer ---- */

/* <u_t, v_t>², (B, N, G). */
static asc_tensor squared_cosine(asc_ctx *ctx, asc_tensor u, asc_tensor v)
{
    asc_tensor both = asc_mul(ctx, u, v), cosine = asc_after(both, asc_sum(ctx, both, 1, (int[]){-1}, false));
    return asc_after(cosine, asc_square(ctx, cosine));
}

/* Whether x has an entry that is not 0. */
static bool is_there(asc_dtype dtype, const void *x, int64_t at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (asc_element(dtype, x, at + i) != 0) {
            return true;
        }
    }
    return false;
}

/* (B, N, G): one over the number of tokens and groups in which both have a direction, there, and 0 elsewhere. */
static asc_tensor find_shares(asc_ctx *ctx, asc_tensor u, asc_tensor v)
{
    asc_tensor shares = asc_empty(ctx, asc_dtype_of(u), 3, asc_shape(u));
    asc_dtype dtype = asc_dtype_of(u);
    const void *a = asc_data(u), *b = asc_data(v);
    void *to = asc_data_mut(shares);
    int64_t n = asc_size(u, 3), count = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int64_t e = 0; a && b && to && e < asc_numel(shares); e++) {
            bool there = is_there(dtype, a, e * n, n) && is_there(dtype, b, e * n, n);
            count += turn == 0 && there;
            asc_set_element(dtype, to, e, there && turn == 1 ? 1. / (double)count : 0);
        }
    }
    return shares;
}

asc_tensor asc_flow_turn(asc_ctx *ctx, asc_tensor u, asc_tensor v)
{
    asc_tensor shares = find_shares(ctx, u, v), square = squared_cosine(ctx, u, v);
    asc_tensor rest = asc_after(square, asc_scale_shift(ctx, square, -1, 1));
    asc_tensor weighed = asc_after(rest, asc_mul(ctx, rest, shares));
    asc_release(shares);
    return asc_after(weighed, asc_sum(ctx, weighed, ASC_ALL_DIMS, false));
}
