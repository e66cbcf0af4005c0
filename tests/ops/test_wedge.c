/* tests/ops/test_wedge.c: plucker_wedge against long double, and by the laws that Plücker coordinates keep. */
#include "tests/ops/geometry.h"

/* p̂ of two vectors in long double. */
static void wedge_of(const long double *a, const long double *b, int64_t r, long double *p)
{
    long double square = 0;
    for (int64_t i = 0, k = 0; i < r; i++) {
        for (int64_t j = i + 1; j < r; j++, k++) {
            p[k] = a[i] * b[j] - a[j] * b[i];
            square += p[k] * p[k];
        }
    }
    for (int64_t k = 0; k < r * (r - 1) / 2; k++) {
        p[k] /= fmaxl(sqrtl(square), 1e-8L);
    }
}

enum { LENGTH = 9, COORDINATES = LENGTH * (LENGTH - 1) / 2 };

static void row_of(asc_tensor t, int64_t row, long double *x)
{
    for (int64_t i = 0; i < LENGTH; i++) {
        x[i] = (long double)value(t, row * LENGTH + i);
    }
}

static double worst_error(asc_tensor y, asc_tensor a, asc_tensor b)
{
    double worst = 0;
    for (int64_t row = 0; row < asc_numel(a) / LENGTH; row++) {
        long double u[LENGTH], v[LENGTH], p[COORDINATES];
        row_of(a, row, u);
        row_of(b, row, v);
        wedge_of(u, v, LENGTH, p);
        for (int64_t k = 0; k < COORDINATES; k++) {
            double off = fabs(value(y, row * COORDINATES + k) - (double)p[k]);
            worst = isfinite(off) ? fmax(worst, off) : INFINITY;
        }
    }
    return worst;
}

/* a + 2^-k times something, k = 0, 1, …, a row each: ever more parallel. */
static asc_tensor nearly(asc_tensor a, double factor)
{
    asc_tensor b = asc_empty(ctx, asc_dtype_of(a), asc_ndim(a), asc_shape(a));
    for (int64_t i = 0; i < asc_numel(a); i++) {
        double v = factor * value(a, i) + ldexp(noise(i + 31), -(int)(i / LENGTH));
        if (asc_dtype_of(a) == ASC_F32) {
            ((float *)asc_data_mut(b))[i] = (float)v;
        } else {
            ((double *)asc_data_mut(b))[i] = v;
        }
    }
    asc_require_grad(b, true);
    return b;
}

START_TEST(wedge_values)
{
    for (int f = 0; f < 2; f++) {
        asc_tensor a = leaf_of(floats[f], noise, ASC_SHAPE(2, 11, LENGTH));
        asc_tensor b = random_leaf(floats[f], 2, ASC_SHAPE(2, 11, LENGTH));
        asc_tensor y = asc_plucker_wedge(ctx, a, b, 1e-8, 0);
        expect_shape(y, ASC_SHAPE(2, 11, COORDINATES));
        ck_assert_double_le(worst_error(y, a, b), f == 0 ? 6e-8 : 1e-15);
    }
}
END_TEST

/* Angles down to 2^-20: in f32 the result is right to f32's precision, where the naive form has two digits; in f64
 * it loses what the inputs' rounding makes inevitable. */
START_TEST(wedge_of_nearly_parallel_vectors)
{
    asc_tensor a = leaf_of(ASC_F32, noise, ASC_SHAPE(21, LENGTH)), b = nearly(a, 1.5);
    ck_assert_double_le(worst_error(asc_plucker_wedge(ctx, a, b, 1e-8, 0), a, b), 6e-8);
    a = leaf_of(ASC_F64, noise, ASC_SHAPE(21, LENGTH));
    b = nearly(a, 1.5);
    ck_assert_double_le(worst_error(asc_plucker_wedge(ctx, a, b, 1e-8, 0), a, b), 1e-9);
}
END_TEST

/* Their gradients in f32, against f64 on the same values. */
START_TEST(wedge_gradients_of_nearly_parallel_vectors)
{
    asc_tensor a = leaf_of(ASC_F32, noise, ASC_SHAPE(16, LENGTH)), b = nearly(a, 0.75);
    asc_tensor a64 = leaf_of(ASC_F64, noise, ASC_SHAPE(16, LENGTH));
    asc_tensor b64 = asc_empty(ctx, ASC_F64, ASC_SHAPE(16, LENGTH));
    asc_copy(ctx, b64, b);
    asc_require_grad(b64, true);
    run_backward(asc_plucker_wedge(ctx, a, b, 1e-8, 0));
    run_backward(asc_plucker_wedge(ctx, a64, b64, 1e-8, 0));
    for (int64_t i = 0; i < 16 * LENGTH; i++) {
        double scale = 0;
        for (int64_t k = 0; k < LENGTH; k++) {
            scale = fmax(scale, fabs(value(asc_grad(a64), i / LENGTH * LENGTH + k)));
        }
        expect_close(asc_grad(a), i, value(asc_grad(a64), i), scale);
        expect_close(asc_grad(b), i, value(asc_grad(b64), i), scale);
    }
}
END_TEST

/* p_ij p_kl − p_ik p_jl + p_il p_jk = 0, and the length is 1. */
START_TEST(wedge_plucker_relations)
{
    asc_tensor a = leaf_of(ASC_F32, noise, ASC_SHAPE(16, LENGTH)), b = nearly(a, 1);
    asc_tensor y = asc_plucker_wedge(ctx, a, b, 1e-8, 0);
    no_error();
    for (int64_t row = 0; row < 16; row++) {
        double p[LENGTH][LENGTH] = {{0}}, square = 0;
        int64_t e = row * COORDINATES;
        for (int i = 0; i < LENGTH; i++) {
            for (int j = i + 1; j < LENGTH; j++) {
                p[i][j] = value(y, e++);
                square += p[i][j] * p[i][j];
            }
        }
        ck_assert_double_eq_tol(square, 1, 1e-6);
        for (int n = 0; n < LENGTH * LENGTH * LENGTH * LENGTH; n++) {
            int i = n / LENGTH / LENGTH / LENGTH, j = n / LENGTH / LENGTH % LENGTH;
            int k = n / LENGTH % LENGTH, l = n % LENGTH;
            if (i < j && j < k && k < l) {
                ck_assert_double_eq_tol(p[i][j] * p[k][l] - p[i][k] * p[j][l] + p[i][l] * p[j][k], 0, 1e-7);
            }
        }
    }
}
END_TEST

/* Swapping changes the sign to the bit; a multiple of one added to the other changes nothing but rounding. */
START_TEST(wedge_symmetries)
{
    for (int f = 0; f < 2; f++) {
        asc_tensor a = leaf_of(floats[f], noise, ASC_SHAPE(16, LENGTH));
        asc_tensor b = random_leaf(floats[f], 4, ASC_SHAPE(16, LENGTH));
        asc_tensor ab = asc_plucker_wedge(ctx, a, b, 1e-8, 0.25), ba = asc_plucker_wedge(ctx, b, a, 1e-8, 0.25);
        asc_tensor more = asc_add(ctx, b, asc_scale(ctx, a, 0.5));
        asc_tensor plain = asc_plucker_wedge(ctx, a, b, 1e-8, 0), added = asc_plucker_wedge(ctx, a, more, 1e-8, 0);
        no_error();
        for (int64_t i = 0; i < 16 * COORDINATES; i++) {
            ck_assert_double_eq(value(ab, i), -value(ba, i));
            expect_close(added, i, value(plain, i), 4);
        }
    }
}
END_TEST

/* u∧u = 0 and u∧2u = 0 exactly; the gradient is that of p/ε. */
START_TEST(wedge_of_repeated_vectors)
{
    for (int f = 0; f < 2; f++) {
        asc_tensor a = leaf_of(floats[f], noise, ASC_SHAPE(3, LENGTH));
        asc_tensor b = leaf_of(floats[f], noise, ASC_SHAPE(3, LENGTH));
        asc_tensor y = asc_plucker_wedge(ctx, a, b, 1e-3, 0);
        asc_tensor twice = asc_plucker_wedge(ctx, a, asc_scale(ctx, b, 2), 1e-8, 0);
        asc_tensor g = run_backward(y);
        for (int64_t i = 0; i < 3 * COORDINATES; i++) {
            ck_assert_double_eq(value(y, i), 0);
            ck_assert_double_eq(value(twice, i), 0);
        }
        for (int64_t row = 0; row < 3; row++) {
            double M[LENGTH][LENGTH] = {{0}};
            int64_t e = row * COORDINATES;
            for (int i = 0; i < LENGTH; i++) {
                for (int j = i + 1; j < LENGTH; j++, e++) {
                    M[i][j] = value(g, e);
                    M[j][i] = -value(g, e);
                }
            }
            for (int i = 0; i < LENGTH; i++) {
                double expected = 0;
                for (int j = 0; j < LENGTH; j++) {
                    expected += M[i][j] * value(b, row * LENGTH + j) / 1e-3;
                }
                expect_close(asc_grad(a), row * LENGTH + i, expected, 2e4);
                expect_close(asc_grad(b), row * LENGTH + i, -expected, 2e4);
            }
        }
    }
}
END_TEST

/* p̂ does not depend on the lengths, however large or small; 0 has no direction. */
START_TEST(wedge_of_extreme_lengths)
{
    double large[2][3] = {{1e200, 2e200, 0}, {1e-300, 0, 3e-300}}, one[2][3] = {{1, 2, 0}, {1, 0, 3}};
    asc_tensor a = asc_from(ctx, ASC_F64, large[0], ASC_SHAPE(3)), b = asc_from(ctx, ASC_F64, large[1], ASC_SHAPE(3));
    asc_tensor y = asc_plucker_wedge(ctx, a, b, 1e-110, 0);
    asc_tensor expected = asc_plucker_wedge(ctx, asc_from(ctx, ASC_F64, one[0], ASC_SHAPE(3)),
                                            asc_from(ctx, ASC_F64, one[1], ASC_SHAPE(3)), 1e-8, 0);
    asc_tensor tiny = asc_plucker_wedge(ctx, b, b, 1e-8, 0);
    asc_tensor none = asc_plucker_wedge(ctx, a, asc_zeros(ctx, ASC_F64, ASC_SHAPE(3)), 1e-8, 0);
    asc_tensor same = asc_plucker_wedge(ctx, a, a, 1e-8, 0);
    no_error();
    for (int64_t i = 0; i < 3; i++) {
        expect_close(y, i, value(expected, i), 1);
        ck_assert_double_eq(value(tiny, i), 0);
        ck_assert_double_eq(value(none, i), 0);
        ck_assert_double_eq(value(same, i), 0);
    }
}
END_TEST

/* A sequence and its past are pairs of rows; what lies before the beginning is 0, and the future is not seen. */
START_TEST(wedge_of_the_past)
{
    static const int offsets[] = {1, 4, 12};
    asc_tensor z = leaf_of(ASC_F32, noise, ASC_SHAPE(2, 10, LENGTH));
    asc_tensor y = asc_plucker_wedge_past(ctx, z, 3, offsets, 1e-8, 0);
    expect_shape(y, ASC_SHAPE(2, 10, 3, COORDINATES));
    for (int l = 0; l < 3; l++) {
        asc_tensor now = asc_slice(ctx, z, 1, offsets[l], ASC_SLICE_END, 1),
                   then = asc_slice(ctx, z, 1, 0, -offsets[l], 1);
        asc_tensor pairs = asc_plucker_wedge(ctx, now, then, 1e-8, 0);
        for (int64_t e = 0; e < 2 * 10 * COORDINATES; e++) {
            int64_t b = e / (10 * COORDINATES), t = e / COORDINATES % 10, k = e % COORDINATES;
            double v = value(y, ((b * 10 + t) * 3 + l) * COORDINATES + k);
            int64_t n = 10 - offsets[l];
            ck_assert(t < offsets[l] ? v == 0 : v == value(pairs, (b * n + t - offsets[l]) * COORDINATES + k));
        }
    }
    for (int64_t i = 0; i < LENGTH; i++) {
        ((float *)asc_data_mut(z))[9 * LENGTH + i] = -3;
    }
    asc_tensor other = asc_plucker_wedge_past(ctx, z, 3, offsets, 1e-8, 0);
    ck_assert_mem_eq(asc_data(y), asc_data(other), 9 * 3 * COORDINATES * sizeof(float));
}
END_TEST

static void run_wedges(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor z = leaf_of(ASC_F32, noise, ASC_SHAPE(2, 200, LENGTH));
    result[0] = asc_plucker_wedge_past(ctx, z, 2, (int[]){3, 1}, 1e-8, 0);
    run_backward(result[0]);
    result[1] = asc_grad(z);
}

START_TEST(wedge_threads)
{
    same_for_threads(run_wedges, 0);
}
END_TEST

START_TEST(wedge_errors)
{
    asc_tensor a = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 4, 3));
    expect_failure(asc_plucker_wedge(ctx, a, random_leaf(ASC_F32, 1, ASC_SHAPE(2, 4, 2)), 1e-8, 0),
                   "plucker_wedge: b is f32 (2, 4, 2), expected f32 (2, 4, 3), the shape of a");
    expect_failure(asc_plucker_wedge(ctx, a, a, 0, 0),
                   "plucker_wedge: eps is 0, eps_rel 0, expected above 0 and at least 0");
    expect_failure(asc_plucker_wedge(ctx, a, asc_null(), 1e-8, 0), "plucker_wedge: b is null");
    expect_failure(asc_plucker_wedge_past(ctx, a, 0, NULL, 1e-8, 0), "plucker_wedge: 0 offsets, expected 1 to 48");
    expect_failure(asc_plucker_wedge_past(ctx, a, 1, NULL, 1e-8, 0), "plucker_wedge_past: offsets is NULL");
    expect_failure(asc_plucker_wedge_past(ctx, a, 2, (int[]){1, 0}, 1e-8, 0),
                   "plucker_wedge: offset 1 is 0, expected at least 1");
    expect_failure(asc_plucker_wedge_past(ctx, random_leaf(ASC_F32, 1, ASC_SHAPE(4, 3)), 1, (int[]){1}, 1e-8, 0),
                   "plucker_wedge: a is f32 (4, 3), expected (B, N, r)");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        wedge_values, wedge_of_nearly_parallel_vectors, wedge_gradients_of_nearly_parallel_vectors,
        wedge_plucker_relations, wedge_symmetries, wedge_of_repeated_vectors, wedge_of_extreme_lengths,
        wedge_of_the_past, wedge_threads, wedge_errors,
    };
    TCase *t = tcase_create("wedge");
    tcase_add_checked_fixture(t, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(t, tests[i]);
    }
    return run_suite("ops/wedge", t);
}
