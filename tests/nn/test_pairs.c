/* tests/nn/test_pairs.c: models of pairs of sentences: windows, gradients, what stands behind the end, weights; what is
 * refused. That they compute what the equations say is a parity case (tests/parity/nli-…). */
#include <math.h>
#include <stdio.h>

#include <ascgrad/ops.h>

#include "tests/draw.h"
#include "tests/nn/model.h"

enum { B = 3, N = 9, E = 5, C = 3 };

#define SIZES \
    "\"head\": \"pairs\", \"d_model\": 8, \"d_ff\": 12, \"head_ff\": 10, \"layers\": 2, \"vocab\": 11, \"block\": 8, " \
    "\"mask\": \"full\", \"window_tokens\": 2, \"window_stride\": 2"

static const char *const configs[] = {
    "{\"mix\": \"transformer\", \"heads\": 2, \"states\": 5, " SIZES "}",
    "{\"mix\": \"ascender\", \"heads\": 2, \"states\": 5, " SIZES "}",
    "{\"mix\": \"grassmann\", \"r\": 4, \"offsets\": [1, 2], \"states\": 5, " SIZES "}",
    "{\"mix\": \"linear\", \"heads\": 2, \"states\": 5, \"pos_emb\": false, " SIZES "}",
    "{\"mix\": \"none\", \"states\": 5, \"head\": \"pairs\", \"d_model\": 8, \"layers\": 2, \"vocab\": 11, "
    "\"block\": 8, \"window_tokens\": 2, \"window_stride\": 2}",
    "{\"mix\": \"transformer\", \"heads\": 2, " SIZES "}", /* embeds tokens */
    "{\"mix\": \"none\", \"head\": \"pairs\", \"d_model\": 8, \"layers\": 1, \"vocab\": 11, \"block\": 8, "
    "\"window_tokens\": 1, \"window_stride\": 1, \"emb_norm\": true}",
};
enum { CONFIGS = sizeof configs / sizeof *configs };

static const int64_t rows[2 * B] = {4, 3, 1, 2, 2, 4}, labels[B] = {2, 0, 1};
static double states[B * N * E];
static int64_t tokens[B * N];

static asc_tensor given_lengths(void)
{
    return asc_from(ctx, ASC_I64, rows, ASC_SHAPE(B, 2));
}

static asc_tensor given_labels(void)
{
    return asc_from(ctx, ASC_I64, labels, ASC_SHAPE(B));
}

/* The input of the model, of what stands in `states` or `tokens`. */
static asc_tensor given(const asc_lm *lm)
{
    return asc_lm_pair_inputs(lm).states > 0 ? asc_from(ctx, ASC_F64, states, ASC_SHAPE(B, N, E))
                                             : asc_from(ctx, ASC_I64, tokens, ASC_SHAPE(B, N));
}

static void draw_input(void)
{
    for (int i = 0; i < B * N * E; i++) {
        states[i] = draw(200) / 100. - 1;
    }
    for (int i = 0; i < B * N; i++) {
        tokens[i] = draw(11);
    }
}

static asc_lm *make(const char *config)
{
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 7);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    return lm;
}

/* ---- windows ---- */

START_TEST(windows_are_means_of_a_sentences_own_tokens)
{
    enum { T = 6 };
    double x[2 * T];
    for (int i = 0; i < 2 * T; i++) {
        x[i] = i;
    }
    x[2 * T - 1] = 1e300; /* behind the end */
    asc_tensor lengths = asc_from(ctx, ASC_I64, (int64_t[]){4, 2, 1, 0}, ASC_SHAPE(2, 2)), counts;
    asc_tensor y = asc_window_means(ctx, asc_from(ctx, ASC_F64, x, ASC_SHAPE(2, T, 1)), lengths, 3, 2, &counts);
    no_error();
    ck_assert_mem_eq(asc_data(counts), ((int64_t[]){2, 1, 1, 0}), 4 * sizeof(int64_t));
    const double *mean = asc_data(y), expected[] = {1, 2.5, 4.5, 6, 0, 0};
    ck_assert_int_eq(asc_numel(y), 6);
    for (int i = 0; i < 6; i++) {
        ck_assert_double_eq_tol(mean[i], expected[i], 1e-15);
    }
    ck_assert_int_eq(asc_window_count(48, 8), 6);
    ck_assert_int_eq(asc_window_count(49, 8), 7);
    ck_assert_int_eq(asc_window_count(0, 8), 0);
    ck_assert_int_eq(asc_window_count(8, 0), 0);
}
END_TEST

/* ---- models ---- */

START_TEST(what_stands_behind_both_changes_nothing)
{
    asc_lm *lm = make(configs[_i]);
    draw_input();
    asc_set_recording(ctx, false);
    asc_tensor before = asc_lm_classify(lm, given(lm), given_lengths());
    for (int b = 0; b < B; b++) {
        for (int64_t t = rows[2 * b] + rows[2 * b + 1]; t < N; t++) {
            tokens[b * N + t] = (tokens[b * N + t] + 1) % 11;
            states[(b * N + t) * E] += 3;
        }
    }
    asc_tensor after = asc_lm_classify(lm, given(lm), given_lengths());
    no_error();
    ck_assert_mem_eq(asc_data(before), asc_data(after), B * C * sizeof(double));
    tokens[2 * N + 5] = (tokens[2 * N + 5] + 1) % 11; /* the last of its pair */
    states[(2 * N + 5) * E] += 3;
    after = asc_lm_classify(lm, given(lm), given_lengths());
    ck_assert(memcmp((const double *)asc_data(before) + 2 * C, (const double *)asc_data(after) + 2 * C,
                     C * sizeof(double)) != 0);
    asc_lm_free(lm);
}
END_TEST

static double loss_of(asc_lm *lm)
{
    double loss;
    asc_lm_class_objective(lm, given(lm), given_lengths(), given_labels(), &loss);
    return loss;
}

/* By central differences of some elements of each parameter, with weights of the classes. */
START_TEST(gradients_are_right)
{
    asc_lm *lm = make(configs[_i]);
    asc_params *params = asc_lm_params(lm);
    double loss, step = 1e-5;
    draw_input();
    ck_assert_int_eq(asc_lm_set_class_weights(lm, (double[]){1, 2, .5}), ASC_OK);
    asc_backward(ctx, asc_lm_class_objective(lm, given(lm), given_lengths(), given_labels(), &loss), asc_null(), false);
    no_error();
    asc_set_recording(ctx, false);
    for (int i = 0; i < asc_params_count(params); i++) {
        asc_tensor p = asc_params_at(params, i), g = asc_grad(p);
        for (int64_t e = 0; !asc_is_null(g) && e < asc_numel(p); e += 1 + asc_numel(p) / 3) {
            double *value = (double *)asc_data_mut(p) + e, at = *value;
            *value = at + step;
            double up = loss_of(lm);
            *value = at - step;
            double expected = (up - loss_of(lm)) / (2 * step), got = ((const double *)asc_data(g))[e];
            *value = at;
            ck_assert_msg(fabs(got - expected) < 2e-5 * (1 + fabs(expected)), "%s of %s, element %d: %g, expected %g",
                          asc_params_name(params, i), configs[_i], (int)e, got, expected);
        }
    }
    ck_assert(!asc_is_null(asc_grad(asc_params_find(params, "seg_emb.weight"))));
    ck_assert(!asc_is_null(asc_grad(asc_params_find(params, "fc1.weight"))));
    asc_lm_free(lm);
}
END_TEST

START_TEST(weights_weigh_the_classes)
{
    asc_lm *lm = make(configs[4]);
    asc_tensor each;
    draw_input();
    asc_cross_entropy(ctx, asc_lm_classify(lm, given(lm), given_lengths()), given_labels(), -1, &each);
    const double *l = asc_data(each), w[] = {1, 3, 0};
    double plain = loss_of(lm);
    asc_lm_set_class_weights(lm, w);
    double weighted = loss_of(lm);
    no_error();
    ck_assert_double_eq_tol(weighted, (l[1] + 3 * l[2]) / 4, 1e-12); /* of classes 2, 0, 1 */
    asc_tensor mine = given_labels(); /* and stay mine */
    asc_lm_class_objective(lm, given(lm), given_lengths(), mine, NULL);
    ck_assert_int_eq(asc_ndim(mine), 1);
    asc_lm_set_class_weights(lm, NULL);
    ck_assert_double_eq(loss_of(lm), plain);
    asc_lm_set_class_weights(lm, (double[]){1, -1, 1});
    expect_error(ASC_ERR_ARG, "lm_set_class_weights: weight 1 is -1, expected a finite number >= 0");
    asc_lm_set_class_weights(lm, w);
    asc_lm_class_objective(lm, given(lm), given_lengths(), asc_from(ctx, ASC_I64, (int64_t[]){2, 3, 1}, ASC_SHAPE(3)),
                           NULL);
    expect_error(ASC_ERR_ARG, "cross_entropy: targets has 3 at element 1, expected 0 to 2, or -1 to ignore it");
    asc_lm_class_objective(lm, given(lm), given_lengths(), asc_zeros(ctx, ASC_F32, ASC_SHAPE(3)), NULL);
    expect_error(ASC_ERR_ARG, "cross_entropy: targets is f32 (3), expected i64 (3), a target for each row of logits");
    int64_t apart[] = {2, 9, 0, 9, 1, 9};
    asc_tensor labels = asc_slice(ctx, asc_from(ctx, ASC_I64, apart, ASC_SHAPE(3, 2)), 1, 0, 1, 1);
    asc_lm_class_objective(lm, given(lm), given_lengths(), asc_reshape(ctx, labels, ASC_SHAPE(3)), &plain);
    ck_assert_double_eq(plain, weighted);
    asc_lm_set_dropout(lm, 1);
    expect_error(ASC_ERR_ARG, "lm_set_dropout: p is 1, expected at least 0 and less than 1");
    asc_lm_free(lm);
}
END_TEST

/* Recomputed blocks give the same bits; without a mixing there is none to recompute. */
START_TEST(recomputing_changes_no_bit)
{
    double losses[2];
    draw_input();
    for (int again = 0; again < 2; again++) {
        asc_lm *lm = make(configs[_i]);
        asc_lm_set_recompute(lm, again);
        asc_optim *optim = asc_adamw_new(ctx, asc_lm_params(lm), NULL);
        asc_tensor objective = asc_lm_class_objective(lm, given(lm), given_lengths(), given_labels(), NULL);
        asc_backward(ctx, objective, asc_null(), false);
        asc_optim_step(optim, 1e-2, 1);
        losses[again] = loss_of(lm);
        asc_optim_free(optim);
        asc_lm_free(lm);
    }
    no_error();
    ck_assert_double_eq(losses[0], losses[1]);
}
END_TEST

/* A model that was written out is the same again; without a mixing it has no blocks. */
START_TEST(configurations_come_back)
{
    asc_lm *lm = make(configs[_i]), *again = make(asc_lm_config(lm));
    ck_assert_str_eq(asc_lm_config(lm), asc_lm_config(again));
    ck_assert_int_eq(asc_params_count(asc_lm_params(lm)), asc_params_count(asc_lm_params(again)));
    ck_assert_int_eq(asc_lm_layers(lm), strstr(configs[_i], "none") ? 0 : 2);
    ck_assert_int_eq(asc_lm_classes(lm), C);
    asc_lm_free(lm);
    asc_lm_free(again);
}
END_TEST

static const struct {
    const char *config, *message;
} wrong[] = {
    {"{\"mix\": \"none\", \"d_model\": 8, \"layers\": 1, \"vocab\": 9, \"block\": 9}",
     "mix: got 'none', expected one of transformer"},
    {"{\"mix\": \"transformer\", \"heads\": 2, \"d_model\": 8, \"layers\": 1, \"vocab\": 9, \"block\": 9, "
     "\"states\": 4}",
     "states belongs to head pairs"},
    {"{\"mix\": \"transformer\", \"heads\": 2, \"mup_width\": 4, " SIZES "}", "mup_width is 4, and a model of pairs"},
    {"{\"mix\": \"transformer\", \"heads\": 2, \"pool\": \"mean\", " SIZES "}", "pool belongs to head classifier"},
};

START_TEST(what_has_no_such_form_is_refused)
{
    ck_assert_ptr_null(asc_lm_new(ctx, wrong[_i].config, ASC_F32, 1));
    expect_error_with(ASC_ERR_ARG, wrong[_i].message);
}
END_TEST

START_TEST(wrong_inputs_are_named)
{
    asc_lm *lm = make(configs[0]);
    draw_input();
    asc_tensor x = given(lm), long_one = asc_from(ctx, ASC_I64, (int64_t[]){5, 1, 1, 1, 1, 1}, ASC_SHAPE(B, 2));
    asc_lm_classify(lm, x, asc_null());
    expect_error(ASC_ERR_ARG, "lm: a model of pairs needs lengths (B, 2), of premise and hypothesis");
    asc_lm_classify(lm, asc_from(ctx, ASC_I64, tokens, ASC_SHAPE(B, N)), given_lengths());
    expect_error(ASC_ERR_ARG, "lm: x is i64 (3, 9), expected the states (B, N, E) of a model of pairs");
    asc_lm_classify(lm, x, long_one);
    expect_error(ASC_ERR_ARG, "lm: a sentence has 5 rows, expected at most 4, the windows of the model's block");
    asc_lm_classify(lm, x, asc_from(ctx, ASC_I64, (int64_t[]){4, 6, 1, 1, 1, 1}, ASC_SHAPE(B, 2)));
    expect_error(ASC_ERR_ARG, "lm: lengths of row 0 go to 10, expected 0 to 9");
    asc_params *parts = asc_params_new(ctx);
    asc_lm_inspect(lm, asc_from(ctx, ASC_I64, tokens, ASC_SHAPE(B, N)), 0, parts);
    expect_error(ASC_ERR_ARG, "lm: the model is one of pairs: it takes no sequence by itself");
    asc_params_free(parts);
    asc_window_means(ctx, x, given_lengths(), 0, 1, NULL);
    expect_error_with(ASC_ERR_ARG, "window_means: window is 0");
    asc_pair_inputs none = asc_lm_pair_inputs(NULL);
    ck_assert(!none.pairs && none.states == 0);
    asc_lm_free(lm);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, windows_are_means_of_a_sentences_own_tokens);
    tcase_add_loop_test(all, what_stands_behind_both_changes_nothing, 0, CONFIGS);
    tcase_add_loop_test(all, gradients_are_right, 0, CONFIGS);
    tcase_add_test(all, weights_weigh_the_classes);
    tcase_add_loop_test(all, recomputing_changes_no_bit, 0, CONFIGS);
    tcase_add_loop_test(all, configurations_come_back, 0, CONFIGS);
    tcase_add_loop_test(all, what_has_no_such_form_is_refused, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(all, wrong_inputs_are_named);
    return run_suite("nn/pairs", all);
}
