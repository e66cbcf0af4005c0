/* ops/products/linear.c: y = x Wᵀ + b.
 *
 *   dx = dy W,  dW = dyᵀ x,  db = Σ dy over all leading dimensions. */
#include "ops/shared/op.h"

enum { X, W, B };

asc_status asc_linear_infer(asc_call *call)
{
    const asc_array *x = &call->in[X], *w = &call->in[W];
    if (asc_expect_floating(call, X) || asc_expect_floating(call, W)) {
        return ASC_ERR_ARG;
    }
    if (x->ndim < 1) {
        return asc_call_expect(call, X, "(..., in)");
    }
    int64_t in = x->shape[x->ndim - 1];
    if (w->ndim != 2 || w->shape[1] != in) {
        return asc_call_expect(call, W, "(out, %lld)", (long long)in);
    }
    int64_t out = w->shape[0];
    if (call->in[B].ndim >= 0 && asc_expect_shape(call, B, x->dtype, 1, &out, "(out)")) {
        return ASC_ERR_ARG;
    }
    int64_t shape[ASC_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) {
        shape[d] = d < x->ndim - 1 ? x->shape[d] : out;
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, shape);
}

static asc_status infer(asc_call *call)
{
    asc_call_operands(call, 1u << X);
    return asc_linear_infer(call);
}

static asc_status forward(asc_call *call)
{
    const asc_array *x = &call->in[X], *w = &call->in[W];
    int64_t rows = asc_leading(x, x->ndim - 1), in = w->shape[1], out = w->shape[0];
    return asc_gemm_parallel(call->ctx, &(asc_gemm){.dtype = x->dtype,
                                                    .packs = asc_packs(call->ctx),
                                                    .tb = true,
                                                    .m = rows,
                                                    .n = out,
                                                    .k = in,
                                                    .alpha = 1,
                                                    .a = x->data,
                                                    .lda = in,
                                                    .b = w->data,
                                                    .ldb = in,
                                                    .c = call->out[0].data,
                                                    .ldc = out,
                                                    .bias = call->in[B].data});
}

static asc_status backward(asc_call *call)
{
    const asc_array *x = &call->in[X], *w = &call->in[W], *dy = &call->grad_out[0];
    int64_t rows = asc_leading(x, x->ndim - 1), in = w->shape[1], out = w->shape[0];
    const asc_gemm dx = {.dtype = x->dtype,
                         .packs = asc_packs(call->ctx),
                         .m = rows,
                         .n = in,
                         .k = out,
                         .alpha = 1,
                         .a = dy->data,
                         .lda = out,
                         .b = w->data,
                         .ldb = in,
                         .beta = !call->fresh[X],
                         .c = call->grad_in[X].data,
                         .ldc = in};
    const asc_gemm dw = {.dtype = x->dtype,
                         .packs = asc_packs(call->ctx),
                         .ta = true,
                         .m = out,
                         .n = in,
                         .k = rows,
                         .alpha = 1,
                         .a = dy->data,
                         .lda = out,
                         .b = x->data,
                         .ldb = in,
                         .beta = !call->fresh[W],
                         .c = call->grad_in[W].data,
                         .ldc = in};
    asc_status status = dx.c ? asc_gemm_parallel(call->ctx, &dx) : ASC_OK;
    if (!status && dw.c) {
        status = asc_gemm_parallel(call->ctx, &dw);
    }
    if (!status && call->grad_in[B].data) {
        status = asc_column_sums(call, dy, rows, out, call->grad_in[B].data, call->fresh[B]);
    }
    return status;
}

double asc_linear_flops(const asc_call *call)
{
    return 2.0 * (double)call->in[X].numel * (double)call->in[W].shape[0];
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}, {'f', 2, {4, 5}}, {'f', 1, {4}}}},
    {.in = {{'f', 2, {7, 3}}, {'f', 2, {2, 3}}}, .note = "no bias"},
    {.in = {{'f', 1, {3}}, {'f', 2, {1, 3}}, {'f', 1, {1}}}, .note = "one vector"},
    {.in = {{'f', 2, {0, 3}}, {'f', 2, {2, 3}}, {'f', 1, {2}}}, .note = "no rows"},
};

const asc_op asc_op_linear = {
    .abi = ASC_OP_ABI,
    .name = "linear",
    .equation = "y = x Wᵀ + b;  x (..., in), W (out, in), b (out)",
    .inputs = "x weight bias?",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .saves_in = 1u << X | 1u << W,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = asc_linear_flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'f', 2, {1024, 256}}, {'f', 1, {1024}}}},
};

asc_tensor asc_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias)
{
    return asc_apply1(ctx, &asc_op_linear, (asc_tensor[]){x, weight, bias}, 3, NULL);
}
