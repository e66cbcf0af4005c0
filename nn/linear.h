/* nn/linear.h: the linear-attention layer's parts, for the files that it is made of. */
#ifndef NN_LINEAR_H
#define NN_LINEAR_H

#include <ascgrad/mixing.h>
#include <ascgrad/ops.h>

#include "nn/qk_norm.h"

typedef struct asc_linear_layer {
    asc_affine q, k, v, o, forget; /* forget: null but for gated decays */
    asc_tensor features;           /* [m, d], not trained; null for elu */
    asc_linear_attention_options options;
    asc_qk_norm qk_norm;
    bool composed;
} asc_linear_layer;

/* asc_linear_attention from primitive ops, without an initial state: products of all queries with all keys. In float32
 * favor overflows where scores are large. */
asc_tensor asc_linear_composed(asc_ctx *ctx, const asc_linear_attention_inputs *in,
                               const asc_linear_attention_options *options);

/* Adds what it computes inside: the weights that it gives to keys, as attention has them, A_ij = B_ij/(Σ_j B_ij + ε),
 * with the logarithms of B as scores and the entropies; and the decays f (B, N, H), if there are any. */
asc_status asc_linear_show(asc_ctx *ctx, const asc_linear_attention_inputs *in,
                           const asc_linear_attention_options *options, asc_params *parts);

#endif
