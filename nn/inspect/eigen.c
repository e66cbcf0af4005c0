/* nn/inspect/eigen.c: Jacobi's method: each rotation J in a plane (p, q) makes a_pq zero, A ← Jᵀ A J, V ← Jᵀ V; sweeps
 * over all p < q converge quadratically. Source: Golub and Van Loan, Matrix Computations, section 8.5. */
#include "nn/inspect/eigen.h"

#include <float.h>
#include <math.h>

enum { SWEEPS = 60 }; /* some ten are enough */

/* Rows x ← c x - s y, y ← s x + c y. */
static void rotate(double *x, double *y, int64_t n, int64_t stride, double c, double s)
{
    for (int64_t i = 0; i < n; i++) {
        double a = x[i * stride], b = y[i * stride];
        x[i * stride] = c * a - s * b;
        y[i * stride] = s * a + c * b;
    }
}

static void annihilate(int64_t n, double *a, double *v, int64_t p, int64_t q)
{
    double apq = a[p * n + q];
    if (apq == 0) {
        return;
    }
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(theta, 1)); /* the smaller of both angles */
    double c = 1 / hypot(t, 1), s = t * c;
    rotate(a + p * n, a + q * n, n, 1, c, s);
    rotate(a + p, a + q, n, n, c, s);
    rotate(v + p * n, v + q * n, n, 1, c, s);
    a[p * n + q] = a[q * n + p] = 0;
}

/* The sum of squares off the diagonal, and on it. */
static void weigh(int64_t n, const double *a, double *off, double *on)
{
    *off = *on = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            *(i == j ? on : off) += a[i * n + j] * a[i * n + j];
        }
    }
}

static void swap(double *x, double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double t = x[i];
        x[i] = y[i];
        y[i] = t;
    }
}

static void sort(int64_t n, double *a, double *v)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < n; j++) {
            best = a[j * n + j] > a[best * n + best] ? j : best;
        }
        if (best != i) {
            swap(a + i * n + i, a + best * n + best, 1);
            swap(v + i * n, v + best * n, n);
        }
    }
}

void asc_symmetric_eigen(int64_t n, double *a, double *v)
{
    for (int64_t i = 0; i < n * n; i++) {
        v[i] = i % (n + 1) == 0;
    }
    double off, on;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        weigh(n, a, &off, &on);
        if (!(off > DBL_EPSILON * DBL_EPSILON * on)) {
            break;
        }
        for (int64_t p = 0; p < n; p++) {
            for (int64_t q = p + 1; q < n; q++) {
                annihilate(n, a, v, p, q);
            }
        }
    }
    sort(n, a, v);
}
