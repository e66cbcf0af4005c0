/*
 * kernels/wide_rows.h: rows of which sums, exponentials and logarithms are taken in double; included by kernels_impl.c.
 * list.h says what each function does.
 */
static double join_wide(double lane[LANES])
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; k++) {
            lane[k] += lane[k + half];
        }
    }
    return lane[0];
}

/* ---- float, and f64.awk makes the same for double ---- */

/* Element i goes to lane i % LANES, the lanes are joined in a tree. */
static ALWAYS_INLINE double reduce_wide_f32(const float *x, double c, int64_t n, double (*term)(float x, double c))
{
    double lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lane[k] += term(x[i + k], c);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        lane[k] += term(x[i], c);
    }
    return join_wide(lane);
}

static inline double term_off_f32(float x, double c)
{
    return (double)x - c;
}

static inline double term_off_square_f32(float x, double c)
{
    double off = (double)x - c;
    return off * off;
}

static inline double term_exp_f32(float x, double c)
{
    return exp_double1_f32((double)x - c);
}

static double wide_sum_f32(const float *x, int64_t n)
{
    return reduce_wide_f32(x, 0, n, term_off_f32);
}

static double sumsq_f32(const float *x, int64_t n)
{
    enum { CHUNK = 512 };
    double total = 0;
    for (int64_t i = 0; i < n; i += CHUNK) {
        total += reduce_wide_f32(x + i, 0, n - i < CHUNK ? n - i : CHUNK, term_off_square_f32);
    }
    return total;
}

static double wide_squares_f32(const float *x, double c, int64_t n)
{
    return reduce_wide_f32(x, c, n, term_off_square_f32);
}

static inline double term_near_exp_f32(float x, double c)
{
    return (double)exp1_f32(x - (float)c);
}

static double wide_exps_f32(const float *x, float c, int64_t n)
{
    return reduce_wide_f32(x, (double)c, n, term_near_exp_f32);
}

static ALWAYS_INLINE void wide_map_f32(float *to, const float *x, double c, double by, int64_t n, bool fresh,
                                       double (*term)(float x, double c))
{
    if (fresh) {
        INDEPENDENT
        for (int64_t i = 0; i < n; i++) {
            to[i] = (float)(by * term(x[i], c));
        }
        return;
    }
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        to[i] = (float)((double)to[i] + by * term(x[i], c));
    }
}

static void wide_centred_f32(float *to, const float *x, double c, double by, int64_t n, bool fresh)
{
    wide_map_f32(to, x, c, by, n, fresh, term_off_f32);
}

static void wide_exp_f32(float *to, const float *x, double c, double by, int64_t n, bool fresh)
{
    wide_map_f32(to, x, c, by, n, fresh, term_exp_f32);
}

/* ---- gradients and a loss of which a part is in double ---- */

static void erf_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        double at = (double)x[i];
        dx[i] = (float)(1.12837916709551257390 * exp_double1_f32(-(at * at))) * dy[i];
    }
}

static void gated_grad_f32(float *dx, const float *x, const float *dy, bool cubic, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float s = dx[i], slope = (float)1.59576912160573071176 * (1 + (float)0.134145 * x[i] * x[i]);
        float inside = s + x[i] * (cubic ? slope : 1) * s * (1 - s);
        dx[i] = dy[i] * (((s == 0) | (s == 1)) ? s : inside);
    }
}

static void kl_div_f32(float *y, const float *x, const float *t, double scale, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        double w = (double)t[i], term = w * (log_double1_f32(t[i]) - (double)x[i]);
        y[i] = (float)(scale * (w == 0 ? 0 : term));
    }
}

static void kl_div_slope_f32(float *y, const float *x, const float *t, double scale, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        double slope = log_double1_f32(t[i]) + 1 - (double)x[i];
        y[i] = (float)(scale * (t[i] == 0 ? 0 : slope));
    }
}

/* ---- end of float ---- */
#include "kernels/wide_rows.f64.h"
