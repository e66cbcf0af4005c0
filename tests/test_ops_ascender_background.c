/* tests/test_ops_ascender_background.c: the fused background variant against the same from primitive ops, neighbours
 * being chosen by plain loops; causality and thread counts to the bit; a sequence in parts; wrong calls. */
#include "tests/ops_values.h"

enum { Q, K_, V, Z, H_, HEADING, REL, INPUTS };

typedef struct kind {
    int64_t B, H, N, d, dv, dz, da;
    asc_ascender_options o; /* but for heads */
    bool heading;
    int64_t R;          /* 0: no relative biases */
    int64_t lengths[3]; /* all 0: none */
    bool mask;          /* a (B, H, N, N) mask */
    int64_t given;      /* m given neighbours; 0: chosen */
    int64_t k_of[2];    /* one k a head, or 0 */
} kind;

/* 64 queries are a panel: sizes below, at and above it, and several. */
static const kind kinds[] = {
    {2, 2, 7, 3, 2, 4, 3, .o = {.causal = true, .k = 3}},
    {1, 1, 1, 4, 2, 3, 2, .o = {.causal = true, .k = 3}},
    {1, 1, 2, 4, 2, 3, 2, .o = {.k = 0}},
    {2, 2, 9, 3, 2, 4, 3, .o = {.k = 3}, .heading = true},
    {1, 2, 64, 4, 4, 5, 4, .o = {.causal = true, .k = 4}, .heading = true},
    {1, 2, 65, 4, 4, 5, 4, .o = {.causal = true, .k = 90, .alibi = true}},
    {1, 2, 150, 8, 4, 6, 8, .o = {.causal = true, .k = 16}, .R = 3},
    {1, 1, 150, 8, 4, 6, 8, .o = {.k = 5, .unbiased = true}},
    {1, 2, 70, 4, 2, 3, 4, .o = {.k = 4, .neighbors = ASC_NEIGHBORS_BASE}},
    {1, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 4, .neighbors = ASC_NEIGHBORS_BASE, .neighbor_self = true}},
    {2, 1, 70, 4, 2, 3, 4, .o = {.radius = 2, .neighbors = ASC_NEIGHBORS_WINDOW}},
    {2, 1, 20, 4, 2, 3, 4, .o = {.radius = 0, .neighbors = ASC_NEIGHBORS_WINDOW, .neighbor_self = true}},
    {1, 1, 20, 4, 2, 3, 4, .o = {.causal = true, .radius = INT64_MAX, .neighbors = ASC_NEIGHBORS_WINDOW}},
    {1, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .radius = 3, .neighbors = ASC_NEIGHBORS_HYBRID_UNION}},
    {1, 2, 70, 4, 2, 3, 4, .o = {.k = 9, .radius = 9, .neighbors = ASC_NEIGHBORS_HYBRID_INTERSECTION}},
    {1, 2, 140, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .window = 6, .globals = 2}},
    {1, 2, 140, 4, 2, 3, 4, .o = {.k = 3, .window = 4, .globals = 70}},
    {3, 2, 70, 4, 2, 3, 4, .o = {.k = 3}, .lengths = {70, 66, 3}, .R = 2},
    {3, 1, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3}, .lengths = {100, 1, -5}},
    {2, 2, 70, 4, 2, 3, 4, .o = {.k = 3}, .mask = true},
    {2, 2, 140, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .window = 20, .globals = 3}, .mask = true},
    {2, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .all_statistics = true}, .mask = true},
    {1, 2, 70, 4, 2, 3, 4, .o = {.k = 3, .all_statistics = true, .window = 5, .globals = 1, .unbiased = true}},
    {3, 1, 70, 4, 2, 3, 4, .o = {.k = 3, .all_statistics = true}, .lengths = {70, 20, 0}},
    {2, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3}, .given = 4},
    {2, 2, 70, 4, 2, 3, 4, .o = {.neighbor_self = true}, .given = 6, .mask = true},
    {1, 2, 70, 4, 2, 3, 4, .o = {.causal = true}, .k_of = {1, 5}},
    {1, 2, 500, 8, 4, 6, 8, .o = {.causal = true, .k = 16}, .heading = true},
    {0, 2, 4, 2, 2, 2, 2, .o = {.causal = true, .k = 2}},
    {2, 2, 0, 2, 2, 2, 2, .o = {.k = 2}},
    {1, 1, 5, 2, 0, 2, 0, .o = {.causal = true, .k = 2}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

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
    if (k->o.window > 0 && llabs(i - j) >= k->o.window && j >= k->o.globals && i >= k->o.globals) {
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

static void compose(call *c)
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
    call c = {.k = k, .x[HEADING] = asc_null(), .x[REL] = asc_null(), .lengths = asc_null(), .mask = asc_null(),
              .given = asc_null()};
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
    c.lengths = has_lengths(k) ? asc_from(ctx, ASC_I64, k->lengths, 1, &k->B) : asc_null();
    c.mask = k->mask ? make_mask(k) : asc_null();
    c.given = k->given ? make_given(k) : asc_null();
    return c;
}

static asc_ascender_inputs inputs_of(const call *c)
{
    asc_ascender_inputs in = {.q = c->x[Q], .k = c->x[K_], .v = c->x[V], .z = c->x[Z], .h = c->x[H_],
                              .heading = c->x[HEADING], .rel_bias = c->x[REL], .lengths = c->lengths, .mask = c->mask,
                              .neighbors = c->given};
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

/* Gradients of all inputs and scalars, kept as doubles one after the other. */
static int64_t collect(const call *c, double *to)
{
    int64_t n = 0;
    for (int i = 0; i < INPUTS + ASC_BACKGROUND_SCALARS; i++) {
        asc_tensor leaf = i < INPUTS ? c->x[i] : c->scalar[i - INPUTS], grad = asc_grad(leaf);
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

static void compare(const double *got, const double *expected, int64_t n, double tolerance, const char *what)
{
    double scale = largest(expected, n);
    for (int64_t e = 0; e < n; e++) {
        if (!(fabs(got[e] - expected[e]) <= tolerance * scale)) {
            ck_abort_msg("%s: element %lld is %.12g, expected %.12g", what, (long long)e, got[e], expected[e]);
        }
    }
}

static double *values_of(asc_tensor t)
{
    double *v = calloc((size_t)asc_numel(t) + 1, sizeof *v);
    for (int64_t e = 0; e < asc_numel(t); e++) {
        v[e] = value(t, e);
    }
    return v;
}

/* The fused op in dtype against primitive ops in double. */
static void check_kind(const kind *k, asc_dtype dtype)
{
    double tolerance = dtype == ASC_F32 ? 2e-4 : 2e-12;
    call plain = make_call(k, ASC_F64), fused = make_call(k, dtype);
    compose(&plain);
    run(&fused);
    expect_shape(fused.y, ASC_SHAPE(k->B, k->N, k->H * k->dv));
    expect_shape(fused.rho, ASC_SHAPE(k->B, k->H, k->N, 1));
    double *y[] = {values_of(fused.y), values_of(plain.y)}, *rho[] = {values_of(fused.rho), values_of(plain.rho)};
    compare(y[0], y[1], asc_numel(fused.y), tolerance, "y");
    compare(rho[0], rho[1], asc_numel(fused.rho), tolerance, "rho");
    run_backward(plain.y);
    run_backward(fused.y);
    int64_t n = collect(&fused, NULL);
    double *got = calloc((size_t)n + 1, sizeof *got), *expected = calloc((size_t)n + 1, sizeof *expected);
    collect(&fused, got);
    collect(&plain, expected);
    compare(got, expected, n, tolerance, "gradients");
    double *all[] = {y[0], y[1], rho[0], rho[1], got, expected};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
}

START_TEST(fused_is_composed)
{
    check_kind(&kinds[_i / 2], floats[_i % 2]);
}
END_TEST

/* ---- what else holds ---- */

/* The kinds that are causal in every statistic, and without lengths. */
static const kind causal_kinds[] = {
    {2, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3}, .heading = true},
    {1, 2, 140, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .neighbors = ASC_NEIGHBORS_BASE, .window = 6, .globals = 2}},
    {1, 2, 140, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .radius = 2, .neighbors = ASC_NEIGHBORS_HYBRID_UNION},
     .R = 2},
};
enum { CAUSAL_KINDS = sizeof causal_kinds / sizeof *causal_kinds };

/* Other values from position t on. */
static void change_after(const call *c, int64_t t)
{
    for (int i = Q; i <= HEADING; i++) {
        int64_t width = asc_is_null(c->x[i]) ? 0 : asc_size(c->x[i], 2);
        float *x = asc_data_mut(c->x[i]);
        for (int64_t e = 0; width > 0 && e < asc_numel(c->x[i]); e++) {
            x[e] = e / width % c->k->N < t ? x[e] : 3 - 2 * x[e];
        }
    }
}

START_TEST(causal_to_the_bit)
{
    const kind *k = &causal_kinds[_i];
    static const int64_t moments[] = {1, 33, 64, 69};
    for (int m = 0; m < 4; m++) {
        call one = make_call(k, ASC_F32), other = make_call(k, ASC_F32);
        change_after(&other, moments[m]);
        run(&one);
        run(&other);
        int64_t row = k->H * k->dv;
        for (int64_t b = 0; b < k->B; b++) {
            size_t at = (size_t)(b * k->N * row) * sizeof(float), bytes = (size_t)(moments[m] * row) * sizeof(float);
            const char *y = asc_data(one.y), *changed = asc_data(other.y);
            ck_assert_int_eq(memcmp(y + at, changed + at, bytes), 0);
        }
    }
}
END_TEST

START_TEST(gradients_are_causal)
{
    const kind *k = &causal_kinds[_i];
    enum { T = 66 };
    call c = make_call(k, ASC_F32);
    run(&c);
    asc_tensor dy = asc_zeros(ctx, ASC_F32, 3, asc_shape(c.y));
    for (int64_t e = 0; e < asc_numel(dy); e++) {
        ((float *)asc_data_mut(dy))[e] = e / (k->H * k->dv) % k->N < T ? 1 + (float)(e % 5) : 0;
    }
    ck_assert_int_eq(asc_backward(ctx, c.y, dy, false), ASC_OK);
    for (int i = Q; i <= HEADING; i++) {
        for (int64_t e = 0; !asc_is_null(c.x[i]) && e < asc_numel(c.x[i]); e++) {
            if (e / asc_size(c.x[i], 2) % k->N >= T && value(asc_grad(c.x[i]), e) != 0) {
                ck_abort_msg("input %d, element %lld", i, (long long)e);
            }
        }
    }
}
END_TEST

/* The last positions alone, with what is kept of those before, give what the whole sequence gives. */
START_TEST(a_sequence_in_parts)
{
    const kind *k = &causal_kinds[_i];
    call all = make_call(k, ASC_F64);
    asc_set_recording(ctx, false);
    run(&all);
    for (int64_t n = 1; n < k->N; n += 23) {
        int64_t before = k->N - n;
        asc_ascender_inputs in = inputs_of(&all);
        asc_ascender_options o = options_of(k);
        in.q = asc_slice(ctx, in.q, 1, before, ASC_END, 1);
        asc_tensor rho, density = asc_slice(ctx, all.rho, 2, 0, before, 1);
        asc_tensor y = asc_ascender_background(ctx, &in, &o, density, &rho);
        expect_shape(y, ASC_SHAPE(k->B, n, k->H * k->dv));
        for (int64_t e = 0; e < asc_numel(y); e++) {
            int64_t row = n * k->H * k->dv;
            expect_close(y, e, value(all.y, e / row * k->N * k->H * k->dv + before * k->H * k->dv + e % row), 100);
        }
        for (int64_t e = 0; e < asc_numel(rho); e++) {
            expect_close(rho, e, value(all.rho, e / n * k->N + before + e % n), 1);
        }
    }
}
END_TEST

/* Of equal features the first ones are the neighbours. */
START_TEST(ties_go_to_the_lower_place)
{
    const kind few = {1, 1, 100, 2, 2, 3, 4, .o = {.k = 3}};
    const kind listed = {1, 1, 100, 2, 2, 3, 4, .o = {.k = 3}, .given = 3};
    call chosen = make_call(&few, floats[_i]), given = make_call(&listed, floats[_i]);
    int64_t *keys = asc_data_mut(given.given);
    for (int64_t e = 0; e < 100 * 4; e++) {
        double x = (double)(e % 4) - 1.3;
        if (floats[_i] == ASC_F32) {
            ((float *)asc_data_mut(chosen.x[H_]))[e] = (float)x;
        } else {
            ((double *)asc_data_mut(chosen.x[H_]))[e] = x;
        }
    }
    for (int64_t i = 0; i < 100; i++) {
        for (int64_t m = 0; m < 3; m++) {
            keys[i * 3 + m] = m + (i <= m);
        }
    }
    run(&chosen);
    run(&given);
    for (int64_t e = 0; e < asc_numel(chosen.y); e++) {
        expect_equal(chosen.y, e, value(given.y, e));
    }
}
END_TEST

/* Features from one key on are NaNs. */
static void spoil_features(const call *c, int64_t from)
{
    int64_t width = asc_size(c->x[H_], 2);
    for (int64_t e = from * width; e < asc_numel(c->x[H_]); e++) {
        if (asc_dtype_of(c->x[H_]) == ASC_F32) {
            ((float *)asc_data_mut(c->x[H_]))[e] = NAN;
        } else {
            ((double *)asc_data_mut(c->x[H_]))[e] = (double)NAN;
        }
    }
}

/* Of features that are all NaNs the first ones are the neighbours, each once; with some, the rest is as it should be. */
START_TEST(features_that_are_nan)
{
    enum { N = 60 };
    const int64_t most = _i / 2 ? N : 16, given = _i / 2 ? N - 1 : 16;
    const kind few = {1, 1, N, 2, 2, 3, 4, .o = {.k = most}}, listed = {1, 1, N, 2, 2, 3, 4, .given = given};
    call all = make_call(&few, floats[_i % 2]), some = make_call(&few, floats[_i % 2]);
    call first = make_call(&listed, floats[_i % 2]);
    int64_t *keys = asc_data_mut(first.given);
    for (int64_t e = 0; e < N * given; e++) {
        keys[e] = e % given + (e / given <= e % given);
    }
    spoil_features(&all, 0);
    spoil_features(&some, N / 2);
    run(&all);
    run(&some);
    run(&first);
    run_backward(all.y);
    run_backward(some.y);
    for (int64_t e = 0; e < asc_numel(all.y); e++) {
        expect_equal(all.y, e, value(first.y, e));
        ck_assert(isfinite(value(some.y, e)));
    }
    for (int64_t e = 0; e < asc_numel(some.x[Z]); e++) {
        ck_assert(isfinite(value(asc_grad(some.x[Z]), e)));
    }
}
END_TEST

/* Places 1e4 from the origin and 1 from one another: distances do not cancel in single precision. */
START_TEST(close_places_far_away)
{
    const kind k = {1, 1, 100, 2, 2, 4, 2, .o = {.causal = true, .k = 4}};
    call single = make_call(&k, ASC_F32), twice = make_call(&k, ASC_F64);
    for (int64_t e = 0; e < asc_numel(single.x[Z]); e++) {
        float x = 1e4f + ((const float *)asc_data(single.x[Z]))[e];
        ((float *)asc_data_mut(single.x[Z]))[e] = x;
        ((double *)asc_data_mut(twice.x[Z]))[e] = (double)x;
    }
    for (int s = 0; s < 2; s++) { /* cohesion sees the places themselves: it would drown the distances */
        call *c = s ? &twice : &single;
        c->scalar[ASC_BACKGROUND_OMEGA_COH] = asc_zeros(ctx, asc_dtype_of(c->y = c->x[Q]), 1, &k.H);
        run(c);
        run_backward(c->y);
    }
    double *got = values_of(asc_grad(single.x[Z])), *expected = values_of(asc_grad(twice.x[Z]));
    compare(got, expected, asc_numel(single.x[Z]), 1e-4, "dz");
    free(got);
    free(expected);
}
END_TEST

/* An input's gradient is the same whatever else is wanted. */
START_TEST(gradients_one_at_a_time)
{
    const kind *k = &causal_kinds[0];
    call all = make_call(k, ASC_F64);
    run(&all);
    run_backward(all.y);
    for (int which = 0; which < INPUTS + ASC_BACKGROUND_SCALARS; which++) {
        call one = make_call(k, ASC_F64);
        for (int i = 0; i < INPUTS + ASC_BACKGROUND_SCALARS; i++) {
            asc_tensor leaf = i < INPUTS ? one.x[i] : one.scalar[i - INPUTS];
            if (!asc_is_null(leaf)) {
                asc_require_grad(leaf, i == which);
            }
        }
        asc_tensor leaf = which < INPUTS ? one.x[which] : one.scalar[which - INPUTS];
        if (asc_is_null(leaf)) {
            continue;
        }
        run(&one);
        run_backward(one.y);
        asc_tensor got = asc_grad(leaf);
        asc_tensor expected = asc_grad(which < INPUTS ? all.x[which] : all.scalar[which - INPUTS]);
        for (int64_t e = 0; e < asc_numel(leaf); e++) {
            expect_equal(got, e, value(expected, e));
        }
    }
}
END_TEST

/* Outputs and gradients of a kind on some threads. */
static double *numbers_of(const kind *k, int threads, int64_t *n)
{
    asc_ctx *outer = ctx;
    ctx = asc_ctx_new(&(asc_options){.threads = threads});
    call c = make_call(k, ASC_F32);
    run(&c);
    run_backward(c.y);
    *n = collect(&c, NULL) + asc_numel(c.y);
    double *all = calloc((size_t)*n + 1, sizeof *all);
    int64_t at = collect(&c, all);
    for (int64_t e = 0; e < asc_numel(c.y); e++) {
        all[at + e] = value(c.y, e);
    }
    asc_ctx_free(ctx);
    ctx = outer;
    return all;
}

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    int64_t n, m;
    double *one = numbers_of(&kinds[_i], 1, &n);
    for (int threads = 2; threads <= 3; threads++) {
        double *other = numbers_of(&kinds[_i], threads, &m);
        ck_assert_int_eq(n, m);
        ck_assert_int_eq(memcmp(one, other, (size_t)n * sizeof *one), 0);
        free(other);
    }
    free(one);
}
END_TEST

/* ---- wrong calls ---- */

static asc_tensor attend(asc_ascender_inputs in, asc_ascender_options o, asc_tensor density)
{
    return asc_ascender_background(ctx, &in, &o, density, NULL);
}

START_TEST(wrong_calls)
{
    const kind k = {2, 2, 5, 2, 2, 2, 2, .o = {.causal = true, .k = 2}};
    call c = make_call(&k, ASC_F32);
    const asc_ascender_inputs right = inputs_of(&c);
    const asc_ascender_options o = options_of(&k);
    asc_ascender_options other = o;
    asc_ascender_inputs in = right;
    asc_tensor none = asc_null(), narrow = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 4, 4));
    other.heads = 3;
    expect_failure(attend(in, other, none), "ascender_background: q is f32 (2, 5, 4), expected (B, N, H d) with H = 3");
    other = o;
    other.gate = ASC_GATE_NONE;
    expect_failure(attend(in, other, none), "ascender_background: gates, squared temperatures and a density that "
                   "counts i itself belong to the other variant");
    other = o;
    other.neighbors = (asc_neighbors)9;
    expect_failure(attend(in, other, none), "ascender_background: neighbors is 9, expected an asc_neighbors");
    other = o;
    other.k = -1;
    expect_failure(attend(in, other, none), "ascender_background: k is -1, radius is 0, expected none below 0");
    in.z = narrow;
    expect_failure(attend(in, o, none), "ascender_background: z is f32 (2, 4, 4), expected (2, 5, H d) with H = 2");
    in = right;
    in.heading = narrow;
    expect_failure(attend(in, o, none), "ascender_background: heading is f32 (2, 4, 4), expected (2, 5, 4)");
    in = right;
    in.scalar[ASC_BACKGROUND_THETA_COH] = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3));
    expect_failure(attend(in, o, none), "ascender_background: theta_coh is f32 (3), expected f32 (2), one a head");
    in = right;
    in.q = narrow;
    expect_failure(attend(in, o, none),
                   "ascender_background: density is absent, expected f32 (2, 2, 1, 1), ρ of the keys before the "
                   "queries");
    other = o;
    other.causal = false;
    expect_failure(attend(in, other, none), "ascender_background: 4 queries and 5 keys: expected as many, or a causal "
                   "set with its own statistics");
    in = right;
    in.h = none;
    expect_failure(attend(in, o, none), "ascender_background: h is null");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ops/ascender_background");
    TCase *t = tcase_create("background");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, fused_is_composed, 0, 2 * KINDS);
    tcase_add_loop_test(t, causal_to_the_bit, 0, CAUSAL_KINDS);
    tcase_add_loop_test(t, gradients_are_causal, 0, CAUSAL_KINDS);
    tcase_add_loop_test(t, a_sequence_in_parts, 0, CAUSAL_KINDS);
    tcase_add_loop_test(t, ties_go_to_the_lower_place, 0, 2);
    tcase_add_loop_test(t, features_that_are_nan, 0, 4);
    tcase_add_test(t, close_places_far_away);
    tcase_add_test(t, gradients_one_at_a_time);
    tcase_add_loop_test(t, any_number_of_threads_gives_the_same_bits, 0, KINDS);
    tcase_add_test(t, wrong_calls);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
