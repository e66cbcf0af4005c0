/* ops/rows/reduce.c: y = Σ x, the mean, the largest or the smallest x over some dimensions.
 *
 *   sum   dx = dy        max, min  dx = dy at the first of the entries that have the value, 0 elsewhere
 *   mean  dx = dy/n
 *
 * where dy is repeated over the dimensions. Of nothing the sum is 0 and the mean NaN, as in NumPy; a largest entry
 * there is none. A NaN is larger and smaller than all else. */
#include "ops/rows/reduce.h"

#include <math.h>

typedef enum kind { SUM, MEAN, MAX, MIN } kind; /* an op's data */

/* After infer: the dimensions as bits. */
static uint32_t dims_of(const asc_call *call)
{
    const asc_reduce_attrs *a = call->attrs;
    int ndim = call->in[0].ndim;
    uint32_t dims = a->n_dims == 0 ? (1u << ndim) - 1 : 0;
    for (int i = 0; i < a->n_dims; i++) {
        dims |= 1u << (a->dims[i] < 0 ? a->dims[i] + ndim : a->dims[i]);
    }
    return dims;
}

int64_t asc_reduce_count(const asc_call *call)
{
    const asc_array *x = &call->in[0];
    uint32_t dims = dims_of(call);
    int64_t n = 1;
    for (int d = 0; d < x->ndim; d++) {
        n *= dims >> d & 1 ? x->shape[d] : 1;
    }
    return n;
}

asc_status asc_reduce_infer(asc_call *call)
{
    const asc_reduce_attrs *a = call->attrs;
    const asc_array *x = &call->in[0];
    if (asc_expect_floating(call, 0)) {
        return ASC_ERR_ARG;
    }
    if (a->n_dims < 0 || a->n_dims > x->ndim) {
        return asc_call_fail(call, "%d dimensions to reduce, x has %d", a->n_dims, x->ndim);
    }
    uint32_t seen = 0;
    for (int i = 0; i < a->n_dims; i++) {
        int d = asc_expect_dim(call, 0, a->dims[i]);
        if (d < 0) {
            return ASC_ERR_ARG;
        }
        if (seen >> d & 1) {
            return asc_call_fail(call, "dimension %d is named twice", d);
        }
        seen |= 1u << d;
    }
    uint32_t dims = dims_of(call);
    int64_t shape[ASC_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (!(dims >> d & 1)) {
            shape[ndim++] = x->shape[d];
        } else if (a->keepdim) {
            shape[ndim++] = 1;
        }
    }
    return asc_call_output(call, 0, x->dtype, ndim, shape);
}

/* ---- sum and mean ---- */

static double scale_of(const asc_call *call)
{
    return *(const kind *)call->op->data == MEAN ? 1 / (double)asc_reduce_count(call) : 1;
}

static asc_status forward_sum(asc_call *call)
{
    return asc_sum_dims(call, &call->in[0], dims_of(call), scale_of(call), call->out[0].data, true);
}

/* dy, seen in the shape of x. */
static asc_array repeated(const asc_call *call, void *dy)
{
    asc_array a = call->in[0];
    uint32_t dims = dims_of(call);
    int64_t stride = 1;
    a.data = dy;
    for (int d = a.ndim - 1; d >= 0; d--) {
        bool reduced = dims >> d & 1;
        a.stride[d] = reduced ? 0 : stride;
        stride *= reduced ? 1 : a.shape[d];
    }
    return a;
}

static asc_status backward_sum(asc_call *call)
{
    const asc_array *dy = &call->grad_out[0];
    void *scaled = dy->data;
    double scale = scale_of(call);
    if (scale != 1) {
        scaled = asc_call_scratch(call, asc_array_bytes(dy));
        if (!scaled) {
            return ASC_ERR_MEMORY;
        }
        asc_add_scaled(call->ctx, dy->dtype, scaled, scale, dy->data, dy->numel, true);
    }
    asc_array src = repeated(call, scaled);
    asc_strided_add(call->ctx, &call->grad_in[0], &src, call->fresh[0]);
    return ASC_OK;
}

/* ---- max and min ---- */

typedef struct extreme_job {
    asc_call *call;
    asc_walk walk; /* asc_reduce_walk */
    int64_t count;
    bool min;
} extreme_job;

/* ---- float, and f64.awk makes the same for double ---- */

/* Where in x the value `out` of y stands: the first NaN, or the first of the largest or smallest. */
static int64_t find_f32(const extreme_job *j, const float *x, int64_t out)
{
    int64_t best = -1;
    float top = 0;
    asc_cursor c = asc_cursor_at(&j->walk, out * j->count, j->count);
    while (asc_cursor_next(&c)) {
        for (int64_t i = 0, at = c.at[0]; i < c.n; i++, at += c.step[0]) {
            float v = x[at];
            if (best >= 0 && (j->min ? v >= top : v <= top)) {
                continue;
            }
            best = at;
            top = v;
            if (isnan(v)) {
                return best;
            }
        }
    }
    return best;
}

static void extreme_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const extreme_job *j = arg;
    const float *x = j->call->in[0].data;
    float *y = j->call->out[0].data;
    int64_t *where = j->call->saved[0].data;
    asc_range values = asc_piece_rows(piece, j->call->out[0].numel, j->count);
    for (int64_t i = values.first; i < values.end; i++) {
        int64_t best = find_f32(j, x, i);
        y[i] = x[best];
        if (where) {
            where[i] = best;
        }
    }
}

static void scatter_f32(asc_call *call)
{
    const float *dy = call->grad_out[0].data;
    const int64_t *where = call->saved[0].data;
    float *dx = call->grad_in[0].data;
    for (int64_t i = 0; i < call->grad_out[0].numel; i++) {
        dx[where[i]] += dy[i];
    }
}

/* ---- end of float ---- */
#include "ops/rows/reduce.f64.h"

static asc_status infer_extreme(asc_call *call)
{
    asc_status status = asc_reduce_infer(call);
    if (status) {
        return status;
    }
    const asc_array *y = &call->out[0];
    if (asc_reduce_count(call) == 0 && y->numel > 0) {
        return asc_call_expect(call, 0, "at least one entry to choose from");
    }
    /* where in x each value stands */
    return call->wants_grad ? asc_call_save(call, 0, ASC_I64, y->ndim, y->shape) : ASC_OK;
}

asc_walk asc_reduce_walk(const asc_call *call)
{
    const asc_array *x = &call->in[0];
    uint32_t dims = dims_of(call);
    int64_t shape[ASC_MAX_DIMS], stride[ASC_MAX_DIMS];
    int n = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int d = 0; d < x->ndim; d++) {
            if ((int)(dims >> d & 1) == turn) {
                shape[n] = x->shape[d];
                stride[n++] = x->stride[d];
            }
        }
    }
    return asc_walk_over(1, (const int64_t *[]){stride}, n, shape);
}

static asc_status forward_extreme(asc_call *call)
{
    int64_t n = call->out[0].numel;
    extreme_job j = {.call = call, .walk = asc_reduce_walk(call), .count = asc_reduce_count(call),
                     .min = *(const kind *)call->op->data == MIN};
    asc_parallel(call->ctx, asc_row_pieces(n, j.count), BY_DTYPE(call->out[0].dtype, extreme_piece), &j);
    return ASC_OK;
}

static asc_status backward_extreme(asc_call *call)
{
    BY_DTYPE(call->in[0].dtype, scatter)(call);
    return ASC_OK;
}

/* ---- descriptors ---- */

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 4}}}, .attrs = &(const asc_reduce_attrs){1, {-1}, false}, .note = "the last dimension"},
    {.in = {{'f', 4, {2, 3, 2, 3}}}, .attrs = &(const asc_reduce_attrs){2, {0, 2}, true},
     .note = "two dimensions, kept"},
    {.in = {{'f', 2, {3, 4}}}, .attrs = &(const asc_reduce_attrs){0}, .note = "all"},
    {.in = {{'f', 3, {2, 1, 3}}}, .attrs = &(const asc_reduce_attrs){1, {1}, false}, .note = "length 1"},
    {.in = {{'f', 0}}, .attrs = &(const asc_reduce_attrs){0}, .note = "a scalar"},
    {.in = {{'f', 2, {3, 0}}}, .attrs = &(const asc_reduce_attrs){1, {0}, false}, .note = "nothing"},
};

static const asc_sample large = {.in = {{'f', 3, {32, 128, 1024}}},
                                 .attrs = &(const asc_reduce_attrs){1, {-1}, false}};

const asc_op asc_op_sum = {
    .abi = ASC_OP_ABI,
    .name = "sum",
    .equation = "y = Σ x over some dimensions",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(asc_reduce_attrs),
    .infer = asc_reduce_infer,
    .forward = forward_sum,
    .backward = backward_sum,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
    .data = &(const kind){SUM},
};

const asc_op asc_op_mean = {
    .abi = ASC_OP_ABI,
    .name = "mean",
    .equation = "y = Σ x/n over some dimensions of n entries",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(asc_reduce_attrs),
    .infer = asc_reduce_infer,
    .forward = forward_sum,
    .backward = backward_sum,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
    .data = &(const kind){MEAN},
};

const asc_op asc_op_max = {
    .abi = ASC_OP_ABI,
    .name = "max",
    .equation = "y = max x over some dimensions; the gradient goes to the first of equal ones",
    .inputs = "x",
    .n_out = 1,
    .attrs_size = sizeof(asc_reduce_attrs),
    .infer = infer_extreme,
    .forward = forward_extreme,
    .backward = backward_extreme,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
    .data = &(const kind){MAX},
};

const asc_op asc_op_min = {
    .abi = ASC_OP_ABI,
    .name = "min",
    .equation = "y = min x over some dimensions; the gradient goes to the first of equal ones",
    .inputs = "x",
    .n_out = 1,
    .attrs_size = sizeof(asc_reduce_attrs),
    .infer = infer_extreme,
    .forward = forward_extreme,
    .backward = backward_extreme,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
    .data = &(const kind){MIN},
};

asc_reduce_attrs asc_reduce_attrs_of(int n_dims, const int *dims, bool keepdim)
{
    asc_reduce_attrs a = {.n_dims = n_dims, .keepdim = keepdim};
    for (int i = 0; i < n_dims && i < ASC_MAX_DIMS; i++) {
        a.dims[i] = dims[i];
    }
    return a;
}

asc_tensor asc_reduce(asc_ctx *ctx, const asc_op *op, asc_tensor x, int n_dims, const int *dims, bool keepdim)
{
    if (asc_need_one(ctx, op->name, "dims", asc_unless_empty(dims, n_dims))) {
        return asc_null();
    }
    asc_reduce_attrs a = asc_reduce_attrs_of(n_dims, dims, keepdim);
    return asc_apply1(ctx, op, &x, 1, &a);
}

asc_tensor asc_sum(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim)
{
    return asc_reduce(ctx, &asc_op_sum, x, n_dims, dims, keepdim);
}

asc_tensor asc_mean(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim)
{
    return asc_reduce(ctx, &asc_op_mean, x, n_dims, dims, keepdim);
}

asc_tensor asc_max(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim)
{
    return asc_reduce(ctx, &asc_op_max, x, n_dims, dims, keepdim);
}

asc_tensor asc_min(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim)
{
    return asc_reduce(ctx, &asc_op_min, x, n_dims, dims, keepdim);
}
