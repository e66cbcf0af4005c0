/* ops/elementwise/select.c: y is a or b, element by element: y = a where w > 0, else b, for a weight w of the two.
 *
 *   where         w = 1 where mask, else 0          maximum, minimum  w = 1 where a is it, 0 where b is, ½ if equal
 *   masked_fill   w = 0 where mask, else 1, b a constant
 *
 *   da = w dy,  db = (1 - w) dy, with NumPy's broadcasting: summed over the repetitions.
 *
 * NaN is larger and smaller than all else. A gradient of weight 0 is 0, also where dy is infinite. */
#include "ops/shared/broadcast.h"

#include <math.h>

enum { A, B, MASK, ARRAYS };
typedef enum kind { WHERE, FILL, MAXIMUM, MINIMUM } kind; /* an op's data */

typedef struct fill_attrs {
    double value;
} fill_attrs;

/* A walk over the output; its arrays: a, b, mask, each NULL where the op has no such input. */
typedef struct job {
    asc_walk walk;
    kind kind;
    const void *a, *b;
    const uint8_t *mask;
    double fill;
    const void *dy; /* backward: the gradient to share out, and for which of a and b */
    int which;
    void *target;
    bool fresh;
} job;

static bool is_extreme(kind kind)
{
    return kind == MAXIMUM || kind == MINIMUM;
}

/* ---- float, and f64.awk makes the same for double ---- */

/* Of a, the larger or the smaller of the two. */
static inline float extreme_weight_f32(kind kind, float a, float b)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) ? 1 : 0;
    }
    return a == b ? (float)0.5 : (a > b) == (kind == MAXIMUM) ? 1 : 0;
}

/* The weight of a, element i of a run. */
static inline float weight_f32(const job *j, const asc_cursor *c, int64_t i)
{
    if (j->kind == WHERE || j->kind == FILL) {
        bool set = j->mask[c->at[MASK] + i * c->step[MASK]] != 0;
        return set == (j->kind == WHERE) ? 1 : 0;
    }
    return extreme_weight_f32(j->kind, ((const float *)j->a)[c->at[A] + i * c->step[A]],
                              ((const float *)j->b)[c->at[B] + i * c->step[B]]);
}

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t from = asc_piece_begin(piece), size = asc_piece_size(piece, j->walk.numel);
    float *y = (float *)j->target + from;
    const float *a = j->a, *b = j->b;
    for (asc_cursor c = asc_cursor_at(&j->walk, from, size); asc_cursor_next(&c); y += c.n) {
        if (is_extreme(j->kind) && c.step[A] == 1 && c.step[B] == 1) {
            asc_kernels_f32()->extreme(y, a + c.at[A], b + c.at[B], j->kind == MAXIMUM, c.n);
            continue;
        }
        for (int64_t i = 0; i < c.n; i++) {
            bool first = weight_f32(j, &c, i) > 0;
            y[i] = first ? a[c.at[A] + i * c.step[A]] : b ? b[c.at[B] + i * c.step[B]] : (float)j->fill;
        }
    }
}

/* The gradient of a run whose arrays lie side by side; false: they don't. */
static bool row_grad_f32(const job *j, const asc_cursor *c, float *target, const float *dy)
{
    if (!is_extreme(j->kind) && c->step[MASK] == 1) {
        bool set = (j->kind == WHERE) == (j->which == A);
        asc_kernels_f32()->select_grad(target, j->mask + c->at[MASK], set, dy, c->n, j->fresh);
        return true;
    }
    if (is_extreme(j->kind) && c->step[A] == 1 && c->step[B] == 1) {
        asc_kernels_f32()->extreme_grad(target, (const float *)j->a + c->at[A], (const float *)j->b + c->at[B], dy,
                                        j->kind == MAXIMUM, j->which == A, c->n, j->fresh);
        return true;
    }
    return false;
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t from = asc_piece_begin(piece), size = asc_piece_size(piece, j->walk.numel);
    const float *dy = (const float *)j->dy + from;
    float *target = (float *)j->target + from;
    for (asc_cursor c = asc_cursor_at(&j->walk, from, size); asc_cursor_next(&c); dy += c.n, target += c.n) {
        if (row_grad_f32(j, &c, target, dy)) {
            continue;
        }
        for (int64_t i = 0; i < c.n; i++) {
            float w = weight_f32(j, &c, i), share = j->which == A ? w : 1 - w, g = share == 0 ? 0 : share * dy[i];
            target[i] = j->fresh ? g : target[i] + g;
        }
    }
}

/* ---- end of float ---- */
#include "ops/elementwise/select.f64.h"

static kind kind_of(const asc_call *call)
{
    return *(const kind *)call->op->data;
}

/* Input number of array i of a job, -1: the op has none. */
static int input_of(kind kind, int i)
{
    static const int inputs[][ARRAYS] = {
        [WHERE] = {[A] = 1, [B] = 2, [MASK] = 0},
        [FILL] = {[A] = 0, [B] = -1, [MASK] = 1},
        [MAXIMUM] = {[A] = 0, [B] = 1, [MASK] = -1},
        [MINIMUM] = {[A] = 0, [B] = 1, [MASK] = -1},
    };
    return inputs[kind][i];
}

static asc_status infer(asc_call *call)
{
    asc_array y;
    int a = input_of(kind_of(call), A), b = input_of(kind_of(call), B), mask = input_of(kind_of(call), MASK);
    if (asc_expect_floating(call, a) || asc_expect_floating(call, b) || asc_expect_broadcast(call, a, b, &y)) {
        return ASC_ERR_ARG;
    }
    if (mask >= 0) {
        if (call->in[mask].dtype != ASC_U8) {
            return asc_call_expect(call, mask, "u8");
        }
        asc_array both = y;
        if (asc_expect_broadcast_with(call, &both, mask, &y)) {
            return ASC_ERR_ARG;
        }
    }
    return asc_call_output(call, 0, y.dtype, y.ndim, y.shape);
}

static asc_status infer_fill(asc_call *call)
{
    const asc_array *x = &call->in[0], *mask = &call->in[1];
    if (asc_expect_floating(call, 0)) {
        return ASC_ERR_ARG;
    }
    if (mask->dtype != ASC_U8 || !asc_broadcasts_to(mask, x)) {
        char text[ASC_SHAPE_TEXT];
        return asc_call_expect(call, 1, "u8 of a shape that broadcasts to %s", asc_shape_text(x, text));
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

/* A job over an array of the output's shape. */
static job open_job(const asc_call *call, const asc_array *y)
{
    job j = {.kind = kind_of(call)};
    int64_t stride[ARRAYS][ASC_MAX_DIMS] = {{0}};
    const void *data[ARRAYS] = {NULL};
    for (int i = 0; i < ARRAYS; i++) {
        int input = input_of(j.kind, i);
        if (input >= 0) {
            asc_broadcast_strides(&call->in[input], y->ndim, y->shape, stride[i]);
            data[i] = call->in[input].data;
        }
    }
    j.walk = asc_walk_over(ARRAYS, (const int64_t *[]){stride[A], stride[B], stride[MASK]}, y->ndim, y->shape);
    j.a = data[A];
    j.b = data[B];
    j.mask = data[MASK];
    j.fill = j.kind == FILL ? ((const fill_attrs *)call->attrs)->value : 0;
    return j;
}

static asc_status forward(asc_call *call)
{
    const asc_array *y = &call->out[0];
    job j = open_job(call, y);
    j.target = y->data;
    asc_parallel(call->ctx, asc_pieces(y->numel), BY_DTYPE(y->dtype, forward_piece), &j);
    return ASC_OK;
}

static asc_status add_gradient(asc_call *call, int which)
{
    const asc_array *dy = &call->grad_out[0];
    job j = open_job(call, dy);
    j.which = which;
    j.dy = dy->data;
    j.target = asc_broadcast_gradient(call, input_of(j.kind, which), &j.fresh);
    if (!j.target) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, asc_pieces(dy->numel), BY_DTYPE(dy->dtype, backward_piece), &j);
    return asc_broadcast_finish(call, input_of(j.kind, which), j.target);
}

static asc_status backward(asc_call *call)
{
    asc_status status = ASC_OK;
    for (int i = A; i <= B && !status; i++) {
        int input = input_of(kind_of(call), i);
        status = input >= 0 && call->grad_in[input].data ? add_gradient(call, i) : ASC_OK;
    }
    return status;
}

/* ---- descriptors ---- */

static const asc_sample where_samples[] = {
    {.in = {{'b', 2, {3, 4}}, {'f', 2, {3, 4}}, {'f', 2, {3, 4}}}},
    {.in = {{'b', 2, {3, 1}}, {'f', 3, {2, 1, 4}}, {'f', 1, {1}}}, .note = "all repeated"},
    {.in = {{'b', 1, {5}}, {'f', 0}, {'f', 0}}, .note = "scalars, by the mask"},
    {.in = {{'b', 1, {1}}, {'f', 1, {5}}, {'=', .lo = 1}}, .note = "the same tensor twice"},
    {.in = {{'b', 0}, {'f', 2, {0, 3}}, {'f', 1, {3}}}, .note = "nothing"},
};

static const asc_sample fill_samples[] = {
    {.in = {{'f', 2, {3, 4}}, {'b', 2, {3, 4}}}, .attrs = &(const fill_attrs){-1.5}},
    {.in = {{'f', 3, {2, 3, 4}}, {'b', 2, {3, 1}}}, .attrs = &(const fill_attrs){2}, .note = "the mask repeated"},
    {.in = {{'f', 0}, {'b', 0}}, .attrs = &(const fill_attrs){0}, .note = "a scalar"},
    {.in = {{'f', 2, {0, 3}}, {'b', 1, {3}}}, .attrs = &(const fill_attrs){0}, .note = "nothing"},
};

/* The two are apart: their kink is where they meet. */
static const asc_sample large = {.in = {{'f', 3, {32, 128, 1024}}, {'f', 3, {32, 128, 1024}}}};
static const asc_sample extreme_samples[] = {
    {.in = {{'u', 2, {3, 4}, -2, 2, .away = .5}, {'u', 2, {3, 4}, -.25, .25}}},
    {.in = {{'u', 3, {2, 1, 4}, -2, 2, .away = .5}, {'u', 2, {3, 1}, -.25, .25}}, .note = "both repeated"},
    {.in = {{'u', 2, {2, 3}, -2, 2, .away = .5}, {'u', 0, {0}, -.25, .25}}, .note = "a scalar"},
    {.in = {{'u', 2, {1, 1}, -.25, .25}, {'u', 1, {1}, 1, 2}}, .note = "length 1"},
    {.in = {{'f', 1, {5}}, {'=', .lo = 0}}, .note = "the same tensor twice"},
    {.in = {{'f', 2, {0, 3}}, {'f', 1, {3}}}, .note = "nothing"},
};

#define SELECT(kind_of_op, infer_inputs, domain)                                                                       \
    .abi = ASC_OP_ABI, .n_out = 1, .flags = ASC_OP_STRIDED | ASC_OP_FRESH, .infer = infer_inputs, .forward = forward,  \
    .backward = backward, .samples = domain, .n_samples = ASC_COUNT(domain), .data = &(const kind){kind_of_op}

const asc_op asc_op_where = {
    SELECT(WHERE, infer, where_samples),
    .name = "where",
    .equation = "y = a where mask, else b, broadcasting",
    .inputs = "mask a b",
    .bench = &(const asc_sample){.in = {{'b', 2, {128, 128}}, {'f', 4, {32, 4, 128, 128}},
                                        {'f', 4, {32, 4, 128, 128}}}},
    .saves_in = 1u << 0,
};

const asc_op asc_op_masked_fill = {
    SELECT(FILL, infer_fill, fill_samples),
    .name = "masked_fill",
    .equation = "y = value where mask, else x;  mask broadcasts to x",
    .inputs = "x mask",
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 4, 128, 128}}, {'b', 2, {128, 128}}},
                                 .attrs = &(const fill_attrs){-1e9}},
    .attrs_size = sizeof(fill_attrs),
    .saves_in = 1u << 1,
};

const asc_op asc_op_maximum = {
    SELECT(MAXIMUM, infer, extreme_samples),
    .name = "maximum",
    .equation = "y = max(a, b), broadcasting; equal ones share the gradient",
    .inputs = "a b",
    .bench = &large,
    .saves_in = 1u << A | 1u << B,
};

const asc_op asc_op_minimum = {
    SELECT(MINIMUM, infer, extreme_samples),
    .name = "minimum",
    .equation = "y = min(a, b), broadcasting; equal ones share the gradient",
    .inputs = "a b",
    .bench = &large,
    .saves_in = 1u << A | 1u << B,
};

asc_tensor asc_where(asc_ctx *ctx, asc_tensor mask, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_where, (asc_tensor[]){mask, a, b}, 3, NULL);
}

asc_tensor asc_masked_fill(asc_ctx *ctx, asc_tensor x, asc_tensor mask, double value)
{
    return asc_apply1(ctx, &asc_op_masked_fill, (asc_tensor[]){x, mask}, 2, &(fill_attrs){value});
}

asc_tensor asc_maximum(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_maximum, (asc_tensor[]){a, b}, 2, NULL);
}

asc_tensor asc_minimum(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_minimum, (asc_tensor[]){a, b}, 2, NULL);
}
