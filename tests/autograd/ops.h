/* tests/autograd/ops.h: two small ops for the engine's tests: y = a∘b, and y = x + 1. f64, contiguous. */
#ifndef TESTS_AUTOGRAD_OPS_H
#define TESTS_AUTOGRAD_OPS_H

#include <string.h>

#include <ascgrad/op.h>

static asc_status same_as_first(asc_call *call)
{
    for (int i = 0; i < call->n_in; i++) {
        const asc_array *a = &call->in[i], *first = &call->in[0];
        if (a->dtype != ASC_F64 || a->ndim != first->ndim ||
            memcmp(a->shape, first->shape, (size_t)a->ndim * sizeof *a->shape) != 0) {
            return asc_call_expect(call, i, "f64 of the first input's shape");
        }
    }
    return asc_call_output(call, 0, ASC_F64, call->in[0].ndim, call->in[0].shape);
}

static asc_status mul_forward(asc_call *call)
{
    const double *a = call->in[0].data, *b = call->in[1].data;
    double *y = call->out[0].data;
    for (int64_t i = 0; i < call->out[0].numel; i++) {
        y[i] = a[i] * b[i];
    }
    return ASC_OK;
}

static asc_status mul_backward(asc_call *call)
{
    const double *dy = call->grad_out[0].data;
    for (int k = 0; k < 2; k++) {
        const double *other = call->in[1 - k].data;
        double *grad = call->grad_in[k].data;
        for (int64_t i = 0; grad && i < call->grad_in[k].numel; i++) {
            grad[i] += dy[i] * other[i];
        }
    }
    return ASC_OK;
}

static double mul_flops(const asc_call *call)
{
    return (double)call->in[0].numel;
}

static const asc_op mul_op = {
    .abi = ASC_OP_ABI,
    .name = "test_mul",
    .equation = "y = a∘b",
    .inputs = "a b",
    .n_out = 1,
    .saves_in = 3,
    .infer = same_as_first,
    .forward = mul_forward,
    .backward = mul_backward,
    .flops = mul_flops,
};

static inline asc_tensor mul(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &mul_op, (asc_tensor[]){a, b}, 2, NULL);
}

static asc_status next_forward(asc_call *call)
{
    for (int64_t i = 0; i < call->out[0].numel; i++) {
        ((double *)call->out[0].data)[i] = ((const double *)call->in[0].data)[i] + 1;
    }
    return ASC_OK;
}

static asc_status next_backward(asc_call *call)
{
    for (int64_t i = 0; i < call->grad_in[0].numel; i++) {
        ((double *)call->grad_in[0].data)[i] += ((const double *)call->grad_out[0].data)[i];
    }
    return ASC_OK;
}

static const asc_op next_op = {
    .abi = ASC_OP_ABI,
    .name = "test_next",
    .equation = "y = x + 1",
    .inputs = "x",
    .n_out = 1,
    .infer = same_as_first,
    .forward = next_forward,
    .backward = next_backward,
};

static inline asc_tensor next(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &next_op, &x, 1, NULL);
}

#endif
