/* autograd/registry.c: the library's ops and those that users add. */
#include <string.h>

#include "autograd/engine.h"
#include "tensor/need.h"

const asc_op *asc_op_at(int i)
{
    for (int j = 0; asc_op_list[j]; j++) {
        if (j == i) {
            return asc_op_list[j];
        }
    }
    return NULL;
}

const asc_op *asc_op_find(asc_ctx *ctx, const char *name)
{
    if (!name) {
        return NULL;
    }
    for (int i = 0; asc_op_list[i]; i++) {
        if (strcmp(asc_op_list[i]->name, name) == 0) {
            return asc_op_list[i];
        }
    }
    const asc_tape *tape = ctx ? ctx->tape.state : NULL;
    for (size_t i = 0; tape && i < tape->n_user_ops; i++) {
        if (strcmp(tape->user_op[i]->name, name) == 0) {
            return tape->user_op[i];
        }
    }
    return NULL;
}

asc_status asc_op_register(asc_ctx *ctx, const asc_op *op)
{
    asc_status status = ASC_NEED(ctx, "op_register: op", op);
    if (status) {
        return status;
    }
    if (op->abi != ASC_OP_ABI) {
        return asc_fail(ctx, ASC_ERR_ARG, "op_register: the op has ABI %u, expected %u", op->abi, ASC_OP_ABI);
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
    asc_tape *tape = asc_tape_of(ctx);
    if (!tape || !asc_grow(ctx, (void **)&tape->user_op, &tape->cap_user_ops, tape->n_user_ops + 1,
                           sizeof *tape->user_op)) {
        return ASC_ERR_MEMORY;
    }
    tape->user_op[tape->n_user_ops++] = op;
    return ASC_OK;
}
