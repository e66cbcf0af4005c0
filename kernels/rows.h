/*
 * kernels/rows.h: elementwise functions, sums, softmax and layer normalisation for one real type;
 * included by kernels_impl.c with REAL and F(name) defined. table.h says what each function does.
 */

/* ---- functions of one element ---- */

static ALWAYS_INLINE void F(map)(REAL *y, const REAL *x, int64_t n, REAL (*f)(REAL))
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = f(x[i]);
    }
}

static void F(exp)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(exp_gradual1));
}

static void F(expm1)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(expm11));
}

static void F(log)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(log1));
}

static void F(log1p)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(log1p1));
}

static void F(softplus)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(softplus1));
}

static void F(tanh)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(tanh1));
}

static void F(sigmoid)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(sigmoid1));
}

static void F(erf)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(erf1));
}

static void F(silu)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(silu1));
}

static void F(gelu_tanh)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(gelu_tanh1));
}

static void F(gelu)(REAL *y, const REAL *x, int64_t n)
{
    F(map)(y, x, n, F(gelu1));
}

static void F(logit_loss)(REAL *y, const REAL *x, const REAL *t, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL size = x[i] > 0 ? x[i] : -x[i], weight = x[i] > 0 ? 1 - t[i] : t[i];
        y[i] = F(softplus1)(-size) + (weight == 0 ? 0 : weight * size);
    }
}

static ALWAYS_INLINE void F(gelu_slope)(REAL *dx, const REAL *x, const REAL *dy, int64_t n, bool fresh)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL g = dy[i] * F(gelu_slope1)(x[i]);
        dx[i] = fresh ? g : dx[i] + g;
    }
}

static void F(gelu_grad)(REAL *dx, const REAL *x, const REAL *dy, int64_t n, bool fresh)
{
    if (fresh) { /* two loops: compilers don't take the test out of one this long */
        F(gelu_slope)(dx, x, dy, n, true);
    } else {
        F(gelu_slope)(dx, x, dy, n, false);
    }
}

/* Φ(x) is in both functions, and computed once. */
static ALWAYS_INLINE void F(gelu_and_slope)(REAL *y, REAL *dx, const REAL *x, const REAL *dy, int64_t n, bool fresh)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL at = x[i], g = dy[i] * F(gelu_slope1)(at);
        y[i] = F(gelu1)(at);
        dx[i] = fresh ? g : dx[i] + g;
    }
}

static void F(gelu_both)(REAL *y, REAL *dx, const REAL *x, const REAL *dy, int64_t n, bool fresh)
{
    if (fresh) {
        F(gelu_and_slope)(y, dx, x, dy, n, true);
    } else {
        F(gelu_and_slope)(y, dx, x, dy, n, false);
    }
}

/* ---- vectors ---- */

static void F(add)(REAL *y, const REAL *a, const REAL *b, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = a[i] + b[i];
    }
}

static void F(acc)(REAL *y, const REAL *x, int64_t n)
{
    F(add)(y, y, x, n);
}

static void F(mul)(REAL *y, const REAL *a, const REAL *b, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = a[i] * b[i];
    }
}

static void F(mul_acc)(REAL *y, const REAL *a, const REAL *b, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] += a[i] * b[i];
    }
}

static void F(scale)(REAL *y, REAL a, const REAL *x, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = a * x[i];
    }
}

static void F(axpy)(REAL *y, REAL a, const REAL *x, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

static void F(sub_distance)(REAL *y, REAL slope, int64_t from, int64_t n)
{
    int32_t first = (int32_t)from, count = (int32_t)n;
    INDEPENDENT
    for (int32_t i = 0; i < count; i++) {
        int32_t d = first + i;
        y[i] -= slope * (REAL)(d < 0 ? -d : d);
    }
}

/* ---- sums: element i goes to lane i % LANES, the lanes are joined in a tree ---- */

static inline REAL F(plus)(REAL a, REAL b)
{
    return a + b;
}

static inline REAL F(larger)(REAL a, REAL b)
{
    return a > b ? a : b;
}

static ALWAYS_INLINE REAL F(join)(const REAL lane[LANES], REAL (*op)(REAL, REAL))
{
    REAL a[16], b[8], c[4];
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
static ALWAYS_INLINE REAL F(reduce)(const REAL *x, const REAL *y, const REAL *z, REAL c, int64_t n,
                                    REAL (*term)(REAL x, REAL y, REAL z, REAL c))
{
    REAL lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lane[k] += term(x[i + k], y[i + k], z[i + k], c);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        lane[k] += term(x[i], y[i], z[i], c);
    }
    return F(join)(lane, F(plus));
}

static inline REAL F(term_value)(REAL x, REAL y, REAL z, REAL c)
{
    (void)y, (void)z, (void)c;
    return x;
}

static inline REAL F(term_product)(REAL x, REAL y, REAL z, REAL c)
{
    (void)z, (void)c;
    return x * y;
}

static inline REAL F(term_square)(REAL x, REAL y, REAL z, REAL c)
{
    (void)y, (void)z;
    return (x - c) * (x - c);
}

static inline REAL F(term_centred_product)(REAL x, REAL y, REAL z, REAL c)
{
    (void)z;
    return (x - c) * y;
}

static inline REAL F(term_centred_product3)(REAL x, REAL y, REAL z, REAL c)
{
    return (x - c) * (y * z);
}

static REAL F(sum)(const REAL *x, int64_t n)
{
    return F(reduce)(x, x, x, 0, n, F(term_value));
}

static REAL F(dot)(const REAL *x, const REAL *y, int64_t n)
{
    return F(reduce)(x, y, x, 0, n, F(term_product));
}

static double F(sumsq)(const REAL *x, int64_t n)
{
    enum { PIECE = 512 };
    double wide[PIECE], total = 0;
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t m = n - i < PIECE ? n - i : PIECE;
        for (int64_t k = 0; k < m; k++) {
            wide[k] = (double)x[i + k];
        }
        total += dot_f64(wide, wide, m);
    }
    return total;
}

static REAL F(max)(const REAL *x, int64_t n)
{
    REAL lane[LANES];
    for (int k = 0; k < LANES; k++) {
        lane[k] = -(REAL)INFINITY;
    }
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lane[k] = F(larger)(x[i + k], lane[k]);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        lane[k] = F(larger)(x[i], lane[k]);
    }
    return F(join)(lane, F(larger));
}

/* ---- rows of a matrix ---- */

static void F(add_bias_rows)(REAL *y, const REAL *b, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
        F(acc)(y + r * n, b, n);
    }
}

static void F(sum_rows)(REAL *acc, const REAL *x, int64_t rows, int64_t n)
{
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const REAL *x0 = x + r * n, *x1 = x0 + n, *x2 = x1 + n, *x3 = x2 + n;
        INDEPENDENT
        for (int64_t i = 0; i < n; i++) {
            acc[i] += (x0[i] + x1[i]) + (x2[i] + x3[i]);
        }
    }
    for (; r < rows; r++) {
        F(acc)(acc, x + r * n, n);
    }
}

/* ---- softmax ---- */

static REAL F(exp_shift)(REAL *y, const REAL *x, REAL shift, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = F(exp1)(x[i] - shift);
    }
    return F(sum)(y, n);
}

static void F(softmax_row)(REAL *y, const REAL *x, int64_t n)
{
    REAL top = F(max)(x, n);
    REAL total = F(exp_shift)(y, x, top == -(REAL)INFINITY ? 0 : top, n);
    if (total != 0) {
        F(scale)(y, 1 / total, y, n);
    }
}

static void F(softmax_grad_row)(REAL *dx, const REAL *y, const REAL *dy, REAL scale, int64_t n, bool fresh)
{
    REAL mean = F(dot)(y, dy, n);
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL g = scale * y[i] * (dy[i] - mean);
        dx[i] = fresh ? g : dx[i] + g;
    }
}

/* ---- layer normalisation ---- */

static void F(layer_norm_row)(REAL *y, const REAL *x, const REAL *w, const REAL *b, int64_t n, REAL eps, REAL *mean,
                              REAL *rstd)
{
    REAL m = F(sum)(x, n) / (REAL)n;
    REAL s = 1 / F(sqrt1)(F(reduce)(x, x, x, m, n, F(term_square)) / (REAL)n + eps);
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL scaled = (x[i] - m) * s * (w ? w[i] : 1);
        y[i] = b ? scaled + b[i] : scaled;
    }
    *mean = m;
    *rstd = s;
}

/* With g = dy∘w and x̂ = (x - mean) rstd: dx = rstd (g - mean(g) - x̂ mean(g∘x̂)). */
static void F(layer_norm_grad_row)(REAL *dx, const REAL *x, const REAL *w, const REAL *dy, REAL mean, REAL rstd,
                                   int64_t n, bool fresh)
{
    REAL g_sum = w ? F(dot)(dy, w, n) : F(sum)(dy, n);
    REAL g_x_sum = w ? F(reduce)(x, dy, w, mean, n, F(term_centred_product3))
                     : F(reduce)(x, dy, x, mean, n, F(term_centred_product));
    REAL g_mean = g_sum / (REAL)n;
    REAL slope = g_x_sum * rstd / (REAL)n * rstd;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL g = rstd * (dy[i] * (w ? w[i] : 1) - g_mean - (x[i] - mean) * slope);
        dx[i] = fresh ? g : dx[i] + g;
    }
}

static void F(layer_norm_grad_rows)(REAL *dx, REAL *dw, REAL *db, const REAL *x, const REAL *w, const REAL *dy,
                                    const REAL *mean, const REAL *rstd, int64_t rows, int64_t n, bool fresh)
{
    for (int64_t r = 0; r < rows; r++) {
        const REAL *xr = x + r * n, *dyr = dy + r * n;
        REAL m = mean[r], s = rstd[r];
        if (dw) {
            INDEPENDENT
            for (int64_t i = 0; i < n; i++) {
                dw[i] += dyr[i] * ((xr[i] - m) * s);
            }
        }
        if (db) {
            F(acc)(db, dyr, n);
        }
        if (dx) { /* last: dx may be x or dy */
            F(layer_norm_grad_row)(dx + r * n, xr, w, dyr, m, s, n, fresh);
        }
    }
}
