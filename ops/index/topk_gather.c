/* ops/index/topk_gather.c: the rows that topk has chosen: y[…, r, j, :] = x[…, index[…, r, j], :], and 0 for index -1.
 *
 *   dx[…, v, :] = Σ_{(r, j): index[r, j] = v} dy[r, j, :], summed in the order of (r, j). */
#include "ops/shared/op.h"

#include <string.h>

enum { X, INDEX };
enum { TILE = 32 }; /* columns that a piece of the backward pass owns */

/* A call laid out as x (batch, n, d), index (batch, picks), y (batch, picks, d), picks = rows·k. */
typedef struct picks {
    const asc_call *call;
    int64_t batch, n, d, picks;
    const int64_t *index;
} picks;

static picks picks_of(const asc_call *call)
{
    const asc_array *x = &call->in[X], *index = &call->in[INDEX];
    int last = x->ndim - 1;
    return (picks){.call = call, .batch = asc_leading(x, last - 1), .n = x->shape[last - 1], .d = x->shape[last],
                   .picks = index->shape[last - 1] * index->shape[last], .index = index->data};
}

static int64_t tiles(const picks *p)
{
    return (p->d + TILE - 1) / TILE;
}

/* ---- float, and f64.awk makes the same for double ---- */

static void take_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const picks *p = arg;
    asc_range part = asc_piece_rows(piece, p->batch * p->picks, p->d);
    size_t bytes = (size_t)p->d * sizeof(float);
    for (int64_t i = part.first; i < part.end; i++) {
        float *y = (float *)p->call->out[0].data + i * p->d;
        if (p->index[i] < 0) {
            memset(y, 0, bytes);
        } else {
            memcpy(y, (const float *)p->call->in[X].data + (i / p->picks * p->n + p->index[i]) * p->d, bytes);
        }
    }
}

static void add_tile_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const picks *p = arg;
    int64_t b = piece / tiles(p), column = piece % tiles(p) * TILE;
    int64_t width = p->d - column < TILE ? p->d - column : TILE;
    const int64_t *index = p->index + b * p->picks;
    const float *dy = (const float *)p->call->grad_out[0].data + b * p->picks * p->d + column;
    float *dx = (float *)p->call->grad_in[X].data + b * p->n * p->d + column;
    void (*acc)(float *, const float *, int64_t) = asc_kernels_f32()->acc;
    for (int64_t i = 0; i < p->picks; i++) {
        if (index[i] >= 0) {
            acc(dx + index[i] * p->d, dy + i * p->d, width);
        }
    }
}

/* ---- end of float ---- */
#include "ops/index/topk_gather.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X], *index = &call->in[INDEX];
    if (asc_expect_floating(call, X)) {
        return ASC_ERR_ARG;
    }
    if (x->ndim < 2 || x->ndim >= ASC_MAX_DIMS) {
        return asc_call_expect(call, X, "(..., n, d), of at most %d dimensions", ASC_MAX_DIMS - 1);
    }
    bool fits = index->dtype == ASC_I64 && index->ndim == x->ndim;
    for (int d = 0; fits && d < x->ndim - 2; d++) {
        fits = index->shape[d] == x->shape[d];
    }
    if (!fits) {
        char text[ASC_SHAPE_TEXT];
        return asc_call_expect(call, INDEX, "i64 (..., rows, k) with the leading dimensions of x %s",
                               asc_shape_text(x, text));
    }
    int64_t shape[ASC_MAX_DIMS];
    memcpy(shape, index->shape, sizeof shape);
    shape[x->ndim] = x->shape[x->ndim - 1];
    return asc_call_output(call, 0, x->dtype, x->ndim + 1, shape);
}

static asc_status forward(asc_call *call)
{
    picks p = picks_of(call);
    for (int64_t i = 0; i < p.batch * p.picks; i++) {
        if (p.index[i] < -1 || p.index[i] >= p.n) {
            return asc_call_fail(call, "index has %lld at element %lld, expected at least -1 and less than %lld",
                                 (long long)p.index[i], (long long)i, (long long)p.n);
        }
    }
    asc_parallel(call->ctx, asc_row_pieces(p.batch * p.picks, p.d), BY_DTYPE(call->in[X].dtype, take_piece), &p);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    picks p = picks_of(call);
    if (call->fresh[X]) {
        asc_clear(call->ctx, call->grad_in[X].data, asc_array_bytes(&call->grad_in[X]));
    }
    asc_parallel(call->ctx, p.batch * tiles(&p), BY_DTYPE(call->in[X].dtype, add_tile), &p);
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 4, 5}}, {'i', 3, {2, 3, 2}, .lo = -1, .hi = 4}}, .note = "some of them -1"},
    {.in = {{'f', 2, {3, 33}}, {'i', 2, {5, 3}, .hi = 3}}, .note = "several tiles, every row several times"},
    {.in = {{'f', 4, {2, 2, 3, 2}}, {'i', 4, {2, 2, 3, 1}, .hi = 3}}, .note = "two leading dimensions"},
    {.in = {{'f', 2, {1, 1}}, {'i', 2, {1, 1}, .hi = 1}}, .note = "length 1"},
    {.in = {{'f', 3, {2, 3, 4}}, {'i', 3, {2, 3, 0}, .hi = 3}}, .note = "k = 0"},
    {.in = {{'f', 2, {0, 4}}, {'i', 2, {3, 2}, .lo = -1, .hi = 0}}, .note = "nothing to pick from"},
};

const asc_op asc_op_topk_gather = {
    .abi = ASC_OP_ABI,
    .name = "topk_gather",
    .equation = "y[..., r, j, :] = x[..., index[..., r, j], :], 0 for -1;  x (..., n, d), index i64 (..., rows, k)",
    .inputs = "x index",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .saves_in = 1u << INDEX,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 4, 128, 64}}, {'i', 4, {32, 4, 128, 16}, .hi = 128}}},
};

asc_tensor asc_topk_gather(asc_ctx *ctx, asc_tensor x, asc_tensor index)
{
    return asc_apply1(ctx, &asc_op_topk_gather, (asc_tensor[]){x, index}, 2, NULL);
}
