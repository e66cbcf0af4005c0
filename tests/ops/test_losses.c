/* tests/ops/test_losses.c: losses, statistics over dimensions, normalisation of rows. Expected values are PyTorch's. */
#include "tests/ops/expected.h"

/* ---- losses ---- */

static asc_tensor smooth_l1(asc_ctx *c, asc_tensor x, asc_tensor t)
{
    return asc_smooth_l1(c, x, t, .5);
}

static const struct {
    asc_tensor (*op)(asc_ctx *ctx, asc_tensor x, asc_tensor t);
    double y, dx[4], dt[4];
} losses[] = {
    {asc_mse, 1.78125, {.125, -.875, 1, 0}, {-.125, .875, -1, 0}},
    {smooth_l1, .828125, {.125, -.25, .25, 0}, {-.125, .25, -.25, 0}},
    {asc_bce_with_logits, .616935149415, {.0931148328005, -.0693249652937, -.0118564682944, .125},
     {-.125, .3125, -.75, 0}},
};

START_TEST(pairs)
{
    for (int k = 0; k < 2; k++) {
        asc_tensor x = given(floats[k], VALUES(.5, -1.25, 3, 0), ASC_SHAPE(2, 2));
        asc_tensor t = given(floats[k], VALUES(.25, .5, 1, 0), ASC_SHAPE(2, 2)), y = losses[_i].op(ctx, x, t);
        expect_values(y, 1, &losses[_i].y);
        backward_of_sum(y);
        expect_values(asc_grad(x), 4, losses[_i].dx);
        expect_values(asc_grad(t), 4, losses[_i].dt);
        asc_tensor none = asc_zeros(ctx, floats[k], ASC_SHAPE(0, 3));
        ck_assert(isnan(asc_item(losses[_i].op(ctx, none, none))));
    }
}
END_TEST

/* A target that is certain costs nothing at the infinite logit that says so, and e^-x, not 0, near it. */
START_TEST(certain_targets)
{
    asc_tensor x = given(ASC_F32, VALUES(INFINITY, -INFINITY), ASC_SHAPE(2));
    asc_tensor t = given(ASC_F32, VALUES(1, 0), ASC_SHAPE(2));
    asc_tensor y = asc_bce_with_logits(ctx, x, t);
    expect_values(y, VALUES(0));
    backward_of_sum(y);
    expect_values(asc_grad(x), VALUES(0, 0));
    asc_tensor near = given(ASC_F32, VALUES(30, -30), ASC_SHAPE(2));
    ck_assert(fabs(asc_item(asc_bce_with_logits(ctx, near, t)) / exp(-30) - 1) < 1e-5);
}
END_TEST

START_TEST(divergence)
{
    for (int k = 0; k < 2; k++) {
        asc_tensor x = given(floats[k], VALUES(-.5, -1.25, -3, -.1, -2, -INFINITY), ASC_SHAPE(2, 3));
        asc_tensor t = given(floats[k], VALUES(.25, .5, .25, 1, 0, 0), ASC_SHAPE(2, 3)), y = asc_kl_div(ctx, x, t);
        expect_values(y, VALUES(.28013961458));
        backward_of_sum(y);
        expect_values(asc_grad(x), VALUES(-.125, -.25, -.125, -.5, 0, 0));
        expect_values(asc_grad(t), VALUES(.0568528194400, .778426409720, 1.30685281944, .55, 0, 0));
    }
}
END_TEST

START_TEST(smoothed_targets)
{
    for (int k = 0; k < 2; k++) {
        asc_tensor z = given(floats[k], VALUES(1, 2, .5, -1, 0, 3, 2, 2, -2), ASC_SHAPE(3, 3));
        asc_tensor targets = given(ASC_I64, VALUES(0, 2, -100), ASC_SHAPE(3));
        asc_tensor y = asc_cross_entropy_smoothed(ctx, z, targets, -100, .1);
        expect_values(y, VALUES(.873459677266));
        backward_of_sum(y);
        expect_values(asc_grad(z), VALUES(-.351054717856, .297599192939, .0534555249164, -.00809275389391,
                                          .00663964462232, .00145310927159, 0, 0, 0));
        asc_tensor plain = asc_cross_entropy(ctx, z, targets, -100, NULL);
        ck_assert_double_eq(asc_item(asc_cross_entropy_smoothed(ctx, z, targets, -100, 0)), asc_item(plain));
    }
    asc_tensor z = given(ASC_F32, VALUES(1, 2), ASC_SHAPE(1, 2)), ignored = given(ASC_I64, VALUES(-1), ASC_SHAPE(1));
    expect_values(asc_cross_entropy_smoothed(ctx, z, ignored, -1, .5), VALUES(0));
    asc_tensor out = given(ASC_F32, VALUES(1, -INFINITY, 1), ASC_SHAPE(1, 3));
    asc_tensor first = given(ASC_I64, VALUES(0), ASC_SHAPE(1));
    expect_values(asc_cross_entropy_smoothed(ctx, out, first, -1, 0), VALUES(.69314718056));
    expect_failure(asc_cross_entropy_smoothed(ctx, z, ignored, -1, 1.5),
                   "cross_entropy_smoothed: smoothing is 1.5, expected 0 to 1");
}
END_TEST

START_TEST(loss_errors)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), t = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3));
    expect_failure(asc_mse(ctx, x, t), "mse: target is f32 (3), expected f32 (2, 3), as x");
    expect_failure(asc_smooth_l1(ctx, x, x, 0), "smooth_l1: beta is 0, expected more than 0");
}
END_TEST

/* ---- statistics ---- */

static const double rows[] = {1, 2, -2, .5, 0, .5};

START_TEST(statistics)
{
    for (int k = 0; k < 2; k++) {
        asc_tensor x = given(floats[k], 6, rows, ASC_SHAPE(2, 3));
        expect_values(asc_variance(ctx, x, ASC_DIMS(1), false, 1), VALUES(13. / 3, 1. / 12));
        expect_values(asc_variance(ctx, x, ASC_DIMS(1), false, 0), VALUES(26. / 9, 1. / 18));
        expect_values(asc_variance(ctx, x, ASC_DIMS(0), true, 0), VALUES(.0625, 1, 1.5625));
        expect_values(asc_logsumexp(ctx, x, ASC_DIMS(-1), false), VALUES(2.32656264127, 1.45802008795));
        expect_values(asc_norm(ctx, x, ASC_DIMS(1), false), VALUES(3, .707106781187));
        expect_values(asc_norm(ctx, x, ASC_ALL_DIMS, false), VALUES(3.08220700148));
        expect_values(asc_cumsum(ctx, x, 1), VALUES(1, 3, 1, .5, .5, 1));
        asc_tensor y = asc_cumsum(ctx, x, 0);
        expect_values(y, VALUES(1, 2, -2, 1.5, 2, -1.5));
        backward_of_sum(y);
        expect_values(asc_grad(x), VALUES(2, 2, 2, 1, 1, 1));
    }
    expect_failure(asc_cumsum(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2)), 1),
                   "cumsum: x is f32 (2), expected to have dimension 1");
    expect_failure(asc_variance(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2)), ASC_ALL_DIMS, false, -1),
                   "variance: correction is -1, expected at least 0");
}
END_TEST

START_TEST(log_sums_of_infinities)
{
    asc_tensor x = given(ASC_F32, VALUES(-INFINITY, -INFINITY, 1, -INFINITY, INFINITY, -INFINITY, NAN, -INFINITY,
                                         1e4, 1e4), ASC_SHAPE(5, 2));
    asc_tensor y = asc_logsumexp(ctx, x, ASC_DIMS(1), false);
    expect_values(y, VALUES(-INFINITY, 1, INFINITY, NAN, 1e4 + log(2)));
    backward_of_sum(asc_slice(ctx, y, 0, 0, 2, 1));
    expect_values(asc_slice(ctx, asc_grad(x), 0, 0, 2, 1), VALUES(0, 0, 1, 0));
    expect_values(asc_logsumexp(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 0)), ASC_DIMS(1), false),
                  VALUES(-INFINITY, -INFINITY));
}
END_TEST

START_TEST(lengths)
{
    asc_tensor x = given(ASC_F64, VALUES(0, 0, 3e200, 4e200, 3e-200, 4e-200, INFINITY, -INFINITY), ASC_SHAPE(4, 2));
    asc_tensor y = asc_norm(ctx, x, ASC_DIMS(1), false);
    ck_assert(value(y, 0) == 0 && fabs(value(y, 1) / 5e200 - 1) < 1e-15 && fabs(value(y, 2) / 5e-200 - 1) < 1e-15);
    ck_assert(value(y, 3) == INFINITY);
    backward_of_sum(asc_slice(ctx, y, 0, 0, 3, 1));
    expect_values(asc_slice(ctx, asc_grad(x), 0, 0, 3, 1), VALUES(0, 0, .6, .8, .6, .8));
    expect_values(asc_norm(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 0)), ASC_DIMS(1), false), VALUES(0, 0));
    expect_values(asc_variance(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 1)), ASC_DIMS(1), false, 1), VALUES(NAN, NAN));
}
END_TEST

/* ---- rows ---- */

START_TEST(rms_norm)
{
    for (int k = 0; k < 2; k++) {
        asc_tensor x = given(floats[k], 6, rows, ASC_SHAPE(2, 3));
        asc_tensor w = given(floats[k], VALUES(1, .5, -2), ASC_SHAPE(3));
        asc_tensor y = asc_rms_norm(ctx, x, w, 1e-6);
        expect_values(y, VALUES(.577350172965, .577350172965, 2.30940069186, 1.22474119717, 0, -2.44948239435));
        backward_of_sum(y);
        expect_values(asc_grad(x), VALUES(.192450185955, -.481124887537, -.38490037191, 3.67421624312, 1.22474119717,
                                          -3.67423093992));
        expect_values(asc_grad(w), VALUES(1.80209137014, 1.15470034593, .0700408512443));
    }
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3));
    expect_values(asc_rms_norm(ctx, x, asc_null(), 1e-6), VALUES(0, 0, 0, 0, 0, 0));
    expect_failure(asc_rms_norm(ctx, x, x, 0), "rms_norm: weight is f32 (2, 3), expected f32 (3), (D)");
    expect_failure(asc_rms_norm(ctx, x, asc_null(), -1), "rms_norm: eps is -1, expected at least 0");
}
END_TEST

START_TEST(unit_vectors)
{
    asc_tensor x = given(ASC_F64, VALUES(3, -4, 1e-13, 0, 0, 0, NAN, 1), ASC_SHAPE(4, 2)), y = asc_l2_normalize(ctx, x);
    expect_values(y, VALUES(.6, -.8, 0, 0, 0, 0, NAN, NAN));
    backward_of_sum(asc_slice(ctx, y, 0, 0, 3, 1));
    expect_values(asc_slice(ctx, asc_grad(x), 0, 0, 3, 1), VALUES(.224, .168, 0, 0, 0, 0));
}
END_TEST

START_TEST(cosines)
{
    for (int k = 0; k < 2; k++) {
        asc_tensor a = given(floats[k], 6, rows, ASC_SHAPE(2, 3)), b = given(floats[k], VALUES(2, -1, 1), ASC_SHAPE(3));
        asc_tensor y = asc_cosine_similarity(ctx, a, b);
        expect_values(y, VALUES(-.272165526976, .866025403784));
        backward_of_sum(y);
        expect_values(asc_grad(a), VALUES(.302406141084, -.0756015352711, .0756015352711, .288675134595, -.57735026919,
                                          -.288675134595));
        expect_values(asc_grad(b), VALUES(.226804605813, .371142173111, -.0824670385159));
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("losses");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, pairs, 0, sizeof losses / sizeof *losses);
    tcase_add_test(t, certain_targets);
    tcase_add_test(t, divergence);
    tcase_add_test(t, smoothed_targets);
    tcase_add_test(t, loss_errors);
    tcase_add_test(t, statistics);
    tcase_add_test(t, log_sums_of_infinities);
    tcase_add_test(t, lengths);
    tcase_add_test(t, rms_norm);
    tcase_add_test(t, unit_vectors);
    tcase_add_test(t, cosines);
    return run_suite("ops/losses", t);
}
