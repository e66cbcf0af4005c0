/* ops/elementwise/arithmetic.c: y = a + b, a - b, a∘b, a/b, with NumPy's broadcasting.
 *
 *   add  da = dy      db = dy
 *   sub  da = dy      db = -dy
 *   mul  da = dy∘b    db = dy∘a
 *   div  da = dy/b    db = -dy∘y/b
 *
 * and where an input was repeated, the sum of its gradient over the repetitions. A gradient that is summed is made
 * in full first. */
#include "ops/shared/broadcast.h"

enum { A, B };
typedef enum kind { ADD, SUB, MUL, DIV, COPY } kind; /* COPY: the first operand; the others are an op's data, too */

/* target (+)= sign × (first kind second) over a walk; arrays of the walk: first and second. The target is
 * contiguous. */
typedef struct job {
    asc_walk walk;
    kind kind;
    const void *first, *second;
    void *target;
    double sign;
    bool fresh;
} job;

/* ---- float, and f64.awk makes the same for double ---- */

/* Inlined with constant strides, so that the usual ones become vector loops. */
static inline __attribute__((always_inline)) void combine_f32(kind kind, float *y, const float *a, int64_t sa,
                                                              const float *b, int64_t sb, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float u = a[i * sa], v = b[i * sb];
        y[i] = kind == ADD ? u + v : kind == SUB ? u - v : kind == MUL ? u * v : kind == DIV ? u / v : u;
    }
}

static inline __attribute__((always_inline)) void combine_run_f32(kind kind, float *y, const float *a, int64_t sa,
                                                                  const float *b, int64_t sb, int64_t n)
{
    if (sa == 1 && sb == 1) {
        combine_f32(kind, y, a, 1, b, 1, n);
    } else if (sa == 1 && sb == 0) {
        combine_f32(kind, y, a, 1, b, 0, n);
    } else if (sa == 0 && sb == 1) {
        combine_f32(kind, y, a, 0, b, 1, n);
    } else {
        combine_f32(kind, y, a, sa, b, sb, n);
    }
}

/* y[n] = a kind b. */
static void run_f32(kind kind, float *y, const float *a, int64_t sa, const float *b, int64_t sb, int64_t n)
{
    if (kind == ADD && sa == 1 && sb == 1) {
        asc_kernels_f32()->add(y, a, b, n);
    } else if (kind == ADD) {
        combine_run_f32(ADD, y, a, sa, b, sb, n);
    } else if (kind == SUB) {
        combine_run_f32(SUB, y, a, sa, b, sb, n);
    } else if (kind == MUL && sa == 1 && sb == 1) {
        asc_kernels_f32()->mul(y, a, b, n);
    } else if (kind == MUL) {
        combine_run_f32(MUL, y, a, sa, b, sb, n);
    } else if (kind == DIV) {
        combine_run_f32(DIV, y, a, sa, b, sb, n);
    } else {
        combine_run_f32(COPY, y, a, sa, b, sb, n);
    }
}

/* y[n] += sign × (a kind b). */
static void add_run_f32(const job *j, float *y, const float *a, int64_t sa, const float *b, int64_t sb, int64_t n)
{
    float part[512];
    for (int64_t i = 0; i < n; i += ASC_COUNT(part)) {
        int64_t m = n - i < ASC_COUNT(part) ? n - i : ASC_COUNT(part);
        run_f32(j->kind, part, a + i * sa, sa, b + i * sb, sb, m);
        asc_kernels_f32()->axpy(y + i, (float)j->sign, part, m);
    }
}

static void job_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t from = asc_piece_begin(piece), size = asc_piece_size(piece, j->walk.numel);
    float *y = (float *)j->target + from;
    for (asc_cursor c = asc_cursor_at(&j->walk, from, size); asc_cursor_next(&c); y += c.n) {
        const float *a = (const float *)j->first + c.at[0], *b = (const float *)j->second + c.at[1];
        if (!j->fresh) {
            add_run_f32(j, y, a, c.step[0], b, c.step[1], c.n);
            continue;
        }
        run_f32(j->kind, y, a, c.step[0], b, c.step[1], c.n);
        if (j->sign != 1) {
            asc_kernels_f32()->scale(y, (float)j->sign, y, c.n);
        }
    }
}

/* ---- end of float ---- */
#include "ops/elementwise/arithmetic.f64.h"

static asc_status infer(asc_call *call)
{
    asc_array y;
    if (asc_expect_floating(call, A) || asc_expect_floating(call, B) || asc_expect_broadcast(call, A, B, &y)) {
        return ASC_ERR_ARG;
    }
    return asc_call_output(call, 0, y.dtype, y.ndim, y.shape);
}

/* Runs a job whose operands broadcast to the shape of y. */
static void run_job(asc_call *call, job *j, const asc_array *first, const asc_array *second, const asc_array *y)
{
    int64_t stride[2][ASC_MAX_DIMS];
    asc_broadcast_strides(first, y->ndim, y->shape, stride[0]);
    asc_broadcast_strides(second, y->ndim, y->shape, stride[1]);
    j->walk = asc_walk_over(2, (const int64_t *[]){stride[0], stride[1]}, y->ndim, y->shape);
    j->first = first->data;
    j->second = second->data;
    asc_parallel(call->ctx, asc_pieces(y->numel), BY_DTYPE(y->dtype, job_piece), j);
}

static asc_status forward(asc_call *call)
{
    job j = {.kind = *(const kind *)call->op->data, .target = call->out[0].data, .sign = 1, .fresh = true};
    run_job(call, &j, &call->in[A], &call->in[B], &call->out[0]);
    return ASC_OK;
}

/* ---- backward ---- */

/* grad_in[i] (+)= sign × (first kind second), summed over the repetitions. first is like dy. */
static asc_status add_gradient(asc_call *call, int i, double sign, kind kind, const asc_array *first,
                               const asc_array *second)
{
    const asc_array *dy = &call->grad_out[0];
    asc_array *dx = &call->grad_in[i];
    uint32_t dims = asc_repeated_dims(dx, dy);
    job j = {.kind = kind, .target = dx->data, .sign = sign, .fresh = call->fresh[i]};
    if (dims == 0) {
        run_job(call, &j, first, second, dy);
        return ASC_OK;
    }
    asc_array all = *first;
    if (kind != COPY) {
        j.target = all.data = asc_call_scratch(call, asc_array_bytes(dy));
        if (!j.target) {
            return ASC_ERR_MEMORY;
        }
        j.sign = 1;
        j.fresh = true;
        run_job(call, &j, first, second, dy);
    }
    return asc_sum_dims(call, &all, dims, sign, dx->data, call->fresh[i]);
}

static asc_status backward_sum(asc_call *call)
{
    const asc_array *dy = &call->grad_out[0];
    asc_status status = ASC_OK;
    if (call->grad_in[A].data) {
        status = add_gradient(call, A, 1, COPY, dy, dy);
    }
    if (call->grad_in[B].data && !status) {
        status = add_gradient(call, B, *(const kind *)call->op->data == SUB ? -1 : 1, COPY, dy, dy);
    }
    return status;
}

static asc_status backward_mul(asc_call *call)
{
    const asc_array *dy = &call->grad_out[0];
    asc_status status = ASC_OK;
    if (call->grad_in[A].data) {
        status = add_gradient(call, A, 1, MUL, dy, &call->in[B]);
    }
    if (call->grad_in[B].data && !status) {
        status = add_gradient(call, B, 1, MUL, dy, &call->in[A]);
    }
    return status;
}

static asc_status backward_div(asc_call *call)
{
    const asc_array *dy = &call->grad_out[0], *b = &call->in[B];
    asc_array da = *dy; /* dy/b, which both gradients need */
    if (!(da.data = asc_call_scratch(call, asc_array_bytes(dy)))) {
        return ASC_ERR_MEMORY;
    }
    job j = {.kind = DIV, .target = da.data, .sign = 1, .fresh = true};
    run_job(call, &j, dy, b, dy);
    asc_status status = ASC_OK;
    if (call->grad_in[A].data) {
        status = add_gradient(call, A, 1, COPY, &da, &da);
    }
    if (call->grad_in[B].data && !status) {
        status = add_gradient(call, B, -1, MUL, &da, &call->out[0]);
    }
    return status;
}

/* ---- descriptors ---- */

static const asc_sample samples[] = {
    {.in = {{'f', 2, {3, 4}}, {'f', 2, {3, 4}}}},
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 1, {4}}}, .note = "a trailing dimension"},
    {.in = {{'f', 3, {2, 1, 4}}, {'f', 2, {3, 1}}}, .note = "both repeated"},
    {.in = {{'f', 0}, {'f', 2, {2, 3}}}, .note = "a scalar"},
    {.in = {{'f', 2, {1, 1}}, {'f', 1, {1}}}, .note = "length 1"},
    {.in = {{'f', 2, {0, 3}}, {'f', 1, {3}}}, .note = "nothing"},
    {.in = {{'f', 1, {5}}, {'=', .lo = 0}}, .note = "the same tensor twice"},
};

static const asc_sample large = {.in = {{'f', 3, {32, 128, 1024}}, {'f', 3, {32, 128, 1024}}}};

static const asc_sample div_samples[] = {
    {.in = {{'f', 2, {3, 4}}, {'f', 2, {3, 4}, .away = 0.5}}},
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 1, {4}, .away = 0.5}}, .note = "a trailing dimension"},
    {.in = {{'f', 3, {2, 1, 4}}, {'f', 2, {3, 1}, .away = 0.5}}, .note = "both repeated"},
    {.in = {{'f', 2, {2, 3}}, {'f', 0, .away = 0.5}}, .note = "a scalar"},
    {.in = {{'f', 2, {1, 1}}, {'f', 1, {1}, .away = 0.5}}, .note = "length 1"},
    {.in = {{'f', 2, {0, 3}}, {'f', 1, {3}, .away = 0.5}}, .note = "nothing"},
    {.in = {{'f', 1, {5}, .away = 0.5}, {'=', .lo = 0}}, .note = "the same tensor twice"},
};

#define ARITHMETIC(kind_of_op)                                                                                         \
    .abi = ASC_OP_ABI, .inputs = "a b", .n_out = 1, .flags = ASC_OP_STRIDED | ASC_OP_FRESH, .infer = infer,            \
    .forward = forward, .data = &(const kind){kind_of_op}

const asc_op asc_op_add = {
    ARITHMETIC(ADD),
    .name = "add",
    .equation = "y = a + b, broadcasting",
    .backward = backward_sum,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
};

const asc_op asc_op_sub = {
    ARITHMETIC(SUB),
    .name = "sub",
    .equation = "y = a - b, broadcasting",
    .backward = backward_sum,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
};

const asc_op asc_op_mul = {
    ARITHMETIC(MUL),
    .name = "mul",
    .equation = "y = a∘b, broadcasting",
    .saves_in = 1u << A | 1u << B,
    .backward = backward_mul,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
};

const asc_op asc_op_div = {
    ARITHMETIC(DIV),
    .name = "div",
    .equation = "y = a/b, broadcasting",
    .saves_in = 1u << B,
    .saves_out = 1,
    .backward = backward_div,
    .samples = div_samples,
    .n_samples = ASC_COUNT(div_samples),
    .bench = &large,
};

asc_tensor asc_add(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_add, (asc_tensor[]){a, b}, 2, NULL);
}

asc_tensor asc_sub(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_sub, (asc_tensor[]){a, b}, 2, NULL);
}

asc_tensor asc_mul(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_mul, (asc_tensor[]){a, b}, 2, NULL);
}

asc_tensor asc_div(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_div, (asc_tensor[]){a, b}, 2, NULL);
}
