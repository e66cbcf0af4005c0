/* ops/attention/rotary.c: rotary positions (Su et al., RoFormer, 2021), per head of width d, d even:
 *
 *   (x_m, x_{m+d/2}) turns by the angle i·10000^(-2m/d), i the position;  dx is dy turned back.
 *
 * Angles are computed in double: at i = 10⁵ a float's angle is off by 10⁻². */
#include "ops/shared/op.h"

#include <math.h>

typedef struct attrs {
    int64_t heads, start;
} attrs;

/* ---- float, and f64.awk makes the same for double ---- */

/* Position i of every sequence and head: y (+)= x turned by sign × its angle. */
static void turn_position_f32(const asc_call *call, const float *x, float *y, int64_t i, double sign, bool add)
{
    const attrs *a = call->attrs;
    const int64_t *shape = call->in[0].shape;
    int64_t B = shape[0], N = shape[1], width = shape[2], d = width / a->heads, half = d / 2;
    for (int64_t m = 0; m < half; m++) {
        double angle = (double)(a->start + i) * pow(10000, -2 * (double)m / (double)d);
        float c = (float)cos(angle), s = (float)(sign * sin(angle));
        for (int64_t b = 0; b < B; b++) {
            int64_t row = (b * N + i) * width;
            for (int64_t at = row + m; at < row + width; at += d) {
                float x0 = x[at], x1 = x[at + half];
                float y0 = x0 * c - x1 * s, y1 = x1 * c + x0 * s;
                y[at] = add ? y[at] + y0 : y0;
                y[at + half] = add ? y[at + half] + y1 : y1;
            }
        }
    }
}

static void turn_f32(void *arg, int64_t i, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    turn_position_f32(call, call->in[0].data, call->out[0].data, i, 1, false);
}

static void turn_back_f32(void *arg, int64_t i, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    turn_position_f32(call, call->grad_out[0].data, call->grad_in[0].data, i, -1, !call->fresh[0]);
}

/* ---- end of float ---- */
#include "ops/attention/rotary.f64.h"

static asc_status infer(asc_call *call)
{
    const attrs *a = call->attrs;
    const asc_array *x = &call->in[0];
    if (asc_expect_floating(call, 0)) {
        return ASC_ERR_ARG;
    }
    if (a->heads < 1 || x->ndim != 3 || x->shape[2] % a->heads || x->shape[2] / a->heads % 2) {
        return asc_call_expect(call, 0, "(B, N, H d) with H = %lld and d even", (long long)a->heads);
    }
    return asc_call_output(call, 0, x->dtype, 3, x->shape);
}

static asc_status forward(asc_call *call)
{
    asc_parallel(call->ctx, call->in[0].shape[1], BY_DTYPE(call->in[0].dtype, turn), call);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    asc_parallel(call->ctx, call->in[0].shape[1], BY_DTYPE(call->in[0].dtype, turn_back), call);
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 5, 8}}}, .attrs = &(const attrs){2, 0}},
    {.in = {{'f', 3, {1, 3, 4}}}, .attrs = &(const attrs){1, 1000}, .note = "positions from 1000"},
    {.in = {{'f', 3, {1, 0, 4}}}, .attrs = &(const attrs){1, 0}, .note = "no positions"},
};

const asc_op asc_op_rotary = {
    .abi = ASC_OP_ABI,
    .name = "rotary",
    .equation = "(x_m, x_{m+d/2}) turned by i·10000^(-2m/d);  x (B, N, H d)",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(attrs),
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}}, .attrs = &(const attrs){4, 0}},
};

asc_tensor asc_rotary(asc_ctx *ctx, asc_tensor x, int64_t heads, int64_t start)
{
    return asc_apply1(ctx, &asc_op_rotary, &x, 1, &(attrs){heads, start});
}
