/* tensor/need.c: the errors of arguments that are NULL. */
#include "tensor/need.h"

#include <string.h>

#include "tensor/ctx.h"

/* The argument that has this place in `names` is NULL. */
asc_status asc_need_missing(asc_ctx *ctx, const char *names, int missing)
{
    int function = (int)strcspn(names, " ");
    const char *name = names + function;
    for (int i = 0; i < missing; i++) {
        name += 1 + strcspn(name + 1, " ");
    }
    asc_fail(ctx, ASC_ERR_ARG, "%.*s%.*s is NULL", function, names, 1 + (int)strcspn(name + 1, " "), name);
    return asc_error(ctx);
}

asc_status asc_need_one(asc_ctx *ctx, const char *function, const char *argument, const void *given)
{
    if (!ctx || given) {
        return ctx ? ASC_OK : ASC_ERR_ARG;
    }
    asc_fail(ctx, ASC_ERR_ARG, "%s: %s is NULL", function, argument);
    return ctx->status;
}

asc_status asc_need_tensor(asc_ctx *ctx, asc_tensor given, const char *function, const char *argument)
{
    const asc_node *node = asc_node_of(given);
    if (!ctx || (node && node->ctx == ctx)) {
        return ctx ? ASC_OK : ASC_ERR_ARG;
    }
    bool null = asc_is_null(given);
    asc_fail(ctx, null || node ? ASC_ERR_ARG : ASC_ERR_STATE, "%s: %s %s", function, argument,
             null ? "is null" : node ? "belongs to another context" : "is a tensor that is gone");
    return ctx->status;
}

asc_status asc_refuse_gone(asc_tensor gone, const char *function, const char *argument)
{
    asc_ctx *ctx = asc_ctx_of(gone);
    asc_status status = asc_is_null(gone) ? ASC_ERR_ARG : ASC_ERR_STATE;
    return ctx ? asc_need_tensor(ctx, gone, function, argument) : status;
}
