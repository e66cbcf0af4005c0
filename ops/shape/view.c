/* ops/shape/view.c: other shapes of the same memory: y[i] = x[offset + Σ_d i_d stride_d].
 *
 *   dx, which is contiguous, is seen through the same view, and dy is added there; that of expand is summed over the
 *   repetitions. */
#include "ops/shared/broadcast.h"

#include <string.h>

/* What each op fills in: its view of x, an array of any strides, but for numel. On failure `call` has the error. */
typedef asc_status see_fn(asc_call *call, const asc_array *x, asc_array *view);

static void add_view_dim(asc_array *view, int64_t n, int64_t stride)
{
    view->shape[view->ndim] = n;
    view->stride[view->ndim++] = stride;
}

static asc_array empty_view(const asc_array *x)
{
    return (asc_array){.data = x->data, .dtype = x->dtype};
}

static char *element(const asc_array *x, int64_t offset)
{
    return x->data ? (char *)x->data + offset * (int64_t)asc_dtype_size(x->dtype) : NULL;
}

static asc_status infer_view(asc_call *call, see_fn *see)
{
    const asc_array *x = &call->in[0];
    asc_array v;
    if (see(call, x, &v)) {
        return ASC_ERR_ARG;
    }
    int64_t offset = ((char *)v.data - (char *)x->data) / (int64_t)asc_dtype_size(x->dtype);
    return asc_call_view(call, offset, v.ndim, v.shape, v.stride);
}

static asc_status nothing_to_do(asc_call *call)
{
    (void)call;
    return ASC_OK;
}

static asc_status backward_view(asc_call *call, see_fn *see)
{
    asc_array *dx = &call->grad_in[0], v = {0};
    if (see(call, dx, &v)) {
        return ASC_ERR_ARG;
    }
    v.numel = asc_leading(&v, v.ndim);
    bool all = v.numel == dx->numel; /* then the view shows each element once */
    if (call->fresh[0] && !all) {
        asc_clear(call->ctx, dx->data, asc_array_bytes(dx));
    }
    asc_strided_add(call->ctx, &v, &call->grad_out[0], call->fresh[0] && all);
    return ASC_OK;
}

/* ---- reshape ---- */

typedef struct shape_attrs {
    int ndim;
    int64_t shape[ASC_MAX_DIMS];
} shape_attrs;

static asc_status fail_reshape(asc_call *call, const asc_array *x, const shape_attrs *a)
{
    char got[ASC_SHAPE_TEXT], wanted[ASC_SHAPE_TEXT];
    asc_array to = {.ndim = a->ndim};
    memcpy(to.shape, a->shape, sizeof to.shape);
    return asc_call_fail(call, "x is %s, which does not reshape to %s", asc_shape_text(x, got),
                         asc_shape_text(&to, wanted));
}

/* The shape that is asked for, with its -1 filled in, contiguous. */
static asc_status resolve_shape(asc_call *call, const asc_array *x, asc_array *to)
{
    const shape_attrs *a = call->attrs;
    int64_t shape[ASC_MAX_DIMS], known = 1;
    int open = -1;
    if (a->ndim < 0 || a->ndim > ASC_MAX_DIMS) {
        return asc_call_fail(call, "shape has %d dimensions, expected 0 to %d", a->ndim, ASC_MAX_DIMS);
    }
    for (int d = 0; d < a->ndim; d++) {
        shape[d] = a->shape[d];
        if (shape[d] == -1 && open < 0) {
            open = d;
        } else if (shape[d] < 0 || __builtin_mul_overflow(known, shape[d], &known)) {
            return fail_reshape(call, x, a);
        }
    }
    if (open >= 0) {
        if (known == 0 || x->numel % known != 0) {
            return fail_reshape(call, x, a);
        }
        shape[open] = x->numel / known;
    }
    if (!asc_array_init(to, x->dtype, a->ndim, shape) || to->numel != x->numel) {
        return fail_reshape(call, x, a);
    }
    return ASC_OK;
}

/* Gives `to` strides that show x's elements in x's order, if there are such: each run of dimensions of x that lie
 * together must be a product of dimensions of `to`. */
static bool lay_over(const asc_array *x, asc_array *to)
{
    int d = to->ndim - 1;
    int64_t run = 1, done = 1; /* elements of x's run, and those that `to` has matched */
    for (int last = x->ndim - 1, e = last; e >= 0 && x->numel > 0; e--) {
        run *= x->shape[e];
        if (e > 0 && (x->shape[e - 1] == 1 || x->stride[e - 1] == run * x->stride[last])) {
            continue;
        }
        for (; d >= 0 && done < run; d--) {
            to->stride[d] = done * x->stride[last];
            done *= to->shape[d];
        }
        if (done != run) {
            return false;
        }
        run = done = 1;
        last = e - 1;
    }
    return true;
}

static asc_status see_reshaped(asc_call *call, const asc_array *x, asc_array *view)
{
    asc_status status = resolve_shape(call, x, view);
    view->data = x->data;
    return status;
}

static asc_status reshape_infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    asc_array to;
    if (resolve_shape(call, x, &to)) {
        return ASC_ERR_ARG;
    }
    return lay_over(x, &to) ? asc_call_view(call, 0, to.ndim, to.shape, to.stride)
                            : asc_call_output(call, 0, x->dtype, to.ndim, to.shape);
}

static asc_status reshape_forward(asc_call *call)
{
    asc_array to;
    asc_array_init(&to, call->in[0].dtype, call->in[0].ndim, call->in[0].shape);
    to.data = call->out[0].data;
    if (to.data != call->in[0].data) { /* no view: a copy in order */
        asc_strided_copy(call->ctx, &to, &call->in[0]);
    }
    return ASC_OK;
}

static asc_status reshape_backward(asc_call *call)
{
    return backward_view(call, see_reshaped);
}

static const asc_sample reshape_samples[] = {
    {.in = {{'f', 3, {2, 3, 4}}}, .attrs = &(const shape_attrs){2, {4, -1}}},
    {.in = {{'f', 1, {1}}}, .attrs = &(const shape_attrs){0}, .note = "to a scalar"},
    {.in = {{'f', 0}}, .attrs = &(const shape_attrs){2, {1, -1}}, .note = "from a scalar"},
    {.in = {{'f', 2, {0, 4}}}, .attrs = &(const shape_attrs){2, {2, 0}}, .note = "nothing"},
};

const asc_op asc_op_reshape = {
    .abi = ASC_OP_ABI,
    .name = "reshape",
    .equation = "y = x, its elements in the same order in another shape",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_STRIDED | ASC_OP_VIEW | ASC_OP_FRESH,
    .attrs_size = sizeof(shape_attrs),
    .infer = reshape_infer,
    .forward = reshape_forward,
    .backward = reshape_backward,
    .samples = reshape_samples,
    .n_samples = ASC_COUNT(reshape_samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}}, .attrs = &(const shape_attrs){2, {-1, 256}}},
};

/* The attributes of a shape; a number of dimensions that does not fit is kept, for infer to refuse. */
static shape_attrs shape_of(int ndim, const int64_t *shape)
{
    shape_attrs a = {.ndim = ndim};
    for (int d = 0; d < ndim && d < ASC_MAX_DIMS; d++) {
        a.shape[d] = shape[d];
    }
    return a;
}

asc_tensor asc_reshape(asc_ctx *ctx, asc_tensor x, int ndim, const int64_t *shape)
{
    if (ASC_NEED(ctx, "reshape: shape", asc_unless_empty(shape, ndim))) {
        return asc_null();
    }
    shape_attrs a = shape_of(ndim, shape);
    return asc_apply1(ctx, &asc_op_reshape, &x, 1, &a);
}

asc_tensor asc_unsqueeze(asc_ctx *ctx, asc_tensor x, int dim)
{
    int ndim = asc_ndim(x), at = dim < 0 ? dim + ndim + 1 : dim;
    if (ndim >= 0 && (at < 0 || at > ndim || ndim == ASC_MAX_DIMS)) {
        asc_fail(ctx, ASC_ERR_ARG, "unsqueeze: dim is %d, x has %d dimensions of at most %d", dim, ndim, ASC_MAX_DIMS);
        return asc_null();
    }
    shape_attrs a = {.ndim = ndim + 1};
    for (int d = 0; d <= ndim; d++) {
        a.shape[d] = d == at ? 1 : asc_size(x, d < at ? d : d - 1);
    }
    return asc_apply1(ctx, &asc_op_reshape, &x, 1, &a);
}

asc_tensor asc_squeeze(asc_ctx *ctx, asc_tensor x, int dim)
{
    int ndim = asc_ndim(x), at = dim < 0 ? dim + ndim : dim;
    if (ndim >= 0 && (at < 0 || at >= ndim)) {
        asc_fail(ctx, ASC_ERR_ARG, "squeeze: dim is %d, x has %d dimensions", dim, ndim);
        return asc_null();
    }
    if (ndim >= 0 && asc_size(x, at) != 1) {
        asc_fail(ctx, ASC_ERR_ARG, "squeeze: dimension %d of %d is of size %lld, expected 1", dim, ndim,
                 (long long)asc_size(x, dim));
        return asc_null();
    }
    shape_attrs a = {.ndim = ndim > 0 ? ndim - 1 : 0};
    for (int d = 0; d < a.ndim; d++) {
        a.shape[d] = asc_size(x, d < at ? d : d + 1);
    }
    return asc_apply1(ctx, &asc_op_reshape, &x, 1, &a);
}

/* ---- permute ---- */

typedef struct permute_attrs {
    int ndim;
    int order[ASC_MAX_DIMS];
} permute_attrs;

static asc_status see_permuted(asc_call *call, const asc_array *x, asc_array *view)
{
    const permute_attrs *a = call->attrs;
    if (a->ndim != x->ndim) {
        return asc_call_fail(call, "order has %d dimensions, x has %d", a->ndim, x->ndim);
    }
    *view = empty_view(x);
    unsigned seen = 0;
    for (int i = 0; i < a->ndim; i++) {
        int d = asc_expect_dim(call, 0, a->order[i]);
        if (d < 0) {
            return ASC_ERR_ARG;
        }
        if (seen & 1u << d) {
            return asc_call_fail(call, "order names dimension %d twice", d);
        }
        seen |= 1u << d;
        add_view_dim(view, x->shape[d], x->stride[d]);
    }
    return ASC_OK;
}

static asc_status permute_infer(asc_call *call)
{
    return infer_view(call, see_permuted);
}

static asc_status permute_backward(asc_call *call)
{
    return backward_view(call, see_permuted);
}

static const asc_sample permute_samples[] = {
    {.in = {{'f', 4, {2, 3, 4, 5}}}, .attrs = &(const permute_attrs){4, {0, 2, 1, 3}}},
    {.in = {{'f', 3, {2, 3, 4}}}, .attrs = &(const permute_attrs){3, {2, 0, -2}}, .note = "a cycle"},
    {.in = {{'f', 2, {1, 3}}}, .attrs = &(const permute_attrs){2, {1, 0}}, .note = "length 1"},
    {.in = {{'f', 0}}, .attrs = &(const permute_attrs){0}, .note = "a scalar"},
    {.in = {{'f', 2, {0, 3}}}, .attrs = &(const permute_attrs){2, {1, 0}}, .note = "nothing"},
};

const asc_op asc_op_permute = {
    .abi = ASC_OP_ABI,
    .name = "permute",
    .equation = "dimension i of y is dimension order[i] of x",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_STRIDED | ASC_OP_VIEW | ASC_OP_FRESH,
    .attrs_size = sizeof(permute_attrs),
    .infer = permute_infer,
    .forward = nothing_to_do,
    .backward = permute_backward,
    .samples = permute_samples,
    .n_samples = ASC_COUNT(permute_samples),
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 128, 4, 64}}}, .attrs = &(const permute_attrs){4, {0, 2, 1, 3}}},
};

asc_tensor asc_permute(asc_ctx *ctx, asc_tensor x, int ndim, const int *order)
{
    if (ASC_NEED(ctx, "permute: order", asc_unless_empty(order, ndim))) {
        return asc_null();
    }
    permute_attrs a = {.ndim = ndim};
    for (int d = 0; d < ndim && d < ASC_MAX_DIMS; d++) {
        a.order[d] = order[d];
    }
    return asc_apply1(ctx, &asc_op_permute, &x, 1, &a);
}

asc_tensor asc_transpose(asc_ctx *ctx, asc_tensor x, int dim0, int dim1)
{
    int ndim = asc_ndim(x), d0 = dim0 < 0 ? dim0 + ndim : dim0, d1 = dim1 < 0 ? dim1 + ndim : dim1;
    permute_attrs a = {.ndim = ndim};
    for (int d = 0; d < ndim; d++) {
        a.order[d] = d;
    }
    if (ndim >= 0 && (d0 < 0 || d0 >= ndim || d1 < 0 || d1 >= ndim)) {
        asc_fail(ctx, ASC_ERR_ARG, "transpose: dimensions %d and %d, x has %d", dim0, dim1, ndim);
        return asc_null();
    }
    if (ndim >= 0) {
        a.order[d0] = d1;
        a.order[d1] = d0;
    }
    return asc_apply1(ctx, &asc_op_permute, &x, 1, &a);
}

/* ---- slice ---- */

typedef struct slice_attrs {
    int dim;
    int64_t start, stop, step;
} slice_attrs;

/* A bound as NumPy reads it: negative from the end, then held to 0 … n. */
static int64_t bound(int64_t i, int64_t n)
{
    i = i < 0 ? i + n : i;
    return i < 0 ? 0 : i > n ? n : i;
}

static asc_status see_slice(asc_call *call, const asc_array *x, asc_array *view)
{
    const slice_attrs *a = call->attrs;
    int dim = asc_expect_dim(call, 0, a->dim);
    if (dim < 0) {
        return ASC_ERR_ARG;
    }
    if (a->step < 1) {
        return asc_call_fail(call, "step is %lld, expected at least 1", (long long)a->step);
    }
    int64_t start = bound(a->start, x->shape[dim]), stop = bound(a->stop, x->shape[dim]);
    int64_t n = start < stop ? (stop - start - 1) / a->step + 1 : 0;
    *view = empty_view(x);
    for (int d = 0; d < x->ndim; d++) {
        add_view_dim(view, d == dim ? n : x->shape[d], d == dim && n > 1 ? a->step * x->stride[d] : x->stride[d]);
    }
    view->data = element(x, n > 0 ? start * x->stride[dim] : 0);
    return ASC_OK;
}

static asc_status slice_infer(asc_call *call)
{
    return infer_view(call, see_slice);
}

static asc_status slice_backward(asc_call *call)
{
    return backward_view(call, see_slice);
}

static const asc_sample slice_samples[] = {
    {.in = {{'f', 3, {3, 7, 2}}}, .attrs = &(const slice_attrs){1, 1, -1, 2}},
    {.in = {{'f', 2, {3, 4}}}, .attrs = &(const slice_attrs){-1, 0, ASC_SLICE_END, 1}, .note = "everything"},
    {.in = {{'f', 1, {4}}}, .attrs = &(const slice_attrs){0, -1, ASC_SLICE_END, 1}, .note = "the last element"},
    {.in = {{'f', 2, {3, 4}}}, .attrs = &(const slice_attrs){0, 2, 1, 1}, .note = "nothing"},
    {.in = {{'f', 1, {0}}}, .attrs = &(const slice_attrs){0, 0, ASC_SLICE_END, 1}, .note = "of nothing"},
    {.in = {{'f', 2, {0, 3}}}, .attrs = &(const slice_attrs){1, 1, ASC_SLICE_END, 1}, .note = "of no rows"},
};

const asc_op asc_op_slice = {
    .abi = ASC_OP_ABI,
    .name = "slice",
    .equation = "y = x[..., start:stop:step, ...] along dim",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_STRIDED | ASC_OP_VIEW | ASC_OP_FRESH,
    .attrs_size = sizeof(slice_attrs),
    .infer = slice_infer,
    .forward = nothing_to_do,
    .backward = slice_backward,
    .samples = slice_samples,
    .n_samples = ASC_COUNT(slice_samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 512}}}, .attrs = &(const slice_attrs){-1, 0, 256, 1}},
};

asc_tensor asc_slice(asc_ctx *ctx, asc_tensor x, int dim, int64_t start, int64_t stop, int64_t step)
{
    return asc_apply1(ctx, &asc_op_slice, &x, 1, &(slice_attrs){dim, start, stop, step});
}

/* ---- expand ---- */

static asc_status see_expanded(asc_call *call, const asc_array *x, asc_array *view)
{
    const shape_attrs *a = call->attrs;
    int added = a->ndim - x->ndim;
    if (added < 0 || a->ndim > ASC_MAX_DIMS) {
        return asc_call_fail(call, "shape has %d dimensions, expected %d to %d", a->ndim, x->ndim, ASC_MAX_DIMS);
    }
    *view = empty_view(x);
    for (int d = 0; d < a->ndim; d++) {
        int64_t had = d < added ? 1 : x->shape[d - added];
        int64_t n = a->shape[d] == -1 && d >= added ? had : a->shape[d];
        if (n < 0 || (had != 1 && n != had)) {
            return asc_call_fail(call, "size %lld of dimension %d does not expand to %lld", (long long)had, d,
                                 (long long)a->shape[d]);
        }
        add_view_dim(view, n, d < added || n != had ? 0 : x->stride[d - added]);
    }
    return ASC_OK;
}

static asc_status expand_infer(asc_call *call)
{
    return infer_view(call, see_expanded);
}

static asc_status expand_backward(asc_call *call)
{
    const asc_array *dy = &call->grad_out[0], *dx = &call->grad_in[0];
    return asc_sum_dims(call, dy, asc_repeated_dims(dx, dy), 1, dx->data, call->fresh[0]);
}

static const asc_sample expand_samples[] = {
    {.in = {{'f', 2, {3, 1}}}, .attrs = &(const shape_attrs){3, {2, -1, 4}}},
    {.in = {{'f', 1, {5}}}, .attrs = &(const shape_attrs){2, {7, 5}}, .note = "rows"},
    {.in = {{'f', 0}}, .attrs = &(const shape_attrs){2, {2, 3}}, .note = "a scalar"},
    {.in = {{'f', 1, {3}}}, .attrs = &(const shape_attrs){1, {3}}, .note = "as it is"},
    {.in = {{'f', 2, {1, 3}}}, .attrs = &(const shape_attrs){2, {0, 3}}, .note = "to nothing"},
};

const asc_op asc_op_expand = {
    .abi = ASC_OP_ABI,
    .name = "expand",
    .equation = "y = x, repeated along dimensions of size 1 and new leading ones",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_STRIDED | ASC_OP_VIEW | ASC_OP_FRESH,
    .attrs_size = sizeof(shape_attrs),
    .infer = expand_infer,
    .forward = nothing_to_do,
    .backward = expand_backward,
    .samples = expand_samples,
    .n_samples = ASC_COUNT(expand_samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {1, 128, 256}}}, .attrs = &(const shape_attrs){3, {32, 128, 256}}},
};

asc_tensor asc_expand(asc_ctx *ctx, asc_tensor x, int ndim, const int64_t *shape)
{
    if (ASC_NEED(ctx, "expand: shape", asc_unless_empty(shape, ndim))) {
        return asc_null();
    }
    shape_attrs a = shape_of(ndim, shape);
    return asc_apply1(ctx, &asc_op_expand, &x, 1, &a);
}
