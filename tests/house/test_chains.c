/* tests/house/test_chains.c: what NULL does in a program: one look at the end of a chain finds what went wrong first,
 * and names it; see the rule in ascgrad/base.h. */
#include <stdio.h>
#include <string.h>

#include <ascgrad/ascgrad.h>

#include "tests/context.h"

/* A step of training on a layer that could not be made: nothing crashes, nothing is made, nothing leaks. */
START_TEST(layer_chain)
{
    asc_layer *made = asc_layer_new(ctx, "transformer", 8, "{\"heads\": 2, \"causl\": true}", ASC_F32, 1);
    ck_assert_ptr_null(made);
    char first[200];
    snprintf(first, sizeof first, "%s", asc_error_message(ctx));
    ck_assert_msg(strstr(first, "causl"), "%s", first);
    asc_params *of = asc_layer_params(made);
    asc_optim *steps = asc_adamw_new(ctx, of, NULL);
    asc_optim *descent = asc_sgd_new(ctx, of, 0.9, 0);
    ck_assert_int_eq(asc_optim_group(steps, "", 1, 0), 0);
    asc_scope_begin(ctx);
    asc_tensor x = asc_uniform(ctx, ASC_F32, -1, 1, 1, 1, ASC_SHAPE(2, 3, 8)), aux;
    asc_params_zero_grad(of);
    asc_tensor y = asc_layer_forward(made, x, asc_null()), z = asc_layer_forward_aux(made, x, asc_null(), &aux);
    asc_tensor loss = asc_mean(ctx, asc_square(ctx, asc_sub(ctx, y, z)), ASC_ALL_DIMS, false);
    ck_assert(asc_is_null(y) && asc_is_null(z) && asc_is_null(aux) && asc_is_null(loss));
    ck_assert_int_eq(asc_backward(ctx, loss, asc_null(), false), ASC_ERR_ARG);
    double norm = asc_grad_norm(ctx, of);
    ck_assert_int_eq(asc_optim_step(steps, 1e-3, asc_clip_scale(norm, 1)), ASC_ERR_ARG);
    ck_assert_int_eq(asc_optim_step(descent, 1e-3, 1), ASC_ERR_ARG);
    asc_scope_end(ctx);
    ck_assert_int_eq(asc_params_count(of), 0);
    ck_assert_ptr_null(asc_params_name(of, 0));
    asc_optim_free(steps);
    asc_optim_free(descent);
    asc_layer_free(made);
    expect_error(ASC_ERR_ARG, first);
}
END_TEST

START_TEST(lm_chain)
{
    asc_lm *made = asc_lm_new(ctx, "{\"mix\": \"transfomer\"}", ASC_F32, 1);
    ck_assert_ptr_null(made);
    char first[200];
    snprintf(first, sizeof first, "%s", asc_error_message(ctx));
    asc_params *of = asc_lm_params(made);
    asc_optim *steps = asc_adamw_new(ctx, of, NULL);
    asc_lm_set_dropout(made, 0.1);
    asc_lm_set_recompute(made, true);
    asc_scope_begin(ctx);
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 3)), each = x;
    asc_tensor loss = asc_lm_loss(made, x, x, &each);
    ck_assert(asc_is_null(loss) && asc_is_null(each) && asc_is_null(asc_lm_logits(made, x)));
    ck_assert(asc_is_null(asc_lm_objective(made, x, x, NULL)));
    ck_assert_int_eq(asc_backward(ctx, loss, asc_null(), false), ASC_ERR_ARG);
    ck_assert_int_eq(asc_optim_step(steps, 1e-3, 1), ASC_ERR_ARG);
    asc_lm_project(made);
    asc_scope_end(ctx);
    asc_lm_cache *begun = asc_lm_cache_new(made, 8);
    ck_assert(asc_is_null(asc_lm_next(begun, (const int64_t[]){0}, 1)));
    asc_lm_cache_free(begun);
    asc_optim_free(steps);
    asc_lm_free(made);
    expect_error(ASC_ERR_ARG, first);
}
END_TEST

static bool take(void *user, int32_t id)
{
    (void)user;
    return id < 0;
}

/* Without an error that stands, the one that is left names function and argument. */
START_TEST(messages)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3, 8)), parts[2] = {asc_null(), x};
    asc_layer_forward(NULL, x, asc_null());
    expect_error(ASC_ERR_ARG, "layer_forward: layer is NULL");
    asc_lm_loss(NULL, x, x, NULL);
    expect_error(ASC_ERR_ARG, "lm_loss: lm is NULL");
    asc_layer_new(ctx, NULL, 8, "{}", ASC_F32, 1);
    expect_error(ASC_ERR_ARG, "layer_new: mixing is NULL");
    asc_attention(ctx, &(asc_attention_inputs){.q = x, .k = x, .v = x}, NULL);
    expect_error(ASC_ERR_ARG, "attention: options is NULL");
    asc_adamw_new(ctx, NULL, NULL);
    expect_error(ASC_ERR_ARG, "adamw_new: params is NULL");
    asc_sum(ctx, x, 2, NULL, false);
    expect_error(ASC_ERR_ARG, "sum: dims is NULL");
    asc_stack(ctx, parts, 2, 0);
    expect_error(ASC_ERR_ARG, "stack: x[0] is null");
    asc_detach(ctx, asc_null());
    expect_error(ASC_ERR_ARG, "detach: t is null");
    asc_safetensors_read(ctx, NULL, "x", ASC_SAFETENSORS_STORED);
    expect_error(ASC_ERR_ARG, "safetensors_read: file is NULL");
    asc_train(ctx, NULL, "run", false, NULL, NULL);
    expect_error(ASC_ERR_ARG, "train: settings is NULL");
    asc_generate(ctx, &(asc_model){0}, NULL, 0, 0, NULL, take, NULL);
    expect_error(ASC_ERR_ARG, "generate: model->lm is NULL");
    ck_assert(asc_is_null(asc_tanh(NULL, x)) && asc_error(NULL) == ASC_ERR_MEMORY);
    no_error(); /* no context was given that could have one */
    asc_gemm_speed(ctx, 2, 0, 2);
    expect_error(ASC_ERR_ARG, "gemm_speed: m, n and k are 2, 0 and 2, expected 1 to 2147483647");
    asc_gemm_speed(ctx, 2, 1LL << 31, 2);
    expect_error(ASC_ERR_ARG, "gemm_speed: m, n and k are 2, 2147483648 and 2, expected 1 to 2147483647");
    asc_gemm_speed(ctx, INT32_MAX, INT32_MAX, INT32_MAX);
    expect_error(ASC_ERR_ARG, "gemm_speed: m, n and k are 2147483647, 2147483647 and 2147483647, of more than "
                              "PTRDIFF_MAX bytes");
}
END_TEST

START_TEST(params_beyond_the_end)
{
    asc_params *list = asc_params_new(ctx);
    asc_params_add(list, "x", asc_zeros(ctx, ASC_F32, ASC_SHAPE(2)), true);
    for (int i = -1; i <= 99; i++) {
        bool there = i == 0;
        ck_assert((asc_params_name(list, i) != NULL) == there && asc_params_decays(list, i) == there);
        ck_assert(asc_is_null(asc_params_at(list, i)) != there);
    }
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    asc_params_free(list);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("chains");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, layer_chain);
    tcase_add_test(t, lm_chain);
    tcase_add_test(t, messages);
    tcase_add_test(t, params_beyond_the_end);
    return run_suite("chains", t);
}
