/* nn/ascender_composed.h: ASCender attention from primitive ops: the definition that reads like doc/ascender.md, what
 * fused nodes are checked against, and what inspection shows. Memory and time O(B H N M). */
#ifndef NN_ASCENDER_COMPOSED_H
#define NN_ASCENDER_COMPOSED_H

#include <ascgrad/ops.h>

#include "ops/ascender/epsilon.h"

/* What is computed on the way; (B, H, N, M) where nothing else is said. */
typedef struct asc_ascender_parts {
    asc_tensor allowed;             /* J, u8 (1 or B, 1 or H, N, M) */
    asc_tensor statistics;          /* J of neighbours, density, centroid and rows: `allowed`, or all */
    asc_tensor affinity;            /* a_ij = cos(h_i, h_j) */
    asc_tensor near;                /* 1 where j is in N(i), else 0 */
    asc_tensor count;               /* |N(i)|, at least 1, (B, H, N, 1) */
    asc_tensor s_base, b_align, b_sep, b_coh, s, attn;
    asc_tensor y;                   /* (B, N, H d_v) */
    asc_tensor gamma_align, gamma_coh, eta;     /* (B, H, N, 1); not of the background variant */
    asc_tensor loss_align, loss_sep, loss_coh;  /* scalars; the same */
    asc_tensor rho;                 /* of the background variant: the queries' densities (B, H, N, 1) */
} asc_ascender_parts;

/* Fills in all of the parts; loss_align only where N = M, as it takes every position's heading, which
 * means nothing of queries apart. */
asc_status asc_ascender_composed(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o,
                                 asc_ascender_parts *p);
/* The background variant. `density` (B, H, M - N, 1): ρ of the positions before the queries; null for
 * M = N. With M > N the set must be causal. */
asc_status asc_background_composed(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o,
                                   asc_tensor density, asc_ascender_parts *p);

/* ---- what both have in common ---- */

/* Allowed sets, base scores, affinities and neighbours. */
asc_status asc_ascender_begin(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o,
                              asc_ascender_parts *p);
/* S = S^base + Σ ω β̃ + β^other, A and y, of the three biases. `scalars`: where ω_align, ω_sep, ω_coh and τ_score
 * stand. */
asc_status asc_ascender_attend(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o,
                               const int scalars[4], asc_ascender_parts *p);
/* One number a head as (1, H, 1, 1). */
asc_tensor asc_per_head(asc_ctx *ctx, asc_tensor scalar);
/* x in heads, the last n of its positions. */
asc_tensor asc_last_rows(asc_ctx *ctx, asc_tensor x, int64_t n);

/* The neighbours N(i) as 1 and 0, of the scores' dtype and shape (B, H, N, M): of those that `candidates` (u8, the
 * first two dimensions may be 1) allows, by score, or the given places. */
asc_tensor asc_neighbor_mask(asc_ctx *ctx, asc_tensor scores, asc_tensor candidates, asc_tensor given,
                             const asc_ascender_options *o);

#endif
