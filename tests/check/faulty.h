/* tests/check/faulty.h: ops for the tests of the gradient check: one that can be told to be wrong, and |x|. */
#ifndef TESTS_AUTOGRAD_FAULTY_H
#define TESTS_AUTOGRAD_FAULTY_H

/* Tables of samples leave out the fields that are 0. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wmissing-field-initializers"
#endif

#include <math.h>

#include <ascgrad/op.h>

/* ---- y = a ⊙ sin b, z = a ⊙ a, for a and b of one shape ---- */

typedef enum fault {
    NONE,
    SIGN,
    FACTOR_2,
    FACTOR_101,
    DROPPED,
    OVERWRITTEN,
    ELEMENT,    /* one element alone */
    STRIDES,    /* takes any strides for contiguous */
    FRESH,      /* adds to gradients that are not initialised */
    UNSTEADY,   /* other outputs every time */
    ALONE,      /* a gradient that is right only beside the other one */
    OUTPUTS,    /* a cotangent that is taken up only beside the other one */
    SAME,       /* wrong where both inputs are one tensor */
    SINGLE,     /* wrong in f32 */
    RECORDING,  /* other outputs where no backward pass can follow */
    NAN_GRADIENT,
    NOISE,      /* a forward pass too rough for differences */
    BEHIND,     /* writes one element too many, */
    BEFORE,     /* or before the first, */
    INPUT,      /* or to an input, */
    GRADIENT,   /* or behind a gradient, */
    COTANGENT,  /* or to one that it is given */
    DOUBLES,    /* takes f64 alone */
    RESULT,     /* reads an output in backward */
    IDLE_READ,  /* and makes nothing of it */
    SHARED_READ, /* the same where several threads compute */
    READ_BEHIND, /* reads one element too many, */
    READ_BEFORE, /* or one of a cotangent before its first */
    COUNTS,     /* other integers every time */
    ONE_BEHIND, /* BEHIND where there is one element, */
    ONE_FORWARD, /* or forward fails there, though infer does not, */
    ONE_BACKWARD, /* or backward does, */
    MANY_BACKWARD, /* or does where they are many */
    EVERY_SECOND, /* another gradient every second time */
    ALIGNED,    /* wrong where an array is not aligned to 64 bytes, */
    ALIGNED_SINGLE, /* or is not and is of f32, */
    ALIGNED_GRADIENT, /* or where a gradient is not */
    KEEPS,      /* from forward to backward, in memory of its own */
} fault;

static fault now;

static double at(const asc_array *a, int64_t i)
{
    return a->dtype == ASC_F32 ? (double)((float *)a->data)[i] : ((double *)a->data)[i];
}

static double get(const asc_array *a, int64_t i)
{
    int64_t offset = 0, rest = i;
    for (int d = a->ndim - 1; d >= 0; d--) {
        offset += rest % a->shape[d] * a->stride[d];
        rest /= a->shape[d];
    }
    return at(a, now == STRIDES ? i : offset);
}

static void put(asc_array *a, int64_t i, double v)
{
    if (a->dtype == ASC_F32) {
        ((float *)a->data)[i] = (float)v;
    } else {
        ((double *)a->data)[i] = v;
    }
}

static bool off(const asc_array *a)
{
    return (uintptr_t)a->data % 64 != 0;
}

static double kept; /* of KEEPS: b's first element */

static asc_status infer(asc_call *call)
{
    const asc_array *a = &call->in[0];
    if (now == DOUBLES && a->dtype != ASC_F64) {
        return asc_call_expect(call, 0, "f64");
    }
    asc_status status = asc_call_output(call, 0, a->dtype, a->ndim, a->shape);
    return status ? status : asc_call_output(call, 1, a->dtype, a->ndim, a->shape);
}

static asc_status forward(asc_call *call)
{
    static int calls;
    calls++;
    if (now == ONE_FORWARD && call->in[0].numel == 1) {
        return asc_call_fail(call, "nothing to do");
    }
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        double a = get(&call->in[0], i), b = get(&call->in[1], i), y = a * sin(b);
        y += now == UNSTEADY ? 1e-13 * calls : 0;
        y += now == RECORDING && !call->wants_grad ? 1e-6 : 0;
        y += now == READ_BEHIND && i == 0 ? at(&call->in[0], call->in[0].numel) : 0;
        y += now == ALIGNED && off(&call->out[1]) ? 1e-6 : 0;
        y *= now == ALIGNED_SINGLE && off(&call->in[0]) && call->in[0].dtype == ASC_F32 ? 1.01 : 1;
        y += now == NOISE ? 1e-3 * sin(1e9 * a) : 0;
        put(&call->out[0], i, now == SINGLE && call->in[0].dtype == ASC_F32 ? 1.01 * y : y);
        put(&call->out[1], i, a * a);
    }
    kept = call->in[0].numel > 0 ? get(&call->in[1], 0) : 0;
    if (now == BEHIND || now == BEFORE || (now == ONE_BEHIND && call->in[0].numel == 1)) {
        put(&call->out[1], now == BEFORE ? -1 : call->out[1].numel, 1);
    }
    if (now == INPUT) {
        put(&call->in[1], 0, 1);
    }
    return ASC_OK;
}

/* What a fault makes of a gradient of b. */
static double spoil(const asc_call *call, int64_t i, double g)
{
    switch (now) {
    case SIGN: return -g;
    case FACTOR_2: return 2 * g;
    case FACTOR_101: return 1.01 * g;
    case DROPPED: return 0;
    case ELEMENT: return i == 4 ? g + 1e-6 : g;
    case ALONE: return call->grad_in[0].data ? g : 0;
    case SAME: return call->in[0].data == call->in[1].data ? 1.1 * g : g;
    case NAN_GRADIENT: return i == 2 ? NAN : g;
    default: return g;
    }
}

static void add(asc_call *call, int input, int64_t i, double g)
{
    asc_array *to = &call->grad_in[input];
    bool write = now == OVERWRITTEN || (call->fresh[input] && now != FRESH);
    if (to->data) {
        put(to, i, write ? g : get(to, i) + g);
    }
}

static asc_status backward(asc_call *call)
{
    static int calls;
    calls++;
    const asc_array *dy = &call->grad_out[0], *dz = &call->grad_out[1];
    int64_t n = call->in[0].numel;
    if ((now == ONE_BACKWARD && n == 1) || (now == MANY_BACKWARD && n > 1000)) {
        return asc_call_fail(call, "no gradient of these");
    }
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        double a = get(&call->in[0], i), b = get(&call->in[1], i);
        b = now == KEEPS && i == 0 ? kept : b;
        double gy = dy->data ? get(dy, i) : 0, gz = dz->data && (dy->data || now != OUTPUTS) ? get(dz, i) : 0;
        gy += now == READ_BEFORE && i == 0 && dy->data ? at(dy, -1) : 0;
        gy += now == IDLE_READ || (now == SHARED_READ && asc_threads(call->ctx) > 1) ? 0 * get(&call->out[1], i) : 0;
        gy += now == ALIGNED_GRADIENT && (off(&call->grad_in[0]) || off(dy)) ? 1e-6 : 0;
        gy += now == EVERY_SECOND && calls % 2 ? 1e-13 : 0;
        gy *= now == RESULT ? get(&call->out[1], i) / (a * a) : 1;
        add(call, 0, i, gy * sin(b) + 2 * gz * a);
        add(call, 1, i, spoil(call, i, gy * a * cos(b)));
    }
    if (now == GRADIENT || now == COTANGENT) {
        asc_array *to = now == GRADIENT ? &call->grad_in[1] : &call->grad_out[0];
        put(to, now == GRADIENT ? to->numel : 0, 1);
    }
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 2, {3, 4}}, {'u', 2, {3, 4}, .lo = -1, .hi = 1.5}}},
    {.in = {{'f', 2, {0, 3}}, {'f', 2, {0, 3}}}, .note = "empty"},
    {.in = {{'f', 1, {5}}, {'=', .lo = 0}}, .note = "one tensor"},
};

static const asc_op faulty = {
    .abi = ASC_OP_ABI,
    .name = "faulty",
    .equation = "y = a sin b, z = a a",
    .inputs = "a b",
    .n_out = 2,
    .flags = ASC_OP_STRIDED | ASC_OP_FRESH,
    .saves_in = 3,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = 3,
};

/* ---- y = |x|, times a random number with ASC_OP_RANDOM ---- */

static asc_status abs_infer(asc_call *call)
{
    return asc_call_output(call, 0, call->in[0].dtype, call->in[0].ndim, call->in[0].shape);
}

static asc_status abs_forward(asc_call *call)
{
    double scale = call->op->flags & ASC_OP_RANDOM ? call->random[0] * 0x1p-32 : 1;
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        put(&call->out[0], i, scale * fabs(get(&call->in[0], i)));
    }
    return ASC_OK;
}

static asc_status abs_backward(asc_call *call)
{
    double scale = call->op->flags & ASC_OP_RANDOM ? call->random[0] * 0x1p-32 : 1;
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        double g = get(&call->grad_out[0], i) * scale * copysign(1, get(&call->in[0], i));
        put(&call->grad_in[0], i, get(&call->grad_in[0], i) + g);
    }
    return ASC_OK;
}

static const asc_sample abs_samples[] = {
    {.in = {{'f', 1, {150}, .kink = 0, .away = 0.01}}},
    {.in = {{'u', 1, {150}, .lo = -0.1, .hi = 2, .kink = 0, .away = 0.05}}},
};

static const asc_op abs_op = {
    .abi = ASC_OP_ABI,
    .name = "abs",
    .equation = "y = |x|",
    .inputs = "x",
    .n_out = 1,
    .saves_in = 1,
    .infer = abs_infer,
    .forward = abs_forward,
    .backward = abs_backward,
    .samples = abs_samples,
    .n_samples = 2,
};

/* ---- y = |x|, and whether x < 0 ---- */

static asc_status sign_infer(asc_call *call)
{
    asc_status status = abs_infer(call);
    return status ? status : asc_call_output(call, 1, ASC_I64, call->in[0].ndim, call->in[0].shape);
}

static asc_status sign_forward(asc_call *call)
{
    static int calls;
    calls++;
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        ((int64_t *)call->out[1].data)[i] = now == COUNTS ? calls : get(&call->in[0], i) < 0;
    }
    return abs_forward(call);
}

static const asc_op sign_op = {
    .abi = ASC_OP_ABI,
    .name = "sign",
    .equation = "y = |x|, n = [x < 0]",
    .inputs = "x",
    .n_out = 2,
    .saves_in = 1,
    .infer = sign_infer,
    .forward = sign_forward,
    .backward = abs_backward,
    .samples = abs_samples,
    .n_samples = 2,
};

#endif
