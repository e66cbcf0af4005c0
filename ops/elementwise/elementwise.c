/* ops/elementwise/elementwise.c: functions of one element, y = f(x), dx = f'(x) dy: what becomes of functions.h. */
#include "ops/shared/op.h"

#include <math.h>

/* An op's data, its kernels for each dtype: y from x; dx from dy and from whichever of x and y the op saves. */
typedef struct kernels {
    void (*y_f32)(float *y, const float *x, int64_t n);
    void (*y_f64)(double *y, const double *x, int64_t n);
    void (*dx_f32)(float *dx, const float *saved, const float *dy, int64_t n);
    void (*dx_f64)(double *dx, const double *saved, const double *dy, int64_t n);
} kernels;

/* ---- float, and f64.awk makes the same for double ---- */

/* ---- gradients by row primitives ---- */

static void gelu_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    asc_kernels_f32()->gelu_grad(dx, x, dy, n, true);
}

static void abs_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    asc_kernels_f32()->abs_grad(dx, x, dy, n);
}

static void sin_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    asc_kernels_f32()->cos(dx, x, n);
    asc_kernels_f32()->mul(dx, dx, dy, n);
}

static void cos_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    asc_kernels_f32()->sin(dx, x, n);
    asc_kernels_f32()->mul(dx, dx, dy, n);
    asc_kernels_f32()->scale(dx, -1, dx, n);
}

/* The derivative of softplus is the sigmoid. */
static void softplus_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    asc_kernels_f32()->sigmoid(dx, x, n);
    asc_kernels_f32()->mul(dx, dx, dy, n);
}

static void erf_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    asc_kernels_f32()->erf_grad(dx, x, dy, n);
}

static void silu_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    asc_kernels_f32()->sigmoid(dx, x, n);
    asc_kernels_f32()->gated_grad(dx, x, dy, false, n);
}

/* (1 + tanh u)/2 = σ(2u), which keeps its digits where tanh u is near -1 */
static void gelu_tanh_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        dx[i] = (float)1.59576912160573071176 * (x[i] + (float)0.044715 * x[i] * x[i] * x[i]);
    }
    asc_kernels_f32()->sigmoid(dx, dx, n);
    asc_kernels_f32()->gated_grad(dx, x, dy, true, n);
}

/* ---- kernels of the rows: all values are read whatever is chosen, so that a choice needs no jump ---- */

#define BY_FORMULA(name, formula)                                                                                      \
    static void name##_f32(float *to, const float *from, int64_t n)                                                    \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const float x = from[i];                                                                                   \
            to[i] = formula;                                                                                           \
        }                                                                                                              \
    }
#define BY_PRIMITIVE(name)                                                                                             \
    static void name##_f32(float *y, const float *x, int64_t n)                                                        \
    {                                                                                                                  \
        asc_kernels_f32()->name(y, x, n);                                                                              \
    }
#define GRADIENT(name, saved, formula)                                                                                 \
    static void name##_grad_f32(float *to, const float *from, const float *grad, int64_t n)                            \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const float saved = from[i], dy = grad[i];                                                                 \
            to[i] = formula;                                                                                           \
        }                                                                                                              \
    }
#define FUNCTION(name, equation, domain, y, saved, dx) BY_FORMULA(name, y) GRADIENT(name, saved, dx)
#define PRIMITIVE(name, equation, domain, saved, dx)   BY_PRIMITIVE(name) GRADIENT(name, saved, dx)
#define PRIMITIVES(name, equation, domain, saved)      BY_PRIMITIVE(name)
#include "ops/elementwise/functions.h"
#undef BY_FORMULA
#undef BY_PRIMITIVE
#undef GRADIENT

/* ---- pieces ---- */

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    const kernels *f = call->op->data;
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[0].numel);
    f->y_f32((float *)call->out[0].data + from, (const float *)call->in[0].data + from, n);
}

/* dx (+)= the gradient kernel's result. */
static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    const kernels *f = call->op->data;
    const asc_array *saved = call->op->saves_out ? &call->out[0] : &call->in[0];
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[0].numel);
    const float *s = (const float *)saved->data + from, *dy = (const float *)call->grad_out[0].data + from;
    float *dx = (float *)call->grad_in[0].data + from;
    if (call->fresh[0]) {
        f->dx_f32(dx, s, dy, n);
        return;
    }
    float part[512];
    for (int64_t i = 0; i < n; i += ASC_COUNT(part)) {
        int64_t m = n - i < ASC_COUNT(part) ? n - i : ASC_COUNT(part);
        f->dx_f32(part, s + i, dy + i, m);
        asc_kernels_f32()->acc(dx + i, part, m);
    }
}

/* ---- end of float ---- */
#include "ops/elementwise/elementwise.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    return asc_expect_floating(call, 0) ? ASC_ERR_ARG : asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
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

/* ---- domains: samples, the last of them the benchmark's ---- */

static const asc_sample everywhere[] = {
    {.in = {{'f', 2, {3, 5}}}},
    {.in = {{'f', 0}}, .note = "a scalar"},
    {.in = {{'f', 1, {0}}}, .note = "no elements"},
    {.in = {{'f', 3, {32, 128, 1024}}}},
};
static const asc_sample off_zero[] = {
    {.in = {{'f', 2, {3, 5}, .kink = 0, .away = .05}}},
    {.in = {{'f', 3, {32, 128, 1024}}}},
};
static const asc_sample positive[] = {
    {.in = {{'u', 2, {3, 5}, .1, 4}}},
    {.in = {{'u', 0, {0}, .1, 4}}, .note = "a scalar"},
    {.in = {{'u', 3, {32, 128, 1024}, .1, 4}}},
};
static const asc_sample above_minus_1[] = {
    {.in = {{'u', 2, {3, 5}, -.9, 4}}},
    {.in = {{'u', 0, {0}, -.9, 4}}, .note = "a scalar"},
    {.in = {{'u', 3, {32, 128, 1024}, .1, 4}}},
};
static const asc_sample far_from_zero[] = {
    {.in = {{'f', 2, {3, 5}, .kink = 0, .away = .5}}},
    {.in = {{'f', 0, .away = .5}}, .note = "a scalar"},
    {.in = {{'f', 3, {32, 128, 1024}}}},
};

/* ---- descriptors and builders ---- */

#define SAVES_x .saves_in = 1
#define SAVES_y .saves_out = 1
#define ELEMENTWISE(function, its_equation, domain, saved)                                                             \
    const asc_op asc_op_##function = {                                                                                 \
        .abi = ASC_OP_ABI,                                                                                             \
        .name = #function,                                                                                             \
        .equation = its_equation,                                                                                      \
        .inputs = "x",                                                                                                 \
        .n_out = 1,                                                                                                    \
        .flags = ASC_OP_FRESH,                                                                                         \
        SAVES_##saved,                                                                                                 \
        .infer = infer,                                                                                                \
        .forward = forward,                                                                                            \
        .backward = backward,                                                                                          \
        .samples = domain,                                                                                             \
        .n_samples = ASC_COUNT(domain) - 1,                                                                            \
        .bench = &domain[ASC_COUNT(domain) - 1],                                                                       \
        .data = &(const kernels){function##_f32, function##_f64, function##_grad_f32, function##_grad_f64},            \
    };                                                                                                                 \
    asc_tensor asc_##function(asc_ctx *ctx, asc_tensor x)                                                              \
    {                                                                                                                  \
        return asc_apply1(ctx, &asc_op_##function, &x, 1, NULL);                                                       \
    }
#include "ops/elementwise/functions.h"
