/*
 * kernels/gather_rows.h: products of a vector with a few rows of a matrix, and sums of these; included by
 * kernels_impl.c. gather_table.h says what each function does.
 */

/* A sum over few elements has fewer lanes than those of rows.h, which take longer to join than to fill. */
static ALWAYS_INLINE REAL F(short_reduce)(const REAL *x, const REAL *y, int64_t n, REAL (*term)(REAL x, REAL y))
{
    enum { SHORT = 16 };
    REAL lane[SHORT] = {0}, a[8], b[4];
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

static inline REAL F(product)(REAL x, REAL y)
{
    return x * y;
}

static inline REAL F(squared_difference)(REAL x, REAL y)
{
    return (x - y) * (x - y);
}

static void F(gather_dots)(REAL *y, const REAL *x, const REAL *rows, int64_t ld, const int64_t *key, int64_t n,
                           int64_t width)
{
    for (int64_t e = 0; e < n; e++) {
        y[e] = F(short_reduce)(x, rows + key[e] * ld, width, F(product));
    }
}

static void F(gather_distances)(REAL *y, const REAL *x, const REAL *rows, int64_t ld, const int64_t *key, int64_t n,
                                int64_t width)
{
    for (int64_t e = 0; e < n; e++) {
        y[e] = F(short_reduce)(x, rows + key[e] * ld, width, F(squared_difference));
    }
}

static void F(gather_distances_grad)(REAL *dx, REAL *drows, int64_t ld_d, const REAL *dy, const REAL *x,
                                     const REAL *rows, int64_t ld, const int64_t *key, int64_t n, int64_t width)
{
    for (int64_t e = 0; e < n; e++) {
        const REAL *row = rows + key[e] * ld, twice = 2 * dy[e];
        REAL *drow = drows + key[e] * ld_d;
        INDEPENDENT
        for (int64_t m = 0; m < width; m++) {
            REAL g = twice * (x[m] - row[m]);
            dx[m] += g;
            drow[m] -= g;
        }
    }
}

static void F(gather_sum)(REAL *y, const REAL *a, const REAL *rows, int64_t ld, const int64_t *key, int64_t n,
                          int64_t width)
{
    int64_t i = 0;
    for (; i + LANES <= width; i += LANES) {
        REAL sum[LANES];
        memcpy(sum, y + i, sizeof sum);
        for (int64_t e = 0; e < n; e++) {
            const REAL *row = rows + key[e] * ld + i;
            for (int k = 0; k < LANES; k++) {
                sum[k] += a[e] * row[k];
            }
        }
        memcpy(y + i, sum, sizeof sum);
    }
    for (int64_t e = 0; e < n && i < width; e++) {
        F(axpy)(y + i, a[e], rows + key[e] * ld + i, width - i);
    }
}

static void F(scatter_sum)(REAL *rows, int64_t ld, const int64_t *key, const REAL *a, const REAL *x, int64_t n,
                           int64_t width)
{
    for (int64_t e = 0; e < n; e++) {
        F(axpy)(rows + key[e] * ld, a[e], x, width);
    }
}
