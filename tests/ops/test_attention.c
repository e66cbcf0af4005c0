/* tests/ops/test_attention.c: attention against plain loops; causality to the bit. */
#include <float.h>

#include "tensor/splitmix.h"
#include "tests/ops/values.h"

/* ---- attention, row by row ---- */

typedef struct kind {
    int64_t B, H, N, M, d, dv;
    asc_attention_options o; /* but for heads */
    int64_t R;          /* 0: no relative biases */
    int64_t lengths[3]; /* all 0: none */
    int mask;           /* how many of (B, H, N, M) it has, from the last; 0: no mask */
    int bias;           /* the same of a bias: 2 to 4; more by 1 with a batch entry for each, but one for all heads */
} kind;

/* 32 queries are a panel: sizes below, at and above it, and several. Where each key of a head is looked at by 32
 * queries or more, keys are copied; of 200 elements, products take them in pieces. */
static const kind kinds[] = {
    {2, 2, 5, 5, 3, 3, .o = {.causal = true}},
    {1, 1, 1, 1, 4, 2, .o = {.causal = true, .alibi = true}, .R = 2},
    {2, 3, 9, 9, 2, 5, .o = {.alibi = true}, .R = 3},
    {1, 2, 32, 32, 4, 4, .o = {.causal = true}},
    {1, 2, 33, 33, 4, 4, .o = {.causal = true, .alibi = true}},
    {4, 2, 70, 70, 9, 6, .o = {.causal = true}, .R = 2},
    {4, 2, 70, 190, 200, 150, .o = {.causal = true}},
    {4, 2, 100, 120, 5, 7, .o = {.causal = true, .window = 60, .globals = 3}},
    {1, 1, 40, 190, 200, 130, .o = {.causal = true}},
    {3, 2, 33, 190, 200, 200, .o = {.causal = true, .window = 5, .globals = 130}, .lengths = {190, 150, 100}},
    {1, 1, 150, 150, 2, 2, .o = {.causal = false}, .R = 1},
    {1, 1, 70, 70, 2, 2, .o = {.causal = true}, .R = 100},
    {2, 2, 70, 70, 2, 3, .o = {.causal = true, .window = 5}},
    {1, 2, 140, 140, 2, 3, .o = {.window = 3}},
    {1, 2, 140, 140, 2, 2, .o = {.causal = true, .window = 3, .globals = 2}},
    {1, 2, 140, 140, 2, 2, .o = {.window = 3, .globals = 70}},
    {1, 1, 12, 12, 2, 2, .o = {.window = 2, .globals = 40}},
    {1, 1, 70, 70, 2, 2, .o = {.causal = true, .window = INT64_MAX}},
    {1, 1, 20, 20, 2, 2, .o = {.causal = true, .window = 1}},
    {3, 2, 70, 70, 2, 2, .o = {.causal = false}, .R = 4, .lengths = {70, 66, 3}},
    {3, 1, 70, 70, 2, 2, .o = {.causal = true}, .lengths = {100, 1, -5}},
    {3, 1, 70, 70, 2, 2, .o = {.window = 4, .globals = 1}, .lengths = {70, 2, 0}},
    {2, 1, 140, 140, 2, 2, .o = {.causal = true, .window = 4}, .lengths = {65, 1}},
    {1, 2, 1, 40, 2, 2, .o = {.causal = true, .alibi = true}, .R = 5},
    {2, 1, 7, 90, 2, 2, .o = {.causal = true, .window = 9, .globals = 3}},
    {1, 1, 66, 90, 2, 2, .o = {.causal = false}},
    {2, 2, 70, 70, 2, 2, .o = {.causal = false}, .R = 3, .mask = 4},
    {2, 2, 70, 90, 2, 2, .o = {.causal = true, .alibi = true}, .mask = 3},
    {1, 2, 140, 140, 2, 2, .o = {.causal = true, .window = 6, .globals = 3}, .mask = 2},
    {3, 1, 140, 140, 2, 2, .o = {.window = 6, .globals = 3}, .lengths = {140, 100, 2}, .mask = 2},
    {2, 1, 70, 70, 2, 2, .o = {.causal = false}, .mask = 1},
    {1, 1, 190, 190, 2, 2, .o = {.causal = true, .window = 20, .globals = 20}, .R = 8},
    {1, 1, 190, 190, 2, 2, .o = {.causal = true, .window = 3, .globals = 60, .alibi = true}},
    {2, 2, 70, 70, 2, 3, .o = {.causal = true}, .bias = 2},
    {2, 3, 70, 90, 5, 3, .o = {.causal = true, .alibi = true}, .R = 2, .bias = 3},
    {3, 2, 140, 140, 2, 2, .o = {.window = 6, .globals = 3}, .lengths = {140, 100, 2}, .bias = 4},
    {3, 2, 33, 40, 2, 2, .o = {.causal = true, .window = 9}, .mask = 4, .bias = 5},
    {2, 2, 140, 140, 3, 3, .o = {.causal = true, .window = 4, .random = 3}, .R = 2, .bias = 3},
    {1, 2, 140, 140, 3, 3, .o = {.window = 4, .globals = 3, .random = 2, .alibi = true}, .bias = 2},
    {3, 1, 140, 140, 2, 2, .o = {.window = 3, .globals = 40, .random = 5}, .lengths = {140, 70, 3}},
    {2, 2, 140, 140, 2, 2, .o = {.window = 6, .globals = 3, .random = 4}, .mask = 4},
    {1, 2, 70, 190, 2, 2, .o = {.causal = true, .window = 6, .globals = 1, .random = 32}, .mask = 2},
    {2, 1, 1, 90, 3, 2, .o = {.causal = true, .window = 2, .random = 2}},
    {1, 1, 4, 4, 3, 2, .o = {.window = 1, .random = 7}},
    {1, 1, 40, 190, 200, 130, .o = {.causal = true, .window = 90, .random = 2}},
    {2, 2, 70, 5, 3, 4, .o = {.causal = false}},
    {3, 2, 40, 33, 3, 4, .lengths = {33, 1, 0}, .bias = 3},
    {2, 2, 70, 1, 3, 4, .mask = 3},
    {1, 2, 3, 190, 3, 4, .bias = 5},
    {2, 2, 5, 0, 3, 4, .bias = 2},
    {0, 2, 4, 4, 2, 2, .bias = 3},
    {2, 1, 3, 3, 2, 0, .o = {.causal = true}},
    {0, 2, 4, 4, 2, 2, .o = {.causal = true}, .R = 1},
    {2, 2, 0, 4, 2, 2, .o = {.causal = true}},
    {2, 2, 0, 0, 2, 2, .o = {.causal = true}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

enum { Q, K_, V, REL, BIAS, INPUTS };

static bool has_lengths(const kind *k)
{
    return k->lengths[0] || k->lengths[1] || k->lengths[2];
}

/* Some four of five, and none for a few rows. */
static bool masked_in(const kind *k, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const int64_t at[] = {b, h, i, j};
    uint64_t code = 0;
    for (int d = 4 - k->mask; d < 4; d++) {
        code = code * 1000003 + (uint64_t)at[d] + 17;
    }
    return (k->mask < 2 || i % 9 != 4) && code * 0x9E3779B97F4A7C15 >> 32 > 0x33333333;
}

static bool may_look(const kind *k, int64_t b, int64_t h, int64_t i, int64_t j)
{
    int64_t at = i + k->M - k->N;
    bool linked = false;
    for (int64_t m = 0; m < k->o.random; m++) {
        int64_t keys = k->o.causal ? at + 1 : k->M;
        linked |= (int64_t)(asc_splitmix64((uint64_t)(at * k->o.random + m)) % (uint64_t)keys) == j;
    }
    if (k->o.window > 0 && llabs(at - j) >= k->o.window && j >= k->o.globals && at >= k->o.globals && !linked) {
        return false;
    }
    if (k->mask && !masked_in(k, b, h, i, j)) {
        return false;
    }
    return !(k->o.causal && j > at) && !(has_lengths(k) && j >= k->lengths[b]);
}

static int64_t bias_index(const kind *k, int64_t h, int64_t i, int64_t j)
{
    int64_t ahead = j - (i + k->M - k->N), R = k->R;
    return h * (2 * R + 1) + (ahead < -R ? -R : ahead > R ? R : ahead) + R;
}

/* The sizes of a kind's bias, from the batch on; returns how many it has. */
static int bias_shape(const kind *k, int64_t shape[4])
{
    const int64_t full[] = {k->bias >= 4 ? k->B : 1, k->bias == 5 ? 1 : k->H, k->N, k->M};
    memcpy(shape, full, sizeof full);
    return k->bias > 4 ? 4 : k->bias;
}

static int64_t given_index(const kind *k, int64_t b, int64_t h, int64_t i, int64_t j)
{
    int64_t shape[4];
    int n = bias_shape(k, shape);
    b = n < 4 ? 0 : b;
    h = n < 3 || shape[1] == 1 ? 0 : h;
    return ((b * shape[1] + h) * k->N + i) * k->M + j;
}

typedef struct call {
    const kind *k;
    asc_tensor in[INPUTS], lengths, mask, y;
    const double *values[INPUTS]; /* of q, k and v */
} call;

static int64_t index_of(const kind *k, int which, int64_t b, int64_t row, int64_t h, int64_t m)
{
    int64_t rows = which == Q ? k->N : k->M, width = which == V ? k->dv : k->d;
    return (b * rows + row) * k->H * width + h * width + m;
}

static double at(const call *c, int which, int64_t b, int64_t row, int64_t h, int64_t m)
{
    return c->values[which][index_of(c->k, which, b, row, h, m)];
}

static double score(const call *c, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const kind *k = c->k;
    double s = 0;
    for (int64_t m = 0; m < k->d; m++) {
        s += at(c, Q, b, i, h, m) * at(c, K_, b, j, h, m);
    }
    s /= sqrt((double)k->d);
    s -= k->o.alibi ? exp2(-8 * (double)(h + 1) / (double)k->H) * fabs((double)(i + k->M - k->N - j)) : 0;
    s += k->bias ? value(c->in[BIAS], given_index(k, b, h, i, j)) : 0;
    return s + (k->R ? value(c->in[REL], bias_index(k, h, i, j)) : 0);
}

/* The attention of a row; 0 where it may not look. */
static void attention_row(const call *c, int64_t b, int64_t h, int64_t i, double *A)
{
    double sum = 0;
    for (int64_t j = 0; j < c->k->M; j++) {
        A[j] = may_look(c->k, b, h, i, j) ? exp(score(c, b, h, i, j)) : 0;
        sum += A[j];
    }
    for (int64_t j = 0; j < c->k->M; j++) {
        A[j] = sum > 0 ? A[j] / sum : 0;
    }
}

/* What a row adds to the gradients. */
static void add_row_gradients(const call *c, int64_t b, int64_t h, int64_t i, const double *A, const double *dy,
                              double *grad[INPUTS])
{
    const kind *k = c->k;
    double dA[200] = {0}, mean = 0;
    for (int64_t j = 0; j < k->M; j++) {
        for (int64_t m = 0; m < k->dv; m++) {
            dA[j] += dy[m] * at(c, V, b, j, h, m);
            grad[V][index_of(k, V, b, j, h, m)] += A[j] * dy[m];
        }
        mean += A[j] * dA[j];
    }
    for (int64_t j = 0; j < k->M; j++) {
        double dS = A[j] * (dA[j] - mean);
        for (int64_t m = 0; m < k->d; m++) {
            grad[Q][index_of(k, Q, b, i, h, m)] += dS * at(c, K_, b, j, h, m) / sqrt((double)k->d);
            grad[K_][index_of(k, K_, b, j, h, m)] += dS * at(c, Q, b, i, h, m) / sqrt((double)k->d);
        }
        if (k->R) {
            grad[REL][bias_index(k, h, i, j)] += dS;
        }
        if (k->bias) {
            grad[BIAS][given_index(k, b, h, i, j)] += dS;
        }
    }
}

static asc_tensor make_mask(const kind *k)
{
    const int64_t full[] = {k->B, k->H, k->N, k->M};
    int64_t shape[4], index[4] = {0};
    for (int d = 0; d < 4; d++) {
        shape[d] = d < 4 - k->mask ? 1 : full[d];
    }
    asc_tensor mask = asc_empty(ctx, ASC_U8, k->mask, shape + 4 - k->mask);
    uint8_t *data = asc_data_mut(mask);
    for (int64_t e = 0; e < asc_numel(mask); e++) {
        int64_t rest = e;
        for (int d = 3; d >= 0; d--) {
            index[d] = rest % shape[d];
            rest /= shape[d];
        }
        data[e] = masked_in(k, index[0], index[1], index[2], index[3]);
    }
    return mask;
}

static call make_call(const kind *k, asc_dtype dtype)
{
    call c = {.k = k, .in[REL] = asc_null(), .in[BIAS] = asc_null(), .lengths = asc_null(), .mask = asc_null()};
    c.in[Q] = random_leaf(dtype, 1, ASC_SHAPE(k->B, k->N, k->H * k->d));
    c.in[K_] = random_leaf(dtype, 2, ASC_SHAPE(k->B, k->M, k->H * k->d));
    c.in[V] = random_leaf(dtype, 3, ASC_SHAPE(k->B, k->M, k->H * k->dv));
    for (int i = Q; i <= V; i++) {
        c.values[i] = asc_data(asc_cast(ctx, asc_detach(ctx, c.in[i]), ASC_F64));
    }
    if (k->R) {
        c.in[REL] = random_leaf(dtype, 4, ASC_SHAPE(k->H, 2 * k->R + 1));
    }
    if (k->bias) {
        int64_t shape[4];
        int n = bias_shape(k, shape);
        c.in[BIAS] = random_leaf(dtype, 5, n, shape + 4 - n);
    }
    if (has_lengths(k)) {
        c.lengths = asc_from(ctx, ASC_I64, k->lengths, 1, &k->B);
    }
    if (k->mask) {
        c.mask = make_mask(k);
    }
    return c;
}

static void run(call *c)
{
    asc_attention_options o = c->k->o;
    o.heads = c->k->H;
    asc_attention_inputs in = {.q = c->in[Q], .k = c->in[K_], .v = c->in[V], .rel_bias = c->in[REL],
                               .bias = c->in[BIAS], .lengths = c->lengths, .mask = c->mask};
    c->y = asc_attention(ctx, &in, &o);
    no_error();
}

static void check_kind(const kind *k, asc_dtype dtype)
{
    call c = make_call(k, dtype);
    run(&c);
    expect_shape(c.y, ASC_SHAPE(k->B, k->N, k->H * k->dv));
    asc_tensor dy = run_backward(c.y);
    double *grad[INPUTS];
    for (int i = 0; i < INPUTS; i++) {
        grad[i] = calloc((size_t)asc_numel(c.in[i]) + 1, sizeof *grad[i]);
    }
    for (int64_t row = 0; row < k->B * k->H * k->N; row++) {
        int64_t b = row / k->H / k->N, h = row / k->N % k->H, i = row % k->N;
        double A[200], cotangent[200];
        attention_row(&c, b, h, i, A);
        for (int64_t m = 0; m < k->dv; m++) {
            int64_t element = (b * k->N + i) * k->H * k->dv + h * k->dv + m;
            double y = 0;
            for (int64_t j = 0; j < k->M; j++) {
                y += A[j] * at(&c, V, b, j, h, m);
            }
            expect_close(c.y, element, y, 10);
            cotangent[m] = value(dy, element);
        }
        add_row_gradients(&c, b, h, i, A, cotangent, grad);
    }
    for (int i = 0; i < INPUTS; i++) {
        for (int64_t j = 0; j < asc_numel(c.in[i]); j++) {
            expect_close(asc_grad(c.in[i]), j, grad[i][j], i >= REL ? 1000 : 100);
        }
        free(grad[i]);
    }
}

START_TEST(attention_is_the_equation)
{
    check_kind(&kinds[_i / 2], floats[_i % 2]);
}
END_TEST

/* Nothing comes of a row that may look at nothing, and nothing goes to what no row may look at: exactly. */
START_TEST(a_row_with_nothing_allowed_is_zero)
{
    const kind k = {3, 2, 70, 70, 2, 2, .o = {.window = 3}, .lengths = {70, 5, 0}};
    call c = make_call(&k, floats[_i]);
    run(&c);
    run_backward(c.y);
    for (int64_t b = 0; b < k.B; b++) {
        for (int64_t i = 0; i < k.N; i++) {
            bool looks = false, seen = false;
            for (int64_t j = 0; j < k.N; j++) {
                looks |= may_look(&k, b, 0, i, j);
                seen |= may_look(&k, b, 0, j, i);
            }
            for (int64_t m = 0; m < k.H * k.d; m++) {
                int64_t element = (b * k.N + i) * k.H * k.d + m;
                ck_assert((value(c.y, element) != 0) == looks);
                ck_assert(looks || value(asc_grad(c.in[Q]), element) == 0);
                ck_assert(seen || value(asc_grad(c.in[K_]), element) == 0);
                ck_assert((value(asc_grad(c.in[V]), element) != 0) == seen);
            }
        }
    }
}
END_TEST

/* Scores that are all -∞, here by the table of head 0, are as if nothing were allowed. */
START_TEST(a_row_of_minus_infinity_is_zero)
{
    const asc_attention_options o = {.heads = 2, .causal = true};
    asc_tensor x[3], table = asc_zeros(ctx, floats[_i], ASC_SHAPE(2, 1));
    for (int i = 0; i < 3; i++) {
        x[i] = random_leaf(floats[_i], (uint64_t)i + 1, ASC_SHAPE(1, 40, 4));
    }
    asc_copy(ctx, asc_slice(ctx, table, 0, 0, 1, 1), asc_full(ctx, floats[_i], -INFINITY, ASC_SHAPE(1, 1)));
    asc_require_grad(table, true);
    asc_tensor y = asc_attention(ctx, &(asc_attention_inputs){.q = x[0], .k = x[1], .v = x[2], .rel_bias = table}, &o);
    run_backward(y);
    for (int64_t e = 0; e < asc_numel(y); e++) {
        bool none = e % 4 < 2;
        ck_assert((value(y, e) == 0) == none);
        ck_assert((value(asc_grad(x[2]), e) == 0) == none);
        ck_assert(none ? value(asc_grad(x[0]), e) == 0 : isfinite(value(asc_grad(x[0]), e)));
    }
    expect_equal(asc_grad(table), 0, 0);
}
END_TEST

/* The same input three times: its gradient is the sum of the three. */
START_TEST(one_tensor_as_queries_keys_and_values)
{
    const asc_attention_options o = {.heads = 2, .causal = true};
    asc_tensor x = random_leaf(floats[_i], 1, ASC_SHAPE(2, 70, 8)), part[3], sum[3];
    for (int i = 0; i < 3; i++) {
        part[i] = asc_empty(ctx, floats[_i], 3, asc_shape(x));
        asc_copy(ctx, part[i], x);
        asc_require_grad(part[i], true);
    }
    run_backward(asc_attention(ctx, &(asc_attention_inputs){.q = x, .k = x, .v = x}, &o));
    run_backward(asc_attention(ctx, &(asc_attention_inputs){.q = part[0], .k = part[1], .v = part[2]}, &o));
    for (int i = 0; i < 3; i++) {
        sum[i] = asc_grad(part[i]);
    }
    for (int64_t i = 0; i < asc_numel(x); i++) {
        expect_close(asc_grad(x), i, value(sum[0], i) + value(sum[1], i) + value(sum[2], i), 100);
    }
}
END_TEST

/* (B, H·d, N) memory, seen as (B, N, H·d). */
START_TEST(strided_inputs)
{
    const asc_attention_options o = {.heads = 2, .causal = true};
    asc_tensor leaf = random_leaf(floats[_i], 1, ASC_SHAPE(2, 6, 70)), x = asc_transpose(ctx, leaf, 1, 2);
    asc_tensor flat = asc_contiguous(ctx, x);
    ck_assert(!asc_is_contiguous(x));
    asc_tensor y = asc_attention(ctx, &(asc_attention_inputs){.q = x, .k = x, .v = x}, &o);
    asc_tensor same = asc_attention(ctx, &(asc_attention_inputs){.q = flat, .k = flat, .v = flat}, &o);
    no_error();
    for (int64_t i = 0; i < asc_numel(y); i++) {
        ck_assert_double_eq(value(y, i), value(same, i));
    }
}
END_TEST

/* Scores of ±10⁴: no overflow, and a row's attention goes to its largest. */
START_TEST(large_scores)
{
    enum { N = 70 };
    const asc_attention_options o = {.heads = 1, .causal = true};
    asc_tensor q = asc_full(ctx, floats[_i], 100, ASC_SHAPE(1, N, 1));
    asc_tensor k = asc_empty(ctx, floats[_i], ASC_SHAPE(1, N, 1));
    asc_tensor v = asc_empty(ctx, floats[_i], ASC_SHAPE(1, N, 1)), ramp = asc_empty(ctx, ASC_F64, ASC_SHAPE(1, N, 1));
    double *x = asc_data_mut(ramp);
    for (int i = 0; i < N; i++) {
        x[i] = i % 2 ? -100 - i : 100 + i;
    }
    asc_copy(ctx, k, ramp);
    asc_copy(ctx, v, ramp);
    asc_tensor leaf[] = {q, k, v};
    for (int i = 0; i < 3; i++) {
        asc_require_grad(leaf[i], true);
    }
    asc_tensor y = asc_attention(ctx, &(asc_attention_inputs){.q = q, .k = k, .v = v}, &o);
    run_backward(y);
    for (int i = 0; i < N; i++) {
        expect_close(y, i, x[i - i % 2], 0);
        for (int j = 0; j < 3; j++) {
            ck_assert(isfinite(value(asc_grad(leaf[j]), i)));
        }
    }
}
END_TEST

/* Keys that are all the same, and large: wherever a query goes it attends to all alike, and has no gradient, which
 * weights that do not add up to 1 would give it. */
START_TEST(what_all_keys_share_says_nothing)
{
    enum { N = 50, D = 4 };
    const asc_attention_options o = {.heads = 1, .causal = _i >= 2};
    asc_dtype dtype = floats[_i % 2];
    asc_tensor q = asc_normal(ctx, dtype, 0, 3, 1, 1, ASC_SHAPE(1, N, D));
    asc_tensor k = asc_full(ctx, dtype, 700, ASC_SHAPE(1, N, D));
    asc_tensor v = asc_normal(ctx, dtype, 0, 1, 1, 2, ASC_SHAPE(1, N, D));
    asc_require_grad(q, true);
    run_backward(asc_attention(ctx, &(asc_attention_inputs){.q = q, .k = k, .v = v}, &o));
    for (int i = 0; i < N * D; i++) {
        ck_assert_double_lt(fabs(value(asc_grad(q), i)), 1e5 * (dtype == ASC_F64 ? DBL_EPSILON : (double)FLT_EPSILON));
    }
}
END_TEST

/* ---- to the bit ---- */

static const kind causal_kinds[] = {
    {2, 2, 200, 200, 8, 8, .o = {.causal = true}},
    {2, 2, 200, 200, 8, 8, .o = {.causal = true, .alibi = true}, .R = 7},
    {2, 2, 200, 200, 8, 8, .o = {.causal = true, .window = 9, .globals = 3}},
};
enum { CAUSAL_KINDS = sizeof causal_kinds / sizeof *causal_kinds };

/* Elements of rows 0 … rows-1 of every sequence are the same. */
static bool same_rows(asc_tensor x, asc_tensor y, int64_t rows)
{
    size_t row = (size_t)asc_size(x, 2) * asc_dtype_size(asc_dtype_of(x));
    const char *p = asc_data(x), *q = asc_data(y);
    for (int64_t b = 0; b < asc_size(x, 0); b++) {
        size_t from = (size_t)(b * asc_size(x, 1)) * row;
        if (memcmp(p + from, q + from, (size_t)rows * row) != 0) {
            return false;
        }
    }
    return true;
}

START_TEST(causal_to_the_bit)
{
    static const int64_t cuts[] = {0, 1, 62, 63, 64, 130, 198};
    const kind *k = &causal_kinds[_i];
    call c = make_call(k, ASC_F32);
    run(&c);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        call other = c;
        int64_t from = cuts[i] + 1;
        for (int which = Q; which <= V; which++) { /* other values after the cut */
            asc_tensor noise = asc_normal(ctx, ASC_F32, 0, 30, i, 100 + (unsigned)which,
                                          ASC_SHAPE(k->B, k->N - from, 16));
            asc_tensor head = asc_slice(ctx, c.in[which], 1, 0, from, 1);
            other.in[which] = asc_concat(ctx, (asc_tensor[]){head, noise}, 2, 1);
        }
        run(&other);
        ck_assert(same_rows(c.y, other.y, from));
        ck_assert(!same_rows(c.y, other.y, from + 1));
    }
}
END_TEST

/* Gradients do not come from before, either: a cotangent of rows <= t alone gives later rows exactly 0. */
START_TEST(gradients_are_causal)
{
    const kind *k = &causal_kinds[_i];
    call c = make_call(k, ASC_F32);
    run(&c);
    asc_tensor dy = asc_zeros(ctx, ASC_F32, 3, asc_shape(c.y));
    for (int64_t i = 0; i < 66 * 16; i++) {
        ((float *)asc_data_mut(dy))[i] = 1 + (float)(i % 5);
    }
    ck_assert_int_eq(asc_backward(ctx, c.y, dy, false), ASC_OK);
    for (int which = Q; which <= V; which++) {
        const float *g = asc_data(asc_grad(c.in[which]));
        for (int64_t i = 0; i < asc_numel(c.in[which]); i++) {
            ck_assert(isfinite(g[i]) && (i < 66 * 16 || g[i] == 0));
        }
    }
}
END_TEST

/* A sequence's output and gradients are the same alone and among others. */
START_TEST(sequences_do_not_depend_on_each_other)
{
    const kind *k = &causal_kinds[_i];
    call all = make_call(k, ASC_F32);
    run(&all);
    for (int64_t b = 0; b < k->B; b++) {
        call one = all;
        for (int i = Q; i <= V; i++) {
            one.in[i] = asc_slice(ctx, all.in[i], 0, b, b + 1, 1);
        }
        run(&one);
        size_t bytes = (size_t)asc_numel(one.y) * sizeof(float);
        ck_assert_int_eq(memcmp(asc_data(one.y), (const char *)asc_data(all.y) + (size_t)b * bytes, bytes), 0);
    }
}
END_TEST

static void run_causal(asc_tensor *result, int i)
{
    call c = make_call(&causal_kinds[i], ASC_F32);
    run(&c);
    run_backward(c.y);
    *result++ = c.y;
    for (int which = 0; which < INPUTS; which++) {
        *result++ = asc_is_null(c.in[which]) ? asc_null() : asc_grad(c.in[which]);
    }
}

/* A mask that sequences and heads share counts as one of each of them; a rehearsal, which has no values, as none. */
START_TEST(products_count_what_a_mask_allows)
{
    enum { BATCH = 3, HEADS = 2, N = 37 };
    const asc_attention_options o = {.heads = HEADS, .causal = true};
    asc_tensor q = asc_normal(ctx, ASC_F32, 0, 1, 1, 1, ASC_SHAPE(BATCH, N, 8));
    asc_tensor one = asc_zeros(ctx, ASC_U8, ASC_SHAPE(N, N));
    uint8_t *allowed = asc_data_mut(one);
    double pairs = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            allowed[i * N + j] = i * j % 3 == 0;
            pairs += j <= i && i * j % 3 == 0;
        }
    }
    asc_tensor each = asc_contiguous(ctx, asc_expand(ctx, one, ASC_SHAPE(BATCH, HEADS, N, N)));
    const asc_tensor masks[] = {one, each, one, asc_null()};
    double flops[4];
    for (int i = 0; i < 4; i++) {
        asc_set_rehearsal(ctx, i == 2);
        asc_flops_reset(ctx);
        asc_attention(ctx, &(asc_attention_inputs){.q = q, .k = q, .v = q, .mask = masks[i]}, &o);
        flops[i] = asc_flops(ctx);
    }
    asc_set_rehearsal(ctx, false);
    no_error();
    ck_assert_double_eq(flops[0], 2 * BATCH * HEADS * pairs * 8);
    ck_assert_double_eq(flops[1], flops[0]);
    ck_assert_double_eq(flops[2], flops[3]);
}
END_TEST

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    same_for_threads(run_causal, _i);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("attention");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, attention_is_the_equation, 0, 2 * KINDS);
    tcase_add_test(t, products_count_what_a_mask_allows);
    tcase_add_loop_test(t, a_row_with_nothing_allowed_is_zero, 0, 2);
    tcase_add_loop_test(t, a_row_of_minus_infinity_is_zero, 0, 2);
    tcase_add_loop_test(t, one_tensor_as_queries_keys_and_values, 0, 2);
    tcase_add_loop_test(t, strided_inputs, 0, 2);
    tcase_add_loop_test(t, large_scores, 0, 2);
    tcase_add_loop_test(t, what_all_keys_share_says_nothing, 0, 4);
    tcase_add_loop_test(t, causal_to_the_bit, 0, CAUSAL_KINDS);
    tcase_add_loop_test(t, gradients_are_causal, 0, CAUSAL_KINDS);
    tcase_add_loop_test(t, sequences_do_not_depend_on_each_other, 0, CAUSAL_KINDS);
    tcase_add_loop_test(t, any_number_of_threads_gives_the_same_bits, 0, CAUSAL_KINDS);
    return run_suite("ops/attention", t);
}
