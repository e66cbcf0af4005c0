/* tests/ops/test_geometry.c: pairwise_sqdist and row_norm against plain loops in double, and by the laws that they
 * have to keep. */
#include "tests/ops/geometry.h"

/* ---- pairwise_sqdist ---- */

static double distance(asc_tensor x, int64_t i, asc_tensor y, int64_t j, int64_t d)
{
    double sum = 0;
    for (int64_t m = 0; m < d; m++) {
        double off = value(x, i * d + m) - value(y, j * d + m);
        sum += off * off;
    }
    return sum;
}

/* Every entry of D and of the gradients; x (N, d), y (M, d) or null. Relative errors stay below `tolerance`, of
 * gradients relative to the sum of their terms. */
static void check_distances(asc_tensor x, asc_tensor y, double tolerance)
{
    bool one = asc_is_null(y);
    asc_tensor v = one ? x : y, D = asc_pairwise_sqdist(ctx, x, y), G = run_backward(D);
    int64_t N = asc_size(x, 0), M = asc_size(v, 0), d = asc_size(x, 1);
    double *terms = calloc((size_t)(N * d * 2), sizeof *terms), *expected = terms + N * d;
    expect_shape(D, ASC_SHAPE(N, M));
    for (int64_t e = 0; e < N * M; e++) {
        int64_t i = e / M, j = e % M;
        double right = distance(x, i, v, j, d), h = value(G, e) + (one ? value(G, j * M + i) : 0);
        ck_assert_msg(fabs(value(D, e) - right) <= tolerance * right, "D[%lld, %lld] is %.9g, expected %.9g",
                      (long long)i, (long long)j, value(D, e), right);
        ck_assert(!one || value(D, e) == value(D, j * M + i));
        for (int64_t m = 0; m < d; m++) {
            double term = 2 * h * (value(x, i * d + m) - value(v, j * d + m));
            expected[i * d + m] += term;
            terms[i * d + m] += fabs(2 * h) * sqrt(right);
        }
    }
    for (int64_t e = 0; e < N * d; e++) {
        ck_assert_msg(fabs(value(asc_grad(x), e) - expected[e]) <= tolerance * terms[e],
                      "dx[%lld] is %.9g, expected %.9g",
                      (long long)e, value(asc_grad(x), e), expected[e]);
    }
    free(terms);
}

START_TEST(distances)
{
    static const int64_t N[] = {1, 5, 128, 150}, M[] = {3, 1, 129, 140}, d[] = {2, 8, 33, 8};
    for (int f = 0; f < 2; f++) {
        double tolerance = f == 0 ? 1e-5 : 1e-14;
        for (int k = 0; k < 4; k++) {
            check_distances(random_leaf(floats[f], 1, ASC_SHAPE(N[k], d[k])), asc_null(), tolerance);
            check_distances(random_leaf(floats[f], 1, ASC_SHAPE(N[k], d[k])),
                            random_leaf(floats[f], 2, ASC_SHAPE(M[k], d[k])), tolerance);
            check_distances(random_leaf(floats[f], 3, ASC_SHAPE(M[k], d[k])),
                            random_leaf(floats[f], 4, ASC_SHAPE(N[k], d[k])), tolerance);
        }
    }
}
END_TEST

static double far_away(int64_t i)
{
    return 1000 + noise(i) * 1e-3;
}

/* Two groups of 16-dimensional points, far from one another, close together; the first point apart from both. */
static double groups(int64_t i)
{
    int64_t point = i / 16;
    return point == 0 ? -500 : (point % 2 ? 100 : -300) + noise(i) * 1e-3;
}

START_TEST(close_points_far_away)
{
    asc_tensor x = leaf_of(ASC_F32, far_away, ASC_SHAPE(140, 16));
    double worst = 0; /* of the naive form, to see that it is a case that matters */
    const float *p = asc_data(x);
    for (int64_t i = 1; i < 140; i++) {
        float a = 0, b = 0, ab = 0;
        for (int64_t m = 0; m < 16; m++) {
            a += p[m] * p[m];
            b += p[i * 16 + m] * p[i * 16 + m];
            ab += p[m] * p[i * 16 + m];
        }
        double right = distance(x, 0, x, i, 16);
        worst = fmax(worst, fabs((double)(a + b - 2 * ab) - right) / right);
    }
    ck_assert_double_gt(worst, 1);
    check_distances(x, asc_null(), 1e-5);
    check_distances(leaf_of(ASC_F32, far_away, ASC_SHAPE(140, 16)), leaf_of(ASC_F32, far_away, ASC_SHAPE(7, 16)), 1e-5);
    check_distances(leaf_of(ASC_F32, groups, ASC_SHAPE(140, 16)), asc_null(), 1e-5);
    check_distances(leaf_of(ASC_F32, groups, ASC_SHAPE(140, 16)), leaf_of(ASC_F32, far_away, ASC_SHAPE(7, 16)), 1e-5);
}
END_TEST

/* The rows t and later of x become other ones: D of those before stays the same to the bit. */
START_TEST(distances_do_not_see_the_future)
{
    asc_tensor x = leaf_of(ASC_F32, noise, ASC_SHAPE(300, 12));
    asc_tensor before = asc_pairwise_sqdist(ctx, x, asc_null());
    for (int64_t t = 299; t > 0; t -= 43) {
        float *p = asc_data_mut(x);
        for (int64_t e = t * 12; e < 300 * 12; e++) {
            p[e] = p[e] * -3 + 50;
        }
        asc_tensor after = asc_pairwise_sqdist(ctx, x, asc_null());
        for (int64_t i = 0; i < t; i++) {
            ck_assert_mem_eq((const float *)asc_data(before) + i * 300, (const float *)asc_data(after) + i * 300,
                             (size_t)t * sizeof(float));
        }
    }
}
END_TEST

/* What is not finite, or too large to be squared, stays where it is. */
START_TEST(distances_of_wild_points)
{
    asc_tensor x = leaf_of(ASC_F32, noise, ASC_SHAPE(20, 9));
    float *p = asc_data_mut(x);
    p[0] = 1e30f;
    p[9 * 7] = INFINITY;
    p[9 * 12] = NAN;
    asc_tensor G = asc_zeros(ctx, ASC_F32, ASC_SHAPE(20, 20)), D = asc_pairwise_sqdist(ctx, x, asc_null());
    float *g = asc_data_mut(G);
    g[3 * 20 + 4] = 1;
    for (int64_t e = 0; e < 400; e++) {
        int64_t i = e / 20, j = e % 20;
        bool finite = i != 12 && j != 12 && i != 7 && j != 7 && (i == j || (i != 0 && j != 0));
        if (finite) {
            ck_assert(value(D, e) >= 0 && value(D, e) < 1e4 && (value(D, e) == 0) == (i == j));
        } else {
            ck_assert(value(D, e) > 1e30 || isnan(value(D, e)));
        }
    }
    ck_assert_int_eq(asc_backward(ctx, D, G, false), ASC_OK);
    for (int64_t e = 0; e < 180; e++) {
        double off = value(x, 27 + e % 9) - value(x, 36 + e % 9);
        expect_close(asc_grad(x), e, e / 9 == 3 ? 2 * off : e / 9 == 4 ? -2 * off : 0, 1);
    }
}
END_TEST

static void run_distances(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor x = leaf_of(ASC_F32, noise, ASC_SHAPE(2, 300, 12));
    result[0] = asc_pairwise_sqdist(ctx, x, asc_null());
    run_backward(result[0]);
    result[1] = asc_grad(x);
}

START_TEST(distances_threads)
{
    same_for_threads(run_distances, 0);
}
END_TEST

START_TEST(distances_errors)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 4, 3));
    expect_failure(asc_pairwise_sqdist(ctx, x, random_leaf(ASC_F32, 1, ASC_SHAPE(2, 5, 4))),
                   "pairwise_sqdist: y is f32 (2, 5, 4), expected (..., M, d) with the leading dimensions and "
                   "d of x (2, 4, 3)");
    expect_failure(asc_pairwise_sqdist(ctx, x, random_leaf(ASC_F32, 1, ASC_SHAPE(5, 3))),
                   "pairwise_sqdist: y is f32 (5, 3), expected (..., M, d) with the leading dimensions and d "
                   "of x (2, 4, 3)");
    expect_failure(asc_pairwise_sqdist(ctx, x, random_leaf(ASC_F64, 1, ASC_SHAPE(2, 5, 3))),
                   "pairwise_sqdist: y is f64 (2, 5, 3), expected f32, as the first input");
    expect_failure(asc_pairwise_sqdist(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(4)), asc_null()),
                   "pairwise_sqdist: x is f32 (4), expected (..., N, d)");
    expect_failure(asc_pairwise_sqdist(ctx, asc_null(), asc_null()), "pairwise_sqdist: x is null");
}
END_TEST

/* ---- row_norm ---- */

/* One row against the definition; mask may be NULL. */
static void check_norm_row(asc_tensor x, asc_tensor y, const uint8_t *mask, int64_t row, int64_t n, double eps,
                           bool unbiased)
{
    double mean = 0, square = 0, m = 0;
    for (int64_t i = row * n; i < (row + 1) * n; i++) {
        if (!mask || mask[i]) {
            mean += value(x, i);
            m++;
        }
    }
    mean /= m;
    for (int64_t i = row * n; i < (row + 1) * n; i++) {
        square += !mask || mask[i] ? (value(x, i) - mean) * (value(x, i) - mean) : 0;
    }
    double sigma = sqrt(square / (unbiased ? m - 1 : m));
    for (int64_t i = row * n; i < (row + 1) * n; i++) {
        bool zero = (mask && !mask[i]) || m < 2;
        expect_close(y, i, zero ? 0 : (value(x, i) - mean) / (sigma + eps), zero ? 0 : 4);
    }
}

START_TEST(row_norm_values)
{
    asc_tensor mask = asc_zeros(ctx, ASC_U8, ASC_SHAPE(50, 50));
    uint8_t *allowed = asc_data_mut(mask);
    for (int64_t i = 0; i < 2500; i++) {
        allowed[i] = i % 50 <= i / 50; /* row 0 has one entry */
    }
    for (int f = 0; f < 2; f++) {
        for (int unbiased = 0; unbiased < 2; unbiased++) {
            asc_tensor x = leaf_of(floats[f], noise, ASC_SHAPE(50, 50));
            asc_tensor y = asc_row_norm(ctx, x, asc_null(), 1e-6, unbiased);
            asc_tensor masked = asc_row_norm(ctx, x, mask, 0.25, unbiased);
            no_error();
            for (int64_t row = 0; row < 50; row++) {
                check_norm_row(x, y, NULL, row, 50, 1e-6, unbiased);
                check_norm_row(x, masked, allowed, row, 50, 0.25, unbiased);
            }
        }
    }
}
END_TEST

/* A row's allowed entries are normalised as a row of their own, to the bit, and nothing else is looked at. */
START_TEST(row_norm_of_a_prefix)
{
    asc_tensor x = leaf_of(ASC_F32, noise, ASC_SHAPE(1, 90)), mask = asc_zeros(ctx, ASC_U8, ASC_SHAPE(90));
    memset(asc_data_mut(mask), 1, 37);
    asc_tensor prefix = asc_contiguous(ctx, asc_slice(ctx, x, 1, 0, 37, 1));
    asc_tensor expected = asc_row_norm(ctx, prefix, asc_null(), 1e-6, false);
    ((float *)asc_data_mut(x))[37] = NAN;
    ((float *)asc_data_mut(x))[80] = INFINITY;
    asc_tensor y = asc_row_norm(ctx, x, mask, 1e-6, false), dy = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(1, 90));
    no_error();
    ck_assert_mem_eq(asc_data(y), asc_data(expected), 37 * sizeof(float));
    ((float *)asc_data_mut(dy))[3] = 5;
    ((float *)asc_data_mut(dy))[60] = NAN;
    ck_assert_int_eq(asc_backward(ctx, y, dy, false), ASC_OK);
    for (int64_t i = 0; i < 90; i++) {
        ck_assert(i < 37 ? fabs(value(asc_grad(x), i)) < 10 : value(asc_grad(x), i) == 0);
    }
}
END_TEST

START_TEST(row_norm_of_constant_rows)
{
    static const double rows[][4] = {{7, 7, 7, 7}, {0}, {1e30, 1e30, 1e30, 1e30}, {1, 1 + 1e-7, 1, 1}, {3, 4, 5, 6}};
    float values[20];
    static const uint8_t allowed[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0};
    for (int i = 0; i < 20; i++) {
        values[i] = (float)rows[i / 4][i % 4];
    }
    for (int unbiased = 0; unbiased < 2; unbiased++) {
        asc_tensor x = asc_from(ctx, ASC_F32, values, ASC_SHAPE(5, 4));
        asc_require_grad(x, true);
        asc_tensor y = asc_row_norm(ctx, x, asc_from(ctx, ASC_U8, allowed, ASC_SHAPE(5, 4)), 1e-6, unbiased);
        run_backward(y);
        for (int64_t i = 0; i < 20; i++) {
            ck_assert_double_eq(value(y, i), 0);
            ck_assert_double_eq(value(asc_grad(x), i), 0);
        }
    }
}
END_TEST

/* Scaling a row changes y by ε/(σ + ε) of itself: what remains of the gradient along x when the factor (σ + ε)/σ is
 * there. */
START_TEST(row_norm_gradient_of_scale)
{
    asc_tensor x = leaf_of(ASC_F64, noise, ASC_SHAPE(1, 40)), y = asc_row_norm(ctx, x, asc_null(), 0.01, false);
    asc_tensor dy = run_backward(y);
    double mean = 0, square = 0, along = 0, expected = 0;
    for (int64_t i = 0; i < 40; i++) {
        mean += value(x, i) / 40;
    }
    for (int64_t i = 0; i < 40; i++) {
        square += (value(x, i) - mean) * (value(x, i) - mean) / 40;
        along += value(asc_grad(x), i) * value(x, i);
        expected += value(dy, i) * value(y, i);
    }
    expected *= 0.01 / (sqrt(square) + 0.01);
    ck_assert_double_eq_tol(along, expected, 1e-10 * fabs(expected));
}
END_TEST

static double offset_noise(int64_t i)
{
    return 1e4 + noise(i) * 0.1;
}

/* A row whose deviation is a hundred-thousandth of its mean keeps its digits. */
START_TEST(row_norm_with_an_offset)
{
    asc_tensor x = leaf_of(ASC_F32, offset_noise, ASC_SHAPE(3, 1000));
    asc_tensor y = asc_row_norm(ctx, x, asc_null(), 1e-6, false);
    no_error();
    for (int64_t row = 0; row < 3; row++) {
        check_norm_row(x, y, NULL, row, 1000, 1e-6, false);
    }
}
END_TEST

START_TEST(row_norm_errors)
{
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(4, 3));
    expect_failure(asc_row_norm(ctx, x, asc_null(), -1, false), "row_norm: eps is -1, expected at least 0");
    expect_failure(asc_row_norm(ctx, x, asc_zeros(ctx, ASC_U8, ASC_SHAPE(4)), 1e-6, false),
                   "row_norm: mask is u8 (4), expected u8 of a shape that broadcasts to (4, 3)");
    expect_failure(asc_row_norm(ctx, asc_scalar(ctx, ASC_F32, 1), asc_null(), 1e-6, false),
                   "row_norm: x is f32 (), expected (..., n)");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        distances, close_points_far_away, distances_do_not_see_the_future, distances_of_wild_points,
        distances_threads, distances_errors, row_norm_values, row_norm_of_a_prefix, row_norm_of_constant_rows,
        row_norm_gradient_of_scale, row_norm_with_an_offset, row_norm_errors,
    };
    TCase *t = tcase_create("geometry");
    tcase_add_checked_fixture(t, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(t, tests[i]);
    }
    return run_suite("ops/geometry", t);
}
