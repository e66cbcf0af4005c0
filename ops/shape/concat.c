/* ops/shape/concat.c: y = [x_0, x_1, …] along one dimension.
 *
 *   dx_i = the part of dy where x_i stands. */
#include "ops/shared/op.h"

#include <string.h>

typedef struct concat_attrs {
    int dim;
} concat_attrs;

static int dim_of(asc_call *call)
{
    return asc_expect_dim(call, 0, ((const concat_attrs *)call->attrs)->dim);
}

static asc_status infer(asc_call *call)
{
    const asc_array *first = &call->in[0];
    int dim = dim_of(call);
    if (dim < 0) {
        return ASC_ERR_ARG;
    }
    int64_t shape[ASC_MAX_DIMS];
    memcpy(shape, first->shape, sizeof shape);
    for (int i = 1; i < call->n_in; i++) {
        asc_array expected = *first;
        expected.shape[dim] = call->in[i].ndim > dim ? call->in[i].shape[dim] : 0;
        if (call->in[i].dtype != first->dtype || !asc_same_shape(&call->in[i], &expected)) {
            char text[ASC_SHAPE_TEXT];
            return asc_call_expect(call, i, "%s %s but for dimension %d, as x[0]", asc_dtype_name(first->dtype),
                                   asc_shape_text(first, text), dim);
        }
        if (__builtin_add_overflow(shape[dim], expected.shape[dim], &shape[dim])) {
            return asc_call_fail(call, "dimension %d of the result is too long", dim);
        }
    }
    return asc_call_output(call, 0, first->dtype, first->ndim, shape);
}

/* The part of `whole` where x stands, *at elements along dim from its start, and moves on. */
static asc_array part_of(const asc_array *whole, const asc_array *x, int dim, int64_t *at)
{
    asc_array part = *whole;
    part.shape[dim] = x->shape[dim];
    part.numel = x->numel;
    part.data = (char *)whole->data + *at * whole->stride[dim] * (int64_t)asc_dtype_size(whole->dtype);
    *at += x->shape[dim];
    return part;
}

static asc_status forward(asc_call *call)
{
    int dim = dim_of(call);
    int64_t at = 0;
    for (int i = 0; i < call->n_in; i++) {
        asc_array part = part_of(&call->out[0], &call->in[i], dim, &at);
        asc_strided_copy(call->ctx, &part, &call->in[i]);
    }
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    int dim = dim_of(call);
    int64_t at = 0;
    for (int i = 0; i < call->n_in; i++) {
        asc_array part = part_of(&call->grad_out[0], &call->in[i], dim, &at);
        if (call->grad_in[i].data) {
            asc_strided_add(call->ctx, &call->grad_in[i], &part, call->fresh[i]);
        }
    }
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 3, {2, 1, 4}}, {'f', 3, {2, 2, 4}}}, .attrs = &(const concat_attrs){1}},
    {.in = {{'f', 2, {3, 2}}, {'f', 2, {3, 5}}}, .attrs = &(const concat_attrs){-1}, .note = "last dimension"},
    {.in = {{'f', 1, {3}}, {'=', .lo = 0}}, .attrs = &(const concat_attrs){0}, .note = "one tensor twice"},
    {.in = {{'f', 1, {1}}}, .attrs = &(const concat_attrs){0}, .note = "one alone"},
    {.in = {{'f', 2, {0, 2}}, {'f', 2, {3, 2}}, {'f', 2, {0, 2}}}, .attrs = &(const concat_attrs){0},
     .note = "some are empty"},
};

const asc_op asc_op_concat = {
    .abi = ASC_OP_ABI,
    .name = "concat",
    .equation = "y = [x_0, x_1, …] along dim",
    .inputs = "x ...",
    .n_out = 1,
    .flags = ASC_OP_STRIDED | ASC_OP_FRESH,
    .attrs_size = sizeof(concat_attrs),
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'f', 3, {32, 128, 256}}},
                                 .attrs = &(const concat_attrs){-1}},
};

asc_tensor asc_concat(asc_ctx *ctx, const asc_tensor *x, int n, int dim)
{
    if (ASC_NEED(ctx, "concat: x", asc_unless_empty(x, n))) {
        return asc_null();
    }
    return asc_apply1(ctx, &asc_op_concat, x, n, &(concat_attrs){dim});
}

/* ---- compositions ---- */

asc_tensor asc_stack(asc_ctx *ctx, const asc_tensor *x, int n, int dim)
{
    if (ASC_NEED(ctx, "stack: x", asc_unless_empty(x, n)) || (n > 0 && asc_need_tensor(ctx, x[0], "stack", "x[0]"))) {
        return asc_null();
    }
    int ndim = n > 0 ? asc_ndim(x[0]) : 0;
    if (n > 0 && (dim < -ndim - 1 || dim > ndim || ndim == ASC_MAX_DIMS)) {
        asc_fail(ctx, ASC_ERR_ARG, "stack: dim is %d, x[0] has %d dimensions of at most %d", dim, ndim,
                 ASC_MAX_DIMS - 1);
        return asc_null();
    }
    asc_tensor slices[ASC_MAX_IN] = {{0}};
    for (int i = 0; i < n && i < ASC_MAX_IN; i++) {
        if (asc_is_valid(x[i]) && !asc_same_shape(&asc_node_of(x[i])->array, &asc_node_of(x[0])->array)) {
            char got[ASC_SHAPE_TEXT], first[ASC_SHAPE_TEXT];
            asc_fail(ctx, ASC_ERR_ARG, "stack: x[%d] is %s, expected %s, as x[0]", i,
                     asc_shape_text(&asc_node_of(x[i])->array, got), asc_shape_text(&asc_node_of(x[0])->array, first));
            break;
        }
        slices[i] = asc_unsqueeze(ctx, x[i], dim);
    }
    asc_tensor y = asc_concat(ctx, slices, n, dim);
    for (int i = 0; i < n && i < ASC_MAX_IN; i++) {
        asc_release(slices[i]);
    }
    return y;
}

asc_status asc_tensor_split(asc_ctx *ctx, asc_tensor x, int dim, int n, const int64_t *sizes, asc_tensor *out)
{
    for (int i = 0; out && i < n; i++) {
        out[i] = asc_null();
    }
    asc_status status = ASC_NEED(ctx, "tensor_split: sizes out", asc_unless_empty(sizes, n), asc_unless_empty(out, n));
    if (status || (status = asc_need_tensor(ctx, x, "tensor_split", "x"))) {
        return status;
    }
    int ndim = asc_ndim(x);
    if (dim < -ndim || dim >= ndim) {
        return asc_fail(ctx, ASC_ERR_ARG, "tensor_split: dim is %d, x has %d dimensions", dim, ndim);
    }
    int64_t length = asc_size(x, dim), at = 0, end = 0;
    for (int i = 0; i < n; i++) {
        if (sizes[i] < 0 || sizes[i] > length - end) {
            return asc_fail(ctx, ASC_ERR_ARG, "tensor_split: sizes[%d] is %lld, expected 0 to %lld, what is left of "
                            "dimension %d of x, %lld", i, (long long)sizes[i], (long long)(length - end), dim,
                            (long long)length);
        }
        end += sizes[i];
    }
    if (end != length) {
        return asc_fail(ctx, ASC_ERR_ARG, "tensor_split: the sizes add up to %lld, expected dimension %d of x, %lld",
                        (long long)end, dim, (long long)length);
    }
    for (int i = 0; i < n && !asc_error(ctx); at += sizes[i++]) {
        out[i] = asc_slice(ctx, x, dim, at, at + sizes[i], 1);
    }
    for (int i = 0; i < n && asc_error(ctx); i++) {
        asc_release(out[i]);
        out[i] = asc_null();
    }
    return asc_error(ctx);
}

asc_tensor asc_roll(asc_ctx *ctx, asc_tensor x, int dim, int64_t shift)
{
    if (asc_need_tensor(ctx, x, "roll", "x")) {
        return asc_null();
    }
    int ndim = asc_ndim(x);
    if (dim < -ndim || dim >= ndim) {
        asc_fail(ctx, ASC_ERR_ARG, "roll: dim is %d, x has %d dimensions", dim, ndim);
        return asc_null();
    }
    int64_t n = asc_size(x, dim), cut = n > 0 ? (n - shift % n) % n : 0;
    asc_tensor parts[] = {asc_slice(ctx, x, dim, cut, ASC_SLICE_END, 1), asc_slice(ctx, x, dim, 0, cut, 1)};
    return asc_after(parts[0], asc_after(parts[1], asc_concat(ctx, parts, 2, dim)));
}
