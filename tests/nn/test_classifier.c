/* tests/nn/test_classifier.c: models with a classifier's head: what they compute, built of single ops; what stands
 * behind a sequence's end changes nothing; gradients; what is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <ascgrad/ops.h>

#include "tests/draw.h"
#include "tests/nn/model.h"

enum { B = 3, N = 7, D = 8, V = 11, C = 3 };

#define SIZES_OF(layers)                                                                                               \
    "\"d_model\": 8, \"d_ff\": 12, \"layers\": " #layers ", \"vocab\": 11, \"block\": 9, \"head\": \"classifier\", "   \
    "\"classes\": 3"
#define SIZES SIZES_OF(2)
#define ATTEND "\"heads\": 2, \"mask\": \"full\""

static const struct {
    const char *mixing, *layer, *config;
} encoders[] = {
    {"transformer", "{" ATTEND "}", "{\"mix\": \"transformer\", " ATTEND ", " SIZES "}"},
    {"transformer", "{" ATTEND ", \"positions\": \"rotary\"}",
     "{\"mix\": \"transformer\", \"positions\": \"rotary\", \"pos_emb\": false, " ATTEND ", " SIZES "}"},
    {"ascender", "{" ATTEND "}", "{\"mix\": \"ascender\", " ATTEND ", " SIZES "}"},
    {"ascender", "{" ATTEND ", \"variant\": \"background\", \"theta_coh\": 0.1}",
     "{\"mix\": \"ascender\", \"variant\": \"background\", \"theta_coh\": 0.1, " ATTEND ", " SIZES "}"},
    {"linear", "{" ATTEND "}", "{\"mix\": \"linear\", " ATTEND ", " SIZES "}"},
    {"linear", "{" ATTEND ", \"feature\": \"favor\"}",
     "{\"mix\": \"linear\", \"feature\": \"favor\", " ATTEND ", " SIZES "}"},
    {"grassmann", "{\"r\": 4, \"direction\": \"future\"}",
     "{\"mix\": \"grassmann\", \"r\": 4, \"direction\": \"future\", " SIZES "}"},
    {"grassmann", "{\"r\": 4, \"mask\": \"full\"}",
     "{\"mix\": \"grassmann\", \"r\": 4, \"mask\": \"full\", " SIZES "}"},
    {"grassmann", "{\"r\": 4, \"direction\": \"both\"}",
     "{\"mix\": \"grassmann\", \"r\": 4, \"direction\": \"both\", \"pool\": \"first\", " SIZES "}"},
    /* hybrids, which see both sides, or the past alone */
    {NULL, NULL,
     "{\"mix\": [\"transformer\", \"grassmann\", \"linear\"], \"r\": 4, " ATTEND ", " SIZES_OF(3) "}"},
    {NULL, NULL, "{\"mix\": [\"grassmann\", \"ascender\"], \"r\": 4, \"pool\": \"first\", " ATTEND ", " SIZES "}"},
    {NULL, NULL,
     "{\"mix\": [\"recurrent\", \"transformer\", \"grassmann\"], \"r\": 4, \"memory\": true, \"heads\": 2, "
     SIZES_OF(3) "}"},
    {NULL, NULL, "{\"mix\": [\"conv\", \"linear\"], \"decay\": \"gated\", \"heads\": 2, " SIZES "}"},
};
enum { ENCODERS = sizeof encoders / sizeof *encoders, HYBRIDS = 4 };

static const int64_t lengths[B] = {7, 1, 4};
static int64_t tokens[B * N], labels[B] = {2, 0, 1};

static asc_tensor given_tokens(void)
{
    for (int i = 0; i < B * N; i++) {
        tokens[i] = draw(V);
    }
    return asc_from(ctx, ASC_I64, tokens, ASC_SHAPE(B, N));
}

static asc_tensor given_lengths(void)
{
    return asc_from(ctx, ASC_I64, lengths, ASC_SHAPE(B));
}

static asc_lm *make(int i)
{
    asc_lm *lm = asc_lm_new(ctx, encoders[i].config, ASC_F64, 7);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    return lm;
}

/* ---- the same, built of layers and single ops ---- */

static asc_tensor param(asc_lm *lm, const char *format, int l)
{
    char name[64];
    snprintf(name, sizeof name, format, l);
    asc_tensor t = asc_params_find(asc_lm_params(lm), name);
    ck_assert_msg(!asc_is_null(t), "%s", name);
    return t;
}

static asc_tensor norm(asc_lm *lm, asc_tensor x, const char *which, int l)
{
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "blocks.%%d.%s.weight", which);
    snprintf(bias, sizeof bias, "blocks.%%d.%s.bias", which);
    return asc_layer_norm(ctx, x, param(lm, weight, l), param(lm, bias, l), 1e-5);
}

static asc_tensor block(asc_lm *lm, asc_tensor h, int l, int which)
{
    asc_layer *layer = asc_layer_new(ctx, encoders[which].mixing, D, encoders[which].layer, ASC_F64, 1);
    asc_params *own = asc_layer_params(layer);
    for (int i = 0; i < asc_params_count(own); i++) {
        char name[100];
        snprintf(name, sizeof name, "blocks.%d.mix.%s", l, asc_params_name(own, i));
        asc_copy(ctx, asc_params_at(own, i), param(lm, name, 0));
    }
    asc_tensor mixed = asc_layer_forward(layer, h, given_lengths());
    bool residual = strcmp(encoders[which].mixing, "grassmann") != 0;
    h = norm(lm, residual ? asc_add(ctx, h, mixed) : mixed, "norm1", l);
    asc_layer_free(layer);
    asc_tensor wide =
        asc_linear(ctx, h, param(lm, "blocks.%d.ffn.fc1.weight", l), param(lm, "blocks.%d.ffn.fc1.bias", l));
    asc_tensor y = asc_linear(ctx, asc_gelu(ctx, wide), param(lm, "blocks.%d.ffn.fc2.weight", l),
                              param(lm, "blocks.%d.ffn.fc2.bias", l));
    return norm(lm, asc_add(ctx, h, y), "norm2", l);
}

static asc_tensor composed(asc_lm *lm, asc_tensor x, int which)
{
    asc_tensor h = asc_embedding(ctx, param(lm, "tok_emb.weight", 0), x);
    asc_tensor at = asc_params_find(asc_lm_params(lm), "pos_emb.weight");
    h = asc_is_null(at) ? h : asc_add(ctx, h, asc_slice(ctx, at, 0, 0, N, 1));
    for (int l = 0; l < 2; l++) {
        h = block(lm, h, l, which);
    }
    asc_tensor logits[B];
    bool first = strstr(encoders[which].config, "first") != NULL;
    for (int b = 0; b < B; b++) { /* each sequence by itself, cut at its end */
        asc_tensor own = asc_slice(ctx, asc_slice(ctx, h, 0, b, b + 1, 1), 1, 0, first ? 1 : lengths[b], 1);
        asc_tensor pooled = asc_mean(ctx, own, 1, (int[]){1}, false);
        logits[b] = asc_linear(ctx, pooled, param(lm, "classifier.weight", 0), param(lm, "classifier.bias", 0));
    }
    return asc_concat(ctx, logits, B, 0);
}

START_TEST(a_classifier_is_its_parts)
{
    asc_lm *lm = make(_i);
    ck_assert_int_eq(asc_lm_classes(lm), C);
    asc_set_recording(ctx, false);
    asc_tensor x = given_tokens(), y = asc_lm_classify(lm, x, given_lengths()), z = composed(lm, x, _i);
    no_error();
    for (int i = 0; i < B * C; i++) {
        ck_assert_double_eq_tol(((const double *)asc_data(y))[i], ((const double *)asc_data(z))[i], 1e-12);
    }
    asc_lm_free(lm);
}
END_TEST

START_TEST(what_stands_behind_the_end_changes_nothing)
{
    asc_lm *lm = make(_i);
    asc_tensor x = given_tokens(), y = asc_contiguous(ctx, asc_lm_classify(lm, x, given_lengths()));
    for (int b = 0; b < B; b++) {
        for (int64_t t = lengths[b]; t < N; t++) {
            tokens[b * N + t] = (tokens[b * N + t] + 1 + draw(V - 1)) % V;
        }
    }
    asc_tensor other = asc_lm_classify(lm, asc_from(ctx, ASC_I64, tokens, ASC_SHAPE(B, N)), given_lengths());
    no_error();
    ck_assert_mem_eq(asc_data(y), asc_data(other), B * C * sizeof(double));
    tokens[2 * N + 3] = (tokens[2 * N + 3] + 1) % V; /* the last of its sequence */
    other = asc_lm_classify(lm, asc_from(ctx, ASC_I64, tokens, ASC_SHAPE(B, N)), given_lengths());
    ck_assert(
        memcmp((const double *)asc_data(y) + 2 * C, (const double *)asc_data(other) + 2 * C, C * sizeof(double)) != 0);
    asc_lm_free(lm);
}
END_TEST

/* All gradients of a model's parameters but the embeddings', one after the other; to be freed. */
static double *gradients_of(asc_lm *lm, int64_t *n)
{
    asc_params *params = asc_lm_params(lm);
    double loss, *all = malloc((size_t)asc_params_numel(params) * sizeof *all);
    asc_tensor x = asc_from(ctx, ASC_I64, tokens, ASC_SHAPE(B, N)), y = asc_from(ctx, ASC_I64, labels, ASC_SHAPE(B));
    asc_params_zero_grad(params);
    asc_backward(ctx, asc_lm_class_objective(lm, x, given_lengths(), y, &loss), asc_null(), false);
    no_error();
    *n = 0;
    for (int i = 0; i < asc_params_count(params); i++) {
        asc_tensor g = asc_grad(asc_params_at(params, i));
        if (!asc_is_null(g) && !strstr(asc_params_name(params, i), "_emb")) {
            memcpy(all + *n, asc_data(g), (size_t)asc_numel(g) * sizeof *all);
            *n += asc_numel(g);
        }
    }
    return all;
}

START_TEST(no_gradient_comes_from_behind_the_end)
{
    asc_lm *lm = make(_i);
    int64_t n, again;
    given_tokens();
    double *before = gradients_of(lm, &n);
    for (int b = 0; b < B; b++) {
        for (int64_t t = lengths[b]; t < N; t++) {
            tokens[b * N + t] = (tokens[b * N + t] + 1 + draw(V - 1)) % V;
        }
    }
    double *after = gradients_of(lm, &again);
    ck_assert_int_eq(n, again);
    for (int64_t e = 0; e < n; e++) {
        ck_assert(before[e] == after[e]);
    }
    free(before);
    free(after);
    asc_lm_free(lm);
}
END_TEST

/* Central differences of the objective by some elements of each parameter; at theta_coh = 0 background has a kink. */
START_TEST(gradients_are_right)
{
    asc_lm *lm = make(_i);
    asc_params *params = asc_lm_params(lm);
    asc_tensor x = given_tokens(), y = asc_from(ctx, ASC_I64, labels, ASC_SHAPE(B));
    double loss, up, down;
    asc_backward(ctx, asc_lm_class_objective(lm, x, given_lengths(), y, &loss), asc_null(), false);
    no_error();
    asc_set_recording(ctx, false);
    for (int i = 0; i < asc_params_count(params); i++) {
        asc_tensor p = asc_params_at(params, i), g = asc_grad(p);
        for (int64_t e = 0; !asc_is_null(g) && e < asc_numel(p); e += 1 + asc_numel(p) / 3) {
            double *value = (double *)asc_data_mut(p) + e, at = *value, step = 1e-5;
            *value = at + step;
            asc_lm_class_objective(lm, x, given_lengths(), y, &up);
            *value = at - step;
            asc_lm_class_objective(lm, x, given_lengths(), y, &down);
            *value = at;
            double expected = (up - down) / (2 * step), got = ((const double *)asc_data(g))[e];
            ck_assert_msg(fabs(got - expected) < 2e-5 * (1 + fabs(expected)), "%s of %s, element %d: %g, expected %g",
                          asc_params_name(params, i), encoders[_i].config, (int)e, got, expected);
        }
    }
    ck_assert(!asc_is_null(asc_grad(asc_params_find(params, "classifier.weight"))));
    asc_lm_free(lm);
}
END_TEST

/* A step gives the same bits with and without recomputing the blocks. */
START_TEST(recomputing_changes_no_bit)
{
    double losses[2][2];
    for (int again = 0; again < 2; again++) {
        asc_lm *lm = make(_i);
        asc_lm_set_recompute(lm, again);
        asc_optim *optim = asc_adamw_new(ctx, asc_lm_params(lm), NULL);
        for (int step = 0; step < 2; step++) {
            asc_scope_begin(ctx);
            asc_tensor x = asc_from(ctx, ASC_I64, tokens, ASC_SHAPE(B, N)),
                       y = asc_from(ctx, ASC_I64, labels, ASC_SHAPE(B));
            asc_backward(ctx, asc_lm_class_objective(lm, x, given_lengths(), y, &losses[again][step]), asc_null(),
                         false);
            asc_scope_end(ctx);
            asc_optim_step(optim, 1e-2, 1);
            asc_params_zero_grad(asc_lm_params(lm));
        }
        asc_optim_free(optim);
        asc_lm_free(lm);
    }
    no_error();
    ck_assert_mem_eq(losses[0], losses[1], sizeof losses[0]);
}
END_TEST

START_TEST(means_are_over_what_counts)
{
    asc_tensor x = asc_from(ctx, ASC_F64, (double[]){1, 2, 3, 4, NAN, INFINITY, 5, 6, 7, 8, 9, 10}, ASC_SHAPE(2, 3, 2));
    asc_tensor y = asc_mean_within(ctx, x, asc_from(ctx, ASC_I64, (int64_t[]){2, 0}, ASC_SHAPE(2)));
    no_error();
    ck_assert_mem_eq(asc_data(y), ((double[]){2, 3, 0, 0}), 4 * sizeof(double));
    y = asc_mean_within(ctx, asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 0, 2)), asc_null());
    no_error();
    ck_assert_mem_eq(asc_data(y), ((double[]){0, 0, 0, 0}), 4 * sizeof(double));
    int64_t top[2];
    ck_assert_int_eq(asc_top_classes(ctx, asc_from(ctx, ASC_F32, (float[]){1, 3, 3, 2, 1, 0}, ASC_SHAPE(2, 3)), top),
                     ASC_OK);
    ck_assert_mem_eq(top, ((int64_t[]){1, 0}), sizeof top);
    asc_mean_within(ctx, x, asc_from(ctx, ASC_I64, (int64_t[]){2}, ASC_SHAPE(1)));
    expect_error_with(ASC_ERR_ARG, "mean_within: x is (2, 3, 2) and lengths are i64 (1), expected (B, N, D)");
    asc_mean_within(ctx, x, asc_from(ctx, ASC_I64, (int64_t[]){3, 4}, ASC_SHAPE(2)));
    expect_error_with(ASC_ERR_ARG, "mean_within: length 1 is 4, expected 0 to 3");
    asc_mean_within(ctx, x, asc_from(ctx, ASC_I64, (int64_t[]){-1, 3}, ASC_SHAPE(2)));
    expect_error_with(ASC_ERR_ARG, "mean_within: length 0 is -1, expected 0 to 3");
    asc_top_classes(ctx, asc_from(ctx, ASC_I64, (int64_t[]){2}, ASC_SHAPE(1)), top);
    expect_error_with(ASC_ERR_ARG, "top_classes: logits are i64 (1), expected f32 or f64 (..., C)");
}
END_TEST

static const struct {
    const char *config, *message;
} wrong[] = {
    {"{\"mix\": \"transformer\", \"heads\": 2, \"pool\": \"first\", " SIZES "}",
     "pool is first, and all layers are causal"},
    {"{\"mix\": \"grassmann\", \"r\": 4, \"memory\": true, \"mask\": \"full\", " SIZES "}",
     "memory is true, and mask full: a memory holds what came before"},
    {"{\"mix\": \"grassmann\", \"r\": 4, \"direction\": \"past\", \"mask\": \"full\", " SIZES "}",
     "mask is full, and direction past"},
    {"{\"mix\": \"grassmann\", \"r\": 4, \"running_mean\": true, \"mask\": \"full\", " SIZES "}",
     "running_mean is true"},
    {"{\"mix\": \"conv\", \"mask\": \"full\", " SIZES "}", "mask is full, and layer 0 is conv, which goes"},
    {"{\"mix\": \"recurrent\", \"mask\": \"full\", " SIZES "}", "mask is full, and layer 0 is recurrent, which goes"},
    {"{\"mix\": [\"transformer\", \"recurrent\", \"grassmann\"], \"r\": 4, " ATTEND ", " SIZES_OF(3) "}",
     "mask is full, and layer 1 is recurrent, which goes"},
    {"{\"mix\": [\"transformer\", \"linear\"], \"decay\": \"gated\", " ATTEND ", " SIZES "}",
     "decay is gated, expected none with mask full"},
    {"{\"mix\": [\"transformer\", \"grassmann\"], \"r\": 4, \"tuples\": [[1, 2]], " ATTEND ", " SIZES "}",
     "mask is full, and layer 1 has tuples, which look back"},
    {"{\"mix\": [\"transformer\", \"grassmann\"], \"r\": 4, \"invariants\": true, " ATTEND ", " SIZES "}",
     "invariants is true, and direction not past"},
    {"{\"mix\": \"transformer\", \"heads\": 2, \"d_model\": 8, \"layers\": 1, \"vocab\": 9, \"block\": 9, \"classes\": "
     "3}",
     "classes belongs to head classifier"},
    {"{\"mix\": \"transformer\", \"heads\": 2, \"d_model\": 8, \"layers\": 1, \"vocab\": 9, \"block\": 9, "
     "\"mask\": \"full\"}",
     "looks ahead, which a language model must not"},
};

START_TEST(what_has_no_such_form_is_refused)
{
    ck_assert_ptr_null(asc_lm_new(ctx, wrong[_i].config, ASC_F32, 1));
    expect_error_with(ASC_ERR_ARG, wrong[_i].message);
}
END_TEST

START_TEST(heads_are_not_mixed_up)
{
    asc_lm *classifier = make(0), *lm;
    lm = asc_lm_new(ctx,
                    "{\"mix\": \"transformer\", \"heads\": 2, \"d_model\": 8, \"layers\": 1, \"vocab\": 11, "
                    "\"block\": 9}",
                    ASC_F32, 1);
    asc_tensor x = given_tokens();
    ck_assert(asc_is_null(asc_lm_loss(classifier, x, x, NULL)));
    expect_error(ASC_ERR_ARG, "lm_loss: the model is a classifier, which predicts no tokens");
    ck_assert(asc_is_null(asc_lm_logits(classifier, x)));
    expect_error(ASC_ERR_ARG, "lm_logits: the model is a classifier, which predicts no tokens");
    ck_assert_ptr_null(asc_lm_cache_new(classifier, 4));
    expect_error(ASC_ERR_ARG, "lm_cache_new: the model is a classifier, which predicts no tokens");
    ck_assert(asc_is_null(asc_lm_classify(lm, x, asc_null())));
    expect_error(ASC_ERR_ARG, "lm_classify: the model is a language model, which has no classes");
    ck_assert_int_eq(asc_lm_classes(lm), 0);
    ck_assert(!asc_is_null(asc_lm_states(classifier, x, given_lengths())) &&
              !asc_is_null(asc_lm_states(lm, x, asc_null())));
    asc_lm_free(classifier);
    asc_lm_free(lm);
}
END_TEST

/* ---- few targets: the head computes their rows alone ---- */

START_TEST(few_targets_give_the_same)
{
    asc_lm *lm = asc_lm_new(ctx,
                            "{\"mix\": \"transformer\", \"heads\": 2, \"d_model\": 8, \"layers\": 1, \"vocab\": 11, "
                            "\"block\": 9}",
                            ASC_F64, 1);
    asc_tensor x = given_tokens(), each, all, loss;
    int64_t y[B * N];
    for (int i = 0; i < B * N; i++) {
        y[i] = i % 6 == 2 ? i % V : -1; /* fewer than a quarter */
    }
    asc_tensor targets = asc_from(ctx, ASC_I64, y, ASC_SHAPE(B, N));
    asc_tensor logits = asc_reshape(ctx, asc_lm_logits(lm, x), ASC_SHAPE(B * N, V));
    asc_tensor plain = asc_cross_entropy(ctx, logits, asc_reshape(ctx, targets, ASC_SHAPE(B * N)), -1, &all);
    asc_backward(ctx, plain, asc_null(), false);
    double expected[V * D];
    asc_tensor weight = asc_params_find(asc_lm_params(lm), "tok_emb.weight");
    memcpy(expected, asc_data(asc_grad(weight)), sizeof expected);
    asc_params_zero_grad(asc_lm_params(lm));
    loss = asc_lm_loss(lm, x, targets, &each);
    asc_backward(ctx, loss, asc_null(), false);
    no_error();
    ck_assert_double_eq_tol(asc_item(loss), asc_item(plain), 1e-13);
    for (int i = 0; i < B * N; i++) {
        ck_assert_double_eq_tol(((const double *)asc_data(each))[i], ((const double *)asc_data(all))[i], 1e-13);
    }
    for (int i = 0; i < V * D; i++) {
        ck_assert_double_eq_tol(((const double *)asc_data(asc_grad(weight)))[i], expected[i], 1e-13);
    }
    asc_tensor top;
    asc_lm_loss_top(lm, x, targets, &each, &top);
    no_error();
    for (int i = 0; i < B * N; i++) {
        const double *row = (const double *)asc_data(logits) + i * V;
        double most = row[0], sum = 0;
        for (int v = 0; v < V; v++) {
            most = fmax(most, row[v]);
            sum += exp(row[v]);
        }
        ck_assert_double_eq_tol(((const double *)asc_data(top))[2 * i], y[i] >= 0 ? exp(most) / sum : 0, 1e-13);
        ck_assert_double_eq(((const double *)asc_data(top))[2 * i + 1], y[i] >= 0 && row[y[i]] == most);
    }
    asc_lm_loss_top(lm, x, asc_reshape(ctx, targets, ASC_SHAPE(B * N)), &each, &top); /* as many, of another shape */
    expect_error_with(ASC_ERR_ARG, "linear_cross_entropy: targets");
    y[8] = 99;
    asc_lm_loss(lm, x, asc_from(ctx, ASC_I64, y, ASC_SHAPE(B, N)), NULL);
    expect_error_with(ASC_ERR_ARG, "targets has 99 at element 8, expected less than 11");
    asc_lm_free(lm);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, a_classifier_is_its_parts, 0, ENCODERS - HYBRIDS);
    tcase_add_loop_test(all, what_stands_behind_the_end_changes_nothing, 0, ENCODERS);
    tcase_add_loop_test(all, no_gradient_comes_from_behind_the_end, 0, ENCODERS);
    tcase_add_loop_test(all, gradients_are_right, 0, ENCODERS);
    tcase_add_loop_test(all, recomputing_changes_no_bit, 0, ENCODERS);
    tcase_add_test(all, means_are_over_what_counts);
    tcase_add_loop_test(all, what_has_no_such_form_is_refused, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(all, heads_are_not_mixed_up);
    tcase_add_test(all, few_targets_give_the_same);
    return run_suite("nn/classifier", all);
}
