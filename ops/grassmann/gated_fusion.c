/* ops/grassmann/gated_fusion.c: y = α∘h + (1 - α)∘g, α = σ(W [h; g] + b): how a token takes up what mixing has found
 * for it ("Attention Is Not What You Need", arXiv 2512.19428).
 *
 *   da = dy∘(h - g)∘α∘(1 - α),  dh = dy∘α + da W₁,  dg = dy∘(1 - α) + da W₂,  dW = daᵀ [h; g],  db = Σ da
 *
 * W = [W₁ W₂]: two products into one buffer take the place of a concatenation. A tile of tokens stays in cache from its
 * products to its output, forward and backward. */
#include "ops/shared/tokens.h"

#include <string.h>

enum { H, G, W, B };
enum { Y, ALPHA };

typedef struct fusion {
    asc_call *call;
    asc_tokens tokens;
    int64_t D;
    void *da;     /* [workers][tile, D] */
    void *dw, *db; /* [chunks][D, 2D], [chunks][D]; NULL: not wanted */
} fusion;

static fusion fusion_of(asc_call *call)
{
    const asc_array *h = &call->in[H];
    return (fusion){.call = call, .tokens = asc_tokens_of(asc_leading(h, h->ndim - 1)), .D = h->shape[h->ndim - 1]};
}

/* ---- float, and f64.awk makes the same for double ---- */

static inline float *row_of_f32(const asc_array *a, int64_t row, int64_t D)
{
    return a->data ? (float *)a->data + row * D : NULL;
}

static void forward_tile_f32(void *arg, int64_t tile, int worker)
{
    (void)worker;
    const fusion *f = arg;
    const asc_call *call = f->call;
    int64_t D = f->D, first = tile * f->tokens.tile, left = f->tokens.rows - first;
    int64_t rows = left < f->tokens.tile ? left : f->tokens.tile;
    const float *h = row_of_f32(&call->in[H], first, D), *g = row_of_f32(&call->in[G], first, D), *w = call->in[W].data;
    float *a = row_of_f32(&call->out[ALPHA], first, D);
    asc_gemm product = {.dtype = ASC_F32,
                        .packs = asc_packs(call->ctx),
                        .tb = true,
                        .m = rows,
                        .n = D,
                        .k = D,
                        .alpha = 1,
                        .a = h,
                        .lda = D,
                        .b = w,
                        .ldb = 2 * D,
                        .c = a,
                        .ldc = D,
                        .bias = call->in[B].data};
    asc_gemm_run(&product);
    product.a = g;
    product.b = w + D;
    product.bias = NULL;
    product.beta = 1;
    asc_gemm_run(&product);
    asc_kernels_f32()->gate(row_of_f32(&call->out[Y], first, D), a, h, g, rows * D);
}

/* One half: h and W₁, or g and W₂. dx += da W, dW (+)= daᵀ x. */
static void backward_half_f32(const fusion *f, int input, int64_t first, int64_t rows, const float *da, float *dw,
                              bool start)
{
    const asc_call *call = f->call;
    int64_t D = f->D, column = input == H ? 0 : D;
    float *dx = row_of_f32(&call->grad_in[input], first, D);
    if (dx) {
        asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                                 .packs = asc_packs(call->ctx),
                                 .m = rows,
                                 .n = D,
                                 .k = D,
                                 .alpha = 1,
                                 .a = da,
                                 .lda = D,
                                 .b = (const float *)call->in[W].data + column,
                                 .ldb = 2 * D,
                                 .beta = 1,
                                 .c = dx,
                                 .ldc = D});
    }
    if (dw) {
        asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                                 .packs = asc_packs(call->ctx),
                                 .ta = true,
                                 .m = D,
                                 .n = D,
                                 .k = rows,
                                 .alpha = 1,
                                 .a = da,
                                 .lda = D,
                                 .b = row_of_f32(&call->in[input], first, D),
                                 .ldb = D,
                                 .beta = !start,
                                 .c = dw + column,
                                 .ldc = 2 * D});
    }
}

static void backward_chunk_f32(void *arg, int64_t chunk, int worker)
{
    const fusion *f = arg;
    const asc_call *call = f->call;
    const asc_tokens *t = &f->tokens;
    int64_t D = f->D, begin = chunk * t->chunk, end = begin + t->chunk < t->rows ? begin + t->chunk : t->rows;
    float *da = (float *)f->da + worker * t->tile * D;
    float *dw = f->dw ? (float *)f->dw + chunk * 2 * D * D : NULL, *db = f->db ? (float *)f->db + chunk * D : NULL;
    if (db) {
        memset(db, 0, (size_t)D * sizeof *db);
    }
    for (int64_t first = begin; first < end; first += t->tile) {
        int64_t rows = end - first < t->tile ? end - first : t->tile;
        asc_kernels_f32()->gate_grad(da, row_of_f32(&call->grad_in[H], first, D),
                                     row_of_f32(&call->grad_in[G], first, D), row_of_f32(&call->grad_out[Y], first, D),
                                     row_of_f32(&call->out[ALPHA], first, D), row_of_f32(&call->in[H], first, D),
                                     row_of_f32(&call->in[G], first, D), rows * D, call->fresh[H], call->fresh[G]);
        backward_half_f32(f, H, first, rows, da, dw, first == begin);
        backward_half_f32(f, G, first, rows, da, dw, first == begin);
        if (db) {
            asc_kernels_f32()->sum_rows(db, da, rows, D);
        }
    }
}

/* ---- end of float ---- */
#include "ops/grassmann/gated_fusion.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *h = &call->in[H];
    if (asc_expect_floating(call, H)) {
        return ASC_ERR_ARG;
    }
    if (h->ndim < 1 || h->shape[h->ndim - 1] > INT32_MAX / 2) {
        return asc_call_expect(call, H, "(..., D) with D <= %d", INT32_MAX / 2);
    }
    int64_t D = h->shape[h->ndim - 1];
    if (asc_expect_shape(call, G, h->dtype, h->ndim, h->shape, "the shape of h") ||
        asc_expect_shape(call, W, h->dtype, 2, (int64_t[]){D, 2 * D}, "(D, 2 D)") ||
        (call->in[B].ndim >= 0 && asc_expect_shape(call, B, h->dtype, 1, &D, "(D)"))) {
        return ASC_ERR_ARG;
    }
    asc_status status = asc_call_output(call, Y, h->dtype, h->ndim, h->shape);
    return status ? status : asc_call_output(call, ALPHA, h->dtype, h->ndim, h->shape);
}

static asc_status forward(asc_call *call)
{
    fusion f = fusion_of(call);
    asc_parallel(call->ctx, f.tokens.tiles, BY_DTYPE(call->in[H].dtype, forward_tile), &f);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    fusion f = fusion_of(call);
    asc_dtype dtype = call->in[H].dtype;
    size_t size = asc_dtype_size(dtype), chunks = (size_t)f.tokens.chunks, D = (size_t)f.D;
    bool wants_w = call->grad_in[W].data, wants_b = call->grad_in[B].data;
    f.da = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * (size_t)f.tokens.tile * D * size);
    f.dw = wants_w ? asc_call_scratch(call, chunks * D * 2 * D * size) : NULL;
    f.db = wants_b ? asc_call_scratch(call, chunks * D * size) : NULL;
    if (!f.da || (wants_w && !f.dw) || (wants_b && !f.db)) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, f.tokens.chunks, BY_DTYPE(dtype, backward_chunk), &f);
    if (wants_w) {
        asc_join_chunks(call->ctx, dtype, f.dw, f.tokens.chunks, 2 * f.D * f.D, call->grad_in[W].data, call->fresh[W]);
    }
    if (wants_b) {
        asc_join_chunks(call->ctx, dtype, f.db, f.tokens.chunks, f.D, call->grad_in[B].data, call->fresh[B]);
    }
    return ASC_OK;
}

static double flops(const asc_call *call)
{
    return 2.0 * (double)call->in[H].numel * (double)call->in[W].shape[1];
}

static uint32_t causal(const asc_call *call)
{
    (void)call;
    return 1u << H | 1u << G;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 3, {2, 3, 4}}, {'f', 2, {4, 8}}, {'f', 1, {4}}}},
    {.in = {{'f', 2, {5, 3}}, {'f', 2, {5, 3}}, {'f', 2, {3, 6}}}, .note = "no bias"},
    {.in = {{'f', 2, {3, 3}}, {'=', .lo = 0}, {'f', 2, {3, 6}}, {'f', 1, {3}}}, .note = "h and g the same"},
    {.in = {{'f', 1, {1}}, {'f', 1, {1}}, {'f', 2, {1, 2}}, {'f', 1, {1}}}, .note = "one number"},
    {.in = {{'f', 2, {0, 3}}, {'f', 2, {0, 3}}, {'f', 2, {3, 6}}, {'f', 1, {3}}}, .note = "no rows"},
};

const asc_op asc_op_gated_fusion = {
    .abi = ASC_OP_ABI,
    .name = "gated_fusion",
    .equation = "y = α∘h + (1 - α)∘g, α = σ([h; g] Wᵀ + b);  h, g (..., D), W (D, 2D), b (D)  (arXiv 2512.19428)",
    .inputs = "h g weight bias?",
    .n_out = 2,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .saves_in = 1u << H | 1u << G | 1u << W,
    .saves_out = 1u << ALPHA,
    .no_grad_out = 1u << ALPHA,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'f', 3, {32, 128, 256}}, {'f', 2, {256, 512}},
                                        {'f', 1, {256}}}},
    .causal = causal,
};

asc_tensor asc_gated_fusion(asc_ctx *ctx, asc_tensor h, asc_tensor g, asc_tensor weight, asc_tensor bias,
                            asc_tensor *alpha)
{
    asc_tensor out[2];
    asc_apply(ctx, &asc_op_gated_fusion, (asc_tensor[]){h, g, weight, bias}, 4, NULL, out);
    asc_give(alpha, out[ALPHA]);
    return out[Y];
}
