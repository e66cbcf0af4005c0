/*
 * kernels/math_f32.h: elementary functions of one float, for loops that the compiler vectorises.
 *
 * They have no branches and no table, only operations that IEEE 754 rounds correctly, so that every
 * instruction set gives the same bits. The polynomials are minimax fits (Remez) of the relative error.
 */
#ifndef KERNELS_MATH_F32_H
#define KERNELS_MATH_F32_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float from_bits_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline uint64_t bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double from_bits_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float sqrt1_f32(float x)
{
    return sqrtf(x);
}

/* The magnitude `a`, >= 0 or NaN, with the sign of x. */
static inline float with_sign_f32(float a, float x)
{
    return from_bits_f32(bits_f32(a) | (bits_f32(x) & 0x80000000u));
}

/* e^x = 2^k e^r with |r| <= ln 2 / 2 (Cody and Waite, Software Manual for the Elementary Functions, 1980).
 * Adding 1.5·2^23 rounds to an integer, and leaves it in the low bits. ln 2 is split so that k times the
 * first part is exact. Gives e^r, and k where a float has its exponent. */
static inline float exp_parts_f32(float x, uint32_t *k_bits)
{
    float shifted = x * 1.44269504f + 0x1.8p23f;
    float k = shifted - 0x1.8p23f;
    float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
    float q = 0.00138383219f;
    q = q * r + 0.00836916547f;
    q = q * r + 0.0416681021f;
    q = q * r + 0.166665167f;
    q = q * r + 0.49999994f;
    *k_bits = bits_f32(shifted) << 23;
    return q * (r * r) + r + 1.0f;
}

/* e^x, where results that are not normal numbers become 0: gradual underflow is slow on some processors, and a
 * softmax is full of it. */
static inline float exp1_f32(float x)
{
    uint32_t k;
    float p = exp_parts_f32(x, &k);
    float y = from_bits_f32(bits_f32(p) + k);
    y = x <= 88.7228317f ? y : x + INFINITY; /* NaN stays NaN */
    return x < -87.3365402f ? 0.0f : y;
}

/* e^x, with gradual underflow: small results are put together 2^64 times as large. Below the last bound they are
 * under half the smallest float. */
static inline float exp_gradual1_f32(float x)
{
    uint32_t k;
    float p = exp_parts_f32(x, &k);
    uint32_t raise = x < -80.0f ? (uint32_t)64 << 23 : 0;
    float y = from_bits_f32(bits_f32(p) + k + raise) * (x < -80.0f ? 0x1p-64f : 1.0f);
    y = x <= 88.7228317f ? y : x + INFINITY; /* NaN stays NaN */
    return x < -103.972084f ? 0.0f : y;
}

/* 1/(1 + e^-x), where results that are not normal numbers become 0: faster than sigmoid1_f32, and less exact. With
 * e = e^-|x| it is 1/s or e/s, s = 1 + e; what the rounding of s lost is put back: y/(1 + lost/s) = y - y lost/s. */
static inline float gate1_f32(float x)
{
    float e = exp1_f32(-fabsf(x)), s = 1.0f + e, lost = e - (s - 1.0f);
    float y = (x < 0 ? e : 1.0f) / s;
    return y - y * (lost * (x < 0 ? 1.0f - y : y));
}

static inline float tanh1_f32(float x)
{
    float a = fabsf(x), z = a * a;
    float q = -0.00569229666f;
    q = q * z + 0.0206281673f;
    q = q * z + -0.0537365153f;
    q = q * z + 0.133314058f;
    q = q * z + -0.333332807f;
    float small = a + a * (z * q);
    float large = 1.0f - 2.0f / (exp1_f32(2.0f * a) + 1.0f);
    return with_sign_f32(a < 0.625f ? small : large, x);
}

/* erf x = x + x q(x²) up to 1, 1 - e^-q(x) beyond it. */
static inline float erf1_f32(float x)
{
    float a = fabsf(x), z = a * a;
    float s = 7.80690389e-05f;
    s = s * z + -0.00079978531f;
    s = s * z + 0.0051871622f;
    s = s * z + -0.0268533472f;
    s = s * z + 0.112835787f;
    s = s * z + -0.37612626f;
    s = s * z + 0.128379166f;
    float small = a + a * s;
    float b = a > 4.0f ? 4.0f : a; /* 1 - erf 4 < 2^-25 */
    float t = -0.000186378238f;
    t = t * b + 0.00294764293f;
    t = t * b + -0.0218379889f;
    t = t * b + 0.103106603f;
    t = t * b + 0.63814497f;
    t = t * b + 1.12708914f;
    t = t * b + 0.000341523933f;
    float large = 1.0f - exp1_f32(-t);
    return with_sign_f32(a < 1.0f ? small : large, x);
}

/*
 * The functions below are computed in double, of which 9 digits are enough, so that it costs little: the
 * lower tail of Φ needs x² to more than 24 bits, and in float a few rounding errors in a row would already
 * exceed 2 units in the last place.
 */

/* e^x for |x| <= 700, relative error 2e-9; NaN for a NaN that was a float. */
static inline double exp_wide(double x)
{
    double shifted = x * 1.4426950408889634 + 0x1.8p52;
    double k = shifted - 0x1.8p52;
    double r = x - k * 0.6931471805599453;
    double s = 0.0013836835971467489;
    s = s * r + 0.008374824091435733;
    s = s * r + 0.041668226185604784;
    s = s * r + 0.16666420071558924;
    s = s * r + 0.49999992075111555;
    s = s * r + 1.0000000363448398;
    s = s * r + 1.000000000554597;
    return from_bits_f64(bits_f64(s) + (bits_f64(shifted) << 52));
}

/* x between -limit and limit; NaN stays NaN. */
static inline double clamp_wide(double x, double limit)
{
    double low = x < -limit ? -limit : x;
    return low > limit ? limit : low;
}

/* Below -110 the result is under half the smallest float. */
static inline float sigmoid1_f32(float x)
{
    return (float)(1.0 / (1.0 + exp_wide(-clamp_wide(x, 110.0))));
}

/* x σ(x); beyond 110 the result is x, or under half the smallest float: -∞ gives -0. */
static inline float silu1_f32(float x)
{
    double near = clamp_wide(x, 110.0);
    return (float)((x > 0 ? (double)x : near) / (1.0 + exp_wide(-near)));
}

/* x (1 + tanh u)/2 = x σ(2u) with u = √(2/π) (x + 0.044715 x³); beyond 11 as above. */
static inline float gelu_tanh1_f32(float x)
{
    double near = clamp_wide(x, 11.0);
    double twice_u = 1.5957691216057308 * (near + 0.044715 * (near * near * near));
    return (float)((x > 0 ? (double)x : near) / (1.0 + exp_wide(-twice_u)));
}

/* Φ(x) and e = e^(-x²/2), |x| <= 15: Φ(-a) = e R(a), a >= 0, with a rational fit R of Mills' ratio / √2π. */
static inline double normal_cdf(double x, double *e)
{
    double a = fabs(x);
    *e = exp_wide(-0.5 * a * a);
    double p = 0.004153323950590908;
    p = p * a + 0.04088174350132387;
    p = p * a + 0.18397092761510947;
    p = p * a + 0.4392857783651599;
    p = p * a + 0.5000000031522531;
    double q = 0.010410727592122918;
    q = q * a + 0.10248145023445468;
    q = q * a + 0.4714134279560128;
    q = q * a + 1.2055556051449532;
    q = q * a + 1.6764565637836493;
    q = q * a + 1.0;
    double tail = *e * (p / q);
    return x < 0 ? tail : 1.0 - tail;
}

/* x Φ(x); beyond 15 the result is x, or under half the smallest float: -∞ gives -0. */
static inline float gelu1_f32(float x)
{
    double e, near = clamp_wide(x, 15.0);
    return (float)((x > 15.0f ? (double)x : near) * normal_cdf(near, &e));
}

/* The derivative of x Φ(x): Φ(x) + x φ(x). */
static inline float gelu_slope1_f32(float x)
{
    double e, near = clamp_wide(x, 15.0);
    double cdf = normal_cdf(near, &e);
    return (float)(cdf + near * (0.3989422804014327 * e));
}

#endif
