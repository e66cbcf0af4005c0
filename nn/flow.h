/* nn/flow.h: invariants of a flow: what the directions u_t that a layer's tokens have say about their path, from token
 * to token and from layer to layer. u (B, N, G, n): G vectors of n numbers a token, of length 1, or 0 where there is
 * none. */
#ifndef NN_FLOW_H
#define NN_FLOW_H

#include <ascgrad/tensor.h>

/* x (B, N, G n) as directions, x/max(‖x‖, 1e-3): shorter ones fade. New. */
asc_tensor asc_flow_directions(asc_ctx *ctx, asc_tensor x, int64_t groups);

/* What a gate is given of a flow, (B, N, 4): the alignment <u_t, m_t> with the mean direction m_t = Σ_{s<=t} u_s/n_t,
 * the mean over the groups; the curvature; the running means of the two. inverse (B, N, 1): one over n_t, the number
 * of tokens up to t that have a direction, 0 without one. lengths i64 (B), or null. state (B, 1, 2 G n + 2): what came
 * before, null for nothing; *next, if not NULL, gets what the tokens behind these are to know. New. */
asc_tensor asc_flow_invariants(asc_ctx *ctx, asc_tensor u, asc_tensor inverse, asc_tensor lengths, asc_tensor state,
                               asc_tensor *next);

/* The mean of 1 - <u_t, v_t>² over the tokens and groups in which both have a direction; 0 without any. New. */
asc_tensor asc_flow_turn(asc_ctx *ctx, asc_tensor u, asc_tensor v);

#endif
