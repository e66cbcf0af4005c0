/* tests/nn/test_faults.c: a model's life when memory runs out, and what outlives what: labels, scopes, failed calls. */
#include <math.h>
#include <stdio.h>

#include <ascgrad/ops.h>

#include "tests/faults.h"
#include "tests/nn/model.h"

enum { B = 2, N = 9, V = 11 };

#define CONFIG(more) \
    "{\"d_model\":8,\"layers\":2,\"heads\":2,\"vocab\":11,\"block\":9,\"rel\":3,\"block_norm\":\"pre\"," \
    "\"mix\":" more "}"
static const char *const configs[] = {
    CONFIG("\"transformer\""),
    CONFIG("\"transformer\",\"norm\":\"rms\",\"activation\":\"swiglu\",\"tied\":false,\"emb_norm\":true,"
           "\"logit_cap\":5,\"mup_width\":4,\"qk_norm\":\"gain\",\"attn_cap\":3"),
    CONFIG("\"ascender\",\"k\":2,\"gate\":\"after\",\"positions\":\"rotary\",\"aux_coh\":0.1"),
    CONFIG("\"ascender\",\"k\":2,\"gate\":\"after\",\"eta\":false,\"freeze\":[\"delta:1\"],\"share\":[\"omega_sep\"]"),
    CONFIG("\"ascender\",\"k\":2,\"variant\":\"background\",\"heading\":\"q\""),
    CONFIG("[\"grassmann\",\"transformer\"],\"r\":4,\"memory\":true,\"running_mean\":true,\"learned\":true"),
    ("{\"d_model\":8,\"layers\":2,\"vocab\":11,\"block\":9,\"mix\":\"grassmann\",\"r\":4,\"offsets\":[1,2],"
     "\"invariants\":true,\"smooth\":0.5}"),
    ("{\"d_model\":8,\"layers\":2,\"vocab\":11,\"block\":9,\"mix\":\"grassmann\",\"r\":4,\"pair\":\"symmetric\","
     "\"offsets\":[1,2],\"memory\":true,\"running_mean\":true}"),
    ("{\"d_model\":8,\"layers\":2,\"vocab\":11,\"block\":9,\"mix\":\"grassmann\",\"r\":4,"
     "\"tuples\":[[[1,2],[2,3]],[]],\"offsets\":[1,2]}"),
    ("{\"d_model\":8,\"layers\":3,\"heads\":2,\"vocab\":11,\"block\":9,\"block_norm\":\"pre\","
     "\"mix\":[\"linear\",\"recurrent\",\"conv\"],\"feature\":\"favor\",\"decay\":\"gated\"}"),
};
static const int64_t token[B * N + 1] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8};

static asc_tensor tokens(int64_t from)
{
    return asc_from(ctx, ASC_I64, token + from, ASC_SHAPE(B, N));
}

/* ---- a model's life, each part going on whatever became of the one before ---- */

static double train(asc_lm *lm, asc_optim *optim)
{
    asc_params *params = asc_lm_params(lm);
    asc_lm_set_dropout(lm, .2);
    asc_set_step(ctx, 1, 0);
    asc_scope_begin(ctx);
    double value;
    asc_tensor objective = asc_lm_objective(lm, tokens(0), tokens(1), &value);
    if (asc_backward(ctx, objective, asc_null(), false) == ASC_OK) {
        asc_optim_step(optim, 1e-2, asc_clip_scale(asc_grad_norm(ctx, params), 1));
    }
    asc_params_zero_grad(params);
    asc_scope_end(ctx);
    asc_lm_set_dropout(lm, 0);
    return value;
}

static double generate(asc_lm *lm)
{
    asc_lm_cache *cache = asc_lm_cache_new(lm, N);
    double value = NAN;
    if (cache) {
        asc_scope_begin(ctx);
        asc_lm_next(cache, token, 4);
        asc_tensor logits = asc_lm_next(cache, token + 4, 1);
        value = asc_is_null(logits) ? NAN : ((const float *)asc_data(logits))[V - 1];
        asc_scope_end(ctx);
    }
    asc_lm_cache_free(cache);
    return value;
}

static const char *config; /* of the model whose life it is */

/* The loss after a step, plus a logit. */
static double live(void)
{
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F32, 1);
    asc_optim *optim = lm ? asc_adamw_new(ctx, asc_lm_params(lm), NULL) : NULL;
    double value = NAN;
    if (optim) {
        train(lm, optim);
        value = train(lm, optim);
        value += generate(lm);
    }
    asc_optim_free(optim);
    asc_lm_free(lm);
    return value;
}

START_TEST(any_allocation_may_fail)
{
    config = configs[_i];
    ck_assert_int_gt(fail_each_allocation(live, false), 100);
}
END_TEST

/* What a look inside comes to: features of both layers, and what a number moves. */
static double look(void)
{
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 1);
    double value = lm ? 0 : NAN;
    for (int64_t l = 0; lm && l < 2; l++) {
        asc_scope_begin(ctx);
        asc_params *features = asc_params_new(ctx);
        asc_lm_features(lm, tokens(0), l, 3, features);
        for (int i = 0; i < asc_params_count(features); i++) {
            value += asc_item(asc_sum(ctx, asc_params_at(features, i), ASC_ALL_DIMS, false));
        }
        asc_params_free(features);
        asc_tensor moved = asc_lm_moves(lm, asc_slice(ctx, tokens(0), 0, 0, 1, 1), l, "tau_score");
        value += asc_is_null(moved) ? 0 : ((const double *)asc_data(moved))[1];
        asc_release(moved);
        asc_scope_end(ctx);
    }
    asc_lm_free(lm);
    return value;
}

START_TEST(any_allocation_may_fail_in_a_look)
{
    config = configs[_i];
    ck_assert_int_gt(fail_each_allocation(look, false), 50);
}
END_TEST

/* ---- what outlives what ---- */

START_TEST(a_model_made_in_a_scope_outlives_it)
{
    asc_scope_begin(ctx);
    asc_lm *lm = asc_lm_new(ctx, configs[0], ASC_F32, 1);
    asc_optim *optim = asc_adamw_new(ctx, asc_lm_params(lm), NULL);
    asc_lm_cache *cache = asc_lm_cache_new(lm, N);
    asc_scope_end(ctx);
    double first = train(lm, optim), second = train(lm, optim);
    ck_assert_msg(second < first, "%g after %g: %s", second, first, asc_error_message(ctx));
    ck_assert(asc_is_valid(asc_lm_next(cache, token, 3)));
    ck_assert(asc_is_valid(asc_lm_next(cache, token, 3)));
    asc_lm_cache_free(cache);
    asc_optim_free(optim);
    asc_lm_free(lm);
}
END_TEST

static void fill(asc_lm *lm, const char *param, double value)
{
    asc_tensor t = asc_params_find(asc_lm_params(lm), param);
    asc_tensor values = asc_full(ctx, asc_dtype_of(t), value, asc_ndim(t), asc_shape(t));
    ck_assert_int_eq(asc_copy(ctx, t, values), ASC_OK);
    asc_release(values);
}

/* The tape holds the parameters, and names the layers in its errors, after the model is gone. */
START_TEST(a_tape_outlives_its_model)
{
    asc_lm *lm = asc_lm_new(ctx, configs[0], ASC_F64, 1);
    asc_tensor bias = asc_keep(asc_params_find(asc_lm_params(lm), "blocks.0.ffn.fc1.bias"));
    fill(lm, "blocks.1.ffn.fc1.bias", 1e200); /* a large activation, so that a large gradient overflows */
    fill(lm, "blocks.1.ffn.fc2.weight", 1e-200);
    asc_scope_begin(ctx);
    asc_tensor good = asc_lm_loss(lm, tokens(0), tokens(1), NULL);
    asc_tensor bad = asc_lm_loss(lm, tokens(0), tokens(1), NULL);
    asc_lm_free(lm);
    ck_assert_ptr_null(asc_set_label(ctx, NULL));
    ck_assert_int_eq(asc_backward(ctx, good, asc_null(), false), ASC_OK);
    const double *grad = asc_data(asc_grad(bias));
    ck_assert(isfinite(grad[0]) && grad[0] != 0);
    asc_set_nan_check(ctx, true);
    ck_assert_int_eq(asc_backward(ctx, bad, asc_scalar(ctx, ASC_F64, 1e150), false), ASC_ERR_NONFINITE);
    ck_assert_msg(strncmp(asc_error_message(ctx), "blocks.1.ffn: gelu_linear: gradient of weight", 45) == 0, "%s",
                  asc_error_message(ctx));
    asc_scope_end(ctx);
    asc_release(bias);
}
END_TEST

START_TEST(a_cache_is_as_it_was_after_a_failed_call)
{
    asc_lm *lm = asc_lm_new(ctx, configs[_i], ASC_F64, 1);
    expect_cache_survives(lm, N, token, 4, N - 4);
    asc_lm_free(lm);
}
END_TEST

START_TEST(an_optimiser_refuses_a_list_that_grew)
{
    asc_lm *lm = asc_lm_new(ctx, configs[0], ASC_F32, 1);
    asc_optim *optim = asc_adamw_new(ctx, asc_lm_params(lm), NULL);
    int n = asc_params_count(asc_lm_params(lm));
    char message[100];
    snprintf(message, sizeof message, "optim_step: the list has %d parameters, had %d when the optimiser was made",
             n + 1, n);
    ck_assert_int_eq(asc_params_add(asc_lm_params(lm), "more", asc_scalar(ctx, ASC_F32, 1), true), ASC_OK);
    ck_assert_int_eq(asc_optim_step(optim, 1, 1), ASC_ERR_STATE);
    ck_assert_str_eq(asc_error_message(ctx), message);
    asc_optim_free(optim);
    asc_lm_free(lm);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("faults");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, any_allocation_may_fail, 0, sizeof configs / sizeof *configs);
    tcase_add_loop_test(t, any_allocation_may_fail_in_a_look, 1, 5);
    tcase_add_test(t, a_model_made_in_a_scope_outlives_it);
    tcase_add_test(t, a_tape_outlives_its_model);
    tcase_add_loop_test(t, a_cache_is_as_it_was_after_a_failed_call, 0, sizeof configs / sizeof *configs);
    tcase_add_test(t, an_optimiser_refuses_a_list_that_grew);
    return run_suite("nn/faults", t);
}
