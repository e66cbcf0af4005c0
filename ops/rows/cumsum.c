/* ops/rows/cumsum.c: y_i = Σ_{j<=i} x_j along one dimension.
 *
 *   dx_i = Σ_{j>=i} dy_j
 *
 * Sums run in double. */
#include "ops/shared/op.h"

typedef struct cumsum_attrs {
    int dim;
} cumsum_attrs;

/* y (+)= the running sums of x, seen as [outer, n, inner], from the end where `reverse`; lines: outer × inner. */
typedef struct lines {
    const void *x;
    void *y;
    int64_t outer, n, inner;
    bool reverse, fresh;
} lines;

/* ---- float, and f64.awk makes the same for double ---- */

static void lines_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const lines *l = arg;
    asc_range part = asc_piece_rows(piece, l->outer * l->inner, l->n);
    for (int64_t line = part.first; line < part.end; line++) {
        int64_t first = line / l->inner * l->n * l->inner + line % l->inner;
        double sum = 0;
        for (int64_t i = 0; i < l->n; i++) {
            int64_t at = first + (l->reverse ? l->n - 1 - i : i) * l->inner;
            float *y = (float *)l->y + at;
            sum += (double)((const float *)l->x)[at];
            *y = (float)(l->fresh ? sum : (double)*y + sum);
        }
    }
}

/* ---- end of float ---- */
#include "ops/rows/cumsum.f64.h"

static int dim_of(asc_call *call)
{
    return asc_expect_dim(call, 0, ((const cumsum_attrs *)call->attrs)->dim);
}

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    if (asc_expect_floating(call, 0) || dim_of(call) < 0) {
        return ASC_ERR_ARG;
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static void run(asc_call *call, const asc_array *x, void *y, bool reverse, bool fresh)
{
    int dim = dim_of(call);
    lines l = {.x = x->data, .y = y, .outer = asc_leading(x, dim), .n = x->shape[dim], .inner = 1, .reverse = reverse,
               .fresh = fresh};
    for (int d = dim + 1; d < x->ndim; d++) {
        l.inner *= x->shape[d];
    }
    asc_parallel(call->ctx, asc_row_pieces(l.outer * l.inner, l.n), BY_DTYPE(x->dtype, lines_piece), &l);
}

static asc_status forward(asc_call *call)
{
    run(call, &call->in[0], call->out[0].data, false, true);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    run(call, &call->grad_out[0], call->grad_in[0].data, true, call->fresh[0]);
    return ASC_OK;
}

static uint32_t causal(const asc_call *call)
{
    int dim = ((const cumsum_attrs *)call->attrs)->dim, ndim = call->in[0].ndim;
    return dim == -2 || dim == ndim - 2;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 4, 3}}}, .attrs = &(const cumsum_attrs){1}},
    {.in = {{'f', 2, {3, 5}}}, .attrs = &(const cumsum_attrs){-1}, .note = "the last dimension"},
    {.in = {{'f', 2, {1, 3}}}, .attrs = &(const cumsum_attrs){0}, .note = "length 1"},
    {.in = {{'f', 2, {3, 0}}}, .attrs = &(const cumsum_attrs){1}, .note = "nothing"},
};

const asc_op asc_op_cumsum = {
    .abi = ASC_OP_ABI,
    .name = "cumsum",
    .equation = "y_i = Σ_{j<=i} x_j along dim",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(cumsum_attrs),
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .causal = causal,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}}, .attrs = &(const cumsum_attrs){1}},
};

asc_tensor asc_cumsum(asc_ctx *ctx, asc_tensor x, int dim)
{
    return asc_apply1(ctx, &asc_op_cumsum, &x, 1, &(cumsum_attrs){dim});
}
