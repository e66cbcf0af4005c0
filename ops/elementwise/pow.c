/* ops/elementwise/pow.c: y = x^p, p a tensor (pow, with NumPy's broadcasting) or a constant (pow_scalar).
 *
 *   dx = dy p x^(p-1), 0 where p = 0
 *   dp = dy x^p log x, 0 where x = 0 and p >= 0
 *
 * summed over the repetitions. x < 0 with a p that is no integer gives NaN. */
#include "ops/shared/broadcast.h"

enum { X, P };
enum { RUN = 512 };
typedef enum result { VALUE, SLOPE_X, SLOPE_P } result;

typedef struct pow_attrs {
    double p;
} pow_attrs;

/* A walk over the output; its arrays: x and p. */
typedef struct job {
    asc_walk walk;
    result result;
    const void *x, *p; /* p: NULL for the constant */
    double constant;
    const void *dy;
    void *target;
    bool fresh;
} job;

/* ---- float, and f64.awk makes the same for double ---- */

/* n <= RUN elements of a cursor's run from number i on. An exponent that is repeated is a constant. */
static void run_f32(const job *j, const asc_cursor *c, int64_t i, int64_t n, const float *dy, float *target)
{
    float room[2][RUN];
    const float *x = asc_row_of_run(ASC_F32, j->x, c->at[X] + i * c->step[X], c->step[X], n, room[X]), *p = NULL;
    double constant = j->constant;
    if (j->p && c->step[P] != 0) {
        p = asc_row_of_run(ASC_F32, j->p, c->at[P] + i * c->step[P], c->step[P], n, room[P]);
    } else if (j->p) {
        constant = (double)((const float *)j->p)[c->at[P]];
    }
    if (j->result == VALUE) {
        asc_kernels_f32()->pow(target, x, p, constant, n);
    } else {
        asc_kernels_f32()->pow_grad(target, x, p, constant, dy, j->result == SLOPE_X, n, j->fresh);
    }
}

static void job_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t at = asc_piece_begin(piece), size = asc_piece_size(piece, j->walk.numel);
    const float *dy = j->dy;
    for (asc_cursor c = asc_cursor_at(&j->walk, at, size); asc_cursor_next(&c);) {
        for (int64_t i = 0, n; i < c.n; i += n, at += n) {
            n = c.n - i < RUN ? c.n - i : RUN;
            run_f32(j, &c, i, n, dy ? dy + at : NULL, (float *)j->target + at);
        }
    }
}

/* ---- end of float ---- */
#include "ops/elementwise/pow.f64.h"

static asc_status infer(asc_call *call)
{
    asc_array y;
    if (asc_expect_floating(call, X) || asc_expect_floating(call, P) || asc_expect_broadcast(call, X, P, &y)) {
        return ASC_ERR_ARG;
    }
    return asc_call_output(call, 0, y.dtype, y.ndim, y.shape);
}

static asc_status infer_scalar(asc_call *call)
{
    const asc_array *x = &call->in[X];
    return asc_expect_floating(call, X) ? ASC_ERR_ARG : asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

/* Runs a job over an array of the output's shape. */
static void run_job(asc_call *call, job *j, const asc_array *y)
{
    int64_t stride[2][ASC_MAX_DIMS] = {{0}};
    asc_broadcast_strides(&call->in[X], y->ndim, y->shape, stride[X]);
    j->x = call->in[X].data;
    if (call->attrs) {
        j->constant = ((const pow_attrs *)call->attrs)->p;
    } else {
        asc_broadcast_strides(&call->in[P], y->ndim, y->shape, stride[P]);
        j->p = call->in[P].data;
    }
    j->walk = asc_walk_over(2, (const int64_t *[]){stride[X], stride[P]}, y->ndim, y->shape);
    asc_parallel(call->ctx, asc_pieces(y->numel), BY_DTYPE(y->dtype, job_piece), j);
}

static asc_status forward(asc_call *call)
{
    run_job(call, &(job){.result = VALUE, .target = call->out[0].data, .fresh = true}, &call->out[0]);
    return ASC_OK;
}

static asc_status add_gradient(asc_call *call, int i)
{
    if (!call->grad_in[i].data) {
        return ASC_OK;
    }
    job j = {.result = i == X ? SLOPE_X : SLOPE_P, .dy = call->grad_out[0].data};
    j.target = asc_broadcast_gradient(call, i, &j.fresh);
    if (!j.target) {
        return ASC_ERR_MEMORY;
    }
    run_job(call, &j, &call->grad_out[0]);
    return asc_broadcast_finish(call, i, j.target);
}

static asc_status backward(asc_call *call)
{
    asc_status status = add_gradient(call, X);
    return status ? status : add_gradient(call, P);
}

/* ---- descriptors ---- */

static const asc_sample samples[] = {
    {.in = {{'u', 2, {3, 4}, .2, 3}, {'f', 2, {3, 4}}}},
    {.in = {{'u', 3, {2, 1, 4}, .2, 3}, {'f', 2, {3, 1}}}, .note = "both repeated"},
    {.in = {{'u', 0, {0}, .2, 3}, {'f', 1, {3}}}, .note = "a scalar"},
    {.in = {{'u', 1, {1}, .2, 3}, {'=', .lo = 0}}, .note = "the same tensor twice, length 1"},
    {.in = {{'u', 2, {0, 3}, .2, 3}, {'f', 1, {3}}}, .note = "nothing"},
};

static const asc_sample scalar_samples[] = {
    {.in = {{'u', 2, {3, 4}, .2, 3}}, .attrs = &(const pow_attrs){-1.5}},
    {.in = {{'f', 2, {3, 4}}}, .attrs = &(const pow_attrs){3}, .note = "an integer, any x"},
    {.in = {{'f', 0}}, .attrs = &(const pow_attrs){1}, .note = "a scalar"},
    {.in = {{'f', 1, {4}}}, .attrs = &(const pow_attrs){0}, .note = "p = 0"},
    {.in = {{'f', 2, {0, 3}}}, .attrs = &(const pow_attrs){2}, .note = "nothing"},
};

const asc_op asc_op_pow = {
    .abi = ASC_OP_ABI,
    .name = "pow",
    .equation = "y = x^p, broadcasting",
    .inputs = "x p",
    .n_out = 1,
    .flags = ASC_OP_STRIDED | ASC_OP_FRESH,
    .saves_in = 1u << X | 1u << P,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'u', 3, {32, 128, 1024}, .2, 3}, {'f', 3, {32, 128, 1024}}}},
};

const asc_op asc_op_pow_scalar = {
    .abi = ASC_OP_ABI,
    .name = "pow_scalar",
    .equation = "y = x^p, p a constant",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_STRIDED | ASC_OP_FRESH,
    .attrs_size = sizeof(pow_attrs),
    .saves_in = 1u << X,
    .infer = infer_scalar,
    .forward = forward,
    .backward = backward,
    .samples = scalar_samples,
    .n_samples = ASC_COUNT(scalar_samples),
    .bench = &(const asc_sample){.in = {{'u', 3, {32, 128, 1024}, .2, 3}}, .attrs = &(const pow_attrs){-1.5}},
};

asc_tensor asc_pow(asc_ctx *ctx, asc_tensor x, asc_tensor p)
{
    return asc_apply1(ctx, &asc_op_pow, (asc_tensor[]){x, p}, 2, NULL);
}

asc_tensor asc_pow_scalar(asc_ctx *ctx, asc_tensor x, double p)
{
    return asc_apply1(ctx, &asc_op_pow_scalar, &x, 1, &(pow_attrs){p});
}
