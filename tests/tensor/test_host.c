/* tests/tensor/test_host.c: what a host program needs: its own memory as tensors, gradient hooks, messages, contexts of
 * several threads at the same time. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/ascgrad.h>

#include "config.h"
#include "tests/suite.h"

static asc_ctx *ctx;

static void setup(void)
{
    ctx = asc_ctx_new(&(asc_options){.threads = 2});
    ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
    asc_ctx_free(ctx);
}

/* ---- the caller's memory ---- */

static void count_release(void *user, void *data)
{
    (void)data;
    ++*(int *)user;
}

START_TEST(wrapped_memory_is_shared_and_released_once)
{
    double data[6] = {1, 2, 3, 4, 5, 6};
    int released = 0;
    asc_scope_begin(ctx);
    asc_tensor t = asc_wrap(ctx, ASC_F64, data, ASC_SHAPE(2, 3), NULL, count_release, &released);
    asc_tensor columns = asc_permute(ctx, t, 2, (int[]){1, 0});
    ck_assert_ptr_eq(asc_data(t), data);
    data[1] = 20;
    ck_assert_double_eq(asc_item(asc_sum(ctx, columns, ASC_ALL_DIMS, false)), 39);
    asc_release(t);
    ck_assert_int_eq(released, 0); /* the view holds it */
    asc_scope_end(ctx);
    ck_assert_int_eq(released, 1);
    ck_assert(!asc_is_valid(t));
}
END_TEST

START_TEST(wrapped_memory_may_have_strides_and_a_gradient)
{
    float data[8] = {1, -1, 2, -1, 3, -1, 4, -1};
    int released = 0;
    asc_ctx *own = asc_ctx_new(&(asc_options){.threads = 1});
    asc_tensor t = asc_wrap(own, ASC_F32, data, ASC_SHAPE(4), (int64_t[]){2}, count_release, &released);
    ck_assert_int_eq(asc_require_grad(t, true), ASC_OK);
    asc_tensor loss = asc_sum(own, asc_square(own, t), ASC_ALL_DIMS, false);
    ck_assert_double_eq(asc_item(loss), 30);
    ck_assert_int_eq(asc_backward(own, loss, asc_null(), false), ASC_OK);
    const float want[] = {2, 4, 6, 8};
    ck_assert_int_eq(memcmp(asc_data(asc_grad(t)), want, sizeof want), 0);
    asc_ctx_free(own);
    ck_assert_int_eq(released, 1);
}
END_TEST

START_TEST(wrong_memory_is_refused)
{
    double data[2];
    int released = 0;
    const struct {
        void *data;
        int64_t size, stride;
        const char *message;
    } wrong[] = {{NULL, 2, 1, "wrap: data is NULL, expected 2 elements"},
                 {(char *)data + 1, 2, 1, ", expected an address that 8, the size of f64, divides"},
                 {data, 2, -1, "wrap: stride[0] is -1, expected at least 0"},
                 {data, -2, 1, "wrap: shape is (-2), expected sizes of at least 0"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        asc_tensor t = asc_wrap(ctx, ASC_F64, wrong[i].data, 1, &wrong[i].size, &wrong[i].stride, count_release,
                                &released);
        ck_assert(asc_is_null(t));
        ck_assert_int_eq(asc_error(ctx), ASC_ERR_ARG);
        ck_assert_msg(strstr(asc_error_message(ctx), wrong[i].message), "%s", asc_error_message(ctx));
        asc_error_clear(ctx);
    }
    ck_assert_int_eq(released, 0);
}
END_TEST

/* ---- gradient hooks ---- */

typedef struct hooked {
    int calls;
    double sum;
} hooked;

static void halve(void *user, asc_tensor gradient)
{
    hooked *h = user;
    double *g = asc_data_mut(gradient);
    h->calls++;
    for (int64_t i = 0; i < asc_numel(gradient); i++) {
        h->sum += g[i];
        g[i] /= 2;
    }
}

START_TEST(a_hook_sees_and_changes_a_leafs_gradient)
{
    asc_tensor x = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(2)), other = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2));
    hooked h = {0};
    asc_require_grad(other, true);
    ck_assert_int_eq(asc_on_grad(x, halve, &h), ASC_ERR_ARG); /* not a leaf with a gradient yet */
    asc_error_clear(ctx);
    ck_assert_int_eq(asc_require_grad(x, true), ASC_OK);
    ck_assert_int_eq(asc_on_grad(x, halve, &h), ASC_OK);
    asc_tensor y = asc_sum(ctx, asc_mul(ctx, x, x), ASC_ALL_DIMS, false);
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), true), ASC_OK);
    ck_assert_int_eq(h.calls, 1);
    ck_assert_double_eq(h.sum, 12); /* once, with both contributions of each element */
    ck_assert_double_eq(((const double *)asc_data(asc_grad(x)))[0], 3);
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), true), ASC_OK);
    ck_assert_int_eq(h.calls, 2);
    ck_assert_double_eq(h.sum, 12 + 18); /* 3 from before, and 6 */
    ck_assert_int_eq(asc_backward(ctx, asc_sum(ctx, other, ASC_ALL_DIMS, false), asc_null(), false), ASC_OK);
    ck_assert_int_eq(h.calls, 2); /* not reached */
    asc_require_grad(x, false);
    ck_assert_int_eq(asc_on_grad(x, NULL, NULL), ASC_OK);
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_OK);
    ck_assert_int_eq(h.calls, 2);
}
END_TEST

/* ---- messages ---- */

static void keep_message(void *user, const char *text)
{
    strncat(user, text, 199);
}

START_TEST(slow_blas_is_told)
{
    char text[400] = "";
    asc_ctx *c = asc_ctx_new(&(asc_options){.threads = 1, .message = keep_message, .message_user = text});
    asc_machine m = asc_machine_info();
    if (m.blas_advice) {
        ck_assert_ptr_nonnull(strstr(text, "OPENBLAS_CORETYPE="));
        ck_assert_ptr_nonnull(strstr(text, m.blas_advice));
    }
    ck_assert_int_eq(strstr(text, "one at a time") != NULL, m.blas_serial);
    ck_assert_int_eq(*text != 0, m.blas_advice || m.blas_serial);
    asc_ctx_free(c);
}
END_TEST

/* ---- contexts of several threads ---- */

enum { THREADS = 4, ROUNDS = 30 };

static void *work(void *result)
{
    asc_ctx *c = asc_ctx_new(&(asc_options){.threads = 2});
    asc_tensor w = asc_normal(c, ASC_F32, 0, 1, 1, 0, ASC_SHAPE(33, 65));
    asc_tensor x = asc_normal(c, ASC_F32, 0, 1, 1, 1, ASC_SHAPE(40, 65));
    asc_require_grad(w, true);
    for (int i = 0; i < ROUNDS; i++) {
        asc_scope_begin(c);
        asc_tensor y = asc_tanh(c, asc_linear(c, x, w, asc_null()));
        asc_backward(c, asc_sum(c, asc_square(c, y), ASC_ALL_DIMS, false), asc_null(), false);
        asc_scope_end(c);
    }
    double *sum = result;
    const float *g = asc_data(asc_grad(w));
    for (int64_t i = 0; g && i < asc_numel(w); i++) {
        *sum += (double)g[i] * (double)(i % 7);
    }
    asc_ctx_free(c);
    return NULL;
}

/* ---- versions ---- */

START_TEST(versions_agree)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", ASC_VERSION_MAJOR, ASC_VERSION_MINOR, ASC_VERSION_PATCH);
    ck_assert_str_eq(text, ASC_VERSION);
    ck_assert_str_eq(PACKAGE_VERSION, ASC_VERSION);
    ck_assert_str_eq(asc_machine_info().version, ASC_VERSION);
    ck_assert_int_eq(asc_version(), ASC_VERSION_NUMBER);
    ck_assert_int_eq(ASC_VERSION_NUMBER, ASC_VERSION_MAJOR * 10000 + ASC_VERSION_MINOR * 100 + ASC_VERSION_PATCH);
}
END_TEST

START_TEST(contexts_are_independent)
{
    pthread_t thread[THREADS];
    double alone = 0, sum[THREADS] = {0};
    work(&alone);
    ck_assert(alone != 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, work, &sum[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        ck_assert_double_eq(sum[i], alone);
    }
}
END_TEST

static void *describe(void *first)
{
    char blas[256];
    intptr_t differ = 0;
    for (int i = 0; i < 2000; i++) {
        snprintf(blas, sizeof blas, "%s", asc_machine_info().blas);
        differ += strcmp(blas, (const char *)first) != 0;
    }
    return (void *)differ;
}

START_TEST(machine_is_the_same_to_all_threads)
{
    pthread_t thread[THREADS];
    char first[256];
    snprintf(first, sizeof first, "%s", asc_machine_info().blas);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, describe, first), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *differ;
        pthread_join(thread[i], &differ);
        ck_assert_ptr_null(differ);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("host");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, wrapped_memory_is_shared_and_released_once);
    tcase_add_test(t, wrapped_memory_may_have_strides_and_a_gradient);
    tcase_add_test(t, wrong_memory_is_refused);
    tcase_add_test(t, a_hook_sees_and_changes_a_leafs_gradient);
    tcase_add_test(t, slow_blas_is_told);
    tcase_add_test(t, versions_agree);
    tcase_add_test(t, contexts_are_independent);
    tcase_add_test(t, machine_is_the_same_to_all_threads);
    return run_suite("host", t);
}
