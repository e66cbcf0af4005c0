/* ops/elementwise/activation.c: functions of one element: y = f(x), dx = f'(x) dy. Each is a line of formulas at the
 * end of this file, a line of the table of kernels, and a descriptor. */
#include "ops/shared/op.h"

#include <math.h>

/* A function's kernels for each dtype: y from x; dx from dy and from whichever of x and y the op saves. */
typedef struct kernels {
    void (*f32)(float *y, const float *x, int64_t n);
    void (*f64)(double *y, const double *x, int64_t n);
    void (*grad_f32)(float *dx, const float *saved, const float *dy, int64_t n);
    void (*grad_f64)(double *dx, const double *saved, const double *dy, int64_t n);
} kernels;

/* ---- float, and f64.awk makes the same for double ---- */

/* dx (+)= the gradient kernel's result, n elements from `from`. */
static void grad_range_f32(const asc_call *call, const kernels *f, int64_t from, int64_t n)
{
    const asc_array *saved = call->op->saves_out ? &call->out[0] : &call->in[0];
    const float *s = (const float *)saved->data + from, *dy = (const float *)call->grad_out[0].data + from;
    float *dx = (float *)call->grad_in[0].data + from;
    if (call->fresh[0]) {
        f->grad_f32(dx, s, dy, n);
        return;
    }
    float part[512];
    for (int64_t i = 0; i < n; i += ASC_COUNT(part)) {
        int64_t m = n - i < ASC_COUNT(part) ? n - i : ASC_COUNT(part);
        f->grad_f32(part, s + i, dy + i, m);
        asc_kernels_f32()->acc(dx + i, part, m);
    }
}

/* The kernel NAME: y = F of x; and its gradient: dx = D of dy and s, the saved one of x and y. All are read
 * whatever is chosen, so that a choice needs no jump. */
#define ELEMENTWISE(NAME, F, D)                                                                                        \
    static void NAME##_f32(float *to, const float *from, int64_t n)                                                    \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const float x = from[i];                                                                                   \
            to[i] = F;                                                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    GRADIENT(NAME, D)
#define GRADIENT(NAME, D)                                                                                              \
    static void NAME##_grad_f32(float *to, const float *saved, const float *from, int64_t n)                           \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const float s = saved[i], dy = from[i];                                                                    \
            to[i] = D;                                                                                                 \
        }                                                                                                              \
    }
/* The same where the kernel is a row primitive. */
#define BY_ROWS(NAME, D)                                                                                               \
    static void NAME##_f32(float *to, const float *from, int64_t n)                                                    \
    {                                                                                                                  \
        asc_kernels_f32()->NAME(to, from, n);                                                                          \
    }                                                                                                                  \
    GRADIENT(NAME, D)

/* NaN < 0 is false: y is NaN where x is */
ELEMENTWISE(relu, x < 0 ? 0 : x, s <= 0 ? 0 : dy)
ELEMENTWISE(abs, x<0 ? -x : x, s> 0 ? dy : s < 0 ? -dy : 0)
BY_ROWS(tanh, dy *(1 - s * s))
BY_ROWS(sigmoid, dy *(s *(1 - s)))
BY_ROWS(exp, dy *s)
BY_ROWS(log, dy / s)
ELEMENTWISE(sqrt, (float)sqrt((double)x), dy / (2 * s))
ELEMENTWISE(square, x *x, dy *(2 * s))

ELEMENTWISE(sin, (float)sin((double)x), (float)cos((double)s) * dy)
ELEMENTWISE(cos, (float)cos((double)x), -(float)sin((double)s) * dy)
BY_ROWS(erf, (float)(1.12837916709551257390 * exp(-(double)s * (double)s)) * dy)
BY_ROWS(log1p, dy / (1 + s))
BY_ROWS(expm1, dy *(s + 1))
ELEMENTWISE(reciprocal, 1 / x, -dy *s *s)
ELEMENTWISE(rsqrt, (float)(1 / sqrt((double)x)), (float)-0.5 * dy * s * s * s)

/* Its derivative is the sigmoid. */
static void softplus_f32(float *y, const float *x, int64_t n)
{
    asc_kernels_f32()->softplus(y, x, n);
}

static void softplus_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    asc_kernels_f32()->sigmoid(dx, x, n);
    asc_kernels_f32()->mul(dx, dx, dy, n);
}

/* y = x σ(G) for a gate G of x with slope D, and dy/dx = σ + x D σ (1 - σ). Where the gate is shut or open altogether,
 * infinities must not meet zeros. */
#define GATED(NAME, G, D)                                                                                              \
    static void NAME##_f32(float *to, const float *from, int64_t n)                                                    \
    {                                                                                                                  \
        asc_kernels_f32()->NAME(to, from, n);                                                                          \
    }                                                                                                                  \
    static void NAME##_grad_f32(float *to, const float *saved, const float *dy, int64_t n)                             \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const float x = saved[i];                                                                                  \
            to[i] = G;                                                                                                 \
        }                                                                                                              \
        asc_kernels_f32()->sigmoid(to, to, n);                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const float x = saved[i], s = to[i];                                                                       \
            to[i] = dy[i] * (s == 0 || s == 1 ? s : s + x * (D)*s * (1 - s));                                          \
        }                                                                                                              \
    }

/* (1 + tanh u)/2 = σ(2u), which keeps its digits where tanh u is near -1 */
GATED(silu, x, 1)
GATED(gelu_tanh, (float)1.59576912160573071176 * (x + (float)0.044715 * x * x * x),
      (float)1.59576912160573071176 * (1 + (float)0.134145 * x * x))

static void gelu_f32(float *y, const float *x, int64_t n)
{
    asc_kernels_f32()->gelu(y, x, n);
}

static void gelu_grad_f32(float *dx, const float *x, const float *dy, int64_t n)
{
    asc_kernels_f32()->gelu_grad(dx, x, dy, n, true);
}

#undef ELEMENTWISE
#undef GRADIENT
#undef BY_ROWS
#undef GATED

/* ---- end of float ---- */
#include "ops/elementwise/activation.f64.h"

extern const asc_op asc_op_relu, asc_op_tanh, asc_op_sigmoid, asc_op_gelu, asc_op_exp, asc_op_log, asc_op_sqrt,
    asc_op_square, asc_op_abs, asc_op_sin, asc_op_cos, asc_op_erf, asc_op_softplus, asc_op_silu, asc_op_gelu_tanh,
    asc_op_log1p, asc_op_expm1, asc_op_reciprocal, asc_op_rsqrt;

#define KERNELS(name) {name##_f32, name##_f64, name##_grad_f32, name##_grad_f64}

static const struct {
    const asc_op *op;
    kernels kernels;
} functions[] = {
    {&asc_op_relu, KERNELS(relu)},
    {&asc_op_tanh, KERNELS(tanh)},
    {&asc_op_sigmoid, KERNELS(sigmoid)},
    {&asc_op_gelu, KERNELS(gelu)},
    {&asc_op_exp, KERNELS(exp)},
    {&asc_op_log, KERNELS(log)},
    {&asc_op_sqrt, KERNELS(sqrt)},
    {&asc_op_square, KERNELS(square)},
    {&asc_op_abs, KERNELS(abs)},
    {&asc_op_sin, KERNELS(sin)},
    {&asc_op_cos, KERNELS(cos)},
    {&asc_op_erf, KERNELS(erf)},
    {&asc_op_softplus, KERNELS(softplus)},
    {&asc_op_silu, KERNELS(silu)},
    {&asc_op_gelu_tanh, KERNELS(gelu_tanh)},
    {&asc_op_log1p, KERNELS(log1p)},
    {&asc_op_expm1, KERNELS(expm1)},
    {&asc_op_reciprocal, KERNELS(reciprocal)},
    {&asc_op_rsqrt, KERNELS(rsqrt)},
};

typedef struct job {
    asc_call *call;
    const kernels *f;
} job;

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    return asc_expect_floating(call, 0) ? ASC_ERR_ARG : asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static void forward_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    const asc_array *x = &j->call->in[0], *y = &j->call->out[0];
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, x->numel);
    if (x->dtype == ASC_F32) {
        j->f->f32((float *)y->data + from, (const float *)x->data + from, n);
    } else {
        j->f->f64((double *)y->data + from, (const double *)x->data + from, n);
    }
}

static void backward_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, j->call->in[0].numel);
    BY_DTYPE(j->call->in[0].dtype, grad_range)(j->call, j->f, from, n);
}

static asc_status run(asc_call *call, asc_piece_fn *piece)
{
    int i = 0;
    while (functions[i].op != call->op) {
        i++;
    }
    asc_parallel(call->ctx, asc_pieces(call->in[0].numel), piece, &(job){call, &functions[i].kernels});
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    return run(call, forward_piece);
}

static asc_status backward(asc_call *call)
{
    return run(call, backward_piece);
}

static const asc_sample everywhere[] = {
    {.in = {{'f', 2, {3, 5}}}},
    {.in = {{'f', 0}}, .note = "a scalar"},
    {.in = {{'f', 1, {0}}}, .note = "no elements"},
};
static const asc_sample off_zero[] = {{.in = {{'f', 2, {3, 5}, .kink = 0, .away = .05}}}};
static const asc_sample positive[] = {
    {.in = {{'u', 2, {3, 5}, .1, 4}}},
    {.in = {{'u', 0, {0}, .1, 4}}, .note = "a scalar"},
};
static const asc_sample above_minus_1[] = {
    {.in = {{'u', 2, {3, 5}, -.9, 4}}},
    {.in = {{'u', 0, {0}, -.9, 4}}, .note = "a scalar"},
};
static const asc_sample far_from_zero[] = {
    {.in = {{'f', 2, {3, 5}, .kink = 0, .away = .5}}},
    {.in = {{'f', 0, .away = .5}}, .note = "a scalar"},
};

static const asc_sample large = {.in = {{'f', 3, {32, 128, 1024}}}},
                        large_positive = {.in = {{'u', 3, {32, 128, 1024}, .1, 4}}};

/* What the descriptors have in common; `saves` is .saves_in or .saves_out. */
#define FUNCTION(saves, domain, call)                                                                                  \
    .abi = ASC_OP_ABI, .inputs = "x", .n_out = 1, .flags = ASC_OP_FRESH, saves = 1, .infer = infer,                    \
    .forward = forward, .backward = backward, .samples = domain, .n_samples = ASC_COUNT(domain),                       \
    .bench = &call

const asc_op asc_op_relu = {
    FUNCTION(.saves_out, off_zero, large), .name = "relu", .equation = "y = max(x, 0), dy/dx = 0 at 0"};
const asc_op asc_op_tanh = {FUNCTION(.saves_out, everywhere, large), .name = "tanh", .equation = "y = tanh x"};
const asc_op asc_op_sigmoid = {
    FUNCTION(.saves_out, everywhere, large), .name = "sigmoid", .equation = "y = 1/(1 + exp -x)"};
const asc_op asc_op_gelu = {
    FUNCTION(.saves_in, everywhere, large),
    .name = "gelu",
    .equation = "y = x Φ(x), Φ the normal distribution function (Hendrycks and Gimpel 2016)",
};
const asc_op asc_op_exp = {FUNCTION(.saves_out, everywhere, large), .name = "exp", .equation = "y = exp x"};
const asc_op asc_op_log = {FUNCTION(.saves_in, positive, large_positive), .name = "log", .equation = "y = log x"};
const asc_op asc_op_sqrt = {FUNCTION(.saves_out, positive, large_positive), .name = "sqrt", .equation = "y = √x"};
const asc_op asc_op_square = {FUNCTION(.saves_in, everywhere, large), .name = "square", .equation = "y = x²"};
const asc_op asc_op_abs = {FUNCTION(.saves_in, off_zero, large), .name = "abs", .equation = "y = |x|, dy/dx = 0 at 0"};
const asc_op asc_op_sin = {FUNCTION(.saves_in, everywhere, large), .name = "sin", .equation = "y = sin x"};
const asc_op asc_op_cos = {FUNCTION(.saves_in, everywhere, large), .name = "cos", .equation = "y = cos x"};
const asc_op asc_op_erf = {
    FUNCTION(.saves_in, everywhere, large), .name = "erf", .equation = "y = erf x = 2/√π ∫₀ˣ exp(-t²) dt"};
const asc_op asc_op_softplus = {
    FUNCTION(.saves_in, everywhere, large), .name = "softplus", .equation = "y = log(1 + exp x)"};
const asc_op asc_op_silu = {
    FUNCTION(.saves_in, everywhere, large), .name = "silu", .equation = "y = x/(1 + exp -x) (Elfwing et al. 2018)"};
const asc_op asc_op_gelu_tanh = {
    FUNCTION(.saves_in, everywhere, large),
    .name = "gelu_tanh",
    .equation = "y = x (1 + tanh(√(2/π) (x + 0.044715 x³)))/2 (Hendrycks and Gimpel 2016)",
};
const asc_op asc_op_log1p = {
    FUNCTION(.saves_in, above_minus_1, large_positive), .name = "log1p", .equation = "y = log(1 + x)"};
const asc_op asc_op_expm1 = {FUNCTION(.saves_out, everywhere, large), .name = "expm1", .equation = "y = exp x - 1"};
const asc_op asc_op_reciprocal = {
    FUNCTION(.saves_out, far_from_zero, large), .name = "reciprocal", .equation = "y = 1/x"};
const asc_op asc_op_rsqrt = {FUNCTION(.saves_out, positive, large_positive), .name = "rsqrt", .equation = "y = 1/√x"};

asc_tensor asc_relu(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_relu, &x, 1, NULL);
}

asc_tensor asc_tanh(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_tanh, &x, 1, NULL);
}

asc_tensor asc_sigmoid(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_sigmoid, &x, 1, NULL);
}

asc_tensor asc_gelu(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_gelu, &x, 1, NULL);
}

asc_tensor asc_exp(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_exp, &x, 1, NULL);
}

asc_tensor asc_log(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_log, &x, 1, NULL);
}

asc_tensor asc_sqrt(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_sqrt, &x, 1, NULL);
}

asc_tensor asc_square(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_square, &x, 1, NULL);
}

asc_tensor asc_abs(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_abs, &x, 1, NULL);
}

asc_tensor asc_sin(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_sin, &x, 1, NULL);
}

asc_tensor asc_cos(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_cos, &x, 1, NULL);
}

asc_tensor asc_erf(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_erf, &x, 1, NULL);
}

asc_tensor asc_softplus(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_softplus, &x, 1, NULL);
}

asc_tensor asc_silu(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_silu, &x, 1, NULL);
}

asc_tensor asc_gelu_tanh(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_gelu_tanh, &x, 1, NULL);
}

asc_tensor asc_log1p(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_log1p, &x, 1, NULL);
}

asc_tensor asc_expm1(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_expm1, &x, 1, NULL);
}

asc_tensor asc_reciprocal(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_reciprocal, &x, 1, NULL);
}

asc_tensor asc_rsqrt(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_rsqrt, &x, 1, NULL);
}
