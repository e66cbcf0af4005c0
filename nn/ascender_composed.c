/* nn/ascender_composed.c: ASCender attention (doc/ascender.md), one primitive op after the other.
 *
 *   S = QKᵀ/√d + ω_a β̃^align + ω_s β̃^sep + ω_c β̃^coh + β^other,  A = softmax over J_i of S/(τ_score + ε),  y = A V
 *
 * the biases normalised row by row: headings of the neighbours (alignment), crowding (separation), the way to the local
 * centroid (cohesion). After Reynolds' boids (SIGGRAPH 1987). */
#include "nn/ascender_composed.h"

#include <math.h>

#include "nn/inspect/scores.h"
#include "tensor/ctx.h"

static const double eps = ASCENDER_EPS;

/* ---- in common with the background variant ---- */

asc_tensor asc_per_head(asc_ctx *ctx, asc_tensor scalar)
{
    return asc_reshape(ctx, scalar, ASC_SHAPE(1, asc_numel(scalar), 1, 1));
}

/* Of x in heads what belongs to the queries: that of queries apart, or the last rows. */
static asc_tensor queries_of(asc_ctx *ctx, asc_tensor x, asc_tensor apart, int64_t N, int64_t heads)
{
    return asc_is_null(apart) ? asc_last_rows(ctx, x, N) : asc_split_heads(ctx, apart, heads);
}

static bool apart(const asc_ascender_inputs *in)
{
    return !asc_is_null(in->z_queries);
}

asc_tensor asc_last_rows(asc_ctx *ctx, asc_tensor x, int64_t n)
{
    int64_t all = asc_size(x, 2);
    return n == all ? x : asc_contiguous(ctx, asc_slice(ctx, x, 2, all - n, all, 1));
}

/* 1 where j is not the query's own position, else 0, (N, M). */
static asc_tensor others_of(asc_ctx *ctx, const asc_ascender_inputs *in)
{
    asc_dtype dtype = asc_dtype_of(in->q);
    int64_t N = asc_size(in->q, 1), M = asc_size(in->k, 1);

    asc_tensor mask = asc_empty(ctx, ASC_U8, ASC_SHAPE(N, M));
    uint8_t *to = asc_data_mut(mask);
    for (int64_t e = 0; to && e < N * M; e++) {
        to[e] = apart(in) || e % M != e / M + M - N;
    }
    return asc_where(ctx, mask, asc_scalar(ctx, dtype, 1), asc_scalar(ctx, dtype, 0));
}

static asc_tensor sum_rows(asc_ctx *ctx, asc_tensor x)
{
    return asc_sum(ctx, x, ASC_DIMS(-1), true);
}

/* C_i, the candidates to be neighbours: the set of the statistics, without i itself, where it is a key, unless it
 * counts. */
static asc_tensor candidates_of(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o,
                                asc_tensor set)
{
    int64_t N = asc_size(set, 2), M = asc_size(set, 3);
    bool all = o->neighbor_self || apart(in);
    asc_tensor c = asc_empty(ctx, ASC_U8, 4, asc_shape(set));
    const uint8_t *from = asc_data(set);
    uint8_t *to = asc_data_mut(c);
    for (int64_t e = 0; from && to && e < asc_numel(c); e++) {
        to[e] = from[e] && (all || e % M != e / M % N + M - N);
    }
    return c;
}

/* a_ij = cos(h_i, h_j). */
static asc_tensor affinity(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o)
{
    asc_tensor h = asc_l2_normalize(ctx, asc_split_heads(ctx, in->h, o->heads));
    asc_tensor own = queries_of(ctx, h, in->h_queries, asc_size(in->q, 1), o->heads);
    own = apart(in) ? asc_l2_normalize(ctx, own) : own;
    return asc_matmul_transposed(ctx, own, false, h, true);
}

asc_status asc_ascender_begin(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o,
                              asc_ascender_parts *p)
{
    *p = (asc_ascender_parts){.y = asc_null()};
    int64_t N = asc_size(in->q, 1), M = asc_size(in->k, 1);
    p->allowed = asc_allowed_mask(ctx, N, M, &(asc_allowed_options){o->causal, o->window, o->globals, o->random,
                                                                    in->lengths, in->mask});
    p->statistics = o->all_statistics ? asc_full(ctx, ASC_U8, 1, ASC_SHAPE(1, 1, N, M)) : p->allowed;
    p->s_base = asc_base_scores(ctx, asc_split_heads(ctx, in->q, o->heads), asc_split_heads(ctx, in->k, o->heads));
    p->affinity = affinity(ctx, in, o);
    asc_tensor scores = o->neighbors == ASC_NEIGHBORS_BASE ? p->s_base : p->affinity;
    p->near = asc_neighbor_mask(ctx, scores, candidates_of(ctx, in, o, p->statistics), in->neighbors, o);
    p->count = asc_clamp(ctx, sum_rows(ctx, p->near), 1, (double)M + 1);
    return asc_error(ctx);
}

/* s/(τ + ε). A bias of −∞ takes a pair out: it is none that τ could have a gradient from, 0 · ∞. */
static asc_tensor tempered(asc_ctx *ctx, const asc_ascender_inputs *in, asc_tensor s, asc_tensor tau)
{
    asc_tensor below = asc_add_scalar(ctx, tau, eps);
    if (asc_is_null(in->bias)) {
        return asc_div(ctx, s, below);
    }
    asc_tensor out = asc_equal(ctx, in->bias, asc_scalar(ctx, asc_dtype_of(in->bias), -INFINITY));
    return asc_masked_fill(ctx, asc_div(ctx, asc_masked_fill(ctx, s, out, 0), below), out, -INFINITY);
}

asc_status asc_ascender_attend(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o,
                               const int scalars[4], asc_ascender_parts *p)
{
    const asc_tensor biases[3] = {p->b_align, p->b_sep, p->b_coh};
    asc_tensor s = p->s_base;
    for (int i = 0; i < 3; i++) {
        s = asc_add(ctx, s, asc_mul(ctx, asc_per_head(ctx, in->scalar[scalars[i]]), biases[i]));
    }
    p->s = asc_add_other(ctx, s, &(asc_other_bias){o->alibi, in->rel_bias, in->bias});
    p->attn = asc_softmax(ctx, tempered(ctx, in, p->s, asc_per_head(ctx, in->scalar[scalars[3]])), p->allowed);
    p->y = asc_join_heads(ctx, asc_matmul(ctx, p->attn, asc_split_heads(ctx, in->v, o->heads)));
    return asc_error(ctx);
}

/* ---- geometry ---- */

typedef struct swarm {
    asc_ctx *ctx;
    const asc_ascender_options *o;
    asc_tensor scalar[ASC_ASCENDER_SCALARS]; /* (1, H, 1, 1) */
    asc_tensor z;                         /* (B, H, M, d_z) */
    asc_tensor d2;                        /* d²_ij (B, H, N, M) */
    asc_tensor others;                    /* l ≠ i, as 1 and 0 */
    asc_tensor r_align, phi, r_coh;
    asc_tensor heading;                   /* u (B, H, N, d) */
    asc_tensor has;                       /* 1 where N(i) is not empty (B, H, N, 1) */
} swarm;

static void lay_out(swarm *s, const asc_ascender_inputs *in)
{
    for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
        s->scalar[i] = asc_per_head(s->ctx, in->scalar[i]);
    }
    s->z = asc_split_heads(s->ctx, in->z, s->o->heads);
    asc_tensor own = queries_of(s->ctx, s->z, in->z_queries, asc_size(in->q, 1), s->o->heads);
    s->d2 = asc_pairwise_sqdist(s->ctx, own, s->z);
    s->others = others_of(s->ctx, in);
}

/* w^τ_ij = exp(-d²_ij/(τ + ε)), or of τ², over the set; 0 elsewhere. */
static asc_tensor kernel(const swarm *s, asc_tensor tau, asc_tensor set)
{
    asc_ctx *ctx = s->ctx;
    asc_tensor width = asc_add_scalar(ctx, s->o->tau_squared ? asc_square(ctx, tau) : tau, eps);
    asc_tensor w = asc_exp(ctx, asc_neg(ctx, asc_div(ctx, s->d2, width)));
    return asc_where(ctx, set, w, asc_scalar(ctx, asc_dtype_of(w), 0));
}

/* σ(α x). */
static asc_tensor gate(asc_ctx *ctx, asc_tensor alpha, asc_tensor x)
{
    return asc_sigmoid(ctx, asc_mul(ctx, alpha, x));
}

/* ---- the three rules ---- */

/* r^align_ij = k̃_j·u_i, u_i the unit vector of s_i = Σ_{l∈N(i)} k̃_l; γ = σ(α v), v_i = 1 - ‖s_i/|N(i)|‖². */
static void align(swarm *s, const asc_ascender_inputs *in, asc_ascender_parts *p)
{
    asc_ctx *ctx = s->ctx;
    asc_tensor from = asc_is_null(in->heading) ? in->k : in->heading;
    asc_tensor unit = asc_l2_normalize(ctx, asc_split_heads(ctx, from, s->o->heads));
    asc_tensor sum = asc_matmul(ctx, p->near, unit);
    s->heading = asc_l2_normalize(ctx, sum);
    s->r_align = asc_matmul_transposed(ctx, s->heading, false, unit, true);
    s->has = asc_clamp(ctx, sum_rows(ctx, p->near), 0, 1);
    asc_tensor mean2 = sum_rows(ctx, asc_square(ctx, asc_div(ctx, sum, p->count)));
    asc_tensor variance = asc_mul(ctx, asc_scale_shift(ctx, mean2, -1, 1), s->has);
    p->gamma_align = gate(ctx, s->scalar[ASC_ASCENDER_ALPHA_ALIGN], variance);
}

/* φ_ij = w^sep_ij max(0, a_ij - δ); η_i = min(1, ρ_i/(κ + ε)), ρ_i = Σ_{l≠i} w^sep_il. */
static void separate(swarm *s, asc_ascender_parts *p)
{
    asc_ctx *ctx = s->ctx;
    asc_tensor w = kernel(s, s->scalar[ASC_ASCENDER_TAU_SEP], p->statistics);
    asc_tensor rho = sum_rows(ctx, s->o->rho_self ? w : asc_mul(ctx, w, s->others));
    p->eta = asc_clamp(ctx, asc_div(ctx, rho, asc_add_scalar(ctx, s->scalar[ASC_ASCENDER_KAPPA], eps)), 0, 1);
    asc_tensor phi = asc_mul(ctx, w, asc_relu(ctx, asc_sub(ctx, p->affinity, s->scalar[ASC_ASCENDER_DELTA])));
    s->phi = s->o->sep_self ? phi : asc_mul(ctx, phi, s->others);
}

/* r^coh_ij = -‖z_j - c_i‖², c_i = Σ w^coh_il z_l/W_i, W_i = Σ w^coh_il + ε;
 * γ = σ(α V), V_i = Σ w^coh_il ‖z_l - c_i‖²/W_i. */
static void cohere(swarm *s, asc_ascender_parts *p)
{
    asc_ctx *ctx = s->ctx;
    asc_tensor w = kernel(s, s->scalar[ASC_ASCENDER_TAU_COH], p->statistics);
    asc_tensor W = asc_add_scalar(ctx, sum_rows(ctx, w), eps);
    asc_tensor c = asc_div(ctx, asc_matmul(ctx, w, s->z), W);
    asc_tensor d2 = asc_pairwise_sqdist(ctx, c, s->z);
    s->r_coh = asc_neg(ctx, d2);
    asc_tensor variance = asc_div(ctx, sum_rows(ctx, asc_mul(ctx, w, d2)), W);
    p->gamma_coh = gate(ctx, s->scalar[ASC_ASCENDER_ALPHA_COH], variance);
}

/* ---- the biases in their three orders ---- */

/* RN(strength x), or strength RN(x) where the gate stands after it. */
static asc_tensor normalised(const swarm *s, asc_tensor strength, asc_tensor x, asc_tensor set)
{
    asc_ctx *ctx = s->ctx;
    return s->o->gate == ASC_GATE_AFTER
               ? asc_mul(ctx, strength, asc_row_norm(ctx, x, set, eps, s->o->unbiased))
               : asc_row_norm(ctx, asc_mul(ctx, strength, x), set, eps, s->o->unbiased);
}

/* λγ, or λ alone where there is no gate, or γ was taken away. */
static asc_tensor gated(const swarm *s, asc_tensor lambda, asc_tensor gamma)
{
    return s->o->gate == ASC_GATE_NONE || s->o->without_gamma ? lambda : asc_mul(s->ctx, lambda, gamma);
}

static void bias(const swarm *s, asc_ascender_parts *p)
{
    asc_ctx *ctx = s->ctx;
    asc_tensor along = gated(s, s->scalar[ASC_ASCENDER_LAMBDA_ALIGN], p->gamma_align);
    asc_tensor lambda = s->scalar[ASC_ASCENDER_LAMBDA_SEP],
               apart = s->o->without_eta ? lambda : asc_mul(ctx, lambda, p->eta);
    asc_tensor together = gated(s, s->scalar[ASC_ASCENDER_LAMBDA_COH], p->gamma_coh);
    if (s->o->gate != ASC_GATE_AFTER) {
        together = asc_div(ctx, together, asc_add_scalar(ctx, s->scalar[ASC_ASCENDER_TAU_COH], eps));
    }
    p->b_align = normalised(s, along, s->r_align, p->statistics);
    p->b_sep = normalised(s, apart, asc_neg(ctx, s->phi), p->statistics);
    p->b_coh = normalised(s, together, s->r_coh, p->statistics);
}

/* ---- auxiliary losses, each a mean over batch, heads and rows ---- */

static asc_tensor mean_of_rows(asc_ctx *ctx, asc_tensor x)
{
    return asc_mean(ctx, sum_rows(ctx, x), ASC_ALL_DIMS, false);
}

static void lose(const swarm *s, asc_ascender_parts *p)
{
    asc_ctx *ctx = s->ctx;
    p->loss_coh = asc_neg(ctx, mean_of_rows(ctx, asc_mul(ctx, p->attn, s->r_coh)));
    p->loss_sep = mean_of_rows(ctx, asc_mul(ctx, p->attn, s->phi));
    if (asc_size(p->near, 2) == asc_size(p->near, 3)) {
        asc_tensor mean = asc_div(ctx, asc_matmul(ctx, p->near, s->heading), p->count);
        asc_tensor cosine = sum_rows(ctx, asc_mul(ctx, s->heading, mean));
        p->loss_align = mean_of_rows(ctx, asc_mul(ctx, s->has, asc_scale_shift(ctx, cosine, -1, 1)));
    }
}

asc_status asc_ascender_composed(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *o,
                                 asc_ascender_parts *p)
{
    swarm s = {.ctx = ctx, .o = o};
    if (asc_ascender_begin(ctx, in, o, p)) {
        return asc_error(ctx);
    }
    lay_out(&s, in);
    align(&s, in, p);
    separate(&s, p);
    cohere(&s, p);
    bias(&s, p);
    asc_ascender_attend(
        ctx, in, o,
        (const int[]){ASC_ASCENDER_OMEGA_ALIGN, ASC_ASCENDER_OMEGA_SEP, ASC_ASCENDER_OMEGA_COH, ASC_ASCENDER_TAU_SCORE},
        p);
    lose(&s, p);
    return asc_error(ctx);
}
