/* tests/autograd/test_into.c: memory shared with others: results that are kept, written to the caller's memory, and
 * gradients that are collected there. */
#include <string.h>

#include <ascgrad/ops.h>
#include <ascgrad/optim.h>

#include "tests/autograd/ops.h"
#include "tests/faults.h"

enum { N = 4 };

static int released;

static void count_release(void *user, void *data)
{
    (void)user;
    (void)data;
    released++;
}

static asc_tensor wrap(double *data, int64_t n)
{
    return asc_wrap(ctx, ASC_F64, data, 1, &n, NULL, count_release, NULL);
}

static asc_tensor leaf(double value)
{
    asc_tensor t = asc_full(ctx, ASC_F64, value, ASC_SHAPE(N));
    asc_require_grad(t, true);
    return t;
}

/* A pass of the sum of x². */
static void pass(asc_tensor x)
{
    asc_scope_begin(ctx);
    asc_status status = asc_backward(ctx, asc_sum(ctx, asc_mul(ctx, x, x), ASC_ALL_DIMS, false), asc_null(), false);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    asc_scope_end(ctx);
}

static void expect_all(const double *data, double value)
{
    for (int i = 0; i < N; i++) {
        ck_assert_double_eq(data[i], value);
    }
}

/* ---- gradients ---- */

START_TEST(a_gradient_in_the_callers_memory)
{
    double memory_of[N] = {9, 9, 9, 9};
    asc_tensor x = leaf(3), g = wrap(memory_of, N);
    ck_assert_int_eq(asc_grad_into(x, g, false), ASC_OK);
    ck_assert(asc_is_null(asc_grad(x)));
    expect_all(memory_of, 9);
    pass(x); /* overwrites */
    ck_assert(asc_is_same(asc_grad(x), g));
    expect_all(memory_of, 6);
    pass(x); /* adds */
    expect_all(memory_of, 12);
    asc_zero_grad(x);
    ck_assert(asc_is_null(asc_grad(x)));
    pass(x);
    expect_all(memory_of, 6);

    ck_assert_int_eq(asc_grad_into(x, g, true), ASC_OK); /* the same, and it counts */
    memory_of[0] = 100;
    pass(x);
    ck_assert_double_eq(memory_of[0], 106);

    released = 0;
    asc_release(g);
    ck_assert_int_eq(released, 0); /* the leaf holds it */
    asc_release(x);
    ck_assert_int_eq(released, 1);
}
END_TEST

START_TEST(gradients_side_by_side)
{
    double flat[3 * N] = {0};
    asc_tensor all = wrap(flat, 3 * N), x[3];
    asc_params *params = asc_params_new(ctx);
    for (int i = 0; i < 3; i++) {
        x[i] = leaf(i);
        asc_params_add(params, i == 0 ? "a" : i == 1 ? "b" : "c", x[i], false);
        ck_assert_int_eq(asc_grad_into(x[i], asc_slice(ctx, all, 0, i * N, (i + 1) * N, 1), false), ASC_OK);
    }
    for (int i = 2; i >= 0; i--) {
        pass(x[i]);
    }
    for (int i = 0; i < 3; i++) {
        expect_all(flat + i * N, 2 * i);
    }
    asc_optim *sgd = asc_sgd_new(ctx, params, 0, 0);
    ck_assert_int_eq(asc_optim_step(sgd, .25, 1), ASC_OK); /* x -= .5 x */
    expect_all(asc_data(x[2]), 1);
    asc_optim_free(sgd);
    asc_params_free(params);
}
END_TEST

/* Of one leaf, of two, and from within a segment; in either order of asking. */
START_TEST(gradients_beside_values)
{
    double flat[2][2 * N] = {{1, 1, 1, 1}, {1, 1, 1, 1}};
    asc_tensor w = leaf(0), a = leaf(0), b = leaf(1), half[2][2];
    asc_tensor whole[] = {wrap(flat[0], 2 * N), wrap(flat[1], 2 * N)};
    for (int i = 0; i < 4; i++) {
        half[i / 2][i % 2] = asc_slice(ctx, whole[i / 2], 0, i % 2 * N, (i % 2 + 1) * N, 1);
    }
    ck_assert_int_eq(asc_grad_into(w, half[0][1], false), ASC_OK);
    ck_assert_int_eq(asc_set_data(w, half[0][0]), ASC_OK);
    asc_tensor square = asc_square(ctx, w);
    ck_assert_int_eq(asc_backward_loss(ctx, asc_sum(ctx, asc_add(ctx, square, asc_mul(ctx, w, square)), ASC_ALL_DIMS,
                                                    false)), ASC_OK); /* 2 w + 3 w², which come in turn */
    expect_all(flat[0] + N, 5);
    ck_assert_int_eq(asc_set_data(a, half[1][0]), ASC_OK);
    ck_assert_int_eq(asc_grad_into(b, half[1][1], false), ASC_OK);
    ck_assert_int_eq(asc_grad_into(a, half[1][1], false), ASC_OK);
    ck_assert_int_eq(asc_grad_into(a, asc_null(), false), ASC_OK);
    ck_assert_int_eq(asc_backward_loss(ctx, asc_sum(ctx, asc_mul(ctx, asc_square(ctx, a), b), ASC_ALL_DIMS, false)),
                     ASC_OK);
    expect_all(flat[1] + N, 1);
    /* what it holds is a value, too: that one is gone with the next pass */
    asc_tensor loss = asc_sum(ctx, asc_mul(ctx, half[1][1], a), ASC_ALL_DIMS, false);
    pass(b);
    ck_assert_int_eq(asc_backward_loss(ctx, loss), ASC_ERR_STATE);
    expect_error_with(ASC_ERR_STATE, "was overwritten after the forward pass");
}
END_TEST

/* Each beside its gradient, in one buffer. */
START_TEST(values_between_gradients)
{
    double memory_of[4 * N] = {1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2};
    int64_t n = 4 * N;
    asc_tensor all = asc_wrap(ctx, ASC_F64, memory_of, 1, &n, NULL, NULL, NULL), t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = asc_slice(ctx, all, 0, i * N, (i + 1) * N, 1);
    }
    for (int i = 0; i < 4; i += 2) {
        asc_require_grad(t[i], true);
        ck_assert_int_eq(asc_grad_into(t[i], t[i + 1], false), ASC_OK);
    }
    for (int times = 0; times < 2; times++) {
        asc_backward(ctx, asc_sum(ctx, asc_mul(ctx, t[0], t[2]), ASC_ALL_DIMS, false), asc_null(), false);
        no_error();
        expect_all(memory_of + N, 2);
        expect_all(memory_of + 3 * N, 1);
        asc_zero_grad(t[0]);
        asc_zero_grad(t[2]);
    }
}
END_TEST

START_TEST(a_gradient_that_is_kept_stays)
{
    asc_tensor x = leaf(3);
    pass(x);
    asc_tensor g = asc_keep(asc_grad(x));
    ck_assert_int_eq(asc_grad_into(x, asc_null(), false), ASC_OK);
    ck_assert(asc_is_null(asc_grad(x)));
    pass(x);
    pass(x);
    expect_all(asc_data(g), 6);
    expect_all(asc_data(asc_grad(x)), 12);
    asc_tensor half = asc_slice(ctx, asc_grad(x), 0, 0, N / 2, 1);
    asc_zero_grad(x);
    pass(x);
    ck_assert_double_eq(*(const double *)asc_data(half), 12);
    asc_tensor again = asc_keep(asc_grad(x));
    asc_zero_grad(x);
    pass(x);
    pass(x);
    expect_all(asc_data(again), 6);
    expect_all(asc_data(asc_grad(x)), 12);
    asc_release(again);
    asc_release(x);
    expect_all(asc_data(g), 6);
    asc_release(g);
    ck_assert(!asc_is_valid(g));
}
END_TEST

static void within(void *user, asc_tensor gradient)
{
    (void)gradient;
    ck_assert_int_eq(asc_grad_into(*(asc_tensor *)user, asc_null(), false), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "grad_into: called from within a backward pass");
}

/* A backward pass that needs what its gradient takes the place of, an input or the output, is refused, as one that
 * comes later is. */
START_TEST(a_gradient_over_values_that_its_own_pass_needs)
{
    double memory_of[N] = {0};
    asc_tensor x = leaf(3), g = wrap(memory_of, N), y;
    asc_grad_into(x, g, false);
    if (_i < 2) {
        pass(x);
        y = asc_mul(ctx, x, asc_grad(x));
    } else {
        asc_tensor in[] = {x, asc_null()};
        ck_assert_int_eq(asc_apply_into(ctx, asc_op_find(ctx, "softmax"), in, 2, NULL, &g, &y), ASC_OK);
    }
    if (_i == 1) {
        asc_zero_grad(x);
    }
    ck_assert_int_eq(asc_backward(ctx, y, asc_full(ctx, ASC_F64, 1, ASC_SHAPE(N)), false), ASC_ERR_STATE);
    expect_error_with(ASC_ERR_STATE, "was overwritten after the forward pass, and its old value is needed");
    asc_zero_grad(x);
    pass(x);
    expect_all(memory_of, 6);
}
END_TEST

START_TEST(a_place_that_does_not_fit)
{
    double data[N];
    asc_tensor x = leaf(3), g = wrap(data, N), gone = asc_zeros(ctx, ASC_F64, ASC_SHAPE(N));
    asc_release(gone);
    asc_grad_into(asc_null(), g, false);
    expect_error(ASC_ERR_ARG, "grad_into: leaf is null");
    ck_assert_int_eq(asc_grad_into(gone, g, false), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "grad_into: leaf is a tensor that is gone");
    ck_assert_int_eq(asc_grad_into(x, gone, false), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "grad_into: where is a tensor that is gone");
    asc_grad_into(g, x, false);
    expect_error(ASC_ERR_ARG, "grad_into: the tensor is no leaf that requires its gradient");
    asc_grad_into(x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(N)), false);
    expect_error(ASC_ERR_ARG, "grad_into: where is f32 (4), the leaf is f64 (4)");
    asc_grad_into(x, asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 2)), false);
    expect_error(ASC_ERR_ARG, "grad_into: where is f64 (2, 2), the leaf is f64 (4)");
    asc_grad_into(x, leaf(1), false);
    expect_error(ASC_ERR_ARG, "grad_into: where requires a gradient");
    asc_grad_into(x, asc_detach(ctx, x), false);
    expect_error(ASC_ERR_ARG, "grad_into: where is the leaf's own memory");
    double shared[N + 1] = {0};
    asc_tensor y = wrap(shared, N);
    asc_require_grad(y, true);
    asc_grad_into(y, wrap(shared + 1, N), false);
    expect_error(ASC_ERR_ARG, "grad_into: where is the leaf's own memory");
    asc_tensor wide = asc_zeros(ctx, ASC_F64, ASC_SHAPE(2 * N));
    asc_grad_into(x, asc_slice(ctx, wide, 0, 0, 2 * N, 2), false);
    expect_error(ASC_ERR_ARG, "grad_into: where is not contiguous");
    asc_ctx *other = asc_ctx_new(&(asc_options){.threads = 1});
    asc_grad_into(x, asc_zeros(other, ASC_F64, ASC_SHAPE(N)), false);
    expect_error(ASC_ERR_ARG, "grad_into: where belongs to another context");
    asc_backward(ctx, asc_mul(ctx, x, x), asc_zeros(other, ASC_F64, ASC_SHAPE(N)), false);
    expect_error(ASC_ERR_ARG, "backward: cotangent belongs to another context");
    asc_ctx_free(other);
    asc_on_grad(x, within, &x);
    pass(x);
    expect_all(asc_data(asc_grad(x)), 6);
}
END_TEST

/* ---- results ---- */

START_TEST(a_kept_result_does_not_change)
{
    asc_tensor x = leaf(3);
    asc_scope_begin(ctx);
    asc_tensor y = asc_keep(asc_mul(ctx, x, x));
    const double *at = asc_data(y);
    asc_scope_end(ctx);
    for (int i = 0; i < 50; i++) {
        pass(x);
    }
    ck_assert_ptr_eq(asc_data(y), at);
    expect_all(at, 9);
    asc_release(y);
    ck_assert_ptr_null(asc_data(y));
}
END_TEST

static asc_tensor mul_into(asc_tensor a, asc_tensor b, asc_tensor into)
{
    asc_tensor out;
    asc_apply_into(ctx, &mul_op, (asc_tensor[]){a, b}, 2, NULL, &into, &out);
    return out;
}

START_TEST(a_result_in_the_callers_memory)
{
    double first[N], second[N];
    released = 0;
    asc_tensor x = leaf(3), at[2] = {wrap(first, N), wrap(second, N)};
    asc_tensor y = mul_into(x, x, at[0]), z = mul_into(y, x, at[1]);
    expect_all(first, 9);
    expect_all(second, 27);
    ck_assert_ptr_eq(asc_data(z), second);
    ck_assert(asc_requires_grad(z) && !asc_requires_grad(at[1]) && !asc_is_same(z, at[1]));
    asc_release(at[0]);
    asc_release(at[1]);
    asc_release(y);
    ck_assert_int_eq(released, 0); /* the tape and z hold them */
    ck_assert_int_eq(asc_backward(ctx, asc_sum(ctx, z, ASC_ALL_DIMS, false), asc_null(), false), ASC_OK);
    expect_all(asc_data(asc_grad(x)), 27);
    ck_assert_int_eq(released, 1);
    asc_release(z);
    ck_assert_int_eq(released, 2);
}
END_TEST

START_TEST(memory_that_is_written_again)
{
    double data[N];
    asc_tensor x = leaf(3), at = wrap(data, N), y = mul_into(x, x, at), z = mul(ctx, y, y);
    asc_tensor again = mul_into(x, asc_detach(ctx, x), at);
    ck_assert(asc_is_valid(again));
    asc_tensor one = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(N));
    ck_assert_int_eq(asc_backward(ctx, z, one, false), ASC_ERR_STATE);
    expect_error_with(ASC_ERR_STATE, "input 0 was overwritten");
}
END_TEST

static asc_status into_within(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    asc_apply_into(c, &mul_op, (asc_tensor[]){in[0], in[0]}, 2, NULL, user, out);
    return asc_error(c);
}

START_TEST(memory_that_does_not_fit)
{
    double data[N];
    asc_tensor x = leaf(3), at = wrap(data, N), gone = asc_zeros(ctx, ASC_F64, ASC_SHAPE(N)), out;
    asc_release(gone);
    mul_into(x, x, gone);
    expect_error(ASC_ERR_ARG, "test_mul: the memory for output 0 is a tensor that is gone");
    mul_into(x, x, leaf(1));
    expect_error(ASC_ERR_ARG, "test_mul: the memory for output 0 requires a gradient");
    mul_into(x, at, at);
    expect_error(ASC_ERR_ARG, "test_mul: the memory for output 0 is an input's");
    double shared[N + 1] = {0};
    mul_into(x, wrap(shared, N), wrap(shared + 1, N));
    expect_error(ASC_ERR_ARG, "test_mul: the memory for output 0 is an input's");
    asc_tensor values = wrap(shared, 2), numbers = asc_wrap(ctx, ASC_I64, shared, ASC_SHAPE(2), NULL, NULL, NULL);
    int64_t k = 2;
    asc_apply_into(ctx, asc_op_find(ctx, "topk"), (asc_tensor[]){x, asc_null()}, 2, &k,
                   (asc_tensor[]){values, numbers}, (asc_tensor[2]){{0}});
    expect_error(ASC_ERR_ARG, "topk: the memory for output 1 is another output's");
    mul_into(x, x, asc_transpose(ctx, asc_zeros(ctx, ASC_F64, ASC_SHAPE(N, N)), 0, 1));
    expect_error(ASC_ERR_ARG, "test_mul: the memory for output 0 is not contiguous");
    ck_assert(asc_is_null(mul_into(x, x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(N)))));
    expect_error(ASC_ERR_ARG, "test_mul: output 0 is f64 (4), the memory for it is f32 (4)");
    mul_into(x, x, asc_zeros(ctx, ASC_F64, ASC_SHAPE(N + 1)));
    expect_error(ASC_ERR_ARG, "test_mul: output 0 is f64 (4), the memory for it is f64 (5)");
    asc_recompute(ctx, into_within, &at, &x, 1, &out, 1);
    expect_error(ASC_ERR_ARG, "test_mul: the memory for output 0 can't be written by a function of asc_recompute");
    struct { /* of asc_reshape */
        int ndim;
        int64_t shape[ASC_MAX_DIMS];
    } flat = {1, {N}};
    asc_apply_into(ctx, asc_op_find(ctx, "reshape"), &x, 1, &flat, &at, &out);
    expect_error(ASC_ERR_ARG, "reshape: output 0 is a view of its input: nothing is written");
    expect_all(asc_data(mul_into(x, x, at)), 9);
}
END_TEST

/* ---- failures ---- */

static double live(void)
{
    double data[2][N] = {{0}};
    asc_tensor x = leaf(3), g = wrap(data[0], N), at = wrap(data[1], N);
    asc_grad_into(x, g, false);
    asc_tensor y = mul_into(x, x, at), loss = asc_sum(ctx, y, ASC_ALL_DIMS, false);
    asc_backward(ctx, loss, asc_null(), false);
    double sum = data[0][0] + 10 * data[1][0];
    const asc_tensor all[] = {loss, y, at, g, x};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        asc_release(all[i]);
    }
    return sum;
}

START_TEST(every_allocation_fails_once)
{
    ck_assert_int_gt(fail_each_allocation(live, false), 10);
}
END_TEST

/* ---- values ---- */

START_TEST(values_in_the_callers_memory)
{
    double memory_of[N] = {5, 5, 5, 5};
    asc_tensor x = leaf(3), where = wrap(memory_of, N), before = asc_detach(ctx, x);
    asc_tensor loss = asc_sum(ctx, asc_mul(ctx, x, x), ASC_ALL_DIMS, false);
    ck_assert_int_eq(asc_set_data(x, where), ASC_OK);
    ck_assert_ptr_eq(asc_data(x), memory_of);
    expect_all(asc_data(before), 3);
    ck_assert_int_eq(asc_backward_loss(ctx, loss), ASC_OK); /* of the values that it was computed from */
    expect_all(asc_data(asc_grad(x)), 6);
    asc_zero_grad(x);
    pass(x);
    expect_all(asc_data(asc_grad(x)), 10);
    memory_of[0] = 1;
    asc_zero_grad(x);
    pass(x);
    ck_assert_double_eq(*(const double *)asc_data(asc_grad(x)), 2);

    released = 0;
    asc_release(where);
    ck_assert_int_eq(released, 0); /* the leaf lies there */
    asc_release(x);
    ck_assert_int_eq(released, 1);
}
END_TEST

/* Memory of no elements may be nowhere. */
START_TEST(gradients_of_nothing)
{
    asc_tensor x = asc_wrap(ctx, ASC_F64, NULL, ASC_SHAPE(0, 3), NULL, NULL, NULL);
    asc_tensor where = asc_wrap(ctx, ASC_F64, NULL, ASC_SHAPE(0, 3), NULL, NULL, NULL);
    no_error();
    asc_require_grad(x, true);
    ck_assert_int_eq(asc_grad_into(x, where, false), ASC_OK);
    for (int i = 0; i < 2; i++) { /* the second adds */
        ck_assert_int_eq(asc_backward_loss(ctx, asc_sum(ctx, asc_mul(ctx, x, x), ASC_ALL_DIMS, false)), ASC_OK);
    }
    ck_assert_int_eq(asc_backward(ctx, x, asc_zeros(ctx, ASC_F64, ASC_SHAPE(0, 3)), false), ASC_OK);
    ck_assert(asc_is_valid(asc_grad(x)));
}
END_TEST

START_TEST(values_that_do_not_fit)
{
    asc_tensor x = leaf(3), y = asc_exp(ctx, x), other = asc_zeros(ctx, ASC_F64, ASC_SHAPE(N, 1));
    struct {
        asc_tensor leaf, where;
        const char *message;
    } cases[] = {
        {y, asc_zeros(ctx, ASC_F64, ASC_SHAPE(N)), "set_data: leaf is a tensor that an op made"},
        {x, y, "set_data: where requires a gradient"},
        {x, other, "set_data: where is f64 (4, 1), the leaf is f64 (4)"},
        {x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(N)), "set_data: where is f32 (4), the leaf is f64 (4)"},
        {x, asc_expand(ctx, asc_zeros(ctx, ASC_F64, ASC_SHAPE(1)), ASC_SHAPE(N)), "set_data: where is not contiguous"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(asc_set_data(cases[i].leaf, cases[i].where), ASC_ERR_ARG);
        ck_assert_str_eq(asc_error_message(ctx), cases[i].message);
        asc_error_clear(ctx);
    }
    asc_tensor g = asc_zeros(ctx, ASC_F64, ASC_SHAPE(N));
    asc_grad_into(x, g, false);
    ck_assert_int_eq(asc_set_data(x, g), ASC_ERR_ARG);
    ck_assert_str_eq(asc_error_message(ctx), "set_data: where is the leaf's gradient");
    asc_error_clear(ctx);
    asc_release(g);
    asc_release(other);
    ck_assert_int_eq(asc_set_data(x, other), ASC_ERR_STATE);
    ck_assert_int_eq(asc_set_data(other, x), ASC_ERR_STATE);
    asc_error_clear(ctx);
    expect_all(asc_data(x), 3);
    asc_tensor left = leaf(1);
    asc_release(left);
    asc_set_data(left, asc_zeros(ctx, ASC_F64, ASC_SHAPE(N)));
    expect_error(ASC_ERR_STATE, "set_data: leaf is a tensor that is gone");
    asc_set_data(asc_null(), asc_zeros(ctx, ASC_F64, ASC_SHAPE(N)));
    expect_error(ASC_ERR_ARG, "set_data: leaf is null");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("into");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, a_gradient_in_the_callers_memory);
    tcase_add_test(t, gradients_side_by_side);
    tcase_add_test(t, gradients_beside_values);
    tcase_add_test(t, values_between_gradients);
    tcase_add_test(t, a_gradient_that_is_kept_stays);
    tcase_add_loop_test(t, a_gradient_over_values_that_its_own_pass_needs, 0, 3);
    tcase_add_test(t, a_place_that_does_not_fit);
    tcase_add_test(t, a_kept_result_does_not_change);
    tcase_add_test(t, a_result_in_the_callers_memory);
    tcase_add_test(t, memory_that_is_written_again);
    tcase_add_test(t, memory_that_does_not_fit);
    tcase_add_test(t, values_in_the_callers_memory);
    tcase_add_test(t, gradients_of_nothing);
    tcase_add_test(t, values_that_do_not_fit);
    tcase_add_test(t, every_allocation_fails_once);
    return run_suite("autograd/into", t);
}
