/* ops/elementwise/cast.c: y = x in another floating dtype.
 *
 *   dx = dy, rounded to x's dtype. */
#ifndef ASC_REAL
#include "ops/shared/op.h"

typedef struct cast_attrs {
    asc_dtype dtype;
} cast_attrs;

#define ASC_SELF "ops/elementwise/cast.c"
#include "ops/shared/both.h"

static asc_status infer(asc_call *call)
{
    asc_dtype dtype = ((const cast_attrs *)call->attrs)->dtype;
    if (!asc_is_floating(dtype)) {
        return asc_call_fail(call, "dtype is %s, expected f32 or f64", asc_dtype_name(dtype));
    }
    return asc_call_output(call, 0, dtype, call->in[0].ndim, call->in[0].shape);
}

static void convert_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    const asc_array *x = &call->in[0], *y = &call->out[0];
    int64_t at = asc_piece_begin(piece), n = asc_piece_size(piece, x->numel);
    asc_array part;
    asc_array_init(&part, x->dtype, 1, &n);
    part.data = (char *)x->data + (size_t)at * asc_dtype_size(x->dtype);
    asc_pack(&part, y->dtype, (char *)y->data + (size_t)at * asc_dtype_size(y->dtype));
}

static asc_status forward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, convert_piece);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, call->grad_in[0].dtype == ASC_F32 ? add_f32 : add_f64);
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
    return asc_is_valid(x) && asc_dtype_of(x) == dtype ? x : asc_apply1(ctx, &asc_op_cast, &x, 1, &(cast_attrs){dtype});
}

#else /* for each dtype */

static void R(add)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    int64_t at = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[0].numel);
    real *dx = (real *)call->grad_in[0].data + at;
    const asc_array *dy = &call->grad_out[0];
    if (dy->dtype == ASC_F32) {
        for (int64_t i = 0; i < n; i++) {
            dx[i] += (real)((const float *)dy->data)[at + i];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            dx[i] += (real)((const double *)dy->data)[at + i];
        }
    }
}

#endif
