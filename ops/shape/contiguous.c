/* ops/shape/contiguous.c: y = x, row-major in memory of its own.
 *
 *   dx = dy. */
#include "ops/shared/op.h"

static asc_status infer(asc_call *call)
{
    return asc_call_output(call, 0, call->in[0].dtype, call->in[0].ndim, call->in[0].shape);
}

static asc_status forward(asc_call *call)
{
    asc_strided_copy(call->ctx, &call->out[0], &call->in[0]);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    asc_strided_add(call->ctx, &call->grad_in[0], &call->grad_out[0], call->fresh[0]);
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 4}}}},
    {.in = {{'f', 0}}, .note = "a scalar"},
    {.in = {{'f', 2, {3, 0}}}, .note = "nothing"},
};

const asc_op asc_op_contiguous = {
    .abi = ASC_OP_ABI,
    .name = "contiguous",
    .equation = "y = x, row-major in memory of its own",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_STRIDED | ASC_OP_FRESH,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}}},
};

asc_tensor asc_contiguous(asc_ctx *ctx, asc_tensor x)
{
    return asc_is_of(ctx, x) && asc_is_contiguous(x) ? x : asc_apply1(ctx, &asc_op_contiguous, &x, 1, NULL);
}
