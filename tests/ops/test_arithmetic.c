/* tests/ops/test_arithmetic.c: arithmetic with broadcasting, scale_shift, and the functions of one element. */
#include "tests/ops/values.h"

/* ---- broadcasting, against the plainest loop ---- */

/* Element of an input that belongs to element i of y. */
static int64_t source(asc_tensor x, asc_tensor y, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = asc_ndim(y) - 1, e = asc_ndim(x) - 1; e >= 0; d--, e--) {
        if (asc_size(x, e) > 1) {
            at += i % asc_size(y, d) * step;
        }
        step *= asc_size(x, e);
        i /= asc_size(y, d);
    }
    return at;
}

typedef asc_tensor binary(asc_ctx *ctx, asc_tensor a, asc_tensor b);

static binary *const binaries[] = {asc_add, asc_sub, asc_mul, asc_div};

/* The value and both derivatives of operation k. */
static void formula(int k, double a, double b, double f[3])
{
    const double table[4][3] = {{a + b, 1, 1}, {a - b, 1, -1}, {a * b, b, a}, {a / b, 1 / b, -a / (b * b)}};
    memcpy(f, table[k], sizeof table[k]);
}

enum { MOST = 21000 };

static void add_to(double *sum, double *magnitude, double term)
{
    *sum += term;
    *magnitude += fabs(term);
}

/* a and b are views of leaves, whose gradients are seen through the views of `grad_a` and `grad_b`. */
static void check_binary(int k, asc_tensor a, asc_tensor b, asc_tensor y, asc_tensor dy, asc_tensor grad_a,
                         asc_tensor grad_b)
{
    static double sum[2][MOST], magnitude[2][MOST];
    memset(sum, 0, sizeof sum);
    memset(magnitude, 0, sizeof magnitude);
    ck_assert(asc_numel(a) <= MOST && asc_numel(b) <= MOST);
    for (int64_t i = 0; i < asc_numel(y); i++) {
        int64_t p = source(a, y, i), q = source(b, y, i);
        double f[3];
        formula(k, value(a, p), value(b, q), f);
        expect_close(y, i, f[0], 0);
        add_to(&sum[0][p], &magnitude[0][p], f[1] * value(dy, i));
        add_to(&sum[1][q], &magnitude[1][q], f[2] * value(dy, i));
    }
    for (int64_t i = 0; i < asc_numel(a); i++) {
        expect_close(grad_a, i, sum[0][i], 4 * magnitude[0][i]);
    }
    for (int64_t i = 0; i < asc_numel(b); i++) {
        expect_close(grad_b, i, sum[1][i], 4 * magnitude[1][i]);
    }
}

typedef struct shapes {
    int ndim[2];
    int64_t a[5], b[5];
} shapes;

static const shapes broadcasts[] = {
    {{2, 2}, {3, 4}, {3, 4}},
    {{2, 1}, {300, 70}, {70}},             /* more than a chunk of rows, more than a piece */
    {{2, 2}, {300, 70}, {300, 1}},
    {{1, 3}, {1}, {2, 3, 4}},
    {{0, 2}, {0}, {2, 3}},
    {{0, 0}, {0}, {0}},
    {{3, 2}, {2, 1, 4}, {3, 1}},
    {{5, 3}, {2, 1, 3, 1, 2}, {3, 5, 1}},
    {{2, 2}, {3, 5000}, {1, 5000}},        /* more columns than a tile */
    {{1, 1}, {17000}, {17000}},
    {{1, 0}, {17000}, {0}},
    {{2, 1}, {0, 3}, {3}},
    {{2, 2}, {1, 3}, {0, 1}},
};

START_TEST(broadcasting)
{
    const shapes *s = &broadcasts[_i];
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 2; i++) {
            asc_tensor a = random_leaf(floats[i], 1, s->ndim[0], s->a);
            asc_tensor b = random_leaf(floats[i], 2, s->ndim[1], s->b);
            asc_tensor y = binaries[k](ctx, a, b), dy = run_backward(y);
            check_binary(k, a, b, y, dy, asc_grad(a), asc_grad(b));
        }
    }
}
END_TEST

START_TEST(strided_inputs)
{
    const int order[] = {2, 0, 1};
    for (int k = 0; k < 4; k++) {
        asc_tensor a = random_leaf(ASC_F32, 1, ASC_SHAPE(4, 5, 3)), b = random_leaf(ASC_F32, 2, ASC_SHAPE(7, 5));
        asc_tensor pa = asc_permute(ctx, a, 3, order), pb = asc_slice(ctx, b, 0, 1, ASC_SLICE_END, 2);
        pb = asc_unsqueeze(ctx, asc_slice(ctx, pb, 0, 0, 1, 1), 0); /* (1, 1, 5) */
        asc_tensor y = binaries[k](ctx, pa, pb), dy = run_backward(y);
        asc_set_recording(ctx, false);
        asc_tensor grad_b = asc_unsqueeze(ctx, asc_slice(ctx, asc_grad(b), 0, 1, 2, 1), 0);
        check_binary(k, pa, pb, y, dy, asc_permute(ctx, asc_grad(a), 3, order), grad_b);
        asc_set_recording(ctx, true);
        ck_assert_double_eq(value(asc_grad(b), 0), 0);
    }
}
END_TEST

START_TEST(one_tensor_twice)
{
    asc_tensor x = random_leaf(ASC_F64, 1, ASC_SHAPE(9)), dy = run_backward(asc_mul(ctx, x, x));
    for (int64_t i = 0; i < 9; i++) {
        expect_close(asc_grad(x), i, 2 * value(x, i) * value(dy, i), 0);
    }
    asc_zero_grad(x);
    run_backward(asc_sub(ctx, x, x));
    for (int64_t i = 0; i < 9; i++) {
        ck_assert_double_eq(value(asc_grad(x), i), 0);
    }
}
END_TEST

START_TEST(gradients_add_up)
{
    asc_tensor a = random_leaf(ASC_F32, 1, ASC_SHAPE(30, 40)), b = random_leaf(ASC_F32, 2, ASC_SHAPE(40));
    asc_tensor dy = random_leaf(ASC_F32, 3, ASC_SHAPE(30, 40));
    for (int k = 0; k < 4; k++) {
        asc_zero_grad(a);
        asc_zero_grad(b);
        double first[2] = {0};
        for (int pass = 1; pass <= 3; pass++) {
            ck_assert_int_eq(asc_backward(ctx, binaries[k](ctx, a, b), dy, false), ASC_OK);
            first[0] = pass == 1 ? value(asc_grad(a), 71) : first[0];
            first[1] = pass == 1 ? value(asc_grad(b), 31) : first[1];
            expect_close(asc_grad(a), 71, pass * first[0], 0);
            expect_close(asc_grad(b), 31, pass * first[1], 0);
        }
    }
}
END_TEST

START_TEST(arithmetic_errors)
{
    asc_tensor a = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), b = asc_zeros(ctx, ASC_F32, ASC_SHAPE(4));
    asc_tensor d = asc_zeros(ctx, ASC_F64, ASC_SHAPE(3)), i = asc_zeros(ctx, ASC_I64, ASC_SHAPE(3));
    expect_failure(asc_add(ctx, a, b), "add: b is f32 (4), expected a shape that broadcasts with (2, 3)");
    expect_failure(asc_mul(ctx, a, d), "mul: b is f64 (3), expected f32, as the first input");
    expect_failure(asc_div(ctx, i, a), "div: a is i64 (3), expected f32 or f64");
    expect_failure(asc_sub(ctx, a, i), "sub: b is i64 (3), expected f32 or f64");
    expect_failure(asc_relu(ctx, i), "relu: x is i64 (3), expected f32 or f64");
    expect_failure(asc_scale(ctx, i, 2), "scale_shift: x is i64 (3), expected f32 or f64");
}
END_TEST

/* ---- the same bits for any number of threads ---- */

/* The gradients of a (1000, 70), and of b, one number or a row: sums over many rows. */
static void run_binary(asc_tensor *result, int i)
{
    asc_tensor a = random_leaf(ASC_F32, 1, ASC_SHAPE(1000, 70)), b = random_leaf(ASC_F32, 2, ASC_SHAPE(i % 2 ? 70 : 1));
    run_backward(binaries[i / 2](ctx, a, b));
    result[0] = asc_grad(a);
    result[1] = asc_grad(b);
}

START_TEST(threads_do_not_matter)
{
    for (int i = 0; i < 2 * 4; i++) {
        same_for_threads(run_binary, i);
    }
}
END_TEST

/* ---- functions of one element ---- */

START_TEST(scale_shift)
{
    for (int i = 0; i < 2; i++) {
        asc_tensor x = random_leaf(floats[i], 1, ASC_SHAPE(20000));
        asc_tensor y = asc_add_scalar(ctx, asc_neg(ctx, asc_scale(ctx, x, 1.5)), 0.25), dy = run_backward(y);
        for (int64_t e = 0; e < 20000; e += 7) {
            expect_close(y, e, -1.5 * value(x, e) + 0.25, 4);
            expect_close(asc_grad(x), e, -1.5 * value(dy, e), 0);
        }
    }
}
END_TEST

typedef struct function {
    asc_tensor (*op)(asc_ctx *ctx, asc_tensor x);
    double (*f)(double x), (*slope)(double x);
    bool positive;
} function;

static double relu(double x) { return x > 0 ? x : 0; }
static double step(double x) { return x > 0; }
static double sign(double x) { return (x > 0) - (x < 0); }
static double tanh_slope(double x) { return 1 - tanh(x) * tanh(x); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double sigmoid_slope(double x) { return sigmoid(x) * (1 - sigmoid(x)); }
static double gelu(double x) { return x * erfc(-x / sqrt(2)) / 2; }
static double gelu_slope(double x) { return erfc(-x / sqrt(2)) / 2 + x * exp(-x * x / 2) / sqrt(8 * atan(1)); }
static double inverse(double x) { return 1 / x; }
static double sqrt_slope(double x) { return 0.5 / sqrt(x); }
static double square(double x) { return x * x; }
static double twice(double x) { return 2 * x; }

static const function functions[] = {
    {asc_relu, relu, step, false},
    {asc_tanh, tanh, tanh_slope, false},
    {asc_sigmoid, sigmoid, sigmoid_slope, false},
    {asc_gelu, gelu, gelu_slope, false},
    {asc_exp, exp, exp, false},
    {asc_log, log, inverse, true},
    {asc_sqrt, sqrt, sqrt_slope, true},
    {asc_square, square, twice, false},
    {asc_abs, fabs, sign, false},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

START_TEST(functions_of_one_element)
{
    const function *f = &functions[_i];
    for (int i = 0; i < 2; i++) {
        asc_tensor x = random_leaf(floats[i], 1, ASC_SHAPE(40, 500)); /* more than a piece */
        if (f->positive) {
            asc_copy(ctx, x, asc_full(ctx, floats[i], 0.75, ASC_SHAPE(40, 500)));
        }
        asc_tensor dy = run_backward(f->op(ctx, x)), y = f->op(ctx, x);
        asc_backward(ctx, y, dy, false); /* and once more, to add up */
        for (int64_t e = 0; e < 20000; e += 3) {
            expect_close(y, e, f->f(value(x, e)), 1);
            expect_close(asc_grad(x), e, 2 * f->slope(value(x, e)) * value(dy, e), 8 * fabs(value(dy, e)));
        }
    }
}
END_TEST

START_TEST(kinks_infinities_and_nan)
{
    const float at[] = {0, -1, INFINITY, NAN, -INFINITY};
    asc_tensor x = asc_from(ctx, ASC_F32, at, ASC_SHAPE(5)), dy = asc_full(ctx, ASC_F32, INFINITY, ASC_SHAPE(5));
    asc_require_grad(x, true);
    asc_tensor y = asc_relu(ctx, x);
    ck_assert_int_eq(asc_backward(ctx, y, dy, false), ASC_OK);
    ck_assert(value(y, 0) == 0 && value(y, 1) == 0 && value(y, 2) == INFINITY && isnan(value(y, 3)));
    ck_assert(value(asc_grad(x), 0) == 0 && value(asc_grad(x), 1) == 0 && value(asc_grad(x), 2) == INFINITY);
    asc_zero_grad(x);
    y = asc_abs(ctx, x);
    ck_assert_int_eq(asc_backward(ctx, y, dy, false), ASC_OK);
    ck_assert(value(y, 1) == 1 && isnan(value(y, 3)) && value(y, 4) == INFINITY);
    ck_assert(value(asc_grad(x), 0) == 0 && value(asc_grad(x), 1) == -INFINITY);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("arithmetic");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, broadcasting, 0, sizeof broadcasts / sizeof *broadcasts);
    tcase_add_test(t, strided_inputs);
    tcase_add_test(t, one_tensor_twice);
    tcase_add_test(t, gradients_add_up);
    tcase_add_test(t, arithmetic_errors);
    tcase_add_test(t, threads_do_not_matter);
    tcase_add_test(t, scale_shift);
    tcase_add_loop_test(t, functions_of_one_element, 0, FUNCTIONS);
    tcase_add_test(t, kinks_infinities_and_nan);
    return run_suite("ops/arithmetic", t);
}
