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

typedef struct job {
    const asc_call *call;
    const void *x;
    void *y;
    double sign; /* of the angles: -1 turns back */
    bool fresh;
    int64_t half;
    const double *frequency; /* [half]: 10000^(-2m/d) */
    void *angles;            /* [workers][2][half]: cosines and sines */
} job;

/* ---- float, and f64.awk makes the same for double ---- */

/* Position i of every sequence and head. */
static void turn_f32(void *arg, int64_t i, int worker)
{
    const job *j = arg;
    const attrs *a = j->call->attrs;
    const int64_t *shape = j->call->in[0].shape;
    float *c = (float *)j->angles + 2 * j->half * worker, *s = c + j->half;
    for (int64_t m = 0; m < j->half; m++) {
        double angle = (double)(a->start + i) * j->frequency[m];
        c[m] = (float)cos(angle), s[m] = (float)(j->sign * sin(angle));
    }
    for (int64_t b = 0; b < shape[0]; b++) {
        int64_t row = (b * shape[1] + i) * shape[2];
        asc_kernels_f32()->rotate((float *)j->y + row, (const float *)j->x + row, c, s, j->half, a->heads, j->fresh);
    }
}

/* ---- end of float ---- */
#include "ops/attention/rotary.f64.h"

static asc_status turn(asc_call *call, job j)
{
    const asc_array *x = &call->in[0];
    int64_t d = x->shape[2] / ((const attrs *)call->attrs)->heads;
    size_t half = (size_t)d / 2, bytes = 2 * half * asc_dtype_size(x->dtype) * (size_t)asc_threads(call->ctx);
    double *frequency = asc_call_scratch(call, half * sizeof *frequency);
    j.angles = asc_call_scratch(call, bytes);
    if (!frequency || !j.angles) {
        return ASC_ERR_MEMORY;
    }
    for (size_t m = 0; m < half; m++) {
        frequency[m] = pow(10000, -2 * (double)m / (double)d);
    }
    j.call = call;
    j.half = (int64_t)half;
    j.frequency = frequency;
    asc_parallel(call->ctx, x->shape[1], BY_DTYPE(x->dtype, turn), &j);
    return ASC_OK;
}

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
    return turn(call, (job){.x = call->in[0].data, .y = call->out[0].data, .sign = 1, .fresh = true});
}

static asc_status backward(asc_call *call)
{
    return turn(call,
                (job){.x = call->grad_out[0].data, .y = call->grad_in[0].data, .sign = -1, .fresh = call->fresh[0]});
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
