/* ops/shared/mask.c: the rows of a tensor under a mask. */
#include "ops/shared/mask.h"

#include <string.h>

#include "ops/shared/broadcast.h"

asc_status asc_expect_masked_rows(asc_call *call, int x, int mask)
{
    const asc_array *a = &call->in[x], *m = &call->in[mask];
    if (asc_expect_floating(call, x)) {
        return ASC_ERR_ARG;
    }
    if (a->ndim < 1) {
        return asc_call_expect(call, x, "(..., n)");
    }
    if (m->ndim >= 0 && (m->dtype != ASC_U8 || !asc_broadcasts_to(m, a))) {
        char text[ASC_SHAPE_TEXT];
        return asc_call_expect(call, mask, "u8 of a shape that broadcasts to %s", asc_shape_text(a, text));
    }
    return ASC_OK;
}

asc_row_mask asc_row_mask_of(const asc_array *mask, const asc_array *x)
{
    asc_row_mask m = {.ndim = x->ndim - 1};
    if (mask->ndim < 0) {
        return m;
    }
    m.data = mask->data;
    memcpy(m.shape, x->shape, sizeof m.shape);
    asc_broadcast_strides(mask, x->ndim, x->shape, m.stride);
    m.step = m.stride[m.ndim];
    return m;
}

const uint8_t *asc_row_mask_at(const asc_row_mask *m, int64_t row)
{
    const uint8_t *at = m->data;
    for (int d = m->ndim - 1; at && d >= 0; d--) {
        at += row % m->shape[d] * m->stride[d];
        row /= m->shape[d];
    }
    return at;
}
