/* tests/kernels/background.h: the row primitives of ASCender's background variant; included by test_background.c.
 * Everything is compared with the plainest loop. */
/* ---- float, and f64.awk makes the same for double ---- */

/* A row of the crowding, and what its gradient is made of. */
typedef struct row_f32 {
    float d2[MOST], rho[MOST], x[MOST], w[MOST], S[MOST], dS[MOST], dx[MOST], dd2[MOST];
    asc_background_bias bias;
    asc_background_bias_grad grad;
} row_f32;

static void make_row_f32(row_f32 *r, int64_t n)
{
    fill_f32(r->d2, MOST, 1);
    fill_f32(r->rho, MOST, 2);
    fill_f32(r->dS, MOST, 3);
    fill_f32(r->S, MOST, 4);
    for (int64_t i = 0; i < n; i++) {
        r->d2[i] = 3 * r->d2[i] * r->d2[i];
    }
    r->bias = (asc_background_bias){.rate = .7, .near = -1.2, .dense = -.6};
    r->grad = (asc_background_bias_grad){.mean = .2, .slope = .4, .spread = -.3, .shift = .1};
}

static void run_row_f32(const asc_kernel_table_f32 *k, row_f32 *r, int64_t n)
{
    make_row_f32(r, n);
    memcpy(r->x, r->d2, sizeof r->x);
    if (n > 0) {
        k->background_bias(r->x, r->x, r->rho, n, &r->bias);
    }
    k->add_background_bias(r->S, r->w, r->d2, r->rho, (float)0.5, n, &r->bias);
    k->background_pull(r->dS, r->w, r->rho, n, &r->bias, &r->grad);
    memcpy(r->dx, r->w, sizeof r->dx);
    memcpy(r->dd2, r->d2, sizeof r->dd2);
    k->background_grad(r->dd2, r->dx, r->dS, r->rho, n, &r->bias, &r->grad);
}

static void check_row_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    static row_f32 r, old;
    double sum = 0, pull = 0, near = 0, dense = 0, square = 0, base = 0;
    make_row_f32(&old, n);
    run_row_f32(k, &r, n);
    for (int64_t i = 0; i < n; i++) {
        double w = exp(-.7 * (double)r.d2[i]), x = -1.2 * w - .6 * (double)r.rho[i], dS = (double)r.dS[i];
        base = i == 0 ? x : base;
        x -= base;
        double dx = .4 * (dS - .1) - .3 * (x - .2), dd2 = .7 * 1.2 * dx * w;
        close_f32(r.x[i], x, 8, "x");
        close_f32(r.w[i], w, 4, "w");
        close_f32(r.S[i], (double)old.S[i] + .5 * x, 8, "S");
        close_f32(r.dx[i], dx, 8, "dx");
        close_f32(r.dd2[i], dd2, 8, "dd2");
        sum += dS;
        pull += dS * (x - .2);
        near += dx * w;
        dense += dx * (double)r.rho[i];
        square += dd2 * (double)r.d2[i];
    }
    double scale = 16 * (double)(n + 1);
    close_f32((float)r.bias.base, base, 8, "the base");
    close_f32((float)r.grad.sum, sum, scale, "the sum");
    close_f32((float)r.grad.pull, pull, scale, "the pull");
    close_f32((float)r.grad.by_near, near, scale, "by_near");
    close_f32((float)r.grad.by_dense, dense, scale, "by_dense");
    close_f32((float)r.grad.by_d2, square, scale, "by_d2");
}

/* Of a row that differs from a constant in its last digits, the differences are exact. */
static void check_nearly_constant_f32(const asc_kernel_table_f32 *k)
{
    enum { N = 50 };
    float rho[N], far[N], x[N];
    const float step = FLT_MANT_DIG == 24 ? (float)0x1p-22 : (float)0x1p-50;
    for (int64_t i = 0; i < N; i++) {
        rho[i] = 1 + (float)(i % 7) * step;
        far[i] = (float)1e4; /* w = 0 */
    }
    asc_background_bias bias = {.rate = 1, .near = -1, .dense = -1};
    k->background_bias(x, far, rho, N, &bias);
    for (int64_t i = 0; i < N; i++) {
        ck_assert(x[i] == -(float)(i % 7) * step);
    }
}

typedef struct lists_f32 {
    float rows[ROWS * LD], drows[ROWS * LD], x[LD], dx[LD], a[MOST_LINKS], dots[MOST_LINKS], d2[MOST_LINKS], sum[LD];
    float scattered[ROWS * LD];
} lists_f32;

static void run_lists_f32(const asc_kernel_table_f32 *k, lists_f32 *l, int64_t n, int64_t width)
{
    fill_f32(l->rows, ROWS * LD, 1);
    fill_f32(l->drows, ROWS * LD, 2);
    fill_f32(l->x, LD, 3);
    fill_f32(l->dx, LD, 4);
    fill_f32(l->a, MOST_LINKS, 5);
    fill_f32(l->sum, LD, 6);
    fill_f32(l->scattered, ROWS * LD, 7);
    k->gather_dots(l->dots, l->x, l->rows, LD, keys, n, width);
    k->gather_distances(l->d2, l->x, l->rows, LD, keys, n, width);
    k->gather_distances_grad(l->dx, l->drows, LD, l->a, l->x, l->rows, LD, keys, n, width);
    k->gather_sum(l->sum, l->a, l->rows, LD, keys, n, width);
    k->scatter_sum(l->scattered, LD, keys, l->a, l->x, n, width);
}

static void check_lists_f32(const asc_kernel_table_f32 *k, int64_t n, int64_t width)
{
    static lists_f32 l, old;
    run_lists_f32(k, &old, 0, width); /* changes nothing */
    run_lists_f32(k, &l, n, width);
    double scale = 8 * (double)(n + width + 1);
    for (int64_t e = 0; e < n; e++) {
        double dot = 0, square = 0;
        for (int64_t m = 0; m < width; m++) {
            double x = (double)l.x[m], row = (double)l.rows[keys[e] * LD + m];
            dot += x * row;
            square += (x - row) * (x - row);
        }
        close_f32(l.dots[e], dot, scale, "a product");
        close_f32(l.d2[e], square, scale, "a distance");
    }
    for (int64_t m = 0; m < LD; m++) {
        double sum = (double)old.sum[m], dx = (double)old.dx[m];
        for (int64_t e = 0; e < n && m < width; e++) {
            double row = (double)l.rows[keys[e] * LD + m], g = 2 * (double)l.a[e] * ((double)l.x[m] - row);
            sum += (double)l.a[e] * row;
            dx += g;
            old.drows[keys[e] * LD + m] -= (float)g;
            old.scattered[keys[e] * LD + m] += (float)((double)l.a[e] * (double)l.x[m]);
        }
        close_f32(l.sum[m], sum, scale, "the sum");
        close_f32(l.dx[m], dx, scale, "dx");
    }
    for (int64_t i = 0; i < ROWS * LD; i++) {
        close_f32(l.drows[i], (double)old.drows[i], scale, "drows");
        close_f32(l.scattered[i], (double)old.scattered[i], scale, "a row");
    }
}
/* ---- end of float ---- */
#include "tests/kernels/background.f64.h"
