/* tests/ops/background.h: calls of the background variant, and the same from primitive ops, neighbours being chosen by
 * plain loops. */
#ifndef TESTS_OPS_BACKGROUND_H
#define TESTS_OPS_BACKGROUND_H

#include "tensor/splitmix.h"
#include "tests/ops/values.h"

enum { Q, K_, V, Z, H_, HEADING, REL, BIAS, INPUTS };

typedef struct kind {
    int64_t B, H, N, d, dv, dz, da;
    asc_ascender_options o; /* but for heads */
    bool heading;
    int64_t R;          /* 0: no relative biases */
    int64_t lengths[3]; /* all 0: none */
    bool mask;          /* a (B, H, N, N) mask */
    int64_t given;      /* m given neighbours; 0: chosen */
    int64_t k_of[2];    /* one k a head, or 0 */
    int bias;           /* how many of (B, H, N, N) a bias has, from the last; 0: there is none */
} kind;

typedef struct call {
    const kind *k;
    asc_tensor x[INPUTS], scalar[ASC_BACKGROUND_SCALARS];
    asc_tensor lengths, mask, given;
    asc_tensor y, rho;
} call;

static bool has_lengths(const kind *k)
{
    return k->lengths[0] || k->lengths[1] || k->lengths[2];
}

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return ((((a * 1000003 + b) * 1000003 + c) * 1000003 + d) + 17) * 0x9E3779B97F4A7C15 >> 33;
}

/* Some four of five, and none for a few rows. */
static bool masked_in(int64_t b, int64_t h, int64_t i, int64_t j)
{
    return i % 9 != 4 && mix((uint64_t)b, (uint64_t)h, (uint64_t)i, (uint64_t)j) % 5 != 0;
}

static int64_t given_key(const kind *k, int64_t b, int64_t h, int64_t i, int64_t m)
{
    return (int64_t)(mix((uint64_t)(b + 3), (uint64_t)h, (uint64_t)i, (uint64_t)m) % (uint64_t)(k->N + 2)) - 1;
}

static bool may_look(const kind *k, int64_t b, int64_t h, int64_t i, int64_t j)
{
    bool linked = false;
    for (int64_t m = 0; m < k->o.random; m++) {
        linked |= asc_random_link(i, k->o.random, m, k->o.causal ? i + 1 : k->N) == j;
    }
    if (k->o.window > 0 && llabs(i - j) >= k->o.window && j >= k->o.globals && i >= k->o.globals && !linked) {
        return false;
    }
    return !(k->mask && !masked_in(b, h, i, j)) && !(k->o.causal && j > i) && !(has_lengths(k) && j >= k->lengths[b]);
}

/* ---- neighbours, by plain loops ---- */

static double dot(const kind *k, asc_tensor a, asc_tensor x, int64_t b, int64_t h, int64_t i, int64_t j, int64_t w)
{
    double sum = 0;
    for (int64_t m = 0; m < w; m++) {
        sum += value(a, (b * k->N + i) * k->H * w + h * w + m) * value(x, (b * k->N + j) * k->H * w + h * w + m);
    }
    return sum;
}

static double score(const call *c, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const kind *k = c->k;
    if (k->o.neighbors == ASC_NEIGHBORS_BASE) {
        return dot(k, c->x[Q], c->x[K_], b, h, i, j, k->d);
    }
    const asc_tensor x = c->x[H_];
    return dot(k, x, x, b, h, i, j, k->da) /
           sqrt(dot(k, x, x, b, h, i, i, k->da) * dot(k, x, x, b, h, j, j, k->da));
}

static void mark_largest(const call *c, int64_t b, int64_t h, int64_t i, const bool *may, double *near)
{
    const kind *k = c->k;
    double *s = calloc((size_t)k->N, sizeof *s);
    for (int64_t j = 0; j < k->N; j++) {
        s[j] = may[j] ? score(c, b, h, i, j) : 0;
    }
    for (int64_t m = 0; m < (k->k_of[0] ? k->k_of[h] : k->o.k); m++) {
        int64_t best = -1;
        for (int64_t j = 0; j < k->N; j++) {
            best = may[j] && near[j] == 0 && (best < 0 || s[j] > s[best]) ? j : best;
        }
        if (best < 0) {
            break;
        }
        near[best] = 1;
    }
    free(s);
}

/* A row of [j ∈ N(i)]. */
static void mark_row(const call *c, int64_t b, int64_t h, int64_t i, double *near)
{
    const kind *k = c->k;
    bool may[512];
    for (int64_t j = 0; j < k->N; j++) {
        may[j] = (k->o.all_statistics || may_look(k, b, h, i, j)) && (k->o.neighbor_self || i != j);
        near[j] = 0;
    }
    for (int64_t m = 0; m < k->given; m++) {
        int64_t key = given_key(k, b, h, i, m);
        if (key >= 0 && key < k->N && may[key]) {
            near[key] = 1;
        }
    }
    if (k->given) {
        return;
    }
    if (k->o.neighbors != ASC_NEIGHBORS_WINDOW) {
        mark_largest(c, b, h, i, may, near);
    }
    for (int64_t j = 0; j < k->N; j++) {
        bool close = llabs(i - j) <= k->o.radius;
        if (k->o.neighbors == ASC_NEIGHBORS_HYBRID_INTERSECTION) {
            near[j] = near[j] != 0 && close;
        } else if (k->o.neighbors >= ASC_NEIGHBORS_WINDOW) {
            near[j] = near[j] != 0 || (may[j] && close);
        }
    }
}

/* ---- the same from primitive ops ---- */

typedef struct sets {
    asc_tensor near, either, count; /* of x's dtype; count at least 1 */
    asc_tensor J, statistics;       /* u8 (B, H, N, N) */
} sets;

static sets make_sets(const call *c)
{
    const kind *k = c->k;
    int64_t n = k->N * k->N, heads = k->B * k->H;
    double *near = calloc((size_t)(heads * n) + 1, sizeof *near);
    double *either = calloc((size_t)(heads * n) + 1, sizeof *either);
    sets s = {.J = asc_empty(ctx, ASC_U8, ASC_SHAPE(k->B, k->H, k->N, k->N)),
              .statistics = asc_empty(ctx, ASC_U8, ASC_SHAPE(k->B, k->H, k->N, k->N))};
    uint8_t *J = asc_data_mut(s.J), *all = asc_data_mut(s.statistics);
    for (int64_t row = 0; row < heads * k->N; row++) {
        mark_row(c, row / k->N / k->H, row / k->N % k->H, row % k->N, near + row * k->N);
        for (int64_t j = 0; j < k->N; j++) {
            J[row * k->N + j] = may_look(k, row / k->N / k->H, row / k->N % k->H, row % k->N, j);
            all[row * k->N + j] = k->o.all_statistics || J[row * k->N + j];
        }
    }
    for (int64_t e = 0; e < heads * n; e++) {
        int64_t head = e / (n + !n), i = e / k->N % k->N, j = e % k->N;
        either[e] = near[e] != 0 || near[head * n + j * k->N + i] != 0;
    }
    asc_dtype dtype = asc_dtype_of(c->x[Q]);
    s.near = asc_cast(ctx, asc_from(ctx, ASC_F64, near, ASC_SHAPE(k->B, k->H, k->N, k->N)), dtype);
    s.either = asc_cast(ctx, asc_from(ctx, ASC_F64, either, ASC_SHAPE(k->B, k->H, k->N, k->N)), dtype);
    s.count = asc_clamp(ctx, asc_sum(ctx, s.near, ASC_DIMS(-1), true), 1, 1e9);
    free(near);
    free(either);
    return s;
}

static asc_tensor heads_of(const call *c, asc_tensor x)
{
    const kind *k = c->k;
    asc_tensor split = asc_reshape(ctx, x, ASC_SHAPE(k->B, k->N, k->H, asc_size(x, 2) / k->H));
    return asc_contiguous(ctx, asc_transpose(ctx, split, 1, 2));
}

static asc_tensor per_head(const call *c, asc_background_scalar which)
{
    return asc_reshape(ctx, c->scalar[which], ASC_SHAPE(1, c->k->H, 1, 1));
}

static asc_tensor bias(const call *c, const sets *s, asc_tensor x, asc_background_scalar omega)
{
    return asc_mul(ctx, per_head(c, omega), asc_row_norm(ctx, x, s->statistics, 1e-6, c->k->o.unbiased));
}

static asc_tensor compose_biases(const call *c, const sets *s, asc_tensor *rho)
{
    asc_tensor u = asc_l2_normalize(ctx, heads_of(c, asc_is_null(c->x[HEADING]) ? c->x[K_] : c->x[HEADING]));
    asc_tensor z = heads_of(c, c->x[Z]);
    asc_tensor align = asc_mul(ctx, asc_tanh(ctx, asc_matmul_transposed(ctx, u, false, u, true)), s->either);
    asc_tensor tau = asc_add_scalar(ctx, per_head(c, ASC_BACKGROUND_TAU_SEP), 1e-6);
    asc_tensor w = asc_exp(ctx, asc_neg(ctx, asc_div(ctx, asc_pairwise_sqdist(ctx, z, asc_null()), tau)));
    *rho = asc_div(ctx, asc_sum(ctx, asc_mul(ctx, s->near, w), ASC_DIMS(-1), true), s->count);
    asc_tensor sep = asc_add(ctx, asc_mul(ctx, per_head(c, ASC_BACKGROUND_LAMBDA_DIST), w),
                             asc_mul(ctx, per_head(c, ASC_BACKGROUND_LAMBDA_RHO), asc_transpose(ctx, *rho, 2, 3)));
    asc_tensor centre = asc_div(ctx, asc_matmul(ctx, s->near, z), s->count);
    asc_tensor like = asc_matmul_transposed(ctx, centre, false, z, true);
    asc_tensor above = asc_relu(ctx, asc_sub(ctx, like, per_head(c, ASC_BACKGROUND_THETA_COH)));
    asc_tensor coh = asc_mul(ctx, above, s->near);
    asc_tensor sum = asc_add(ctx, bias(c, s, align, ASC_BACKGROUND_OMEGA_ALIGN),
                             bias(c, s, asc_neg(ctx, sep), ASC_BACKGROUND_OMEGA_SEP));
    return asc_add(ctx, sum, bias(c, s, coh, ASC_BACKGROUND_OMEGA_COH));
}

static inline void compose(call *c)
{
    const kind *k = c->k;
    sets s = make_sets(c);
    asc_tensor products = asc_matmul_transposed(ctx, heads_of(c, c->x[Q]), false, heads_of(c, c->x[K_]), true);
    asc_tensor scores = asc_add(ctx, asc_scale(ctx, products, 1 / sqrt((double)k->d)), compose_biases(c, &s, &c->rho));
    if (k->o.alibi) {
        scores = asc_add(ctx, scores, asc_alibi(ctx, asc_dtype_of(scores), k->H, k->N, k->N));
    }
    if (k->R) {
        scores = asc_add(ctx, scores, asc_relative_bias(ctx, c->x[REL], k->N, k->N));
    }
    scores = k->bias ? asc_add(ctx, scores, c->x[BIAS]) : scores;
    asc_tensor tau = asc_add_scalar(ctx, per_head(c, ASC_BACKGROUND_TAU_SCORE), 1e-6);
    asc_tensor y = asc_matmul(ctx, asc_softmax(ctx, asc_div(ctx, scores, tau), s.J), heads_of(c, c->x[V]));
    c->y = asc_reshape(ctx, asc_contiguous(ctx, asc_transpose(ctx, y, 1, 2)), ASC_SHAPE(k->B, k->N, k->H * k->dv));
    no_error();
}

/* ---- calls ---- */

static asc_tensor make_mask(const kind *k)
{
    asc_tensor mask = asc_empty(ctx, ASC_U8, ASC_SHAPE(k->B, k->H, k->N, k->N));
    uint8_t *data = asc_data_mut(mask);
    for (int64_t e = 0; e < asc_numel(mask); e++) {
        data[e] = masked_in(e / k->N / k->N / k->H, e / k->N / k->N % k->H, e / k->N % k->N, e % k->N);
    }
    return mask;
}

static asc_tensor make_given(const kind *k)
{
    asc_tensor given = asc_empty(ctx, ASC_I64, ASC_SHAPE(k->B, k->H, k->N, k->given));
    int64_t *data = asc_data_mut(given);
    for (int64_t e = 0; e < asc_numel(given); e++) {
        int64_t row = e / k->given;
        data[e] = given_key(k, row / k->N / k->H, row / k->N % k->H, row % k->N, e % k->given);
    }
    return given;
}

static call make_call(const kind *k, asc_dtype dtype)
{
    call c = {.k = k, .x[HEADING] = asc_null(), .x[REL] = asc_null(), .x[BIAS] = asc_null(), .lengths = asc_null(),
              .mask = asc_null(), .given = asc_null()};
    static const double start[ASC_BACKGROUND_SCALARS] = {1.1, .8, 3, .1, .5, .6, .7, .9};
    const int64_t width[] = {[Q] = k->d, [K_] = k->d, [V] = k->dv, [Z] = k->dz, [H_] = k->da, [HEADING] = k->d};
    for (int i = Q; i <= (k->heading ? HEADING : H_); i++) {
        c.x[i] = random_leaf(dtype, (uint64_t)i + 1, ASC_SHAPE(k->B, k->N, k->H * width[i]));
    }
    for (int s = 0; s < ASC_BACKGROUND_SCALARS; s++) {
        double values[2] = {start[s], start[s] * 1.3};
        c.scalar[s] = asc_empty(ctx, dtype, 1, &k->H);
        asc_copy(ctx, c.scalar[s], asc_cast(ctx, asc_from(ctx, ASC_F64, values, 1, &k->H), ASC_F32));
        asc_require_grad(c.scalar[s], true);
    }
    if (k->R) {
        c.x[REL] = random_leaf(dtype, 9, ASC_SHAPE(k->H, 2 * k->R + 1));
    }
    if (k->bias) {
        const int64_t shape[] = {k->B, k->H, k->N, k->N};
        c.x[BIAS] = random_leaf(dtype, 10, k->bias, shape + 4 - k->bias);
    }
    c.lengths = has_lengths(k) ? asc_from(ctx, ASC_I64, k->lengths, 1, &k->B) : asc_null();
    c.mask = k->mask ? make_mask(k) : asc_null();
    c.given = k->given ? make_given(k) : asc_null();
    return c;
}

static asc_ascender_inputs inputs_of(const call *c)
{
    asc_ascender_inputs in = {.q = c->x[Q], .k = c->x[K_], .v = c->x[V], .z = c->x[Z], .h = c->x[H_],
                              .heading = c->x[HEADING], .rel_bias = c->x[REL], .bias = c->x[BIAS],
                              .lengths = c->lengths, .mask = c->mask, .neighbors = c->given};
    memcpy(in.scalar, c->scalar, sizeof c->scalar);
    return in;
}

static asc_ascender_options options_of(const kind *k)
{
    asc_ascender_options o = k->o;
    o.heads = k->H;
    o.k_of = k->k_of[0] ? k->k_of : NULL;
    return o;
}

static void run(call *c)
{
    asc_ascender_inputs in = inputs_of(c);
    asc_ascender_options o = options_of(c->k);
    c->y = asc_ascender_background(ctx, &in, &o, asc_null(), &c->rho);
    no_error();
}

enum { LEAVES = INPUTS + ASC_BACKGROUND_SCALARS };

static asc_tensor leaf_at(const call *c, int i)
{
    return i < INPUTS ? c->x[i] : c->scalar[i - INPUTS];
}

/* Gradients of all inputs and scalars, kept as doubles one after the other. */
static inline int64_t collect(const call *c, double *to)
{
    int64_t n = 0;
    for (int i = 0; i < LEAVES; i++) {
        asc_tensor leaf = leaf_at(c, i), grad = asc_grad(leaf);
        for (int64_t e = 0; !asc_is_null(leaf) && e < asc_numel(leaf); e++, n++) {
            if (to) {
                to[n] = asc_is_null(grad) ? 0 : value(grad, e);
            }
        }
    }
    return n;
}

static double largest(const double *x, int64_t n)
{
    double most = 1;
    for (int64_t e = 0; e < n; e++) {
        most = fabs(x[e]) > most ? fabs(x[e]) : most;
    }
    return most;
}

static inline void compare(const double *got, const double *expected, int64_t n, double tolerance, const char *what)
{
    double scale = largest(expected, n);
    for (int64_t e = 0; e < n; e++) {
        if (!(fabs(got[e] - expected[e]) <= tolerance * scale)) {
            ck_abort_msg("%s: element %lld is %.12g, expected %.12g", what, (long long)e, got[e], expected[e]);
        }
    }
}

static inline double *values_of(asc_tensor t)
{
    double *v = calloc((size_t)asc_numel(t) + 1, sizeof *v);
    for (int64_t e = 0; e < asc_numel(t); e++) {
        v[e] = value(t, e);
    }
    return v;
}

#endif
