/*
 * kernels/rows.h: elementwise functions, sums, softmax and layer normalisation; included by kernels_impl.c. list.h says
 * what each function does.
 *
 * To write one: loops of one statement a line under INDEPENDENT, no call that stays a call, no && or || and no choice
 * whose sides are not both computed: else the loop stays scalar, which no test sees. `ascgrad bench ops NAME` shows
 * it, and gcc's -fopt-info-vec-missed says why. Partial sums in LANES, joined in one order. A helper name1_f32 of
 * math_f32.h has its own name1_f64 in math_f64.h; what stands here has its twin by itself.
 */
/* ---- float, and f64.awk makes the same for double ---- */

/* ---- functions of one element ---- */

static ALWAYS_INLINE void map_f32(float *y, const float *x, int64_t n, float (*f)(float))
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = f(x[i]);
    }
}

static void exp_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, exp_gradual1_f32);
}

static ALWAYS_INLINE float elu_one1_f32(float x)
{
    float e = exp_gradual1_f32(x), above = x + 1;
    return x > 0 ? above : e;
}

static void elu_one_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, elu_one1_f32);
}

static void elu_one_grad_f32(float *x, const float *y, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        x[i] *= y[i] > 1 ? 1 : y[i];
    }
}

static void expm1_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, expm11_f32);
}

static void log_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, log1_f32);
}

static void log1p_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, log1p1_f32);
}

static void softplus_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, softplus1_f32);
}

static void tanh_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, tanh1_f32);
}

static void sigmoid_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, sigmoid1_f32);
}

static void erf_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, erf1_f32);
}

/* Arguments beyond the limit, infinities and NaN are the C library's. */
static ALWAYS_INLINE void circle_f32(float *y, const float *x, int64_t n, int quarter, double (*far)(double))
{
    enum { RUN = 128 };
    float at[RUN];
    for (int64_t first = 0; first < n; first += RUN) {
        int64_t m = n - first < RUN ? n - first : RUN;
        memcpy(at, x + first, (size_t)m * sizeof *at); /* y may be x */
        int beyond = 0;
        for (int64_t i = 0; i < m; i++) {
            beyond |= !((at[i] < 0 ? -at[i] : at[i]) <= (float)CIRCLE_LIMIT);
        }
        INDEPENDENT
        for (int64_t i = 0; i < m; i++) {
            y[first + i] = circle1_f32(at[i], quarter);
        }
        for (int64_t i = 0; i < m && beyond != 0; i++) {
            if (!((at[i] < 0 ? -at[i] : at[i]) <= (float)CIRCLE_LIMIT)) {
                y[first + i] = (float)far((double)at[i]);
            }
        }
    }
}

static void sin_f32(float *y, const float *x, int64_t n)
{
    circle_f32(y, x, n, 0, sin);
}

static void cos_f32(float *y, const float *x, int64_t n)
{
    circle_f32(y, x, n, 1, cos);
}

static void sqrt_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, sqrt1_f32);
}

static void rsqrt_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, rsqrt1_f32);
}

static void abs_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, abs1_f32);
}

static void abs_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float g = dy[i], below = x[i] < 0 ? -g : 0;
        dx[i] = x[i] > 0 ? g : below;
    }
}

static void smooth_l1_f32(float *y, const float *x, const float *t, double beta, double scale, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i] - (double)t[i], size = d < 0 ? -d : d;
        double near = d * d / (2 * beta), far = size - beta / 2;
        y[i] = (float)(scale * (size < beta ? near : far));
    }
}

static void smooth_l1_slope_f32(float *y, const float *x, const float *t, double beta, double scale, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i] - (double)t[i], size = d < 0 ? -d : d;
        double near = d / beta, far = d < 0 ? -1.0 : 1.0;
        y[i] = (float)(scale * (size >= beta ? far : near)); /* NaN stays NaN */
    }
}

static ALWAYS_INLINE void extreme_of_f32(float *y, const float *a, const float *b, bool larger, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float u = a[i], v = b[i];
        bool first = (larger ? u >= v : u <= v) | (u != u);
        y[i] = first ? u : v;
    }
}

static void extreme_f32(float *y, const float *a, const float *b, bool larger, int64_t n)
{
    if (larger) {
        extreme_of_f32(y, a, b, true, n);
    } else {
        extreme_of_f32(y, a, b, false, n);
    }
}

static ALWAYS_INLINE void extreme_slope_f32(float *dx, const float *a, const float *b, const float *dy, bool larger,
                                            bool of_a, int64_t n, bool fresh)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float u = a[i], v = b[i];
        bool first = (larger ? u > v : u < v) | (u != u);
        float one = first ? 1 : 0, w = u == v ? (float)0.5 : one;
        float share = of_a ? w : 1 - w, part = share * dy[i], g = share == 0 ? 0 : part;
        dx[i] = fresh ? g : dx[i] + g;
    }
}

static void extreme_grad_f32(float *dx, const float *a, const float *b, const float *dy, bool larger, bool of_a,
                             int64_t n, bool fresh)
{
    if (larger && fresh) {
        extreme_slope_f32(dx, a, b, dy, true, of_a, n, true);
    } else if (fresh) {
        extreme_slope_f32(dx, a, b, dy, false, of_a, n, true);
    } else {
        extreme_slope_f32(dx, a, b, dy, larger, of_a, n, false);
    }
}

static void select_grad_f32(float *dx, const uint8_t *mask, bool set, const float *dy, int64_t n, bool fresh)
{
    if (fresh) {
        INDEPENDENT
        for (int64_t i = 0; i < n; i++) {
            float g = dy[i];
            dx[i] = (mask[i] != 0) == set ? g : 0;
        }
        return;
    }
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float g = dy[i];
        dx[i] += (mask[i] != 0) == set ? g : 0;
    }
}

static void relate_f32(uint8_t *y, const float *a, const float *b, bool less, bool equal, bool greater, bool unordered,
                       int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float u = a[i], v = b[i];
        bool below = (u < v) & less, same = (u == v) & equal, above = (u > v) & greater;
        bool none = ((u != u) | (v != v)) & unordered;
        y[i] = below | same | above | none;
    }
}

static void clamp_f32(float *y, const float *x, float lo, float hi, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float at = x[i], below = at > hi ? hi : at;
        y[i] = at < lo ? lo : below;
    }
}

static void clamp_grad_f32(float *dx, const float *x, float lo, float hi, const float *dy, int64_t n, bool fresh)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float g = dy[i], kept = ((x[i] >= lo) & (x[i] <= hi)) ? g : 0;
        dx[i] = fresh ? kept : dx[i] + kept;
    }
}

static void silu_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, silu1_f32);
}

static void gelu_tanh_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, gelu_tanh1_f32);
}

static void gelu_f32(float *y, const float *x, int64_t n)
{
    map_f32(y, x, n, gelu1_f32);
}

static void logit_loss_f32(float *y, const float *x, const float *t, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float size = x[i] > 0 ? x[i] : -x[i], weight = x[i] > 0 ? 1 - t[i] : t[i];
        y[i] = softplus1_f32(-size) + (weight == 0 ? 0 : weight * size);
    }
}

static ALWAYS_INLINE void gelu_slope_f32(float *dx, const float *x, const float *dy, int64_t n, bool fresh)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float g = dy[i] * gelu_slope1_f32(x[i]);
        dx[i] = fresh ? g : dx[i] + g;
    }
}

static void gelu_grad_f32(float *dx, const float *x, const float *dy, int64_t n, bool fresh)
{
    if (fresh) { /* two loops: compilers don't take the test out of one this long */
        gelu_slope_f32(dx, x, dy, n, true);
    } else {
        gelu_slope_f32(dx, x, dy, n, false);
    }
}

/* Φ(x) is in both functions, and computed once. */
static ALWAYS_INLINE void gelu_and_slope_f32(float *y, float *dx, const float *x, const float *dy, int64_t n,
                                             bool fresh)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float at = x[i], g = dy[i] * gelu_slope1_f32(at);
        y[i] = gelu1_f32(at);
        dx[i] = fresh ? g : dx[i] + g;
    }
}

static void gelu_both_f32(float *y, float *dx, const float *x, const float *dy, int64_t n, bool fresh)
{
    if (fresh) {
        gelu_and_slope_f32(y, dx, x, dy, n, true);
    } else {
        gelu_and_slope_f32(y, dx, x, dy, n, false);
    }
}

/* ---- vectors ---- */

static void add_f32(float *y, const float *a, const float *b, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = a[i] + b[i];
    }
}

static void acc_f32(float *y, const float *x, int64_t n)
{
    add_f32(y, y, x, n);
}

static void mul_f32(float *y, const float *a, const float *b, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = a[i] * b[i];
    }
}

static void mul_acc_f32(float *y, const float *a, const float *b, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] += a[i] * b[i];
    }
}

static void scale_f32(float *y, float a, const float *x, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = a * x[i];
    }
}

static void axpy_f32(float *y, float a, const float *x, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

static ALWAYS_INLINE void rotate_rows_f32(float *y, const float *x, const float *c, const float *s, int64_t half,
                                          int64_t heads, bool fresh)
{
    for (; heads > 0; heads--, x += 2 * half, y += 2 * half) {
        INDEPENDENT
        for (int64_t m = 0; m < half; m++) {
            float x0 = x[m], x1 = x[m + half];
            float y0 = x0 * c[m] - x1 * s[m], y1 = x1 * c[m] + x0 * s[m];
            y[m] = fresh ? y0 : y[m] + y0;
            y[m + half] = fresh ? y1 : y[m + half] + y1;
        }
    }
}

static void rotate_f32(float *y, const float *x, const float *c, const float *s, int64_t half, int64_t heads,
                       bool fresh)
{
    if (fresh) {
        rotate_rows_f32(y, x, c, s, half, heads, true);
    } else {
        rotate_rows_f32(y, x, c, s, half, heads, false);
    }
}

static void sub_distance_f32(float *y, float slope, int64_t from, int64_t n)
{
    int32_t first = (int32_t)from, count = (int32_t)n;
    INDEPENDENT
    for (int32_t i = 0; i < count; i++) {
        int32_t d = first + i;
        y[i] -= slope * (float)(d < 0 ? -d : d);
    }
}

/* ---- sums: element i goes to lane i % LANES, the lanes are joined in a tree ---- */

static inline float plus_f32(float a, float b)
{
    return a + b;
}

static inline float larger_f32(float a, float b)
{
    return a > b ? a : b;
}

static ALWAYS_INLINE float join_f32(const float lane[LANES], float (*op)(float, float))
{
    float a[16], b[8], c[4];
    for (int i = 0; i < 16; i++) {
        a[i] = op(lane[i], lane[i + 16]);
    }
    for (int i = 0; i < 8; i++) {
        b[i] = op(a[i], a[i + 8]);
    }
    for (int i = 0; i < 4; i++) {
        c[i] = op(b[i], b[i + 4]);
    }
    return op(op(c[0], c[2]), op(c[1], c[3]));
}

/* Σ term(x_i, y_i, z_i, c); a term that needs fewer rows is given one of them twice. */
static ALWAYS_INLINE float reduce_f32(const float *x, const float *y, const float *z, float c, int64_t n,
                                      float (*term)(float x, float y, float z, float c))
{
    float lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lane[k] += term(x[i + k], y[i + k], z[i + k], c);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        lane[k] += term(x[i], y[i], z[i], c);
    }
    return join_f32(lane, plus_f32);
}

static inline float term_value_f32(float x, float y, float z, float c)
{
    (void)y, (void)z, (void)c;
    return x;
}

static inline float term_product_f32(float x, float y, float z, float c)
{
    (void)z, (void)c;
    return x * y;
}

static inline float term_square_f32(float x, float y, float z, float c)
{
    (void)y, (void)z;
    return (x - c) * (x - c);
}

static inline float term_deviation_f32(float x, float y, float z, float c)
{
    (void)y, (void)z;
    return x - c;
}

static inline float term_centred_product_f32(float x, float y, float z, float c)
{
    (void)z;
    return (x - c) * y;
}

static inline float term_centred_product3_f32(float x, float y, float z, float c)
{
    return (x - c) * (y * z);
}

static float sum_f32(const float *x, int64_t n)
{
    return reduce_f32(x, x, x, 0, n, term_value_f32);
}

static float dot_f32(const float *x, const float *y, int64_t n)
{
    return reduce_f32(x, y, x, 0, n, term_product_f32);
}

static float max_f32(const float *x, int64_t n)
{
    float lane[LANES];
    for (int k = 0; k < LANES; k++) {
        lane[k] = -(float)INFINITY;
    }
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lane[k] = larger_f32(x[i + k], lane[k]);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        lane[k] = larger_f32(x[i], lane[k]);
    }
    return join_f32(lane, larger_f32);
}

/* ---- rows of a matrix ---- */

static void add_bias_rows_f32(float *y, const float *b, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
        acc_f32(y + r * n, b, n);
    }
}

static void sum_rows_f32(float *acc, const float *x, int64_t rows, int64_t n)
{
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const float *x0 = x + r * n, *x1 = x0 + n, *x2 = x1 + n, *x3 = x2 + n;
        INDEPENDENT
        for (int64_t i = 0; i < n; i++) {
            acc[i] += (x0[i] + x1[i]) + (x2[i] + x3[i]);
        }
    }
    for (; r < rows; r++) {
        acc_f32(acc, x + r * n, n);
    }
}

/* ---- softmax ---- */

static float exp_shift_f32(float *y, const float *x, float shift, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = exp1_f32(x[i] - shift);
    }
    return sum_f32(y, n);
}

static void softmax_row_f32(float *y, const float *x, int64_t n)
{
    float top = max_f32(x, n);
    float total = exp_shift_f32(y, x, top == -(float)INFINITY ? 0 : top, n);
    if (total != 0) {
        scale_f32(y, 1 / total, y, n);
    }
}

static void softmax_grad_row_f32(float *dx, const float *y, const float *dy, float scale, int64_t n, bool fresh)
{
    float mean = dot_f32(y, dy, n);
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float g = scale * y[i] * (dy[i] - mean);
        dx[i] = fresh ? g : dx[i] + g;
    }
}

/* ---- layer normalisation ---- */

/* The mean a second time, of what the first left: of entries that are nearly equal it has all digits. */
static float moments_f32(const float *x, int64_t n, float *mean)
{
    float m = sum_f32(x, n) / (float)n;
    float left = reduce_f32(x, x, x, m, n, term_deviation_f32) / (float)n;
    *mean = m + left;
    return reduce_f32(x, x, x, m + left, n, term_square_f32);
}

static void layer_norm_row_f32(float *y, const float *x, const float *w, const float *b, int64_t n, float eps,
                               float *mean, float *rstd)
{
    float m = sum_f32(x, n) / (float)n, variance = reduce_f32(x, x, x, m, n, term_square_f32) / (float)n;
    if (!(variance > (float)1e-6 * m * m)) { /* the mean's rounding counts */
        variance = moments_f32(x, n, &m) / (float)n;
    }
    float s = variance <= FLT_MAX ? 1 / sqrt1_f32(variance + eps)
                                  : (float)(1 / sqrt1_f64(wide_squares_f32(x, (double)m, n) / (double)n));
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float scaled = (x[i] - m) * s * (w ? w[i] : 1);
        y[i] = b ? scaled + b[i] : scaled;
    }
    *mean = m;
    *rstd = s;
}

/* With g = dy∘w and x̂ = (x - mean) rstd: dx = rstd (g - mean(g) - x̂ mean(g∘x̂)). */
static void layer_norm_grad_row_f32(float *dx, const float *x, const float *w, const float *dy, float mean, float rstd,
                                    int64_t n, bool fresh)
{
    float g_sum = w ? dot_f32(dy, w, n) : sum_f32(dy, n);
    float g_x_sum = w ? reduce_f32(x, dy, w, mean, n, term_centred_product3_f32)
                      : reduce_f32(x, dy, x, mean, n, term_centred_product_f32);
    float g_mean = g_sum / (float)n;
    float slope = g_x_sum * rstd / (float)n * rstd;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float g = rstd * (dy[i] * (w ? w[i] : 1) - g_mean - (x[i] - mean) * slope);
        dx[i] = fresh ? g : dx[i] + g;
    }
}

static void layer_norm_grad_rows_f32(float *dx, float *dw, float *db, const float *x, const float *w, const float *dy,
                                     const float *mean, const float *rstd, int64_t rows, int64_t n, bool fresh)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *xr = x + r * n, *dyr = dy + r * n;
        float m = mean[r], s = rstd[r];
        if (dw) {
            INDEPENDENT
            for (int64_t i = 0; i < n; i++) {
                dw[i] += dyr[i] * ((xr[i] - m) * s);
            }
        }
        if (db) {
            acc_f32(db, dyr, n);
        }
        if (dx) { /* last: dx may be x or dy */
            layer_norm_grad_row_f32(dx + r * n, xr, w, dyr, m, s, n, fresh);
        }
    }
}
/* ---- end of float ---- */
#include "kernels/rows.f64.h"
