/* tests/ops/test_reduce.c: sum, mean, max, min, softmax, log_softmax and cross_entropy. */
#include "tests/ops/values.h"

/* ---- over dimensions, against the plainest loop ---- */

typedef asc_tensor reduction(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);

static reduction *const reductions[] = {asc_sum, asc_mean, asc_max, asc_min};
enum { SUM, MEAN, MAX, MIN };

typedef struct reduction_case {
    int ndim;
    int64_t shape[6];
    int n_dims, dims[6];
    int kept_ndim;
    int64_t kept[6]; /* without keepdim */
} reduction_case;

static const reduction_case reduction_cases[] = {
    {1, {7}, 0, {0}, 0, {0}},
    {0, {0}, 0, {0}, 0, {0}},
    {2, {2, 17000}, 1, {-1}, 1, {2}},           /* chunks of a row */
    {2, {66000, 2}, 1, {0}, 1, {2}},            /* chunks of rows, twice over */
    {2, {3, 5000}, 1, {0}, 1, {5000}},          /* tiles of columns */
    {4, {3, 4, 5, 6}, 2, {0, 2}, 2, {4, 6}},
    {4, {3, 4, 5, 6}, 2, {-1, 1}, 2, {3, 5}},
    {4, {3, 4, 5, 6}, 4, {3, 2, 1, 0}, 0, {0}},
    {3, {5, 1, 4}, 1, {1}, 2, {5, 4}},
    {3, {1000, 1, 1}, 2, {1, 2}, 1, {1000}},
};

/* Where in y, without keepdim, element i of x goes. */
static int64_t destination(const reduction_case *r, int64_t i)
{
    unsigned dims = r->n_dims == 0 ? ~0u : 0;
    for (int k = 0; k < r->n_dims; k++) {
        dims |= 1u << (r->dims[k] < 0 ? r->dims[k] + r->ndim : r->dims[k]);
    }
    int64_t at = 0, step = 1;
    for (int d = r->ndim - 1; d >= 0; i /= r->shape[d--]) {
        if (!(dims >> d & 1)) {
            at += i % r->shape[d] * step;
            step *= r->shape[d];
        }
    }
    return at;
}

enum { MOST = 5000 };

static void check_reduction(int k, const reduction_case *r, asc_tensor x, asc_tensor y, asc_tensor dy)
{
    static double sum[MOST], magnitude[MOST];
    static int64_t best[MOST];
    int64_t count = asc_numel(x) / asc_numel(y);
    for (int64_t o = 0; o < asc_numel(y); o++) {
        sum[o] = magnitude[o] = 0;
        best[o] = -1;
    }
    for (int64_t i = 0; i < asc_numel(x); i++) {
        int64_t o = destination(r, i);
        double v = value(x, i);
        sum[o] += v;
        magnitude[o] += fabs(v);
        if (best[o] < 0 || (k == MAX && v > value(x, best[o])) || (k == MIN && v < value(x, best[o]))) {
            best[o] = i;
        }
    }
    double share = k == MEAN ? 1 / (double)count : 1;
    for (int64_t o = 0; o < asc_numel(y); o++) {
        expect_close(y, o, k <= MEAN ? sum[o] * share : value(x, best[o]), k <= MEAN ? magnitude[o] * share : 0);
    }
    for (int64_t i = 0; i < asc_numel(x); i++) {
        int64_t o = destination(r, i);
        expect_close(asc_grad(x), i, k <= MEAN ? value(dy, o) * share : i == best[o] ? value(dy, o) : 0, 0);
    }
}

START_TEST(over_dimensions)
{
    const reduction_case *r = &reduction_cases[_i];
    for (int k = SUM; k <= MIN; k++) {
        for (int i = 0; i < 2; i++) {
            asc_tensor x = random_leaf(floats[i], 1, r->ndim, r->shape);
            asc_tensor y = reductions[k](ctx, x, r->n_dims, r->dims, false), dy = run_backward(y);
            expect_shape(y, r->kept_ndim, r->kept);
            check_reduction(k, r, x, y, dy);
            asc_tensor kept = reductions[k](ctx, x, r->n_dims, r->dims, true);
            ck_assert_int_eq(asc_ndim(kept), r->ndim);
            for (int64_t o = 0; o < asc_numel(y); o++) {
                ck_assert_double_eq(value(kept, o), value(y, o));
            }
        }
    }
}
END_TEST

START_TEST(strided_input)
{
    asc_tensor x = random_leaf(ASC_F64, 1, ASC_SHAPE(5, 7)), dy = run_backward(asc_sum(ctx, asc_transpose(ctx, x, 0, 1),
                                                                                      ASC_DIMS(0), false));
    for (int64_t i = 0; i < 35; i++) {
        expect_close(asc_grad(x), i, value(dy, i / 7), 0);
    }
}
END_TEST

START_TEST(of_nothing)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 0));
    asc_require_grad(x, true);
    asc_tensor sum = asc_sum(ctx, x, ASC_DIMS(1), false), mean = asc_mean(ctx, x, ASC_DIMS(1), false);
    expect_shape(sum, ASC_SHAPE(3));
    expect_shape(mean, ASC_SHAPE(3));
    for (int64_t i = 0; i < 3; i++) {
        ck_assert_double_eq(value(sum, i), 0);
        ck_assert(isnan(value(mean, i)));
    }
    run_backward(sum);
    expect_shape(asc_max(ctx, x, ASC_DIMS(0), false), ASC_SHAPE(0));
    expect_failure(asc_max(ctx, x, ASC_DIMS(1), false),
                   "max: x is f32 (3, 0), expected at least one entry to choose from");
    expect_failure(asc_min(ctx, x, ASC_ALL_DIMS, false),
                   "min: x is f32 (3, 0), expected at least one entry to choose from");
}
END_TEST

START_TEST(log_softmax_of_nan_and_nothing_else)
{
    asc_tensor x = asc_full(ctx, ASC_F32, -INFINITY, ASC_SHAPE(2, 3));
    ((float *)asc_data_mut(x))[4] = NAN;
    asc_tensor y = asc_log_softmax(ctx, x, asc_null());
    for (int64_t i = 0; i < 3; i++) {
        ck_assert(value(y, i) == -INFINITY && isnan(value(y, 3 + i)));
    }
}
END_TEST

START_TEST(first_of_equal_ones_and_nan)
{
    const double at[] = {1, 2, 2, 1, NAN, 5, NAN, 0};
    asc_tensor x = asc_from(ctx, ASC_F64, at, ASC_SHAPE(2, 4));
    asc_require_grad(x, true);
    asc_tensor y[] = {asc_max(ctx, x, ASC_DIMS(1), false), asc_min(ctx, x, ASC_DIMS(1), false)};
    const int64_t expected[2] = {1, 0};
    for (int k = 0; k < 2; k++) {
        asc_zero_grad(x);
        asc_tensor dy = run_backward(y[k]);
        ck_assert_double_eq(value(y[k], 0), at[expected[k]]);
        ck_assert(isnan(value(y[k], 1)));
        for (int64_t i = 0; i < 8; i++) {
            ck_assert_double_eq(value(asc_grad(x), i), i == expected[k] ? value(dy, 0) : i == 4 ? value(dy, 1) : 0);
        }
    }
}
END_TEST

START_TEST(reduction_errors)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), i = asc_zeros(ctx, ASC_I64, ASC_SHAPE(3));
    expect_failure(asc_sum(ctx, x, ASC_DIMS(2), false), "sum: x is f32 (2, 3), expected to have dimension 2");
    expect_failure(asc_mean(ctx, x, ASC_DIMS(0, -2), false), "mean: dimension 0 is named twice");
    expect_failure(asc_max(ctx, x, ASC_DIMS(0, 1, 0), false), "max: 3 dimensions to reduce, x has 2");
    expect_failure(asc_min(ctx, i, ASC_ALL_DIMS, false), "min: x is i64 (3), expected f32 or f64");
}
END_TEST

/* ---- softmax ---- */

/* Softmax of row r of x over the n entries that `mask` allows; returns log Σ exp, or -∞. */
static double reference_row(asc_tensor x, asc_tensor mask, int64_t r, int64_t n, double *p)
{
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        bool allowed = asc_is_null(mask) || value(mask, r * n + i) != 0;
        p[i] = allowed ? value(x, r * n + i) : -INFINITY;
        max = fmax(max, p[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        p[i] = p[i] == -INFINITY ? 0 : exp(p[i] - max);
        sum += p[i];
    }
    for (int64_t i = 0; i < n && sum > 0; i++) {
        p[i] /= sum;
    }
    return max + log(sum);
}

static void check_softmax(asc_dtype dtype, int64_t rows, int64_t n, asc_tensor mask)
{
    double p[1000];
    asc_tensor x = random_leaf(dtype, 1, ASC_SHAPE(rows, n)), l = random_leaf(dtype, 1, ASC_SHAPE(rows, n));
    asc_tensor y = asc_softmax(ctx, x, mask), z = asc_log_softmax(ctx, l, mask);
    asc_tensor dy = run_backward(y), dz = run_backward(z);
    for (int64_t r = 0; r < rows; r++) {
        double lse = reference_row(x, mask, r, n, p), dot = 0, sum = 0;
        for (int64_t i = r * n; i < r * n + n; i++) {
            dot += p[i - r * n] * value(dy, i);
            sum += p[i - r * n] > 0 ? value(dz, i) : 0;
        }
        for (int64_t i = r * n; i < r * n + n; i++) {
            double q = p[i - r * n];
            expect_close(y, i, q, q);
            expect_close(asc_grad(x), i, q * (value(dy, i) - dot), 8 * q);
            if (q > 0) {
                expect_close(z, i, value(l, i) - lse, 4);
                expect_close(asc_grad(l), i, value(dz, i) - q * sum, 4 * q * sqrt((double)n));
            } else {
                ck_assert(value(z, i) == -INFINITY && value(asc_grad(l), i) == 0);
            }
        }
    }
}

static asc_tensor random_mask(int64_t rows, int64_t n)
{
    asc_tensor mask = asc_zeros(ctx, ASC_U8, ASC_SHAPE(rows, n)), u = random_leaf(ASC_F64, 5, ASC_SHAPE(rows, n));
    uint8_t *m = asc_data_mut(mask);
    for (int64_t i = 0; i < rows * n; i++) {
        m[i] = i / n == 1 ? 0 : value(u, i) > 0 ? 255 : 0; /* nothing in row 1 */
    }
    return mask;
}

START_TEST(softmax)
{
    static const int64_t rows[] = {3, 700, 2, 5}, n[] = {5, 30, 1000, 1};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 4; k++) {
            check_softmax(floats[i], rows[k], n[k], asc_null());
            check_softmax(floats[i], rows[k], n[k], random_mask(rows[k], n[k]));
        }
    }
}
END_TEST

/* A mask of fewer dimensions, or of size 1, is the same as one that is written out. */
START_TEST(masks_broadcast)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 3, 4, 5));
    const int64_t shapes[][4] = {{5}, {4, 5}, {3, 1, 1}, {2, 1, 1, 5}, {2, 1, 4, 1}};
    const int ndim[] = {1, 2, 3, 4, 4};
    for (int k = 0; k < 5; k++) {
        int64_t n = 1;
        for (int d = 0; d < ndim[k]; d++) {
            n *= shapes[k][d];
        }
        asc_tensor mask = asc_reshape(ctx, random_mask(2, (n + 1) / 2), 1, (const int64_t[]){-1});
        mask = asc_reshape(ctx, asc_slice(ctx, mask, 0, 0, n, 1), ndim[k], shapes[k]);
        asc_tensor all = asc_contiguous(ctx, asc_expand(ctx, mask, ASC_SHAPE(2, 3, 4, 5)));
        asc_tensor y = asc_softmax(ctx, x, mask), z = asc_softmax(ctx, x, all);
        no_error();
        ck_assert_int_eq(memcmp(asc_data(y), asc_data(z), 120 * sizeof(float)), 0);
    }
}
END_TEST

/* What is masked may be infinite or NaN, in x and in the cotangent. */
START_TEST(masked_infinities)
{
    const uint8_t allowed[] = {1, 0, 1, 0, 0, 0, 0, 0};
    const float at[] = {1, INFINITY, 2, NAN, NAN, INFINITY, 3, 4}, cotangent[] = {1, INFINITY, 2, NAN, NAN, 1, 1, 1};
    asc_tensor mask = asc_from(ctx, ASC_U8, allowed, ASC_SHAPE(2, 4));
    asc_tensor dy = asc_from(ctx, ASC_F32, cotangent, ASC_SHAPE(2, 4));
    for (int k = 0; k < 2; k++) {
        asc_tensor x = asc_from(ctx, ASC_F32, at, ASC_SHAPE(2, 4));
        asc_require_grad(x, true);
        asc_tensor y = k ? asc_log_softmax(ctx, x, mask) : asc_softmax(ctx, x, mask);
        ck_assert_int_eq(asc_backward(ctx, y, dy, false), ASC_OK);
        double p = 1 / (1 + exp(1.0)), q = 1 - p;
        expect_close(y, 0, k ? log(p) : p, 1);
        expect_close(y, 2, k ? log(q) : q, 1);
        expect_close(asc_grad(x), 0, k ? 1 - 3 * p : -p * q, 1);
        expect_close(asc_grad(x), 2, k ? 2 - 3 * q : p * q, 1);
        for (int64_t i = 0; i < 8; i++) {
            if (!allowed[i]) {
                ck_assert(value(asc_grad(x), i) == 0 && value(y, i) == (k ? -INFINITY : 0));
            }
        }
    }
}
END_TEST

START_TEST(softmax_errors)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), m = asc_zeros(ctx, ASC_U8, ASC_SHAPE(3, 3));
    expect_failure(asc_softmax(ctx, x, m),
                   "softmax: mask is u8 (3, 3), expected u8 of a shape that broadcasts to (2, 3)");
    expect_failure(asc_softmax(ctx, x, x),
                   "softmax: mask is f32 (2, 3), expected u8 of a shape that broadcasts to (2, 3)");
    expect_failure(asc_log_softmax(ctx, asc_scalar(ctx, ASC_F32, 1), asc_null()),
                   "log_softmax: x is f32 (), expected (..., n)");
}
END_TEST

/* ---- cross_entropy ---- */

static void check_cross_entropy(asc_dtype dtype, int64_t rows, int64_t n, bool of_tokens)
{
    enum { IGNORE = 3 };
    double p[1000], total = 0;
    asc_tensor x = random_leaf(dtype, 1, ASC_SHAPE(rows, n)), y = asc_zeros(ctx, ASC_I64, ASC_SHAPE(rows)), losses;
    int64_t *target = asc_data_mut(y), counted = 0;
    for (int64_t r = 0; r < rows; r++) {
        target[r] = r * 7 % n;
        counted += target[r] != IGNORE;
    }
    asc_tensor loss = asc_cross_entropy(ctx, x, y, IGNORE, &losses), dy = run_backward(of_tokens ? losses : loss);
    for (int64_t r = 0; r < rows; r++) {
        bool counts = target[r] != IGNORE;
        double lse = reference_row(x, asc_null(), r, n, p), one = counts ? lse - value(x, r * n + target[r]) : 0;
        double g = !counts ? 0 : of_tokens ? value(dy, r) : value(dy, 0) / (double)counted;
        total += one;
        expect_close(losses, r, one, 2);
        for (int64_t i = 0; i < n; i++) {
            expect_close(asc_grad(x), r * n + i, g * (p[i] - (i == target[r])), 2 * fabs(g));
        }
    }
    expect_close(loss, 0, total / (double)counted, 0);
}

START_TEST(cross_entropy)
{
    static const int64_t rows[] = {5, 300, 2, 1}, n[] = {4, 50, 1000, 7};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 4; k++) {
            check_cross_entropy(floats[i], rows[k], n[k], false);
            check_cross_entropy(floats[i], rows[k], n[k], true);
        }
    }
}
END_TEST

START_TEST(cross_entropy_of_ignored_targets)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(3, 4)), y = asc_full(ctx, ASC_I64, -100, ASC_SHAPE(3));
    asc_tensor loss = asc_cross_entropy(ctx, x, y, -100, NULL);
    ck_assert_double_eq(asc_item(loss), 0);
    run_backward(loss);
    for (int64_t i = 0; i < 12; i++) {
        ck_assert_double_eq(value(asc_grad(x), i), 0);
    }
}
END_TEST

START_TEST(cross_entropy_of_large_logits)
{
    const float at[] = {1e30f, -1e30f, 0, 1e4f, 1e4f, -INFINITY};
    const int64_t target[] = {0, 1};
    asc_tensor x = asc_from(ctx, ASC_F32, at, ASC_SHAPE(2, 3)), y = asc_from(ctx, ASC_I64, target, ASC_SHAPE(2));
    asc_require_grad(x, true);
    asc_tensor loss = asc_cross_entropy(ctx, x, y, -100, NULL);
    ck_assert_int_eq(asc_backward(ctx, loss, asc_null(), false), ASC_OK);
    expect_close(loss, 0, log(2) / 2, 0);
    const double expected[] = {0, 0, 0, .25, -.25, 0};
    for (int64_t i = 0; i < 6; i++) {
        expect_close(asc_grad(x), i, expected[i], 0);
    }
}
END_TEST

START_TEST(cross_entropy_errors)
{
    const int64_t targets[] = {0, 3, 2, 4, -1, 0};
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3, 4)), y = asc_from(ctx, ASC_I64, targets, ASC_SHAPE(2, 3));
    expect_failure(asc_cross_entropy(ctx, x, y, -1, NULL),
                   "cross_entropy: targets has 4 at element 3, expected 0 to 3, or -1 to ignore it");
    expect_failure(asc_cross_entropy(ctx, x, y, 4, NULL),
                   "cross_entropy: targets has -1 at element 4, expected 0 to 3, or 4 to ignore it");
    expect_failure(asc_cross_entropy(ctx, x, asc_zeros(ctx, ASC_I64, ASC_SHAPE(6)), -1, NULL),
                   "cross_entropy: targets is i64 (6), expected i64 (2, 3), a target for each row of logits");
    expect_failure(asc_cross_entropy(ctx, y, y, -1, NULL), "cross_entropy: logits is i64 (2, 3), expected f32 or f64");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("reduce");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, over_dimensions, 0, sizeof reduction_cases / sizeof *reduction_cases);
    tcase_add_test(t, strided_input);
    tcase_add_test(t, of_nothing);
    tcase_add_test(t, log_softmax_of_nan_and_nothing_else);
    tcase_add_test(t, first_of_equal_ones_and_nan);
    tcase_add_test(t, reduction_errors);
    tcase_add_test(t, softmax);
    tcase_add_test(t, masks_broadcast);
    tcase_add_test(t, masked_infinities);
    tcase_add_test(t, softmax_errors);
    tcase_add_test(t, cross_entropy);
    tcase_add_test(t, cross_entropy_of_ignored_targets);
    tcase_add_test(t, cross_entropy_of_large_logits);
    tcase_add_test(t, cross_entropy_errors);
    return run_suite("ops/reduce", t);
}
