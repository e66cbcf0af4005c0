/* tests/autograd/test_misuse.c: ops of one's own that break the contract, and ops that call ops. */
#include <string.h>

#include <ascgrad/ops.h>

#include "tests/autograd/ops.h"
#include "tests/context.h"

static asc_tensor x;

static void setup_x(void)
{
    setup_one_thread();
    x = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(2));
    asc_require_grad(x, true);
}

/* `next` with another function in one place fails with this message, each time, without a leak; what follows works. */
static void expect_misuse(asc_op op, const void *attrs, const char *message)
{
    size_t held = 0;
    for (int time = 0; time < 3; time++) {
        asc_tensor y = x;
        ck_assert_int_eq(asc_apply(ctx, &op, &x, 1, attrs, &y), ASC_ERR_ARG);
        ck_assert_str_eq(asc_error_message(ctx), message);
        ck_assert(asc_is_null(y));
        asc_error_clear(ctx);
        held = time == 0 ? asc_memory(ctx).bytes : held;
        ck_assert_uint_eq(asc_memory(ctx).bytes, held);
    }
    ck_assert_double_eq(((const double *)asc_data(next(ctx, x)))[1], 4);
}

static asc_status infer_nothing(asc_call *call)
{
    (void)call;
    return ASC_OK;
}

static asc_status infer_twice(asc_call *call)
{
    return asc_call_output(call, 0, ASC_F64, 1, call->in[0].shape) || asc_call_output(call, 0, ASC_F64, 0, NULL)
               ? ASC_ERR_ARG : ASC_OK;
}

static asc_status infer_too_many(asc_call *call)
{
    return asc_call_output(call, 1, ASC_F64, 1, call->in[0].shape);
}

static asc_status infer_saves_out_of_order(asc_call *call)
{
    return asc_call_save(call, 1, ASC_F64, 1, call->in[0].shape);
}

static asc_status infer_saves_too_many(asc_call *call)
{
    for (int i = 0; i <= ASC_MAX_SAVED; i++) {
        if (asc_call_save(call, i, ASC_F64, 1, call->in[0].shape)) {
            return ASC_ERR_ARG;
        }
    }
    return ASC_OK;
}

static asc_status infer_views_twice(asc_call *call)
{
    const asc_array *in = &call->in[0];
    return asc_call_view(call, 0, 1, in->shape, in->stride) || asc_call_view(call, 0, 1, in->shape, in->stride)
               ? ASC_ERR_ARG : ASC_OK;
}

static asc_status infer_no_dtype(asc_call *call)
{
    return asc_call_output(call, 0, (asc_dtype)9, 1, call->in[0].shape);
}

static asc_status infer_below_0(asc_call *call)
{
    static const int64_t shape[] = {2, -3};
    return asc_call_save(call, 0, ASC_F64, 2, shape);
}

START_TEST(infer_breaks_the_contract)
{
    static const struct {
        asc_status (*infer)(asc_call *call);
        const char *message;
    } misuse[] = {
        {infer_nothing, "test_next: infer declared no output 0"},
        {infer_twice, "test_next: infer declares output 0, of 1, once too often"},
        {infer_too_many, "test_next: infer declares output 1, of 1, once too often"},
        {infer_saves_out_of_order, "test_next: infer declares saved array 1, expected number 0 of at most 6"},
        {infer_saves_too_many, "test_next: infer declares saved array 6, expected number 6 of at most 6"},
        {infer_views_twice, "test_next: infer declares output 0 once too often"},
        {infer_no_dtype, "test_next: output 0 would be of dtype 9, expected f32, f64, i64 or u8"},
        {infer_below_0, "test_next: saved array 0 would be (2, -3), expected sizes of at least 0"},
    };
    for (size_t i = 0; i < sizeof misuse / sizeof *misuse; i++) {
        asc_op op = next_op;
        op.infer = misuse[i].infer;
        op.flags |= misuse[i].infer == infer_views_twice ? ASC_OP_VIEW : 0;
        expect_misuse(op, NULL, misuse[i].message);
    }
    asc_op op = next_op;
    op.infer = infer_views_twice;
    expect_misuse(op, NULL, "test_next: infer declares a view, expected an op with ASC_OP_VIEW");
}
END_TEST

static asc_status infer_passes_over(asc_call *call)
{
    asc_call_save(call, 1, ASC_F64, 1, call->in[0].shape);
    return asc_call_output(call, 0, ASC_F64, 1, call->in[0].shape);
}

static asc_status never(asc_call *call)
{
    (void)call;
    ck_abort_msg("forward without all that infer asked for");
    return ASC_OK;
}

START_TEST(infer_passes_over_a_failure)
{
    asc_op op = next_op;
    op.infer = infer_passes_over;
    op.forward = never;
    expect_misuse(op, NULL, "test_next: infer declares saved array 1, expected number 0 of at most 6");
}
END_TEST

static asc_status no_status(asc_call *call)
{
    (void)call;
    return (asc_status)2144708544;
}

START_TEST(what_is_no_status_is_a_failure)
{
    asc_op op = next_op;
    op.infer = no_status;
    expect_misuse(op, NULL, "test_next: failed without a message");
    op = next_op;
    op.forward = no_status;
    expect_misuse(op, NULL, "test_next: failed without a message");
    op = next_op;
    op.backward = no_status;
    asc_tensor y = asc_apply1(ctx, &op, &x, 1, NULL), one = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2));
    ck_assert_int_eq(asc_backward(ctx, y, one, false), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "test_next: backward failed without a message");
}
END_TEST

static asc_status begins_scope(asc_call *call)
{
    asc_scope_begin(call->ctx);
    return next_op.forward(call);
}

static asc_status begins_scope_in_infer(asc_call *call)
{
    asc_scope_begin(call->ctx);
    return next_op.infer(call);
}

static asc_status begins_scope_in_backward(asc_call *call)
{
    asc_scope_begin(call->ctx);
    return next_op.backward(call);
}

static asc_status begins_scope_and_fails(asc_call *call)
{
    asc_scope_begin(call->ctx);
    return asc_call_fail(call, "no");
}

static asc_status ends_scope_in_backward(asc_call *call)
{
    asc_scope_end(call->ctx);
    return next_op.backward(call);
}

/* As many have begun as before. */
static asc_status swaps_scope(asc_call *call)
{
    asc_scope_end(call->ctx);
    asc_scope_begin(call->ctx);
    asc_scope_end(call->ctx);
    return next_op.forward(call);
}

static asc_status infers_in_a_scope(asc_call *call)
{
    asc_scope_begin(call->ctx);
    asc_status status = next_op.infer(call);
    asc_scope_end(call->ctx);
    return status;
}

static void expect_scope_error(const asc_op *op, bool backward, asc_status status, const char *message)
{
    asc_scope_begin(ctx);
    asc_tensor y = asc_apply1(ctx, op, &x, 1, NULL), one = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2));
    ck_assert_int_eq(asc_is_valid(y), backward);
    if (backward) {
        ck_assert_int_eq(asc_backward(ctx, y, one, false), status);
    }
    expect_error(status, message);
    ck_assert(asc_is_valid(one));
    y = next(ctx, x);
    ck_assert(asc_is_valid(y));
    asc_scope_end(ctx);
    ck_assert(!asc_is_valid(y)); /* the scope was the last that had begun */
}

START_TEST(scopes_are_left_as_they_were)
{
    asc_op op = next_op;
    op.forward = begins_scope;
    expect_scope_error(&op, false, ASC_ERR_STATE, "test_next: infer or forward began a scope that it did not end");
    op.forward = swaps_scope;
    expect_scope_error(&op, false, ASC_ERR_STATE, "test_next: infer or forward ended a scope that it did not begin");
    op.forward = begins_scope_and_fails;
    expect_scope_error(&op, false, ASC_ERR_ARG, "test_next: no");
    op = next_op;
    op.infer = begins_scope_in_infer;
    op.forward = never;
    expect_scope_error(&op, false, ASC_ERR_STATE, "test_next: infer or forward began a scope that it did not end");
    op.infer = infers_in_a_scope;
    expect_scope_error(&op, false, ASC_ERR_STATE,
                       "test_next: infer declared output 0 in a scope of its own, with which it went");
    op = next_op;
    op.backward = begins_scope_in_backward;
    expect_scope_error(&op, true, ASC_ERR_STATE, "test_next: backward began a scope that it did not end");
    op.backward = ends_scope_in_backward;
    expect_scope_error(&op, true, ASC_ERR_STATE, "test_next: backward ended a scope that it did not begin");
}
END_TEST

static asc_status declares_output(asc_call *call)
{
    return asc_call_output(call, 0, ASC_F64, 1, call->in[0].shape);
}

static asc_status declares_view(asc_call *call)
{
    return asc_call_view(call, 0, 1, call->in[0].shape, call->in[0].stride);
}

static asc_status declares_saved(asc_call *call)
{
    return asc_call_save(call, 0, ASC_F64, 1, call->in[0].shape);
}

START_TEST(what_is_not_infer_declares)
{
    static const struct {
        asc_status (*declares)(asc_call *call);
        const char *message;
    } misuse[] = {
        {declares_output, "test_next: output 0 is declared by forward or backward, expected by infer"},
        {declares_view, "test_next: output 0 is declared by forward or backward, expected by infer"},
        {declares_saved, "test_next: saved array 0 is declared by forward or backward, expected by infer"},
    };
    for (size_t i = 0; i < sizeof misuse / sizeof *misuse; i++) {
        asc_op op = next_op;
        op.forward = misuse[i].declares;
        expect_misuse(op, NULL, misuse[i].message);
        op = next_op;
        op.backward = misuse[i].declares;
        asc_tensor y = asc_apply1(ctx, &op, &x, 1, NULL), one = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2));
        ck_assert_int_eq(asc_backward(ctx, y, one, false), ASC_ERR_ARG);
        expect_error(ASC_ERR_ARG, misuse[i].message);
    }
}
END_TEST

START_TEST(more_inputs_than_there_may_be)
{
    static const char names[] = "a b? c? d? e? f? g? h? i? j? k? l? m? n? o? p? q? r? s? t? u? v? w? x? y? z? aa? "
                                "ab? ac? ad? ae? af? ag?";
    asc_op op = next_op;
    op.inputs = names;
    expect_misuse(op, NULL, "test_next: its descriptor names 33 inputs, expected at most 32");
}
END_TEST

START_TEST(attributes_are_missing)
{
    asc_op op = next_op;
    op.attrs_size = 8;
    expect_misuse(op, NULL, "test_next: attributes are NULL, expected 8 bytes");
}
END_TEST

/* Calls an op that fails, and says that all is well. */
static asc_status careless(asc_call *call)
{
    asc_linear(call->ctx, asc_null(), asc_null(), asc_null());
    return ASC_OK;
}

START_TEST(an_error_inside_an_op_is_the_ops)
{
    asc_op op = next_op;
    op.forward = careless;
    expect_misuse(op, NULL, "linear: x is null");
    op = next_op;
    op.backward = careless;
    asc_tensor y = asc_apply1(ctx, &op, &x, 1, NULL), one = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2));
    ck_assert_int_eq(asc_backward(ctx, y, one, false), ASC_ERR_ARG);
    ck_assert_str_eq(asc_error_message(ctx), "linear: x is null");
}
END_TEST

/* y = x + 1, whose backward function goes by ops: dx += 1∘dy. */
static asc_status backward_by_ops(asc_call *call)
{
    for (int i = 0; i < 100; i++) { /* more records than there is room for: the tape would have to move */
        asc_tensor dy = asc_from(call->ctx, ASC_F64, call->grad_out[0].data, 1, call->in[0].shape);
        asc_require_grad(dy, true);
        asc_tensor ones = asc_full(call->ctx, ASC_F64, 1, 1, call->in[0].shape), product = mul(call->ctx, dy, ones);
        ck_assert(!asc_requires_grad(product));
        if (i == 0) {
            memcpy(call->grad_in[0].data, asc_data(product), 2 * sizeof(double));
        }
    }
    return ASC_OK;
}

START_TEST(backward_may_call_ops)
{
    asc_op op = next_op;
    op.backward = backward_by_ops;
    asc_scope_begin(ctx);
    asc_tensor y = asc_apply1(ctx, &op, &x, 1, NULL), weight = asc_from(ctx, ASC_F64, (double[]){5, 7}, ASC_SHAPE(2));
    asc_tensor z = asc_sum(ctx, mul(ctx, y, weight), ASC_ALL_DIMS, false);
    ck_assert_int_eq(asc_backward(ctx, z, asc_null(), false), ASC_OK);
    const double *grad = asc_data(asc_grad(x));
    ck_assert(grad[0] == 5 && grad[1] == 7);
    ck_assert(asc_set_recording(ctx, true)); /* as it was */
    asc_scope_end(ctx);
}
END_TEST

/* The results may take the place of the inputs. */
START_TEST(outputs_over_inputs)
{
    asc_tensor t = x;
    ck_assert_int_eq(asc_apply(ctx, &next_op, &t, 1, NULL, &t), ASC_OK);
    ck_assert_double_eq(((const double *)asc_data(t))[0], 4);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("misuse");
    tcase_add_checked_fixture(t, setup_x, teardown);
    tcase_add_test(t, infer_breaks_the_contract);
    tcase_add_test(t, attributes_are_missing);
    tcase_add_test(t, infer_passes_over_a_failure);
    tcase_add_test(t, what_is_no_status_is_a_failure);
    tcase_add_test(t, scopes_are_left_as_they_were);
    tcase_add_test(t, what_is_not_infer_declares);
    tcase_add_test(t, more_inputs_than_there_may_be);
    tcase_add_test(t, an_error_inside_an_op_is_the_ops);
    tcase_add_test(t, backward_may_call_ops);
    tcase_add_test(t, outputs_over_inputs);
    return run_suite("autograd/misuse", t);
}
