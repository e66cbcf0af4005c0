/* ops/shape/pad.c: y = x with entries of a constant value before and after it, along any dimensions.
 *
 *   dx = the part of dy where x stands. */
#include "ops/shared/op.h"

typedef struct pad_attrs {
    int ndim;
    int64_t before[ASC_MAX_DIMS], after[ASC_MAX_DIMS];
    double value;
} pad_attrs;

typedef struct filling {
    void *y;
    int64_t n;
    double value;
} filling;

/* ---- float, and f64.awk makes the same for double ---- */

static void fill_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const filling *f = arg;
    float *y = (float *)f->y + asc_piece_begin(piece);
    int64_t n = asc_piece_size(piece, f->n);
    for (int64_t i = 0; i < n; i++) {
        y[i] = (float)f->value;
    }
}

/* ---- end of float ---- */
#include "ops/shape/pad.f64.h"

static asc_status infer(asc_call *call)
{
    const pad_attrs *a = call->attrs;
    const asc_array *x = &call->in[0];
    if (asc_expect_floating(call, 0)) {
        return ASC_ERR_ARG;
    }
    if (a->ndim != x->ndim) {
        return asc_call_expect(call, 0, "%d dimensions, as there are paddings", a->ndim);
    }
    int64_t shape[ASC_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) {
        if (a->before[d] < 0 || a->after[d] < 0) {
            return asc_call_fail(call, "dimension %d is to get %lld before and %lld after, expected at least 0", d,
                                 (long long)a->before[d], (long long)a->after[d]);
        }
        if (__builtin_add_overflow(x->shape[d], a->before[d], &shape[d]) ||
            __builtin_add_overflow(shape[d], a->after[d], &shape[d])) {
            return asc_call_fail(call, "dimension %d of the result is too long", d);
        }
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, shape);
}

/* The part of y, or of dy, where x stands. */
static asc_array middle(const asc_call *call, const asc_array *y)
{
    const pad_attrs *a = call->attrs;
    const asc_array *x = &call->in[0];
    asc_array part = *y;
    int64_t offset = 0;
    for (int d = 0; d < y->ndim; d++) {
        offset += a->before[d] * y->stride[d];
        part.shape[d] = x->shape[d];
    }
    part.numel = x->numel;
    part.data = (char *)y->data + (x->numel > 0 ? offset : 0) * (int64_t)asc_dtype_size(y->dtype);
    return part;
}

static asc_status forward(asc_call *call)
{
    const asc_array *y = &call->out[0];
    filling f = {y->data, y->numel, ((const pad_attrs *)call->attrs)->value};
    asc_parallel(call->ctx, asc_pieces(f.n), BY_DTYPE(y->dtype, fill_piece), &f);
    asc_array part = middle(call, y);
    asc_strided_copy(call->ctx, &part, &call->in[0]);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    asc_array part = middle(call, &call->grad_out[0]);
    asc_strided_add(call->ctx, &call->grad_in[0], &part, call->fresh[0]);
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 2, {3, 4}}}, .attrs = &(const pad_attrs){2, {1, 0}, {0, 2}, .5}},
    {.in = {{'f', 3, {2, 3, 2}}}, .attrs = &(const pad_attrs){3, {0, 2, 1}, {0, 1, 1}, 0}, .note = "three dimensions"},
    {.in = {{'f', 0}}, .attrs = &(const pad_attrs){0}, .note = "a scalar"},
    {.in = {{'f', 1, {1}}}, .attrs = &(const pad_attrs){1, {3}, {0}, -1}, .note = "length 1"},
    {.in = {{'f', 2, {0, 3}}}, .attrs = &(const pad_attrs){2, {1, 0}, {1, 0}, 2}, .note = "nothing"},
};

const asc_op asc_op_pad = {
    .abi = ASC_OP_ABI,
    .name = "pad",
    .equation = "y = x with entries of value before and after it, along each dimension",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_STRIDED | ASC_OP_FRESH,
    .attrs_size = sizeof(pad_attrs),
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}}, .attrs = &(const pad_attrs){3, {0, 16, 0}, {0}, 0}},
};

asc_tensor asc_pad(asc_ctx *ctx, asc_tensor x, int ndim, const int64_t *before, const int64_t *after, double value)
{
    pad_attrs a = {.ndim = ndim, .value = value};
    for (int d = 0; d < ndim && d < ASC_MAX_DIMS; d++) {
        a.before[d] = before ? before[d] : 0;
        a.after[d] = after ? after[d] : 0;
    }
    return asc_apply1(ctx, &asc_op_pad, &x, 1, &a);
}
