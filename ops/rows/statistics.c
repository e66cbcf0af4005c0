/* ops/rows/statistics.c: variance, logsumexp and norm over some dimensions of n entries.
 *
 *   variance   y = Σ (x - μ)²/(n - c), μ the mean   dx = dy 2(x - μ)/(n - c)     c = 0: population, 1: unbiased
 *   logsumexp  y = m + log Σ exp(x - m), m = max x  dx = dy exp(x - y)
 *   norm       y = √Σ x²                            dx = dy x/y, 0 where y = 0
 *
 * Sums run in double, in one order for any number of threads. The variance is NaN where n <= c; of nothing logsumexp is
 * -∞ and norm 0. A row of -∞ alone gives -∞, with gradient 0. A NaN is passed on. */
#include "ops/rows/reduce.h"

#include <math.h>

enum { MEAN }; /* saved by variance */
enum { RUN = 512 };
typedef enum kind { VAR, LOGSUMEXP, NORM } kind;

/* Of entries x: their sum, that of (x - c)² and of e^(x - c); the largest x and |x|, NaNs passed over. */
typedef enum total { SUM, SQUARES, EXPS, LARGEST, LARGEST_SIZE } total;

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

/* How many entries of a run, from number i on, are taken as a row. */
static int64_t row_length_f32(const asc_cursor *run, int64_t i)
{
    return run->step[0] == 1 || run->n - i < RUN ? run->n - i : RUN;
}

static double row_total_f32(total what, const float *x, double c, int64_t n)
{
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    return what == SUM       ? k->wide_sum(x, n)
           : what == SQUARES ? k->wide_squares(x, c, n)
           : what == EXPS    ? k->wide_exps(x, (float)c, n)
           : what == LARGEST ? (double)k->max(x, n)
                             : (double)k->max_abs(x, n);
}

/* Of the entries of value `out`. */
static double total_f32(const job *j, total what, int64_t out, double c)
{
    float room[RUN];
    double all = what == LARGEST ? -INFINITY : 0;
    for (asc_cursor run = asc_cursor_at(&j->walk, out * j->count, j->count); asc_cursor_next(&run);) {
        for (int64_t i = 0, n; i < run.n; i += n) {
            n = row_length_f32(&run, i);
            const float *x =
                asc_row_of_run(ASC_F32, j->call->in[0].data, run.at[0] + i * run.step[0], run.step[0], n, room);
            double part = row_total_f32(what, x, c, n);
            all = what < LARGEST ? all + part : part > all ? part : all;
        }
    }
    return all;
}

static double variance_f32(const job *j, int64_t out)
{
    double mean = total_f32(j, SUM, out, 0) / (double)j->count;
    if (j->call->saved[MEAN].data) {
        ((double *)j->call->saved[MEAN].data)[out] = mean;
    }
    return total_f32(j, SQUARES, out, mean) * j->share;
}

static double log_sum_f32(const job *j, int64_t out)
{
    double max = total_f32(j, LARGEST, out, 0);
    if (!isfinite(max)) {
        return isnan(total_f32(j, EXPS, out, 0)) ? (double)NAN : max;
    }
    return max + log(total_f32(j, EXPS, out, max));
}

/* Where squares of doubles overflow or vanish they are of x over its largest entry. */
static double length_f32(const job *j, int64_t out)
{
    static const double small = 1e-200, large = 1e200;
    const float *x = j->call->in[0].data;
    double sum = total_f32(j, SQUARES, out, 0), max = total_f32(j, LARGEST_SIZE, out, 0), scaled = 0;
    if ((sum > small && sum < large) || isnan(sum) || max == 0 || isinf(max)) {
        return sqrt(sum);
    }
    for (asc_cursor run = asc_cursor_at(&j->walk, out * j->count, j->count); asc_cursor_next(&run);) {
        for (int64_t i = 0; i < run.n; i++) {
            double r = (double)x[run.at[0] + i * run.step[0]] / max;
            scaled += r * r;
        }
    }
    return max * sqrt(scaled);
}

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    float *y = j->call->out[0].data;
    asc_range values = asc_piece_rows(piece, j->call->out[0].numel, j->count);
    for (int64_t o = values.first; o < values.end; o++) {
        double v = j->kind == VAR ? variance_f32(j, o) : j->kind == NORM ? length_f32(j, o) : log_sum_f32(j, o);
        y[o] = (float)v;
    }
}

/* dx (+)= dy times the slope, of the row x of value `out`. */
static void row_grad_f32(const job *j, int64_t out, float *dx, const float *x, int64_t n, bool fresh)
{
    double y = j->kind == VAR ? 0 : (double)((const float *)j->call->out[0].data)[out];
    double dy = (double)((const float *)j->call->grad_out[0].data)[out];
    if (j->kind == VAR) {
        double mean = ((const double *)j->call->saved[MEAN].data)[out];
        asc_kernels_f32()->wide_centred(dx, x, mean, 2 * j->share * dy, n, fresh);
    } else if (j->kind == NORM) {
        asc_kernels_f32()->wide_centred(dx, x, 0, y == 0 ? 0 : dy / y, n, fresh);
    } else { /* of -∞ alone: nothing, as of -∞ anywhere */
        asc_kernels_f32()->wide_exp(dx, x, y == -INFINITY ? 0 : y, dy, n, fresh);
    }
}

/* Entries that don't lie side by side: their gradients are made apart. */
static void run_grad_f32(const job *j, int64_t out, const asc_cursor *run)
{
    float x[RUN], g[RUN], *dx = j->call->grad_in[0].data;
    int64_t step = run->step[0];
    for (int64_t i = 0, n; i < run->n; i += n) {
        n = row_length_f32(run, i);
        int64_t at = run->at[0] + i * step;
        const float *row = asc_row_of_run(ASC_F32, j->call->in[0].data, at, step, n, x);
        if (step == 1) {
            row_grad_f32(j, out, dx + at, row, n, j->call->fresh[0]);
            continue;
        }
        row_grad_f32(j, out, g, row, n, true);
        for (int64_t e = 0; e < n; e++) {
            dx[at + e * step] = j->call->fresh[0] ? g[e] : dx[at + e * step] + g[e];
        }
    }
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    asc_range values = asc_piece_rows(piece, j->call->grad_out[0].numel, j->count);
    for (int64_t o = values.first; o < values.end; o++) {
        for (asc_cursor run = asc_cursor_at(&j->walk, o * j->count, j->count); asc_cursor_next(&run);) {
            run_grad_f32(j, o, &run);
        }
    }
}

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
