/* kernels/math_f64.h: elementary functions of one double: the C library's. Double is for checking. */
#ifndef KERNELS_MATH_F64_H
#define KERNELS_MATH_F64_H

#include <math.h>

#include "kernels/math_f32.h" /* power_part */

static inline double sqrt1_f64(double x)
{
    return sqrt(x);
}

static inline double rsqrt1_f64(double x)
{
    return 1.0 / sqrt(x);
}

static inline double circle1_f64(double x, int quarter)
{
    return quarter == 0 ? sin(x) : cos(x);
}

static inline double exp1_f64(double x)
{
    return exp(x);
}

static inline double exp_double1_f64(double x)
{
    return exp(x);
}

static inline double exp_gradual1_f64(double x)
{
    return exp(x);
}

static inline double expm11_f64(double x)
{
    return expm1(x);
}

static inline double decay1_f64(double x, double *less)
{
    *less = -expm1(2 * x);
    return exp(x);
}

static inline double log1_f64(double x)
{
    return log(x);
}

static inline double log_double1_f64(double x)
{
    return log(x);
}

typedef struct exponent_f64 {
    power_part part;
    double p;
} exponent_f64;

static inline exponent_f64 exponent_of_f64(power_part part, double p)
{
    return (exponent_f64){part, p};
}

static inline double power1_f64(const exponent_f64 *e, double x)
{
    if (e->part == POWER) {
        return pow(x, e->p);
    }
    if (e->part == POWER_BY_X) {
        return e->p == 0 ? 0 : e->p * pow(x, e->p - 1);
    }
    return x == 0 && e->p >= 0 ? 0 : pow(x, e->p) * log(x);
}

static inline double log1p1_f64(double x)
{
    return log1p(x);
}

/* Written with e^-|x|, which does not overflow. */
static inline double softplus1_f64(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static inline double tanh1_f64(double x)
{
    return tanh(x);
}

static inline double erf1_f64(double x)
{
    return erf(x);
}

/* Written with e^-|x|, which does not overflow. */
static inline double sigmoid1_f64(double x)
{
    double z = exp(-fabs(x));
    return (x < 0 ? z : 1.0) / (1.0 + z);
}

static inline double gate1_f64(double x)
{
    return sigmoid1_f64(x);
}

static inline double near_gate1_f64(double x)
{
    return sigmoid1_f64(x);
}

/* x σ(g) where g has the sign of x; where σ is 0, an infinity must not meet it. */
static inline double gated1_f64(double x, double g)
{
    double s = sigmoid1_f64(g);
    return s == 0 ? -0.0 : x * s;
}

static inline double silu1_f64(double x)
{
    return gated1_f64(x, x);
}

static inline double gelu_tanh1_f64(double x)
{
    return gated1_f64(x, 1.59576912160573071176 * (x + 0.044715 * x * x * x));
}

static inline double normal_cdf_f64(double x)
{
    return 0.5 * erfc(x * -0.70710678118654752440);
}

/* Beyond 40 Φ is 0 or 1, and 0 times an infinity must not arise. */
static inline double gelu1_f64(double x)
{
    return x < -40.0 ? -0.0 : x * normal_cdf_f64(x);
}

static inline double gelu_slope1_f64(double x)
{
    if (fabs(x) > 40.0) {
        return x < 0 ? 0.0 : 1.0;
    }
    return normal_cdf_f64(x) + x * (0.39894228040143267794 * exp(-0.5 * x * x));
}

/* |x|, of zeros 0. */
static inline double abs1_f64(double x)
{
    return fabs(x);
}

#endif
