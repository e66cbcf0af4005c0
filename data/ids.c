/* data/ids.c: growing lists of ids. */
#include <ascgrad/corpus.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

void asc_ids_free(asc_ctx *ctx, asc_ids *ids)
{
    if (!ctx || !ids) {
        return;
    }
    asc_free(ctx, ids->data, ids->capacity * sizeof *ids->data);
    *ids = (asc_ids){NULL, 0, 0};
}

asc_status asc_ids_push(asc_ctx *ctx, asc_ids *ids, int32_t id)
{
    asc_status status = ASC_NEED(ctx, "ids_push: ids", ids);
    if (status) {
        return status;
    }
    if (!asc_grow(ctx, &ids->data, &ids->capacity, ids->n + 1, sizeof id)) {
        return ASC_ERR_MEMORY;
    }
    ids->data[ids->n++] = id;
    return ASC_OK;
}
