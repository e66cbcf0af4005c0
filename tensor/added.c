/* tensor/added.c: what users add to a context by registering it: ops, tokenizers, data sources, … */
#include "tensor/ctx.h"

asc_status asc_added_put(asc_ctx *ctx, const void *table, const void *item)
{
    if (!ctx) {
        return ASC_ERR_ARG;
    }
    if (!asc_grow(ctx, &ctx->added, &ctx->cap_added, ctx->n_added + 1, sizeof *ctx->added)) {
        return ASC_ERR_MEMORY;
    }
    ctx->added[ctx->n_added++] = (asc_added){table, item};
    return ASC_OK;
}

const void *asc_added_at(const asc_ctx *ctx, const void *table, int i)
{
    for (size_t j = 0; ctx && j < ctx->n_added; j++) {
        if (ctx->added[j].table == table && i-- == 0) {
            return ctx->added[j].item;
        }
    }
    return NULL;
}
