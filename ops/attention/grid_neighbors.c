/* ops/attention/grid_neighbors.c: the neighbours of a grid's cells, as lists for attention. */
#include <ascgrad/ops.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

enum { MOST = 1 << 20 }; /* neighbours of a cell, and its own place */

/* cell, or -1, moved by the steps of neighbour `which`: its digits to the base 2 radius + 1, less radius. */
static int64_t moved(int ndim, const int64_t *sizes, int64_t radius, int64_t cell, int64_t which)
{
    int64_t to = 0, stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        int64_t at = cell % sizes[d] + which % (2 * radius + 1) - radius;
        if (at < 0 || at >= sizes[d]) {
            return -1;
        }
        to += at * stride;
        stride *= sizes[d];
        cell /= sizes[d];
        which /= 2 * radius + 1;
    }
    return to;
}

asc_tensor asc_grid_neighbors(asc_ctx *ctx, int ndim, const int64_t *sizes, int64_t radius)
{
    if (ASC_NEED(ctx, "grid_neighbors: sizes", asc_unless_empty(sizes, ndim))) {
        return asc_null();
    }
    int64_t cells = 1, places = 1;
    bool fits = ndim >= 1 && ndim <= ASC_MAX_DIMS && radius >= 0 && radius < MOST;
    for (int d = 0; fits && d < ndim; d++) {
        fits = sizes[d] >= 1 && sizes[d] <= INT32_MAX / cells && 2 * radius + 1 <= MOST / places;
        cells *= fits ? sizes[d] : 1;
        places *= fits ? 2 * radius + 1 : 1;
    }
    if (!fits) {
        asc_fail(ctx, ASC_ERR_ARG, "grid_neighbors: %d dimensions, radius %lld: expected 1 to %d dimensions of 1 or "
                 "more cells, fewer than 2^31 in all, radius >= 0, and at most %d places of a radius", ndim,
                 (long long)radius, ASC_MAX_DIMS, MOST);
        return asc_null();
    }
    asc_tensor list = asc_empty(ctx, ASC_I64, ASC_SHAPE(1, 1, cells, places - 1));
    int64_t *to = asc_data_mut(list);
    for (int64_t cell = 0; to && cell < cells; cell++) {
        for (int64_t which = 0; which < places; which++) {
            if (which != places / 2) { /* the cell itself */
                *to++ = moved(ndim, sizes, radius, cell, which);
            }
        }
    }
    return list;
}
