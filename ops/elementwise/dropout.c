/* ops/elementwise/dropout.c: y = m∘x/(1 − p), and y = a + m∘b/(1 − p), the mask m being 0 with probability p.
 * Srivastava et al., "Dropout", JMLR 15 (2014).
 *
 *   dx = m∘dy/(1 − p);  da = dy, db = m∘dy/(1 − p).
 *
 * The mask is element i of the Philox sequence of the call's key: backward draws it again, nothing is saved. A piece of
 * a batch that begins at one of its rows has that row's elements. */
#include "ops/shared/op.h"

#include <string.h>

enum { X, RESIDUAL = 0, BRANCH };

typedef struct dropout_attrs {
    double p;
    uint64_t from; /* the number of x's first element in the sequence */
} dropout_attrs;

static double probability(const asc_call *call)
{
    return ((const dropout_attrs *)call->attrs)->p;
}

static uint64_t begin_of(const asc_call *call)
{
    return ((const dropout_attrs *)call->attrs)->from;
}

static asc_philox_key key_of(const asc_call *call)
{
    return (asc_philox_key){.seed = (uint64_t)call->random[1] << 32 | call->random[0]};
}

/* ---- float, and f64.awk makes the same for double ---- */

static void drop_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    int64_t at = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[X].numel);
    asc_kernels_f32()->dropout((float *)call->out[0].data + at, (const float *)call->in[X].data + at, n, key_of(call),
                               begin_of(call) + (uint64_t)at, probability(call));
}

/* grad (+)= dy */
static void pass_on_f32(float *grad, const float *dy, int64_t n, bool fresh)
{
    if (fresh) {
        memcpy(grad, dy, (size_t)n * sizeof *dy);
    } else {
        asc_kernels_f32()->acc(grad, dy, n);
    }
}

/* The gradient of the dropped input. */
static void drop_back_f32(const asc_call *call, int input, int64_t at, int64_t n)
{
    float *grad = (float *)call->grad_in[input].data + at;
    const float *dy = (const float *)call->grad_out[0].data + at;
    if (probability(call) == 0) {
        pass_on_f32(grad, dy, n, call->fresh[input]);
    } else {
        asc_kernels_f32()->dropout_grad(grad, dy, n, key_of(call), begin_of(call) + (uint64_t)at, probability(call),
                                        call->fresh[input]);
    }
}

static void drop_grad_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    drop_back_f32(call, X, asc_piece_begin(piece), asc_piece_size(piece, call->in[X].numel));
}

static void add_drop_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    int64_t at = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[0].numel);
    float *y = (float *)call->out[0].data + at;
    const float *a = (const float *)call->in[RESIDUAL].data + at, *b = (const float *)call->in[BRANCH].data + at;
    if (probability(call) > 0) {
        asc_kernels_f32()->dropout(y, b, n, key_of(call), begin_of(call) + (uint64_t)at, probability(call));
        b = y;
    }
    asc_kernels_f32()->add(y, a, b, n);
}

static void add_drop_grad_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    int64_t at = asc_piece_begin(piece), n = asc_piece_size(piece, call->in[0].numel);
    if (call->grad_in[RESIDUAL].data) {
        pass_on_f32((float *)call->grad_in[RESIDUAL].data + at, (const float *)call->grad_out[0].data + at, n,
                    call->fresh[RESIDUAL]);
    }
    if (call->grad_in[BRANCH].data) {
        drop_back_f32(call, BRANCH, at, n);
    }
}

/* ---- end of float ---- */
#include "ops/elementwise/dropout.f64.h"

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
    asc_elementwise(call, call->in[X].numel, BY_DTYPE(call->in[X].dtype, drop));
    return ASC_OK;
}

static asc_status dropout_backward(asc_call *call)
{
    asc_elementwise(call, call->in[X].numel, BY_DTYPE(call->in[X].dtype, drop_grad));
    return ASC_OK;
}

static const asc_sample dropout_samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}}, .attrs = &(const dropout_attrs){0.5, 0}},
    {.in = {{'f', 1, {9}}}, .attrs = &(const dropout_attrs){0, 0}, .note = "nothing dropped"},
    {.in = {{'f', 1, {1}}}, .attrs = &(const dropout_attrs){0.1, 0}, .note = "one element"},
    {.in = {{'f', 0}}, .attrs = &(const dropout_attrs){0.1, 0}, .note = "a scalar"},
    {.in = {{'f', 2, {3, 0}}}, .attrs = &(const dropout_attrs){0.1, 0}, .note = "nothing"},
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
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}}, .attrs = &(const dropout_attrs){0.1, 0}},
};

static dropout_attrs attrs_of(const asc_ctx *ctx, asc_tensor x, double p)
{
    int64_t rows = ctx && ctx->random_row > 0 && asc_ndim(x) > 0 ? asc_size(x, 0) : 0;
    return (dropout_attrs){p, rows > 0 ? (uint64_t)(ctx->random_row * (asc_numel(x) / rows)) : 0};
}

asc_tensor asc_dropout(asc_ctx *ctx, asc_tensor x, double p)
{
    const dropout_attrs attrs = attrs_of(ctx, x, p);
    return p == 0 && asc_is_of(ctx, x) ? x : asc_apply1(ctx, &asc_op_dropout, &x, 1, &attrs);
}

/* ---- add_dropout ---- */

static asc_status add_forward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, BY_DTYPE(call->in[0].dtype, add_drop));
    return ASC_OK;
}

static asc_status add_backward(asc_call *call)
{
    asc_elementwise(call, call->in[0].numel, BY_DTYPE(call->in[0].dtype, add_drop_grad));
    return ASC_OK;
}

static const asc_sample add_samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}, {'f', 3, {2, 3, 5}}}, .attrs = &(const dropout_attrs){0.5, 0}},
    {.in = {{'f', 1, {9}}, {'f', 1, {9}}}, .attrs = &(const dropout_attrs){0, 0}, .note = "nothing dropped"},
    {.in = {{'f', 1, {9}}, {'=', .lo = 0}}, .attrs = &(const dropout_attrs){0.3, 0}, .note = "one tensor twice"},
    {.in = {{'f', 0}, {'f', 0}}, .attrs = &(const dropout_attrs){0.1, 0}, .note = "scalars"},
    {.in = {{'f', 1, {0}}, {'f', 1, {0}}}, .attrs = &(const dropout_attrs){0.1, 0}, .note = "nothing"},
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
                                 .attrs = &(const dropout_attrs){0.1, 0}},
};

asc_tensor asc_add_dropout(asc_ctx *ctx, asc_tensor residual, asc_tensor branch, double p)
{
    const dropout_attrs attrs = attrs_of(ctx, branch, p);
    return asc_apply1(ctx, &asc_op_add_dropout, (asc_tensor[]){residual, branch}, 2, &attrs);
}
