/* ops/registry.c: the library's ops and those that users add. */
#include <string.h>

#include "autograd/engine.h"
#include "tensor/need.h"

#define OP(name) extern const asc_op asc_op_##name;
#include "ops/list.h"
#undef OP

#define OP(name) &asc_op_##name,
static const asc_op *const ops[] = {
#include "ops/list.h"
};
#undef OP

enum { N_OPS = sizeof ops / sizeof *ops };

const asc_op *asc_op_at(int i)
{
    return i >= 0 && i < N_OPS ? ops[i] : NULL;
}

/* Op i of the library's and then of the context's; NULL past the last. */
static const asc_op *op_of(const asc_ctx *ctx, int i)
{
    return i < N_OPS ? ops[i] : asc_added_at(ctx, ops, i - N_OPS);
}

const asc_op *asc_op_find(asc_ctx *ctx, const char *name)
{
    const asc_op *op = NULL;
    for (int i = 0; name && (op = op_of(ctx, i)) && strcmp(op->name, name) != 0; i++) {
    }
    return op;
}

asc_status asc_op_register(asc_ctx *ctx, const asc_op *op)
{
    asc_status status = ASC_NEED(ctx, "op_register: op", op);
    status = status ? status : asc_op_check(ctx, "op_register", op);
    if (status) {
        return status;
    }
    if (asc_op_find(ctx, op->name)) {
        return asc_fail(ctx, ASC_ERR_ARG, "op_register: %s: there is an op of this name", op->name);
    }
    return asc_added_put(ctx, ops, op);
}
