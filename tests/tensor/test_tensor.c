/* tests/tensor/test_tensor.c: making tensors, handles, scopes and lifetime, layouts and copies. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <ascgrad/ops.h>
#include <ascgrad/tensor.h>

#include "tensor/ctx.h"
#include "tests/context.h"

/* ---- making ---- */

START_TEST(making)
{
    asc_tensor t = asc_from(ctx, ASC_F32, (float[]){1, 2, 3, 4, 5, 6}, ASC_SHAPE(2, 3));
    ck_assert(asc_is_valid(t) && asc_is_contiguous(t));
    ck_assert_int_eq(asc_dtype_of(t), ASC_F32);
    ck_assert_int_eq(asc_ndim(t), 2);
    ck_assert_int_eq(asc_numel(t), 6);
    ck_assert_int_eq(asc_size(t, 0), 2);
    ck_assert_int_eq(asc_size(t, -1), 3);
    ck_assert_int_eq(asc_size(t, 2), 0);
    ck_assert_int_eq(asc_size(t, -3), 0);
    ck_assert_int_eq(asc_shape(t)[1], 3);
    ck_assert_int_eq(asc_strides(t)[0], 3);
    ck_assert_float_eq(((const float *)asc_data(t))[5], 6);
    ck_assert_double_eq(asc_item(asc_scalar(ctx, ASC_F64, 2.5)), 2.5);
    ck_assert_double_eq(asc_item(asc_full(ctx, ASC_I64, 7, ASC_SHAPE(1, 1))), 7);
    ck_assert_double_eq(asc_item(asc_full(ctx, ASC_U8, 200, ASC_SHAPE(1))), 200);
    ck_assert(isnan(asc_item(t)));
    ck_assert_double_eq(asc_item(asc_zeros(ctx, ASC_F32, 0, NULL)), 0);
    asc_tensor none = asc_zeros(ctx, ASC_F64, ASC_SHAPE(3, 0, 2));
    ck_assert(asc_is_valid(none));
    ck_assert_int_eq(asc_numel(none), 0);
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
}
END_TEST

START_TEST(aligned)
{
    static const asc_dtype dtypes[] = {ASC_F32, ASC_F64, ASC_I64, ASC_U8};
    for (int i = 0; i < 40; i++) {
        asc_tensor t = asc_empty(ctx, dtypes[i % 4], ASC_SHAPE(1 + i * 37));
        ck_assert_uint_eq((uintptr_t)asc_data(t) % 64, 0);
    }
}
END_TEST

START_TEST(bad_shapes)
{
    int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    asc_empty(ctx, ASC_F32, ASC_SHAPE(2, -1));
    expect_error(ASC_ERR_ARG, "empty: shape is (2, -1), expected sizes of at least 0");
    asc_zeros(ctx, ASC_F32, ASC_SHAPE(-2, 3));
    expect_error(ASC_ERR_ARG, "zeros: shape is (-2, 3), expected sizes of at least 0");
    asc_zeros(ctx, ASC_F32, 9, nine);
    expect_error(ASC_ERR_ARG, "zeros: ndim is 9, expected 0 to 8");
    asc_full(ctx, ASC_F32, 1, -1, NULL);
    expect_error(ASC_ERR_ARG, "full: ndim is -1, expected 0 to 8");
    asc_empty(ctx, ASC_F64, 1, NULL);
    expect_error(ASC_ERR_ARG, "empty: shape is NULL, expected 1 size");
    asc_scalar(ctx, (asc_dtype)9, 1);
    expect_error(ASC_ERR_ARG, "scalar: dtype is 9, expected f32, f64, i64 or u8");
    asc_empty(ctx, ASC_F32, ASC_SHAPE(INT64_MAX / 2, 3));
    expect_error(ASC_ERR_ARG, "empty: shape is (4611686018427387903, 3), of more than PTRDIFF_MAX bytes");
    /* the product wraps around to 0 */
    asc_empty(ctx, ASC_U8, ASC_SHAPE((int64_t)1 << 32, (int64_t)1 << 32));
    expect_error(ASC_ERR_ARG, "empty: shape is (4294967296, 4294967296), of more than PTRDIFF_MAX bytes");
    asc_from(ctx, ASC_F32, NULL, ASC_SHAPE(2));
    expect_error(ASC_ERR_ARG, "from: data is NULL, expected 8 bytes");
    asc_from(ctx, ASC_F32, nine, ASC_SHAPE(-1));
    expect_error(ASC_ERR_ARG, "from: shape is (-1), expected sizes of at least 0");
    asc_normal(ctx, ASC_I64, 0, 1, 1, 1, ASC_SHAPE(2));
    expect_error(ASC_ERR_ARG, "normal: dtype is i64, expected f32 or f64");
    asc_uniform(ctx, ASC_F32, 0, 1, 1, 1, ASC_SHAPE(-3));
    expect_error(ASC_ERR_ARG, "uniform: shape is (-3), expected sizes of at least 0");
}
END_TEST

/* What no tensor of the dtype, or of the memory that there is, could hold. */
START_TEST(bad_numbers)
{
    static const struct {
        asc_dtype dtype;
        double value;
        bool fits;
    } cases[] = {{ASC_U8, 255.9, true},    {ASC_U8, 256, false},     {ASC_U8, -1, false},   {ASC_U8, -0.5, true},
                 {ASC_U8, NAN, false},     {ASC_I64, 0x1p63, false}, {ASC_I64, NAN, false}, {ASC_I64, -0x1p63, true},
                 {ASC_I64, INFINITY, false}, {ASC_F32, INFINITY, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert(asc_is_null(asc_full(ctx, cases[i].dtype, cases[i].value, ASC_SHAPE(2))) == !cases[i].fits);
        if (!cases[i].fits) {
            expect_error_with(ASC_ERR_ARG, "full: value is");
        }
    }
    ck_assert(asc_is_null(asc_arange(ctx, ASC_U8, 250, 260, 1)));
    expect_error_with(ASC_ERR_ARG, "arange: 250 to 259, which u8 does not hold");
    ck_assert_int_eq(asc_numel(asc_arange(ctx, ASC_U8, 250, 256, 1)), 6);
    ck_assert(asc_is_null(asc_uniform(ctx, ASC_F32, 0, 1e300, 1, 0, ASC_SHAPE(2))));
    expect_error_with(ASC_ERR_ARG, "uniform: from 0 to 1e+300, expected finite numbers of the dtype");
    ck_assert(asc_is_null(asc_uniform(ctx, ASC_F64, -1e308, 1e308, 1, 0, ASC_SHAPE(2))));
    expect_error_with(ASC_ERR_ARG, "uniform: from -1e+308 to 1e+308");
    ck_assert(asc_is_null(asc_normal(ctx, ASC_F32, 1e300, 1, 1, 0, 0, NULL)));
    expect_error_with(ASC_ERR_ARG, "normal: a mean of 1e+300");
    asc_tensor narrow = asc_uniform(ctx, ASC_F32, 1, 1 + 0x1p-23, 1, 0, ASC_SHAPE(1000)); /* half of it rounds up */
    for (int i = 0; i < 1000; i++) {
        ck_assert(((const float *)asc_data(narrow))[i] == 1);
    }
    ck_assert(asc_is_null(asc_uniform(ctx, ASC_F32, 1, 0, 1, 0, ASC_SHAPE(2))));
    expect_error_with(ASC_ERR_ARG, "uniform: from 1 to 0");
    ck_assert(asc_is_null(asc_uniform(ctx, ASC_F32, 0, NAN, 1, 0, ASC_SHAPE(2))));
    expect_error_with(ASC_ERR_ARG, "uniform: from 0 to nan");
    ck_assert(asc_is_null(asc_normal(ctx, ASC_F32, 0, -1, 1, 0, ASC_SHAPE(2))));
    expect_error_with(ASC_ERR_ARG, "normal: a mean of 0 and a deviation of -1");
}
END_TEST

START_TEST(strides_that_reach_too_far)
{
    float data[4] = {0};
    static const int64_t shape[] = {2, 2}, none[] = {0, 2}, far[] = {INT64_MAX, 1},
                         both[] = {INT64_MAX / 8 + 1, INT64_MAX / 8};
    ck_assert(asc_is_null(asc_wrap(ctx, ASC_F32, data, 2, shape, far, NULL, NULL)));
    expect_error_with(ASC_ERR_ARG, "wrap: stride[0] is 9223372036854775807: the elements reach over");
    ck_assert(asc_is_null(asc_wrap(ctx, ASC_F32, data, 2, shape, both, NULL, NULL)));
    expect_error_with(ASC_ERR_ARG, "wrap: stride[1] is 1152921504606846975");
    ck_assert(asc_is_valid(asc_wrap(ctx, ASC_F32, data, 2, none, far, NULL, NULL)));
}
END_TEST

START_TEST(first_error_wins)
{
    asc_fail(ctx, ASC_ERR_IO, "first %d", 1);
    asc_fail(ctx, ASC_ERR_ARG, "second");
    expect_error_with(ASC_ERR_IO, "first 1");
    ck_assert_int_eq(asc_error(NULL), ASC_ERR_MEMORY);
}
END_TEST

/* ---- handles ---- */

static void check_gone(asc_tensor t)
{
    ck_assert(!asc_is_valid(t));
    ck_assert_int_eq(asc_ndim(t), -1);
    ck_assert_int_eq(asc_numel(t), 0);
    ck_assert_int_eq(asc_size(t, 0), 0);
    ck_assert_ptr_null(asc_data(t));
    ck_assert_ptr_null(asc_data_mut(t));
    ck_assert_ptr_null(asc_shape(t));
    ck_assert_ptr_null(asc_strides(t));
    ck_assert_int_eq(asc_array_of(t).ndim, -1);
    ck_assert(isnan(asc_item(t)));
    ck_assert(!asc_requires_grad(t) && !asc_is_contiguous(t));
    ck_assert(asc_is_null(asc_grad(t)) && asc_is_null(asc_keep(t)));
    asc_release(t);
    asc_zero_grad(t);
}

START_TEST(an_error_says_what_it_is_about)
{
    ck_assert_ptr_null(asc_error_subject(NULL));
    ck_assert_ptr_null(asc_error_subject(ctx));
    asc_error_clear(NULL);
    ck_assert_int_eq(asc_fail_on(ctx, ASC_ERR_ARG, "heads", " is %d, expected 4", 3), ASC_ERR_ARG);
    asc_fail_on(ctx, ASC_ERR_ARG, "width", ": the second");
    ck_assert_str_eq(asc_error_message(ctx), "heads is 3, expected 4");
    ck_assert_str_eq(asc_error_subject(ctx), "heads");
    ck_assert_str_eq(asc_error_detail(ctx), " is 3, expected 4");
    asc_error_place(ctx, "config");
    asc_error_place(ctx, "file.json"); /* in place of the one before */
    ck_assert_str_eq(asc_error_message(ctx), "file.json: heads is 3, expected 4");
    ck_assert_str_eq(asc_error_subject(ctx), "heads");
    ck_assert_str_eq(asc_error_detail(ctx), " is 3, expected 4");
    asc_error_clear(ctx);
    ck_assert_ptr_null(asc_error_subject(ctx));
    ck_assert_str_eq(asc_error_detail(ctx), "");
    asc_fail(ctx, ASC_ERR_ARG, "neither");
    ck_assert_ptr_null(asc_error_subject(ctx));
    ck_assert_str_eq(asc_error_detail(ctx), "neither");
    asc_error_clear(ctx);
}
END_TEST

START_TEST(stale)
{
    check_gone(asc_null());
    asc_scope_begin(ctx);
    asc_tensor t = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2)), other = asc_full(ctx, ASC_F32, 2, ASC_SHAPE(2));
    asc_tensor copy = t;
    asc_release(t);
    check_gone(t);
    check_gone(copy);
    ck_assert(asc_is_valid(other));
    asc_scope_end(ctx);
    check_gone(other);

    /* the node is used again: the old handle does not see the new tensor */
    asc_tensor next = asc_full(ctx, ASC_F32, 3, ASC_SHAPE(2));
    ck_assert(next.tag == t.tag || next.tag == other.tag);
    check_gone(t);
    check_gone(other);
    ck_assert(asc_is_valid(next));

    ck_assert(asc_is_null(asc_dropout(ctx, t, 0.5)));
    expect_error_with(ASC_ERR_STATE, "dropout: x is a tensor that is gone");
    ck_assert_int_eq(asc_copy(ctx, next, t), ASC_ERR_STATE);
    expect_error_with(ASC_ERR_STATE, "src is a tensor that is gone");
    ck_assert(asc_is_null(asc_detach(ctx, t)));
    expect_error_with(ASC_ERR_STATE, "gone");
    ck_assert_int_eq(asc_require_grad(t, true), ASC_ERR_STATE); /* no context is given: that of the tensor */
    expect_error(ASC_ERR_STATE, "require_grad: t is a tensor that is gone");
    ck_assert_int_eq(asc_set_data(t, t), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "set_data: leaf is a tensor that is gone");
    ck_assert_int_eq(asc_set_data(t, asc_null()), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "set_data: leaf is a tensor that is gone");
    ck_assert_int_eq(asc_on_grad(t, NULL, NULL), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "on_grad: t is a tensor that is gone");
}
END_TEST

/* Handles of tensors, one of them released before, whose context is gone; their memory may be another's by now. */
START_TEST(a_handle_of_a_freed_context)
{
    enum { MANY = 200 };
    heap own = {.fail_at = NEVER};
    asc_tensor t[MANY];
    for (int round = 0; round < 3; round++) {
        asc_ctx *other = context_on(&own, 1);
        for (int i = 0; i < MANY; i++) {
            t[i] = asc_full(other, ASC_F32, i, ASC_SHAPE(2));
        }
        asc_release(t[0]);
        asc_ctx_free(other);
        expect_empty(&own);
        for (int i = 0; i < MANY; i++) {
            check_gone(t[i]);
            ck_assert(asc_is_null(asc_keep(t[i])));
            ck_assert(!asc_requires_grad(t[i]) && asc_is_null(asc_grad(t[i])));
            ck_assert_int_eq(asc_require_grad(t[i], true), ASC_ERR_STATE);
            asc_zero_grad(t[i]);
            asc_release(t[i]);
        }
        ck_assert(asc_is_null(asc_dropout(ctx, t[1], 0.5)));
        expect_error_with(ASC_ERR_STATE, "dropout: x is a tensor that is gone");
        other = context_on(&own, 1); /* takes what the last one gave back */
        asc_tensor living = asc_full(other, ASC_F32, 7, ASC_SHAPE(2));
        for (int i = 0; i < MANY; i++) {
            check_gone(t[i]);
            ck_assert_int_eq(asc_require_grad(t[i], true), ASC_ERR_STATE);
            asc_release(t[i]);
        }
        ck_assert_int_eq(asc_error(other), ASC_OK); /* it is not that one's error */
        ck_assert_double_eq(((const float *)asc_data(living))[1], 7);
        asc_ctx_free(other);
    }
}
END_TEST

START_TEST(scopes)
{
    asc_tensor outer = asc_scalar(ctx, ASC_F64, 1);
    asc_scope_begin(ctx);
    asc_tensor a = asc_scalar(ctx, ASC_F64, 2);
    asc_scope_begin(ctx);
    asc_tensor b = asc_scalar(ctx, ASC_F64, 3), kept = asc_keep(asc_scalar(ctx, ASC_F64, 4));
    asc_scope_end(ctx);
    ck_assert(!asc_is_valid(b));
    ck_assert_double_eq(asc_item(kept), 4);
    ck_assert_double_eq(asc_item(a), 2);
    asc_scope_end(ctx);
    ck_assert(!asc_is_valid(a));
    ck_assert_double_eq(asc_item(kept), 4);
    asc_release(kept);
    ck_assert(!asc_is_valid(kept));
    ck_assert_double_eq(asc_item(outer), 1);
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    asc_scope_end(ctx);
    expect_error_with(ASC_ERR_STATE, "no scope has begun");
}
END_TEST

START_TEST(results_leave_their_scope)
{
    asc_scope_begin(ctx);
    asc_tensor outer = asc_scalar(ctx, ASC_F64, 1);
    asc_scope_begin(ctx);
    asc_tensor t[5];
    for (int i = 0; i < 4; i++) {
        t[i] = asc_scalar(ctx, ASC_F64, i);
    }
    t[4] = outer;
    asc_scope_end_but(ctx, (asc_tensor[]){t[1], t[3], t[3], outer, asc_null()}, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(asc_is_valid(t[i]), i % 2 == 1 || i == 4);
    }
    asc_scope_end_but(ctx, &t[3], 1); /* the outermost: the caller's */
    ck_assert(!asc_is_valid(t[1]) && !asc_is_valid(outer));
    ck_assert_double_eq(asc_item(t[3]), 3);
    asc_release(t[3]);
    ck_assert(!asc_is_valid(t[3]));
    asc_scope_begin(ctx);
    t[0] = asc_scalar(ctx, ASC_F64, 1);
    asc_scope_end_but(ctx, NULL, 1);
    ck_assert(!asc_is_valid(t[0]));
    expect_error(ASC_ERR_ARG, "scope_end_but: stay is NULL");
    asc_scope_end_but(ctx, &t[3], 1);
    expect_error_with(ASC_ERR_STATE, "no scope has begun");
}
END_TEST

START_TEST(keep_and_release)
{
    asc_tensor t = asc_scalar(ctx, ASC_F64, 1);
    asc_keep(t);
    asc_keep(t);
    asc_release(t);
    asc_release(t);
    ck_assert(asc_is_valid(t)); /* the making's reference is left */
    asc_release(t);
    ck_assert(!asc_is_valid(t));

    /* a gradient is the leaf's: releasing it does nothing */
    asc_tensor x = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2)), y;
    asc_require_grad(x, true);
    y = asc_layer_norm(ctx, x, asc_null(), asc_null(), 1e-5);
    ck_assert_int_eq(asc_backward(ctx, y, asc_zeros(ctx, ASC_F64, ASC_SHAPE(2)), false), ASC_OK);
    asc_release(asc_grad(x));
    ck_assert(asc_is_valid(asc_grad(x)));
}
END_TEST

START_TEST(view_holds_storage)
{
    asc_scope_begin(ctx);
    asc_tensor x = asc_from(ctx, ASC_F64, (double[]){1, 2, 3, 4}, ASC_SHAPE(4));
    asc_tensor v = asc_slice(ctx, x, 0, 1, 3, 1);
    asc_release(x);
    asc_tensor fill[20];
    for (int i = 0; i < 20; i++) {
        fill[i] = asc_full(ctx, ASC_F64, -1, ASC_SHAPE(4));
        ck_assert_ptr_ne(asc_data(fill[i]), (const double *)asc_data(v) - 1);
    }
    ck_assert_double_eq(((const double *)asc_data(v))[1], 3);
    asc_scope_end(ctx);
}
END_TEST

/* ---- copies ---- */

static void check_values(asc_tensor t, const double *expected)
{
    asc_tensor flat = asc_zeros(ctx, asc_dtype_of(t), asc_ndim(t), asc_shape(t));
    ck_assert_int_eq(asc_copy(ctx, flat, t), ASC_OK);
    for (int64_t i = 0; i < asc_numel(t); i++) {
        double v = asc_dtype_of(t) == ASC_F32 ? (double)((const float *)asc_data(flat))[i]
                                              : ((const double *)asc_data(flat))[i];
        ck_assert_double_eq(v, expected[i]);
    }
}

START_TEST(copies)
{
    asc_tensor x = asc_from(ctx, ASC_F64, (double[]){1, 2, 3, 4, 5, 6}, ASC_SHAPE(2, 3));
    asc_tensor t = asc_transpose(ctx, x, 0, 1), f = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 2));
    const double transposed[] = {1, 4, 2, 5, 3, 6};
    ck_assert(!asc_is_contiguous(t));
    check_values(t, transposed);
    ck_assert_int_eq(asc_copy(ctx, f, t), ASC_OK); /* strided to contiguous, f64 to f32 */
    check_values(f, transposed);

    asc_tensor big = asc_zeros(ctx, ASC_F64, ASC_SHAPE(3, 4)), part = asc_slice(ctx, big, 1, 1, 4, 2);
    ck_assert_int_eq(asc_copy(ctx, part, f), ASC_OK); /* contiguous to strided, f32 to f64 */
    check_values(big, (double[]){0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6});
    ck_assert_int_eq(asc_copy(ctx, asc_transpose(ctx, part, 0, 1), x), ASC_OK);
    ck_assert_int_eq(asc_copy(ctx, part, t), ASC_OK); /* strided to strided */
    check_values(big, (double[]){0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6});
}
END_TEST

START_TEST(copies_within_one_storage)
{
    asc_tensor x = asc_from(ctx, ASC_F64, (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9}, ASC_SHAPE(3, 3));
    ck_assert_int_eq(asc_copy(ctx, x, asc_transpose(ctx, x, 0, 1)), ASC_OK);
    check_values(x, (double[]){1, 4, 7, 2, 5, 8, 3, 6, 9});
    double shared[] = {1, 2, 3};
    ck_assert_int_eq(asc_copy(ctx, asc_wrap(ctx, ASC_F64, shared + 1, ASC_SHAPE(2), NULL, NULL, NULL),
                              asc_wrap(ctx, ASC_F64, shared, ASC_SHAPE(2), NULL, NULL, NULL)), ASC_OK);
    ck_assert(shared[1] == 1 && shared[2] == 2);
    ck_assert_int_eq(asc_copy(ctx, x, x), ASC_OK);
    asc_tensor y = asc_from(ctx, ASC_F64, (double[]){1, 2, 3, 4, 5}, ASC_SHAPE(5));
    ck_assert_int_eq(asc_copy(ctx, asc_slice(ctx, y, 0, 1, 5, 1), asc_slice(ctx, y, 0, 0, 4, 1)), ASC_OK);
    check_values(y, (double[]){1, 1, 2, 3, 4});
}
END_TEST

START_TEST(copy_errors)
{
    asc_tensor f = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), i = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 3));
    asc_tensor g = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 2));
    ck_assert_int_eq(asc_copy(ctx, f, i), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "copy: src is i64 (2, 3), dst is f32 (2, 3)");
    ck_assert_int_eq(asc_copy(ctx, f, g), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "copy: src is f32 (3, 2), dst is f32 (2, 3)");
    ck_assert_int_eq(asc_copy(ctx, f, asc_null()), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "src is null");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("tensor");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, making);
    tcase_add_test(t, aligned);
    tcase_add_test(t, bad_shapes);
    tcase_add_test(t, bad_numbers);
    tcase_add_test(t, strides_that_reach_too_far);
    tcase_add_test(t, first_error_wins);
    tcase_add_test(t, an_error_says_what_it_is_about);
    tcase_add_test(t, stale);
    tcase_add_test(t, a_handle_of_a_freed_context);
    tcase_add_test(t, scopes);
    tcase_add_test(t, results_leave_their_scope);
    tcase_add_test(t, keep_and_release);
    tcase_add_test(t, view_holds_storage);
    tcase_add_test(t, copies);
    tcase_add_test(t, copies_within_one_storage);
    tcase_add_test(t, copy_errors);
    return run_suite("tensor", t);
}
