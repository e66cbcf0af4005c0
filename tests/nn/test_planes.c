/* tests/nn/test_planes.c: numbers about layers: planes by Plücker coordinates, attention head by head, quantiles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/inspect.h>
#include <ascgrad/ops.h>

#include "nn/inspect/eigen.h"
#include "tests/context.h"

static double at(asc_tensor t, int64_t i)
{
    ck_assert_msg(asc_is_valid(t), "%s", asc_error_message(ctx));
    ck_assert_int_eq(asc_dtype_of(t), ASC_F64);
    return ((const double *)asc_data(t))[i];
}

/* Coordinates of the planes of random pairs of vectors in R^r, (n, r(r-1)/2). */
static asc_tensor random_planes(asc_dtype dtype, int64_t n, int64_t r, uint64_t stream)
{
    asc_tensor a = asc_normal(ctx, ASC_F64, 0, 1, 5, stream, ASC_SHAPE(n, r));
    asc_tensor b = asc_normal(ctx, ASC_F64, 0, 1, 5, stream + 1, ASC_SHAPE(n, r));
    return asc_cast(ctx, asc_plucker_wedge(ctx, a, b, 1e-8, 0), dtype);
}

/* ---- planes ---- */

START_TEST(spaces_have_triangular_numbers_of_coordinates)
{
    ck_assert_int_eq(asc_plane_space(1), 2);
    ck_assert_int_eq(asc_plane_space(3), 3);
    ck_assert_int_eq(asc_plane_space(496), 32);
    ck_assert_int_eq(asc_plane_space(2016), 64);
    ck_assert_int_eq(asc_plane_space(0), 0);
    ck_assert_int_eq(asc_plane_space(2), 0);
    ck_assert_int_eq(asc_plane_space(495), 0);
    ck_assert_int_eq(asc_plane_space(-3), 0);
}
END_TEST

/* In R⁴, coordinates 12 13 14 23 24 34: axes' planes, one turned by an angle, none at all. Lengths don't matter. */
START_TEST(angles_that_are_known)
{
    const double t = .3, c = cos(.3), s = sin(.3), small = 1e-9;
    const double p[6][6] = {{1}, {2}, {1}, {1}, {1}, {1}};
    const double q[6][6] = {{-3}, {0, 5}, {0, 0, 0, 0, 0, 1}, {c, s, 0, 0, 0, 0}, {0}, {1, small, 0, 0, 0, 0}};
    const double expected[6][2] = {{0, 0}, {0, M_PI / 2}, {M_PI / 2, M_PI / 2}, {0, t}, {NAN, NAN}, {0, small}};
    asc_tensor angles = asc_plane_angles(ctx, asc_from(ctx, ASC_F64, p, ASC_SHAPE(6, 1, 6)),
                                         asc_from(ctx, ASC_F64, q, ASC_SHAPE(6, 1, 6)));
    ck_assert_int_eq(asc_ndim(angles), 3);
    ck_assert_int_eq(asc_size(angles, 2), 2);
    for (int i = 0; i < 12; i++) {
        if (isnan(expected[i / 2][i % 2])) {
            ck_assert(isnan(at(angles, i)));
        } else {
            ck_assert_double_eq_tol(at(angles, i), expected[i / 2][i % 2], 1e-15);
        }
    }
}
END_TEST

/* The product of the cosines is the scalar product of the unit coordinates, the angles are sorted, and symmetric. */
START_TEST(angles_of_random_planes)
{
    enum { n = 40, r = 7, P = 21 };
    asc_tensor p = random_planes(ASC_F64, n, r, 10), q = random_planes(ASC_F64, n, r, 20);
    asc_tensor angles = asc_plane_angles(ctx, p, q), mirrored = asc_plane_angles(ctx, q, p);
    for (int i = 0; i < n; i++) {
        double product = 0;
        for (int e = 0; e < P; e++) {
            product += at(p, i * P + e) * at(q, i * P + e);
        }
        ck_assert_double_eq_tol(cos(at(angles, 2 * i)) * cos(at(angles, 2 * i + 1)), fabs(product), 1e-12);
        ck_assert(at(angles, 2 * i) <= at(angles, 2 * i + 1));
        ck_assert_double_eq_tol(at(angles, 2 * i), at(mirrored, 2 * i), 1e-14);
    }
}
END_TEST

/* Planes that share a vector, as those of a token's pairs do, have an angle of 0, in float32 too. */
START_TEST(planes_with_a_common_vector)
{
    enum { r = 32 };
    asc_tensor a = asc_normal(ctx, ASC_F32, 0, 1, 5, 1, ASC_SHAPE(1, r)),
               b = asc_normal(ctx, ASC_F32, 0, 1, 5, 2, ASC_SHAPE(1, r));
    asc_tensor c = asc_normal(ctx, ASC_F32, 0, 1, 5, 3, ASC_SHAPE(1, r));
    asc_tensor angles =
        asc_plane_angles(ctx, asc_plucker_wedge(ctx, a, b, 1e-8, 0), asc_plucker_wedge(ctx, b, c, 1e-8, 0));
    ck_assert_double_lt(at(angles, 0), 1e-5);
    ck_assert_double_gt(at(angles, 1), .5);
}
END_TEST

/* The place of coordinate i, j of R⁴⁰. */
static int at_40(int i, int j)
{
    return i * 40 - i * (i + 1) / 2 + j - i - 1;
}

START_TEST(relations_hold_for_planes_only)
{
    double max, rms;
    ck_assert_int_eq(asc_plane_residual(ctx, random_planes(ASC_F64, 20, 9, 1), &max, &rms), ASC_OK);
    ck_assert_double_lt(max, 1e-15);
    ck_assert_double_gt(max, 0);
    ck_assert(rms <= max);
    asc_plane_residual(ctx, random_planes(ASC_F32, 20, 32, 1), &max, &rms);
    ck_assert_double_lt(max, 1e-7);
    /* every quadruple of R⁶⁴ would be 635,376: a sample */
    asc_plane_residual(ctx, random_planes(ASC_F64, 2, 64, 1), &max, &rms);
    ck_assert_double_lt(max, 1e-15);
    /* e1∧e2 + e3∧e4 is no plane: 1/2 for unit length, whatever its length; and one plane beside it, one that is none */
    const double p[3][6] = {{2, 0, 0, 0, 0, 2}, {1}, {0}};
    asc_plane_residual(ctx, asc_from(ctx, ASC_F64, p, ASC_SHAPE(3, 6)), &max, &rms);
    ck_assert_double_eq_tol(max, .5, 1e-15);
    ck_assert_double_eq_tol(rms, .5 / sqrt(2), 1e-15);
    /* of 91,390 quadruples of R⁴⁰ every second, in order */
    double squares = 0, most = 0;
    asc_tensor any = asc_uniform(ctx, ASC_F64, -1, 1, 5, 0, ASC_SHAPE(1, 780));
    const double *of = asc_data(any);
    double length = 0;
    for (int i = 0; i < 780; i++) {
        length += of[i] * of[i];
    }
    for (int i = 0, number = 0; i < 40; i++) {
        for (int j = i + 1; j < 40; j++) {
            for (int k = j + 1; k < 40; k++) {
                for (int l = k + 1; l < 40; l++) {
                    double residual = of[at_40(i, j)] * of[at_40(k, l)] - of[at_40(i, k)] * of[at_40(j, l)] +
                                      of[at_40(i, l)] * of[at_40(j, k)];
                    residual = number++ % 2 == 0 ? fabs(residual) / length : 0;
                    most = fmax(most, residual);
                    squares += residual * residual;
                }
            }
        }
    }
    asc_plane_residual(ctx, any, &max, &rms);
    ck_assert_double_eq_tol(max, most, 1e-15);
    ck_assert_double_eq_tol(rms, sqrt(squares / 45695), 1e-15);
    /* nothing to check */
    asc_plane_residual(ctx, asc_from(ctx, ASC_F64, p, ASC_SHAPE(6, 3)), &max, &rms);
    ck_assert_double_eq(max, 0);
    asc_plane_residual(ctx, asc_zeros(ctx, ASC_F64, ASC_SHAPE(4, 6)), &max, &rms);
    ck_assert_double_eq(rms, 0);
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
}
END_TEST

START_TEST(means)
{
    asc_tensor spectrum;
    /* twice the plane of e1 and e2, once that of e1 and e3, and a pair that is no plane */
    const double p[4][6] = {{1}, {-2}, {0, 3}, {0}};
    asc_tensor mean = asc_plane_mean(ctx, asc_from(ctx, ASC_F64, p, ASC_SHAPE(4, 6)), &spectrum);
    const double expected[4] = {1, 2. / 3, 1. / 3, 0};
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(at(spectrum, i), expected[i], 1e-15);
        for (int j = 0; j < 4; j++) {
            ck_assert_double_eq_tol(fabs(at(mean, i * 4 + j)), i == j, 1e-12);
        }
    }
    mean = asc_plane_mean(ctx, random_planes(ASC_F64, 30, 9, 3), &spectrum);
    double sum = 0;
    for (int i = 0; i < 9; i++) {
        sum += at(spectrum, i);
        ck_assert(i == 0 || at(spectrum, i) <= at(spectrum, i - 1));
    }
    ck_assert_double_eq_tol(sum, 2, 1e-13);
    mean = asc_plane_mean(ctx, asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 3)), &spectrum);
    ck_assert_double_eq(at(mean, 0) + at(mean, 4) + at(spectrum, 0), 0);
}
END_TEST

START_TEST(eigenvectors)
{
    enum { n = 17 };
    double a[n * n], v[n * n], copy[n * n];
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 1, 8, 0, ASC_SHAPE(n, n));
    for (int i = 0; i < n * n; i++) {
        copy[i] = a[i] = at(x, i) + at(x, i % n * n + i / n);
    }
    asc_symmetric_eigen(n, a, v);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double product = 0, image = 0;
            for (int k = 0; k < n; k++) {
                product += v[i * n + k] * v[j * n + k];
                image += copy[j * n + k] * v[i * n + k];
            }
            ck_assert_double_eq_tol(product, i == j, 1e-13);
            ck_assert_double_eq_tol(image, a[i * n + i] * v[i * n + j], 1e-12);
        }
    }
}
END_TEST

/* ---- attention and values ---- */

START_TEST(profiles_of_known_attention)
{
    enum { B = 2, N = 4 };
    /* head 0 looks at itself, head 1 at the first token */
    double a[B][2][N][N] = {{{{0}}}};
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < N; i++) {
            a[b][0][i][i] = 1;
            a[b][1][i][0] = 1;
        }
    }
    asc_tensor attention = asc_from(ctx, ASC_F64, a, ASC_SHAPE(B, 2, N, N));
    asc_tensor profile = asc_attention_profile(ctx, asc_cast(ctx, attention, ASC_F32));
    const double expected[4] = {0, 1, 1.5, .25};
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(at(profile, i), expected[i], 1e-12);
    }
    asc_tensor x = asc_full(ctx, ASC_F64, -3, ASC_SHAPE(B, 2, N, N));
    asc_tensor rms = asc_head_rms(ctx, x, attention);
    ck_assert_double_eq_tol(at(rms, 0), 3, 1e-15);
    ck_assert_double_eq_tol(at(rms, 1), 3, 1e-15);
    ck_assert_double_eq(at(asc_head_rms(ctx, x, asc_zeros(ctx, ASC_F64, ASC_SHAPE(B, 2, N, N))), 0), 0);
}
END_TEST

START_TEST(quantiles)
{
    const double places[] = {0, .25, .5, 1};
    double q[4];
    asc_tensor x = asc_from(ctx, ASC_F64, (double[]){3, 1, 4, 1, 5}, ASC_SHAPE(5));
    ck_assert_int_eq(asc_quantiles(ctx, x, 4, places, q), ASC_OK);
    ck_assert_double_eq(q[0], 1);
    ck_assert_double_eq(q[1], 1);
    ck_assert_double_eq(q[2], 3);
    ck_assert_double_eq(q[3], 5);
    asc_quantiles(ctx, asc_from(ctx, ASC_F64, (double[]){2, 1}, ASC_SHAPE(2)), 1, &places[1], q);
    ck_assert_double_eq(q[0], 1.25);
    asc_quantiles(ctx, asc_zeros(ctx, ASC_F64, ASC_SHAPE(0)), 1, places, q);
    ck_assert(isnan(q[0]));
    const double outside[] = {NAN, -.1, 1.5, INFINITY};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(asc_quantiles(ctx, x, 1, &outside[i], q), ASC_ERR_ARG);
        ck_assert_ptr_nonnull(strstr(asc_error_message(ctx), "quantiles: at[0] is "));
        asc_error_clear(ctx);
    }
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    double max, rms;
    asc_tensor p = asc_zeros(ctx, ASC_F64, ASC_SHAPE(4, 5)), spectrum, fine = asc_zeros(ctx, ASC_F64, ASC_SHAPE(4, 6));
    ck_assert_int_eq(asc_plane_residual(ctx, p, &max, &rms), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "plane_residual: the last dimension has 5 coordinates");
    ck_assert(asc_is_null(asc_plane_mean(ctx, p, &spectrum)) && asc_is_null(spectrum));
    expect_error_with(ASC_ERR_ARG, "plane_mean: the last dimension has 5 coordinates");
    ck_assert(asc_is_null(asc_plane_angles(ctx, p, p)));
    expect_error_with(ASC_ERR_ARG, "plane_angles: the last dimension has 5 coordinates");
    ck_assert(asc_is_null(asc_plane_angles(ctx, fine, asc_zeros(ctx, ASC_F64, ASC_SHAPE(3, 6)))));
    expect_error_with(ASC_ERR_ARG, "expected one shape");
    ck_assert(asc_is_null(asc_attention_profile(ctx, fine)));
    expect_error_with(ASC_ERR_ARG, "attention_profile");
    ck_assert(asc_is_null(asc_attention_profile(ctx, asc_null())));
    expect_error_with(ASC_ERR_ARG, "attention_profile");
    ck_assert(asc_is_null(asc_head_rms(ctx, fine, fine)));
    expect_error_with(ASC_ERR_ARG, "head_rms");
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    asc_tensor p = random_planes(ASC_F32, 6, 5, 1), attention = asc_full(ctx, ASC_F32, .25, ASC_SHAPE(1, 2, 4, 4)),
               spectrum;
    double max, rms;
    asc_status status = ASC_ERR_MEMORY;
    long n = 0;
    for (; status && n < 200; n++) {
        heap_fail_after(&memory, n);
        asc_scope_begin(ctx);
        asc_plane_residual(ctx, p, &max, &rms);
        asc_plane_angles(ctx, p, p);
        asc_plane_mean(ctx, p, &spectrum);
        asc_head_rms(ctx, attention, attention);
        asc_attention_profile(ctx, attention);
        asc_quantiles(ctx, p, 1, &(double){.5}, &max);
        asc_scope_end(ctx);
        status = asc_error(ctx);
        ck_assert(status == ASC_OK || status == ASC_ERR_MEMORY);
        asc_error_clear(ctx);
    }
    ck_assert_int_eq(status, ASC_OK);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup_one_thread, teardown);
    tcase_add_test(all, spaces_have_triangular_numbers_of_coordinates);
    tcase_add_test(all, angles_that_are_known);
    tcase_add_test(all, angles_of_random_planes);
    tcase_add_test(all, planes_with_a_common_vector);
    tcase_add_test(all, relations_hold_for_planes_only);
    tcase_add_test(all, means);
    tcase_add_test(all, eigenvectors);
    tcase_add_test(all, profiles_of_known_attention);
    tcase_add_test(all, quantiles);
    tcase_add_test(all, wrong_arguments_are_refused);
    tcase_add_test(all, every_allocation_may_fail);
    return run_suite("nn/planes", all);
}
