/* ops/products/gelu_linear.c: y = GELU(x) Wᵀ + b, GELU(x) = x Φ(x): the second half of a feed-forward layer.
 *
 *   a = GELU(x),  da = dy W,  dx = da∘(Φ(x) + x φ(x)),  dW = dyᵀ a,  db = Σ dy over all leading dimensions
 *
 * a, the widest array of a Transformer's layer, is never held: a tile of tokens makes its own while it is in cache,
 * forward and again backward, where Φ is at hand for dx anyway. */
#include "ops/shared/tokens.h"

#include <string.h>

enum { X, W, B };

typedef struct job {
    asc_call *call;
    asc_tokens tokens;
    int64_t in, out;
    void *a;       /* [workers][tile, in] */
    void *da;      /* the same; NULL where dx takes it */
    void *dw, *db; /* [chunks][out, in], [chunks][out]; NULL: not wanted */
} job;

static job job_of(asc_call *call)
{
    const asc_array *x = &call->in[X], *w = &call->in[W];
    return (job){.call = call, .tokens = asc_tokens_of(asc_leading(x, x->ndim - 1)), .in = w->shape[1],
                 .out = w->shape[0]};
}

/* ---- float, and f64.awk makes the same for double ---- */

static void forward_tile_f32(void *arg, int64_t tile, int worker)
{
    const job *j = arg;
    const asc_call *call = j->call;
    int64_t first = tile * j->tokens.tile, left = j->tokens.rows - first;
    int64_t rows = left < j->tokens.tile ? left : j->tokens.tile;
    float *a = (float *)j->a + worker * j->tokens.tile * j->in;
    asc_kernels_f32()->gelu(a, (const float *)call->in[X].data + first * j->in, rows * j->in);
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .tb = true,
                             .m = rows,
                             .n = j->out,
                             .k = j->in,
                             .alpha = 1,
                             .a = a,
                             .lda = j->in,
                             .b = call->in[W].data,
                             .ldb = j->in,
                             .c = (float *)call->out[0].data + first * j->out,
                             .ldc = j->out,
                             .bias = call->in[B].data});
}

/* Rows of dx, and of a, which dW is made from. */
static void backward_rows_f32(const job *j, int64_t first, int64_t rows, int worker, float *a)
{
    const asc_call *call = j->call;
    const float *x = (const float *)call->in[X].data + first * j->in;
    if (!call->grad_in[X].data) {
        asc_kernels_f32()->gelu(a, x, rows * j->in);
        return;
    }
    float *dx = (float *)call->grad_in[X].data + first * j->in;
    float *da = j->da ? (float *)j->da + worker * j->tokens.tile * j->in : dx;
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .m = rows,
                             .n = j->in,
                             .k = j->out,
                             .alpha = 1,
                             .a = (const float *)call->grad_out[0].data + first * j->out,
                             .lda = j->out,
                             .b = call->in[W].data,
                             .ldb = j->in,
                             .c = da,
                             .ldc = j->in});
    asc_kernels_f32()->gelu_both(a, dx, x, da, rows * j->in, call->fresh[X]);
}

static void backward_chunk_f32(void *arg, int64_t chunk, int worker)
{
    const job *j = arg;
    const asc_tokens *t = &j->tokens;
    int64_t begin = chunk * t->chunk, end = begin + t->chunk < t->rows ? begin + t->chunk : t->rows;
    float *a = (float *)j->a + worker * t->tile * j->in;
    float *dw = j->dw ? (float *)j->dw + chunk * j->out * j->in : NULL;
    float *db = j->db ? (float *)j->db + chunk * j->out : NULL;
    if (db) {
        memset(db, 0, (size_t)j->out * sizeof *db);
    }
    for (int64_t first = begin; first < end; first += t->tile) {
        int64_t rows = end - first < t->tile ? end - first : t->tile;
        const float *dy = (const float *)j->call->grad_out[0].data + first * j->out;
        backward_rows_f32(j, first, rows, worker, a);
        if (dw) {
            asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                                     .ta = true,
                                     .m = j->out,
                                     .n = j->in,
                                     .k = rows,
                                     .alpha = 1,
                                     .a = dy,
                                     .lda = j->out,
                                     .b = a,
                                     .ldb = j->in,
                                     .beta = first > begin,
                                     .c = dw,
                                     .ldc = j->in});
        }
        if (db) {
            asc_kernels_f32()->sum_rows(db, dy, rows, j->out);
        }
    }
}

/* ---- end of float ---- */
#include "ops/products/gelu_linear.f64.h"

/* Tiles are single products, whose sizes are int32. */
static asc_status infer(asc_call *call)
{
    asc_status status = asc_linear_infer(call);
    for (int i = 0; i < 2 && !status; i++) {
        if (call->in[W].shape[i] > INT32_MAX) {
            status = asc_call_expect(call, W, "(out, in) with both <= %d", INT32_MAX);
        }
    }
    return status;
}

/* Memory for a tile of each worker. */
static void *tile_scratch(const job *j)
{
    size_t elements = (size_t)asc_threads(j->call->ctx) * (size_t)j->tokens.tile * (size_t)j->in;
    return asc_call_scratch(j->call, elements * asc_dtype_size(j->call->in[X].dtype));
}

static asc_status forward(asc_call *call)
{
    job j = job_of(call);
    j.a = tile_scratch(&j);
    if (!j.a) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, j.tokens.tiles, BY_DTYPE(call->in[X].dtype, forward_tile), &j);
    return ASC_OK;
}

/* Memory for the sums of each chunk, and for a tile's a and da. */
static asc_status make_room(asc_call *call, job *j)
{
    size_t sums = (size_t)j->tokens.chunks * (size_t)j->out * asc_dtype_size(call->in[X].dtype);
    bool da = call->grad_in[X].data && !call->fresh[X], w = call->grad_in[W].data, b = call->grad_in[B].data;
    j->a = tile_scratch(j);
    j->da = da ? tile_scratch(j) : NULL;
    j->dw = w ? asc_call_scratch(call, sums * (size_t)j->in) : NULL;
    j->db = b ? asc_call_scratch(call, sums) : NULL;
    return j->a && (j->da || !da) && (j->dw || !w) && (j->db || !b) ? ASC_OK : ASC_ERR_MEMORY;
}

static asc_status backward(asc_call *call)
{
    job j = job_of(call);
    if (make_room(call, &j)) {
        return ASC_ERR_MEMORY;
    }
    asc_dtype dtype = call->in[X].dtype;
    asc_parallel(call->ctx, j.tokens.chunks, BY_DTYPE(dtype, backward_chunk), &j);
    if (j.dw) {
        asc_join_chunks(call->ctx, dtype, j.dw, j.tokens.chunks, j.out * j.in, call->grad_in[W].data, call->fresh[W]);
    }
    if (j.db) {
        asc_join_chunks(call->ctx, dtype, j.db, j.tokens.chunks, j.out, call->grad_in[B].data, call->fresh[B]);
    }
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}, {'f', 2, {4, 5}}, {'f', 1, {4}}}},
    {.in = {{'f', 2, {7, 3}}, {'f', 2, {2, 3}}}, .note = "no bias"},
    {.in = {{'f', 2, {70, 3}}, {'f', 2, {2, 3}}, {'f', 1, {2}}}, .note = "two tiles"},
    {.in = {{'f', 2, {3, 3}}, {'=', .lo = 0}}, .note = "x and the weight the same"},
    {.in = {{'f', 1, {3}}, {'f', 2, {1, 3}}, {'f', 1, {1}}}, .note = "one vector"},
    {.in = {{'f', 2, {0, 3}}, {'f', 2, {2, 3}}, {'f', 1, {2}}}, .note = "no rows"},
    {.in = {{'f', 2, {3, 0}}, {'f', 2, {2, 0}}, {'f', 1, {2}}}, .note = "sums of nothing"},
};

const asc_op asc_op_gelu_linear = {
    .abi = ASC_OP_ABI,
    .name = "gelu_linear",
    .equation = "y = GELU(x) Wᵀ + b, GELU(x) = x Φ(x);  x (..., in), W (out, in), b (out)",
    .inputs = "x weight bias?",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .saves_in = 1u << X | 1u << W,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = asc_linear_flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 1024}}, {'f', 2, {256, 1024}}, {'f', 1, {256}}}},
};

asc_tensor asc_gelu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias)
{
    return asc_apply1(ctx, &asc_op_gelu_linear, (asc_tensor[]){x, weight, bias}, 3, NULL);
}
