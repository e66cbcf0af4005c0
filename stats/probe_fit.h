/* stats/probe_fit.h: ridge regression of several targets on the same features. */
#ifndef STATS_PROBE_FIT_H
#define STATS_PROBE_FIT_H

#include <ascgrad/base.h>

/* n items in an order: the first n_fit are fitted to, the others held out. */
typedef struct asc_fit {
    asc_ctx *ctx;
    int64_t n, n_fit, d;
    double *z;      /* [n, d]: the features, standardised by the items fitted to */
    double *factor; /* [d, d], lower triangle: Cholesky's L of ZᵀZ + n_fit ridge I of those items */
} asc_fit;

/* Standardises the rows of fit->z, and factors. Memory is of the scope. ASC_ERR_MEMORY. */
asc_status asc_fit_prepare(asc_fit *fit, double ridge);

/* What the targets t[n_fit, c] say of the items held out: p[n - n_fit, c]. ASC_ERR_MEMORY. */
asc_status asc_fit_predict(const asc_fit *fit, const double *t, int64_t c, double *p);

#endif
