/* ops/index/embedding.c: rows by number: y[o, i, :] = x[o, index[i], :].
 *
 *   dx[o, v, :] = Σ_{i: index[i] = v} dy[o, i, :], summed in the order of i.
 *
 * embedding takes rows of a table, under an index of any shape; index_select takes slices along any dimension. */
#include "ops/shared/op.h"

#include <string.h>

enum { X, INDEX };

/* A call laid out as x (outer, limit, width), index (n), y (outer, n, width). */
typedef struct rows {
    int64_t outer, limit, n, width;
    const int64_t *index;
    asc_dtype dtype;
    void *x, *y; /* or their gradients */
} rows;

/* ---- taking rows ---- */

static void take_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const rows *r = arg;
    asc_range part = asc_piece_rows(piece, r->outer * r->n, r->width);
    size_t bytes = (size_t)r->width * asc_dtype_size(r->dtype);
    for (int64_t row = part.first; row < part.end; row++) {
        int64_t from = row / r->n * r->limit + r->index[row % r->n];
        memcpy((char *)r->y + (size_t)row * bytes, (const char *)r->x + (size_t)from * bytes, bytes);
    }
}

static asc_status take(asc_call *call, rows r)
{
    if (asc_expect_indices(call, INDEX, r.limit)) {
        return ASC_ERR_ARG;
    }
    r.x = call->in[X].data;
    r.y = call->out[0].data;
    asc_parallel(call->ctx, asc_row_pieces(r.outer * r.n, r.width), take_piece, &r);
    return ASC_OK;
}

/* ---- adding to rows: a piece owns a tile of columns, so that no two write the same place ---- */

enum { TILE = 32 };

static int64_t tiles(const rows *r)
{
    return (r->width + TILE - 1) / TILE;
}

/* ---- float, and f64.awk makes the same for double ---- */

static void add_tile_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const rows *r = arg;
    int64_t o = piece / tiles(r), column = piece % tiles(r) * TILE;
    int64_t width = r->width - column < TILE ? r->width - column : TILE;
    float *dx = (float *)r->x + o * r->limit * r->width + column;
    const float *dy = (const float *)r->y + o * r->n * r->width + column;
    void (*acc)(float *, const float *, int64_t) = asc_kernels_f32()->acc;
    for (int64_t i = 0; i < r->n; i++) {
        acc(dx + r->index[i] * r->width, dy + i * r->width, width);
    }
}

/* ---- end of float ---- */
#include "ops/index/embedding.f64.h"

static asc_status add(asc_call *call, rows r)
{
    if (!call->grad_in[X].data) {
        return ASC_OK;
    }
    if (asc_expect_indices(call, INDEX, r.limit)) {
        return ASC_ERR_ARG;
    }
    r.x = call->grad_in[X].data;
    r.y = call->grad_out[0].data;
    if (call->fresh[X]) {
        asc_clear(call->ctx, r.x, asc_array_bytes(&call->grad_in[X]));
    }
    asc_parallel(call->ctx, r.outer * tiles(&r), BY_DTYPE(r.dtype, add_tile), &r);
    return ASC_OK;
}

/* ---- embedding ---- */

static rows embedding_rows(const asc_call *call)
{
    const asc_array *weight = &call->in[X], *index = &call->in[INDEX];
    return (rows){.outer = 1, .limit = weight->shape[0], .n = index->numel, .width = weight->shape[1],
                  .index = index->data, .dtype = weight->dtype};
}

static asc_status embedding_infer(asc_call *call)
{
    const asc_array *weight = &call->in[X], *index = &call->in[INDEX];
    if (asc_expect_floating(call, X)) {
        return ASC_ERR_ARG;
    }
    if (weight->ndim != 2) {
        return asc_call_expect(call, X, "(V, D)");
    }
    if (index->dtype != ASC_I64 || index->ndim >= ASC_MAX_DIMS) {
        return asc_call_expect(call, INDEX, "i64, of at most %d dimensions", ASC_MAX_DIMS - 1);
    }
    int64_t shape[ASC_MAX_DIMS];
    memcpy(shape, index->shape, sizeof shape);
    shape[index->ndim] = weight->shape[1];
    return asc_call_output(call, 0, weight->dtype, index->ndim + 1, shape);
}

static asc_status embedding_forward(asc_call *call)
{
    return take(call, embedding_rows(call));
}

static asc_status embedding_backward(asc_call *call)
{
    return add(call, embedding_rows(call));
}

static const asc_sample embedding_samples[] = {
    {.in = {{'f', 2, {7, 5}}, {'i', 2, {2, 6}, .hi = 7}}},
    {.in = {{'f', 2, {3, 70}}, {'i', 1, {9}, .hi = 3}}, .note = "several tiles, every row several times"},
    {.in = {{'f', 2, {1, 1}}, {'i', 1, {1}, .hi = 1}}, .note = "one row"},
    {.in = {{'f', 2, {4, 3}}, {'i', 0, .hi = 4}}, .note = "one number"},
    {.in = {{'f', 2, {4, 3}}, {'i', 1, {0}, .hi = 4}}, .note = "no numbers"},
};

const asc_op asc_op_embedding = {
    .abi = ASC_OP_ABI,
    .name = "embedding",
    .equation = "y[..., :] = weight[index[...], :];  weight (V, D), index i64 (...)",
    .inputs = "weight index",
    .n_out = 1,
    .flags = ASC_OP_FRESH | ASC_OP_GATHERS,
    .saves_in = 1u << INDEX,
    .infer = embedding_infer,
    .forward = embedding_forward,
    .backward = embedding_backward,
    .samples = embedding_samples,
    .n_samples = ASC_COUNT(embedding_samples),
    .bench = &(const asc_sample){.in = {{'f', 2, {30522, 256}}, {'i', 2, {32, 128}, .hi = 30522}}},
};

asc_tensor asc_embedding(asc_ctx *ctx, asc_tensor weight, asc_tensor index)
{
    return asc_apply1(ctx, &asc_op_embedding, (asc_tensor[]){weight, index}, 2, NULL);
}

/* ---- index_select ---- */

typedef struct select_attrs {
    int dim;
} select_attrs;

static rows select_rows(asc_call *call)
{
    const asc_array *x = &call->in[X], *index = &call->in[INDEX];
    int dim = asc_expect_dim(call, X, ((const select_attrs *)call->attrs)->dim);
    rows r = {.outer = asc_leading(x, dim), .limit = x->shape[dim], .n = index->numel, .width = 1,
              .index = index->data, .dtype = x->dtype};
    for (int d = dim + 1; d < x->ndim; d++) {
        r.width *= x->shape[d];
    }
    return r;
}

static asc_status select_infer(asc_call *call)
{
    const asc_array *x = &call->in[X], *index = &call->in[INDEX];
    int dim = asc_expect_dim(call, X, ((const select_attrs *)call->attrs)->dim);
    if (dim < 0) {
        return ASC_ERR_ARG;
    }
    if (index->dtype != ASC_I64 || index->ndim != 1) {
        return asc_call_expect(call, INDEX, "i64 (n)");
    }
    int64_t shape[ASC_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    shape[dim] = index->shape[0];
    return asc_call_output(call, 0, x->dtype, x->ndim, shape);
}

static asc_status select_forward(asc_call *call)
{
    return take(call, select_rows(call));
}

static asc_status select_backward(asc_call *call)
{
    return add(call, select_rows(call));
}

static const asc_sample select_samples[] = {
    {.in = {{'f', 3, {2, 4, 3}}, {'i', 1, {6}, .hi = 4}}, .attrs = &(const select_attrs){1}},
    {.in = {{'f', 2, {3, 5}}, {'i', 1, {4}, .hi = 5}}, .attrs = &(const select_attrs){-1}, .note = "last dimension"},
    {.in = {{'f', 1, {1}}, {'i', 1, {2}, .hi = 1}}, .attrs = &(const select_attrs){0}, .note = "one element"},
    {.in = {{'f', 2, {0, 4}}, {'i', 1, {2}, .hi = 4}}, .attrs = &(const select_attrs){1}, .note = "no rows"},
    {.in = {{'f', 2, {3, 2}}, {'i', 1, {0}, .hi = 3}}, .attrs = &(const select_attrs){0}, .note = "nothing selected"},
};

const asc_op asc_op_index_select = {
    .abi = ASC_OP_ABI,
    .name = "index_select",
    .equation = "y[..., i, ...] = x[..., index[i], ...];  index i64 (n) along dim",
    .inputs = "x index",
    .n_out = 1,
    .flags = ASC_OP_FRESH | ASC_OP_GATHERS,
    .attrs_size = sizeof(select_attrs),
    .saves_in = 1u << INDEX,
    .infer = select_infer,
    .forward = select_forward,
    .backward = select_backward,
    .samples = select_samples,
    .n_samples = ASC_COUNT(select_samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'i', 1, {128}, .hi = 128}},
                                 .attrs = &(const select_attrs){1}},
};

asc_tensor asc_index_select(asc_ctx *ctx, asc_tensor x, int dim, asc_tensor index)
{
    return asc_apply1(ctx, &asc_op_index_select, (asc_tensor[]){x, index}, 2, &(select_attrs){dim});
}
