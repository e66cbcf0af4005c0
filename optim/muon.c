/* optim/muon.c: Muon: momentum made orthogonal (Jordan et al. 2024), in entries of AdamW's size (Liu et al. 2025).
 *
 * The orthogonal factor U Vᵀ of a matrix U Σ Vᵀ comes from three steps of Newton and Schulz on X = u/t,
 * X <- (a + b S + c S²) X with S = X Xᵀ. All S and all factors are polynomials in the first S: symmetric, and they
 * commute. So the steps stay on the smaller side, P = a + b S + c S², Q <- P Q, S <- P S P, X is multiplied once, by Q,
 * and of each small product nearly half is a mirror image: 3 n² m + 9·1.25 n³ FLOPs for n×m, n <= m.
 *
 * Three do, where each has the polynomial that is best for what the one before has left, and t is near the largest σ:
 * t = (Σ σ⁸)^⅛ = ‖(uuᵀ)²‖^¼, of the square that the first step needs anyway, is σ √2 for a random matrix of 256×256,
 * where ‖u‖ is 8 σ. */
#include <math.h>
#include <string.h>

#include "optim/optim.h"
#include "kernels/gemm.h"

enum { V };
enum { ROUNDS = 3, BLOCK = 64 };

/* a, b, c: of the odd polynomials of degree 5 that which is nearest to 1 on [0.0125, 1], and on where the one before
 * has taken that; in the end within 0.204 of 1 (by Remez' exchange). Below, σ grows 70 times. */
static const double steps[ROUNDS][3] = {
    {7.9943, -23.2300, 17.1358}, {3.5163, -2.6345, 0.5266}, {2.5028, -1.8451, 0.4380}};

/* A matrix and its work. */
typedef struct work {
    asc_dtype dtype;
    int64_t rows, columns, n; /* n: the smaller of both */
    char *x;                  /* [rows, columns] */
    char *s, *p, *q, *w;      /* [n, n] each */
} work;

static work measure(asc_tensor p)
{
    const int64_t *shape = asc_shape(p);
    work w = {.dtype = asc_dtype_of(p), .rows = shape[0], .columns = shape[1]};
    w.n = w.rows < w.columns ? w.rows : w.columns;
    return w;
}

static work lay_out(asc_tensor p, char *scratch)
{
    work w = measure(p);
    size_t real = asc_dtype_size(w.dtype), square = (size_t)(w.n * w.n) * real;
    w.x = scratch;
    w.s = w.x + (size_t)(w.rows * w.columns) * real;
    w.p = w.s + square;
    w.q = w.p + square;
    w.w = w.q + square;
    return w;
}

static size_t scratch(asc_tensor p)
{
    work w = measure(p);
    return (size_t)(w.rows * w.columns + 4 * w.n * w.n) * asc_dtype_size(w.dtype);
}

/* ---- float, and f64.awk makes the same for double ---- */

/* v = μ v + g; x = g + μ v; the norm of x. */
static double gather_f32(const void *grad, void *momentum, void *to, int64_t n, double keep, double grad_scale)
{
    const float *g = grad;
    float *v = momentum, *x = to;
    const float mu = (float)keep, scale = (float)grad_scale;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] * scale;
        v[i] = mu * v[i] + d;
        x[i] = d + mu * v[i];
        sum += (double)x[i] * x[i];
    }
    return sqrt(sum);
}

/* By a double: 1/norm of momentum that has faded to the smallest floats is more than a float holds. */
static void scale_f32(void *to, int64_t n, double by)
{
    float *x = to;
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(x[i] * by);
    }
}

/* What lies above the diagonal, below it. */
static void mirror_f32(void *square, int64_t n)
{
    float *c = square;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            c[i * n + j] = c[j * n + i];
        }
    }
}

/* The root of the sum of the squares. */
static double norm_f32(const void *of, int64_t n)
{
    const float *x = of;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)x[i] * x[i];
    }
    return sqrt(sum);
}

/* p = a + b s + c p, p being s². */
static void polynomial_f32(const void *of, void *square, int64_t n, const double *abc)
{
    const float *s = of;
    float *p = square;
    const float a = (float)abc[0], b = (float)abc[1], c = (float)abc[2];
    for (int64_t i = 0; i < n * n; i++) {
        p[i] = b * s[i] + c * p[i];
    }
    for (int64_t i = 0; i < n; i++) {
        p[i * n + i] += a;
    }
}

/* ---- end of float ---- */
#include "optim/muon.f64.h"

/* g->c = op(A) op(B), known to be symmetric. */
static void multiply(asc_gemm g)
{
    const size_t real = asc_dtype_size(g.dtype);
    const int64_t n = g.n;
    char *c = g.c;
    const char *a = g.a, *b = g.b;
    for (int64_t i = 0; i < n; i += BLOCK) {
        g.m = n - i < BLOCK ? n - i : BLOCK;
        g.n = n - i;
        g.a = a + (size_t)(g.ta ? i : i * g.lda) * real;
        g.b = b + (size_t)(g.tb ? i * g.ldb : i) * real;
        g.c = c + (size_t)(i * n + i) * real;
        asc_gemm_run(&g);
    }
    BY_DTYPE(g.dtype, mirror)(c, n);
}

static void square(const work *w, const void *a, const void *b, void *c)
{
    multiply((asc_gemm){.dtype = w->dtype,
                        .n = w->n,
                        .k = w->n,
                        .alpha = 1,
                        .a = a,
                        .lda = w->n,
                        .b = b,
                        .ldb = w->n,
                        .c = c,
                        .ldc = w->n});
}

static void swap(char **a, char **b)
{
    char *was = *a;
    *a = *b;
    *b = was;
}

/* Leaves in w->q what makes x/t orthogonal, x of norm 1. Returns t. */
static double find_factor(work *w)
{
    bool wide = w->rows <= w->columns;
    double t2 = 1;
    multiply((asc_gemm){.dtype = w->dtype,
                        .ta = !wide,
                        .tb = wide,
                        .n = w->n,
                        .k = wide ? w->columns : w->rows,
                        .alpha = 1,
                        .a = w->x,
                        .lda = w->columns,
                        .b = w->x,
                        .ldb = w->columns,
                        .c = w->s,
                        .ldc = w->n});
    for (int round = 0; round < ROUNDS; round++) {
        square(w, w->s, w->s, w->p);
        if (round == 0) {
            t2 = sqrt(BY_DTYPE(w->dtype, norm)(w->p, w->n * w->n));
            BY_DTYPE(w->dtype, scale)(w->s, w->n * w->n, 1 / t2);
            BY_DTYPE(w->dtype, scale)(w->p, w->n * w->n, 1 / (t2 * t2));
        }
        BY_DTYPE(w->dtype, polynomial)(w->s, w->p, w->n, steps[round]);
        if (round + 1 < ROUNDS) {
            square(w, w->p, w->s, w->w);
            square(w, w->p, w->w, w->s);
        }
        if (round == 0) {
            swap(&w->p, &w->q);
        } else {
            square(w, w->p, w->q, w->w);
            swap(&w->q, &w->w);
        }
    }
    return sqrt(t2);
}

static void update(const asc_optim *o, const asc_optim_update *u, void *scratch)
{
    asc_tensor p = asc_params_at(o->params, u->i);
    work w = lay_out(p, scratch);
    const int64_t numel = w.rows * w.columns;
    double norm = BY_DTYPE(w.dtype, gather)(asc_optim_at(asc_grad(p), 0), asc_optim_at(o->part[u->i].slot[V], 0), w.x,
                                            numel, o->options.muon_momentum, u->grad_scale);
    char *at = asc_optim_at(p, 0);
    BY_DTYPE(w.dtype, scale)(at, numel, 1 - u->lr * o->part[u->i].setting.weight_decay);
    if (norm == 0) { /* what is not finite shows in the parameters, as with the other rules */
        return;
    }
    BY_DTYPE(w.dtype, scale)(w.x, numel, 1 / norm);
    double t = find_factor(&w);
    bool wide = w.rows <= w.columns;
    double rate = u->lr * .2 * sqrt((double)(wide ? w.columns : w.rows));
    asc_gemm_run(&(asc_gemm){.dtype = w.dtype,
                             .m = w.rows,
                             .n = w.columns,
                             .k = w.n,
                             .alpha = -rate / t,
                             .a = wide ? w.q : w.x,
                             .lda = wide ? w.n : w.columns,
                             .b = wide ? w.x : w.q,
                             .ldb = wide ? w.columns : w.n,
                             .beta = 1,
                             .c = at,
                             .ldc = w.columns});
}

const asc_rule_def asc_rule_muon = {.slots = {"momentum"}, .whole = update, .scratch = scratch};
