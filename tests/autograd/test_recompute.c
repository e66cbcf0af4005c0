/* tests/autograd/test_recompute.c: asc_recompute: the same bits as without it, the gradients that flow through it, less
 * memory. Its failures are in test_recompute_faults.c. */
#include "tests/autograd/recompute.h"

static void teardown_sound(void)
{
    no_error();
    teardown();
}

START_TEST(same_bits_as_without)
{
    float kept[VALUES], again[VALUES], threads[VALUES];
    gradients(false, false, kept);
    gradients(true, false, again);
    ck_assert(same_bits(kept, again));
    asc_ctx *one = ctx;
    ctx = context_on(&memory, 3);
    gradients(true, false, threads);
    asc_ctx_free(ctx);
    ctx = one;
    ck_assert(same_bits(kept, threads));
}
END_TEST

START_TEST(a_second_pass_runs_it_again)
{
    float kept[VALUES], again[VALUES], once[VALUES];
    gradients(false, true, kept);
    gradients(true, true, again);
    ck_assert(same_bits(kept, again));
    gradients(true, false, once);
    ck_assert(!same_bits(once, again));
}
END_TEST

/* ---- what flows ---- */

START_TEST(gradients_flow_where_they_would)
{
    net n = make_net(true);
    asc_scope_begin(ctx);
    asc_tensor out[4], index = asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS));
    asc_tensor x = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(ROWS, D));
    run_layer(&n, x, index, out); /* x asks for none, parameters do */
    ck_assert(asc_requires_grad(out[0]) && asc_requires_grad(out[1]) && asc_requires_grad(out[2]));
    ck_assert(asc_is_null(out[3]) && !asc_requires_grad(x));
    asc_backward(ctx, out[1], asc_null(), false); /* on this path b alone of the layer's norm has none */
    ck_assert(!asc_is_null(asc_grad(n.w)) && asc_is_null(asc_grad(x)));
    asc_set_recording(ctx, false);
    run_layer(&n, x, index, out);
    ck_assert(!asc_requires_grad(out[0]));
    asc_set_recording(ctx, true);
    asc_scope_end(ctx);
    asc_scope_begin(ctx);
    asc_require_grad(n.w, false);
    asc_require_grad(n.b, false);
    asc_require_grad(n.table, false);
    index = asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS));
    run_layer(&n, asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), index, out);
    ck_assert(asc_is_valid(out[0]) && !asc_requires_grad(out[0]));
    asc_scope_end(ctx);
}
END_TEST

START_TEST(outputs_that_it_did_not_make)
{
    asc_tensor leaf = asc_full(ctx, ASC_F32, 3, ASC_SHAPE(2)), in = asc_full(ctx, ASC_F32, 2, ASC_SHAPE(2)), out[3];
    asc_require_grad(leaf, true);
    asc_require_grad(in, true);
    asc_scope_begin(ctx);
    asc_tensor x = asc_scale(ctx, in, 5);
    asc_recompute(ctx, pass_on, &leaf, &x, 1, out, 3);
    asc_tensor sum = asc_add(ctx, asc_mul(ctx, out[0], out[1]), asc_add(ctx, asc_scale(ctx, out[2], 7), x));
    asc_backward(ctx, asc_sum(ctx, sum, ASC_DIMS(0), false), asc_null(), false); /* x² + 7 leaf + x */
    asc_scope_end(ctx);
    ck_assert_float_eq(((const float *)asc_data(asc_grad(leaf)))[1], 7);
    ck_assert_float_eq(((const float *)asc_data(asc_grad(in)))[1], 5 * (2 * 10 + 1));
}
END_TEST

/* x times a tensor that is no input, an op's result. */
static asc_status times_captured(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    out[0] = asc_mul(c, in[0], *(const asc_tensor *)user);
    return asc_error(c);
}

/* The gradient of 2 leaf⁴ with respect to a leaf of 3; leaf² is captured, and maybe `gone` before the backward pass. */
static double gradient_by_captured(bool gone)
{
    asc_tensor leaf = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(1)), out;
    asc_require_grad(leaf, true);
    asc_scope_begin(ctx);
    asc_tensor captured = asc_square(ctx, leaf), x = asc_scale(ctx, captured, 2);
    asc_recompute(ctx, times_captured, &captured, &x, 1, &out, 1);
    if (gone) {
        asc_release(captured);
    }
    asc_backward(ctx, out, asc_null(), false);
    asc_scope_end(ctx);
    return asc_item(asc_grad(leaf));
}

START_TEST(gradients_reach_what_is_no_input)
{
    ck_assert_double_eq(gradient_by_captured(false), 8 * 27);
}
END_TEST

START_TEST(a_captured_tensor_that_is_gone)
{
    gradient_by_captured(true);
    expect_error_with(ASC_ERR_STATE, "gone");
}
END_TEST

static asc_status times_two(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    (void)user;
    out[0] = asc_scale(c, in[0], 2);
    return asc_error(c);
}

/* A loop over layers that has one variable. */
START_TEST(outputs_over_inputs)
{
    asc_tensor x = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(1)), h = x;
    asc_require_grad(x, true);
    for (int l = 0; l < 3; l++) {
        asc_recompute(ctx, times_two, NULL, &h, 1, &h, 1);
    }
    ck_assert_double_eq(asc_item(h), 24);
    ck_assert_int_eq(asc_backward(ctx, h, asc_null(), false), ASC_OK);
    ck_assert_double_eq(asc_item(asc_grad(x)), 8);
}
END_TEST

/* Keeps the square that it makes on the way. */
static asc_status square_twice(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    asc_tensor square = asc_square(c, in[0]);
    asc_tensor *kept = user;
    asc_release(*kept);
    *kept = asc_keep(square);
    out[0] = asc_scale(c, square, 2);
    return asc_error(c);
}

/* Its values are there to be read, but it has no place on the tape. */
START_TEST(what_is_kept_from_within_lets_no_gradient_through)
{
    asc_tensor x = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(1)), kept = asc_null(), y, z;
    asc_require_grad(x, true);
    asc_recompute(ctx, square_twice, &kept, &x, 1, &y, 1);
    ck_assert_double_eq(asc_item(kept), 9);
    ck_assert_double_eq(asc_item(asc_scale(ctx, asc_detach(ctx, kept), 2)), 18);
    asc_set_recording(ctx, false);
    ck_assert_double_eq(asc_item(asc_scale(ctx, kept, 3)), 27);
    asc_set_recording(ctx, true);
    no_error();
    ck_assert(asc_is_null(asc_add(ctx, y, kept)));
    expect_error(ASC_ERR_STATE, "add: b was made by a function of asc_recompute and is not what that gave, so no "
                                "gradient can flow to it");
    ck_assert_int_eq(asc_recompute(ctx, times_two, NULL, &kept, 1, &z, 1), ASC_ERR_STATE);
    expect_error_with(ASC_ERR_STATE, "recompute: input 0 was made by a function of asc_recompute");
    ck_assert_int_eq(asc_recompute(ctx, times_captured, &kept, &x, 1, &z, 1), ASC_ERR_STATE);
    expect_error_with(ASC_ERR_STATE, "mul: b was made by a function of asc_recompute");
    ck_assert_int_eq(asc_backward(ctx, kept, asc_null(), false), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "backward: loss was made by a function of asc_recompute");
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_OK);
    ck_assert_double_eq(asc_item(asc_grad(x)), 12);
    asc_release(kept);
}
END_TEST

/* ---- memory that is another in the second run ---- */

typedef struct two_factors {
    asc_tensor trained, frozen;
} two_factors;

static asc_status times_both(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    const two_factors *f = user;
    out[0] = asc_mul(c, asc_mul(c, in[0], f->trained), f->frozen);
    return asc_error(c);
}

START_TEST(parameters_that_lie_elsewhere_by_then)
{
    for (int which = 0; which < 3; which++) {
        asc_scope_begin(ctx);
        two_factors f = {asc_full(ctx, ASC_F64, 3, ASC_SHAPE(2)), asc_full(ctx, ASC_F64, 5, ASC_SHAPE(2))};
        asc_tensor x = asc_full(ctx, ASC_F64, 2, ASC_SHAPE(2)), y, other = asc_full(ctx, ASC_F64, 7, ASC_SHAPE(2));
        asc_require_grad(f.trained, true);
        asc_require_grad(x, true);
        ck_assert_int_eq(asc_recompute(ctx, times_both, &f, &x, 1, &y, 1), ASC_OK);
        ck_assert_int_eq(asc_set_data(which == 0 ? x : which == 1 ? f.trained : f.frozen, other), ASC_OK);
        ck_assert_int_eq(asc_backward_loss(ctx, asc_sum(ctx, y, ASC_ALL_DIMS, false)), ASC_ERR_STATE);
        expect_error_with(ASC_ERR_STATE, "was overwritten after the forward pass, and its old value is needed");
        asc_scope_end(ctx);
    }
}
END_TEST

/* ---- scopes that don't match ---- */

static asc_status unbalanced(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    if (*(const int *)user > 0) {
        asc_scope_begin(c);
    } else {
        asc_scope_end(c);
    }
    out[0] = asc_scale(c, in[0], 2);
    return asc_error(c);
}

START_TEST(scopes_are_the_callers)
{
    asc_tensor outside = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(2)), y;
    for (int more = 0; more < 2; more++) {
        asc_scope_begin(ctx);
        asc_tensor x = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(2));
        asc_require_grad(x, true);
        ck_assert_int_eq(asc_recompute(ctx, unbalanced, &more, &x, 1, &y, 1), ASC_ERR_STATE);
        expect_error(ASC_ERR_STATE, more ? "recompute: the function began a scope that it did not end"
                                         : "recompute: the function ended a scope that it did not begin");
        ck_assert(asc_is_null(y) && asc_is_valid(outside) && asc_is_valid(x));
        asc_scope_end(ctx);
        ck_assert(asc_is_valid(outside) && !asc_is_valid(x));
    }
    asc_release(outside);
}
END_TEST

/* ---- nested ---- */

static asc_status two_layers(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    asc_tensor first[4];
    run_layer(user, in[0], in[1], first);
    run_layer(user, first[0], in[1], out);
    return asc_error(c);
}

START_TEST(nested)
{
    float w[2][D * D];
    for (int nest = 0; nest < 2; nest++) {
        net n = make_net(nest);
        asc_scope_begin(ctx);
        asc_set_step(ctx, 1, 1);
        asc_tensor in[] = {asc_dropout(ctx, asc_square(ctx, n.w), .2), asc_zeros(ctx, ASC_I64, ASC_SHAPE(D))}, out[4];
        if (nest) {
            asc_recompute(ctx, two_layers, &n, in, 2, out, 4);
        } else {
            two_layers(ctx, &n, in, out);
        }
        asc_backward(ctx, asc_dropout(ctx, out[0], .1), asc_full(ctx, ASC_F32, .5, ASC_SHAPE(D, D)), false);
        memcpy(w[nest], asc_data(asc_grad(n.w)), sizeof w[nest]);
        ck_assert_int_eq(n.runs, nest ? 6 : 2); /* first, again without a record, again with one */
        asc_scope_end(ctx);
    }
    ck_assert_int_eq(memcmp(w[0], w[1], sizeof w[0]), 0);
}
END_TEST

/* ---- hooks and counters ---- */

static int hooked;

static void hook(void *user, asc_tensor gradient)
{
    hooked++;
    memcpy(user, asc_data(gradient), D * D * sizeof(float));
}

START_TEST(hooks_see_the_whole_gradient_once)
{
    float kept[VALUES], seen[D * D];
    gradients(false, false, kept);
    net n = make_net(true);
    hooked = 0;
    asc_on_grad(n.w, hook, seen);
    asc_scope_begin(ctx);
    asc_backward(ctx, loss_of(&n, 3), asc_null(), false);
    asc_scope_end(ctx);
    ck_assert_int_eq(hooked, 1);
    ck_assert_int_eq(memcmp(seen, kept, sizeof seen), 0);
}
END_TEST

START_TEST(products_count_once)
{
    double flops[2];
    for (int again = 0; again < 2; again++) {
        net n = make_net(again);
        asc_scope_begin(ctx);
        asc_flops_reset(ctx);
        asc_backward(ctx, loss_of(&n, 3), asc_null(), false);
        flops[again] = asc_flops(ctx);
        asc_scope_end(ctx);
    }
    ck_assert_double_gt(flops[0], 0);
    ck_assert_double_eq(flops[0], flops[1]);
}
END_TEST

/* ---- memory ---- */

typedef struct wide {
    asc_tensor up, down;
} wide;

static asc_status wide_layer(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    const wide *m = user;
    asc_tensor h = asc_linear(c, in[0], m->up, asc_null()), active = asc_gelu(c, h);
    out[0] = asc_add(c, in[0], asc_linear(c, active, m->down, asc_null()));
    return asc_error(c);
}

/* The most memory that eight layers of 256 rows take, and whether a step after the first asks for more. */
static size_t peak(bool again)
{
    enum { N = 256, WIDTH = 64, WIDE = 512, LAYERS = 8 };
    asc_ctx *c = asc_ctx_new(&(asc_options){.threads = 1});
    wide m = {asc_normal(c, ASC_F32, 0, .1, 1, 1, ASC_SHAPE(WIDE, WIDTH)),
              asc_normal(c, ASC_F32, 0, .1, 1, 2, ASC_SHAPE(WIDTH, WIDE))};
    asc_require_grad(m.up, true);
    asc_require_grad(m.down, true);
    uint64_t allocations = 0;
    for (int step = 0; step < 3; step++) {
        asc_scope_begin(c);
        asc_tensor x = asc_full(c, ASC_F32, .1, ASC_SHAPE(N, WIDTH));
        for (int l = 0; l < LAYERS; l++) {
            asc_tensor y;
            if (again) {
                asc_recompute(c, wide_layer, &m, &x, 1, &y, 1);
            } else {
                wide_layer(c, &m, &x, &y);
            }
            asc_release(x);
            x = y;
        }
        asc_backward(c, x, asc_full(c, ASC_F32, 1, ASC_SHAPE(N, WIDTH)), false);
        asc_scope_end(c);
        ck_assert(step == 0 || asc_memory(c).allocations == allocations);
        allocations = asc_memory(c).allocations;
    }
    ck_assert_int_eq(asc_error(c), ASC_OK);
    size_t bytes = asc_memory(c).peak_bytes;
    asc_ctx_free(c);
    return bytes;
}

START_TEST(it_takes_less_memory)
{
    size_t kept = peak(false), again = peak(true);
    ck_assert_msg(again < kept / 2, "%zu bytes, %zu without", again, kept);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("recompute");
    tcase_add_checked_fixture(t, setup_one_thread, teardown_sound);
    tcase_add_test(t, same_bits_as_without);
    tcase_add_test(t, a_second_pass_runs_it_again);
    tcase_add_test(t, gradients_flow_where_they_would);
    tcase_add_test(t, outputs_that_it_did_not_make);
    tcase_add_test(t, gradients_reach_what_is_no_input);
    tcase_add_test(t, a_captured_tensor_that_is_gone);
    tcase_add_test(t, outputs_over_inputs);
    tcase_add_test(t, what_is_kept_from_within_lets_no_gradient_through);
    tcase_add_test(t, parameters_that_lie_elsewhere_by_then);
    tcase_add_test(t, scopes_are_the_callers);
    tcase_add_test(t, nested);
    tcase_add_test(t, hooks_see_the_whole_gradient_once);
    tcase_add_test(t, products_count_once);
    tcase_add_test(t, it_takes_less_memory);
    return run_suite("autograd/recompute", t);
}
