/*
 * ascgrad/mixing_ops.h: ops that move information between positions of a sequence, and what these are made of:
 * attention, ASCender attention, neighbours, wedges, recurrences, linear attention, convolution. What stands at the top
 * of ascgrad/ops.h holds here, too.
 */
#ifndef ASCGRAD_MIXING_OPS_H
#define ASCGRAD_MIXING_OPS_H

#include <ascgrad/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- attention ---- */

typedef struct asc_attention_options {
    int64_t heads;   /* H */
    int64_t window;  /* w > 0: |i - j| < w only, and the global tokens */
    int64_t globals; /* tokens that all look at, and that look at all */
    int64_t random;  /* beside a window, n <= 32 links a row: j = splitmix64(i n + m) mod (i + 1), m < n, or mod M where
                        not causal; the same in every head */
    bool causal;     /* j <= i only */
    bool alibi;      /* β_ij = -2^(-8(h+1)/H)·|i - j| */
    double cap;      /* c > 0: c tanh(q_i·k_j/(c √d)) in q_i·k_j/√d's place (arXiv 2408.00118) */
} asc_attention_options;

/* All but q, k and v may be null. */
typedef struct asc_attention_inputs {
    asc_tensor q, k, v;  /* (B, N, H d), (B, M, H d), (B, M, H d_v) */
    asc_tensor rel_bias; /* (H, 2R + 1): adds entry clamp(j - i, -R, R) + R to the scores */
    asc_tensor bias;     /* (N, M), (1 or H, N, M) or (1 or B, 1 or H, N, M): adds this to them. -∞ takes a pair out.
                            Its gradient costs no memory beside itself */
    asc_tensor lengths;  /* i64 (B): j < length only */
    asc_tensor mask;     /* u8 that broadcasts to (B, H, N, M): only where it is not 0 */
} asc_attention_inputs;

/* y_i = Σ_j A_ij v_j per head, A_i = softmax over the allowed j of q_i·k_j/√d + β_ij; y (B, N, H d_v). Wherever
 * positions matter, M >= N, and the queries stand at the last N of M positions; else, as in cross-attention, N and M
 * are any. A row that may look at nothing, or whose scores are all -∞, gives 0. A value in v (backward: in k, too) that
 * is not finite reaches all rows of its panel of 32 queries, also those that may not look at it. Memory O(B·N·H); time
 * O(N (w + g + n)) with a window, g global tokens and n random links. */
ASC_API asc_tensor asc_attention(asc_ctx *ctx, const asc_attention_inputs *inputs,
                                 const asc_attention_options *options);

/* ---- ASCender attention: scores with the Boids rules alignment, separation and cohesion as normalised biases ---- */

typedef enum asc_neighbors { /* who the neighbours N(i) of token i are, out of those that it may look at */
    ASC_NEIGHBORS_SEMANTIC, /* the k largest cosines a_ij = cos(h_i, h_j) */
    ASC_NEIGHBORS_BASE,     /* the k largest base scores */
    ASC_NEIGHBORS_WINDOW,   /* |i - j| <= radius */
    ASC_NEIGHBORS_HYBRID_UNION,
    ASC_NEIGHBORS_HYBRID_INTERSECTION, /* of the semantic ones and the window */
} asc_neighbors;

typedef enum asc_gate { /* where λ, γ and η act */
    ASC_GATE_BEFORE, /* before the row normalisation */
    ASC_GATE_NONE,   /* the same without γ */
    ASC_GATE_AFTER,  /* after it, which cannot cancel them there */
} asc_gate;

typedef enum asc_ascender_scalar { /* the scalars of asc_ascender, one a head */
    ASC_ASCENDER_LAMBDA_ALIGN, ASC_ASCENDER_LAMBDA_SEP, ASC_ASCENDER_LAMBDA_COH, ASC_ASCENDER_TAU_SEP,
    ASC_ASCENDER_TAU_COH, ASC_ASCENDER_KAPPA, ASC_ASCENDER_DELTA, ASC_ASCENDER_ALPHA_ALIGN, ASC_ASCENDER_ALPHA_COH,
    ASC_ASCENDER_OMEGA_ALIGN, ASC_ASCENDER_OMEGA_SEP, ASC_ASCENDER_OMEGA_COH, ASC_ASCENDER_TAU_SCORE,
    ASC_ASCENDER_SCALARS,
} asc_ascender_scalar;

typedef enum asc_background_scalar { /* those of the background variant */
    ASC_BACKGROUND_LAMBDA_DIST, ASC_BACKGROUND_LAMBDA_RHO, ASC_BACKGROUND_TAU_SEP, ASC_BACKGROUND_THETA_COH,
    ASC_BACKGROUND_OMEGA_ALIGN, ASC_BACKGROUND_OMEGA_SEP, ASC_BACKGROUND_OMEGA_COH, ASC_BACKGROUND_TAU_SCORE,
    ASC_BACKGROUND_SCALARS,
} asc_background_scalar;

/* The queries stand at the last N of M >= N positions; or, where z_queries and h_queries are given, apart from the
 * keys, N and M any, as in cross-attention. Then i is in no set J_i, and all that goes by position is refused: a causal
 * set, windows, ALiBi, rel_bias, and losses. */
typedef struct asc_ascender_inputs {
    asc_tensor q, k, v;   /* (B, N, H d), (B, M, H d), (B, M, H d_v); q and k as they enter the base scores: rotated, if
                             so */
    asc_tensor z, h;      /* (B, M, H d_z), (B, M, H d_a): places and features */
    asc_tensor heading;   /* (B, M, H d): what alignment compares; null: k */
    asc_tensor scalar[ASC_ASCENDER_SCALARS]; /* (H); the background variant's are its first ASC_BACKGROUND_SCALARS */
    asc_tensor rel_bias;  /* (H, 2R + 1), or null: adds entry clamp(j - i, -R, R) + R */
    asc_tensor bias;      /* as for asc_attention, or null: adds this to the scores; neighbours are chosen without it */
    asc_tensor lengths;   /* i64 (B), or null: j < length only */
    asc_tensor mask;      /* u8 that broadcasts to (B, H, N, M), not 0 where allowed; or null: all */
    asc_tensor neighbors; /* i64 (1 or B, 1 or H, N, m), places of N(i), -1 for none; or null: chosen as the options
                             say. Places that i may not look at are left out */
    asc_tensor z_queries, h_queries; /* (B, N, H d_z), (B, N, H d_a), of queries apart; both or none. Not of the
                                        background variant */
} asc_ascender_inputs;

typedef struct asc_ascender_options {
    int64_t heads;           /* H */
    int64_t window, globals, random; /* as for asc_attention */
    bool causal, alibi;
    asc_neighbors neighbors;
    int64_t k;               /* neighbours by score … */
    const int64_t *k_of;     /* … or one k a head, [H]: k is then unused; NULL: one for all */
    int64_t radius;          /* of the window of neighbours */
    bool neighbor_self;      /* i may be a neighbour of itself … */
    bool rho_self;           /* … and counts in its density */
    bool sep_self;           /* i separates from itself */
    bool tau_squared;        /* exp(-d²/(τ² + ε)) in place of exp(-d²/(τ + ε)) */
    asc_gate gate;
    bool without_gamma;      /* γ = 1, as gate none has it, in whatever order … */
    bool without_eta;        /* … and η = 1: the density has no say */
    bool unbiased;           /* the rows' deviation is the sample's */
    bool all_statistics;     /* neighbours, density, centroid and rows over all M, the mask at the softmax only */
} asc_ascender_options;

/* Auxiliary losses, scalars: means over batch, heads and rows of Σ_j A_ij ‖z_j - c_i‖², of Σ_j A_ij φ_ij, and of
 * 1 - u_i·ū_i. */
typedef struct asc_ascender_losses {
    asc_tensor coh, sep, align;
} asc_ascender_losses;

/* ASCender attention as one node: y (B, N, H d_v), and the losses where `losses` is not NULL (they need N = M). For
 * each head
 *   A_i = softmax over the allowed j of (q_i·k_j/√d + Σ_b ω_b β̃^b_ij + β_ij)/(τ_score + ε),  y_i = Σ_j A_ij v_j
 *   align: r_ij = k̃_j·u_i, k̃ = unit(heading), u_i = unit(Σ_{l∈N(i)} k̃_l);  γ_i = σ(α_align v_i),
 *          v_i = 1 - ‖mean of k̃_l‖²
 *   sep:   φ_ij = w^sep_ij max(0, cos(h_i, h_j) - δ);  η_i = min(1, ρ_i/(κ + ε)), ρ_i = Σ_{l≠i} w^sep_il
 *   coh:   r_ij = -‖z_j - c_i‖², c_i = Σ_l w^coh_il z_l/W_i;  γ_i = σ(α_coh V_i), V_i = Σ_l w^coh_il ‖z_l - c_i‖²/W_i
 * with w_ij = exp(-‖z_i - z_j‖²/(τ + ε)), W_i = Σ_l w^coh_il + ε, RN as asc_row_norm, ε = 1e-6. Gate orders:
 *   before: β̃ = RN(λγ r), RN(-λη φ), RN(λγ r/(τ_coh + ε)) of align, sep, coh;  none: the same with γ = 1, η stays;
 *   after:  β̃ = λγ RN(r), -λη RN(φ), λγ RN(r)
 * and options that take γ or η away.
 * λ, τ, α and ω are the scalars of their rule; κ and δ belong to sep. τ > 0 and κ >= 0 are for the caller to keep. More
 * in doc/ascender.md.
 * Gradients flow to all floating inputs; the choice of neighbours has none. A row that may look at nothing gives 0.
 * A value that is not finite reaches all rows of its panel of queries, as in asc_attention. Memory O(B H N (d + k)),
 * time O(B H N M), with a window and g global tokens O(B H N (w + g)). */
ASC_API asc_tensor asc_ascender(asc_ctx *ctx, const asc_ascender_inputs *inputs, const asc_ascender_options *options,
                                asc_ascender_losses *losses);

/* ASCender attention as its second draft has it (doc/ascender.md, the background variant), without N×N memory: y (B, N,
 * H d_v). Headings are the unit vectors of in->heading. For each head
 *   A_i = softmax over the allowed j of
 *         (q_i·k_j/√d + ω_align RN(β^align) + ω_sep RN(β^sep) + ω_coh RN(β^coh) + β_ij)/(τ_score + ε)
 *   β^align_ij = tanh(⟨u_i, u_j⟩) [j ∈ N(i) or i ∈ N(j)],  β^sep_ij = -λ_dist w_ij - λ_ρ ρ_j,
 *   β^coh_ij = relu(⟨z_j, c_i⟩ - θ) [j ∈ N(i)],  w_ij = exp(-‖z_i - z_j‖²/(τ_sep + ε)),
 * RN as asc_row_norm, c_i and ρ_i the means of z_l and w_il over N(i), 0 where it is empty, ε = 1e-6. Of the options,
 * gates, tau_squared and rho_self belong to asc_ascender and are refused, and sep_self has no effect. N < M is refused
 * with all_statistics, and unless the set is causal.
 * density (B, H, M - N, 1): ρ of the keys before the queries, null where there are none. If rho is not NULL it gets ρ
 * of the queries, (B, H, N, 1), which no gradient flows through. Choices of neighbours carry none either. What is
 * not finite reaches all rows of its panel of queries, as in asc_attention. Memory O(B N H (d + k)). */
ASC_API asc_tensor asc_ascender_background(asc_ctx *ctx, const asc_ascender_inputs *in,
                                           const asc_ascender_options *options, asc_tensor density, asc_tensor *rho);

/* Turns the pair (x_m, x_{m+d/2}) of each head by the angle i·10000^(-2m/d) at position i = start, start + 1, …
 * x (B, N, H d), d even; y the same. */
ASC_API asc_tensor asc_rotary(asc_ctx *ctx, asc_tensor x, int64_t heads, int64_t start);

/* The neighbours of a grid's cells, which stand in row-major order of its ndim sizes: those within `radius` in every
 * dimension, but not the cell itself. i64 (1, 1, cells, (2 radius + 1)^ndim - 1), -1 beyond an edge: for
 * asc_ascender_inputs and asc_layer_restrict. No gradient. ASC_ERR_ARG. */
ASC_API asc_tensor asc_grid_neighbors(asc_ctx *ctx, int ndim, const int64_t *sizes, int64_t radius);

/* ---- neighbours and geometry: what ASCender attention and Grassmann mixing are made of ---- */

/* The k largest allowed entries of each row of x (..., n), in descending order, ties to the lower place; k >= 0, above
 * n, too. mask as for softmax, but that -∞ is an entry as any other; a NaN is larger than all else. Returns the values
 * (..., k), through which gradients flow, and in *index, if it is not NULL, their places i64 (..., k). Where fewer than
 * k are allowed, the rest has index -1 and value 0. O(n + k log k) a row. */
ASC_API asc_tensor asc_topk(asc_ctx *ctx, asc_tensor x, asc_tensor mask, int64_t k, asc_tensor *index);

/* y[..., r, j, :] = x[..., index[..., r, j], :], and 0 where that is -1. x (..., n, d), index i64 (..., rows, k), as
 * topk gives it, -1 <= index < n; y (..., rows, k, d). */
ASC_API asc_tensor asc_topk_gather(asc_ctx *ctx, asc_tensor x, asc_tensor index);

/* D_ij = ‖x_i - y_j‖². x (..., N, d), y (..., M, d) or null for x itself; D (..., N, M). Never negative, and as exact
 * for close points far from the origin as the differences are; with one set symmetric and 0 on the diagonal. */
ASC_API asc_tensor asc_pairwise_sqdist(asc_ctx *ctx, asc_tensor x, asc_tensor y);

/* y = (x - μ)/(σ + eps) over the allowed entries of each row of x (..., n), 0 elsewhere; σ the population deviation, or
 * the sample deviation where `unbiased`. mask as for softmax; eps >= 0, usually 1e-6. A row that is constant to
 * rounding, or has one entry, gives 0 with gradient 0. */
ASC_API asc_tensor asc_row_norm(asc_ctx *ctx, asc_tensor x, asc_tensor mask, double eps, bool unbiased);

#define ASC_WEDGE_OFFSETS 48 /* the most in a list of offsets */

/* p/max(‖p‖, eps, eps_rel ‖a‖‖b‖), p_ij = a_i b_j - a_j b_i for i < j in row-major order: the Plücker coordinates of
 * the plane of a and b. a, b (..., r); result (..., r(r-1)/2). eps > 0, usually 1e-8; eps_rel >= 0, usually 0: below
 * that sine of the angle between a and b the result fades to 0, and its gradient stays bounded. */
ASC_API asc_tensor asc_plucker_wedge(asc_ctx *ctx, asc_tensor a, asc_tensor b, double eps, double eps_rel);
/* The same of a sequence z (B, N, r) with its own past: z_t and z_{t - offsets[l]}, offsets of at least 1; result
 * (B, N, n_offsets, r(r-1)/2), 0 where t < offsets[l]. */
ASC_API asc_tensor asc_plucker_wedge_past(asc_ctx *ctx, asc_tensor z, int n_offsets, const int *offsets, double eps,
                                          double eps_rel);

/* ASC_DIRECTION_BOTH: each offset twice, the past first. */
typedef enum asc_direction { ASC_DIRECTION_PAST, ASC_DIRECTION_FUTURE, ASC_DIRECTION_BOTH } asc_direction;

/* What is made of z_t = u and another token's v: the wedge, or a control that shows what the wedge is worth. */
typedef enum asc_pair {
    ASC_PAIR_WEDGE,     /* u_i v_j - u_j v_i, i < j */
    ASC_PAIR_SYMMETRIC, /* u_i v_j + u_j v_i, i <= j */
    ASC_PAIR_PRODUCT,   /* u_i v_i */
    ASC_PAIR_CONCAT,    /* u, then v */
} asc_pair;

typedef struct asc_grassmann_options {
    asc_pair pair;
    int n_offsets;           /* up to ASC_WEDGE_OFFSETS; 0 with a memory only */
    const int *offsets;      /* at least 1; one that is there twice counts twice */
    asc_direction direction; /* t pairs with t - Δ, with t + Δ, or with both */
    bool sum;                /* c = 1 in place of the mean */
    bool rms;                /* p̂ times √(G C(r/G, 2)): entries of size √G */
    int64_t groups;          /* G, of z's entries, each with a normalised wedge of its own; 0 stands for 1 */
    int64_t skip;            /* so many first positions of z are only looked back at, and have no g: those a stream
                                keeps */
    bool raw;                /* p as it is, in p̂'s place: eps and eps_rel have no say. For ‖p‖ up to 2^40 */
    double eps, eps_rel;     /* as for asc_plucker_wedge */
} asc_grassmann_options;

/* Grassmann mixing (arXiv 2512.19428): g_t = Σ_Δ c_Δ (weight p̂_Δ + bias), p̂_Δ the Plücker coordinates of z_t and
 * z_{t-Δ} as of asc_plucker_wedge, z_t first, or what options->pair has in their place, normalised alike. z (B, N, r),
 * weight (D, P) with P = G C(r/G, 2), of symmetric G (r/G)(r/G + 1)/2, of product r, of concat 2r; bias (D) or null; g
 * (B, N - skip, D). c_Δ is 1/(the number of pairs that t has); with offset_weight, one a pair, the softmax of it over
 * those pairs, offset by offset, the memory last. memory (B, N - skip, r) or null: for t > 0 one more pair, of z_t with
 * memory_t; see asc_gated_memory. lengths i64 (B) or null: a pair counts where both positions are below it. A position
 * without pairs gives 0. One projection a token, whatever the number m of offsets: O(B N (m r + r² + D r²/2)). */
ASC_API asc_tensor asc_grassmann(asc_ctx *ctx, asc_tensor z, asc_tensor weight, asc_tensor bias,
                                 asc_tensor offset_weight, asc_tensor memory, asc_tensor lengths,
                                 const asc_grassmann_options *options);

#define ASC_SUBSPACE_TUPLES 32 /* the most in a list of tuples, */
#define ASC_SUBSPACE_LAGS   3  /* and in a tuple */

typedef struct asc_subspace_options {
    int k;             /* dimension of the subspaces, 2 … 4 */
    int n_tuples;      /* up to ASC_SUBSPACE_TUPLES */
    const int *tuples; /* [n_tuples][k - 1] lags, at least 1; a tuple that is there twice counts twice */
    bool sum;          /* c = 1 in place of the mean */
    bool rms;          /* p̂ times √(G C(r/G, k)): entries of size √G */
    int64_t groups;    /* G, of z's entries, each with normalised coordinates of its own; 0 stands for 1 */
    int64_t skip;      /* so many first positions of z are only looked back at, and have no g */
    bool raw;          /* p as it is, in p̂'s place: eps and eps_rel have no say. For ‖p‖ up to 2^40 */
    double eps, eps_rel;
} asc_subspace_options;

/* Grassmann mixing on subspaces of k dimensions, spanned by z_t and k - 1 tokens before it:
 * g_t = Σ_τ c_τ (weight p̂_τ + bias) over the tuples τ = (Δ_1, …, Δ_{k-1}).
 * p̂_τ = p/max(‖p‖, eps, eps_rel ‖z_t‖‖z_{t-Δ_1}‖ …) are the Plücker coordinates, p being the k×k minors of z_t,
 * z_{t-Δ_1}, …, columns i_1 < … < i_k in lexicographic order. z (B, N, r),
 * weight (D, G C(r/G, k)), bias (D) or null; g (B, N - skip, D). c_τ is 1/(the number of tuples all of whose tokens
 * there are). lengths i64 (B) or null: tokens count below it. A position without tuples gives 0. With k = 2 it is
 * asc_grassmann's of those offsets. Null with the error set: ASC_ERR_ARG, what does not fit; ASC_ERR_MEMORY. One
 * projection a token, whatever the number m of tuples: O(B N (m k² r + k C + D C)), C = G C(r/G, k); tuples that share
 * all lags but one cost no more than their vectors. */
ASC_API asc_tensor asc_subspace(asc_ctx *ctx, asc_tensor z, asc_tensor weight, asc_tensor bias, asc_tensor lengths,
                                const asc_subspace_options *options);

/* m_t = f_t∘m_{t-1} + (1 - f_t)∘z_t with f = σ(forget), per channel, as each position finds it: y_t = m_{t-1}, m_{-1}
 * being `initial` (B, 1, r), or 0 if that is null. z, forget (B, N, r); y the same. If last is not NULL it gets m_{N-1}
 * (B, 1, r), with which a stream goes on; gradients flow through it, too. */
ASC_API asc_tensor asc_gated_memory(asc_ctx *ctx, asc_tensor z, asc_tensor forget, asc_tensor initial,
                                    asc_tensor *last);

/* α∘h + (1 - α)∘g, α = σ([h; g] weightᵀ + bias). h, g (..., D), weight (D, 2D), bias (D) or null; y like h. If alpha is
 * not NULL it gets α, which no gradient flows through. */
ASC_API asc_tensor asc_gated_fusion(asc_ctx *ctx, asc_tensor h, asc_tensor g, asc_tensor weight, asc_tensor bias,
                                    asc_tensor *alpha);

/* The real-gated linear recurrence of Griffin (De et al., arXiv 2402.19427), for each channel
 *     s_t = a_t s_{t-1} + √(1 - a_t²) σ(i_t) c_t,  a_t = exp(-8 softplus(decay) σ(r_t)).
 * c, r, i (B, N, R), decay (R), initial (B, 1, R), s_{-1}, or null for 0; s (B, N, R). If `last` is not NULL, it gets
 * s_{N-1} (B, 1, R), the state from which the next tokens go on. Null with the error set: ASC_ERR_ARG, shapes that do
 * not fit; ASC_ERR_MEMORY. */
ASC_API asc_tensor asc_rg_lru(asc_ctx *ctx, asc_tensor c, asc_tensor r, asc_tensor i, asc_tensor decay,
                              asc_tensor initial, asc_tensor *last);

/* ---- linear attention ---- */

/* What takes the exponential's place in attention, positive in every entry. */
typedef enum asc_feature {
    ASC_FEATURE_ELU, /* elu(x) + 1 (Katharopoulos et al., arXiv 2006.16236) */
    ASC_FEATURE_FAVOR, /* exp(W x̂ - ‖x̂‖²/2)/√m, x̂ = x/d^¼ (Performer, Choromanski et al., arXiv 2009.14794) */
} asc_feature;

typedef struct asc_linear_attention_options {
    int64_t heads;
    asc_feature feature;
    bool fixed_decay; /* f = 1 - 2^(-5-h) of head h */
    bool full;        /* every query sees all keys; else those up to its own position */
    double eps;       /* ε, above 0 */
} asc_linear_attention_options;

/* Tensors of one dtype; null where optional ones are absent. */
typedef struct asc_linear_attention_inputs {
    asc_tensor q, k;     /* (B, N, H d) */
    asc_tensor v;        /* (B, N, H d_v) */
    asc_tensor forget;   /* (B, N, H), logits of the decays f = σ(forget); null: f = 1, or fixed */
    asc_tensor features; /* W (m, d); with favor alone */
    asc_tensor lengths;  /* i64 (B), keys that count; with full alone */
    asc_tensor initial;  /* (B, 1, H (m d_v + m + 1)), the state before the first token: of each head S, n, and the
                          * logarithm of their scale, of favor's features times √m; null: empty. Causal alone */
} asc_linear_attention_inputs;

/* y_i = φ(q_i)ᵀS_i/(φ(q_i)ᵀn_i + ε) per head, S_i = f_i S_{i-1} + φ(k_i) v_iᵀ, n_i = f_i n_{i-1} + φ(k_i);
 * (B, N, H d_v). What is not finite reaches earlier tokens of the same 64, too. Time and memory are linear in N. If
 * `last` is not NULL, it gets the state after the last token, for `initial`; no gradient goes through it. Null with the
 * error set: ASC_ERR_ARG, shapes that do not fit; ASC_ERR_MEMORY. */
ASC_API asc_tensor asc_linear_attention(asc_ctx *ctx, const asc_linear_attention_inputs *inputs,
                                        const asc_linear_attention_options *options, asc_tensor *last);

/* What asc_attention adds to its scores, as tensors (H, N, M) for models of one's own; query i stands at position
 * i + M - N, N <= M. alibi: -2^(-8(h+1)/H)·|i - j|, a constant of dtype f32 or f64. relative: table (H, 2R + 1), entry
 * clamp(j - i, -R, R) + R. */
ASC_API asc_tensor asc_alibi(asc_ctx *ctx, asc_dtype dtype, int64_t heads, int64_t N, int64_t M);
ASC_API asc_tensor asc_relative_bias(asc_ctx *ctx, asc_tensor table, int64_t N, int64_t M);

/* ---- convolution ---- */

typedef enum asc_padding {
    ASC_PADDING_NONE,   /* N' = N - (K - 1) dilation, or 0 */
    ASC_PADDING_CAUSAL, /* N' = N: zeros before the sequence, y_t depends on x at <= t only */
    ASC_PADDING_SAME,   /* N' = N: zeros on both sides, the odd one after it */
} asc_padding;

typedef struct asc_conv1d_options {
    int64_t groups;   /* of channels, each with weights of its own; C: depthwise */
    int64_t dilation; /* from tap to tap, >= 1 */
    asc_padding padding;
} asc_conv1d_options;

/* y_to = bias_o + Σ_k Σ_c weight_ock x_{t + k dilation - P, c} along dimension 1, c over the channels of o's group.
 * x (B, N, C), weight (O, C/groups, K), bias (O) or null; y (B, N', O). options NULL: one group, dilation 1, no
 * padding. */
ASC_API asc_tensor asc_conv1d(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias,
                              const asc_conv1d_options *options);

#ifdef __cplusplus
}
#endif
#endif
