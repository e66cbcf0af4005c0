/* ops/dropout.c: y = m∘x/(1 − p), and y = a + m∘b/(1 − p), the mask m being 0 with probability p. Srivastava et al.,
 * "Dropout", JMLR 15 (2014).
 *
 *   dx = m∘dy/(1 − p);  da = dy, db = m∘dy/(1 − p).
 *
 * The mask is element i of the Philox sequence of the call's key: backward draws it again, nothing is saved. */
#ifndef ASC_REAL
#include "ops/op.h"

#include <string.h>

enum { X, RESIDUAL = 0, BRANCH };

typedef struct dropout_attrs {
    double p;
} dropout_attrs;

static double probability(const asc_call *call)
{
    return ((const dropout_attrs *)call->attrs)->p;
}

static asc_philox_key key_of(const asc_call *call)
{
    return (asc_philox_key){.seed = (uint64_t)call->random[1] << 32 | call->random[0]};
}

#define ASC_SELF "ops/dropout.c"
#include "ops/both.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    double p = probability(call);
    if (!(p >= 0 && p < 1)) {
        return asc_call_fail(call, "p is %g, expected at least 0 and less than 1", p);
    }
    if (asc_expect_floating(call, 0)) {
        return ASC_ERR_ARG;
    }
    if (call->n_in == 2 && asc_expect_shape(call, BRANCH, x->dtype, x->ndim, x->shape, "as the first input")) {
        return ASC_ERR_ARG;
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

/* ---- dropout ---- */

static asc_status dropout_forward(asc_call *call)
{
    asc_elementwise(call, call->in[X].numel, call->in[X].dtype == ASC_F32 ? drop_f32 : drop_f64);
    return ASC_OK;
}

static asc_status dropout_backward(asc_call *call)
{
    asc_elementwise(call, call->in[X].numel, call->in[X].dtype == ASC_F32 ? drop_grad_f32 : drop_grad_f64);
    return ASC_OK;
}

static const asc_sample dropout_samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}}, .attrs = &(const dropout_attrs){0.5}},
    {.in = {{'f', 1, {9}}}, .attrs = &(const dropout_attrs){0}, .note = "nothing dropped"},
    {.in = {{'f', 1, {1}}}, .attrs = &(const dropout_attrs){0.1}, .note = "one element"},
    {.in = {{'f', 0}}, .attrs = &(const dropout_attrs){0.1}, .note = "a scalar"},
    {.in = {{'f', 2, {3, 0}}}, .attrs = &(const dropout_attrs){0.1}, .note = "nothing"},
};

const asc_op asc_op_dropout = {
    .abi = ASC_OP_ABI,
    .name = "dropout",
    .equation = "y = m∘x/(1 − p), m = 0 with probability p  (Srivastava et al. 2014)",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_RANDOM | ASC_OP_FRESH,
    .attrs_size = sizeof(dropout_attrs),
    .infer = infer,
    .forward = dropout_forward,
    .backward = dropout_backward,
    .samples = dropout_samples,
    .n_samples = ASC_COUNT(dropout_samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}}, .attrs = &(const dropout_attrs){0.1}},
};

asc_tensor asc_dropout(asc_ctx *ctx, asc_tensor x, double p)
{
    return p == 0 && asc_is_valid(x) ? x : asc_apply1(ctx, &asc_op_dropout, &x, 1, &(dropout_attrs){p});
}

/* ---- add_dropout ---- */

static asc_status add_forward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, call->in[0].dtype == ASC_F32 ? add_drop_f32 : add_drop_f64);
    return ASC_OK;
}

static asc_status add_backward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, call->in[0].dtype == ASC_F32 ? add_drop_grad_f32 : add_drop_grad_f64);
    return ASC_OK;
}

static const asc_sample add_samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}, {'f', 3, {2, 3, 5}}}, .attrs = &(const dropout_attrs){0.5}},
    {.in = {{'f', 1, {9}}, {'f', 1, {9}}}, .attrs = &(const dropout_attrs){0}, .note = "nothing dropped"},
    {.in = {{'f', 1, {9}}, {'=', .lo = 0}}, .attrs = &(const dropout_attrs){0.3}, .note = "one tensor twice"},
    {.in = {{'f', 0}, {'f', 0}}, .attrs = &(const dropout_attrs){0.1}, .note = "scalars"},
    {.in = {{'f', 1, {0}}, {'f', 1, {0}}}, .attrs = &(const dropout_attrs){0.1}, .note = "nothing"},
};

const asc_op asc_op_add_dropout = {
    .abi = ASC_OP_ABI,
    .name = "add_dropout",
    .equation = "y = residual + m∘branch/(1 − p), m = 0 with probability p",
    .inputs = "residual branch",
    .n_out = 1,
    .flags = ASC_OP_RANDOM | ASC_OP_FRESH,
    .attrs_size = sizeof(dropout_attrs),
    .infer = infer,
    .forward = add_forward,
    .backward = add_backward,
    .samples = add_samples,
    .n_samples = ASC_COUNT(add_samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'f', 3, {32, 128, 256}}},
                                 .attrs = &(const dropout_attrs){0.1}},
};

asc_tensor asc_add_dropout(asc_ctx *ctx, asc_tensor residual, asc_tensor branch, double p)
{
    return asc_apply1(ctx, &asc_op_add_dropout, (asc_tensor[]){residual, branch}, 2, &(dropout_attrs){p});
}

#else /* for each dtype */

static void R(drop)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    int64_t at = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[X].numel);
    K->dropout((real *)call->out[0].data + at, (const real *)call->in[X].data + at, n, key_of(call), (uint64_t)at,
               probability(call));
}

/* grad (+)= dy */
static void R(pass_on)(real *grad, const real *dy, int64_t n, bool fresh)
{
    if (fresh) {
        memcpy(grad, dy, (size_t)n * sizeof *dy);
    } else {
        K->acc(grad, dy, n);
    }
}

/* The gradient of the dropped input. */
static void R(drop_back)(const asc_call *call, int input, int64_t at, int64_t n)
{
    real *grad = (real *)call->grad_in[input].data + at;
    const real *dy = (const real *)call->grad_out[0].data + at;
    if (probability(call) == 0) {
        R(pass_on)(grad, dy, n, call->fresh[input]);
    } else {
        K->dropout_grad(grad, dy, n, key_of(call), (uint64_t)at, probability(call), call->fresh[input]);
    }
}

static void R(drop_grad)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    R(drop_back)(call, X, asc_piece_begin(piece), asc_piece_size(piece, call->in[X].numel));
}

static void R(add_drop)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    int64_t at = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[0].numel);
    real *y = (real *)call->out[0].data + at;
    const real *a = (const real *)call->in[RESIDUAL].data + at, *b = (const real *)call->in[BRANCH].data + at;
    if (probability(call) > 0) {
        K->dropout(y, b, n, key_of(call), (uint64_t)at, probability(call));
        b = y;
    }
    K->add(y, a, b, n);
}

static void R(add_drop_grad)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    int64_t at = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[0].numel);
    if (call->grad_in[RESIDUAL].data) {
        R(pass_on)((real *)call->grad_in[RESIDUAL].data + at, (const real *)call->grad_out[0].data + at, n,
                   call->fresh[RESIDUAL]);
    }
    if (call->grad_in[BRANCH].data) {
        R(drop_back)(call, BRANCH, at, n);
    }
}

#endif
