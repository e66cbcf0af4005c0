/* tests/nn/test_unscoped.c: without a scope around them, layers and models keep nothing but their result. */
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

/* Compositions aside, a mixing lets go of what it makes on the way. */
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
int main(void)
{
    TCase *t = tcase_create("unscoped");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, a_model_leaves_its_result_alone, 0, (int)(sizeof models / sizeof *models));
    tcase_add_loop_test(t, a_layer_leaves_its_result_alone, 0, (int)(sizeof alone / sizeof *alone));
    return run_suite("nn/unscoped", t);
}
