/* nn/inspect/scores.c: attention scores from primitive ops. */
#include "nn/inspect/scores.h"

#include <math.h>
#include <stdlib.h>

#include <ascgrad/inspect.h>

#include "tensor/splitmix.h"

/* ---- the allowed set ---- */

static bool within(const asc_allowed_options *o, int64_t M, int64_t i, int64_t j)
{
    bool near = o->window == 0 || llabs(i - j) < o->window || j < o->globals || i < o->globals;
    for (int64_t m = 0; !near && m < o->random; m++) {
        near = asc_random_link(i, o->random, m, o->causal ? i + 1 : M) == j;
    }
    return near && (!o->causal || j <= i);
}

/* Positions and lengths, u8 (1 or B, 1, N, M). */
static asc_tensor mask_of_positions(asc_ctx *ctx, int64_t N, int64_t M, const asc_allowed_options *o)
{
    const int64_t *lengths = asc_data(o->lengths);
    int64_t B = lengths ? asc_numel(o->lengths) : 1, stride = lengths ? asc_array_of(o->lengths).stride[0] : 0;
    asc_tensor mask = asc_empty(ctx, ASC_U8, ASC_SHAPE(B, 1, N, M));
    uint8_t *to = asc_data_mut(mask);
    for (int64_t b = 0; to && b < B; b++) {
        for (int64_t i = 0; i < N; i++) {
            for (int64_t j = 0; j < M; j++) {
                *to++ = within(o, M, i + M - N, j) && (!lengths || j < lengths[b * stride]);
            }
        }
    }
    return mask;
}

/* Both masks together, u8 of the shape that they broadcast to. */
static asc_tensor intersect(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    int64_t shape[4];
    int nb = asc_ndim(b);
    for (int d = 0; d < 4; d++) {
        int64_t other = d - (4 - nb) >= 0 ? asc_size(b, d - (4 - nb)) : 1;
        shape[d] = asc_size(a, d) == 1 ? other : asc_size(a, d);
    }
    asc_tensor wide_a = asc_contiguous(ctx, asc_expand(ctx, a, 4, shape));
    asc_tensor wide_b = asc_contiguous(ctx, asc_expand(ctx, b, 4, shape));
    asc_tensor both = asc_empty(ctx, ASC_U8, 4, shape);
    const uint8_t *x = asc_data(wide_a), *y = asc_data(wide_b);
    uint8_t *to = asc_data_mut(both);
    for (int64_t e = 0; x && y && to && e < asc_numel(both); e++) {
        to[e] = x[e] && y[e];
    }
    return asc_is_valid(wide_b) ? both : asc_null();
}

asc_tensor asc_allowed_mask(asc_ctx *ctx, int64_t N, int64_t M, const asc_allowed_options *options)
{
    asc_tensor mask = mask_of_positions(ctx, N, M, options);
    return asc_is_null(options->mask) || asc_is_null(mask) ? mask : intersect(ctx, mask, options->mask);
}

/* ---- heads ---- */

asc_tensor asc_split_heads(asc_ctx *ctx, asc_tensor x, int64_t heads)
{
    asc_tensor split = asc_reshape(ctx, x, ASC_SHAPE(asc_size(x, 0), asc_size(x, 1), heads, asc_size(x, 2) / heads));
    return asc_contiguous(ctx, asc_transpose(ctx, split, 1, 2));
}

asc_tensor asc_join_heads(asc_ctx *ctx, asc_tensor x)
{
    asc_tensor rows = asc_contiguous(ctx, asc_transpose(ctx, x, 1, 2));
    return asc_reshape(ctx, rows, ASC_SHAPE(asc_size(x, 0), asc_size(x, 2), asc_size(x, 1) * asc_size(x, 3)));
}

/* ---- scores ---- */

asc_tensor asc_base_scores(asc_ctx *ctx, asc_tensor q, asc_tensor k)
{
    return asc_scale(ctx, asc_matmul_transposed(ctx, q, false, k, true), 1 / sqrt((double)asc_size(q, -1)));
}

asc_tensor asc_add_other(asc_ctx *ctx, asc_tensor x, const asc_other_bias *biases)
{
    int64_t N = asc_size(x, 2), M = asc_size(x, 3);
    if (biases->alibi) {
        x = asc_add(ctx, x, asc_alibi(ctx, asc_dtype_of(x), asc_size(x, 1), N, M));
    }
    if (!asc_is_null(biases->rel_bias)) {
        x = asc_add(ctx, x, asc_relative_bias(ctx, biases->rel_bias, N, M));
    }
    return asc_is_null(biases->given) ? x : asc_add(ctx, x, biases->given);
}

asc_tensor asc_other_scores(asc_ctx *ctx, asc_tensor x, const asc_other_bias *biases)
{
    if (!biases->alibi && asc_is_null(biases->rel_bias) && asc_is_null(biases->given)) {
        return asc_null();
    }
    return asc_add_other(ctx, asc_zeros(ctx, asc_dtype_of(x), 4, asc_shape(x)), biases);
}

asc_status asc_add_entropies(asc_params *parts, asc_ctx *ctx, asc_tensor scores, asc_tensor attention,
                             asc_tensor temperature)
{
    asc_tensor rows = asc_attention_entropies(ctx, scores, attention, temperature);
    asc_tensor mean = asc_cast(ctx, asc_mean(ctx, rows, ASC_DIMS(0, 2), false), asc_dtype_of(attention));
    asc_add_part(parts, ctx, "entropy", mean, asc_null());
    return asc_add_part(parts, ctx, "entropy_rows", rows, asc_null());
}

asc_status asc_add_part(asc_params *parts, asc_ctx *ctx, const char *name, asc_tensor part, asc_tensor mask)
{
    if (!asc_is_null(mask)) {
        part = asc_where(ctx, mask, part, asc_scalar(ctx, asc_dtype_of(part), 0));
    }
    return asc_error(ctx) ? asc_error(ctx) : asc_params_add(parts, name, part, false);
}
