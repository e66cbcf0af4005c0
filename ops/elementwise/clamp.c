/* ops/elementwise/clamp.c: y = x held to lo … hi.
 *
 *   dx = dy where lo <= x <= hi, 0 elsewhere. A NaN is passed on, without a gradient. */
#include "ops/shared/op.h"

typedef struct clamp_attrs {
    double lo, hi;
} clamp_attrs;

/* ---- float, and f64.awk makes the same for double ---- */

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    const clamp_attrs *a = call->attrs;
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[0].numel);
    const float *x = (const float *)call->in[0].data + from;
    asc_kernels_f32()->clamp((float *)call->out[0].data + from, x, (float)a->lo, (float)a->hi, n);
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    const clamp_attrs *a = call->attrs;
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[0].numel);
    const float *x = (const float *)call->in[0].data + from, *dy = (const float *)call->grad_out[0].data + from;
    asc_kernels_f32()->clamp_grad((float *)call->grad_in[0].data + from, x, (float)a->lo, (float)a->hi, dy, n,
                                  call->fresh[0]);
}

/* ---- end of float ---- */
#include "ops/elementwise/clamp.f64.h"

static asc_status infer(asc_call *call)
{
    const clamp_attrs *a = call->attrs;
    const asc_array *x = &call->in[0];
    if (asc_expect_floating(call, 0)) {
        return ASC_ERR_ARG;
    }
    if (!(a->lo <= a->hi)) {
        return asc_call_fail(call, "lo is %g, hi is %g, expected lo <= hi", a->lo, a->hi);
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static asc_status forward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, BY_DTYPE(call->in[0].dtype, forward_piece));
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, BY_DTYPE(call->in[0].dtype, backward_piece));
    return ASC_OK;
}

/* A sample keeps away from one kink, the other one is out of its values' reach. */
static const asc_sample samples[] = {
    {.in = {{'f', 2, {3, 5}, .kink = .5, .away = .05}}, .attrs = &(const clamp_attrs){-100, .5}, .note = "above"},
    {.in = {{'f', 2, {3, 5}, .kink = -.25, .away = .05}}, .attrs = &(const clamp_attrs){-.25, 100}, .note = "below"},
    {.in = {{'f', 0}}, .attrs = &(const clamp_attrs){-100, 100}, .note = "a scalar"},
    {.in = {{'f', 2, {0, 3}}}, .attrs = &(const clamp_attrs){0, 0}, .note = "nothing"},
};

const asc_op asc_op_clamp = {
    .abi = ASC_OP_ABI,
    .name = "clamp",
    .equation = "y = min(max(x, lo), hi), dy/dx = 1 at lo and hi",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(clamp_attrs),
    .saves_in = 1,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 1024}}}, .attrs = &(const clamp_attrs){-1, 1}},
};

asc_tensor asc_clamp(asc_ctx *ctx, asc_tensor x, double lo, double hi)
{
    return asc_apply1(ctx, &asc_op_clamp, &x, 1, &(clamp_attrs){lo, hi});
}

asc_tensor asc_soft_cap(asc_ctx *ctx, asc_tensor x, double cap)
{
    double least = asc_least_cap(asc_dtype_of(x));
    if (!(cap >= least && cap <= 1 / least)) {
        asc_fail(ctx, ASC_ERR_ARG, "soft_cap: cap is %g, expected %g to %g in %s", cap, least, 1 / least,
                 asc_dtype_name(asc_dtype_of(x)));
        return asc_null();
    }
    asc_tensor over = asc_scale(ctx, x, 1 / cap), bounded = asc_tanh(ctx, over), y = asc_scale(ctx, bounded, cap);
    asc_release(over);
    asc_release(bounded);
    return y;
}
