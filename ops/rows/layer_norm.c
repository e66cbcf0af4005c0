/* ops/rows/layer_norm.c: y = x̂∘w + b over the last dimension, x̂ = (x − μ)/√(σ² + ε). Ba, Kiros and Hinton, "Layer
 * normalization", arXiv 1607.06450.
 *
 *   g = dy∘w,  dx = (g − mean(g) − x̂ mean(g∘x̂))/√(σ² + ε),  dw = Σ dy∘x̂,  db = Σ dy over all leading dimensions. */
#include "ops/shared/op.h"

#include <string.h>

enum { X, W, B };
enum { MEAN, RSTD };
enum { CHUNK = 64 }; /* rows of a piece */

typedef struct layer_norm_attrs {
    double eps;
} layer_norm_attrs;

typedef struct layer_norm {
    const asc_call *call;
    int64_t rows, n;
    void *dw, *db; /* backward: sums of each piece (pieces, n), or NULL */
} layer_norm;

static layer_norm open_call(const asc_call *call)
{
    const asc_array *x = &call->in[X];
    return (layer_norm){.call = call, .rows = asc_leading(x, x->ndim - 1), .n = x->shape[x->ndim - 1]};
}

static int64_t chunks(const layer_norm *l)
{
    return l->n > 0 ? (l->rows + CHUNK - 1) / CHUNK : 0;
}

static int64_t chunk_rows(const layer_norm *l, int64_t chunk)
{
    int64_t left = l->rows - chunk * CHUNK;
    return left < CHUNK ? left : CHUNK;
}

/* ---- float, and f64.awk makes the same for double ---- */

static void chunk_f32(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const layer_norm *l = arg;
    const asc_call *call = l->call;
    float eps = (float)((const layer_norm_attrs *)call->attrs)->eps;
    int64_t first = chunk * CHUNK, end = first + chunk_rows(l, chunk);
    for (int64_t r = first; r < end; r++) {
        asc_kernels_f32()->layer_norm_row(
            (float *)call->out[0].data + r * l->n, (const float *)call->in[X].data + r * l->n, call->in[W].data,
            call->in[B].data, l->n, eps, (float *)call->saved[MEAN].data + r, (float *)call->saved[RSTD].data + r);
    }
}

static void grad_chunk_f32(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const layer_norm *l = arg;
    const asc_call *call = l->call;
    int64_t first = chunk * CHUNK, at = first * l->n;
    float *dx = call->grad_in[X].data;
    asc_kernels_f32()->layer_norm_grad_rows(
        dx ? dx + at : NULL, l->dw ? (float *)l->dw + chunk * l->n : NULL, l->db ? (float *)l->db + chunk * l->n : NULL,
        (const float *)call->in[X].data + at, call->in[W].data, (const float *)call->grad_out[0].data + at,
        (const float *)call->saved[MEAN].data + first, (const float *)call->saved[RSTD].data + first,
        chunk_rows(l, chunk), l->n, call->fresh[X]);
}

static void add_rows_f32(void *out, const void *x, int64_t rows, int64_t n)
{
    asc_kernels_f32()->sum_rows(out, x, rows, n);
}

/* ---- end of float ---- */
#include "ops/rows/layer_norm.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X];
    if (asc_expect_floating(call, X)) {
        return ASC_ERR_ARG;
    }
    if (x->ndim < 1) {
        return asc_call_expect(call, X, "(..., D)");
    }
    double eps = ((const layer_norm_attrs *)call->attrs)->eps;
    if (!(eps >= 0)) {
        return asc_call_fail(call, "eps is %g, expected at least 0", eps);
    }
    const int64_t *n = &x->shape[x->ndim - 1];
    for (int i = W; i <= B; i++) {
        if (call->in[i].ndim >= 0 && asc_expect_shape(call, i, x->dtype, 1, n, "(D)")) {
            return ASC_ERR_ARG;
        }
    }
    if (asc_call_save(call, MEAN, x->dtype, x->ndim - 1, x->shape) ||
        asc_call_save(call, RSTD, x->dtype, x->ndim - 1, x->shape)) {
        return ASC_ERR_MEMORY;
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static asc_status forward(asc_call *call)
{
    layer_norm l = open_call(call);
    asc_parallel(call->ctx, chunks(&l), BY_DTYPE(call->in[X].dtype, chunk), &l);
    return ASC_OK;
}

/* Scratch for the sums of each piece, cleared. */
static asc_status make_sums(asc_call *call, int input, const layer_norm *l, void **sums)
{
    if (!call->grad_in[input].data) {
        return ASC_OK;
    }
    size_t bytes = (size_t)(chunks(l) * l->n) * asc_dtype_size(call->in[X].dtype);
    *sums = asc_call_scratch(call, bytes);
    if (!*sums) {
        return ASC_ERR_MEMORY;
    }
    memset(*sums, 0, bytes);
    return ASC_OK;
}

/* The sums of the pieces, in their order. */
static void join_sums(asc_call *call, int input, const layer_norm *l, const void *sums)
{
    asc_array *grad = &call->grad_in[input];
    if (!grad->data) {
        return;
    }
    if (call->fresh[input]) {
        memset(grad->data, 0, asc_array_bytes(grad));
    }
    BY_DTYPE(grad->dtype, add_rows)(grad->data, sums, chunks(l), l->n);
}

static asc_status backward(asc_call *call)
{
    layer_norm l = open_call(call);
    if (make_sums(call, W, &l, &l.dw) || make_sums(call, B, &l, &l.db)) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, chunks(&l), BY_DTYPE(call->in[X].dtype, grad_chunk), &l);
    join_sums(call, W, &l, l.dw);
    join_sums(call, B, &l, l.db);
    return ASC_OK;
}

static const layer_norm_attrs usual = {1e-5};

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}, {'f', 1, {5}}, {'f', 1, {5}}}, .attrs = &usual},
    {.in = {{'f', 2, {130, 3}}, {'f', 1, {3}}, {'f', 1, {3}}}, .attrs = &usual, .note = "several pieces"},
    {.in = {{'f', 2, {4, 6}}}, .attrs = &usual, .note = "no weight, no bias"},
    {.in = {{'f', 2, {4, 6}}, {0}, {'f', 1, {6}}}, .attrs = &usual, .note = "no weight"},
    {.in = {{'f', 1, {7}}, {'=', .lo = 0}, {'=', .lo = 0}}, .attrs = &usual, .note = "one tensor for all"},
    {.in = {{'f', 2, {3, 1}}, {'f', 1, {1}}, {'f', 1, {1}}}, .attrs = &usual, .note = "length 1"},
    {.in = {{'f', 2, {0, 4}}, {'f', 1, {4}}, {'f', 1, {4}}}, .attrs = &usual, .note = "no rows"},
    {.in = {{'f', 2, {3, 0}}, {'f', 1, {0}}, {'f', 1, {0}}}, .attrs = &usual, .note = "length 0"},
};

const asc_op asc_op_layer_norm = {
    .abi = ASC_OP_ABI,
    .name = "layer_norm",
    .equation = "y = (x − μ)/√(σ² + ε)∘w + b over the last dimension;  x (..., D), w (D), b (D)  (arXiv 1607.06450)",
    .inputs = "x weight? bias?",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(layer_norm_attrs),
    .saves_in = 1u << X | 1u << W,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'f', 1, {256}}, {'f', 1, {256}}}, .attrs = &usual},
};

asc_tensor asc_layer_norm(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias, double eps)
{
    return asc_apply1(ctx, &asc_op_layer_norm, (asc_tensor[]){x, weight, bias}, 3, &(layer_norm_attrs){eps});
}
