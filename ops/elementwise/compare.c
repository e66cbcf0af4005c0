/* ops/elementwise/compare.c: element by element y = 1 where a ∘ b, else 0, as u8, with NumPy's broadcasting.
 *
 *   equal  a = b     not_equal  a ≠ b     less  a < b     less_equal  a ≤ b
 *
 * Any dtype, the same for both. A NaN is not equal to, less than or greater than anything. No gradient. */
#include "ops/shared/broadcast.h"

typedef enum relation { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 } relation; /* of a to b, as bits */

typedef struct job {
    asc_walk walk;
    asc_dtype dtype;
    const void *a, *b;
    unsigned holds; /* for which relations y is 1 */
    uint8_t *y;
} job;

static relation relate(asc_dtype dtype, const void *a, int64_t i, const void *b, int64_t j)
{
    if (dtype == ASC_I64) { /* a double does not hold all of them */
        int64_t x = ((const int64_t *)a)[i], y = ((const int64_t *)b)[j];
        return x < y ? LESS : x > y ? GREATER : EQUAL;
    }
    if (dtype == ASC_U8) {
        int x = ((const uint8_t *)a)[i], y = ((const uint8_t *)b)[j];
        return x < y ? LESS : x > y ? GREATER : EQUAL;
    }
    double x = asc_element(dtype, a, i), y = asc_element(dtype, b, j);
    return x < y ? LESS : x > y ? GREATER : x == y ? EQUAL : UNORDERED;
}

/* A run of floats side by side, by a row primitive; false: it is none. */
static bool relate_row(const job *j, const asc_cursor *c, uint8_t *y)
{
    bool less = (j->holds & LESS) != 0, equal = (j->holds & EQUAL) != 0;
    bool greater = (j->holds & GREATER) != 0, unordered = (j->holds & UNORDERED) != 0;
    if (c->step[0] != 1 || c->step[1] != 1 || (j->dtype != ASC_F32 && j->dtype != ASC_F64)) {
        return false;
    }
    if (j->dtype == ASC_F32) {
        asc_kernels_f32()->relate(y, (const float *)j->a + c->at[0], (const float *)j->b + c->at[1], less, equal,
                                  greater, unordered, c->n);
    } else {
        asc_kernels_f64()->relate(y, (const double *)j->a + c->at[0], (const double *)j->b + c->at[1], less, equal,
                                  greater, unordered, c->n);
    }
    return true;
}

static void piece(void *arg, int64_t number, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t from = asc_piece_begin(number), size = asc_piece_size(number, j->walk.numel);
    uint8_t *y = j->y + from;
    for (asc_cursor c = asc_cursor_at(&j->walk, from, size); asc_cursor_next(&c); y += c.n) {
        if (relate_row(j, &c, y)) {
            continue;
        }
        for (int64_t i = 0; i < c.n; i++) {
            y[i] = (j->holds & relate(j->dtype, j->a, c.at[0] + i * c.step[0], j->b, c.at[1] + i * c.step[1])) != 0;
        }
    }
}

static asc_status infer(asc_call *call)
{
    asc_array y;
    if (call->in[1].dtype != call->in[0].dtype) {
        return asc_call_expect(call, 1, "%s, as a", asc_dtype_name(call->in[0].dtype));
    }
    if (asc_expect_broadcast(call, 0, 1, &y)) {
        return ASC_ERR_ARG;
    }
    return asc_call_output(call, 0, ASC_U8, y.ndim, y.shape);
}

static asc_status forward(asc_call *call)
{
    const asc_array *y = &call->out[0];
    int64_t stride[2][ASC_MAX_DIMS] = {{0}};
    for (int i = 0; i < 2; i++) {
        asc_broadcast_strides(&call->in[i], y->ndim, y->shape, stride[i]);
    }
    job j = {.walk = asc_walk_over(2, (const int64_t *[]){stride[0], stride[1]}, y->ndim, y->shape),
             .dtype = call->in[0].dtype, .a = call->in[0].data, .b = call->in[1].data,
             .holds = *(const unsigned *)call->op->data, .y = y->data};
    asc_parallel(call->ctx, asc_pieces(y->numel), piece, &j);
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'i', 2, {3, 4}, 0, 3}, {'i', 2, {3, 4}, 0, 3}}},
    {.in = {{'f', 3, {2, 1, 4}}, {'f', 2, {3, 1}}}, .note = "both repeated"},
    {.in = {{'f', 0}, {'f', 1, {0}}}, .note = "nothing"},
};
static const asc_sample large = {.in = {{'f', 3, {32, 128, 1024}}, {'f', 3, {32, 128, 1024}}}};

#define COMPARE(relations)                                                                                             \
    .abi = ASC_OP_ABI, .inputs = "a b", .n_out = 1, .flags = ASC_OP_STRIDED, .infer = infer, .forward = forward,       \
    .samples = samples, .n_samples = ASC_COUNT(samples), .bench = &large, .data = &(const unsigned){relations}

const asc_op asc_op_equal = {
    COMPARE(EQUAL),
    .name = "equal",
    .equation = "y = 1 where a = b, else 0, broadcasting",
};

const asc_op asc_op_not_equal = {
    COMPARE(LESS | GREATER | UNORDERED),
    .name = "not_equal",
    .equation = "y = 1 where a is not b, else 0, broadcasting",
};

const asc_op asc_op_less = {
    COMPARE(LESS),
    .name = "less",
    .equation = "y = 1 where a < b, else 0, broadcasting",
};

const asc_op asc_op_less_equal = {
    COMPARE(LESS | EQUAL),
    .name = "less_equal",
    .equation = "y = 1 where a <= b, else 0, broadcasting",
};

asc_tensor asc_equal(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_equal, (asc_tensor[]){a, b}, 2, NULL);
}

asc_tensor asc_not_equal(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_not_equal, (asc_tensor[]){a, b}, 2, NULL);
}

asc_tensor asc_less(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_less, (asc_tensor[]){a, b}, 2, NULL);
}

asc_tensor asc_less_equal(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_less_equal, (asc_tensor[]){a, b}, 2, NULL);
}
