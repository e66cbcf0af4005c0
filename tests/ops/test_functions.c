/* tests/ops/test_functions.c: functions of one element, powers, choices between two tensors. Expected values are
 * PyTorch's, unless they follow from the mathematics. */
#include "tests/ops/expected.h"

enum { POINTS = 4 };

typedef struct function {
    asc_tensor (*op)(asc_ctx *ctx, asc_tensor x);
    double at[POINTS], y[POINTS], slope[POINTS];
    double of_zero, of_infinity, of_minus_infinity;
} function;

#define AROUND_ZERO {-2, -.5, .75, 3}
#define POSITIVE {.25, .5, 2, 3}

static const function functions[] = {
    {asc_sin, AROUND_ZERO, {-.909297426826, -.479425538604, .681638760023, .14112000806},
     {-.416146836547, .87758256189, .731688868874, -.9899924966}, 0, NAN, NAN},
    {asc_cos, AROUND_ZERO, {-.416146836547, .87758256189, .731688868874, -.9899924966},
     {.909297426826, .479425538604, -.681638760023, -.14112000806}, 1, NAN, NAN},
    {asc_erf, AROUND_ZERO, {-.995322265019, -.520499877813, .711155633654, .999977909503},
     {.0206669853541, .878782578935, .642931069195, .000139253051947}, 0, 1, -1},
    {asc_softplus, AROUND_ZERO, {.126928011043, .47407698418, 1.13687100611, 3.04858735157},
     {.119202922022, .377540668798, .679178699175, .952574126822}, .693147180560, INFINITY, 0},
    {asc_silu, AROUND_ZERO, {-.238405844044, -.188770334399, .509384024382, 2.85772238047},
     {-.0907842487849, .260038812697, .842599944497, 1.08810410602}, 0, INFINITY, 0},
    {asc_gelu_tanh, AROUND_ZERO, {-.0454023059122, -.154285990175, .579960555166, 2.99636260792},
     {-.0860992566236, .132630096465, .998938256137, 1.01158416663}, 0, INFINITY, 0},
    {asc_expm1, AROUND_ZERO, {-.864664716763, -.393469340287, 1.11700001661, 19.0855369232},
     {.135335283237, .606530659713, 2.11700001661, 20.0855369232}, 0, INFINITY, -1},
    {asc_reciprocal, AROUND_ZERO, {-.5, -2, 4. / 3, 1. / 3}, {-.25, -4, -16. / 9, -1. / 9}, INFINITY, 0, 0},
    {asc_log1p, POSITIVE, {.223143551314, .405465108108, 1.09861228867, 1.38629436112},
     {.8, 2. / 3, 1. / 3, .25}, 0, INFINITY, NAN},
    {asc_rsqrt, POSITIVE, {2, 1.41421356237, .707106781187, .57735026919},
     {-4, -1.41421356237, -.176776695297, -.0962250448649}, INFINITY, 0, NAN},
};

START_TEST(functions_and_slopes)
{
    const function *f = &functions[_i];
    for (int k = 0; k < 2; k++) {
        asc_tensor x = given(floats[k], POINTS, f->at, ASC_SHAPE(POINTS)), y = f->op(ctx, x);
        expect_values(y, POINTS, f->y);
        backward_of_sum(y);
        expect_values(asc_grad(x), POINTS, f->slope);
        asc_tensor ends = given(floats[k], VALUES(0, INFINITY, -INFINITY, NAN), ASC_SHAPE(4));
        expect_values(f->op(ctx, ends), VALUES(f->of_zero, f->of_infinity, f->of_minus_infinity, NAN));
    }
}
END_TEST

/* Where e^x overflows or underflows, and where a formula written down plainly would lose all its digits. */
START_TEST(far_out)
{
    for (int k = 0; k < 2; k++) {
        asc_tensor x = given(floats[k], VALUES(-1000, -90, 90, 1000), ASC_SHAPE(4));
        asc_tensor y = asc_softplus(ctx, x);
        expect_values(y, VALUES(0, 0, 90, 1000));
        ck_assert(k == 0 || value(y, 1) > 0); /* 8e-40, below f32's normal numbers */
        backward_of_sum(asc_add(ctx, y, asc_add(ctx, asc_silu(ctx, x), asc_gelu_tanh(ctx, x))));
        expect_values(asc_grad(x), VALUES(0, 0, 3, 3));
        asc_tensor small = given(floats[k], VALUES(1e-12, -1e-12), ASC_SHAPE(2));
        asc_tensor e = asc_expm1(ctx, small), l = asc_log1p(ctx, small);
        ck_assert(fabs(value(e, 0) * 1e12 - 1) < 1e-6 && fabs(value(l, 1) * 1e12 + 1) < 1e-6);
    }
    asc_tensor low = given(ASC_F64, VALUES(-6), ASC_SHAPE(1)); /* tanh is -1 here to all of f32's digits */
    ck_assert(fabs(value(asc_gelu_tanh(ctx, low), 0) / -8.43965e-11 - 1) < 1e-4);
}
END_TEST

START_TEST(slopes_at_infinity)
{
    asc_tensor x = given(ASC_F32, VALUES(-INFINITY, INFINITY), ASC_SHAPE(2));
    backward_of_sum(asc_silu(ctx, x));
    expect_values(asc_grad(x), VALUES(0, 1));
    asc_zero_grad(x);
    backward_of_sum(asc_gelu_tanh(ctx, x));
    expect_values(asc_grad(x), VALUES(0, 1));
}
END_TEST

/* ---- powers and clamp ---- */

START_TEST(powers)
{
    for (int k = 0; k < 2; k++) {
        asc_tensor x = given(floats[k], VALUES(.25, .5, 2, 3), ASC_SHAPE(4)), y = asc_pow_scalar(ctx, x, -1.5);
        expect_values(y, VALUES(8, 2.82842712475, .353553390593, .19245008973));
        backward_of_sum(y);
        expect_values(asc_grad(x), VALUES(-48, -8.48528137424, -.265165042945, -.0962250448649));
        asc_tensor b = given(floats[k], VALUES(2, 3), ASC_SHAPE(2, 1));
        asc_tensor p = given(floats[k], VALUES(0, 1, 2), ASC_SHAPE(3));
        y = asc_pow(ctx, b, p);
        expect_shape(y, ASC_SHAPE(2, 3));
        expect_values(y, VALUES(1, 2, 4, 1, 3, 9));
        backward_of_sum(y);
        expect_values(asc_grad(b), VALUES(5, 7));
        expect_values(asc_grad(p), VALUES(1.79175946923, 4.68213122712, 12.6600993203));
    }
}
END_TEST

START_TEST(powers_of_zero)
{
    asc_tensor x = given(ASC_F64, VALUES(0, 0, 0, -2, -2), ASC_SHAPE(5));
    asc_tensor p = given(ASC_F64, VALUES(0, 1, 3, 2, .5), ASC_SHAPE(5)), y = asc_pow(ctx, x, p);
    expect_values(y, VALUES(1, 0, 0, 4, NAN));
    backward_of_sum(y);
    expect_values(asc_grad(x), VALUES(0, 1, 0, -4, NAN));
    expect_values(asc_grad(p), VALUES(0, 0, 0, NAN, NAN));
    expect_values(asc_pow_scalar(ctx, x, 0), VALUES(1, 1, 1, 1, 1));
}
END_TEST

START_TEST(clamp)
{
    asc_tensor x = given(ASC_F32, VALUES(-3, -1, 0, 2, 5, NAN, INFINITY), ASC_SHAPE(7)), y = asc_clamp(ctx, x, -1, 2);
    expect_values(y, VALUES(-1, -1, 0, 2, 2, NAN, 2));
    backward_of_sum(y);
    expect_values(asc_grad(x), VALUES(0, 1, 1, 1, 0, 0, 0));
    expect_values(asc_clamp(ctx, x, -INFINITY, 0), VALUES(-3, -1, 0, 0, 0, NAN, 0));
    expect_failure(asc_clamp(ctx, x, 1, -1), "clamp: lo is 1, hi is -1, expected lo <= hi");
    expect_failure(asc_clamp(ctx, x, NAN, 1), "clamp: lo is nan, hi is 1, expected lo <= hi");
    expect_failure(asc_soft_cap(ctx, x, 1e39),
                   "soft_cap: cap is 1e+39, expected 1.17549e-38 to 8.50706e+37 in f32");
    expect_failure(asc_soft_cap(ctx, x, 1e-39),
                   "soft_cap: cap is 1e-39, expected 1.17549e-38 to 8.50706e+37 in f32");
}
END_TEST

/* ---- choices ---- */

START_TEST(larger_and_smaller)
{
    for (int k = 0; k < 2; k++) {
        asc_tensor a = given(floats[k], VALUES(1, 2, NAN, 4, -INFINITY), ASC_SHAPE(5));
        asc_tensor b = given(floats[k], VALUES(2, 2, 1, NAN, 0), ASC_SHAPE(5)), y = asc_maximum(ctx, a, b);
        expect_values(y, VALUES(2, 2, NAN, NAN, 0));
        backward_of_sum(y);
        expect_values(asc_grad(a), VALUES(0, .5, 1, 0, 0));
        expect_values(asc_grad(b), VALUES(1, .5, 0, 1, 1));
        expect_values(asc_minimum(ctx, a, b), VALUES(1, 2, NAN, NAN, -INFINITY));
    }
}
END_TEST

/* Broadcasting, and an input of any strides, against the plainest loop. */
START_TEST(where_broadcasts)
{
    asc_tensor a = random_leaf(ASC_F64, 1, ASC_SHAPE(5, 3)), b = random_leaf(ASC_F64, 2, ASC_SHAPE(4, 1, 1));
    asc_tensor mask = given(ASC_U8, VALUES(1, 0, 7, 0, 1), ASC_SHAPE(5));
    asc_tensor y = asc_where(ctx, mask, asc_transpose(ctx, a, 0, 1), b), dy = run_backward(y);
    expect_shape(y, ASC_SHAPE(4, 3, 5));
    double da[15] = {0}, db[4] = {0};
    for (int64_t i = 0; i < 60; i++) {
        int64_t n = i / 15, r = i / 5 % 3, c = i % 5;
        bool first = value(mask, c) != 0;
        ck_assert_double_eq(value(y, i), first ? value(a, c * 3 + r) : value(b, n));
        *(first ? &da[c * 3 + r] : &db[n]) += value(dy, i);
    }
    for (int i = 0; i < 15; i++) {
        expect_close(asc_grad(a), i, da[i], 4);
    }
    for (int i = 0; i < 4; i++) {
        expect_close(asc_grad(b), i, db[i], 8);
    }
}
END_TEST

/* What is not chosen does not matter, however bad it is. */
START_TEST(masked_fill)
{
    asc_tensor x = given(ASC_F32, VALUES(1, NAN, INFINITY, 4, 5, 6), ASC_SHAPE(2, 3));
    asc_tensor mask = given(ASC_U8, VALUES(0, 1, 1), ASC_SHAPE(3)), y = asc_masked_fill(ctx, x, mask, -2);
    expect_values(y, VALUES(1, -2, -2, 4, -2, -2));
    asc_tensor dy = given(ASC_F32, VALUES(1, INFINITY, NAN, 2, 3, 4), ASC_SHAPE(2, 3));
    ck_assert_int_eq(asc_backward(ctx, y, dy, false), ASC_OK);
    expect_values(asc_grad(x), VALUES(1, 0, 0, 2, 0, 0));
    expect_values(asc_masked_fill(ctx, x, mask, -INFINITY), VALUES(1, -INFINITY, -INFINITY, 4, -INFINITY, -INFINITY));
}
END_TEST

START_TEST(errors)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), i = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 3));
    asc_tensor wide = asc_zeros(ctx, ASC_F32, ASC_SHAPE(4)), m = asc_zeros(ctx, ASC_U8, ASC_SHAPE(4, 2, 3));
    expect_failure(asc_silu(ctx, i), "silu: x is i64 (2, 3), expected f32 or f64");
    expect_failure(asc_maximum(ctx, x, wide), "maximum: b is f32 (4), expected a shape that broadcasts with (2, 3)");
    expect_failure(asc_pow(ctx, x, i), "pow: p is i64 (2, 3), expected f32 or f64");
    expect_failure(asc_where(ctx, x, x, x), "where: mask is f32 (2, 3), expected u8");
    expect_failure(asc_masked_fill(ctx, x, m, 0),
                   "masked_fill: mask is u8 (4, 2, 3), expected u8 of a shape that broadcasts to (2, 3)");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("functions");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, functions_and_slopes, 0, sizeof functions / sizeof *functions);
    tcase_add_test(t, far_out);
    tcase_add_test(t, slopes_at_infinity);
    tcase_add_test(t, powers);
    tcase_add_test(t, powers_of_zero);
    tcase_add_test(t, clamp);
    tcase_add_test(t, larger_and_smaller);
    tcase_add_test(t, where_broadcasts);
    tcase_add_test(t, masked_fill);
    tcase_add_test(t, errors);
    return run_suite("ops/functions", t);
}
