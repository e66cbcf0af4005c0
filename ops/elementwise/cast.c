/* ops/elementwise/cast.c: y = x in another floating dtype.
 *
 *   dx = dy, rounded to x's dtype. */
#include "ops/shared/op.h"

typedef struct cast_attrs {
    asc_dtype dtype;
} cast_attrs;

/* ---- float, and f64.awk makes the same for double ---- */

static void accumulate_f32(void *y, const void *x, int64_t n)
{
    asc_kernels_f32()->acc(y, x, n);
}

/* ---- end of float ---- */
#include "ops/elementwise/cast.f64.h"

static asc_status infer(asc_call *call)
{
    asc_dtype dtype = ((const cast_attrs *)call->attrs)->dtype;
    if (!asc_is_floating(dtype)) {
        return asc_call_fail(call, "dtype is %s, expected f32 or f64", asc_dtype_name(dtype));
    }
    return asc_call_output(call, 0, dtype, call->in[0].ndim, call->in[0].shape);
}

/* Elements at … at + n - 1 of x as another dtype, in `to`. */
static void convert(const asc_array *x, int64_t at, int64_t n, asc_dtype dtype, void *to)
{
    asc_array part;
    asc_array_init(&part, x->dtype, 1, &n);
    part.data = (char *)x->data + (size_t)at * asc_dtype_size(x->dtype);
    asc_pack(&part, dtype, to);
}

static void forward_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    const asc_array *y = &call->out[0];
    int64_t at = asc_piece_begin(piece);
    convert(&call->in[0], at, asc_piece_size(piece, y->numel), y->dtype,
            (char *)y->data + (size_t)at * asc_dtype_size(y->dtype));
}

static void backward_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    const asc_array *dx = &call->grad_in[0];
    int64_t at = asc_piece_begin(piece), end = at + asc_piece_size(piece, dx->numel);
    double row[512]; /* of either dtype */
    for (; at < end; at += ASC_COUNT(row)) {
        int64_t n = end - at < ASC_COUNT(row) ? end - at : ASC_COUNT(row);
        convert(&call->grad_out[0], at, n, dx->dtype, row);
        BY_DTYPE(dx->dtype, accumulate)((char *)dx->data + (size_t)at * asc_dtype_size(dx->dtype), row, n);
    }
}

static asc_status forward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, forward_piece);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, backward_piece);
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 2, {2, 3}}}, .attrs = &(const cast_attrs){ASC_F64}},
    {.in = {{'f', 0}}, .attrs = &(const cast_attrs){ASC_F64}, .note = "a scalar"},
    {.in = {{'f', 2, {3, 0}}}, .attrs = &(const cast_attrs){ASC_F64}, .note = "nothing"},
};

const asc_op asc_op_cast = {
    .abi = ASC_OP_ABI,
    .name = "cast",
    .equation = "y = x as f32 or f64",
    .inputs = "x",
    .n_out = 1,
    .attrs_size = sizeof(cast_attrs),
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}}, .attrs = &(const cast_attrs){ASC_F64}},
};

asc_tensor asc_cast(asc_ctx *ctx, asc_tensor x, asc_dtype dtype)
{
    bool is = asc_is_of(ctx, x) && asc_dtype_of(x) == dtype;
    return is ? x : asc_apply1(ctx, &asc_op_cast, &x, 1, &(cast_attrs){dtype});
}
