/* nn/linear_composed.c: linear attention from primitive ops: the definition, and the oracle of the fused op.
 *
 *   y_i = Σ_j B_ij v_j/(Σ_j B_ij + ε),  B_ij = e^{G_i - G_j} φ(q_i)·φ(k_j) over the allowed j, G_i = Σ_{s<=i} log f_s
 *
 * Memory and time O(B H N²). */
#include <math.h>

#include <ascgrad/inspect.h>

#include "nn/linear.h"
#include "nn/inspect/scores.h"
#include "tensor/dtype.h"

/* φ of (B, H, N, d). */
static asc_tensor map(asc_ctx *ctx, asc_tensor x, asc_tensor features)
{
    if (asc_is_null(features)) { /* elu(x) + 1 = max(x, 0) + e^min(x, 0) */
        asc_tensor below = asc_neg(ctx, asc_relu(ctx, asc_neg(ctx, x)));
        return asc_add(ctx, asc_relu(ctx, x), asc_exp(ctx, below));
    }
    double d = (double)asc_size(x, -1), m = (double)asc_size(features, 0);
    asc_tensor small = asc_scale(ctx, x, 1 / sqrt(sqrt(d)));
    asc_tensor square = asc_sum(ctx, asc_square(ctx, small), 1, (int[]){-1}, true);
    asc_tensor along = asc_matmul_transposed(ctx, small, false, features, true);
    return asc_scale(ctx, asc_exp(ctx, asc_sub(ctx, along, asc_scale(ctx, square, .5))), 1 / sqrt(m));
}

/* G (B, H, N, 1), or null without decays. */
static asc_tensor find_decays(asc_ctx *ctx, const asc_linear_attention_inputs *in,
                              const asc_linear_attention_options *o)
{
    int64_t N = asc_size(in->q, 1);
    if (!asc_is_null(in->forget)) {
        asc_tensor log_f = asc_neg(ctx, asc_softplus(ctx, asc_neg(ctx, in->forget)));
        return asc_unsqueeze(ctx, asc_transpose(ctx, asc_cumsum(ctx, log_f, 1), 1, 2), -1);
    }
    asc_tensor G = o->fixed_decay ? asc_empty(ctx, asc_dtype_of(in->q), ASC_SHAPE(1, o->heads, N, 1)) : asc_null();
    void *to = asc_data_mut(G);
    for (int64_t e = 0; to && e < o->heads * N; e++) {
        asc_set_element(asc_dtype_of(G), to, e, (double)(e % N + 1) * log1p(-exp2(-5 - (double)(e / N))));
    }
    return G;
}

/* B (B, H, N, N), 0 where it is not allowed. */
static asc_tensor find_weights(asc_ctx *ctx, const asc_linear_attention_inputs *in,
                               const asc_linear_attention_options *o)
{
    asc_tensor q = map(ctx, asc_split_heads(ctx, in->q, o->heads), in->features);
    asc_tensor k = map(ctx, asc_split_heads(ctx, in->k, o->heads), in->features);
    asc_tensor B = asc_matmul_transposed(ctx, q, false, k, true), G = find_decays(ctx, in, o);
    asc_tensor allowed = asc_allowed_mask(ctx, asc_size(in->q, 1), asc_size(in->q, 1),
                                          &(asc_allowed_options){.causal = !o->full, .lengths = in->lengths});
    asc_tensor zero = asc_full(ctx, asc_dtype_of(q), 0, 0, NULL);
    if (!asc_is_null(G)) { /* what is not allowed would overflow */
        asc_tensor apart = asc_sub(ctx, G, asc_transpose(ctx, G, 2, 3));
        B = asc_mul(ctx, B, asc_exp(ctx, asc_where(ctx, allowed, apart, zero)));
    }
    return asc_where(ctx, allowed, B, zero);
}

static asc_tensor find_divisor(asc_ctx *ctx, asc_tensor B, const asc_linear_attention_options *o)
{
    return asc_add_scalar(ctx, asc_sum(ctx, B, 1, (int[]){-1}, true), o->eps);
}

asc_tensor asc_linear_composed(asc_ctx *ctx, const asc_linear_attention_inputs *in,
                               const asc_linear_attention_options *o)
{
    asc_scope_begin(ctx);
    asc_tensor B = find_weights(ctx, in, o), v = asc_split_heads(ctx, in->v, o->heads);
    asc_tensor y = asc_join_heads(ctx, asc_div(ctx, asc_matmul(ctx, B, v), find_divisor(ctx, B, o)));
    asc_scope_end_but(ctx, &y, 1);
    return y;
}

/* f (B, N, H), or null without decays. */
static asc_tensor decays_of(asc_ctx *ctx, const asc_linear_attention_inputs *in, const asc_linear_attention_options *o)
{
    if (!asc_is_null(in->forget) || !o->fixed_decay) {
        return asc_is_null(in->forget) ? asc_null() : asc_sigmoid(ctx, in->forget);
    }
    asc_dtype dtype = asc_dtype_of(in->q);
    asc_tensor f = asc_empty(ctx, dtype, ASC_SHAPE(asc_size(in->q, 0), asc_size(in->q, 1), o->heads));
    void *to = asc_data_mut(f);
    for (int64_t e = 0; to && e < asc_numel(f); e++) {
        asc_set_element(dtype, to, e, 1 - exp2(-5 - (double)(e % o->heads)));
    }
    return f;
}

asc_status asc_linear_show(asc_ctx *ctx, const asc_linear_attention_inputs *in, const asc_linear_attention_options *o,
                           asc_params *parts)
{
    asc_tensor B = find_weights(ctx, in, o), attn = asc_div(ctx, B, find_divisor(ctx, B, o));
    double least = asc_dtype_of(B) == ASC_F64 ? 1e-300 : 1e-37;
    asc_tensor allowed = asc_allowed_mask(ctx, asc_size(in->q, 1), asc_size(in->q, 1),
                                          &(asc_allowed_options){.causal = !o->full, .lengths = in->lengths});
    asc_tensor f = decays_of(ctx, in, o), s = asc_log(ctx, asc_clamp(ctx, B, least, INFINITY));
    asc_add_part(parts, ctx, "s", s, allowed);
    asc_add_part(parts, ctx, "attn", attn, asc_null());
    asc_add_entropies(parts, ctx, s, attn, asc_null());
    return asc_is_null(f) ? asc_error(ctx) : asc_add_part(parts, ctx, "decay", f, asc_null());
}
