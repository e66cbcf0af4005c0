/*
 * kernels/gather_rows.h: products of a vector with a few rows of a matrix, and sums of these; included by
 * kernels_impl.c. list.h says what each function does.
 */
/* ---- float, and f64.awk makes the same for double ---- */

/* A sum over few elements has fewer lanes than those of rows.h, which take longer to join than to fill. */
static ALWAYS_INLINE float short_reduce_f32(const float *x, const float *y, int64_t n, float (*term)(float x, float y))
{
    enum { SHORT = 16 };
    float lane[SHORT] = {0}, a[8], b[4];
    int64_t i = 0;
    for (; i + SHORT <= n; i += SHORT) {
        for (int k = 0; k < SHORT; k++) {
            lane[k] += term(x[i + k], y[i + k]);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        lane[k] += term(x[i], y[i]);
    }
    for (int k = 0; k < 8; k++) {
        a[k] = lane[k] + lane[k + 8];
    }
    for (int k = 0; k < 4; k++) {
        b[k] = a[k] + a[k + 4];
    }
    return (b[0] + b[2]) + (b[1] + b[3]);
}

static inline float product_f32(float x, float y)
{
    return x * y;
}

static inline float squared_difference_f32(float x, float y)
{
    return (x - y) * (x - y);
}

static void gather_dots_f32(float *y, const float *x, const float *rows, int64_t ld, const int64_t *key, int64_t n,
                            int64_t width)
{
    for (int64_t e = 0; e < n; e++) {
        y[e] = short_reduce_f32(x, rows + key[e] * ld, width, product_f32);
    }
}

static void gather_distances_f32(float *y, const float *x, const float *rows, int64_t ld, const int64_t *key, int64_t n,
                                 int64_t width)
{
    for (int64_t e = 0; e < n; e++) {
        y[e] = short_reduce_f32(x, rows + key[e] * ld, width, squared_difference_f32);
    }
}

static void gather_distances_grad_f32(float *dx, float *drows, int64_t ld_d, const float *dy, const float *x,
                                      const float *rows, int64_t ld, const int64_t *key, int64_t n, int64_t width)
{
    for (int64_t e = 0; e < n; e++) {
        const float *row = rows + key[e] * ld, twice = 2 * dy[e];
        float *drow = drows + key[e] * ld_d;
        INDEPENDENT
        for (int64_t m = 0; m < width; m++) {
            float g = twice * (x[m] - row[m]);
            dx[m] += g;
            drow[m] -= g;
        }
    }
}

static void gather_sum_f32(float *y, const float *a, const float *rows, int64_t ld, const int64_t *key, int64_t n,
                           int64_t width)
{
    int64_t i = 0;
    for (; i + LANES <= width; i += LANES) {
        float sum[LANES];
        memcpy(sum, y + i, sizeof sum);
        for (int64_t e = 0; e < n; e++) {
            const float *row = rows + key[e] * ld + i;
            for (int k = 0; k < LANES; k++) {
                sum[k] += a[e] * row[k];
            }
        }
        memcpy(y + i, sum, sizeof sum);
    }
    for (int64_t e = 0; e < n && i < width; e++) {
        axpy_f32(y + i, a[e], rows + key[e] * ld + i, width - i);
    }
}

static void scatter_sum_f32(float *rows, int64_t ld, const int64_t *key, const float *a, const float *x, int64_t n,
                            int64_t width)
{
    for (int64_t e = 0; e < n; e++) {
        axpy_f32(rows + key[e] * ld, a[e], x, width);
    }
}
/* ---- end of float ---- */
#include "kernels/gather_rows.f64.h"
