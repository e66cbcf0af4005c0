/* nn/inspect/scores.h: attention scores from primitive ops: for the compositions that fused nodes are checked against,
 * and for looking inside a layer. */
#ifndef NN_SCORES_H
#define NN_SCORES_H

#include <ascgrad/ops.h>
#include <ascgrad/params.h>

/* Which keys a query may look at. Query i stands at position i + M - N. */
typedef struct asc_allowed_options {
    bool causal;
    int64_t window;     /* w > 0: |i - j| < w only, and the global tokens */
    int64_t globals, random; /* with a window: tokens that all look at; links of a row */
    asc_tensor lengths; /* i64 (B), or null */
    asc_tensor mask;    /* u8 that broadcasts to (B, H, N, M), not 0 where allowed; or null */
} asc_allowed_options;

/* The set as a mask, u8 (1 or B, 1 or H, N, M). */
asc_tensor asc_allowed_mask(asc_ctx *ctx, int64_t N, int64_t M, const asc_allowed_options *options);

/* (B, N, H d) to (B, H, N, d), and back. */
asc_tensor asc_split_heads(asc_ctx *ctx, asc_tensor x, int64_t heads);
asc_tensor asc_join_heads(asc_ctx *ctx, asc_tensor x);

/* Q Kᵀ/√d of heads q (B, H, N, d) and k (B, H, M, d). */
asc_tensor asc_base_scores(asc_ctx *ctx, asc_tensor q, asc_tensor k);
/* β^other: ALiBi, a learned bias (H, 2R + 1) of relative positions, one of the caller's; the two may be null. */
typedef struct asc_other_bias {
    bool alibi;
    asc_tensor rel_bias, given;
} asc_other_bias;

/* x + β^other. x (B, H, N, M). */
asc_tensor asc_add_other(asc_ctx *ctx, asc_tensor x, const asc_other_bias *biases);
/* What that adds, of x's shape; null where it adds nothing. */
asc_tensor asc_other_scores(asc_ctx *ctx, asc_tensor x, const asc_other_bias *biases);

/* Adds entropy_rows, asc_attention_entropies, and entropy, their mean over batch and rows, (H). */
asc_status asc_add_entropies(asc_params *parts, asc_ctx *ctx, asc_tensor scores, asc_tensor attention,
                             asc_tensor temperature);

/* Adds a part by name to what is being inspected, 0 where the mask does not allow it; a null mask allows all. */
asc_status asc_add_part(asc_params *parts, asc_ctx *ctx, const char *name, asc_tensor part, asc_tensor mask);

#endif
