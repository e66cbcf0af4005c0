/* ops/rows/l2_normalize.c: y = x/‖x‖ over the last dimension, 0 with gradient 0 where ‖x‖ <= 1e-12.
 *
 *   dx = (dy - y (y·dy))/‖x‖ */
#include "ops/shared/op.h"

#include <math.h>

enum { NORM }; /* saved: of each row */


static int64_t length_of(const asc_array *x)
{
    return x->shape[x->ndim - 1];
}

/* ---- float, and f64.awk makes the same for double ---- */

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    int64_t n = length_of(&call->in[0]);
    asc_range rows = asc_piece_rows(piece, call->saved[NORM].numel, n);
    double *norm = call->saved[NORM].data;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = (const float *)call->in[0].data + r * n;
        float *y = (float *)call->out[0].data + r * n;
        norm[r] = sqrt(asc_kernels_f32()->sumsq(x, n));
        for (int64_t i = 0; i < n; i++) {
            y[i] = norm[r] <= ASC_LEAST_NORM ? 0 : (float)((double)x[i] / norm[r]);
        }
    }
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_call *call = arg;
    int64_t n = length_of(&call->out[0]);
    asc_range rows = asc_piece_rows(piece, call->saved[NORM].numel, n);
    const double *norm = call->saved[NORM].data;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *y = (const float *)call->out[0].data + r * n, *dy = (const float *)call->grad_out[0].data + r * n;
        float *dx = (float *)call->grad_in[0].data + r * n, dot = asc_kernels_f32()->dot(y, dy, n);
        for (int64_t i = 0; i < n; i++) {
            float g = norm[r] <= ASC_LEAST_NORM ? 0 : (float)((double)(dy[i] - y[i] * dot) / norm[r]);
            dx[i] = call->fresh[0] ? g : dx[i] + g;
        }
    }
}

/* ---- end of float ---- */
#include "ops/rows/l2_normalize.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    if (asc_expect_floating(call, 0)) {
        return ASC_ERR_ARG;
    }
    if (x->ndim < 1) {
        return asc_call_expect(call, 0, "(..., D)");
    }
    if (asc_call_save(call, NORM, ASC_F64, x->ndim - 1, x->shape)) {
        return ASC_ERR_MEMORY;
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static void run(asc_call *call, asc_piece_fn *piece)
{
    asc_parallel(call->ctx, asc_row_pieces(call->saved[NORM].numel, length_of(&call->in[0])), piece, call);
}

static asc_status forward(asc_call *call)
{
    run(call, BY_DTYPE(call->in[0].dtype, forward_piece));
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    run(call, BY_DTYPE(call->in[0].dtype, backward_piece));
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}}},
    {.in = {{'f', 1, {4}}}, .note = "one vector"},
    {.in = {{'f', 2, {3, 1}, .away = .5}}, .note = "length 1"},
    {.in = {{'u', 2, {2, 3}, -1e-13, 1e-13}}, .note = "too short to have a direction"},
    {.in = {{'f', 2, {0, 3}}}, .note = "no rows"},
    {.in = {{'f', 2, {3, 0}}}, .note = "length 0"},
};

const asc_op asc_op_l2_normalize = {
    .abi = ASC_OP_ABI,
    .name = "l2_normalize",
    .equation = "y = x/‖x‖ over the last dimension, 0 where ‖x‖ <= 1e-12;  x (..., D)",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .saves_out = 1,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 4, 128, 64}}}},
};

asc_tensor asc_l2_normalize(asc_ctx *ctx, asc_tensor x)
{
    return asc_apply1(ctx, &asc_op_l2_normalize, &x, 1, NULL);
}

asc_tensor asc_cosine_similarity(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    asc_tensor u = asc_l2_normalize(ctx, a), v = asc_l2_normalize(ctx, b);
    asc_tensor products = asc_after(u, asc_after(v, asc_mul(ctx, u, v)));
    return asc_after(products, asc_sum(ctx, products, 1, (int[]){-1}, false));
}
