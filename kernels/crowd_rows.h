/*
 * kernels/crowd_rows.h: a row of the crowding of ASCender's background variant, x = near w + dense ρ - base with
 * w = exp(-rate d²), and its gradient; included by kernels_impl.c. crowd_table.h says what each function does.
 */

static void F(crowd)(REAL *x, const REAL *d2, const REAL *rho, int64_t n, asc_crowd *c)
{
    const REAL rate = (REAL)-c->rate, near = (REAL)c->near, dense = (REAL)c->dense;
    const REAL base = near * F(exp1)(rate * d2[0]) + dense * rho[0];
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        x[i] = near * F(exp1)(rate * d2[i]) + dense * rho[i] - base;
    }
    c->base = (double)base;
}

static void F(add_crowd)(REAL *S, REAL *w, const REAL *d2, const REAL *rho, REAL coef, int64_t n, const asc_crowd *c)
{
    const REAL rate = (REAL)-c->rate, near = (REAL)c->near, dense = (REAL)c->dense, base = (REAL)c->base;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL weight = F(exp1)(rate * d2[i]);
        w[i] = weight;
        S[i] += coef * (near * weight + dense * rho[i] - base);
    }
}

/* Sums in lanes, as in rows.h. */
typedef struct F(crowd_sums) {
    REAL a[LANES], b[LANES], c[LANES];
} F(crowd_sums);

static ALWAYS_INLINE void F(crowd_pull_block)(const REAL *dS, const REAL *w, const REAL *rho, int n, const asc_crowd *c,
                                              REAL mean, F(crowd_sums) *sums)
{
    const REAL near = (REAL)c->near, dense = (REAL)c->dense, base = (REAL)c->base;
    for (int k = 0; k < n; k++) {
        sums->a[k] += dS[k];
        sums->b[k] += dS[k] * (near * w[k] + dense * rho[k] - base - mean);
    }
}

static void F(crowd_pull)(const REAL *dS, const REAL *w, const REAL *rho, int64_t n, const asc_crowd *c,
                          asc_crowd_grad *g)
{
    F(crowd_sums) sums = {{0}, {0}, {0}};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        F(crowd_pull_block)(dS + i, w + i, rho + i, LANES, c, (REAL)g->mean, &sums);
    }
    F(crowd_pull_block)(dS + i, w + i, rho + i, (int)(n - i), c, (REAL)g->mean, &sums);
    g->sum = (double)F(join)(sums.a, F(plus));
    g->pull = (double)F(join)(sums.b, F(plus));
}

static ALWAYS_INLINE void F(crowd_grad_block)(REAL *d2, REAL *w, const REAL *dS, const REAL *rho, int n,
                                              const asc_crowd *c, const asc_crowd_grad *g, F(crowd_sums) *sums)
{
    const REAL near = (REAL)c->near, dense = (REAL)c->dense, base = (REAL)c->base, toward = (REAL)(-c->rate * c->near);
    const REAL slope = (REAL)g->slope, spread = (REAL)g->spread, mean = (REAL)g->mean, shift = (REAL)g->shift;
    INDEPENDENT
    for (int k = 0; k < n; k++) {
        REAL weight = w[k], square = d2[k], density = rho[k];
        REAL x = near * weight + dense * density - base;
        REAL dx = slope * (dS[k] - shift) + spread * (x - mean), dsquare = toward * dx * weight;
        sums->a[k] += dx * weight;
        sums->b[k] += dx * density;
        sums->c[k] += dsquare * square;
        w[k] = dx;
        d2[k] = dsquare;
    }
}

static void F(crowd_grad)(REAL *d2, REAL *w, const REAL *dS, const REAL *rho, int64_t n, const asc_crowd *c,
                          asc_crowd_grad *g)
{
    F(crowd_sums) sums = {{0}, {0}, {0}};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        F(crowd_grad_block)(d2 + i, w + i, dS + i, rho + i, LANES, c, g, &sums);
    }
    F(crowd_grad_block)(d2 + i, w + i, dS + i, rho + i, (int)(n - i), c, g, &sums);
    g->by_near = (double)F(join)(sums.a, F(plus));
    g->by_dense = (double)F(join)(sums.b, F(plus));
    g->by_d2 = (double)F(join)(sums.c, F(plus));
}
