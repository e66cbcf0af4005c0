/* tests/autograd/test_autograd.c: the tape and the backward pass. */
#include <stdio.h>

#include <ascgrad/batches.h>
#include <ascgrad/ops.h>

#include "tests/autograd/ops.h"
#include "tests/context.h"

static asc_tensor leaf(double value)
{
    asc_tensor t = asc_scalar(ctx, ASC_F64, value);
    ck_assert_int_eq(asc_require_grad(t, true), ASC_OK);
    return t;
}

static void backward(asc_tensor loss, bool retain)
{
    asc_status status = asc_backward(ctx, loss, asc_null(), retain);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
}

static double grad(asc_tensor t)
{
    return asc_item(asc_grad(t));
}

/* ---- gradients ---- */

START_TEST(a_tensor_used_many_times)
{
    asc_tensor x = leaf(3), square = mul(ctx, x, x);
    backward(mul(ctx, mul(ctx, square, x), square), false); /* x⁵ */
    ck_assert_double_eq(grad(x), 5 * 81);
}
END_TEST

START_TEST(passes_add_up)
{
    asc_tensor x = leaf(3);
    ck_assert(asc_is_null(asc_grad(x)));
    for (int pass = 1; pass <= 3; pass++) {
        asc_scope_begin(ctx);
        backward(mul(ctx, x, x), false);
        asc_scope_end(ctx);
        ck_assert_double_eq(grad(x), 6 * pass);
    }
    asc_zero_grad(x);
    ck_assert(asc_is_null(asc_grad(x)));
    backward(mul(ctx, x, x), false);
    ck_assert_double_eq(grad(x), 6);
}
END_TEST

START_TEST(a_gradient_is_like_its_leaf)
{
    asc_tensor wide = asc_full(ctx, ASC_F64, 2, ASC_SHAPE(3, 4));
    asc_tensor x = asc_transpose(ctx, wide, 0, 1); /* a leaf need not be contiguous */
    asc_require_grad(x, true);
    asc_tensor c = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(4, 3));
    ck_assert_int_eq(asc_backward(ctx, mul(ctx, x, x), c, false), ASC_OK);
    asc_tensor g = asc_grad(x);
    ck_assert_int_eq(asc_dtype_of(g), ASC_F64);
    ck_assert_int_eq(asc_ndim(g), 2);
    ck_assert_int_eq(asc_size(g, 0), 4);
    ck_assert(asc_is_contiguous(g));
    for (int i = 0; i < 12; i++) {
        ck_assert_double_eq(((const double *)asc_data(g))[i], 4);
    }
    ck_assert(asc_is_null(asc_grad(wide)));
}
END_TEST

START_TEST(only_where_it_is_asked_for)
{
    asc_tensor x = leaf(3), constant = asc_scalar(ctx, ASC_F64, 5), y = mul(ctx, x, constant);
    ck_assert(asc_requires_grad(x) && asc_requires_grad(y) && !asc_requires_grad(constant));
    backward(y, false);
    ck_assert_double_eq(grad(x), 5);
    ck_assert(asc_is_null(asc_grad(constant)) && asc_is_null(asc_grad(y)));
    ck_assert_int_eq(asc_require_grad(x, false), ASC_OK);
    asc_scope_begin(ctx);
    asc_tensor other = asc_scalar(ctx, ASC_F64, 1);
    ck_assert(!asc_requires_grad(mul(ctx, other, constant)));
    asc_scope_end(ctx);
}
END_TEST

START_TEST(branches_that_do_not_matter)
{
    asc_tensor x = leaf(2), y = mul(ctx, x, x);
    for (int i = 0; i < 5; i++) {
        mul(ctx, y, leaf(7)); /* recorded, but not under the loss */
    }
    backward(mul(ctx, y, y), false);
    ck_assert_double_eq(grad(x), 32);
}
END_TEST

START_TEST(recording_off)
{
    asc_tensor x = leaf(3);
    ck_assert(asc_set_recording(ctx, false));
    asc_tensor y = mul(ctx, x, x);
    ck_assert(!asc_set_recording(ctx, true));
    ck_assert_double_eq(asc_item(y), 9);
    ck_assert(!asc_requires_grad(y));
    asc_tensor one = asc_scalar(ctx, ASC_F64, 1), results[] = {y, mul(ctx, one, y), mul(ctx, leaf(2), y)};
    for (int i = 0; i < 2; i++) {
        asc_backward(ctx, results[i], asc_null(), false);
        expect_error(ASC_ERR_ARG, "backward: loss was computed with recording off");
    }
    backward(results[2], false);
}
END_TEST

START_TEST(no_gradient_to_the_loss)
{
    asc_tensor x = leaf(3), y = asc_detach(ctx, x);
    asc_backward(ctx, mul(ctx, y, y), asc_null(), false);
    expect_error(ASC_ERR_ARG, "backward: loss depends on no tensor that requires a gradient");
    asc_tensor sign = asc_cast(ctx, asc_less(ctx, y, x), ASC_F64);
    asc_backward(ctx, mul(ctx, sign, y), asc_null(), false);
    expect_error(ASC_ERR_ARG, "backward: loss comes by an op without a backward pass");
}
END_TEST

static void count_call(void *user, asc_tensor gradient)
{
    (void)gradient;
    ++*(int *)user;
}

START_TEST(a_leaf_as_the_loss)
{
    int calls = 0;
    asc_tensor x = leaf(3);
    ck_assert_int_eq(asc_on_grad(x, count_call, &calls), ASC_OK);
    for (int pass = 1; pass <= 3; pass++) {
        backward(x, false);
        ck_assert_double_eq(grad(x), pass);
        ck_assert_int_eq(calls, pass);
    }
    backward(mul(ctx, x, x), false);
    ck_assert_double_eq(grad(x), 9);

    asc_tensor w = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3));
    asc_require_grad(w, true);
    asc_backward(ctx, w, asc_null(), false);
    expect_error(ASC_ERR_ARG, "backward: loss is (2, 3): expected one element, or a cotangent");
    asc_tensor c = asc_from(ctx, ASC_F32, (float[]){1, 2, 3, 4, 5, 6}, ASC_SHAPE(3, 2));
    for (int pass = 1; pass <= 2; pass++) {
        ck_assert_int_eq(asc_backward(ctx, w, asc_transpose(ctx, c, 0, 1), false), ASC_OK);
        for (int i = 0; i < 6; i++) {
            ck_assert_float_eq(((const float *)asc_data(asc_grad(w)))[i], (float)(pass * (1 + i % 3 * 2 + i / 3)));
        }
    }
}
END_TEST

START_TEST(detached)
{
    asc_tensor x = leaf(3), d = asc_detach(ctx, x);
    ck_assert_ptr_eq(asc_data(d), asc_data(x));
    ck_assert(!asc_requires_grad(d));
    backward(mul(ctx, x, d), false);
    ck_assert_double_eq(grad(x), 3);
    asc_tensor y = asc_detach(ctx, mul(ctx, x, x));
    ck_assert_double_eq(asc_item(y), 9);
    ck_assert(!asc_requires_grad(y));
}
END_TEST

START_TEST(an_inner_scope_leaves_the_outer_tape)
{
    asc_tensor x = leaf(3);
    asc_scope_begin(ctx);
    asc_tensor y = mul(ctx, x, x);
    asc_scope_begin(ctx);
    asc_tensor z = leaf(2);
    backward(mul(ctx, z, z), false);
    ck_assert_double_eq(grad(z), 4);
    asc_scope_end(ctx);
    backward(mul(ctx, y, x), false);
    ck_assert_double_eq(grad(x), 27);
    asc_scope_end(ctx);
}
END_TEST

/* ---- what the tape refuses ---- */

static const char *const freed = "backward: the tape was freed by an earlier backward pass, which did not retain it";

START_TEST(retain)
{
    asc_tensor x = leaf(3), y = mul(ctx, mul(ctx, x, x), x);
    backward(y, true);
    backward(y, true);
    ck_assert_double_eq(grad(x), 54);
    backward(y, false);
    ck_assert_double_eq(grad(x), 81);
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, freed);
    ck_assert_double_eq(grad(x), 81);
}
END_TEST

START_TEST(a_freed_part_of_the_tape)
{
    asc_tensor x = leaf(3), shared = mul(ctx, x, x), a = mul(ctx, shared, x), b = mul(ctx, shared, x);
    backward(a, false);
    ck_assert_int_eq(asc_backward(ctx, b, asc_null(), false), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE,
                 "backward: test_mul was freed by an earlier backward pass, which did not retain it");
    asc_zero_grad(x);
    backward(mul(ctx, x, x), false);
    ck_assert_double_eq(grad(x), 6);
}
END_TEST

static void check_overwritten(asc_tensor y, int input)
{
    char message[200];
    snprintf(message, sizeof message,
             "backward: test_mul: input %d was overwritten after the forward pass, and its old value is needed", input);
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, message);
}

START_TEST(overwritten)
{
    asc_tensor x = leaf(3), c = asc_scalar(ctx, ASC_F64, 4);
    asc_tensor y = mul(ctx, x, c);
    *(double *)asc_data_mut(c) = 5;
    check_overwritten(y, 1);

    y = mul(ctx, x, c);
    asc_copy(ctx, x, c);
    check_overwritten(y, 0);

    asc_tensor pair = asc_full(ctx, ASC_F64, 2, ASC_SHAPE(2)), part = asc_slice(ctx, pair, 0, 0, 1, 1);
    y = mul(ctx, asc_reshape(ctx, part, 0, NULL), x);
    asc_data_mut(pair); /* the storage that the view shares */
    check_overwritten(y, 0);

    /* written before the call, or not needed by the op: nothing to refuse */
    asc_data_mut(x);
    y = next(ctx, x);
    asc_data_mut(x);
    asc_zero_grad(x);
    backward(y, false);
    ck_assert_double_eq(grad(x), 1);
}
END_TEST

START_TEST(cotangents)
{
    asc_tensor x = asc_from(ctx, ASC_F64, (double[]){1, 2, 3, 4, 5, 6}, ASC_SHAPE(2, 3));
    asc_require_grad(x, true);
    asc_tensor y = mul(ctx, x, x);
    asc_backward(ctx, y, asc_null(), false);
    expect_error(ASC_ERR_ARG, "backward: loss is (2, 3): expected one element, or a cotangent");
    asc_backward(ctx, y, asc_zeros(ctx, ASC_F64, ASC_SHAPE(3, 2)), false);
    expect_error(ASC_ERR_ARG, "backward: cotangent is f64 (3, 2), loss is f64 (2, 3)");
    asc_backward(ctx, y, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), false);
    expect_error(ASC_ERR_ARG, "backward: cotangent is f32 (2, 3), loss is f64 (2, 3)");
    asc_tensor gone = asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 3));
    asc_release(gone);
    asc_backward(ctx, y, gone, false);
    expect_error(ASC_ERR_STATE, "backward: cotangent is a tensor that is gone");
    asc_backward(ctx, asc_null(), asc_null(), false);
    expect_error(ASC_ERR_ARG, "backward: loss is null");

    asc_tensor c = asc_from(ctx, ASC_F64, (double[]){1, 10, 100, 1000, 10000, 100000}, ASC_SHAPE(3, 2));
    ck_assert_int_eq(asc_backward(ctx, y, asc_transpose(ctx, c, 0, 1), false), ASC_OK); /* of any strides */
    static const double expected[] = {2, 400, 60000, 80, 10000, 1200000};
    for (int i = 0; i < 6; i++) {
        ck_assert_double_eq(((const double *)asc_data(asc_grad(x)))[i], expected[i]);
    }
}
END_TEST

START_TEST(require_grad_errors)
{
    asc_tensor i = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2));
    ck_assert_int_eq(asc_require_grad(i, true), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "require_grad: dtype is i64, expected f32 or f64");
    ck_assert_int_eq(asc_require_grad(i, false), ASC_OK);
    asc_tensor y = mul(ctx, leaf(1), leaf(1));
    ck_assert_int_eq(asc_require_grad(y, true), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "require_grad: an op made this tensor; expected a leaf");
    ck_assert_int_eq(asc_require_grad(asc_null(), true), ASC_ERR_ARG);
}
END_TEST

START_TEST(wrong_inputs)
{
    asc_tensor x = leaf(3), wide = asc_zeros(ctx, ASC_F64, ASC_SHAPE(2));
    ck_assert(asc_is_null(mul(ctx, x, wide)));
    expect_error(ASC_ERR_ARG, "test_mul: b is f64 (2), expected f64 of the first input's shape");
    ck_assert(asc_is_null(mul(ctx, asc_null(), x)));
    expect_error(ASC_ERR_ARG, "test_mul: a is null");
    asc_ctx *other = asc_ctx_new(&(asc_options){.threads = 1});
    ck_assert(asc_is_null(mul(ctx, x, asc_scalar(other, ASC_F64, 1))));
    expect_error(ASC_ERR_ARG, "test_mul: b belongs to another context");
    asc_tensor theirs = asc_full(other, ASC_F64, 1, ASC_SHAPE(2, 3)), ours = asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 3));
    ck_assert(asc_is_null(asc_detach(ctx, theirs)));
    expect_error(ASC_ERR_ARG, "detach: t belongs to another context");
    ck_assert(asc_is_null(asc_contiguous(ctx, theirs)));
    expect_error(ASC_ERR_ARG, "contiguous: x belongs to another context");
    ck_assert(asc_is_null(asc_cast(ctx, theirs, ASC_F64)));
    expect_error(ASC_ERR_ARG, "cast: x belongs to another context");
    ck_assert(asc_is_null(asc_dropout(ctx, theirs, 0)));
    expect_error(ASC_ERR_ARG, "dropout: x belongs to another context");
    ck_assert(asc_is_null(asc_einsum(ctx, "ij->ij", &theirs, 1)));
    expect_error(ASC_ERR_ARG, "einsum: x[0] belongs to another context");
    ck_assert_ptr_null(asc_batches_new(ctx, &theirs, 1, 1, 0));
    expect_error(ASC_ERR_ARG, "batches_new: tensors[0] belongs to another context");
    ck_assert_int_eq(asc_copy(ctx, theirs, ours), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "copy: dst belongs to another context");
    ck_assert_int_eq(asc_copy(ctx, ours, theirs), ASC_OK);
    ck_assert_double_eq(((const double *)asc_data(ours))[5], 1);
    asc_ctx_free(other);
    ck_assert(asc_is_null(asc_apply1(ctx, &mul_op, &x, 1, NULL)));
    expect_error(ASC_ERR_ARG, "test_mul: 1 inputs, expected 2");
    const char *was = asc_set_label(ctx, "test_mul"); /* as the op: said once */
    asc_apply1(ctx, &mul_op, &x, 1, NULL);
    expect_error(ASC_ERR_ARG, "test_mul: 1 inputs, expected 2");
    asc_set_label(ctx, "layers.3.ffn");
    mul(ctx, x, wide);
    asc_set_label(ctx, was);
    expect_error(ASC_ERR_ARG, "layers.3.ffn: test_mul: b is f64 (2), expected f64 of the first input's shape");
}
END_TEST

START_TEST(a_chain_after_an_error)
{
    asc_tensor x = leaf(3), wide = asc_zeros(ctx, ASC_F64, ASC_SHAPE(2));
    asc_tensor y = mul(ctx, mul(ctx, mul(ctx, x, wide), x), wide);
    ck_assert(asc_is_null(y));
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "test_mul: b is f64 (2), expected f64 of the first input's shape"); /* the first */
    backward(mul(ctx, x, x), false);
    ck_assert_double_eq(grad(x), 6);
}
END_TEST

/* ---- size ---- */

START_TEST(a_deep_tape)
{
    enum { DEPTH = 100000 };
    for (int round = 0; round < 2; round++) {
        asc_scope_begin(ctx);
        asc_tensor x = leaf(3), y = mul(ctx, x, x);
        for (int i = 0; i < DEPTH; i++) {
            y = next(ctx, y);
        }
        ck_assert_double_eq(asc_item(y), 9 + DEPTH);
        backward(y, false);
        ck_assert_double_eq(grad(x), 6);
        asc_scope_end(ctx);
    }
}
END_TEST

START_TEST(flops)
{
    asc_tensor a = asc_zeros(ctx, ASC_F64, ASC_SHAPE(3, 4));
    asc_flops_reset(ctx);
    mul(ctx, a, a);
    next(ctx, a);
    mul(ctx, a, a);
    ck_assert_double_eq(asc_flops(ctx), 24);
    asc_flops_reset(ctx);
    ck_assert_double_eq(asc_flops(ctx), 0);
}
END_TEST

static int computed; /* calls of the functions below */

static asc_status count_forward(asc_call *call)
{
    computed++;
    return mul_op.forward(call);
}

static asc_status count_backward(asc_call *call)
{
    computed++;
    return mul_op.backward(call);
}

/* A pass as any other, with its products and its memory, but the ops' functions don't run; then one that computes. */
START_TEST(a_rehearsal_computes_nothing)
{
    asc_op counted = mul_op;
    counted.forward = count_forward;
    counted.backward = count_backward;
    double flops[2];
    asc_tensor x = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(100, 100));
    asc_require_grad(x, true);
    size_t peak = 0;
    for (int real = 0; real < 2; real++) {
        computed = 0;
        asc_flops_reset(ctx);
        asc_zero_grad(x);
        asc_set_rehearsal(ctx, !real);
        asc_scope_begin(ctx);
        asc_tensor y = asc_apply1(ctx, &counted, (asc_tensor[]){x, x}, 2, NULL);
        ck_assert_int_eq(asc_backward(ctx, y, asc_full(ctx, ASC_F64, 1, ASC_SHAPE(100, 100)), false), ASC_OK);
        asc_scope_end(ctx);
        ck_assert_int_eq(computed, real ? 2 : 0);
        flops[real] = asc_flops(ctx);
        ck_assert(!real || asc_memory(ctx).peak_bytes == peak);
        peak = asc_memory(ctx).peak_bytes;
    }
    ck_assert(flops[0] > 0 && flops[0] == flops[1]);
    const double *g = asc_data(asc_grad(x));
    ck_assert(g[0] == 6 && g[9999] == 6);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("autograd");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, a_tensor_used_many_times);
    tcase_add_test(t, passes_add_up);
    tcase_add_test(t, a_gradient_is_like_its_leaf);
    tcase_add_test(t, only_where_it_is_asked_for);
    tcase_add_test(t, branches_that_do_not_matter);
    tcase_add_test(t, recording_off);
    tcase_add_test(t, no_gradient_to_the_loss);
    tcase_add_test(t, a_leaf_as_the_loss);
    tcase_add_test(t, detached);
    tcase_add_test(t, an_inner_scope_leaves_the_outer_tape);
    tcase_add_test(t, retain);
    tcase_add_test(t, a_freed_part_of_the_tape);
    tcase_add_test(t, overwritten);
    tcase_add_test(t, cotangents);
    tcase_add_test(t, require_grad_errors);
    tcase_add_test(t, wrong_inputs);
    tcase_add_test(t, a_chain_after_an_error);
    tcase_add_test(t, a_deep_tape);
    tcase_add_test(t, flops);
    tcase_add_test(t, a_rehearsal_computes_nothing);
    return run_suite("autograd", t);
}
