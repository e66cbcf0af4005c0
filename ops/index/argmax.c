/* ops/index/argmax.c: where the largest entry stands along a dimension.
 *
 *   y = min {i : x_i ≥ x_j for all j},  a NaN being larger than all else, as in max.  No gradient. */
#include <math.h>

#include "ops/shared/op.h"

typedef struct argmax_attrs {
    int32_t dim;
    int32_t unused; /* attributes are compared as bytes */
} argmax_attrs;

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    int64_t shape[ASC_MAX_DIMS];
    int dim = asc_expect_dim(call, 0, ((const argmax_attrs *)call->attrs)->dim), n = 0;
    if (dim < 0) {
        return ASC_ERR_ARG;
    }
    if (x->shape[dim] < 1) {
        return asc_call_expect(call, 0, "at least one entry along dimension %d", dim);
    }
    for (int d = 0; d < x->ndim; d++) {
        if (d != dim) {
            shape[n++] = x->shape[d];
        }
    }
    return asc_call_output(call, 0, ASC_I64, n, shape);
}

/* Whether entry i comes before j: whole numbers of 64 bits are no doubles. */
static bool is_above(const asc_array *x, int64_t i, int64_t j)
{
    if (x->dtype == ASC_I64) {
        return ((const int64_t *)x->data)[i] > ((const int64_t *)x->data)[j];
    }
    if (x->dtype == ASC_U8) {
        return ((const uint8_t *)x->data)[i] > ((const uint8_t *)x->data)[j];
    }
    double a = asc_element(x->dtype, x->data, i), b = asc_element(x->dtype, x->data, j);
    return a > b || (isnan(a) && !isnan(b));
}

typedef struct job {
    const asc_array *x;
    int64_t rows, n, inner; /* x is [rows/inner, n, inner] */
    int64_t *y;
} job;

static void piece(void *arg, int64_t number, int worker)
{
    (void)worker;
    const job *j = arg;
    asc_range range = asc_piece_rows(number, j->rows, j->n);
    for (int64_t r = range.first; r < range.end; r++) {
        int64_t first = r / j->inner * j->n * j->inner + r % j->inner, top = 0;
        for (int64_t i = 1; i < j->n; i++) {
            top = is_above(j->x, first + i * j->inner, first + top * j->inner) ? i : top;
        }
        j->y[r] = top;
    }
}

static asc_status forward(asc_call *call)
{
    const asc_array *x = &call->in[0];
    int dim = ((const argmax_attrs *)call->attrs)->dim;
    dim += dim < 0 ? x->ndim : 0;
    job j = {.x = x, .rows = call->out[0].numel, .n = x->shape[dim], .inner = 1, .y = call->out[0].data};
    for (int d = dim + 1; d < x->ndim; d++) {
        j.inner *= x->shape[d];
    }
    asc_parallel(call->ctx, asc_row_pieces(j.rows, j.n), piece, &j);
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 2, {3, 5}}}, .attrs = &(const argmax_attrs){.dim = -1}},
    {.in = {{'i', 3, {2, 4, 3}, 0, 3}}, .attrs = &(const argmax_attrs){.dim = 1},
     .note = "equal ones, a middle dimension"},
    {.in = {{'f', 2, {0, 2}}}, .attrs = &(const argmax_attrs){.dim = 1}, .note = "nothing"},
};

const asc_op asc_op_argmax = {
    .abi = ASC_OP_ABI,
    .name = "argmax",
    .equation = "y = where x is largest along a dimension, the first of equals",
    .inputs = "x",
    .n_out = 1,
    .attrs_size = sizeof(argmax_attrs),
    .infer = infer,
    .forward = forward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 2, {4096, 1024}}}, .attrs = &(const argmax_attrs){.dim = -1}},
};

asc_tensor asc_argmax(asc_ctx *ctx, asc_tensor x, int dim)
{
    return asc_apply1(ctx, &asc_op_argmax, &x, 1, &(argmax_attrs){.dim = dim});
}

double asc_accuracy(asc_ctx *ctx, asc_tensor logits, asc_tensor targets)
{
    if (asc_need_tensor(ctx, targets, "accuracy", "targets")) {
        return NAN;
    }
    asc_tensor found = asc_argmax(ctx, logits, -1), wanted = asc_contiguous(ctx, targets);
    asc_array f = asc_array_of(found), w = asc_array_of(wanted);
    if (!asc_error(ctx) && (w.dtype != ASC_I64 || !asc_same_shape(&f, &w))) {
        char text[2][ASC_SHAPE_TEXT];
        asc_fail(ctx, ASC_ERR_ARG, "accuracy: targets are %s %s, expected i64 %s", asc_dtype_name(w.dtype),
                 asc_shape_text(&w, text[0]), asc_shape_text(&f, text[1]));
    }
    int64_t right = 0, all = 0;
    for (int64_t i = 0; !asc_error(ctx) && i < w.numel; i++) {
        int64_t target = ((const int64_t *)w.data)[i];
        all += target >= 0;
        right += target >= 0 && target == ((const int64_t *)f.data)[i];
    }
    asc_release(found);
    if (!asc_is_same(wanted, targets)) {
        asc_release(wanted);
    }
    return all > 0 ? (double)right / (double)all : NAN;
}
