/* tests/autograd/test_recompute_faults.c: asc_recompute: failures that leave nothing behind, and misuse. */
#include "tests/autograd/recompute.h"
#include "tests/faults.h"

START_TEST(without_retain_there_is_no_second_pass)
{
    net n = make_net(true);
    asc_scope_begin(ctx);
    asc_tensor out[4], index = asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS));
    run_layer(&n, asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), index, out);
    asc_backward(ctx, asc_scale(ctx, out[1], 1), asc_null(), false);
    asc_backward(ctx, asc_scale(ctx, out[1], 2), asc_null(), false);
    expect_error_with(ASC_ERR_STATE, "recompute was freed by an earlier backward pass");
    asc_scope_end(ctx);
}
END_TEST

START_TEST(what_was_overwritten)
{
    net n = make_net(true);
    asc_scope_begin(ctx);
    asc_tensor loss = loss_of(&n, 1);
    asc_data_mut(n.table);
    asc_backward(ctx, loss, asc_null(), true);
    expect_error_with(ASC_ERR_STATE, "a tensor that the function reads was overwritten");
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), out[4];
    run_layer(&n, x, asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS)), out);
    asc_data_mut(x);
    asc_backward(ctx, out[1], asc_null(), false);
    expect_error_with(ASC_ERR_STATE, "input 0 was overwritten");
    asc_scope_end(ctx);
}
END_TEST

START_TEST(a_function_that_fails)
{
    float expected[VALUES], after[VALUES];
    gradients(true, false, expected);
    for (int run = 1; run <= 4; run++) { /* two first runs, then two second ones */
        net n = make_net(true);
        n.fail_at = run;
        asc_scope_begin(ctx);
        asc_tensor loss = loss_of(&n, 1);
        ck_assert(asc_is_null(loss) == (run <= 2));
        asc_backward(ctx, loss, asc_null(), false);
        expect_error_with(ASC_ERR_IO, "told to fail");
        asc_scope_end(ctx);
    }
    gradients(true, false, after);
    ck_assert(same_bits(expected, after));
}
END_TEST

START_TEST(a_function_that_changes_its_mind)
{
    net n = make_net(true);
    n.grows = true;
    asc_scope_begin(ctx);
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), out[4];
    run_layer(&n, x, asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS)), out);
    asc_backward(ctx, out[1], asc_null(), false);
    expect_error_with(ASC_ERR_STATE, "output 0 is f32 (12, 8) this time, it was f32 (6, 8)");
    asc_scope_end(ctx);
}
END_TEST

static asc_status goes_back(asc_ctx *c, void *user, const asc_tensor *inputs, asc_tensor *outputs)
{
    (void)user;
    outputs[0] = asc_sum(c, inputs[0], ASC_ALL_DIMS, false);
    return asc_backward_loss(c, outputs[0]);
}

static asc_status goes_back_further(asc_ctx *c, void *earlier, const asc_tensor *inputs, asc_tensor *outputs)
{
    outputs[0] = asc_exp(c, inputs[0]);
    return asc_backward(c, *(asc_tensor *)earlier, asc_full(c, ASC_F32, 1, ASC_SHAPE(2)), false);
}

static asc_status exponential(asc_ctx *c, void *user, const asc_tensor *inputs, asc_tensor *outputs)
{
    (void)user;
    outputs[0] = asc_exp(c, inputs[0]);
    return asc_error(c);
}

START_TEST(why_no_gradient_flows)
{
    asc_tensor w = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(1)), y;
    asc_require_grad(w, true);
    asc_set_recording(ctx, false);
    ck_assert_int_eq(asc_recompute(ctx, exponential, NULL, &w, 1, &y, 1), ASC_OK);
    asc_set_recording(ctx, true);
    asc_backward_loss(ctx, y);
    expect_error(ASC_ERR_ARG, "backward: loss was computed with recording off");
}
END_TEST

static void count_release(void *count, void *data)
{
    (void)data;
    ++*(int *)count;
}

static asc_status give_wrapped(asc_ctx *c, void *count, const asc_tensor *inputs, asc_tensor *outputs)
{
    static float memory[2];
    (void)inputs;
    outputs[0] = asc_wrap(c, ASC_F32, memory, ASC_SHAPE(2), NULL, count_release, count);
    outputs[1] = asc_exp(c, inputs[0]);
    return asc_error(c);
}

/* Outside of a scope, too, where what stays would stay with the context. */
START_TEST(a_failure_leaves_no_result)
{
    bool failed = true;
    for (int64_t n = 0; failed; n++) {
        heap h = {.fail_at = NEVER};
        asc_ctx *c = context_on(&h, 1);
        asc_tensor x = asc_full(c, ASC_F32, 1, ASC_SHAPE(2)), out[2];
        asc_require_grad(x, true);
        asc_release(asc_exp(c, x));
        h.fail_at = h.calls + n;
        int released = 0;
        failed = asc_recompute(c, give_wrapped, &released, &x, 1, out, 2) != ASC_OK;
        ck_assert(!failed || asc_error(c) == ASC_ERR_MEMORY);
        int due = failed ? released : 0;
        asc_ctx_free(c);
        ck_assert_int_eq(released - due, failed ? 0 : 1);
        expect_empty(&h);
    }
}
END_TEST

START_TEST(a_pass_within_the_function)
{
    asc_tensor w = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2)), y;
    asc_require_grad(w, true);
    ck_assert_int_eq(asc_recompute(ctx, goes_back, NULL, &w, 1, &y, 1), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "loss was made by a function of asc_recompute, whose backward pass comes later");
    asc_tensor earlier;
    ck_assert_int_eq(asc_recompute(ctx, exponential, NULL, &w, 1, &earlier, 1), ASC_OK);
    ck_assert_int_eq(asc_recompute(ctx, goes_back_further, &earlier, &w, 1, &y, 1), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "backward: called from within a function of asc_recompute");
}
END_TEST

START_TEST(misuse)
{
    net n = make_net(true);
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), gone = asc_zeros(ctx, ASC_F32, ASC_SHAPE(1)), out[5];
    asc_release(gone);
    ck_assert_int_eq(asc_recompute(ctx, layer, &n, &gone, 1, out, 1), ASC_ERR_STATE);
    expect_error_with(ASC_ERR_STATE, "input 0 is a tensor that is gone");
    ck_assert_int_eq(asc_recompute(ctx, layer, &n, &x, 1, out, 5), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "1 inputs and 5 outputs, expected");
    ck_assert_int_eq(asc_recompute(ctx, pass_on, &gone, &x, 1, out, 3), ASC_ERR_STATE);
    ck_assert(asc_is_null(out[0]) && asc_is_null(out[2]));
    expect_error_with(ASC_ERR_STATE, "output 2 is a tensor that is gone");
    ck_assert_int_eq(n.runs, 0);
}
END_TEST

/* The sum of all gradients and the loss, each with a weight of its own. */
static double live(void)
{
    float values[VALUES] = {0};
    gradients(true, false, values);
    double sum = 0;
    for (int i = 0; i < VALUES; i++) {
        sum += values[i] * (double)(i + 1);
    }
    return sum;
}

START_TEST(every_allocation_fails_once)
{
    ck_assert_int_gt(fail_each_allocation(live, false), 40);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("faults");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, without_retain_there_is_no_second_pass);
    tcase_add_test(t, what_was_overwritten);
    tcase_add_test(t, a_function_that_fails);
    tcase_add_test(t, a_function_that_changes_its_mind);
    tcase_add_test(t, a_pass_within_the_function);
    tcase_add_test(t, misuse);
    tcase_add_test(t, every_allocation_fails_once);
    tcase_add_test(t, why_no_gradient_flows);
    tcase_add_test(t, a_failure_leaves_no_result);
    return run_suite("autograd/recompute faults", t);
}
