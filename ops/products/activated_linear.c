/* ops/products/activated_linear.c: y = a Wᵀ + b, a an activation of x: the second half of a feed-forward layer.
 *
 *   gelu_linear    a = GELU(x) = x Φ(x)             relu2_linear   a = max(x, 0)²   (So et al. 2021, arXiv 2109.08668)
 *   geglu_linear   a = GELU(g)∘x                    swiglu_linear  a = silu(g)∘x, silu(g) = g/(1 + e^-g)
 *                                                   (both Shazeer 2020, arXiv 2002.05202)
 *   da = dy W,  dx = da∘∂a/∂x,  dg = da∘∂a/∂g,  dW = dyᵀ a,  db = Σ dy over all leading dimensions
 *
 * a, the widest array of a Transformer's layer, is never held: a tile of tokens makes its own, a band of columns at a
 * time, while it is in cache, forward and again backward, where what dx needs is at hand anyway. */
#include "ops/shared/tokens.h"

#include <string.h>

enum { X, W, B, GATE };
enum { BAND = 256 }; /* columns of x, at most */

/* n entries of a, and the gradients that are wanted, from da. */
typedef struct piece {
    void *a;
    const void *x, *g, *da;
    void *dx, *dg; /* NULL: not wanted */
    void *room;    /* for n entries, with a gate */
    int64_t n;
    bool fresh_x, fresh_g;
} piece;

/* `value`: a alone. */
typedef struct activation {
    bool gated;
    void (*value_f32)(const piece *p), (*both_f32)(const piece *p);
    void (*value_f64)(const piece *p), (*both_f64)(const piece *p);
} activation;

typedef struct job {
    asc_call *call;
    const activation *act;
    asc_tokens tokens;
    int64_t in, out;
    int64_t band;  /* columns; the last one may have fewer */
    void *a;       /* [workers][tile, band] */
    void *da;      /* the same; NULL where no slope is wanted */
    void *room;    /* the same; NULL without a gate */
    void *dw, *db; /* [chunks][out, in], [chunks][out]; NULL: not wanted */
} job;

static job job_of(asc_call *call)
{
    const asc_array *x = &call->in[X], *w = &call->in[W];
    int64_t in = w->shape[1], bands = (in + BAND - 1) / BAND, even = in > 0 ? (in + bands - 1) / bands : 1;
    return (job){.call = call, .act = call->op->data, .tokens = asc_tokens_of(asc_leading(x, x->ndim - 1)),
                 .in = in, .out = w->shape[0], .band = (even + 31) / 32 * 32};
}

/* Some rows and columns of x's. */
typedef struct area {
    int64_t row, rows, column, columns;
} area;

static area band_of(const job *j, int64_t row, int64_t rows, int64_t column)
{
    int64_t left = j->in - column;
    return (area){row, rows, column, left < j->band ? left : j->band};
}

/* ---- float, and f64.awk makes the same for double ---- */

/* ---- the activations ---- */

static void gelu_f32(const piece *p)
{
    asc_kernels_f32()->gelu(p->a, p->x, p->n);
}

static void gelu_both_f32(const piece *p)
{
    asc_kernels_f32()->gelu_both(p->a, p->dx, p->x, p->da, p->n, p->fresh_x);
}

/* A NaN stays one. */
static void relu2_f32(const piece *p)
{
    const float *x = p->x;
    float *a = p->a;
    for (int64_t i = 0; i < p->n; i++) {
        a[i] = x[i] < 0 ? 0 : x[i] * x[i];
    }
}

static void relu2_both_f32(const piece *p)
{
    const float *x = p->x, *da = p->da;
    float *a = p->a, *dx = p->dx;
    for (int64_t i = 0; i < p->n; i++) {
        float r = x[i] < 0 ? 0 : x[i], d = 2 * r * da[i];
        a[i] = r * r;
        dx[i] = p->fresh_x ? d : dx[i] + d;
    }
}

static void swiglu_f32(const piece *p)
{
    asc_kernels_f32()->silu(p->a, p->g, p->n);
    asc_kernels_f32()->mul(p->a, p->a, p->x, p->n);
}

/* The slope of silu at g, s = σ(g), and its value: where the gate is shut or open altogether, infinities must not meet
 * zeros. */
static void swiglu_both_f32(const piece *p)
{
    const float *x = p->x, *g = p->g, *da = p->da;
    float *a = p->a, *dx = p->dx, *dg = p->dg;
    asc_kernels_f32()->sigmoid(a, g, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        float s = a[i], silu = s == 0 ? 0 : g[i] * s, slope = s == 0 || s == 1 ? s : s + g[i] * s * (1 - s);
        float to_x = da[i] * silu, to_g = da[i] * x[i] * slope;
        a[i] = silu * x[i];
        if (dx) {
            dx[i] = p->fresh_x ? to_x : dx[i] + to_x;
        }
        if (dg) {
            dg[i] = p->fresh_g ? to_g : dg[i] + to_g;
        }
    }
}

static void geglu_f32(const piece *p)
{
    asc_kernels_f32()->gelu(p->a, p->g, p->n);
    asc_kernels_f32()->mul(p->a, p->a, p->x, p->n);
}

static void geglu_both_f32(const piece *p)
{
    asc_kernels_f32()->mul(p->room, p->da, p->x, p->n);
    if (p->dg) {
        asc_kernels_f32()->gelu_both(p->a, p->dg, p->g, p->room, p->n, p->fresh_g);
    } else {
        asc_kernels_f32()->gelu(p->a, p->g, p->n);
    }
    if (p->dx && p->fresh_x) {
        asc_kernels_f32()->mul(p->dx, p->da, p->a, p->n);
    } else if (p->dx) {
        asc_kernels_f32()->mul_acc(p->dx, p->da, p->a, p->n);
    }
    asc_kernels_f32()->mul(p->a, p->a, p->x, p->n);
}

/* ---- passes ---- */

/* Row r of an area, of an array of x's shape, of one that a worker has, or of nothing. */
static float *row_f32(const job *j, const asc_array *array, const area *at, int64_t r)
{
    return array->data ? (float *)array->data + (at->row + r) * j->in + at->column : NULL;
}

static float *own_f32(const job *j, void *bands, int worker)
{
    return bands ? (float *)bands + worker * j->tokens.tile * j->band : NULL;
}

static piece piece_f32(const job *j, const area *at, int64_t r, float *a)
{
    return (piece){.a = a + r * at->columns, .x = row_f32(j, &j->call->in[X], at, r),
                   .g = row_f32(j, &j->call->in[GATE], at, r), .n = at->columns};
}

static void forward_tile_f32(void *arg, int64_t tile, int worker)
{
    const job *j = arg;
    const asc_call *call = j->call;
    int64_t first = tile * j->tokens.tile, left = j->tokens.rows - first;
    int64_t rows = left < j->tokens.tile ? left : j->tokens.tile, column = 0;
    float *a = own_f32(j, j->a, worker);
    do { /* at least one product: y of a sum of nothing is the bias */
        area at = band_of(j, first, rows, column);
        for (int64_t r = 0; r < rows; r++) {
            piece p = piece_f32(j, &at, r, a);
            j->act->value_f32(&p);
        }
        asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                                 .packs = asc_packs(j->call->ctx),
                                 .tb = true,
                                 .m = rows,
                                 .n = j->out,
                                 .k = at.columns,
                                 .alpha = 1,
                                 .a = a,
                                 .lda = at.columns,
                                 .b = (const float *)call->in[W].data + column,
                                 .ldb = j->in,
                                 .beta = column > 0,
                                 .c = (float *)call->out[0].data + first * j->out,
                                 .ldc = j->out,
                                 .bias = column > 0 ? NULL : call->in[B].data});
        column += j->band;
    } while (column < j->in);
}

/* An area of dx and dg, and of a, which dW is made from. */
static void backward_area_f32(const job *j, const area *at, int worker, float *a)
{
    const asc_call *call = j->call;
    bool slopes = call->grad_in[X].data || call->grad_in[GATE].data;
    float *da = own_f32(j, j->da, worker);
    if (slopes) {
        asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                                 .packs = asc_packs(j->call->ctx),
                                 .m = at->rows,
                                 .n = at->columns,
                                 .k = j->out,
                                 .alpha = 1,
                                 .a = (const float *)call->grad_out[0].data + at->row * j->out,
                                 .lda = j->out,
                                 .b = (const float *)call->in[W].data + at->column,
                                 .ldb = j->in,
                                 .c = da,
                                 .ldc = at->columns});
    }
    for (int64_t r = 0; r < at->rows; r++) {
        piece p = piece_f32(j, at, r, a);
        if (!slopes) {
            j->act->value_f32(&p);
            continue;
        }
        p.da = da + r * at->columns;
        p.dx = row_f32(j, &call->grad_in[X], at, r);
        p.dg = row_f32(j, &call->grad_in[GATE], at, r);
        p.room = own_f32(j, j->room, worker);
        p.fresh_x = call->fresh[X];
        p.fresh_g = call->fresh[GATE];
        j->act->both_f32(&p);
    }
}

static void backward_chunk_f32(void *arg, int64_t chunk, int worker)
{
    const job *j = arg;
    const asc_tokens *t = &j->tokens;
    int64_t begin = chunk * t->chunk, end = begin + t->chunk < t->rows ? begin + t->chunk : t->rows;
    float *a = own_f32(j, j->a, worker);
    float *dw = j->dw ? (float *)j->dw + chunk * j->out * j->in : NULL;
    float *db = j->db ? (float *)j->db + chunk * j->out : NULL;
    if (db) {
        memset(db, 0, (size_t)j->out * sizeof *db);
    }
    for (int64_t first = begin; first < end; first += t->tile) {
        int64_t rows = end - first < t->tile ? end - first : t->tile;
        const float *dy = (const float *)j->call->grad_out[0].data + first * j->out;
        for (int64_t column = 0; column < j->in; column += j->band) {
            area at = band_of(j, first, rows, column);
            backward_area_f32(j, &at, worker, a);
            if (dw) {
                asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                                         .packs = asc_packs(j->call->ctx),
                                         .ta = true,
                                         .m = j->out,
                                         .n = at.columns,
                                         .k = rows,
                                         .alpha = 1,
                                         .a = dy,
                                         .lda = j->out,
                                         .b = a,
                                         .ldb = at.columns,
                                         .beta = first > begin,
                                         .c = dw + column,
                                         .ldc = j->in});
            }
        }
        if (db) {
            asc_kernels_f32()->sum_rows(db, dy, rows, j->out);
        }
    }
}

/* ---- end of float ---- */
#include "ops/products/activated_linear.f64.h"

/* Tiles are single products, whose sizes are int32. */
static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X];
    bool gated = ((const activation *)call->op->data)->gated;
    asc_status status = asc_linear_infer(call);
    if (!status && gated) {
        status = asc_expect_shape(call, GATE, x->dtype, x->ndim, x->shape, "x's");
    }
    for (int i = 0; i < 2 && !status; i++) {
        if (call->in[W].shape[i] > INT32_MAX) {
            status = asc_call_expect(call, W, "(out, in) with both <= %d", INT32_MAX);
        }
    }
    return status;
}

/* Memory for a band of a tile of each worker. */
static void *band_scratch(const job *j)
{
    size_t elements = (size_t)asc_threads(j->call->ctx) * (size_t)(j->tokens.tile * j->band);
    return asc_call_scratch(j->call, elements * asc_dtype_size(j->call->in[X].dtype));
}

static asc_status forward(asc_call *call)
{
    job j = job_of(call);
    j.a = band_scratch(&j);
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
    bool gated = j->act->gated, w = call->grad_in[W].data, b = call->grad_in[B].data;
    bool da = call->grad_in[X].data || call->grad_in[GATE].data;
    j->a = band_scratch(j);
    j->da = da ? band_scratch(j) : NULL;
    j->room = gated ? band_scratch(j) : NULL;
    j->dw = w ? asc_call_scratch(call, sums * (size_t)j->in) : NULL;
    j->db = b ? asc_call_scratch(call, sums) : NULL;
    return j->a && (j->da || !da) && (j->room || !gated) && (j->dw || !w) && (j->db || !b) ? ASC_OK : ASC_ERR_MEMORY;
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

/* x keeps away from 0, where relu2's slope bends. */
static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 5}, .away = .05}, {'f', 2, {4, 5}}, {'f', 1, {4}}}},
    {.in = {{'f', 2, {7, 3}, .away = .05}, {'f', 2, {2, 3}}}, .note = "no bias"},
    {.in = {{'f', 2, {70, 3}, .away = .05}, {'f', 2, {2, 3}}, {'f', 1, {2}}}, .note = "two tiles"},
    {.in = {{'f', 2, {3, 3}, .away = .05}, {'=', .lo = 0}}, .note = "x and the weight the same"},
    {.in = {{'f', 1, {3}, .away = .05}, {'f', 2, {1, 3}}, {'f', 1, {1}}}, .note = "one vector"},
    {.in = {{'f', 2, {0, 3}}, {'f', 2, {2, 3}}, {'f', 1, {2}}}, .note = "no rows"},
    {.in = {{'f', 2, {3, 0}}, {'f', 2, {2, 0}}, {'f', 1, {2}}}, .note = "sums of nothing"},
};

static const asc_sample gated_samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}, {'f', 2, {4, 5}}, {'f', 1, {4}}, {'f', 3, {2, 3, 5}}}},
    {.in = {{'f', 2, {70, 3}}, {'f', 2, {2, 3}}, {0}, {'f', 2, {70, 3}}}, .note = "no bias, two tiles"},
    {.in = {{'f', 2, {3, 3}}, {'f', 2, {2, 3}}, {'f', 1, {2}}, {'=', .lo = 0}}, .note = "x its own gate"},
    {.in = {{'f', 2, {3, 3}}, {'=', .lo = 0}, {0}, {'f', 2, {3, 3}}}, .note = "x and the weight the same"},
    {.in = {{'f', 1, {3}}, {'f', 2, {1, 3}}, {'f', 1, {1}}, {'f', 1, {3}}}, .note = "one vector"},
    {.in = {{'f', 2, {0, 3}}, {'f', 2, {2, 3}}, {'f', 1, {2}}, {'f', 2, {0, 3}}}, .note = "no rows"},
    {.in = {{'f', 2, {3, 0}}, {'f', 2, {2, 0}}, {'f', 1, {2}}, {'f', 2, {3, 0}}}, .note = "sums of nothing"},
};

static const asc_sample bench = {.in = {{'f', 3, {32, 128, 1024}}, {'f', 2, {256, 1024}}, {'f', 1, {256}}}};
static const asc_sample gated_bench = {
    .in = {{'f', 3, {32, 128, 1024}}, {'f', 2, {256, 1024}}, {'f', 1, {256}}, {'f', 3, {32, 128, 1024}}}};

#define ACTIVATED(activate, is_gated)                                                                                  \
    .abi = ASC_OP_ABI, .n_out = 1, .flags = ASC_OP_FRESH, .infer = infer, .forward = forward, .backward = backward,    \
    .flops = asc_linear_flops,                                                                                         \
    .data = &(const activation){.gated = is_gated, .value_f32 = activate##_f32, .both_f32 = activate##_both_f32,       \
                                .value_f64 = activate##_f64, .both_f64 = activate##_both_f64}
#define OF_X(activate)                                                                                                 \
    ACTIVATED(activate, false), .inputs = "x weight bias?", .saves_in = 1u << X | 1u << W, .samples = samples,         \
    .n_samples = ASC_COUNT(samples), .bench = &bench
#define OF_X_AND_GATE(activate)                                                                                        \
    ACTIVATED(activate, true), .inputs = "x weight bias? gate", .saves_in = 1u << X | 1u << W | 1u << GATE,            \
    .samples = gated_samples, .n_samples = ASC_COUNT(gated_samples), .bench = &gated_bench

const asc_op asc_op_gelu_linear = {
    OF_X(gelu),
    .name = "gelu_linear",
    .equation = "y = GELU(x) Wᵀ + b, GELU(x) = x Φ(x);  x (..., in), W (out, in), b (out)",
};

const asc_op asc_op_relu2_linear = {
    OF_X(relu2),
    .name = "relu2_linear",
    .equation = "y = a Wᵀ + b, a = max(x, 0)²;  x (..., in), W (out, in), b (out)  (arXiv 2109.08668)",
};

const asc_op asc_op_swiglu_linear = {
    OF_X_AND_GATE(swiglu),
    .name = "swiglu_linear",
    .equation = "y = (silu(g)∘x) Wᵀ + b, silu(g) = g/(1 + exp -g);  x, g (..., in), W (out, in), b (out)  "
                "(arXiv 2002.05202)",
};

const asc_op asc_op_geglu_linear = {
    OF_X_AND_GATE(geglu),
    .name = "geglu_linear",
    .equation = "y = (GELU(g)∘x) Wᵀ + b, GELU(g) = g Φ(g);  x, g (..., in), W (out, in), b (out)  (arXiv 2002.05202)",
};

asc_tensor asc_gelu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias)
{
    return asc_apply1(ctx, &asc_op_gelu_linear, (asc_tensor[]){x, weight, bias}, 3, NULL);
}

asc_tensor asc_relu2_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias)
{
    return asc_apply1(ctx, &asc_op_relu2_linear, (asc_tensor[]){x, weight, bias}, 3, NULL);
}

asc_tensor asc_swiglu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor gate, asc_tensor weight, asc_tensor bias)
{
    return asc_apply1(ctx, &asc_op_swiglu_linear, (asc_tensor[]){x, weight, bias, gate}, 4, NULL);
}

asc_tensor asc_geglu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor gate, asc_tensor weight, asc_tensor bias)
{
    return asc_apply1(ctx, &asc_op_geglu_linear, (asc_tensor[]){x, weight, bias, gate}, 4, NULL);
}
