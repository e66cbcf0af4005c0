/* ops/rows/softmax.c: softmax and its logarithm over the last dimension, over the entries that a mask allows.
 *
 *   softmax      y_i = exp(x_i - m)/s          dx = y∘(dy - Σ y dy)
 *   log_softmax  y_i = x_i - m - log s         dx = dy - exp(y) Σ dy
 *
 * with m = max x and s = Σ exp(x_i - m) over the allowed entries. What is not allowed is left out by selection, never
 * by a product: ∞·0 is NaN. */
#include "ops/shared/broadcast.h"
#include "ops/shared/mask.h"

#include <math.h>
#include <string.h>

enum { X, MASK };

/* Rows of n; the walk goes over the rows, and its array is the mask, whose entries in a row stand mask_step apart. */
typedef struct rows_job {
    asc_call *call;
    asc_walk walk;
    int64_t n, mask_step;
    bool log; /* the op's data */
    void *spare; /* [workers, n], for backward */
} rows_job;

/* ---- float, and f64.awk makes the same for double ---- */

/* y = x where allowed, else -∞. */
static void select_f32(float *y, const float *x, const uint8_t *mask, int64_t step, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = mask[i * step] ? x[i] : (float)-INFINITY;
    }
}

/* x may be y. */
static void log_softmax_row_f32(float *y, const float *x, int64_t n)
{
    float max = asc_kernels_f32()->max(x, n), sum = 0, spare[512];
    if (max == (float)-INFINITY && !isnan(asc_kernels_f32()->sum(x, n))) { /* NaNs are no maximum */
        memmove(y, x, (size_t)n * sizeof *y);
        return;
    }
    for (int64_t i = 0; i < n; i += ASC_COUNT(spare)) {
        sum += asc_kernels_f32()->exp_shift(spare, x + i, max, n - i < ASC_COUNT(spare) ? n - i : ASC_COUNT(spare));
    }
    float log_sum = (float)log((double)sum);
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] - max - log_sum;
    }
}

static void forward_row_f32(const rows_job *j, int64_t row, const uint8_t *mask)
{
    const float *x = (const float *)j->call->in[X].data + row * j->n;
    float *y = (float *)j->call->out[0].data + row * j->n;
    if (mask) {
        select_f32(y, x, mask, j->mask_step, j->n);
        x = y;
    }
    if (j->log) {
        log_softmax_row_f32(y, x, j->n);
    } else {
        asc_kernels_f32()->softmax_row(y, x, j->n);
    }
}

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const rows_job *j = arg;
    const uint8_t *mask = j->call->in[MASK].data;
    asc_range rows = asc_piece_rows(piece, j->walk.numel, j->n);
    int64_t row = rows.first;
    asc_cursor c = asc_cursor_at(&j->walk, row, rows.end - row);
    while (asc_cursor_next(&c)) {
        for (int64_t i = 0; i < c.n; i++, row++) {
            forward_row_f32(j, row, mask ? mask + c.at[0] + i * c.step[0] : NULL);
        }
    }
}

/* dx (+)= dy - exp(y) Σ dy, over the entries that are not -∞; kept and p are spare rows. */
static void log_grad_row_f32(float *dx, const float *y, const float *dy, float *kept, float *p, int64_t n, bool fresh)
{
    for (int64_t i = 0; i < n; i++) {
        kept[i] = y[i] == (float)-INFINITY ? 0 : dy[i];
    }
    float sum = asc_kernels_f32()->sum(kept, n);
    asc_kernels_f32()->exp(p, y, n);
    for (int64_t i = 0; i < n; i++) {
        float g = y[i] == (float)-INFINITY ? 0 : kept[i] - p[i] * sum;
        dx[i] = fresh ? g : dx[i] + g;
    }
}

/* What came for the zeros of a masked softmax is left out, so that an ∞ there makes no NaN. */
static void masked_grad_row_f32(float *dx, const float *y, const float *dy, float *kept, int64_t n, bool fresh)
{
    for (int64_t i = 0; i < n; i++) {
        kept[i] = y[i] == 0 ? 0 : dy[i];
    }
    asc_kernels_f32()->softmax_grad_row(dx, y, kept, 1, n, fresh);
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    const rows_job *j = arg;
    const asc_call *call = j->call;
    bool fresh = call->fresh[X], masked = call->in[MASK].ndim >= 0;
    int64_t n = j->n;
    asc_range rows = asc_piece_rows(piece, j->walk.numel, n);
    float *spare = (float *)j->spare + 2 * worker * n;
    for (int64_t row = rows.first; row < rows.end; row++) {
        const float *y = (const float *)call->out[0].data + row * n,
                    *dy = (const float *)call->grad_out[0].data + row * n;
        float *dx = (float *)call->grad_in[X].data + row * n;
        if (j->log) {
            log_grad_row_f32(dx, y, dy, spare, spare + n, n, fresh);
        } else if (masked) {
            masked_grad_row_f32(dx, y, dy, spare, n, fresh);
        } else {
            asc_kernels_f32()->softmax_grad_row(dx, y, dy, 1, n, fresh);
        }
    }
}

/* ---- end of float ---- */
#include "ops/rows/softmax.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X];
    return asc_expect_masked_rows(call, X, MASK) ? ASC_ERR_ARG
                                                 : asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static asc_status run_rows(asc_call *call, rows_job *j, asc_piece_fn *piece)
{
    const asc_array *x = &call->out[0], *mask = &call->in[MASK];
    int last = x->ndim - 1;
    int64_t stride[ASC_MAX_DIMS] = {0};
    if (mask->ndim >= 0) {
        asc_broadcast_strides(mask, x->ndim, x->shape, stride);
    }
    j->call = call;
    j->n = x->shape[last];
    j->mask_step = stride[last];
    j->walk = asc_walk_over(1, (const int64_t *[]){stride}, last, x->shape);
    j->log = *(const bool *)call->op->data;
    asc_parallel(call->ctx, asc_row_pieces(j->walk.numel, j->n), piece, j);
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    return run_rows(call, &(rows_job){0}, BY_DTYPE(call->out[0].dtype, forward_piece));
}

static asc_status backward(asc_call *call)
{
    const asc_array *y = &call->out[0];
    size_t row = (size_t)y->shape[y->ndim - 1] * asc_dtype_size(y->dtype);
    rows_job j = {.spare = asc_call_scratch(call, 2 * row * (size_t)asc_threads(call->ctx))};
    if (!j.spare) {
        return ASC_ERR_MEMORY;
    }
    return run_rows(call, &j, BY_DTYPE(y->dtype, backward_piece));
}

static const asc_sample softmax_samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}}},
    {.in = {{'f', 3, {2, 3, 4}}, {'b', 3, {2, 3, 4}}}, .note = "a mask"},
    {.in = {{'f', 3, {2, 3, 4}}, {'b', 2, {3, 1}}}, .note = "a mask of whole rows"},
    {.in = {{'f', 4, {2, 2, 3, 4}}, {'b', 4, {2, 1, 1, 4}}}, .note = "a mask for all heads and rows"},
    {.in = {{'f', 2, {3, 1}}}, .note = "length 1"},
    {.in = {{'f', 2, {0, 3}}}, .note = "no rows"},
    {.in = {{'f', 2, {3, 0}}}, .note = "empty rows"},
};

/* Without masks: what is not allowed is -∞, which differences can't check. */
static const asc_sample log_samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}}},
    {.in = {{'f', 1, {4}}}, .note = "one row"},
    {.in = {{'f', 2, {3, 1}}}, .note = "length 1"},
    {.in = {{'f', 2, {0, 3}}}, .note = "no rows"},
};

const asc_op asc_op_softmax = {
    .abi = ASC_OP_ABI,
    .name = "softmax",
    .equation = "y_i = exp(x_i)/Σ_j exp(x_j) over the last dimension and the allowed j, 0 elsewhere",
    .inputs = "x mask?",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .saves_out = 1,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = softmax_samples,
    .n_samples = ASC_COUNT(softmax_samples),
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 4, 128, 128}}, {'b', 2, {128, 128}}}},
    .data = &(const bool){false},
};

const asc_op asc_op_log_softmax = {
    .abi = ASC_OP_ABI,
    .name = "log_softmax",
    .equation = "y_i = x_i - log Σ_j exp(x_j) over the last dimension and the allowed j, -∞ elsewhere",
    .inputs = "x mask?",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .saves_out = 1,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = log_samples,
    .n_samples = ASC_COUNT(log_samples),
    .bench = &(const asc_sample){.in = {{'f', 2, {512, 30522}}}},
    .data = &(const bool){true},
};

asc_tensor asc_softmax(asc_ctx *ctx, asc_tensor x, asc_tensor mask)
{
    return asc_apply1(ctx, &asc_op_softmax, (asc_tensor[]){x, mask}, 2, NULL);
}

asc_tensor asc_log_softmax(asc_ctx *ctx, asc_tensor x, asc_tensor mask)
{
    return asc_apply1(ctx, &asc_op_log_softmax, (asc_tensor[]){x, mask}, 2, NULL);
}
