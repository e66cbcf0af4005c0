/* tests/ops/test_norm.c: layer_norm, dropout and add_dropout. */
#include "tests/ops/values.h"

/* ---- layer_norm ---- */

/* x̂ of row r, and 1/√(σ² + eps). */
static double normalise(asc_tensor x, int64_t r, int64_t n, double eps, double *normal)
{
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += value(x, r * n + i) / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        double d = value(x, r * n + i) - mean;
        variance += d * d / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        normal[i] = (value(x, r * n + i) - mean) / sqrt(variance + eps);
    }
    return 1 / sqrt(variance + eps);
}

static double at_or(asc_tensor t, int64_t i, double otherwise)
{
    return asc_is_null(t) ? otherwise : value(t, i);
}

static void check_layer_norm(asc_dtype dtype, int64_t rows, int64_t n, bool has_w, bool has_b)
{
    const double eps = 1e-5;
    asc_tensor x = random_leaf(dtype, 1, ASC_SHAPE(rows, n));
    asc_tensor w = has_w ? random_leaf(dtype, 2, ASC_SHAPE(n)) : asc_null();
    asc_tensor b = has_b ? random_leaf(dtype, 3, ASC_SHAPE(n)) : asc_null();
    asc_tensor y = asc_layer_norm(ctx, x, w, b, eps), dy = run_backward(y);
    double normal[64], dw[64] = {0}, db[64] = {0};
    ck_assert_int_le(n, 64);
    for (int64_t r = 0; r < rows; r++) {
        double rstd = normalise(x, r, n, eps, normal), mean_g = 0, mean_gx = 0;
        for (int64_t i = 0; i < n; i++) {
            double d = value(dy, r * n + i), g = d * at_or(w, i, 1);
            expect_close(y, r * n + i, normal[i] * at_or(w, i, 1) + at_or(b, i, 0), 4);
            dw[i] += d * normal[i];
            db[i] += d;
            mean_g += g / (double)n;
            mean_gx += g * normal[i] / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            double g = value(dy, r * n + i) * at_or(w, i, 1);
            expect_close(asc_grad(x), r * n + i, rstd * (g - mean_g - normal[i] * mean_gx), 10 * rstd);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (has_w) {
            expect_close(asc_grad(w), i, dw[i], (double)rows);
        }
        if (has_b) {
            expect_close(asc_grad(b), i, db[i], (double)rows);
        }
    }
}

START_TEST(layer_norm)
{
    static const int64_t rows[] = {1, 63, 64, 65, 300}, n[] = {1, 5, 16, 61, 33};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 5; k++) {
            check_layer_norm(floats[i], rows[k], n[k], true, true);
        }
        check_layer_norm(floats[i], 20, 7, false, true);
        check_layer_norm(floats[i], 20, 7, true, false);
        check_layer_norm(floats[i], 20, 7, false, false);
    }
}
END_TEST

START_TEST(layer_norm_adds_to_gradients)
{
    asc_tensor x = random_leaf(ASC_F64, 1, ASC_SHAPE(100, 8)), w = random_leaf(ASC_F64, 2, ASC_SHAPE(8));
    asc_tensor dy = random_leaf(ASC_F64, 3, ASC_SHAPE(100, 8));
    double first[2] = {0};
    for (int pass = 1; pass <= 3; pass++) {
        ck_assert_int_eq(asc_backward(ctx, asc_layer_norm(ctx, x, w, w, 1e-5), dy, false), ASC_OK);
        if (pass == 1) {
            first[0] = value(asc_grad(x), 5);
            first[1] = value(asc_grad(w), 5);
        }
        expect_close(asc_grad(x), 5, pass * first[0], 0);
        expect_close(asc_grad(w), 5, pass * first[1], 0);
    }
}
END_TEST

/* Entries whose sum is rounded, one of them 1 above the rest. */
START_TEST(layer_norm_of_a_nearly_constant_row)
{
    enum { n = 300 };
    static const double at[] = {1000000.5, 12345.678, 0.3};
    for (int i = 0; i < 3; i++) {
        asc_tensor x = asc_full(ctx, ASC_F32, at[i], ASC_SHAPE(2, n));
        float *entries = asc_data_mut(x);
        entries[n] += 1;
        asc_tensor y = asc_layer_norm(ctx, x, asc_null(), asc_null(), 1e-5);
        double mean = value(x, 0) + 1. / n, deviation = sqrt((1. - 1. / n) / n + 1e-5);
        for (int64_t k = 0; k < n; k++) {
            expect_equal(y, k, 0);
        }
        ck_assert_double_eq_tol(value(y, n), (value(x, n) - mean) / deviation, 1e-4 + at[i] * 1e-6);
        ck_assert_double_eq_tol(value(y, n + 1), (value(x, 0) - mean) / deviation, 1e-4 + at[i] * 1e-6);
    }
}
END_TEST

/* Entries whose squares are beyond float32. */
START_TEST(layer_norm_of_large_entries)
{
    static const float at[] = {1e20f, -1e20f, 3e20f, 0};
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(1, 4));
    memcpy(asc_data_mut(x), at, sizeof at);
    asc_tensor y = asc_layer_norm(ctx, x, asc_null(), asc_null(), 1e-5);
    double deviation = sqrt((0.0625 + 3.0625 + 5.0625 + 0.5625) / 4);
    for (int64_t k = 0; k < 4; k++) {
        ck_assert_double_eq_tol(value(y, k), (value(x, k) / 1e20 - 0.75) / deviation, 1e-6);
    }
}
END_TEST

START_TEST(layer_norm_of_a_constant_row)
{
    asc_tensor x = asc_full(ctx, ASC_F32, 1e6, ASC_SHAPE(2, 9));
    asc_require_grad(x, true);
    asc_tensor y = asc_layer_norm(ctx, x, asc_null(), asc_null(), 1e-5);
    run_backward(y);
    for (int64_t i = 0; i < 18; i++) {
        expect_equal(y, i, 0);
        ck_assert(isfinite(value(asc_grad(x), i)));
    }
}
END_TEST

START_TEST(layer_norm_of_nothing)
{
    asc_tensor w = random_leaf(ASC_F32, 1, ASC_SHAPE(4));
    asc_tensor y = asc_layer_norm(ctx, random_leaf(ASC_F32, 2, ASC_SHAPE(0, 4)), w, asc_null(), 1e-5);
    expect_shape(y, ASC_SHAPE(0, 4));
    run_backward(y);
    for (int64_t i = 0; i < 4; i++) {
        expect_equal(asc_grad(w), i, 0);
    }
    expect_shape(asc_layer_norm(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 0)), asc_null(), asc_null(), 1e-5),
                 ASC_SHAPE(3, 0));
}
END_TEST

START_TEST(layer_norm_errors)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 5)), w = asc_zeros(ctx, ASC_F32, ASC_SHAPE(4));
    asc_tensor none = asc_null();
    expect_failure(asc_layer_norm(ctx, x, w, none, 1e-5), "layer_norm: weight is f32 (4), expected f32 (5), (D)");
    expect_failure(asc_layer_norm(ctx, x, none, x, 1e-5), "layer_norm: bias is f32 (2, 5), expected f32 (5), (D)");
    expect_failure(asc_layer_norm(ctx, x, asc_zeros(ctx, ASC_F64, ASC_SHAPE(5)), none, 1e-5),
                   "layer_norm: weight is f64 (5), expected f32 (5), (D)");
    expect_failure(asc_layer_norm(ctx, asc_scalar(ctx, ASC_F32, 1), none, none, 1e-5),
                   "layer_norm: x is f32 (), expected (..., D)");
    expect_failure(asc_layer_norm(ctx, x, none, none, -1), "layer_norm: eps is -1, expected at least 0");
    expect_failure(asc_layer_norm(ctx, asc_zeros(ctx, ASC_I64, ASC_SHAPE(2)), none, none, 1e-5),
                   "layer_norm: x is i64 (2), expected f32 or f64");
}
END_TEST

/* ---- dropout ---- */

enum { N = 50000 };

START_TEST(dropout)
{
    static const double p[] = {0.1, 0.5, 0.9};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            asc_tensor x = random_leaf(floats[i], 1, ASC_SHAPE(N)), y = asc_dropout(ctx, x, p[k]), dy = run_backward(y);
            int64_t dropped = 0;
            for (int64_t e = 0; e < N; e++) {
                bool drop = value(y, e) == 0;
                dropped += drop;
                expect_close(y, e, drop ? 0 : value(x, e) / (1 - p[k]), 0);
                expect_close(asc_grad(x), e, drop ? 0 : value(dy, e) / (1 - p[k]), 0);
            }
            ck_assert_double_eq_tol((double)dropped / N, p[k], 5 * sqrt(p[k] * (1 - p[k]) / N));
        }
    }
}
END_TEST

START_TEST(dropout_of_nothing_is_the_same_tensor)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(5)), y = asc_dropout(ctx, x, 0);
    ck_assert(asc_is_same(x, y));
}
END_TEST

START_TEST(dropped_infinities_are_gone)
{
    asc_tensor x = asc_full(ctx, ASC_F32, INFINITY, ASC_SHAPE(1000)), y = asc_dropout(ctx, x, 0.5);
    for (int64_t e = 0; e < 1000; e++) {
        ck_assert(value(y, e) == 0 || isinf(value(y, e)));
    }
}
END_TEST

START_TEST(dropout_errors)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 5)), y = asc_zeros(ctx, ASC_F32, ASC_SHAPE(5));
    expect_failure(asc_dropout(ctx, x, 1), "dropout: p is 1, expected at least 0 and less than 1");
    expect_failure(asc_dropout(ctx, x, -0.1), "dropout: p is -0.1, expected at least 0 and less than 1");
    expect_failure(asc_dropout(ctx, x, NAN), "dropout: p is nan, expected at least 0 and less than 1");
    expect_failure(asc_dropout(ctx, asc_zeros(ctx, ASC_U8, ASC_SHAPE(2)), 0.5),
                   "dropout: x is u8 (2), expected f32 or f64");
    expect_failure(asc_add_dropout(ctx, x, x, 1.5), "add_dropout: p is 1.5, expected at least 0 and less than 1");
    expect_failure(asc_add_dropout(ctx, x, y, 0.5),
                   "add_dropout: branch is f32 (5), expected f32 (2, 5), as the first input");
}
END_TEST

START_TEST(add_dropout_is_a_plus_dropout)
{
    static const double p[] = {0, 0.3};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) {
            asc_tensor a = random_leaf(floats[i], 1, ASC_SHAPE(N)), b = random_leaf(floats[i], 2, ASC_SHAPE(N));
            asc_set_step(ctx, 4, 4);
            asc_tensor dropped = asc_dropout(ctx, b, p[k]);
            asc_set_step(ctx, 4, 4);
            asc_tensor y = asc_add_dropout(ctx, a, b, p[k]), dy = run_backward(y);
            for (int64_t e = 0; e < N; e++) {
                bool drop = value(dropped, e) == 0;
                expect_close(y, e, value(a, e) + value(dropped, e), 1);
                expect_equal(asc_grad(a), e, value(dy, e));
                expect_close(asc_grad(b), e, drop ? 0 : value(dy, e) / (1 - p[k]), 0);
            }
        }
    }
}
END_TEST

START_TEST(add_dropout_of_one_tensor)
{
    asc_tensor x = random_leaf(ASC_F64, 1, ASC_SHAPE(N)), y = asc_add_dropout(ctx, x, x, 0.5), dy = run_backward(y);
    for (int64_t e = 0; e < N; e++) {
        double factor = round(value(y, e) / value(x, e)); /* 1 or 3 */
        expect_close(y, e, (factor == 1 ? 1 : 3) * value(x, e), 0);
        expect_close(asc_grad(x), e, factor * value(dy, e), 0);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("norm");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, layer_norm);
    tcase_add_test(t, layer_norm_adds_to_gradients);
    tcase_add_test(t, layer_norm_of_a_constant_row);
    tcase_add_test(t, layer_norm_of_a_nearly_constant_row);
    tcase_add_test(t, layer_norm_of_large_entries);
    tcase_add_test(t, layer_norm_of_nothing);
    tcase_add_test(t, layer_norm_errors);
    tcase_add_test(t, dropout);
    tcase_add_test(t, dropout_of_nothing_is_the_same_tensor);
    tcase_add_test(t, dropped_infinities_are_gone);
    tcase_add_test(t, dropout_errors);
    tcase_add_test(t, add_dropout_is_a_plus_dropout);
    tcase_add_test(t, add_dropout_of_one_tensor);
    return run_suite("ops/norm", t);
}
