/* ops/rows/rms_norm.c: y = x̂∘w over the last dimension, x̂ = x/√(mean(x²) + ε). Zhang and Sennrich, "Root mean square
 * layer normalization", arXiv 1910.07467.
 *
 *   g = dy∘w,  dx = (g - x̂ mean(g∘x̂))/√(mean(x²) + ε),  dw = Σ dy∘x̂ over all leading dimensions. */
#include "ops/shared/op.h"

#include <math.h>

enum { X, W };
enum { RRMS };       /* saved: 1/√(mean(x²) + ε) of each row */
enum { CHUNK = 64 }; /* rows of a piece */

typedef struct rms_norm_attrs {
    double eps;
} rms_norm_attrs;

typedef struct rms_norm {
    const asc_call *call;
    int64_t rows, n;
    void *dw; /* backward: sums of each piece (pieces, n), or NULL */
} rms_norm;

static rms_norm open_call(const asc_call *call)
{
    const asc_array *x = &call->in[X];
    return (rms_norm){.call = call, .rows = asc_leading(x, x->ndim - 1), .n = x->shape[x->ndim - 1]};
}

static int64_t chunks(const rms_norm *l)
{
    return l->n > 0 ? (l->rows + CHUNK - 1) / CHUNK : 0;
}

/* The row after the last one of a chunk. */
static int64_t chunk_end(const rms_norm *l, int64_t chunk)
{
    int64_t end = (chunk + 1) * CHUNK;
    return end < l->rows ? end : l->rows;
}

/* ---- float, and f64.awk makes the same for double ---- */

static void chunk_f32(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const rms_norm *l = arg;
    double eps = ((const rms_norm_attrs *)l->call->attrs)->eps;
    const float *w = l->call->in[W].data;
    for (int64_t r = chunk * CHUNK; r < chunk_end(l, chunk); r++) {
        const float *x = (const float *)l->call->in[X].data + r * l->n;
        float *y = (float *)l->call->out[0].data + r * l->n;
        double rrms = 1 / sqrt(asc_kernels_f32()->sumsq(x, l->n) / (double)l->n + eps);
        asc_kernels_f32()->scale(y, (float)rrms, x, l->n);
        if (w) {
            asc_kernels_f32()->mul(y, y, w, l->n);
        }
        ((double *)l->call->saved[RRMS].data)[r] = rrms;
    }
}

/* dx (+)= r (g - x̂ mean(g∘x̂)) with g = dy∘w, x̂ = r x; in double, as the two terms may cancel. */
static void grad_row_f32(float *dx, const float *x, const float *w, const float *dy, double r, int64_t n, bool fresh)
{
    double dot = 0;
    for (int64_t i = 0; i < n; i++) {
        dot += (double)dy[i] * (w ? (double)w[i] : 1) * (double)x[i];
    }
    double share = dot * r * r / (double)n;
    for (int64_t i = 0; i < n; i++) {
        float g = (float)(r * ((double)dy[i] * (w ? (double)w[i] : 1) - (double)x[i] * share));
        dx[i] = fresh ? g : dx[i] + g;
    }
}

static void grad_chunk_f32(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const rms_norm *l = arg;
    const asc_call *call = l->call;
    float *dw = l->dw ? (float *)l->dw + chunk * l->n : NULL, *dx = call->grad_in[X].data;
    for (int64_t row = chunk * CHUNK; row < chunk_end(l, chunk); row++) {
        const float *x = (const float *)call->in[X].data + row * l->n;
        const float *dy = (const float *)call->grad_out[0].data + row * l->n;
        double r = ((const double *)call->saved[RRMS].data)[row];
        for (int64_t i = 0; dw && i < l->n; i++) {
            dw[i] += dy[i] * (x[i] * (float)r);
        }
        if (dx) {
            grad_row_f32(dx + row * l->n, x, call->in[W].data, dy, r, l->n, call->fresh[X]);
        }
    }
}

/* ---- end of float ---- */
#include "ops/rows/rms_norm.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X];
    if (asc_expect_floating(call, X)) {
        return ASC_ERR_ARG;
    }
    if (x->ndim < 1) {
        return asc_call_expect(call, X, "(..., D)");
    }
    double eps = ((const rms_norm_attrs *)call->attrs)->eps;
    if (!(eps >= 0)) {
        return asc_call_fail(call, "eps is %g, expected at least 0", eps);
    }
    if (call->in[W].ndim >= 0 && asc_expect_shape(call, W, x->dtype, 1, &x->shape[x->ndim - 1], "(D)")) {
        return ASC_ERR_ARG;
    }
    if (asc_call_save(call, RRMS, ASC_F64, x->ndim - 1, x->shape)) {
        return ASC_ERR_MEMORY;
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static asc_status forward(asc_call *call)
{
    rms_norm l = open_call(call);
    asc_parallel(call->ctx, chunks(&l), BY_DTYPE(call->in[X].dtype, chunk), &l);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    rms_norm l = open_call(call);
    asc_array *dw = &call->grad_in[W];
    asc_array sums = {.dtype = call->in[X].dtype, .numel = chunks(&l) * l.n};
    if (dw->data) {
        l.dw = sums.data = asc_call_scratch(call, asc_array_bytes(&sums));
        if (!l.dw) {
            return ASC_ERR_MEMORY;
        }
        asc_clear(call->ctx, l.dw, asc_array_bytes(&sums));
    }
    asc_parallel(call->ctx, chunks(&l), BY_DTYPE(sums.dtype, grad_chunk), &l);
    return dw->data ? asc_column_sums(call, &sums, chunks(&l), l.n, dw->data, call->fresh[W]) : ASC_OK;
}

/* So large that a row of one entry near 0 is not all curvature, which differences would not resolve. */
static const rms_norm_attrs large = {.1};

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}, {'f', 1, {5}}}, .attrs = &large},
    {.in = {{'f', 2, {130, 3}}, {'f', 1, {3}}}, .attrs = &large, .note = "several pieces"},
    {.in = {{'f', 2, {4, 6}, .away = .1}}, .attrs = &(const rms_norm_attrs){1e-6}, .note = "no weight, a small eps"},
    {.in = {{'f', 1, {7}}, {'=', .lo = 0}}, .attrs = &large, .note = "one tensor for both"},
    {.in = {{'f', 2, {3, 1}}, {'f', 1, {1}}}, .attrs = &large, .note = "length 1"},
    {.in = {{'f', 2, {0, 4}}, {'f', 1, {4}}}, .attrs = &large, .note = "no rows"},
    {.in = {{'f', 2, {3, 0}}, {'f', 1, {0}}}, .attrs = &large, .note = "length 0"},
};

const asc_op asc_op_rms_norm = {
    .abi = ASC_OP_ABI,
    .name = "rms_norm",
    .equation = "y = x/√(mean(x²) + ε)∘w over the last dimension;  x (..., D), w (D)  (arXiv 1910.07467)",
    .inputs = "x weight?",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(rms_norm_attrs),
    .saves_in = 1u << X | 1u << W,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'f', 1, {256}}},
                                 .attrs = &(const rms_norm_attrs){1e-6}},
};

asc_tensor asc_rms_norm(asc_ctx *ctx, asc_tensor x, asc_tensor weight, double eps)
{
    return asc_apply1(ctx, &asc_op_rms_norm, (asc_tensor[]){x, weight}, 2, &(rms_norm_attrs){eps});
}
