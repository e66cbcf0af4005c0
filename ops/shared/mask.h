/* ops/shared/mask.h: the rows of a tensor, and what a mask that broadcasts to it allows of them. */
#ifndef OPS_MASK_H
#define OPS_MASK_H

#include "ops/shared/op.h"

/* The mask of the rows of x (..., n). */
typedef struct asc_row_mask {
    const uint8_t *data; /* NULL: all is allowed */
    int ndim;            /* of the rows: one less than x */
    int64_t shape[ASC_MAX_DIMS], stride[ASC_MAX_DIMS];
    int64_t step; /* from one entry of a row to the next: 0 or 1 */
} asc_row_mask;

/* Input x is floating, of at least one dimension; input `mask` is absent, or u8 of a shape that broadcasts to x's. */
asc_status asc_expect_masked_rows(asc_call *call, int x, int mask);

/* Of arrays that have been checked. */
asc_row_mask asc_row_mask_of(const asc_array *mask, const asc_array *x);
/* The first entry of a row's mask; NULL: all is allowed. */
const uint8_t *asc_row_mask_at(const asc_row_mask *m, int64_t row);

#endif
