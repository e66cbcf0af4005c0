/* tests/autograd/test_calls.c: ops of one's own, the checks for values that are not finite, and what results may depend
 * on: neither threads nor what else has run. */
#include <math.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "tests/autograd/ops.h"
#include "tests/threads.h"

/* ---- an op of one's own: y = x^n, whole; z = Σ x, if asked for ---- */

typedef struct power_attrs {
    int n;
} power_attrs;

static asc_status power_infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    if (x->dtype != ASC_F64) {
        return asc_call_expect(call, 0, "f64");
    }
    if (asc_call_save(call, 0, ASC_F64, x->ndim, x->shape) || asc_call_output(call, 1, ASC_F64, 0, NULL)) {
        return ASC_ERR_MEMORY;
    }
    return asc_call_output(call, 0, ASC_F64, x->ndim, x->shape);
}

/* Saves the derivative. */
static asc_status power_forward(asc_call *call)
{
    const double *x = call->in[0].data;
    double *y = call->out[0].data, *sum = call->out[1].data, *derivative = call->saved[0].data;
    int n = ((const power_attrs *)call->attrs)->n;
    *sum = 0;
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        y[i] = pow(x[i], n);
        derivative[i] = n * pow(x[i], n - 1);
        *sum += x[i];
    }
    return ASC_OK;
}

static int backward_calls;

static asc_status power_backward(asc_call *call)
{
    const double *dy = call->grad_out[0].data, *dsum = call->grad_out[1].data, *derivative = call->saved[0].data;
    double *dx = call->grad_in[0].data;
    backward_calls++;
    ck_assert_ptr_null(call->in[0].data); /* neither is saved */
    ck_assert_ptr_null(call->out[0].data);
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        dx[i] += (dy ? dy[i] * derivative[i] : 0) + (dsum ? *dsum : 0);
    }
    return ASC_OK;
}

static const asc_op power_op = {
    .abi = ASC_OP_ABI,
    .name = "test_power",
    .equation = "y = x^n, z = Σ x",
    .inputs = "x",
    .n_out = 2,
    .attrs_size = sizeof(power_attrs),
    .infer = power_infer,
    .forward = power_forward,
    .backward = power_backward,
};

START_TEST(an_op_of_ones_own)
{
    ck_assert_int_eq(asc_op_register(ctx, &power_op), ASC_OK);
    ck_assert_ptr_eq(asc_op_find(ctx, "test_power"), &power_op);
    asc_tensor x = asc_full(ctx, ASC_F64, 2, ASC_SHAPE(1)), out[2];
    asc_require_grad(x, true);
    backward_calls = 0;
    for (int o = 0; o < 2; o++) { /* a gradient for one output only */
        ck_assert_int_eq(asc_apply(ctx, &power_op, &x, 1, &(power_attrs){3}, out), ASC_OK);
        ck_assert_int_eq(asc_backward(ctx, out[o], asc_null(), false), ASC_OK);
        ck_assert_double_eq(asc_item(asc_grad(x)), o == 0 ? 12 : 13);
    }
    ck_assert_int_eq(backward_calls, 2);
}
END_TEST

/* y = a x, with a of the descriptor. */
static asc_status times_infer(asc_call *call)
{
    return asc_call_output(call, 0, ASC_F64, call->in[0].ndim, call->in[0].shape);
}

static asc_status times_forward(asc_call *call)
{
    *(double *)call->out[0].data = *(const double *)call->op->data * *(const double *)call->in[0].data;
    return ASC_OK;
}

static asc_status times_backward(asc_call *call)
{
    *(double *)call->grad_in[0].data += *(const double *)call->op->data * *(const double *)call->grad_out[0].data;
    return ASC_OK;
}

#define TIMES(factor)                                                                                                  \
    .abi = ASC_OP_ABI, .equation = "y = a x", .inputs = "x", .n_out = 1, .infer = times_infer,                         \
    .forward = times_forward, .backward = times_backward, .data = &(const double){factor}
static const asc_op twice_op = {TIMES(2), .name = "test_twice"}, thrice_op = {TIMES(3), .name = "test_thrice"};

START_TEST(ops_share_functions_and_differ_in_data)
{
    asc_tensor x = asc_full(ctx, ASC_F64, 5, 0, NULL);
    asc_require_grad(x, true);
    asc_tensor y = asc_apply1(ctx, &thrice_op, (asc_tensor[]){asc_apply1(ctx, &twice_op, &x, 1, NULL)}, 1, NULL);
    ck_assert_double_eq(asc_item(y), 30);
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_OK);
    ck_assert_double_eq(asc_item(asc_grad(x)), 6);
}
END_TEST

/* "w x ..." is called with w and one x at least, "w x? ..." with w. */
START_TEST(a_last_input_that_repeats)
{
    asc_op op = twice_op;
    asc_tensor in[3];
    for (int i = 0; i < 3; i++) {
        in[i] = asc_full(ctx, ASC_F64, 5, 0, NULL);
    }
    op.inputs = "w x ...";
    ck_assert(asc_is_null(asc_apply1(ctx, &op, in, 1, NULL)));
    expect_error(ASC_ERR_ARG, "test_twice: 1 inputs, expected 2 to 32");
    ck_assert(!asc_is_null(asc_apply1(ctx, &op, in, 2, NULL)) && !asc_is_null(asc_apply1(ctx, &op, in, 3, NULL)));
    op.inputs = "w x? ...";
    ck_assert(!asc_is_null(asc_apply1(ctx, &op, in, 1, NULL)));
    op.inputs = "x? ...";
    ck_assert(asc_is_null(asc_apply1(ctx, &op, in, 0, NULL)));
    expect_error(ASC_ERR_ARG, "test_twice: 0 inputs, expected 1 to 32");
    no_error();
}
END_TEST

START_TEST(the_librarys_ops_by_name)
{
    ck_assert_ptr_nonnull(asc_op_at(0));
    for (int i = 0; asc_op_at(i); i++) {
        ck_assert_ptr_eq(asc_op_find(ctx, asc_op_at(i)->name), asc_op_at(i));
    }
    ck_assert_ptr_null(asc_op_find(ctx, "no_such_op"));
    ck_assert_ptr_null(asc_op_at(-1));
    ck_assert_ptr_null(asc_op_at(1000000));
}
END_TEST

START_TEST(registering_errors)
{
    ck_assert_int_eq(asc_op_register(ctx, &power_op), ASC_OK);
    ck_assert_int_eq(asc_op_register(ctx, &power_op), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "test_power: there is an op of this name");
    ck_assert_int_eq(asc_op_register(ctx, NULL), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "op_register: op is NULL");
    asc_op op = power_op;
    op.name = "embedding";
    asc_op_register(ctx, &op);
    expect_error_with(ASC_ERR_ARG, "embedding: there is an op of this name");
    op.name = "other";
    op.abi = ASC_OP_ABI + 1;
    asc_op_register(ctx, &op);
    expect_error_with(ASC_ERR_ARG, "expected 3");
    op.abi = ASC_OP_ABI;
    op.forward = NULL;
    asc_op_register(ctx, &op);
    expect_error_with(ASC_ERR_ARG, "other: name, equation, inputs, infer and forward are needed");
    op.forward = power_forward;
    op.inputs = "a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb cc dd ee ff gg";
    asc_op_register(ctx, &op);
    expect_error_with(ASC_ERR_ARG, "33 inputs");
    op.inputs = "x";
    op.attrs_size = 1025;
    asc_op_register(ctx, &op);
    expect_error_with(ASC_ERR_ARG, "1025 bytes of attributes");
    ck_assert_ptr_null(asc_op_find(ctx, "other"));
}
END_TEST

#define OP(...) {.abi = ASC_OP_ABI, .name = "odd", .equation = "y = x", .n_out = 1, .infer = power_infer,  \
                         .forward = power_forward, __VA_ARGS__}
#define SAMPLE(...) .inputs = "x? y? z?", .n_samples = 2, \
                    .samples = (const asc_sample[]){{.in = {{.kind = 'f'}}}, {.in = {{0}, __VA_ARGS__}}}

static const struct {
    asc_op op;
    const char *says; /* NULL: nothing is wrong */
} odd[] = {
    {OP(.inputs = ""), NULL},
    {OP(.inputs = " x  y? "), NULL},
    {OP(.inputs = "x y? ..."), NULL},
    {OP(.inputs = "x..."), "odd: inputs is \"x...\", expected names with blanks between"},
    {OP(.inputs = "... x"), "inputs is \"... x\""},
    {OP(.inputs = "..."), "inputs is \"...\""},
    {OP(.inputs = "x ... y"), "inputs is \"x ... y\""},
    {OP(.inputs = "x ... ..."), "inputs is \"x ... ...\""},
    {OP(.inputs = "x ...?"), "inputs is \"x ...?\""},
    {OP(.inputs = "x .."), "inputs is \"x ..\""},
    {OP(.inputs = "?"), "inputs is \"?\""},
    {OP(.inputs = "x ? y"), "inputs is \"x ? y\""},
    {OP(.inputs = "?x"), "inputs is \"?x\""},
    {OP(.inputs = "x??"), "inputs is \"x??\""},
    {OP(.inputs = "x\ty"), "inputs is \"x\ty\""},
    {OP(.inputs = "x y", .saves_in = 3, .saves_out = 1, .no_grad_out = 1), NULL},
    {OP(.inputs = "x y", .saves_in = 4), "odd: saves_in is 0x4, expected at most 0x3, a bit for each input"},
    {OP(.inputs = "", .saves_in = 1), "saves_in is 0x1, expected at most 0x0"},
    {OP(.inputs = "x ...", .saves_in = 1), NULL},
    {OP(.inputs = "x ...", .saves_in = 2), "saves_in is 0x2, expected at most 0x1, a bit for all of the inputs"},
    {OP(.inputs = "x", .saves_out = 2), "saves_out is 0x2, expected at most 0x1, a bit for each output"},
    {OP(.inputs = "x", .no_grad_out = 6), "no_grad_out is 0x6, expected at most 0x1"},
    {OP(SAMPLE({.kind = 'u', .ndim = 1, .shape = {3}, .lo = -1, .hi = -1}, {.kind = '=', .lo = 1})), NULL},
    {OP(SAMPLE({.kind = 'u', .ndim = 1, .shape = {3}, .lo = 2, .hi = 1})),
     "odd: sample 1: y has lo 2 and hi 1, expected numbers"},
    {OP(SAMPLE({.kind = 'i', .ndim = 1, .shape = {3}, .lo = 2, .hi = 1})), "sample 1: y has lo 2 and hi 1"},
    {OP(SAMPLE({.kind = 'u', .ndim = 1, .shape = {3}, .lo = NAN, .hi = 1})), "sample 1: y has lo nan and hi 1"},
    {OP(SAMPLE({.kind = 'u', .ndim = 1, .shape = {3}, .hi = INFINITY})), "sample 1: y has lo 0 and hi inf"},
    {OP(SAMPLE({.kind = 'b', .ndim = 1, .shape = {3}, .hi = NAN})), "sample 1: y has hi nan, expected a probability"},
    {OP(SAMPLE({.kind = 'f', .ndim = 1, .shape = {3}, .away = NAN})), "sample 1: y has kink 0 and away nan"},
    {OP(SAMPLE({.kind = 'f', .ndim = 2, .shape = {3, -1}})),
     "odd: sample 1: y is (3, -1), expected sizes of at least 0"},
    {OP(SAMPLE({.kind = 'f', .ndim = -1})), "sample 1: y has -1 dimensions, expected 0 to 8"},
    {OP(SAMPLE({.kind = 'f', .ndim = 9})), "sample 1: y has 9 dimensions"},
    {OP(SAMPLE({.kind = '=', .ndim = 3000})), "sample 1: y has 3000 dimensions"},
    {OP(SAMPLE({.ndim = 3000})), "sample 1: y has 3000 dimensions"},
    {OP(SAMPLE({.kind = 'i', .ndim = 1, .shape = {3}, .hi = 1e300})),
     "sample 1: y has lo 0 and hi 1e+300, expected whole numbers of at most 2^53"},
    {OP(SAMPLE({.kind = 'x'})), "sample 1: y has kind 'x', expected f, u, i, b or ="},
    {OP(SAMPLE({.kind = '=', .lo = 1})), "sample 1: y is to be the same as input 1, expected one before it"},
    {OP(SAMPLE({.kind = '=', .lo = NAN})), "sample 1: y is to be the same as input nan"},
    {OP(SAMPLE({.kind = 'f'}, {.kind = 'f'}, {.kind = 'f'})), "sample 1: input 3 is given, expected at most 3 inputs"},
    {OP(.inputs = "x", .bench = &(const asc_sample){.in = {{.kind = 'f', .ndim = 1, .shape = {-2}}}}),
     "odd: bench: x is (-2), expected"},
};

START_TEST(registering_odd_descriptors)
{
    ck_assert_int_eq(asc_op_register(ctx, &odd[_i].op), odd[_i].says ? ASC_ERR_ARG : ASC_OK);
    if (odd[_i].says) {
        expect_error_with(ASC_ERR_ARG, odd[_i].says);
    }
}
END_TEST

/* A descriptor that is called, or checked, without being registered is looked at, too. */
START_TEST(unsound_descriptors)
{
    asc_tensor x = asc_zeros(ctx, ASC_F64, ASC_SHAPE(3)), out[ASC_MAX_OUT];
    asc_op unsound[7];
    for (int i = 0; i < 7; i++) {
        unsound[i] = twice_op;
    }
    unsound[0].abi = 0;
    unsound[1].infer = NULL;
    unsound[2].forward = NULL;
    unsound[3].inputs = NULL;
    unsound[4].n_out = ASC_MAX_OUT + 1;
    unsound[5].n_out = 0;
    unsound[6].name = NULL;
    for (int i = 0; i < 7; i++) {
        ck_assert_int_eq(asc_apply(ctx, &unsound[i], &x, 1, NULL, out), ASC_ERR_ARG);
        ck_assert(asc_is_null(out[0]));
        expect_error_with(ASC_ERR_ARG, "apply: ");
    }
}
END_TEST

/* ---- a view of an input that need not be there: every `stride`-th of its elements from `offset` on, n of them ---- */

typedef struct look_attrs {
    int64_t offset, n, stride;
} look_attrs;

static asc_status look_infer(asc_call *call)
{
    const look_attrs *a = call->attrs;
    return asc_call_view(call, a->offset, 1, &a->n, &a->stride);
}

static asc_status look_forward(asc_call *call)
{
    (void)call;
    return ASC_OK;
}

static const asc_op look = {
    .abi = ASC_OP_ABI,
    .name = "look",
    .equation = "y_i = x[offset + stride i]",
    .inputs = "x?",
    .n_out = 1,
    .flags = ASC_OP_VIEW,
    .attrs_size = sizeof(look_attrs),
    .infer = look_infer,
    .forward = look_forward,
};

START_TEST(view_of_nothing)
{
    asc_tensor none = asc_null();
    ck_assert(asc_is_null(asc_apply1(ctx, &look, &none, 1, &(look_attrs){0, 1, 1})));
    expect_error_with(ASC_ERR_ARG, "look: infer declares a view of input 0, which is absent");
}
END_TEST

START_TEST(view_beyond_its_input)
{
    asc_tensor x = asc_zeros(ctx, ASC_F64, ASC_SHAPE(6));
    static const look_attrs within[] = {{0, 6, 1}, {5, 1, INT64_MAX}, {1, 3, 2}, {5, 100, 0}, {0, 0, 1}};
    static const look_attrs beyond[] = {{1, 6, 1}, {-1, 2, 1}, {0, 3, 3}, {6, 1, 1}, {5, 2, -1}, {0, 3, INT64_MAX},
                                        {INT64_MAX, 1, 1}, {INT64_MAX, 0, 1}};
    for (size_t i = 0; i < sizeof within / sizeof *within; i++) {
        ck_assert(asc_is_valid(asc_apply1(ctx, &look, &x, 1, &within[i])));
    }
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        ck_assert(asc_is_null(asc_apply1(ctx, &look, &x, 1, &beyond[i])));
        expect_error_with(ASC_ERR_ARG, "look: infer declares a view beyond its input, f64 (6)");
    }
}
END_TEST

/* ---- values that are not finite ---- */

START_TEST(nan_check_of_outputs)
{
    asc_tensor huge = asc_from(ctx, ASC_F64, (double[]){1, 1e200, 1}, ASC_SHAPE(3));
    ck_assert(asc_is_valid(mul(ctx, huge, huge)));
    asc_set_nan_check(ctx, true);
    asc_set_label(ctx, "layers.2.ffn");
    ck_assert(asc_is_null(mul(ctx, huge, huge)));
    expect_error_with(ASC_ERR_NONFINITE, "layers.2.ffn: test_mul: output 0 (3) has inf at element 1");
    asc_set_label(ctx, NULL);
    mul(ctx, huge, huge);
    ck_assert_int_eq(strncmp(asc_error_message(ctx), "test_mul: output 0", 18), 0);
    asc_error_clear(ctx);
    asc_tensor none = asc_full(ctx, ASC_F64, copysign(NAN, -1), 0, NULL);
    mul(ctx, none, none);
    expect_error_with(ASC_ERR_NONFINITE, "test_mul: output 0 () has nan at element 0");
    asc_set_nan_check(ctx, false);
    ck_assert(asc_is_valid(mul(ctx, huge, huge)));
}
END_TEST

/* Of what a view shows, and of nothing between or behind it. */
START_TEST(nan_check_of_views)
{
    double two[] = {1, NAN};
    asc_tensor one = asc_wrap(ctx, ASC_F64, two, ASC_SHAPE(1), NULL, NULL, NULL);
    asc_tensor x = asc_from(ctx, ASC_F64, (double[]){1, INFINITY, 2, 3, 4, 5}, ASC_SHAPE(2, 3));
    asc_set_nan_check(ctx, true);
    ck_assert(asc_is_valid(asc_expand(ctx, one, ASC_SHAPE(2))));
    ck_assert(asc_is_valid(asc_slice(ctx, x, 1, 0, ASC_SLICE_END, 2)));
    ck_assert(asc_is_null(asc_transpose(ctx, x, 0, 1)));
    expect_error_with(ASC_ERR_NONFINITE, "permute: output 0 (3, 2) has inf at element 2");
}
END_TEST

START_TEST(nan_check_of_gradients)
{
    asc_tensor x = asc_full(ctx, ASC_F64, 1e-200, 0, NULL), c = asc_full(ctx, ASC_F64, 1e200, 0, NULL);
    asc_require_grad(x, true);
    asc_set_nan_check(ctx, true);
    asc_set_label(ctx, "head");
    asc_tensor y = mul(ctx, mul(ctx, x, c), c); /* 1e200, its gradient 1e400 */
    asc_set_label(ctx, "elsewhere");
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_ERR_NONFINITE);
    expect_error_with(ASC_ERR_NONFINITE, "head: test_mul: gradient of a () has inf at element 0");
    ck_assert_str_eq(asc_set_label(ctx, NULL), "elsewhere"); /* as it was */
}
END_TEST

/* ---- a tensor that is given several times ---- */

/* Writes each gradient where it is the only one. */
static asc_status apart_backward(asc_call *call)
{
    const double *a = call->in[0].data, *g = call->grad_out[0].data;
    double *first = call->grad_in[0].data, *second = call->grad_in[1].data;
    if (first == second) {
        return asc_call_fail(call, "two gradients are one array");
    }
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        first[i] = g[i] * a[i] + (call->fresh[0] ? 0 : first[i]);
        second[i] = 10 * g[i] * a[i] + (call->fresh[1] ? 0 : second[i]);
    }
    return ASC_OK;
}

START_TEST(a_tensor_given_twice_has_two_gradients)
{
    asc_op op = mul_op;
    op.backward = apart_backward;
    op.flags = _i ? ASC_OP_FRESH : 0;
    asc_tensor x = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(4)), one = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(4));
    asc_require_grad(x, true);
    for (int pass = 1; pass <= 2; pass++) {
        asc_tensor y = asc_apply1(ctx, &op, (asc_tensor[]){x, x}, 2, NULL);
        ck_assert_int_eq(asc_backward(ctx, y, one, false), ASC_OK);
        ck_assert_double_eq(((const double *)asc_data(asc_grad(x)))[3], pass * 33);
    }
    asc_tensor inner = mul(ctx, x, one), y = asc_apply1(ctx, &op, (asc_tensor[]){inner, inner}, 2, NULL);
    ck_assert_int_eq(asc_backward(ctx, y, one, false), ASC_OK);
    ck_assert_double_eq(((const double *)asc_data(asc_grad(x)))[3], 3 * 33);
}
END_TEST

/* ---- dropout ---- */

static void drop(asc_ctx *on, uint64_t seed, uint64_t step, int ordinal, float *y, int n)
{
    asc_scope_begin(on);
    asc_set_step(on, seed, step);
    asc_tensor x = asc_full(on, ASC_F32, 1, 1, (int64_t[]){n}), t = x;
    for (int i = 0; i <= ordinal; i++) {
        t = asc_dropout(on, x, 0.5);
        asc_contiguous(on, asc_expand(on, x, 2, (int64_t[]){2, n})); /* draws nothing */
    }
    memcpy(y, asc_data(t), (size_t)n * sizeof *y);
    asc_scope_end(on);
}

START_TEST(dropout_depends_on_seed_step_and_ordinal)
{
    enum { N = 4096 };
    static float first[N], other[N];
    drop(ctx, 1, 1, 0, first, N);
    asc_ctx *threads = asc_ctx_new(&(asc_options){.threads = 3, .seed = 99});
    drop(threads, 5, 5, 3, other, N);
    drop(threads, 1, 1, 0, other, N);
    ck_assert_mem_eq(other, first, sizeof first);
    asc_ctx_free(threads);
    drop(ctx, 1, 1, 0, other, N / 2); /* the element's number alone decides */
    ck_assert_mem_eq(other, first, sizeof first / 2);
    static const struct {
        uint64_t seed, step;
        int ordinal;
    } others[] = {{2, 1, 0}, {1, 2, 0}, {1, 1, 1}, {1, 0, 1},
                  {(uint64_t)1 << 32 | 1, 1, 0}, {1, (uint64_t)1 << 32 | 1, 0}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        drop(ctx, others[i].seed, others[i].step, others[i].ordinal, other, N);
        int same = 0;
        for (int j = 0; j < N; j++) {
            same += other[j] == first[j];
        }
        ck_assert_int_gt(same, N / 2 - 200); /* independent: half of the elements agree, within 6 deviations */
        ck_assert_int_lt(same, N / 2 + 200);
    }
}
END_TEST

/* ---- the same bits for any number of threads ---- */

enum { V = 300, D = 96, TOKENS = 700, LEAVES = 6 };

static asc_tensor parameter(uint64_t stream, int ndim, const int64_t *shape)
{
    asc_tensor t = asc_normal(ctx, ASC_F32, 0, 0.3, 3, stream, ndim, shape);
    asc_require_grad(t, true);
    return t;
}

static void run_model(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor leaf[LEAVES] = {parameter(1, ASC_SHAPE(V, D)),     parameter(2, ASC_SHAPE(2 * D, D)),
                               parameter(3, ASC_SHAPE(2 * D)),    parameter(4, ASC_SHAPE(D, 2 * D)),
                               parameter(5, ASC_SHAPE(D)),        parameter(6, ASC_SHAPE(1, D))};
    asc_tensor index = asc_empty(ctx, ASC_I64, ASC_SHAPE(TOKENS));
    for (int t = 0; t < TOKENS; t++) {
        ((int64_t *)asc_data_mut(index))[t] = t * t % V;
    }
    asc_set_step(ctx, 8, 9);
    asc_tensor x = asc_embedding(ctx, leaf[0], index);
    asc_tensor h = asc_dropout(ctx, asc_linear(ctx, x, leaf[1], leaf[2]), 0.1);
    x = asc_add_dropout(ctx, x, asc_linear(ctx, h, leaf[3], asc_null()), 0.1);
    x = asc_layer_norm(ctx, x, leaf[4], asc_null(), 1e-5);
    x = asc_add_dropout(ctx, asc_expand(ctx, leaf[5], 2, (int64_t[]){TOKENS, D}), x, 0);
    x = asc_transpose(ctx, asc_index_select(ctx, asc_transpose(ctx, x, 0, 1), 1, index), 0, 1);
    asc_backward(ctx, x, asc_normal(ctx, ASC_F32, 0, 1, 3, 7, ASC_SHAPE(TOKENS, D)), false);
    *result++ = asc_contiguous(ctx, x);
    for (int l = 0; l < LEAVES; l++) {
        *result++ = asc_grad(leaf[l]);
    }
}

START_TEST(the_same_bits_for_any_number_of_threads)
{
    same_for_threads(run_model, 0);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("calls");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, an_op_of_ones_own);
    tcase_add_test(t, ops_share_functions_and_differ_in_data);
    tcase_add_test(t, a_last_input_that_repeats);
    tcase_add_test(t, the_librarys_ops_by_name);
    tcase_add_test(t, registering_errors);
    tcase_add_loop_test(t, registering_odd_descriptors, 0, (int)(sizeof odd / sizeof *odd));
    tcase_add_test(t, unsound_descriptors);
    tcase_add_test(t, view_of_nothing);
    tcase_add_test(t, view_beyond_its_input);
    tcase_add_test(t, nan_check_of_outputs);
    tcase_add_test(t, nan_check_of_views);
    tcase_add_test(t, nan_check_of_gradients);
    tcase_add_loop_test(t, a_tensor_given_twice_has_two_gradients, 0, 2);
    tcase_add_test(t, dropout_depends_on_seed_step_and_ordinal);
    tcase_add_test(t, the_same_bits_for_any_number_of_threads);
    return run_suite("autograd/calls", t);
}
