/* stats/probe_fit.c: ridge regression, W = (ZᵀZ + n r I)⁻¹ Zᵀ(T - t̄), predictions Z W + t̄ (Hoerl and Kennard
 * 1970). */
#include "stats/probe_fit.h"

#include <math.h>
#include <string.h>

#include "kernels/gemm.h"
#include "stats/stats.h"

/* mean[d] of rows of z; and, given `about`, of their squared distances from it. */
static void column_means(const double *z, int64_t n, int64_t d, const double *about, double *mean)
{
    memset(mean, 0, (size_t)d * sizeof *mean);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t e = 0; e < d; e++) {
            double x = z[i * d + e];
            mean[e] += about ? (x - about[e]) * (x - about[e]) : x;
        }
    }
    for (int64_t e = 0; e < d; e++) {
        mean[e] /= (double)n;
    }
}

/* Mean 0 and deviation 1 over the items fitted to; a feature that is constant there, but for rounding, becomes 0. What
 * hardly ever happens there has a small deviation, and where it happens in an item held out must not decide alone. */
static const double farthest = 10;

static asc_status standardise(asc_fit *f)
{
    double *mean = asc_stats_reals(f->ctx, f->d), *square = asc_stats_reals(f->ctx, f->d);
    if (!mean || !square) {
        return asc_error(f->ctx);
    }
    column_means(f->z, f->n_fit, f->d, NULL, mean);
    column_means(f->z, f->n_fit, f->d, mean, square);
    for (int64_t e = 0; e < f->d; e++) {
        double deviation = sqrt(square[e]);
        square[e] = deviation > 1e-12 * fabs(mean[e]) ? 1 / deviation : 0;
    }
    for (int64_t i = 0; i < f->n; i++) {
        for (int64_t e = 0; e < f->d; e++) {
            double z = (f->z[i * f->d + e] - mean[e]) * square[e];
            f->z[i * f->d + e] = fmin(farthest, fmax(-farthest, z));
        }
    }
    return ASC_OK;
}

/* L of the lower triangle of a[d, d], in place; false where the penalty is too small to keep its diagonal above 0. */
static bool factorise(double *a, int64_t d)
{
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sum = a[i * d + j];
            for (int64_t k = 0; k < j; k++) {
                sum -= a[i * d + k] * a[j * d + k];
            }
            if (j == i && !(sum > 0)) {
                return false;
            }
            a[i * d + j] = j < i ? sum / a[j * d + j] : sqrt(sum);
        }
    }
    return true;
}

asc_status asc_fit_prepare(asc_fit *f, double ridge)
{
    int64_t d = f->d;
    f->factor = asc_stats_reals(f->ctx, d * d);
    if (!f->factor || standardise(f) ||
        asc_gemm_parallel(f->ctx, &(asc_gemm){.dtype = ASC_F64, .ta = true, .m = d, .n = d, .k = f->n_fit, .alpha = 1,
                                              .a = f->z, .lda = d, .b = f->z, .ldb = d, .c = f->factor, .ldc = d})) {
        return asc_error(f->ctx);
    }
    for (int64_t e = 0; e < d; e++) {
        f->factor[e * d + e] += ridge * (double)f->n_fit;
    }
    return factorise(f->factor, d)
               ? ASC_OK
               : asc_fail(f->ctx, ASC_ERR_ARG, "probe: ridge is %g, too small for features that depend on each other",
                          ridge);
}

/* b[d, c] becomes (L Lᵀ)⁻¹ b. */
static void solve(const double *L, int64_t d, double *b, int64_t c)
{
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double by = j < i ? -L[i * d + j] : 1 / L[i * d + i];
            for (int64_t e = 0; e < c; e++) {
                b[i * c + e] = j < i ? b[i * c + e] + by * b[j * c + e] : b[i * c + e] * by;
            }
        }
    }
    for (int64_t i = d - 1; i >= 0; i--) {
        for (int64_t j = d - 1; j >= i; j--) {
            double by = j > i ? -L[j * d + i] : 1 / L[i * d + i];
            for (int64_t e = 0; e < c; e++) {
                b[i * c + e] = j > i ? b[i * c + e] + by * b[j * c + e] : b[i * c + e] * by;
            }
        }
    }
}

asc_status asc_fit_predict(const asc_fit *f, const double *t, int64_t c, double *p)
{
    int64_t d = f->d, out = f->n - f->n_fit;
    double *mean = asc_stats_reals(f->ctx, c), *centred = asc_stats_reals(f->ctx, f->n_fit * c);
    double *w = asc_stats_reals(f->ctx, d * c);
    if (!mean || !centred || !w) {
        return asc_error(f->ctx);
    }
    column_means(t, f->n_fit, c, NULL, mean);
    for (int64_t e = 0; e < f->n_fit * c; e++) {
        centred[e] = t[e] - mean[e % c];
    }
    if (asc_gemm_parallel(f->ctx, &(asc_gemm){.dtype = ASC_F64, .ta = true, .m = d, .n = c, .k = f->n_fit, .alpha = 1,
                                              .a = f->z, .lda = d, .b = centred, .ldb = c, .c = w, .ldc = c})) {
        return asc_error(f->ctx);
    }
    solve(f->factor, d, w, c);
    return asc_gemm_parallel(f->ctx, &(asc_gemm){.dtype = ASC_F64, .m = out, .n = c, .k = d, .alpha = 1,
                                                 .a = f->z + f->n_fit * d, .lda = d, .b = w, .ldb = c, .c = p, .ldc = c,
                                                 .bias = mean});
}
