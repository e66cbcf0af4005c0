/* ops/rows/row_norm.c: y = (x − μ)/(σ + ε) over the allowed entries of each row, 0 elsewhere: the row normalisation of
 * the ASCender papers.
 *
 *   μ = Σ x/n,  σ² = Σ (x − μ)²/n', n the number of allowed entries, n' = n, or n − 1 for the sample deviation;
 *   dx = (dy − mean(dy) − y (σ + ε)/σ Σ dy y/n')/(σ + ε).
 *
 * The factor (σ + ε)/σ, which the usual formula lacks, is what a gradient of x's own scale consists of.
 * A row with σ ≤ 8 eps max|x|, eps the dtype's, counts as constant: y = 0 and dx = 0. So does one of fewer than two
 * entries. */
#include "ops/shared/mask.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { X, MASK };
enum { SIGMA };

typedef struct row_norm_attrs {
    double eps;
    bool unbiased;
} row_norm_attrs;

typedef struct row_norm_job {
    asc_call *call;
    asc_row_mask mask;
    int64_t rows, n;
    double eps;
    bool unbiased;
    void *spare; /* [workers, 2, n] */
} row_norm_job;

/* ---- float, and f64.awk makes the same for double ---- */

/* The allowed entries of x, one after the other; their number. */
static int64_t compact_f32(float *y, const float *x, const uint8_t *mask, int64_t step, int64_t n)
{
    if (!mask) {
        memcpy(y, x, (size_t)n * sizeof *y);
        return n;
    }
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++) {
        y[m] = x[i];
        m += mask[i * step] != 0;
    }
    return m;
}

/* The reverse: y (+)= the values, at the allowed entries. */
static void spread_f32(float *y, const float *values, const uint8_t *mask, int64_t step, int64_t n, bool fresh)
{
    if (!mask && fresh) {
        memcpy(y, values, (size_t)n * sizeof *y);
        return;
    }
    if (!mask) {
        asc_kernels_f32()->acc(y, values, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        bool allowed = mask[i * step];
        float v = allowed ? *values : 0;
        values += allowed;
        y[i] = fresh ? v : y[i] + v;
    }
}

/* x = (x − shift) scale; in runs, which compilers vectorise. */
static void shift_scale_f32(float *x, float shift, float scale, int64_t n)
{
    enum { RUN = 8 };
    int64_t i = 0;
    for (; i + RUN <= n; i += RUN) {
        for (int l = 0; l < RUN; l++) {
            x[i + l] = (x[i + l] - shift) * scale;
        }
    }
    for (; i < n; i++) {
        x[i] = (x[i] - shift) * scale;
    }
}

/* Whether σ ≤ 8 eps max|x|. d = x − μ, so |x| ≤ |μ| + σ√n', and where that settles it no largest one is looked for. */
static bool is_constant_f32(const float *d, double mean, double sigma, int64_t n)
{
    double least = 8 * (double)FLT_EPSILON, most = 0;
    if (sigma > least * (fabs(mean) + sigma * sqrt((double)n))) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)d[i] + mean));
    }
    return sigma <= least * most;
}

/* What rounding leaves in the mean shows in the mean of d, and is taken off with the scaling. */
static void forward_row_f32(const row_norm_job *j, int64_t row, float *d)
{
    const uint8_t *mask = asc_row_mask_at(&j->mask, row);
    float *y = (float *)j->call->out[0].data + row * j->n;
    double *sigma = (double *)j->call->saved[SIGMA].data + row;
    int64_t m = compact_f32(d, (const float *)j->call->in[X].data + row * j->n, mask, j->mask.step, j->n);
    float mean = m > 0 ? asc_kernels_f32()->sum(d, m) / (float)m : 0;
    shift_scale_f32(d, mean, 1, m);
    double left = m > 0 ? (double)asc_kernels_f32()->sum(d, m) / (double)m : 0,
           square = asc_kernels_f32()->sumsq(d, m) - (double)m * left * left;
    *sigma = m > 1 ? sqrt(square > 0 || square != square ? square / (double)(j->unbiased ? m - 1 : m) : 0) : 0;
    if (is_constant_f32(d, (double)mean, *sigma, m)) {
        *sigma = 0;
        memset(y, 0, (size_t)j->n * sizeof *y);
        return;
    }
    shift_scale_f32(d, (float)left, (float)(1 / (*sigma + j->eps)), m);
    spread_f32(y, d, mask, j->mask.step, j->n, true);
}

static void backward_row_f32(const row_norm_job *j, int64_t row, float *g, float *y)
{
    const asc_call *call = j->call;
    const uint8_t *mask = asc_row_mask_at(&j->mask, row);
    float *dx = (float *)call->grad_in[X].data + row * j->n;
    double sigma = ((const double *)call->saved[SIGMA].data)[row];
    if (sigma == 0) {
        if (call->fresh[X]) {
            memset(dx, 0, (size_t)j->n * sizeof *dx);
        }
        return;
    }
    int64_t m = compact_f32(g, (const float *)call->grad_out[0].data + row * j->n, mask, j->mask.step, j->n);
    compact_f32(y, (const float *)call->out[0].data + row * j->n, mask, j->mask.step, j->n);
    double sum = sigma + j->eps;
    float mean = asc_kernels_f32()->sum(g, m) / (float)m, scale = (float)(1 / sum);
    float slope = (float)((double)asc_kernels_f32()->dot(g, y, m) * (sum / sigma) / (double)(j->unbiased ? m - 1 : m));
    asc_kernels_f32()->axpy(g, -slope, y, m);
    shift_scale_f32(g, mean, scale, m);
    spread_f32(dx, g, mask, j->mask.step, j->n, call->fresh[X]);
}

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    const row_norm_job *j = arg;
    asc_range rows = asc_piece_rows(piece, j->rows, j->n);
    for (int64_t row = rows.first; row < rows.end; row++) {
        forward_row_f32(j, row, (float *)j->spare + 2 * worker * j->n);
    }
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    const row_norm_job *j = arg;
    float *spare = (float *)j->spare + 2 * worker * j->n;
    asc_range rows = asc_piece_rows(piece, j->rows, j->n);
    for (int64_t row = rows.first; row < rows.end; row++) {
        backward_row_f32(j, row, spare, spare + j->n);
    }
}

/* ---- end of float ---- */
#include "ops/rows/row_norm.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X];
    double eps = ((const row_norm_attrs *)call->attrs)->eps;
    if (asc_expect_masked_rows(call, X, MASK)) {
        return ASC_ERR_ARG;
    }
    if (!(eps >= 0)) {
        return asc_call_fail(call, "eps is %g, expected at least 0", eps);
    }
    asc_status status = asc_call_save(call, SIGMA, ASC_F64, x->ndim - 1, x->shape);
    return status ? status : asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static asc_status run(asc_call *call, asc_piece_fn *piece)
{
    const asc_array *y = &call->out[0];
    const row_norm_attrs *a = call->attrs;
    int last = y->ndim - 1;
    row_norm_job j = {.call = call,
                      .mask = asc_row_mask_of(&call->in[MASK], y),
                      .rows = asc_leading(y, last),
                      .n = y->shape[last],
                      .eps = a->eps,
                      .unbiased = a->unbiased};
    j.spare = asc_call_scratch(call, (size_t)(asc_threads(call->ctx) * 2 * j.n) * asc_dtype_size(y->dtype));
    if (!j.spare) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, asc_row_pieces(j.rows, j.n), piece, &j);
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    return run(call, BY_DTYPE(call->out[0].dtype, forward_piece));
}

static asc_status backward(asc_call *call)
{
    return run(call, BY_DTYPE(call->out[0].dtype, backward_piece));
}

static const row_norm_attrs usual = {1e-6, false}, large = {0.5, false}, sample_deviation = {1e-6, true};

/* Without constant rows of more than one entry: y is defined as 0 there, and differences see a jump. */
static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}}, .attrs = &usual},
    {.in = {{'f', 2, {4, 6}}}, .attrs = &large, .note = "a large ε"},
    {.in = {{'f', 2, {4, 6}}}, .attrs = &sample_deviation, .note = "the sample deviation"},
    {.in = {{'f', 3, {2, 4, 6}}, {'b', 3, {2, 4, 6}}}, .attrs = &large, .note = "a mask"},
    {.in = {{'f', 3, {2, 4, 6}}, {'b', 2, {4, 1}}}, .attrs = &usual, .note = "a mask of whole rows"},
    {.in = {{'f', 4, {2, 2, 3, 6}}, {'b', 4, {2, 1, 1, 6}}},
     .attrs = &sample_deviation,
     .note = "a mask for all heads and rows"},
    {.in = {{'f', 2, {3, 1}}}, .attrs = &sample_deviation, .note = "length 1"},
    {.in = {{'f', 2, {0, 3}}}, .attrs = &usual, .note = "no rows"},
    {.in = {{'f', 2, {3, 0}}}, .attrs = &usual, .note = "empty rows"},
};

const asc_op asc_op_row_norm = {
    .abi = ASC_OP_ABI,
    .name = "row_norm",
    .equation = "y = (x − μ)/(σ + ε) over the allowed entries of a row, 0 elsewhere and in constant rows",
    .inputs = "x mask?",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(row_norm_attrs),
    .saves_in = 1u << MASK,
    .saves_out = 1,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 4, 128, 128}}, {'b', 2, {128, 128}}}, .attrs = &usual},
};

asc_tensor asc_row_norm(asc_ctx *ctx, asc_tensor x, asc_tensor mask, double eps, bool unbiased)
{
    return asc_apply1(ctx, &asc_op_row_norm, (asc_tensor[]){x, mask}, 2, &(row_norm_attrs){eps, unbiased});
}
