/* ops/registry.c: the library's ops and those that users add. */
#include <string.h>

#include "autograd/engine.h"

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
    const asc_op *op;
    for (int i = 0; (op = op_of(ctx, i)) && strcmp(op->name, name) != 0; i++) {
    }
    return op;
}

asc_status asc_op_register(asc_ctx *ctx, const asc_op *op)
{
    if (!op || op->abi != ASC_OP_ABI) {
        return asc_fail(ctx, ASC_ERR_ARG, "op_register: the op has ABI %u, expected %u", op ? op->abi : 0, ASC_OP_ABI);
    }
    const char *name = op->name ? op->name : "(no name)";
    if (!op->name || !op->equation || !op->inputs || !op->infer || !op->forward) {
        return asc_fail(ctx, ASC_ERR_ARG, "op_register: %s: name, equation, inputs, infer and forward are needed",
                        name);
    }
    if (asc_inputs_most(op) > ASC_MAX_IN || op->n_out < 1 || op->n_out > ASC_MAX_OUT || op->attrs_size > 256) {
        return asc_fail(ctx, ASC_ERR_ARG, "op_register: %s: %d inputs, %d outputs, %zu bytes of attributes; at most "
                        "%d, 1 to %d and 256 fit", name, asc_inputs_most(op), op->n_out, op->attrs_size, ASC_MAX_IN,
                        ASC_MAX_OUT);
    }
    if (op->n_samples < 0 || (op->n_samples > 0 && !op->samples)) {
        return asc_fail(ctx, ASC_ERR_ARG, "op_register: %s: n_samples is %d, samples is %s", name, op->n_samples,
                        op->samples ? "given" : "NULL");
    }
    if (asc_op_find(ctx, op->name)) {
        return asc_fail(ctx, ASC_ERR_ARG, "op_register: %s: there is an op of this name", name);
    }
    return asc_added_put(ctx, ops, op);
}
