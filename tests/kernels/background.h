/* tests/kernels/background.h: the row primitives of ASCender's background variant for one real type: the CASES of
 * test_kernels_background.c. Everything is compared with the plainest loop. */

/* A row of the crowding, and what its gradient is made of. */
typedef struct F(row) {
    REAL d2[MOST], rho[MOST], x[MOST], w[MOST], S[MOST], dS[MOST], dx[MOST], dd2[MOST];
    asc_crowd crowd;
    asc_crowd_grad grad;
} F(row);

static void F(make_row)(F(row) *r, int64_t n)
{
    F(fill)(r->d2, MOST, 1);
    F(fill)(r->rho, MOST, 2);
    F(fill)(r->dS, MOST, 3);
    F(fill)(r->S, MOST, 4);
    for (int64_t i = 0; i < n; i++) {
        r->d2[i] = 3 * r->d2[i] * r->d2[i];
    }
    r->crowd = (asc_crowd){.rate = .7, .near = -1.2, .dense = -.6};
    r->grad = (asc_crowd_grad){.mean = .2, .slope = .4, .spread = -.3, .shift = .1};
}

static void F(run_row)(const KERNELS *k, F(row) *r, int64_t n)
{
    F(make_row)(r, n);
    memcpy(r->x, r->d2, sizeof r->x);
    if (n > 0) {
        k->crowd(r->x, r->x, r->rho, n, &r->crowd);
    }
    k->add_crowd(r->S, r->w, r->d2, r->rho, (REAL)0.5, n, &r->crowd);
    k->crowd_pull(r->dS, r->w, r->rho, n, &r->crowd, &r->grad);
    memcpy(r->dx, r->w, sizeof r->dx);
    memcpy(r->dd2, r->d2, sizeof r->dd2);
    k->crowd_grad(r->dd2, r->dx, r->dS, r->rho, n, &r->crowd, &r->grad);
}

static void F(check_row)(const KERNELS *k, int64_t n)
{
    static F(row) r, old;
    double sum = 0, pull = 0, near = 0, dense = 0, square = 0, base = 0;
    F(make_row)(&old, n);
    F(run_row)(k, &r, n);
    for (int64_t i = 0; i < n; i++) {
        double w = exp(-.7 * (double)r.d2[i]), x = -1.2 * w - .6 * (double)r.rho[i], dS = (double)r.dS[i];
        base = i == 0 ? x : base;
        x -= base;
        double dx = .4 * (dS - .1) - .3 * (x - .2), dd2 = .7 * 1.2 * dx * w;
        F(close)(r.x[i], x, 8, "x");
        F(close)(r.w[i], w, 4, "w");
        F(close)(r.S[i], (double)old.S[i] + .5 * x, 8, "S");
        F(close)(r.dx[i], dx, 8, "dx");
        F(close)(r.dd2[i], dd2, 8, "dd2");
        sum += dS;
        pull += dS * (x - .2);
        near += dx * w;
        dense += dx * (double)r.rho[i];
        square += dd2 * (double)r.d2[i];
    }
    double scale = 16 * (double)(n + 1);
    F(close)((REAL)r.crowd.base, base, 8, "the base");
    F(close)((REAL)r.grad.sum, sum, scale, "the sum");
    F(close)((REAL)r.grad.pull, pull, scale, "the pull");
    F(close)((REAL)r.grad.by_near, near, scale, "by_near");
    F(close)((REAL)r.grad.by_dense, dense, scale, "by_dense");
    F(close)((REAL)r.grad.by_d2, square, scale, "by_d2");
}

/* Of a row that differs from a constant in its last digits, the differences are exact. */
static void F(check_nearly_constant)(const KERNELS *k)
{
    enum { N = 50 };
    REAL rho[N], far[N], x[N];
    const REAL step = sizeof(REAL) == sizeof(float) ? (REAL)0x1p-22 : (REAL)0x1p-50;
    for (int64_t i = 0; i < N; i++) {
        rho[i] = 1 + (REAL)(i % 7) * step;
        far[i] = (REAL)1e4; /* w = 0 */
    }
    asc_crowd crowd = {.rate = 1, .near = -1, .dense = -1};
    k->crowd(x, far, rho, N, &crowd);
    for (int64_t i = 0; i < N; i++) {
        ck_assert(x[i] == -(REAL)(i % 7) * step);
    }
}

typedef struct F(lists) {
    REAL rows[ROWS * LD], drows[ROWS * LD], x[LD], dx[LD], a[MOST_LINKS], dots[MOST_LINKS], d2[MOST_LINKS], sum[LD];
    REAL scattered[ROWS * LD];
} F(lists);

static void F(run_lists)(const KERNELS *k, F(lists) *l, int64_t n, int64_t width)
{
    F(fill)(l->rows, ROWS * LD, 1);
    F(fill)(l->drows, ROWS * LD, 2);
    F(fill)(l->x, LD, 3);
    F(fill)(l->dx, LD, 4);
    F(fill)(l->a, MOST_LINKS, 5);
    F(fill)(l->sum, LD, 6);
    F(fill)(l->scattered, ROWS * LD, 7);
    k->gather_dots(l->dots, l->x, l->rows, LD, keys, n, width);
    k->gather_distances(l->d2, l->x, l->rows, LD, keys, n, width);
    k->gather_distances_grad(l->dx, l->drows, LD, l->a, l->x, l->rows, LD, keys, n, width);
    k->gather_sum(l->sum, l->a, l->rows, LD, keys, n, width);
    k->scatter_sum(l->scattered, LD, keys, l->a, l->x, n, width);
}

static void F(check_lists)(const KERNELS *k, int64_t n, int64_t width)
{
    static F(lists) l, old;
    F(run_lists)(k, &old, 0, width); /* changes nothing */
    F(run_lists)(k, &l, n, width);
    double scale = 8 * (double)(n + width + 1);
    for (int64_t e = 0; e < n; e++) {
        double dot = 0, square = 0;
        for (int64_t m = 0; m < width; m++) {
            double x = (double)l.x[m], row = (double)l.rows[keys[e] * LD + m];
            dot += x * row;
            square += (x - row) * (x - row);
        }
        F(close)(l.dots[e], dot, scale, "a product");
        F(close)(l.d2[e], square, scale, "a distance");
    }
    for (int64_t m = 0; m < LD; m++) {
        double sum = (double)old.sum[m], dx = (double)old.dx[m];
        for (int64_t e = 0; e < n && m < width; e++) {
            double row = (double)l.rows[keys[e] * LD + m], g = 2 * (double)l.a[e] * ((double)l.x[m] - row);
            sum += (double)l.a[e] * row;
            dx += g;
            old.drows[keys[e] * LD + m] -= (REAL)g;
            old.scattered[keys[e] * LD + m] += (REAL)((double)l.a[e] * (double)l.x[m]);
        }
        F(close)(l.sum[m], sum, scale, "the sum");
        F(close)(l.dx[m], dx, scale, "dx");
    }
    for (int64_t i = 0; i < ROWS * LD; i++) {
        F(close)(l.drows[i], (double)old.drows[i], scale, "drows");
        F(close)(l.scattered[i], (double)old.scattered[i], scale, "a row");
    }
}

static void F(check_agreement)(const KERNELS *plain, const KERNELS *wide, int64_t n, int64_t links, int64_t width)
{
    static F(row) row[2];
    static F(lists) list[2];
    memset(row, 0, sizeof row);
    memset(list, 0, sizeof list);
    F(run_row)(plain, &row[0], n);
    F(run_row)(wide, &row[1], n);
    F(run_lists)(plain, &list[0], links, width);
    F(run_lists)(wide, &list[1], links, width);
    ck_assert_mem_eq(&row[0], &row[1], sizeof row[0]);
    ck_assert_mem_eq(&list[0], &list[1], sizeof list[0]);
}
