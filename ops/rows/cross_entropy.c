/* ops/rows/cross_entropy.c: the loss of a classifier or language model, from its logits.
 *
 *   token_loss_t = log Σ_v exp(x_tv) - x_{t, y_t},  loss = mean of token_loss over the targets that count
 *   dx_tv = (exp(x_tv - m_t)/s_t - [v = y_t]) g_t,  g_t = dloss/n + dtoken_loss_t
 *
 * with m_t = max_v x_tv and s_t = Σ_v exp(x_tv - m_t), which are all that is kept for the backward pass. */
#include "ops/shared/op.h"

#include <math.h>
#include <string.h>

enum { X, Y };
enum { LOSS, TOKEN_LOSS };
enum { SAVED_MAX, SAVED_SUM };

typedef struct cross_entropy_attrs {
    int64_t ignore; /* the target that does not count */
} cross_entropy_attrs;

typedef struct rows_job {
    const asc_call *call;
    const int64_t *y;
    int64_t rows, V, ignore;
    void *max, *sum; /* [rows] */
    void *spare;     /* [workers, V] */
    double share;    /* backward: dloss/n */
} rows_job;

/* ---- float, and f64.awk makes the same for double ---- */

static double value_f32(const void *x)
{
    return (double)*(const float *)x;
}

/* The losses are added in order, in double. */
static void set_loss_f32(asc_call *call, int64_t counted)
{
    const asc_array *losses = &call->out[TOKEN_LOSS];
    double total = 0;
    for (int64_t i = 0; i < losses->numel; i++) {
        total += (double)((const float *)losses->data)[i];
    }
    *(float *)call->out[LOSS].data = counted > 0 ? (float)(total / (double)counted) : 0;
}

static void forward_row_f32(const rows_job *j, int64_t row, float *spare)
{
    const float *x = (const float *)j->call->in[X].data + row * j->V;
    float *loss = (float *)j->call->out[TOKEN_LOSS].data + row;
    int64_t target = j->y[row];
    if (target == j->ignore) {
        *loss = 0;
        return;
    }
    float max = asc_kernels_f32()->max(x, j->V), sum = asc_kernels_f32()->exp_shift(spare, x, max, j->V);
    *loss = (float)(log((double)sum) - (double)(x[target] - max));
    if (j->max) {
        ((float *)j->max)[row] = max;
        ((float *)j->sum)[row] = sum;
    }
}

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    const rows_job *j = arg;
    asc_range rows = asc_piece_rows(piece, j->rows, j->V);
    for (int64_t row = rows.first; row < rows.end; row++) {
        forward_row_f32(j, row, (float *)j->spare + worker * j->V);
    }
}

static void backward_row_f32(const rows_job *j, int64_t row, float *spare)
{
    const float *x = (const float *)j->call->in[X].data + row * j->V, *dtoken = j->call->grad_out[TOKEN_LOSS].data;
    float *dx = (float *)j->call->grad_in[X].data + row * j->V;
    bool fresh = j->call->fresh[X];
    int64_t target = j->y[row];
    if (target == j->ignore) {
        if (fresh) {
            memset(dx, 0, (size_t)j->V * sizeof *dx);
        }
        return;
    }
    float g = (float)(j->share + (dtoken ? (double)dtoken[row] : 0)), factor = g / ((const float *)j->sum)[row];
    float *e = fresh ? dx : spare;
    asc_kernels_f32()->exp_shift(e, x, ((const float *)j->max)[row], j->V);
    if (fresh) {
        asc_kernels_f32()->scale(dx, factor, e, j->V);
    } else {
        asc_kernels_f32()->axpy(dx, factor, e, j->V);
    }
    dx[target] -= g;
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    const rows_job *j = arg;
    asc_range rows = asc_piece_rows(piece, j->rows, j->V);
    for (int64_t row = rows.first; row < rows.end; row++) {
        backward_row_f32(j, row, (float *)j->spare + worker * j->V);
    }
}

/* ---- end of float ---- */
#include "ops/rows/cross_entropy.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X];
    if (asc_expect_floating(call, X)) {
        return ASC_ERR_ARG;
    }
    if (x->ndim < 1) {
        return asc_call_expect(call, X, "(..., V)");
    }
    if (asc_expect_shape(call, Y, ASC_I64, x->ndim - 1, x->shape, "a target for each row of logits")) {
        return ASC_ERR_ARG;
    }
    asc_status status = asc_call_output(call, LOSS, x->dtype, 0, NULL);
    if (!status) {
        status = asc_call_output(call, TOKEN_LOSS, x->dtype, x->ndim - 1, x->shape);
    }
    for (int i = SAVED_MAX; i <= SAVED_SUM && call->wants_grad && !status; i++) {
        status = asc_call_save(call, i, x->dtype, x->ndim - 1, x->shape);
    }
    return status;
}

static asc_status check_targets(asc_call *call, int64_t V, int64_t ignore)
{
    const int64_t *y = call->in[Y].data;
    for (int64_t i = 0; i < call->in[Y].numel; i++) {
        if (V == 0 && y[i] != ignore) {
            return asc_call_fail(call, "logits has rows of no entries, and targets has %lld at element %lld",
                                 (long long)y[i], (long long)i);
        }
        if ((y[i] < 0 || y[i] >= V) && y[i] != ignore) {
            return asc_call_fail(call, "targets has %lld at element %lld, expected 0 to %lld, or %lld to ignore it",
                                 (long long)y[i], (long long)i, (long long)(V - 1), (long long)ignore);
        }
    }
    return ASC_OK;
}

static int64_t count_targets(const asc_call *call, int64_t ignore)
{
    const int64_t *y = call->in[Y].data;
    int64_t n = 0;
    for (int64_t i = 0; i < call->in[Y].numel; i++) {
        n += y[i] != ignore;
    }
    return n;
}

static rows_job job_of(asc_call *call)
{
    const asc_array *x = &call->in[X];
    const cross_entropy_attrs *attrs = call->attrs;
    rows_job j = {.call = call, .y = call->in[Y].data, .rows = call->in[Y].numel, .V = x->shape[x->ndim - 1]};
    j.ignore = attrs->ignore;
    j.max = call->saved[SAVED_MAX].data;
    j.sum = call->saved[SAVED_SUM].data;
    j.spare = asc_call_scratch(call, (size_t)j.V * asc_dtype_size(x->dtype) * (size_t)asc_threads(call->ctx));
    return j;
}

static void run_rows(const rows_job *j, asc_piece_fn *piece)
{
    asc_parallel(j->call->ctx, asc_row_pieces(j->rows, j->V), piece, (void *)j);
}

static asc_status forward(asc_call *call)
{
    rows_job j = job_of(call);
    if (!j.spare) {
        return ASC_ERR_MEMORY;
    }
    if (check_targets(call, j.V, j.ignore)) {
        return ASC_ERR_ARG;
    }
    run_rows(&j, BY_DTYPE(call->in[X].dtype, forward_piece));
    BY_DTYPE(call->in[X].dtype, set_loss)(call, count_targets(call, j.ignore));
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    rows_job j = job_of(call);
    if (!j.spare) {
        return ASC_ERR_MEMORY;
    }
    int64_t counted = count_targets(call, j.ignore);
    const void *dloss = call->grad_out[LOSS].data;
    if (dloss && counted > 0) {
        j.share = BY_DTYPE(call->in[X].dtype, value)(dloss) / (double)counted;
    }
    run_rows(&j, BY_DTYPE(call->in[X].dtype, backward_piece));
    return ASC_OK;
}

static const cross_entropy_attrs ignore_100 = {-100}, ignore_2 = {2};

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}, {'i', 2, {2, 3}, 0, 5}}, .attrs = &ignore_100},
    {.in = {{'f', 2, {6, 4}}, {'i', 1, {6}, 0, 4}}, .attrs = &ignore_2, .note = "ignored targets"},
    {.in = {{'f', 2, {3, 4}}, {'i', 1, {3}, 2, 3}}, .attrs = &ignore_2, .note = "all ignored"},
    {.in = {{'f', 1, {4}}, {'i', 0, .hi = 4}}, .attrs = &ignore_100, .note = "one row"},
    {.in = {{'f', 2, {3, 1}}, {'i', 1, {3}, 0, 1}}, .attrs = &ignore_100, .note = "length 1"},
    {.in = {{'f', 2, {0, 3}}, {'i', 1, {0}, 0, 3}}, .attrs = &ignore_100, .note = "no rows"},
};

const asc_op asc_op_cross_entropy = {
    .abi = ASC_OP_ABI,
    .name = "cross_entropy",
    .equation = "loss = mean_t (log Σ_v exp(x_tv) - x_{t, y_t}) over y_t ≠ ignore;  x (..., V), y (...)",
    .inputs = "logits targets",
    .n_out = 2,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(cross_entropy_attrs),
    .saves_in = 1u << X | 1u << Y,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 2, {512, 30522}}, {'i', 1, {512}, 0, 30522}}, .attrs = &ignore_100},
};

asc_tensor asc_cross_entropy(asc_ctx *ctx, asc_tensor logits, asc_tensor targets, int64_t ignore,
                             asc_tensor *token_loss)
{
    asc_tensor out[2];
    asc_apply(ctx, &asc_op_cross_entropy, (asc_tensor[]){logits, targets}, 2, &(cross_entropy_attrs){ignore}, out);
    asc_give(token_loss, out[TOKEN_LOSS]);
    return out[LOSS];
}
