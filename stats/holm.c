/* stats/holm.c: p values of several comparisons. */
#include <stdlib.h>
#include <string.h>

#include "stats/stats.h"
#include "tensor/need.h"

typedef struct entry {
    double p;
    int64_t at;
} entry;

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->at > y->at) - (x->at < y->at);
}

asc_status asc_stats_holm(asc_ctx *ctx, const double *p, int64_t n, double *adjusted)
{
    asc_status status = ASC_NEED(ctx, "stats_holm: p adjusted", asc_unless_empty(p, n), asc_unless_empty(adjusted, n));
    status = status ? status : asc_stats_expect(ctx, "stats_holm", "p", p, n, 0);
    if (status) {
        return status;
    }
    for (int64_t i = 0; i < n; i++) {
        if (p[i] < 0 || p[i] > 1) {
            return asc_fail(ctx, ASC_ERR_ARG, "stats_holm: p[%lld] is %g, expected 0 to 1", (long long)i, p[i]);
        }
    }
    if (n == 0) {
        return ASC_OK;
    }
    entry *order = asc_alloc(ctx, (size_t)n * sizeof *order);
    if (!order) {
        return ASC_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        order[i] = (entry){p[i], i};
    }
    qsort(order, (size_t)n, sizeof *order, compare);
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double scaled = (double)(n - i) * order[i].p;
        most = scaled > most ? scaled : most;
        adjusted[order[i].at] = most < 1 ? most : 1;
    }
    asc_free(ctx, order, (size_t)n * sizeof *order);
    return ASC_OK;
}
