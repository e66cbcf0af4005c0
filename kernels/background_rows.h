/*
 * kernels/background_rows.h: a row of the crowding of ASCender's background variant, x = near w + dense ρ - base with
 * w = exp(-rate d²), and its gradient; included by kernels_impl.c. list.h says what each function does.
 */
/* ---- float, and f64.awk makes the same for double ---- */

static void background_bias_f32(float *x, const float *d2, const float *rho, int64_t n, asc_background_bias *c)
{
    const float rate = (float)-c->rate, near = (float)c->near, dense = (float)c->dense;
    const float base = near * exp1_f32(rate * d2[0]) + dense * rho[0];
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        x[i] = near * exp1_f32(rate * d2[i]) + dense * rho[i] - base;
    }
    c->base = (double)base;
}

static void add_background_bias_f32(float *S, float *w, const float *d2, const float *rho, float coef, int64_t n,
                                    const asc_background_bias *c)
{
    const float rate = (float)-c->rate, near = (float)c->near, dense = (float)c->dense, base = (float)c->base;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float weight = exp1_f32(rate * d2[i]);
        w[i] = weight;
        S[i] += coef * (near * weight + dense * rho[i] - base);
    }
}

/* Sums in lanes, as in rows.h. */
typedef struct background_sums_f32 {
    float a[LANES], b[LANES], c[LANES];
} background_sums_f32;

static ALWAYS_INLINE void background_pull_lanes_f32(const float *dS, const float *w, const float *rho, int n,
                                                    const asc_background_bias *c, float mean, background_sums_f32 *sums)
{
    const float near = (float)c->near, dense = (float)c->dense, base = (float)c->base;
    for (int k = 0; k < n; k++) {
        sums->a[k] += dS[k];
        sums->b[k] += dS[k] * (near * w[k] + dense * rho[k] - base - mean);
    }
}

static void background_pull_f32(const float *dS, const float *w, const float *rho, int64_t n,
                                const asc_background_bias *c, asc_background_bias_grad *g)
{
    background_sums_f32 sums = {{0}, {0}, {0}};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        background_pull_lanes_f32(dS + i, w + i, rho + i, LANES, c, (float)g->mean, &sums);
    }
    background_pull_lanes_f32(dS + i, w + i, rho + i, (int)(n - i), c, (float)g->mean, &sums);
    g->sum = (double)join_f32(sums.a, plus_f32);
    g->pull = (double)join_f32(sums.b, plus_f32);
}

static ALWAYS_INLINE void background_grad_lanes_f32(float *d2, float *w, const float *dS, const float *rho, int n,
                                                    const asc_background_bias *c, const asc_background_bias_grad *g,
                                                    background_sums_f32 *sums)
{
    const float near = (float)c->near, dense = (float)c->dense, base = (float)c->base,
                toward = (float)(-c->rate * c->near);
    const float slope = (float)g->slope, spread = (float)g->spread, mean = (float)g->mean, shift = (float)g->shift;
    INDEPENDENT
    for (int k = 0; k < n; k++) {
        float weight = w[k], square = d2[k], density = rho[k];
        float x = near * weight + dense * density - base;
        float dx = slope * (dS[k] - shift) + spread * (x - mean), dsquare = toward * dx * weight;
        sums->a[k] += dx * weight;
        sums->b[k] += dx * density;
        sums->c[k] += dsquare * square;
        w[k] = dx;
        d2[k] = dsquare;
    }
}

static void background_grad_f32(float *d2, float *w, const float *dS, const float *rho, int64_t n,
                                const asc_background_bias *c, asc_background_bias_grad *g)
{
    background_sums_f32 sums = {{0}, {0}, {0}};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        background_grad_lanes_f32(d2 + i, w + i, dS + i, rho + i, LANES, c, g, &sums);
    }
    background_grad_lanes_f32(d2 + i, w + i, dS + i, rho + i, (int)(n - i), c, g, &sums);
    g->by_near = (double)join_f32(sums.a, plus_f32);
    g->by_dense = (double)join_f32(sums.b, plus_f32);
    g->by_d2 = (double)join_f32(sums.c, plus_f32);
}
/* ---- end of float ---- */
#include "kernels/background_rows.f64.h"
