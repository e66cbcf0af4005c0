/* nn/ascender_background.c: the background variant of ASCender attention (doc/ascender.md), one primitive op after the
 * other.
 *
 *   β^align_ij = tanh(⟨u_i, u_j⟩) [j ∈ N(i) or i ∈ N(j)],  β^sep_ij = -λ_dist w_ij - λ_ρ ρ_j,
 *   β^coh_ij = relu(⟨z_j, c_i⟩ - θ) [j ∈ N(i)],  each row-normalised over J_i
 *
 * with w_ij = exp(-‖z_i - z_j‖²/(τ_sep + ε)), and c_i and ρ_i the means of z_l and w_il over N(i), 0 where it is
 * empty. */
#include "nn/ascender_composed.h"
#include "nn/inspect/scores.h"
#include "tensor/ctx.h"

typedef struct background {
    asc_ctx *ctx;
    const asc_ascender_inputs *in;
    const asc_ascender_options *o;
    int64_t N, M;
    asc_tensor z; /* (B, H, M, d_z) */
} background;

static asc_tensor scalar(const background *b, asc_background_scalar which)
{
    return asc_per_head(b->ctx, b->in->scalar[which]);
}

static asc_tensor normalised(const background *b, asc_tensor x, asc_tensor set)
{
    return asc_row_norm(b->ctx, x, set, ASCENDER_EPS, b->o->unbiased);
}

/* [j ∈ N(i) or i ∈ N(j)]. A query cannot be a neighbour of a position before it in a causal set, so where the queries
 * are not all positions N(i) alone decides. */
static asc_tensor either(const background *b, asc_tensor near)
{
    return b->N == b->M ? asc_maximum(b->ctx, near, asc_contiguous(b->ctx, asc_transpose(b->ctx, near, 2, 3))) : near;
}

static asc_tensor align(const background *b, const asc_ascender_parts *p)
{
    asc_ctx *ctx = b->ctx;
    asc_tensor from = asc_is_null(b->in->heading) ? b->in->k : b->in->heading;
    asc_tensor u = asc_l2_normalize(ctx, asc_split_heads(ctx, from, b->o->heads));
    asc_tensor cosine = asc_matmul_transposed(ctx, asc_last_rows(ctx, u, b->N), false, u, true);
    return normalised(b, asc_mul(ctx, asc_tanh(ctx, cosine), either(b, p->near)), p->statistics);
}

/* Leaves the queries' densities in p->rho. */
static asc_tensor separate(const background *b, asc_tensor density, asc_ascender_parts *p)
{
    asc_ctx *ctx = b->ctx;
    asc_tensor d2 = asc_pairwise_sqdist(ctx, asc_last_rows(ctx, b->z, b->N), b->z);
    asc_tensor tau = asc_add_scalar(ctx, scalar(b, ASC_BACKGROUND_TAU_SEP), ASCENDER_EPS);
    asc_tensor w = asc_exp(ctx, asc_neg(ctx, asc_div(ctx, d2, tau)));
    p->rho = asc_div(ctx, asc_sum(ctx, asc_mul(ctx, p->near, w), ASC_DIMS(-1), true), p->count);
    asc_tensor all = asc_is_null(density) ? p->rho : asc_concat(ctx, (asc_tensor[]){density, p->rho}, 2, 2);
    asc_tensor near = asc_mul(ctx, scalar(b, ASC_BACKGROUND_LAMBDA_DIST), w);
    asc_tensor dense = asc_mul(ctx, scalar(b, ASC_BACKGROUND_LAMBDA_RHO), asc_transpose(ctx, all, 2, 3));
    return normalised(b, asc_neg(ctx, asc_add(ctx, near, dense)), p->statistics);
}

static asc_tensor cohere(const background *b, const asc_ascender_parts *p)
{
    asc_ctx *ctx = b->ctx;
    asc_tensor c = asc_div(ctx, asc_matmul(ctx, p->near, b->z), p->count);
    asc_tensor likeness = asc_matmul_transposed(ctx, c, false, b->z, true);
    asc_tensor above = asc_relu(ctx, asc_sub(ctx, likeness, scalar(b, ASC_BACKGROUND_THETA_COH)));
    return normalised(b, asc_mul(ctx, above, p->near), p->statistics);
}

asc_status asc_background_composed(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o,
                                   asc_tensor density, asc_ascender_parts *p)
{
    static const int scalars[4] = {ASC_BACKGROUND_OMEGA_ALIGN, ASC_BACKGROUND_OMEGA_SEP, ASC_BACKGROUND_OMEGA_COH,
                                   ASC_BACKGROUND_TAU_SCORE};
    if (asc_ascender_begin(ctx, in, o, p)) {
        return asc_error(ctx);
    }
    background b = {.ctx = ctx, .in = in, .o = o, .N = asc_size(in->q, 1), .M = asc_size(in->k, 1)};
    b.z = asc_split_heads(ctx, in->z, o->heads);
    p->b_align = align(&b, p);
    p->b_sep = separate(&b, density, p);
    p->b_coh = cohere(&b, p);
    return asc_ascender_attend(ctx, in, o, scalars, p);
}
