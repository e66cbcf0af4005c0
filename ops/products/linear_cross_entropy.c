/* ops/products/linear_cross_entropy.c: a language model's head and its loss, without the logits.
 *
 *   s_t = W x_t, or with a cap c > 0 s_t = c tanh(W x_t/c) (Gemma Team 2024, arXiv 2408.00118)
 *   token_loss_t = log Σ_v exp s_tv - s_{t, y_t},  loss = mean of token_loss over the targets that count
 *   top_t = (max_v softmax(s_t)_v, [s_{t, y_t} = max_v s_tv])
 *   ds_tv = (softmax(s_t)_v - [v = y_t])/n, with a cap times 1 - (s_tv/c)²,  dx = ds W,  dW = dsᵀ x
 *
 * The tokens are taken in chunks of ROWS, and their logits in tiles of columns, so that at most ROWS×V logits
 * are held. Gradients are computed at once, while the exponentials are there: three products of
 * T×V×D in all, the least there are without the logits kept. A tile keeps e = exp(s - its row's maximum in the tile);
 * what is missing to a softmax is a factor per row f_t, and that goes to the small side of both products:
 * dx_t = f_t (e_t W), dW = eᵀ (f∘x). A cap's slope goes into e as soon as the tile knows its sums, so that it costs a
 * row of a tile and no array. Where products are our own kernels', a strip of rows of a tile is raised while it is in
 * cache, and e is kept packed, as both products read it.
 *
 * The targets' own terms, of [v = y_t], are added to the products. Where p, the softmax at the target, nears 1 the two
 * all but cancel, so where products round their operands these terms are made of the rounded ones: a gradient vanishes
 * as its loss does. */
#include "ops/shared/op.h"

#include <math.h>
#include <string.h>

#include "kernels/packed.h"

enum { X, W, Y };
enum { LOSS, TOKEN_LOSS, TOP };
enum { SAVED_DX, SAVED_DW };
enum { ROWS = 512, TILES = 32, FEW_TILES = 8, NARROWEST = 64, WIDE = 256, STRIP = 32 };

typedef struct head_attrs {
    double cap; /* 0: none */
} head_attrs;

/* A chunk of tokens. Arrays [tiles, rows] hold what each tile knows of each row. */
typedef struct chunk {
    asc_call *call;
    int64_t V, D;
    int64_t tiles, width;   /* columns of a tile; the last may have fewer */
    int64_t first, rows;    /* of the tokens, */
    int64_t most;           /* and how many any chunk has */
    double share;           /* 1/n: what each counted token adds to the mean */
    bool first_chunk;
    const asc_packed_kernel *kernel; /* of the products; NULL: OpenBLAS */
    bool rounds;            /* it does, to bfloat16 */
    void *e;                /* [tiles][rows, columns]; with a kernel [tiles][most, width], packed by rows */
    void *max, *sum;        /* [tiles, rows] */
    void *factor;           /* [tiles, rows]: exp(max - lse)/n, 0 for a token that does not count */
    void *target;           /* [rows]: the target's logit */
    double cap;
    void *slope;            /* [rows]: the cap's slope at the target; NULL without a cap, as is */
    void *tanh;             /* [workers][width]: of a row of a tile, over the cap */
    double *loss;           /* [rows] */
    void *scaled;           /* [workers][rows, D]: f∘x */
    void *partial;          /* [tiles][rows, D]: e_t W over the tile's columns */
    char *packed;           /* [workers][packed_bytes]: operands */
    size_t packed_bytes;
    float *strip;           /* [workers][STRIP, width]: logits */
} chunk;

/* ---- float, and f64.awk makes the same for double ---- */

static void set_loss_f32(asc_call *call, double loss)
{
    *(float *)call->out[LOSS].data = (float)loss;
}

/* A row of a tile is capped; th: its tanh. */
static void cap_row_f32(float *s, float *th, double cap, int64_t n)
{
    asc_kernels_f32()->scale(th, (float)(1 / cap), s, n);
    asc_kernels_f32()->tanh(th, th, n);
    asc_kernels_f32()->scale(s, (float)cap, th, n);
}

/* e becomes the exponentials times the cap's slope. */
static void slope_row_f32(float *e, const float *th, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        e[i] *= 1 - th[i] * th[i];
    }
}

static int64_t columns_of_f32(const chunk *p, int64_t tile)
{
    int64_t left = p->V - tile * p->width;
    return left < p->width ? left : p->width;
}

/* Row t of a tile's logits becomes exponentials; what its softmax needs to know of them is kept. */
static void raise_row_f32(const chunk *p, int64_t tile, int64_t t, float *e, int worker)
{
    int64_t columns = columns_of_f32(p, tile);
    int64_t target = ((const int64_t *)p->call->in[Y].data)[p->first + t] - tile * p->width;
    bool here = target >= 0 && target < columns;
    float *th = p->tanh ? (float *)p->tanh + worker * p->width : NULL;
    if (th) {
        cap_row_f32(e, th, p->cap, columns);
    }
    if (here) {
        ((float *)p->target)[t] = e[target];
    }
    if (here && th) {
        ((float *)p->slope)[t] = 1 - th[target] * th[target];
    }
    float max = asc_kernels_f32()->max(e, columns);
    ((float *)p->max)[tile * p->rows + t] = max;
    ((float *)p->sum)[tile * p->rows + t] = asc_kernels_f32()->exp_shift(e, e, max, columns);
    if (th) {
        slope_row_f32(e, th, columns);
    }
}

static void score_tile_f32(void *arg, int64_t tile, int worker)
{
    const chunk *p = arg;
    int64_t from = tile * p->width, columns = columns_of_f32(p, tile);
    float *e = (float *)p->e + from * p->rows;
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .packs = asc_packs(p->call->ctx),
                             .tb = true,
                             .m = p->rows,
                             .n = columns,
                             .k = p->D,
                             .alpha = 1,
                             .a = (const float *)p->call->in[X].data + p->first * p->D,
                             .lda = p->D,
                             .b = (const float *)p->call->in[W].data + from * p->D,
                             .ldb = p->D,
                             .c = e,
                             .ldc = columns});
    for (int64_t t = 0; t < p->rows; t++) {
        raise_row_f32(p, tile, t, e + t * columns, worker);
    }
}

/* Joins a row's tiles: its loss, its most probable word, and each tile's factor. */
static double join_row_f32(const chunk *p, int64_t t)
{
    const float *max = (const float *)p->max + t, *sum = (const float *)p->sum + t;
    float *factor = (float *)p->factor + t;
    int64_t target = ((const int64_t *)p->call->in[Y].data)[p->first + t];
    double most = max[0], total = 0;
    for (int64_t i = 1; i < p->tiles; i++) {
        most = fmax(most, (double)max[i * p->rows]);
    }
    for (int64_t i = 0; i < p->tiles; i++) {
        total += (double)sum[i * p->rows] * exp((double)max[i * p->rows] - most);
    }
    double lse = most + log(total);
    for (int64_t i = 0; i < p->tiles; i++) {
        factor[i * p->rows] = target < 0 ? 0 : (float)(exp((double)max[i * p->rows] - lse) * p->share);
    }
    float *top = (float *)p->call->out[TOP].data + 2 * (p->first + t);
    top[0] = (float)exp(most - lse);
    top[1] = target >= 0 && (double)((const float *)p->target)[t] == most;
    double loss = target < 0 ? 0 : lse - (double)((const float *)p->target)[t];
    ((float *)p->call->out[TOKEN_LOSS].data)[p->first + t] = (float)loss;
    return loss;
}

/* Rows of a piece: a few hundred exponentials. */
enum { SOME_ROWS_f32 = 16 };

static int64_t rows_end_f32(const chunk *p, int64_t piece)
{
    int64_t end = (piece + 1) * SOME_ROWS_f32;
    return end < p->rows ? end : p->rows;
}

static void join_rows_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const chunk *p = arg;
    for (int64_t t = piece * SOME_ROWS_f32; t < rows_end_f32(p, piece); t++) {
        p->loss[t] = join_row_f32(p, t);
    }
}

/* What the target's own term adds to ds. */
static float pull_f32(const chunk *p, int64_t t)
{
    return p->slope ? (float)-p->share * ((const float *)p->slope)[t] : (float)-p->share;
}

/* What the tile's targets add to the gradient of its own rows of W. */
static void pull_rows_f32(const chunk *p, int64_t tile, float *dw)
{
    const int64_t *y = (const int64_t *)p->call->in[Y].data + p->first;
    const float *x = (const float *)p->call->in[X].data + p->first * p->D;
    int64_t from = tile * p->width, columns = columns_of_f32(p, tile);
    for (int64_t t = 0; t < p->rows; t++) {
        if (y[t] >= from && y[t] < from + columns) {
            asc_kernels_f32()->axpy(dw + (y[t] - from) * p->D, pull_f32(p, t), x + t * p->D, p->D);
        }
    }
}

/* f∘x, as the tile has f. */
static float *scale_rows_f32(const chunk *p, int64_t tile, int worker)
{
    const float *x = (const float *)p->call->in[X].data + p->first * p->D;
    const float *factor = (const float *)p->factor + tile * p->rows;
    float *scaled = (float *)p->scaled + (int64_t)worker * p->rows * p->D;
    for (int64_t t = 0; t < p->rows; t++) {
        asc_kernels_f32()->scale(scaled + t * p->D, factor[t], x + t * p->D, p->D);
    }
    return scaled;
}

/* The tile's part of dx, and dW of its columns. */
static void grad_tile_f32(void *arg, int64_t tile, int worker)
{
    const chunk *p = arg;
    int64_t D = p->D, from = tile * p->width, columns = columns_of_f32(p, tile);
    const float *e = (const float *)p->e + from * p->rows;
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .packs = asc_packs(p->call->ctx),
                             .m = p->rows,
                             .n = D,
                             .k = columns,
                             .alpha = 1,
                             .a = e,
                             .lda = columns,
                             .b = (const float *)p->call->in[W].data + from * D,
                             .ldb = D,
                             .c = (float *)p->partial + tile * p->rows * D,
                             .ldc = D});
    if (!p->call->wants[W]) {
        return;
    }
    float *dw = (float *)p->call->saved[SAVED_DW].data + from * D;
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .packs = asc_packs(p->call->ctx),
                             .ta = true,
                             .m = columns,
                             .n = D,
                             .k = p->rows,
                             .alpha = 1,
                             .a = e,
                             .lda = columns,
                             .b = scale_rows_f32(p, tile, worker),
                             .ldb = D,
                             .beta = !p->first_chunk,
                             .c = dw,
                             .ldc = D});
    pull_rows_f32(p, tile, dw);
}

/* Rows of dx: the tiles' parts, each times its f, and the target's. */
static void sum_partials_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const chunk *p = arg;
    for (int64_t t = piece * SOME_ROWS_f32; t < rows_end_f32(p, piece); t++) {
        float *dx = (float *)p->call->saved[SAVED_DX].data + (p->first + t) * p->D;
        const float *partial = (const float *)p->partial + t * p->D, *factor = (const float *)p->factor + t;
        int64_t target = ((const int64_t *)p->call->in[Y].data)[p->first + t];
        asc_kernels_f32()->scale(dx, factor[0], partial, p->D);
        for (int64_t i = 1; i < p->tiles; i++) {
            asc_kernels_f32()->axpy(dx, factor[i * p->rows], partial + i * p->rows * p->D, p->D);
        }
        if (target >= 0) {
            asc_kernels_f32()->axpy(dx, pull_f32(p, t), (const float *)p->call->in[W].data + target * p->D, p->D);
        }
    }
}

/* The sum of the tokens' losses; `score` and `grad` take a tile each. */
static double run_tiles_f32(chunk *p, asc_piece_fn *score, asc_piece_fn *grad)
{
    asc_ctx *ctx = p->call->ctx;
    int64_t pieces = (p->rows + SOME_ROWS_f32 - 1) / SOME_ROWS_f32;
    asc_parallel(ctx, p->tiles, score, p);
    asc_parallel(ctx, pieces, join_rows_f32, p);
    if (p->call->wants_grad) {
        asc_parallel(ctx, p->tiles, grad, p);
        asc_parallel(ctx, pieces, sum_partials_f32, p);
    }
    double total = 0;
    for (int64_t t = 0; t < p->rows; t++) {
        total += p->loss[t];
    }
    return total;
}

static double run_chunk_f32(chunk *p)
{
    return run_tiles_f32(p, score_tile_f32, grad_tile_f32);
}

/* ---- end of float ---- */
#include "ops/products/linear_cross_entropy.f64.h"

/* ---- products of our own kernels ---- */

static const asc_packed_kernel *kernel_of(const asc_ctx *ctx, asc_dtype dtype)
{
    return dtype != ASC_F32 ? NULL : asc_bf16(ctx) ? asc_packed_kernel_active() : asc_packed_f32_kernel();
}

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Bytes of so many packed rows, or columns, of k elements. */
static size_t packed_size(const chunk *p, int64_t outer, int64_t k)
{
    return (size_t)(round_up(outer, STRIP) * round_up(k, p->kernel->unit)) * p->kernel->element;
}

/* ---- products that round: the targets' terms ---- */

static float rounded(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = asc_bf16_bits(bits);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Whether the target has most of the probability; then its exponential is the largest, 1 before the cap's slope. */
static bool is_sure(const chunk *p, int64_t t)
{
    int64_t target = ((const int64_t *)p->call->in[Y].data)[p->first + t];
    return p->rounds && target >= 0 && ((const float *)p->call->out[TOKEN_LOSS].data)[p->first + t] < 0.69F;
}

/* What stands for a target's exponential in the products, and without rounding. */
static float slope_at(const chunk *p, int64_t t)
{
    return p->slope ? ((const float *)p->slope)[t] : 1;
}

/* The term, -term x, goes from `to`, and what the products have for it comes: -kept rounded(scale x). */
static void round_term(float *to, float term, float kept, float scale, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] += term * x[i] - kept * rounded(scale * x[i]);
    }
}

/* The rows of dx. */
static void round_terms_of_dx(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const chunk *p = arg;
    float share = (float)p->share;
    for (int64_t t = piece * SOME_ROWS_f32; t < rows_end_f32(p, piece); t++) {
        int64_t at = p->first + t;
        if (is_sure(p, t)) {
            const float *w = (const float *)p->call->in[W].data + ((const int64_t *)p->call->in[Y].data)[at] * p->D;
            round_term((float *)p->call->saved[SAVED_DX].data + at * p->D, share * slope_at(p, t),
                       share * rounded(slope_at(p, t)), 1, w, p->D);
        }
    }
}

/* A tile's rows of dW. */
static void round_terms_of_dw(const chunk *p, int64_t tile, float *dw)
{
    const int64_t *y = (const int64_t *)p->call->in[Y].data + p->first;
    const float *x = (const float *)p->call->in[X].data + p->first * p->D;
    int64_t from = tile * p->width, columns = columns_of_f32(p, tile);
    float share = (float)p->share;
    for (int64_t t = 0; t < p->rows; t++) {
        if (y[t] >= from && y[t] < from + columns && is_sure(p, t)) {
            float factor = ((const float *)p->factor)[tile * p->rows + t];
            round_term(dw + (y[t] - from) * p->D, share * slope_at(p, t), share / factor * rounded(slope_at(p, t)),
                       factor, x + t * p->D, p->D);
        }
    }
}

/* ---- packed ---- */

static char *packed_of(const chunk *p, int worker)
{
    return p->packed + (size_t)worker * p->packed_bytes;
}

static char *e_of(const chunk *p, int64_t tile)
{
    return (char *)p->e + (size_t)tile * packed_size(p, p->most, p->width);
}

/* Strip by strip: logits, their exponentials, and these packed, or where they belong at once. */
static void score_tile_packed(void *arg, int64_t tile, int worker)
{
    const chunk *p = arg;
    const asc_packed_kernel *kernel = p->kernel;
    int64_t D = p->D, from = tile * p->width, columns = columns_of_f32(p, tile);
    char *w = packed_of(p, worker), *x = w + packed_size(p, p->width, D);
    bool in_place = p->call->wants_grad && kernel->takes_rows && columns % kernel->unit == 0;
    int64_t ld = in_place ? columns : p->width;
    kernel->pack_panels(w, (const float *)p->call->in[W].data + from * D, D, true, D, columns);
    for (int64_t first = 0; first < p->rows; first += STRIP) {
        int64_t rows = p->rows - first < STRIP ? p->rows - first : STRIP;
        char *e = p->call->wants_grad ? e_of(p, tile) + packed_size(p, first, columns) : NULL;
        float *strip = in_place ? (float *)(void *)e : p->strip + worker * STRIP * p->width;
        kernel->pack_rows(x, (const float *)p->call->in[X].data + (p->first + first) * D, D, false, rows, D);
        kernel->multiply(&(asc_packed_product){
            .m = rows, .n = columns, .k = D, .a = x, .b = w, .alpha = 1, .c = strip, .ldc = ld});
        for (int64_t t = 0; t < rows; t++) {
            raise_row_f32(p, tile, first + t, strip + t * ld, worker);
        }
        if (e && !in_place) {
            kernel->pack_rows(e, strip, ld, false, rows, columns);
        }
    }
}

/* dW = eᵀ (f∘x), of STRIP rows of W at a time. */
static void grad_weight_packed(const chunk *p, int64_t tile, int worker)
{
    const asc_packed_kernel *kernel = p->kernel;
    int64_t D = p->D, columns = columns_of_f32(p, tile);
    float *dw = (float *)p->call->saved[SAVED_DW].data + tile * p->width * D;
    char *x = packed_of(p, worker), *turned = x + packed_size(p, D, p->rows);
    kernel->pack_panels(x, scale_rows_f32(p, tile, worker), D, false, p->rows, D);
    for (int64_t v = 0; v < columns; v += STRIP) {
        int64_t rows = columns - v < STRIP ? columns - v : STRIP;
        kernel->turn_rows(turned, e_of(p, tile), p->rows, columns, v, STRIP);
        kernel->multiply(&(asc_packed_product){.m = rows,
                                               .n = D,
                                               .k = p->rows,
                                               .a = turned,
                                               .b = x,
                                               .alpha = 1,
                                               .add = !p->first_chunk,
                                               .c = dw + v * D,
                                               .ldc = D});
    }
    pull_rows_f32(p, tile, dw);
    round_terms_of_dw(p, tile, dw);
}

static void grad_tile_packed(void *arg, int64_t tile, int worker)
{
    const chunk *p = arg;
    int64_t D = p->D, columns = columns_of_f32(p, tile);
    char *w = packed_of(p, worker);
    p->kernel->pack_panels(w, (const float *)p->call->in[W].data + tile * p->width * D, D, false, columns, D);
    p->kernel->multiply(&(asc_packed_product){.m = p->rows,
                                              .n = D,
                                              .k = columns,
                                              .a = e_of(p, tile),
                                              .b = w,
                                              .alpha = 1,
                                              .c = (float *)p->partial + tile * p->rows * D,
                                              .ldc = D});
    if (p->call->wants[W]) {
        grad_weight_packed(p, tile, worker);
    }
}

static double run_chunk_packed(chunk *p)
{
    double loss = run_tiles_f32(p, score_tile_packed, grad_tile_packed);
    if (p->call->wants_grad && p->rounds) {
        asc_parallel(p->call->ctx, (p->rows + SOME_ROWS_f32 - 1) / SOME_ROWS_f32, round_terms_of_dx, p);
    }
    return loss;
}

/* Memory for what the products of a tile take and make. */
static bool make_packed_room(chunk *p)
{
    asc_call *call = p->call;
    size_t workers = (size_t)asc_threads(call->ctx);
    size_t score = packed_size(p, p->width, p->D) + packed_size(p, STRIP, p->D), dx = packed_size(p, p->D, p->width);
    size_t dw = packed_size(p, p->D, p->most) + packed_size(p, STRIP, p->most);
    size_t most = dx > dw ? dx : dw;
    p->packed_bytes = most > score ? most : score;
    p->packed = asc_call_scratch(call, workers * p->packed_bytes);
    p->strip = asc_call_scratch(call, workers * (size_t)(STRIP * p->width) * sizeof *p->strip);
    p->e = call->wants_grad ? asc_call_scratch(call, (size_t)p->tiles * packed_size(p, p->most, p->width)) : NULL;
    return p->packed && p->strip && (p->e || !call->wants_grad);
}

static asc_status check_targets(asc_call *call, int64_t V, int64_t *counted)
{
    const int64_t *y = call->in[Y].data;
    *counted = 0;
    for (int64_t i = 0; i < call->in[Y].numel; i++) {
        if (y[i] >= V) {
            return asc_call_fail(call, "targets has %lld at element %lld, expected less than %lld", (long long)y[i],
                                 (long long)i, (long long)V);
        }
        *counted += y[i] >= 0;
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X], *w = &call->in[W], *y = &call->in[Y];
    double cap = ((const head_attrs *)call->attrs)->cap;
    if (asc_expect_floating(call, X) || asc_expect_floating(call, W) || asc_expect_cap(call, cap, x->dtype)) {
        return ASC_ERR_ARG;
    }
    if (x->ndim < 1) {
        return asc_call_expect(call, X, "(..., D)");
    }
    int64_t D = x->shape[x->ndim - 1];
    if (D > INT32_MAX) {
        return asc_call_expect(call, X, "(..., D) with D <= %d", INT32_MAX);
    }
    if (w->ndim != 2 || w->shape[1] != D || w->shape[0] < 1 || w->shape[0] > INT32_MAX) {
        return asc_call_expect(call, W, "(V, %lld) with 1 <= V <= %d", (long long)D, INT32_MAX);
    }
    if (asc_expect_shape(call, Y, ASC_I64, x->ndim - 1, x->shape, "a target for each row of x")) {
        return ASC_ERR_ARG;
    }
    asc_status status = asc_call_output(call, LOSS, x->dtype, 0, NULL);
    if (!status) {
        status = asc_call_output(call, TOKEN_LOSS, x->dtype, y->ndim, y->shape);
    }
    if (!status) {
        int64_t shape[ASC_MAX_DIMS + 1];
        memcpy(shape, y->shape, (size_t)y->ndim * sizeof *shape);
        shape[y->ndim] = 2;
        status = asc_call_output(call, TOP, x->dtype, y->ndim + 1, shape);
    }
    if (!status && call->wants_grad) {
        status = asc_call_save(call, SAVED_DX, x->dtype, x->ndim, x->shape);
    }
    if (!status && call->wants[W]) {
        status = asc_call_save(call, SAVED_DW, w->dtype, w->ndim, w->shape);
    }
    return status;
}

/* A chunk's memory. */
static asc_status make_room(chunk *p, double cap)
{
    asc_call *call = p->call;
    size_t real = asc_dtype_size(call->in[X].dtype), most = (size_t)p->most * real;
    size_t tiles = (size_t)p->tiles, workers = (size_t)asc_threads(call->ctx);
    bool products = p->kernel ? make_packed_room(p) : (p->e = asc_call_scratch(call, most * (size_t)p->V)) != NULL;
    p->max = asc_call_scratch(call, most * tiles);
    p->sum = asc_call_scratch(call, most * tiles);
    p->factor = asc_call_scratch(call, most * tiles);
    p->target = asc_call_scratch(call, most);
    p->loss = asc_call_scratch(call, (size_t)p->most * sizeof *p->loss);
    if (call->wants_grad) {
        p->scaled = asc_call_scratch(call, most * (size_t)p->D * workers);
        p->partial = asc_call_scratch(call, most * (size_t)p->D * tiles);
    }
    if (cap > 0) {
        p->cap = cap;
        p->slope = asc_call_scratch(call, most);
        p->tanh = asc_call_scratch(call, real * (size_t)p->width * workers);
    }
    bool whole = products && p->max && p->sum && p->factor && p->target && p->loss &&
                 (!call->wants_grad || (p->scaled && p->partial)) && (cap == 0 || (p->slope && p->tanh));
    return whole ? ASC_OK : ASC_ERR_MEMORY;
}

/* A tile's columns: what it scales, packs and adds up beside its products is the less the wider it is, so a small
 * vocabulary has fewer of them. */
static int64_t width_of(int64_t V, int64_t unit)
{
    int64_t width = (V + TILES - 1) / TILES;
    if (width < WIDE) {
        width = (V + FEW_TILES - 1) / FEW_TILES;
        width = width < NARROWEST ? NARROWEST : width > WIDE ? WIDE : width;
    }
    return round_up(width, unit);
}

static asc_status forward(asc_call *call)
{
    const asc_array *x = &call->in[X], *w = &call->in[W];
    int64_t tokens = call->in[Y].numel, counted, V = w->shape[0], D = w->shape[1];
    if (check_targets(call, V, &counted)) {
        return ASC_ERR_ARG;
    }
    chunk p = {.call = call, .V = V, .D = D, .share = counted ? 1.0 / (double)counted : 0};
    p.kernel = kernel_of(call->ctx, x->dtype);
    p.rounds = p.kernel && asc_bf16(call->ctx);
    p.width = width_of(V, p.kernel ? STRIP : 16);
    p.tiles = (V + p.width - 1) / p.width;
    p.first_chunk = true;
    p.most = tokens < ROWS ? tokens : ROWS;
    if (make_room(&p, ((const head_attrs *)call->attrs)->cap)) {
        return ASC_ERR_MEMORY;
    }
    double total = 0;
    for (p.first = 0; p.first < tokens; p.first += p.most, p.first_chunk = false) {
        p.rows = tokens - p.first < p.most ? tokens - p.first : p.most;
        total += p.kernel ? run_chunk_packed(&p) : BY_DTYPE(x->dtype, run_chunk)(&p);
    }
    if (tokens == 0 && call->wants[W]) {
        memset(call->saved[SAVED_DW].data, 0, asc_array_bytes(w));
    }
    BY_DTYPE(x->dtype, set_loss)(call, total * p.share);
    return ASC_OK;
}

/* grad_in (+)= cotangent × what the forward pass saved for a cotangent of 1. */
static void add_saved(asc_call *call, int input, int saved)
{
    const asc_array *to = &call->grad_in[input], *cotangent = &call->grad_out[LOSS];
    if (to->data) {
        asc_add_scaled(call->ctx, to->dtype, to->data, asc_element(cotangent->dtype, cotangent->data, 0),
                       call->saved[saved].data, to->numel, call->fresh[input]);
    }
}

static asc_status backward(asc_call *call)
{
    add_saved(call, X, SAVED_DX);
    add_saved(call, W, SAVED_DW);
    return ASC_OK;
}

static double flops(const asc_call *call)
{
    return 2.0 * (double)call->in[X].numel * (double)call->in[W].shape[0];
}

static const head_attrs uncapped = {0};

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 2, {7, 4}}, {'i', 2, {2, 3}, 0, 7}}, .attrs = &uncapped},
    {.in = {{'f', 2, {5, 3}}, {'f', 2, {70, 3}}, {'i', 1, {5}, -3, 70}}, .attrs = &uncapped,
     .note = "ignored targets, two tiles"},
    {.in = {{'f', 2, {5, 3}}, {'f', 2, {70, 3}}, {'i', 1, {5}, -3, 70}}, .attrs = &(const head_attrs){1.5},
     .note = "a cap"},
    {.in = {{'f', 1, {3}}, {'f', 2, {1, 3}}, {'i', 0, {0}, 0, 1}}, .attrs = &uncapped, .note = "one token, one word"},
    {.in = {{'f', 2, {0, 3}}, {'f', 2, {4, 3}}, {'i', 1, {0}, 0, 4}}, .attrs = &uncapped, .note = "no tokens"},
};

const asc_op asc_op_linear_cross_entropy = {
    .abi = ASC_OP_ABI,
    .name = "linear_cross_entropy",
    .equation = "loss = mean_t (log Σ_v exp s_tv - s_{t, y_t}), s_t = W x_t or c tanh(W x_t/c);  x (..., D), W (V, D), "
                "y (...), y < 0 ignored",
    .inputs = "x weight targets",
    .n_out = 3,
    .flags = ASC_OP_FRESH | ASC_OP_EAGER,
    .attrs_size = sizeof(head_attrs),
    .no_grad_out = 1u << TOKEN_LOSS | 1u << TOP,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'f', 2, {30522, 256}},
                                        {'i', 2, {32, 128}, 0, 30522}},
                                 .attrs = &uncapped},
};

asc_tensor asc_linear_cross_entropy_top(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor targets,
                                        double cap, asc_tensor *token_loss, asc_tensor *top)
{
    asc_tensor out[3];
    asc_apply(ctx, &asc_op_linear_cross_entropy, (asc_tensor[]){x, weight, targets}, 3, &(head_attrs){cap}, out);
    asc_give(token_loss, out[TOKEN_LOSS]);
    asc_give(top, out[TOP]);
    return out[LOSS];
}

asc_tensor asc_linear_cross_entropy(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor targets,
                                    asc_tensor *token_loss)
{
    return asc_linear_cross_entropy_top(ctx, x, weight, targets, 0, token_loss, NULL);
}
