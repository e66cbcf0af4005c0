/* ops/index/gather.c: elements by number along dim, and the reverse, with v = index[a, i, b]:
 *
 *   gather       y[a, i, b] = x[a, v, b]                   dx[a, v, b] += dy[a, i, b]
 *   scatter_add  y = x, then y[a, v, b] += src[a, i, b]    dx = dy,  dsrc[a, i, b] = dy[a, v, b]
 *
 * Sums are in the order of i. */
#include "ops/shared/op.h"

#include <string.h>

enum { X, INDEX, SRC };

typedef struct gather_attrs {
    int dim;
} gather_attrs;

/* A call as lines along dim, one for each [a, b] of the index. */
typedef struct lines {
    const asc_array *x, *index;
    int dim;
    int64_t n;        /* lines */
    const char *from; /* x, or what is to be added */
    char *to;         /* of the other's shape */
    bool fresh;       /* taking: written, not added */
} lines;

static int dim_of(asc_call *call)
{
    return asc_expect_dim(call, X, ((const gather_attrs *)call->attrs)->dim);
}

/* Where line `line` begins: in the index, and y with it, and in x. */
static void line_begin(const lines *l, int64_t line, int64_t *in_index, int64_t *in_x)
{
    *in_index = *in_x = 0;
    for (int d = l->index->ndim - 1; d >= 0; d--) {
        if (d != l->dim) {
            int64_t i = line % l->index->shape[d];
            line /= l->index->shape[d];
            *in_index += i * l->index->stride[d];
            *in_x += i * l->x->stride[d];
        }
    }
}

/* ---- float, and f64.awk makes the same for double ---- */

static void take_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const lines *l = arg;
    int64_t xs = l->x->stride[l->dim], is = l->index->stride[l->dim];
    asc_range part = asc_piece_rows(piece, l->n, l->index->shape[l->dim]);
    for (int64_t line = part.first; line < part.end; line++) {
        int64_t at, from;
        line_begin(l, line, &at, &from);
        const int64_t *index = (const int64_t *)l->index->data + at;
        const float *x = (const float *)(const void *)l->from + from;
        float *y = (float *)(void *)l->to + at;
        for (int64_t i = 0; i < l->index->shape[l->dim]; i++) {
            float v = x[index[i * is] * xs];
            y[i * is] = l->fresh ? v : y[i * is] + v;
        }
    }
}

static void add_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const lines *l = arg;
    int64_t xs = l->x->stride[l->dim], is = l->index->stride[l->dim];
    asc_range part = asc_piece_rows(piece, l->n, l->index->shape[l->dim]);
    for (int64_t line = part.first; line < part.end; line++) {
        int64_t at, to;
        line_begin(l, line, &at, &to);
        const int64_t *index = (const int64_t *)l->index->data + at;
        const float *dy = (const float *)(const void *)l->from + at;
        float *dx = (float *)(void *)l->to + to;
        for (int64_t i = 0; i < l->index->shape[l->dim]; i++) {
            dx[index[i * is] * xs] += dy[i * is];
        }
    }
}

/* ---- end of float ---- */
#include "ops/index/gather.f64.h"

/* Runs fn over the lines of the index into x, or into an array of its shape. */
static asc_status run(asc_call *call, const asc_array *x, const void *from, void *to, bool fresh, asc_piece_fn *fn)
{
    const asc_array *index = &call->in[INDEX];
    lines l = {.x = x, .index = index, .dim = dim_of(call), .from = from, .to = to, .fresh = fresh};
    if (asc_expect_indices(call, INDEX, x->shape[l.dim])) {
        return ASC_ERR_ARG;
    }
    if (index->numel > 0) {
        int64_t length = index->shape[l.dim];
        l.n = index->numel / length;
        asc_parallel(call->ctx, asc_row_pieces(l.n, length), fn, &l);
    }
    return ASC_OK;
}

static asc_status take(asc_call *call, const asc_array *x, void *to, bool fresh)
{
    return run(call, x, x->data, to, fresh, BY_DTYPE(x->dtype, take));
}

static asc_status add(asc_call *call, const asc_array *x, const void *from)
{
    return run(call, x, from, x->data, false, BY_DTYPE(x->dtype, add));
}

static asc_status check_index(asc_call *call)
{
    const asc_array *x = &call->in[X], *index = &call->in[INDEX];
    if (asc_expect_floating(call, X)) {
        return ASC_ERR_ARG;
    }
    int dim = dim_of(call);
    if (dim < 0) {
        return ASC_ERR_ARG;
    }
    bool fits = index->dtype == ASC_I64 && index->ndim == x->ndim;
    for (int d = 0; fits && d < x->ndim; d++) {
        fits = d == dim || index->shape[d] <= x->shape[d];
    }
    if (!fits) {
        char text[ASC_SHAPE_TEXT];
        return asc_call_expect(call, INDEX, "i64 of at most %s but for dimension %d", asc_shape_text(x, text), dim);
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X], *index = &call->in[INDEX];
    return check_index(call) ? ASC_ERR_ARG : asc_call_output(call, 0, x->dtype, index->ndim, index->shape);
}

static asc_status forward(asc_call *call)
{
    return take(call, &call->in[X], call->out[0].data, true);
}

static asc_status backward(asc_call *call)
{
    return add(call, &call->grad_in[X], call->grad_out[0].data);
}

/* ---- scatter_add ---- */

static asc_status infer_scatter(asc_call *call)
{
    const asc_array *x = &call->in[X], *index = &call->in[INDEX];
    if (check_index(call) ||
        asc_expect_shape(call, SRC, x->dtype, index->ndim, index->shape, "an entry for each index")) {
        return ASC_ERR_ARG;
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static asc_status forward_scatter(asc_call *call)
{
    asc_strided_copy(call->ctx, &call->out[0], &call->in[X]);
    return add(call, &call->out[0], call->in[SRC].data);
}

static asc_status backward_scatter(asc_call *call)
{
    const asc_array *dy = &call->grad_out[0];
    if (call->grad_in[X].data) {
        asc_strided_add(call->ctx, &call->grad_in[X], dy, call->fresh[X]);
    }
    return call->grad_in[SRC].data ? take(call, dy, call->grad_in[SRC].data, call->fresh[SRC]) : ASC_OK;
}

/* ---- descriptors ---- */

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 4, 3}}, {'i', 3, {2, 6, 3}, .hi = 4}}, .attrs = &(const gather_attrs){1}},
    {.in = {{'f', 2, {3, 5}}, {'i', 2, {3, 2}, .hi = 5}}, .attrs = &(const gather_attrs){-1}, .note = "last dimension"},
    {.in = {{'f', 2, {4, 5}}, {'i', 2, {7, 2}, .hi = 4}}, .attrs = &(const gather_attrs){0}, .note = "part of x"},
    {.in = {{'f', 1, {1}}, {'i', 1, {3}, .hi = 1}}, .attrs = &(const gather_attrs){0}, .note = "one element"},
    {.in = {{'f', 2, {3, 4}}, {'i', 2, {3, 0}, .hi = 4}}, .attrs = &(const gather_attrs){1}, .note = "nothing"},
};

const asc_op asc_op_gather = {
    .abi = ASC_OP_ABI,
    .name = "gather",
    .equation = "y[a, i, b] = x[a, index[a, i, b], b];  index i64, i along dim",
    .inputs = "x index",
    .n_out = 1,
    .flags = ASC_OP_GATHERS,
    .attrs_size = sizeof(gather_attrs),
    .saves_in = 1u << INDEX,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 4, 128, 128}}, {'i', 4, {32, 4, 128, 16}, .hi = 128}},
                                 .attrs = &(const gather_attrs){-1}},
};

static const asc_sample scatter_samples[] = {
    {.in = {{'f', 3, {2, 4, 3}}, {'i', 3, {2, 6, 3}, .hi = 4}, {'f', 3, {2, 6, 3}}}, .attrs = &(const gather_attrs){1}},
    {.in = {{'f', 2, {3, 5}}, {'i', 2, {3, 2}, .hi = 5}, {'f', 2, {3, 2}}}, .attrs = &(const gather_attrs){-1},
     .note = "last dimension"},
    {.in = {{'f', 2, {4, 5}}, {'i', 2, {7, 2}, .hi = 4}, {'f', 2, {7, 2}}}, .attrs = &(const gather_attrs){0},
     .note = "to a part of x"},
    {.in = {{'f', 1, {3}}, {'i', 1, {3}, .hi = 3}, {'=', .lo = 0}}, .attrs = &(const gather_attrs){0},
     .note = "one tensor to itself"},
    {.in = {{'f', 1, {1}}, {'i', 1, {3}, .hi = 1}, {'f', 1, {3}}}, .attrs = &(const gather_attrs){0},
     .note = "one element"},
    {.in = {{'f', 2, {3, 4}}, {'i', 2, {3, 0}, .hi = 4}, {'f', 2, {3, 0}}}, .attrs = &(const gather_attrs){1},
     .note = "nothing to add"},
};

const asc_op asc_op_scatter_add = {
    .abi = ASC_OP_ABI,
    .name = "scatter_add",
    .equation = "y = x, then y[a, index[a, i, b], b] += src[a, i, b];  index i64, i along dim",
    .inputs = "x index src",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(gather_attrs),
    .saves_in = 1u << INDEX,
    .infer = infer_scatter,
    .forward = forward_scatter,
    .backward = backward_scatter,
    .samples = scatter_samples,
    .n_samples = ASC_COUNT(scatter_samples),
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 4, 128, 128}}, {'i', 4, {32, 4, 128, 16}, .hi = 128},
                                        {'f', 4, {32, 4, 128, 16}}},
                                 .attrs = &(const gather_attrs){-1}},
};

asc_tensor asc_scatter_add(asc_ctx *ctx, asc_tensor x, int dim, asc_tensor index, asc_tensor src)
{
    return asc_apply1(ctx, &asc_op_scatter_add, (asc_tensor[]){x, index, src}, 3, &(gather_attrs){dim});
}

asc_tensor asc_gather(asc_ctx *ctx, asc_tensor x, int dim, asc_tensor index)
{
    return asc_apply1(ctx, &asc_op_gather, (asc_tensor[]){x, index}, 2, &(gather_attrs){dim});
}
