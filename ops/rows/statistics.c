/* ops/rows/statistics.c: variance, logsumexp and norm over some dimensions of n entries.
 *
 *   variance   y = Σ (x - μ)²/(n - c), μ the mean   dx = dy 2(x - μ)/(n - c)     c = 0: population, 1: unbiased
 *   logsumexp  y = m + log Σ exp(x - m), m = max x  dx = dy exp(x - y)
 *   norm       y = √Σ x²                            dx = dy x/y, 0 where y = 0
 *
 * Sums run in double, in the order of the entries. The variance is NaN where n <= c; of nothing logsumexp is -∞ and
 * norm 0. A row of -∞ alone gives -∞, with gradient 0. A NaN is passed on. */
#include "ops/rows/reduce.h"

#include <math.h>

enum { MEAN }; /* saved by variance */
typedef enum kind { VAR, LOGSUMEXP, NORM } kind;

typedef struct var_attrs {
    asc_reduce_attrs over;
    int correction;
} var_attrs;

typedef struct job {
    asc_call *call;
    asc_walk walk; /* asc_reduce_walk */
    kind kind;
    int64_t count;
    double share; /* variance: 1/(n - c) */
} job;

/* ---- float, and f64.awk makes the same for double ---- */

/* Loops over the entries x[at] of value `out`. */
#define EACH_ENTRY(j, out)                                                                                             \
    for (asc_cursor c = asc_cursor_at(&(j)->walk, (out) * (j)->count, (j)->count); asc_cursor_next(&c);)               \
        for (int64_t i = 0, at = c.at[0]; i < c.n; i++, at += c.step[0])

static double sum_f32(const job *j, const float *x, int64_t out)
{
    double sum = 0;
    EACH_ENTRY(j, out)
    {
        sum += (double)x[at];
    }
    return sum;
}

/* The largest entry, or the largest |x|; a NaN if there is one; -∞ of nothing. */
static double largest_f32(const job *j, const float *x, int64_t out, bool magnitude)
{
    double largest = -INFINITY;
    EACH_ENTRY(j, out)
    {
        double v = magnitude ? fabs((double)x[at]) : (double)x[at];
        largest = v > largest || isnan(v) ? v : largest;
    }
    return largest;
}

static double variance_f32(const job *j, const float *x, int64_t out)
{
    double mean = sum_f32(j, x, out) / (double)j->count, sum = 0;
    EACH_ENTRY(j, out)
    {
        double off = (double)x[at] - mean;
        sum += off * off;
    }
    if (j->call->saved[MEAN].data) {
        ((double *)j->call->saved[MEAN].data)[out] = mean;
    }
    return sum * j->share;
}

static double log_sum_f32(const job *j, const float *x, int64_t out)
{
    double max = largest_f32(j, x, out, false), sum = 0;
    if (!isfinite(max)) {
        return max;
    }
    EACH_ENTRY(j, out)
    {
        sum += exp((double)x[at] - max);
    }
    return max + log(sum);
}

/* The squares are of x over its largest entry, and so neither overflow nor vanish. */
static double length_f32(const job *j, const float *x, int64_t out)
{
    double max = largest_f32(j, x, out, true), sum = 0;
    if (!isfinite(max) || max == 0) {
        return max == -INFINITY ? 0 : max;
    }
    EACH_ENTRY(j, out)
    {
        double r = (double)x[at] / max;
        sum += r * r;
    }
    return max * sqrt(sum);
}

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    const float *x = j->call->in[0].data;
    float *y = j->call->out[0].data;
    asc_range values = asc_piece_rows(piece, j->call->out[0].numel, j->count);
    for (int64_t o = values.first; o < values.end; o++) {
        double v = j->kind == VAR    ? variance_f32(j, x, o)
                   : j->kind == NORM ? length_f32(j, x, o)
                                     : log_sum_f32(j, x, o);
        y[o] = (float)v;
    }
}

/* dy/dx at an entry x of a value y; `mean` is of the variance. */
static inline double slope_f32(const job *j, double x, double y, double mean)
{
    if (j->kind == VAR) {
        return 2 * (x - mean) * j->share;
    }
    if (j->kind == LOGSUMEXP) {
        return x == -INFINITY ? 0 : exp(x - y);
    }
    return y == 0 ? 0 : x / y;
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    const float *x = j->call->in[0].data, *y = j->call->out[0].data, *dy = j->call->grad_out[0].data;
    const double *mean = j->call->saved[MEAN].data;
    float *dx = j->call->grad_in[0].data;
    bool fresh = j->call->fresh[0];
    asc_range values = asc_piece_rows(piece, j->call->grad_out[0].numel, j->count);
    for (int64_t o = values.first; o < values.end; o++) {
        double value = j->kind == VAR ? 0 : (double)y[o], center = mean ? mean[o] : 0;
        EACH_ENTRY(j, o)
        {
            double g = slope_f32(j, (double)x[at], value, center) * (double)dy[o];
            dx[at] = (float)(fresh ? g : (double)dx[at] + g);
        }
    }
}

#undef EACH_ENTRY

/* ---- end of float ---- */
#include "ops/rows/statistics.f64.h"

static asc_status infer_var(asc_call *call)
{
    const var_attrs *a = call->attrs;
    if (a->correction < 0) {
        return asc_call_fail(call, "correction is %d, expected at least 0", a->correction);
    }
    asc_status status = asc_reduce_infer(call);
    const asc_array *y = &call->out[0];
    return status || !call->wants_grad ? status : asc_call_save(call, MEAN, ASC_F64, y->ndim, y->shape);
}

/* Runs `piece` over the values of y, an array of the output's shape. */
static asc_status run(asc_call *call, const asc_array *y, asc_piece_fn *piece)
{
    job j = {.call = call, .walk = asc_reduce_walk(call), .count = asc_reduce_count(call)};
    j.kind = *(const kind *)call->op->data;
    if (j.kind == VAR) {
        int64_t free = j.count - ((const var_attrs *)call->attrs)->correction;
        j.share = free > 0 ? 1 / (double)free : NAN;
    }
    asc_parallel(call->ctx, asc_row_pieces(y->numel, j.count), piece, &j);
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    return run(call, &call->out[0], BY_DTYPE(call->out[0].dtype, forward_piece));
}

static asc_status backward(asc_call *call)
{
    const asc_array *dy = &call->grad_out[0];
    return run(call, dy, BY_DTYPE(dy->dtype, backward_piece));
}

/* ---- descriptors ---- */

static const asc_sample var_samples[] = {
    {.in = {{'f', 3, {2, 3, 4}}}, .attrs = &(const var_attrs){{1, {-1}, false}, 1}, .note = "the last dimension"},
    {.in = {{'f', 4, {2, 3, 2, 3}}}, .attrs = &(const var_attrs){{2, {0, 2}, true}, 0}, .note = "two dimensions, kept"},
    {.in = {{'f', 2, {3, 4}}}, .attrs = &(const var_attrs){{0}, 1}, .note = "all"},
    {.in = {{'f', 3, {2, 1, 3}}}, .attrs = &(const var_attrs){{1, {1}, false}, 0}, .note = "length 1"},
    {.in = {{'f', 0}}, .attrs = &(const var_attrs){{0}, 0}, .note = "a scalar"},
    {.in = {{'f', 2, {3, 0}}}, .attrs = &(const var_attrs){{1, {0}, false}, 1}, .note = "nothing"},
};

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 4}}}, .attrs = &(const asc_reduce_attrs){1, {-1}, false}, .note = "the last dimension"},
    {.in = {{'f', 4, {2, 3, 2, 3}}}, .attrs = &(const asc_reduce_attrs){2, {0, 2}, true},
     .note = "two dimensions, kept"},
    {.in = {{'f', 2, {3, 4}}}, .attrs = &(const asc_reduce_attrs){0}, .note = "all"},
    {.in = {{'f', 3, {2, 1, 3}, .away = .2}}, .attrs = &(const asc_reduce_attrs){1, {1}, false}, .note = "length 1"},
    {.in = {{'f', 0, .away = .2}}, .attrs = &(const asc_reduce_attrs){0}, .note = "a scalar"},
    {.in = {{'f', 2, {3, 0}}}, .attrs = &(const asc_reduce_attrs){1, {0}, false}, .note = "nothing"},
};

static const asc_sample large = {.in = {{'f', 3, {32, 128, 1024}}},
                                 .attrs = &(const asc_reduce_attrs){1, {-1}, false}};

const asc_op asc_op_variance = {
    .abi = ASC_OP_ABI,
    .name = "variance",
    .equation = "y = Σ (x - μ)²/(n - correction) over some dimensions of n entries",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(var_attrs),
    .saves_in = 1,
    .infer = infer_var,
    .forward = forward,
    .backward = backward,
    .samples = var_samples,
    .n_samples = ASC_COUNT(var_samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 1024}}}, .attrs = &(const var_attrs){{1, {-1}, false}, 0}},
    .data = &(const kind){VAR},
};

const asc_op asc_op_logsumexp = {
    .abi = ASC_OP_ABI,
    .name = "logsumexp",
    .equation = "y = log Σ exp x over some dimensions",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(asc_reduce_attrs),
    .saves_in = 1,
    .saves_out = 1,
    .infer = asc_reduce_infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
    .data = &(const kind){LOGSUMEXP},
};

const asc_op asc_op_norm = {
    .abi = ASC_OP_ABI,
    .name = "norm",
    .equation = "y = √Σ x² over some dimensions, dy/dx = 0 at 0",
    .inputs = "x",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(asc_reduce_attrs),
    .saves_in = 1,
    .saves_out = 1,
    .infer = asc_reduce_infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &large,
    .data = &(const kind){NORM},
};

asc_tensor asc_variance(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim, int correction)
{
    if (ASC_NEED(ctx, "variance: dims", asc_unless_empty(dims, n_dims))) {
        return asc_null();
    }
    var_attrs a = {asc_reduce_attrs_of(n_dims, dims, keepdim), correction};
    return asc_apply1(ctx, &asc_op_variance, &x, 1, &a);
}

asc_tensor asc_logsumexp(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim)
{
    return asc_reduce(ctx, &asc_op_logsumexp, x, n_dims, dims, keepdim);
}

asc_tensor asc_norm(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim)
{
    return asc_reduce(ctx, &asc_op_norm, x, n_dims, dims, keepdim);
}
