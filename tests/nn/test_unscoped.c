/* tests/nn/test_unscoped.c: without a scope around them, layers and models keep nothing but their result. */
#include <ascgrad/inspect.h>

#include "nn/mixing.h"
#include "tests/context.h"

static const char *const alone[][2] = {
    {"transformer", "{\"heads\": 2, \"positions\": \"rotary\", \"qk_norm\": \"rms\"}"},
    {"transformer", "{\"heads\": 2, \"rel\": 4, \"attn_cap\": 3}"},
    {"grassmann", "{\"r\": 4, \"offsets\": [1, 3], \"memory\": true, \"running_mean\": true, \"invariants\": true}"},
    {"grassmann", "{\"r\": 8, \"tuples\": [[1, 2]], \"invariants\": true}"},
    {"ascender", "{\"heads\": 2, \"positions\": \"rotary\", \"share\": [\"kappa\"], \"gate\": \"none\"}"},
    {"ascender", "{\"heads\": 2, \"eta\": false, \"aux_coh\": 0.1, \"aux_align\": 0.1}"},
    {"ascender", "{\"heads\": 2, \"variant\": \"background\"}"},
    {"linear", "{\"heads\": 2, \"feature\": \"favor\", \"features\": 6, \"decay\": \"gated\"}"},
    {"conv", "{}"},
    {"recurrent", "{}"},
    {"grassmann", "{\"r\": 4, \"offsets\": [1, 3], \"memory\": true, \"running_mean\": true, \"invariants\": true,"
                  "\"composed\": true}"},
    {"ascender", "{\"heads\": 2, \"positions\": \"rotary\", \"aux_coh\": 0.1, \"composed\": true}"},
    {"ascender", "{\"heads\": 2, \"variant\": \"background\", \"composed\": true}"},
    {"linear", "{\"heads\": 2, \"feature\": \"favor\", \"features\": 6, \"decay\": \"gated\", \"composed\": true}"},
    {"recurrent", "{\"composed\": true}"},
};

static const char *const models[] = {
    "{\"d_model\": 16, \"layers\": 2, \"heads\": 2, \"vocab\": 11, \"block\": 8, \"mix\": \"transformer\","
    "\"norm\": \"rms\", \"activation\": \"swiglu\", \"logit_cap\": 3}",
    "{\"d_model\": 16, \"layers\": 3, \"r\": 4,"
    "\"vocab\": 11, \"block\": 8, \"mix\": \"grassmann\", \"block_norm\": \"pre\"}",
    "{\"d_model\": 16, \"layers\": 3, \"r\": 4,"
    "\"vocab\": 11, \"block\": 8, \"mix\": \"grassmann\", \"smooth\": 0.1}",
    "{\"d_model\": 16, \"layers\": 2, \"heads\": 2,"
    "\"vocab\": 11, \"block\": 8, \"mix\": \"ascender\", \"aux_coh\": 0.1}",
};

/* In the pass of its objective and in what reports it. */
START_TEST(a_model_leaves_its_result_alone)
{
    asc_lm *lm = asc_lm_new(ctx, models[_i], ASC_F32, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 8)), y = asc_full(ctx, ASC_I64, -1, ASC_SHAPE(2, 8));
    ((int64_t *)asc_data_mut(y))[3] = 1; /* few targets */
    size_t early = 0;
    asc_lm_set_dropout(lm, .1);
    for (int i = 1; i <= 100; i++) {
        asc_tensor each, top, loss = asc_lm_objective(lm, x, i % 2 ? x : y, NULL), logits = asc_lm_logits(lm, x);
        ck_assert_int_eq(asc_backward_loss(ctx, loss), ASC_OK);
        asc_release(loss);
        asc_release(logits);
        asc_release(asc_lm_loss_top(lm, x, i % 2 ? x : y, &each, &top));
        asc_release(each);
        asc_release(top);
        early = i == 20 ? asc_memory(ctx).bytes : early;
    }
    ck_assert_msg(asc_memory(ctx).bytes == early, "%s: %zu bytes after 100 passes, %zu after 20", models[_i],
                  asc_memory(ctx).bytes, early);
    asc_lm_free(lm);
}
END_TEST

/* A mixing lets go of what it makes on the way. */
START_TEST(a_layer_leaves_its_result_alone)
{
    asc_layer *l = asc_layer_new(ctx, alone[_i][0], 16, alone[_i][1], ASC_F32, 1);
    asc_tensor x = asc_normal(ctx, ASC_F32, 0, 1, 1, 0, ASC_SHAPE(2, 8, 16)), aux;
    asc_tensor bias = asc_zeros(ctx, ASC_F32, ASC_SHAPE(9, 9)); /* of more positions: it is cut */
    size_t early = 0;
    if (l->mixing->takes_bias) {
        asc_layer_set_bias(l, bias);
    }
    for (int i = 1; i <= 200; i++) {
        asc_tensor y = asc_layer_forward_aux(l, x, asc_null(), &aux), loss = asc_sum(ctx, y, ASC_ALL_DIMS, false);
        ck_assert_int_eq(asc_backward_loss(ctx, loss), ASC_OK);
        asc_release(aux);
        asc_release(loss);
        asc_release(y);
        early = i == 20 ? asc_memory(ctx).bytes : early;
    }
    ck_assert_msg(asc_memory(ctx).bytes == early, "%s %s: %zu bytes after 200 calls, %zu after 20", alone[_i][0],
                  alone[_i][1], asc_memory(ctx).bytes, early);
    asc_layer_free(l);
}
END_TEST

/* What it shows is the list's, and goes with that. */
START_TEST(an_inspection_leaves_nothing)
{
    asc_layer *l = asc_layer_new(ctx, alone[_i][0], 16, alone[_i][1], ASC_F32, 1);
    asc_tensor x = asc_normal(ctx, ASC_F32, 0, 1, 1, 0, ASC_SHAPE(2, 8, 16));
    size_t early = 0;
    for (int i = 1; i <= 30; i++) {
        asc_params *parts = asc_params_new(ctx);
        ck_assert_int_eq(asc_layer_inspect(l, x, asc_null(), parts), ASC_OK);
        ck_assert_int_gt(asc_params_count(parts), 0);
        asc_params_free(parts);
        early = i == 10 ? asc_memory(ctx).bytes : early;
    }
    ck_assert_msg(asc_memory(ctx).bytes == early, "%s: %zu bytes after 30 calls, %zu after 10", alone[_i][0],
                  asc_memory(ctx).bytes, early);
    asc_layer_free(l);
}
END_TEST

/* Nor do numbers about layers that can't be had. */
static asc_tensor number(int k, asc_tensor matrix, asc_tensor four, asc_tensor *also)
{
    switch (k) {
    case 0: return asc_flow_path(ctx, matrix);
    case 1: return asc_flow_stability(ctx, matrix, matrix);
    case 2: return asc_flow_mean(ctx, matrix);
    case 3: return asc_flow_leading(ctx, matrix, also);
    case 4: return asc_plane_angles(ctx, matrix, four);
    case 5: return asc_plane_mean(ctx, matrix, also);
    case 6: return asc_attention_profile(ctx, four);
    case 7: return asc_head_rms(ctx, four, matrix);
    default: return asc_attention_pushed(ctx, four, matrix, .1);
    }
}

START_TEST(a_number_that_fails_leaves_nothing)
{
    asc_tensor matrix = asc_zeros(ctx, ASC_F64, ASC_SHAPE(300, 5));
    asc_tensor four = asc_zeros(ctx, ASC_F64, ASC_SHAPE(3, 3, 5, 6));
    size_t early = 0;
    for (int i = 1; i <= 30; i++) {
        asc_tensor also = asc_null();
        ck_assert(asc_is_null(number(_i, matrix, four, &also)) && asc_is_null(also));
        expect_error_with(ASC_ERR_ARG, ": ");
        early = i == 10 ? asc_memory(ctx).bytes : early;
    }
    ck_assert_msg(asc_memory(ctx).bytes == early, "%zu bytes after 30 calls, %zu after 10", asc_memory(ctx).bytes,
                  early);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("unscoped");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, a_model_leaves_its_result_alone, 0, (int)(sizeof models / sizeof *models));
    tcase_add_loop_test(t, a_layer_leaves_its_result_alone, 0, (int)(sizeof alone / sizeof *alone));
    tcase_add_loop_test(t, an_inspection_leaves_nothing, 0, (int)(sizeof alone / sizeof *alone));
    tcase_add_loop_test(t, a_number_that_fails_leaves_nothing, 0, 9);
    return run_suite("nn/unscoped", t);
}
