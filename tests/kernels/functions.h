/* tests/kernels/functions.h: the functions of one float: what each is measured against, and in which units. */
#ifndef TESTS_KERNELS_FUNCTIONS_H
#define TESTS_KERNELS_FUNCTIONS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "kernels/kernels.h"

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Beyond these ends the results are zeros in float, and infinities must not meet zeros. */
static double exact_gelu(double x)
{
    return x < -40 ? -0.0 : 0.5 * x * erfc(-x * 0.70710678118654752440);
}

static double exact_gelu_slope(double x)
{
    double far = x < -30 ? -30 : x > 30 ? 30 : x;
    return 0.5 * erfc(-far * 0.70710678118654752440) + far * 0.39894228040143267794 * exp(-0.5 * far * far);
}

static double exact_silu(double x)
{
    return x < -200 ? -0.0 : x / (1 + exp(-x));
}

static double exact_gelu_tanh(double x)
{
    return x < -40 ? -0.0 : x / (1 + exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x)));
}

static double exact_softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double exact_rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double exact_reciprocal(double x)
{
    return 1 / x;
}

#define ROW(name)                                                                                                      \
    static void name##_row(const asc_kernel_table_f32 *k, float *y, const float *x, int64_t n)                         \
    {                                                                                                                  \
        k->name(y, x, n);                                                                                              \
    }                                                                                                                  \
    static void name##_wide(const asc_kernel_table_f64 *k, double *y, const double *x, int64_t n)                      \
    {                                                                                                                  \
        k->name(y, x, n);                                                                                              \
    }
ROW(exp)
ROW(expm1)
ROW(log)
ROW(log1p)
ROW(softplus)
ROW(tanh)
ROW(sigmoid)
ROW(erf)
ROW(sin)
ROW(cos)
ROW(sqrt)
ROW(rsqrt)
ROW(silu)
ROW(gelu_tanh)
ROW(gelu)
#undef ROW

/* Powers by a constant: one that is no integer, and an odd one, of numbers below 0. */
static double exact_pow(double x)
{
    return pow(x, -1.7);
}

static double exact_cube(double x)
{
    return pow(x, 3);
}

static void pow_row(const asc_kernel_table_f32 *k, float *y, const float *x, int64_t n)
{
    k->pow(y, x, NULL, -1.7, n);
}

static void pow_wide(const asc_kernel_table_f64 *k, double *y, const double *x, int64_t n)
{
    k->pow(y, x, NULL, -1.7, n);
}

static void cube_row(const asc_kernel_table_f32 *k, float *y, const float *x, int64_t n)
{
    k->pow(y, x, NULL, 3, n);
}

static void cube_wide(const asc_kernel_table_f64 *k, double *y, const double *x, int64_t n)
{
    k->pow(y, x, NULL, 3, n);
}

static void exp_shift_row(const asc_kernel_table_f32 *k, float *y, const float *x, int64_t n)
{
    k->exp_shift(y, x, 0, n);
}

/* The sigmoid of a gate between two numbers is left in place of its argument. */
static void gate_row(const asc_kernel_table_f32 *k, float *y, const float *x, int64_t n)
{
    enum { PART = 1024 };
    static const float zeros[PART];
    float between[PART];
    memcpy(y, x, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i += PART) {
        k->gate(between, y + i, zeros, zeros, n - i < PART ? n - i : PART);
    }
}

static void gelu_slope_row(const asc_kernel_table_f32 *k, float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = 1;
    }
    k->gelu_grad(y, x, y, n, true);
}

/* A row primitive, of which there is one for each instruction set, or an op whose own loop is compiled once. */
typedef struct function {
    const char *name;
    double (*exact)(double x);
    void (*row)(const asc_kernel_table_f32 *k, float *y, const float *x, int64_t n);
    void (*wide)(const asc_kernel_table_f64 *k, double *y, const double *x, int64_t n); /* the row in double, or NULL */
    asc_tensor (*op)(asc_ctx *ctx, asc_tensor x);
    double scale; /* errors are counted in units in the last place of numbers of this size at least */
    bool flushes; /* results below 2^-126 are 0 */
    double most;  /* the largest error allowed in these units; 0 for 2 */
} function;

#define ROW(name) .row = name##_row, .wide = name##_wide
static const function functions[] = {
    {"exp", exp, ROW(exp)},
    {"expm1", expm1, ROW(expm1)},
    {"log", log, ROW(log)},
    {"log1p", log1p, ROW(log1p)},
    {"softplus", exact_softplus, ROW(softplus)},
    {"tanh", tanh, ROW(tanh)},
    {"sigmoid", exact_sigmoid, ROW(sigmoid)},
    {"erf", erf, ROW(erf)},
    {"silu", exact_silu, ROW(silu)},
    {"gelu_tanh", exact_gelu_tanh, ROW(gelu_tanh)},
    {"gelu", exact_gelu, ROW(gelu), .most = 5},
    {"gelu_slope", exact_gelu_slope, .row = gelu_slope_row, .scale = 0x1p-6, .most = 4}, /* 0 near -0.75 */
    {"exp_shift", exp, .row = exp_shift_row, .flushes = true},
    {"gate", exact_sigmoid, .row = gate_row, .flushes = true},
    {"sin", sin, ROW(sin), .most = 1},
    {"cos", cos, ROW(cos), .most = 1},
    {"sqrt", sqrt, ROW(sqrt), .most = 0.5},
    {"rsqrt", exact_rsqrt, ROW(rsqrt), .most = 0.51},
    {"pow", exact_pow, ROW(pow), .most = 0.55},
    {"cube", exact_cube, ROW(cube), .most = 0.55},
    {"reciprocal", exact_reciprocal, .op = asc_reciprocal},
};
#undef ROW
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* The error in units in the last place of a float of want's size; 0 for the right infinity, NaN or zero. */
static double error_ulp(const function *f, float got, double want)
{
    if (isnan(want) || isinf((float)want) || want == 0) {
        return isnan(want) == !!isnan(got) && (isnan(got) || got == (float)want) ? 0 : INFINITY;
    }
    if (f->flushes && got == 0 && fabs(want) < 0x1p-126) {
        return 0;
    }
    int exponent;
    frexp(fmax(fabs(want), f->scale), &exponent);
    return fabs(got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static double error_limit(const function *f)
{
    return f->most > 0 ? f->most : 2;
}

#endif
