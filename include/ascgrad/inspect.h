/*
 * ascgrad/inspect.h: what can be said about the parts of a layer that asc_layer_inspect and asc_lm_inspect give.
 *
 *     asc_params *parts = asc_params_new(ctx);
 *     asc_lm_inspect(lm, tokens, 0, parts);
 *     asc_tensor profile = asc_attention_profile(ctx, asc_params_find(parts, "attn"));
 *
 * Results are new, f64 and have no gradient; inputs may have any dtype and strides.
 * ASC_ERR_ARG: a wrong shape; ASC_ERR_MEMORY.
 */
#ifndef ASCGRAD_INSPECT_H
#define ASCGRAD_INSPECT_H

#include <ascgrad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- attention A (B, H, N, M), M = N but in cross-attention ---- */

/* How far each head looks, M = N: (H, 2), the mean over batch and rows of Σ_j A_ij |i - j| and of A_ii. */
ASC_API asc_tensor asc_attention_profile(asc_ctx *ctx, asc_tensor attention);

/* The entropy of each query in nats, (B, H, N), of scores S (B, H, N, M) and the attention A = softmax of S/T that they
 * give, T (H) or null for 1: H_i = lse_i - Σ_j A_ij S_ij/T, with the log-sum-exp from the row's largest weight; no
 * weight's logarithm is taken but that one's. 0 for a row of zeros. */
ASC_API asc_tensor asc_attention_entropies(asc_ctx *ctx, asc_tensor scores, asc_tensor attention,
                                           asc_tensor temperature);

/* What a bias does to the attention, as one without it (`before`, asc_lm_inspect's "attn_without_sep") and one with it
 * (`after`) tell, both (B, H, N, M): (H, 3), shares of the pairs that either attends to: those that fall below
 * `threshold`, from at least that; all that are below it before; and all below it after. 0 without pairs. */
ASC_API asc_tensor asc_attention_pushed(asc_ctx *ctx, asc_tensor before, asc_tensor after, double threshold);

/* The size of scores or biases x (B, H, N, M) of each head: (H), the root of the mean square over the entries that the
 * attention is not 0 at; 0 if there are none. */
ASC_API asc_tensor asc_head_rms(asc_ctx *ctx, asc_tensor x, asc_tensor attention);

/* ---- any values ---- */

/* The quantiles of x at `n` places at[i], 0 … 1, between the values of x in order (0: the least, 1: the largest,
 * linear in between); NaN of nothing. ASC_ERR_ARG: a place outside of that, or NaN. */
ASC_API asc_status asc_quantiles(asc_ctx *ctx, asc_tensor x, int n, const double *at, double *quantile);

/* ---- planes by their Plücker coordinates p (..., r(r-1)/2), of any length; all 0: there is no plane ---- */

/* The r of r(r-1)/2 coordinates; 0 if there is none. */
ASC_API int64_t asc_plane_space(int64_t coordinates);

/* How well the quadratic Plücker relations hold: max and rms of p_ij p_kl - p_ik p_jl + p_il p_jk, p of length 1, over
 * all planes and i < j < k < l (of more than 2^16 quadruples an even sample); 0 without planes or for r < 4. */
ASC_API asc_status asc_plane_residual(asc_ctx *ctx, asc_tensor p, double *max, double *rms);

/* The principal angles between the planes of p and q, of one shape: (..., 2), 0 <= θ1 <= θ2 <= π/2 in radians, NaN
 * where one of them is none. cos θ1 cos θ2 = |<p, q>| of unit p and q.
 * Source: Björck and Golub, Numerical methods for computing angles between linear subspaces, 1973. */
ASC_API asc_tensor asc_plane_angles(asc_ctx *ctx, asc_tensor p, asc_tensor q);

/* The mean of all planes in p: the eigenvectors of the mean of their projectors, (r, r), as rows in the order of
 * falling eigenvalues, which *spectrum (r) gets; they add up to 2, and each is 0 … 1. The first two rows span the plane
 * that is nearest to all in the mean square of sines. All 0 without planes. */
ASC_API asc_tensor asc_plane_mean(asc_ctx *ctx, asc_tensor p, asc_tensor *spectrum);

/* ---- flows: the directions u (N, G, n) of a sequence's tokens, G vectors each, of length 1, or 0 where there is none
 * (asc_lm_inspect's "flow", less the batch). Means over groups leave those out that have none ---- */

/* (N, 2): each token's alignment <u_t, m_t> with the mean m_t of the directions up to its own, and its curvature
 * √(1 - <u_t, u_{t-1}>²), of planes the chordal distance; means over the groups, NaN where there is none. */
ASC_API asc_tensor asc_flow_path(asc_ctx *ctx, asc_tensor u);

/* The mean direction, (G, n), over the tokens that have one: of length 1 if all are one, 0 if they cancel. */
ASC_API asc_tensor asc_flow_mean(asc_ctx *ctx, asc_tensor u);

/* The leading direction, (G, n), the one of length 1 along which u varies most about its mean, its largest entry above
 * 0; *share (G) gets its part of the variance, 0 where nothing varies. By the power method: directions that vary
 * alike are told apart badly, their shares well. */
ASC_API asc_tensor asc_flow_leading(asc_ctx *ctx, asc_tensor u, asc_tensor *share);

/* (N): <u_t, v_t>², the mean over the groups, of two layers' directions, of one shape; NaN where one has none. */
ASC_API asc_tensor asc_flow_stability(asc_ctx *ctx, asc_tensor u, asc_tensor v);

#ifdef __cplusplus
}
#endif
#endif
