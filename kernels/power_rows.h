/*
 * kernels/power_rows.h: powers and their derivatives; included by kernels_impl.c. list.h says what each function does.
 */
/* ---- float, and f64.awk makes the same for double ---- */

enum { POWERS_f32 = 128 };

/* An x that is no real number, and a p that is none or large, are left to the C library. */
static ALWAYS_INLINE bool beyond_f32(float x, float limit)
{
    return !((x < 0 ? -x : x) < limit);
}

/* Of n <= POWERS pairs; p NULL: of the constant. */
static ALWAYS_INLINE void powers_f32(power_part part, float *y, const float *x, const float *p, double constant,
                                     int64_t n)
{
    const exponent_f32 given = exponent_of_f32(part, constant);
    const float limit = (float)POWER_LIMIT, infinity = (float)INFINITY;
    int beyond = !p && !(fabs(constant) < POWER_LIMIT);
    for (int64_t i = 0; i < n; i++) {
        beyond |= beyond_f32(x[i], infinity);
    }
    for (int64_t i = 0; i < n && p; i++) {
        beyond |= beyond_f32(p[i], limit);
    }
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        exponent_f32 e = p ? exponent_of_f32(part, (double)p[i]) : given;
        y[i] = (float)power1_f32(&e, x[i]);
    }
    for (int64_t i = 0; i < n && beyond != 0; i++) {
        exponent_f64 e = exponent_of_f64(part, p ? (double)p[i] : constant);
        if (beyond_f32(x[i], infinity) || !(fabs(e.p) < POWER_LIMIT)) {
            y[i] = (float)power1_f64(&e, (double)x[i]);
        }
    }
}

static ALWAYS_INLINE void powers_of_f32(power_part part, float *y, const float *x, const float *p, double constant,
                                        int64_t n)
{
    if (p) { /* two loops: compilers don't take the test out of one this long */
        powers_f32(part, y, x, p, 0, n);
    } else {
        powers_f32(part, y, x, NULL, constant, n);
    }
}

static void pow_f32(float *y, const float *x, const float *p, double constant, int64_t n)
{
    float values[POWERS_f32]; /* y may be x */
    for (int64_t i = 0; i < n; i += POWERS_f32) {
        int64_t m = n - i < POWERS_f32 ? n - i : POWERS_f32;
        powers_of_f32(POWER, values, x + i, p ? p + i : NULL, constant, m);
        memcpy(y + i, values, (size_t)m * sizeof *y);
    }
}

static void pow_grad_f32(float *to, const float *x, const float *p, double constant, const float *dy, bool of_x,
                         int64_t n, bool fresh)
{
    float slopes[POWERS_f32];
    for (int64_t i = 0; i < n; i += POWERS_f32) {
        int64_t m = n - i < POWERS_f32 ? n - i : POWERS_f32;
        if (of_x) {
            powers_of_f32(POWER_BY_X, slopes, x + i, p ? p + i : NULL, constant, m);
        } else {
            powers_of_f32(POWER_BY_P, slopes, x + i, p ? p + i : NULL, constant, m);
        }
        if (fresh) {
            mul_f32(to + i, slopes, dy + i, m);
        } else {
            mul_acc_f32(to + i, slopes, dy + i, m);
        }
    }
}

/* ---- end of float ---- */
#include "kernels/power_rows.f64.h"
