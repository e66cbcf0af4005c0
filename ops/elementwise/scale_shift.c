/* ops/elementwise/scale_shift.c: y = a x + b with constants a and b.
 *
 *   dx = a dy */
#include "ops/shared/op.h"

typedef struct scale_shift_attrs {
    double a, b;
} scale_shift_attrs;

typedef struct scaling {
    void *y;
    const void *x;
    int64_t n;
    double a, b;
    bool fresh;
} scaling;

/* ---- float, and f64.awk makes the same for double ---- */

static void scale_shift_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const scaling *s = arg;
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, s->n);
    float *y = (float *)s->y + from, b = (float)s->b;
    asc_kernels_f32()->scale(y, (float)s->a, (const float *)s->x + from, n);
    for (int64_t i = 0; i < n && b != 0; i++) {
        y[i] += b;
    }
}

static void add_scaled_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const scaling *s = arg;
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, s->n);
    float *y = (float *)s->y + from;
    const float *x = (const float *)s->x + from;
    if (s->fresh) {
        asc_kernels_f32()->scale(y, (float)s->a, x, n);
    } else {
        asc_kernels_f32()->axpy(y, (float)s->a, x, n);
    }
}

/* ---- end of float ---- */
#include "ops/elementwise/scale_shift.f64.h"

void asc_add_scaled(asc_ctx *ctx, asc_dtype dtype, void *y, double a, const void *x, int64_t n, bool fresh)
{
    scaling s = {.y = y, .x = x, .n = n, .a = a, .fresh = fresh};
    asc_parallel(ctx, asc_pieces(n), BY_DTYPE(dtype, add_scaled), &s);
}

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    return asc_expect_floating(call, 0) ? ASC_ERR_ARG : asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static asc_status forward(asc_call *call)
{
    const scale_shift_attrs *k = call->attrs;
    const asc_array *x = &call->in[0];
    scaling s = {.y = call->out[0].data, .x = x->data, .n = x->numel, .a = k->a, .b = k->b};
    asc_parallel(call->ctx, asc_pieces(s.n), BY_DTYPE(x->dtype, scale_shift), &s);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    const scale_shift_attrs *k = call->attrs;
    const asc_array *dy = &call->grad_out[0];
    asc_add_scaled(call->ctx, dy->dtype, call->grad_in[0].data, k->a, dy->data, dy->numel, call->fresh[0]);
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 2, {3, 5}}}, .attrs = &(const scale_shift_attrs){-1.5, 0.25}},
    {.in = {{'f', 0}}, .attrs = &(const scale_shift_attrs){2, 0}, .note = "a scalar"},
    {.in = {{'f', 2, {0, 3}}}, .attrs = &(const scale_shift_attrs){1, 1}, .note = "nothing"},
};

const asc_op asc_op_scale_shift = {
    .abi = ASC_OP_ABI,
    .name = "scale_shift",
    .equation = "y = a x + b, a and b constants",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(scale_shift_attrs),
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 1024}}}, .attrs = &(const scale_shift_attrs){2, 1}},
};

asc_tensor asc_scale_shift(asc_ctx *ctx, asc_tensor x, double a, double b)
{
    return asc_apply1(ctx, &asc_op_scale_shift, &x, 1, &(scale_shift_attrs){a, b});
}

asc_tensor asc_scale(asc_ctx *ctx, asc_tensor x, double a)
{
    return asc_scale_shift(ctx, x, a, 0);
}

asc_tensor asc_add_scalar(asc_ctx *ctx, asc_tensor x, double b)
{
    return asc_scale_shift(ctx, x, 1, b);
}

asc_tensor asc_neg(asc_ctx *ctx, asc_tensor x)
{
    return asc_scale_shift(ctx, x, -1, 0);
}
