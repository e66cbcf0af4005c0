/*
 * kernels/math_f32.h: elementary functions of one float, for loops that the compiler vectorises.
 *
 * They have no branches and no table, only operations that IEEE 754 rounds correctly, so that every
 * instruction set gives the same bits. The polynomials are minimax fits (Remez) of the relative error.
 */
#ifndef KERNELS_MATH_F32_H
#define KERNELS_MATH_F32_H

#include <math.h>
#include <stdbool.h>
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

/* (e^r - 1 - r)/r² for |r| <= ln 2 / 2. */
static inline float exp_curve_f32(float r)
{
    float q = 0.00138383219f;
    q = q * r + 0.00836916547f;
    q = q * r + 0.0416681021f;
    q = q * r + 0.166665167f;
    return q * r + 0.49999994f;
}

/* e^x = 2^k e^r with |r| <= ln 2 / 2 (Cody and Waite, Software Manual for the Elementary Functions, 1980).
 * Adding 1.5·2^23 rounds to an integer, and leaves it in the low bits. ln 2 is split so that k times the
 * first part is exact. Gives e^r - 1, and k where a float has its exponent. */
static inline float exp_less1_f32(float x, uint32_t *k_bits)
{
    float shifted = x * 1.44269504f + 0x1.8p23f;
    float k = shifted - 0x1.8p23f;
    float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
    *k_bits = bits_f32(shifted) << 23;
    return exp_curve_f32(r) * (r * r) + r;
}

static inline float exp_parts_f32(float x, uint32_t *k_bits)
{
    return exp_less1_f32(x, k_bits) + 1.0f;
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

/* e^x - 1 = 2^k (e^r - 1) + 2^k - 1, put together half as large: 2^128 is no float. */
static inline float expm11_f32(float x)
{
    uint32_t k;
    float s = exp_less1_f32(x < -30.0f ? -30.0f : x, &k);
    float half = from_bits_f32(bits_f32(0.5f) + k);
    float y = 2.0f * (half * s + (half - 0.5f));
    y = x <= 88.7228317f ? y : x + INFINITY; /* NaN stays NaN */
    return with_sign_f32(fabsf(y), x);
}

/* a = e^x and 1 - a² = -E (E + 2) with E = e^x - 1, x <= 0, from one polynomial; 0 and 1 below -87. */
static inline float decay1_f32(float x, float *less)
{
    uint32_t k;
    float s = exp_less1_f32(x < -87.0f ? -87.0f : x, &k);
    float two_k = from_bits_f32(bits_f32(1.0f) + k), E = two_k * s + (two_k - 1.0f);
    *less = -(E * (E + 2.0f));
    return x < -87.0f ? 0.0f : two_k * (s + 1.0f);
}

/* A normal number y > 0 is m 2^k, √½ <= m < √2; gives m. */
static inline float split_f32(float y, float *k)
{
    const uint32_t least = 0x3f3504f3; /* √½ */
    uint32_t u = bits_f32(y) - least + bits_f32(1.0f);
    *k = (float)((int32_t)(u >> 23) - 127);
    return from_bits_f32((u & 0x7fffffu) + least);
}

/* log((1 + f) 2^k) = f - f²/2 + f³ P(f) + k ln 2 where 1 + f is as m above, added from the smallest term on. P's even
 * and odd powers are apart, which don't wait for each other. */
static inline float log_parts_f32(float f, float k)
{
    float z = f * f;
    float odd = -0.076465793f;
    odd = odd * z + -0.131569028f;
    odd = odd * z + -0.166233152f;
    odd = odd * z + -0.250008225f;
    float even = 0.127613738f;
    even = even * z + 0.142010331f;
    even = even * z + 0.20001258f;
    even = even * z + 0.333333313f;
    float small = (odd * f + even) * (z * f) + k * -2.12194440e-4f;
    return ((small - 0.5f * z) + f) + k * 0.693359375f;
}

static inline float log1_f32(float x)
{
    bool tiny = x < 0x1p-126f;
    float k, m = split_f32(tiny ? x * 0x1p23f : x, &k);
    float y = log_parts_f32(m - 1.0f, tiny ? k - 23.0f : k);
    float edge = x == 0 ? -INFINITY : NAN;
    y = x < INFINITY ? y : x;
    return x > 0 ? y : edge;
}

/* log(u + lost), u > 0, where the second is what rounding took from the first. */
static inline float log_sum_f32(float u, float lost)
{
    float k, m = split_f32(u, &k);
    return log_parts_f32((m - 1.0f) + lost * (m / u), k);
}

static inline float log1p1_f32(float x)
{
    float u = 1.0f + x, lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
    float y = with_sign_f32(fabsf(log_sum_f32(u, lost)), x);
    float edge = x == -1.0f ? -INFINITY : NAN;
    y = x < INFINITY ? y : x;
    return x > -1.0f ? y : edge;
}

/* log(1 + e^x) = max(x, 0) + log(1 + e), e = e^-|x|. */
static inline float softplus1_f32(float x)
{
    float e = exp_gradual1_f32(-fabsf(x)), u = 1.0f + e;
    return (x > 0 ? x : 0.0f) + log_sum_f32(u, e - (u - 1.0f));
}

/* 1/(1 + e^-x), where results that are not normal numbers become 0: faster than sigmoid1_f32, and less exact. With
 * e = e^-|x| it is 1/s or e/s, s = 1 + e; what the rounding of s lost is put back: y/(1 + lost/s) = y - y lost/s. */
static inline float gate1_f32(float x)
{
    float e = exp1_f32(-fabsf(x)), s = 1.0f + e, lost = e - (s - 1.0f);
    float y = (x < 0 ? e : 1.0f) / s;
    return y - y * (lost * (x < 0 ? 1.0f - y : y));
}

/* The same with one division and without putting back what was lost: within 3 units in the last place. */
static inline float near_gate1_f32(float x)
{
    float e = exp1_f32(-fabsf(x)), y = 1.0f / (1.0f + e);
    return x < 0 ? e * y : y;
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
 * The functions below are computed in double, of which 9 digits are enough, so that it costs little: in float
 * a few rounding errors in a row would already exceed 2 units in the last place.
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

/* e^x to 2e-9 for any x, held to ±700: exp_wide with its terms in pairs, which don't wait for each other. */
static inline double exp_double1_f32(double x)
{
    double at = clamp_wide(x, 700.0), shifted = at * 1.4426950408889634 + 0x1.8p52;
    double r = at - (shifted - 0x1.8p52) * 0.6931471805599453, z = r * r;
    double first = 1.0000000363448398 * r + 1.000000000554597;
    double second = 0.16666420071558924 * r + 0.49999992075111555;
    double third = 0.0013836835971467489 * z + (0.008374824091435733 * r + 0.041668226185604784);
    double s = (third * z + second) * z + first;
    return from_bits_f64(bits_f64(s) + (bits_f64(shifted) << 52));
}

/* A real x is ±m 2^k, √½ <= m < √2. log m = s P(s²), s = (m - 1)/(m + 1), to 5e-12: with exp_wide that is enough for
 * powers, whose logarithm is below 104 where they are floats. */
static inline double log_size_wide(double x)
{
    const uint64_t least = 0x3fe6a09e667f3bcd; /* √½ */
    uint64_t u = bits_f64(fabs(x)) - least + bits_f64(1.0);
    double k = from_bits_f64(u >> 52 | bits_f64(0x1p52)) - (0x1p52 + 1023.0);
    double m = from_bits_f64((u & 0xfffffffffffff) + least), s = (m - 1.0) / (m + 1.0), z = s * s;
    double first = 0.66666665246909170 * z + 2.0000000000083626;
    double second = 0.23616504340882324 * (z * z) + (0.28535043570036095 * z + 0.40000384790000010);
    return k * 0.6931471805599453 + s * (second * (z * z) + first);
}

/* log x in double. */
static inline double log_double1_f32(float x)
{
    double y = log_size_wide((double)x), edge = x == 0 ? -INFINITY : NAN;
    y = x < INFINITY ? y : (double)x;
    return x > 0 ? y : edge;
}

/* x^p or one of its derivatives, p x^(p - 1), 0 where p = 0, and x^p log x, 0 where x = 0 and p >= 0. */
typedef enum power_part { POWER, POWER_BY_X, POWER_BY_P } power_part;

/* Exponents below which powers are computed here: one more than an integer is no integer. */
#define POWER_LIMIT 0x1p51

/* What is to know of p, taken out of loops over x: factor |x|^p, its sign, and what it is where x is 0 or below. */
typedef struct exponent_f32 {
    power_part part;
    double p, factor, at_zero, below_zero, log_at_zero;
    uint64_t odd;
} exponent_f32;

static inline exponent_f32 exponent_of_f32(power_part part, double p)
{
    double power = part == POWER_BY_X ? p - 1.0 : p, shifted = power + 0x1.8p52;
    bool whole = shifted - 0x1.8p52 == power, none = part == POWER_BY_X ? p == 0 : (part == POWER_BY_P) & (p >= 0);
    double at_zero = power > 0 ? 0.0 : INFINITY;
    at_zero = power == 0 ? 1.0 : at_zero;
    exponent_f32 e = {.part = part, .p = power, .factor = part == POWER_BY_X ? p : 1.0};
    e.at_zero = none ? 0.0 : at_zero;
    e.below_zero = whole ? 1.0 : NAN;
    e.log_at_zero = none ? 0.0 : -INFINITY;
    e.odd = (whole & !none) ? bits_f64(shifted) & 1 : 0;
    return e;
}

/* To 4e-9, for a real x and |p| < POWER_LIMIT, as by the C library's pow, for x of either sign and 0. */
static inline double power1_f32(const exponent_f32 *e, float x)
{
    double log_size = log_size_wide((double)x), y = exp_double1_f32(e->p * log_size);
    y = x == 0 ? e->at_zero : y;
    y *= x < 0 ? e->below_zero : 1.0;
    y = from_bits_f64(bits_f64(y) ^ ((bits_f64((double)x) >> 63) & e->odd) << 63);
    if (e->part == POWER_BY_P) {
        double log_x = x < 0 ? NAN : log_size;
        return y * (x == 0 ? e->log_at_zero : log_x);
    }
    return e->part == POWER_BY_X ? e->factor * y : y;
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

/* Arguments up to which sin and cos are computed here: k below has 19 bits. */
#define CIRCLE_LIMIT 524288.0

/* sin x, or cos x for a quarter of 1, |x| <= CIRCLE_LIMIT. x = k π/2 + r, |r| <= π/4 (Cody and Waite): k times the
 * first part of π/2, of 33 bits, is exact. */
static inline float circle1_f32(float x, int quarter)
{
    double shifted = (double)x * 0.63661977236758134 + 0x1.8p52, k = shifted - 0x1.8p52;
    double r = ((double)x - k * 0x1.921fb544p+0) - k * 0x1.0b4611a626331p-34, z = r * r;
    double s = -2.5052108385441720e-08;
    s = s * z + 2.7557319223985893e-06;
    s = s * z + -1.9841269841269841e-04;
    s = s * z + 8.3333333333333332e-03;
    s = s * z + -1.6666666666666666e-01;
    s = r + r * (z * s);
    double c = 2.0876756987868099e-09;
    c = c * z + -2.7557319223985888e-07;
    c = c * z + 2.4801587301587302e-05;
    c = c * z + -1.3888888888888889e-03;
    c = c * z + 4.1666666666666664e-02;
    c = c * z + -0.5;
    c = 1.0 + z * c;
    uint64_t turns = bits_f64(shifted) + (uint64_t)quarter;
    double y = (turns & 1) != 0 ? c : s;
    return (float)from_bits_f64(bits_f64(y) ^ (turns & 2) << 62);
}

static inline float rsqrt1_f32(float x)
{
    return (float)(1.0 / sqrt((double)x));
}

/*
 * The exact GELU and its derivative, with a = |x| and T = Φ(-a):
 *
 *   x Φ(x) = max(x, 0) - a T                               a T = z (1 + v) e^(-a²/2)/2,  z = a/(1 + a)
 *   Φ(x) + x φ(x) = T - a φ(a) for x < 0, else 1 - that    T - a φ(a) = φ(a)/(1 + a) (√(π/2) (1 + v) - a - a²)
 *
 * 1 + v = √(2/π) (1 + a) T/φ(a), with Mills' ratio T/φ, is 1 at 0 and between 0.8 and 1.05 everywhere: v is small,
 * and so are its errors. It is a polynomial in a/(2 + a), fitted closest about a = 3/4, where the derivative passes 0.
 * What rounding takes from a² and from 1 + a is put back in the exponent of e.
 */
typedef struct gelu_parts {
    float a;           /* |x|, 15 at most: there a T is under half the smallest float */
    float square, low; /* a² = square + low, to more digits than a float has */
    float after;       /* 1 + a, rounded */
    float z, v;
    float s, scale; /* e^(-a²/2) 2^64 = scale (1 + s), with what is put back */
} gelu_parts;

/* v, with the even and the odd powers apart, which don't wait for each other. */
static inline float mills_f32(float a)
{
    float y = a / (2.0f + a), z = y * y;
    float odd = -0.626323104f;
    odd = odd * z + -0.315104902f;
    odd = odd * z + 0.166734993f;
    odd = odd * z + -0.787456036f;
    float even = 0.219280824f;
    even = even * z + 0.57214725f;
    even = even * z + 0.268224299f;
    even = even * z + -0.103773981f;
    even = even * z + 0.404233396f;
    return (odd * y + even) * y;
}

/* The square of a's upper 12 bits is exact, and so is its sum with k times the first part of ln 2. */
static inline gelu_parts gelu_parts_f32(float x)
{
    gelu_parts p;
    p.a = fabsf(x) > 15.0f ? 15.0f : fabsf(x);
    float upper = from_bits_f32(bits_f32(p.a) & 0xfffff000u);
    p.square = upper * upper;
    p.low = (p.a - upper) * (p.a + upper);
    p.after = 1.0f + p.a;
    p.z = p.a / p.after;
    float lost = p.a - (p.after - 1.0f);
    float shifted = p.square * -0.72134752f + (0x1.8p23f + 64.0f);
    float k = shifted - (0x1.8p23f + 64.0f);
    float low = p.low * 0.5f + lost * (1.0f - p.z);
    float r = (p.square * -0.5f - k * 0.693359375f) - (k * -2.12194440e-4f + low);
    p.s = exp_curve_f32(r) * (r * r) + r;
    p.scale = from_bits_f32((bits_f32(shifted) << 23) + bits_f32(1.0f));
    p.v = mills_f32(p.a);
    return p;
}

/* x Φ(x); an infinite x gives ∞ or -0. */
static inline float gelu1_f32(float x)
{
    gelu_parts p = gelu_parts_f32(x);
    float z = p.z * p.scale;
    float tail = z + z * (p.v + (1.0f + p.v) * p.s);
    return (x < 0 ? -0.0f : x) - tail * 0x1p-65f;
}

/* The derivative of x Φ(x). √(π/2) - a - a² is taken to more digits than a float has: it passes 0. */
static inline float gelu_slope1_f32(float x)
{
    const float top = 1.25331414f; /* √(π/2), to 33 bits */
    gelu_parts p = gelu_parts_f32(x);
    float first = top - p.a, second = first - p.square;
    float lost = ((top - first) - p.a) + ((first - second) - p.square);
    float rest = lost + (p.v * top - p.low);
    float sum = second + (rest + (second + rest) * p.s);
    float tail = sum * (0.398942280f / p.after * p.scale) * 0x1p-64f;
    return x < 0 ? tail : 1.0f - tail;
}

/* |x|, of zeros 0. */
static inline float abs1_f32(float x)
{
    return fabsf(x);
}

#endif
