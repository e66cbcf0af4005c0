/* tests/train/test_pairs.c: pairs of sentences with a frozen encoder: their features are windows of its states, a model
 * tells of texts in memory what it tells of a file's; what does not fit is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/ascgrad.h>

#include "tests/context.h"
#include "tests/folder.h"

enum { PAIRS = 3, BLOCK = 6 };

#define SIZES                                                                                                       \
    "\"head\": \"pairs\", \"mix\": \"transformer\", \"heads\": 2, \"mask\": \"full\", \"d_model\": 8, \"layers\": 1, " \
    "\"block\": 6, \"window_tokens\": 2, \"window_stride\": 2"

static const char text[] = "premise\thypothesis\tlabel\nthe man plays\ta man plays the guitar .\tyes\n"
                           "a dog\ta man\tno\na guitar\t\tno\n";
static const asc_text_pair pairs[PAIRS] = {
    {"the man plays", "a man plays the guitar ."}, {"a dog", "a man"}, {"a guitar", ""}};

static asc_encoder *encoder;
static asc_dataset *data;
static asc_model model;
static char path[100];

static void begin(void)
{
    char at[4096], config[400];
    const char *top = getenv("abs_top_srcdir");
    setup();
    make_folder();
    snprintf(path, sizeof path, "%s/pairs.tsv", folder);
    FILE *file = fopen(path, "w");
    ck_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    snprintf(at, sizeof at, "%s:valid=%s", path, path);
    data = asc_dataset_open(ctx, at);
    snprintf(at, sizeof at, "%s/tests/train/encoder", top ? top : "..");
    encoder = asc_encoder_open(ctx, at, NULL);
    ck_assert_msg(encoder && data, "%s", asc_error_message(ctx));
    snprintf(at, sizeof at, "wordpiece:%s/tests/train/encoder/vocab.txt", top ? top : "..");
    model = (asc_model){.tokenizer = asc_tokenizer_new(ctx, at), .batch = 4};
    snprintf(config, sizeof config, "{\"states\": %d, \"vocab\": %d, \"classes\": 2, " SIZES "}",
             (int)asc_encoder_dim(encoder), (int)asc_tokenizer_size(model.tokenizer));
    model.lm = asc_lm_new(ctx, config, ASC_F32, 3);
    ck_assert_msg(model.lm && model.tokenizer, "%s", asc_error_message(ctx));
}

static void end(void)
{
    asc_lm_free(model.lm);
    asc_tokenizer_free(model.tokenizer);
    asc_encoder_free(encoder);
    asc_dataset_free(data);
    remove_tree(folder);
    teardown();
}

static asc_features *features_of(void)
{
    asc_features *f = asc_pair_features(model.lm, encoder, data, ASC_SPLIT_TRAIN, model.tokenizer,
                                        &(asc_features_options){0});
    ck_assert_msg(f != NULL, "%s", asc_error_message(ctx));
    return f;
}

START_TEST(features_are_windows_of_each_text)
{
    asc_features *f = features_of();
    asc_sentences *s = asc_pair_sentences(data, ASC_SPLIT_VALID, model.tokenizer, BLOCK, false);
    int64_t E = asc_features_dim(f);
    float *rows = malloc((size_t)(BLOCK * E) * sizeof *rows);
    ck_assert_int_eq(asc_sentences_count(s), 2 * PAIRS);
    ck_assert_int_eq(asc_features_count(f), 2 * PAIRS);
    for (int64_t i = 0; i < 2 * PAIRS; i++) {
        int64_t n, ids[BLOCK];
        const int32_t *own = asc_sentences_at(s, i, &n, NULL);
        for (int64_t t = 0; t < n; t++) {
            ids[t] = own[t];
        }
        asc_tensor states = asc_encoder_states(encoder, asc_from(ctx, ASC_I64, ids, ASC_SHAPE(1, n)), asc_null(),
                                               asc_null());
        asc_tensor counts, means = asc_window_means(ctx, states, asc_from(ctx, ASC_I64, &n, ASC_SHAPE(1, 1)), 2, 2,
                                                    &counts);
        ck_assert_int_eq(asc_features_read(f, i, rows), ASC_OK);
        ck_assert_int_eq(asc_features_rows(f, i), *(const int64_t *)asc_data(counts));
        for (int64_t e = 0; e < asc_features_rows(f, i) * E; e++) {
            ck_assert_float_eq_tol(rows[e], ((const float *)asc_data(means))[e], 1e-5);
        }
    }
    no_error();
    free(rows);
    asc_sentences_free(s);
    asc_features_free(f);
}
END_TEST

/* A model as the others, but for one whose encoder reads both sentences as one. */
static void take_together(void)
{
    char config[400];
    asc_lm_free(model.lm);
    snprintf(config, sizeof config,
             "{\"states\": %d, \"vocab\": %d, \"classes\": 2, \"pairs\": \"together\", " SIZES "}",
             (int)asc_encoder_dim(encoder), (int)asc_tokenizer_size(model.tokenizer));
    model.lm = asc_lm_new(ctx, config, ASC_F32, 3);
    ck_assert_msg(model.lm != NULL, "%s", asc_error_message(ctx));
}

START_TEST(read_together_the_windows_are_of_each_text_nonetheless)
{
    take_together();
    asc_features *f = features_of();
    asc_sentences *s = asc_pair_sentences(data, ASC_SPLIT_VALID, model.tokenizer, BLOCK, true);
    int64_t E = asc_features_dim(f);
    float *rows = malloc((size_t)(2 * BLOCK * E) * sizeof *rows);
    ck_assert_int_eq(asc_sentences_count(s), PAIRS);
    ck_assert_int_eq(asc_features_count(f), PAIRS);
    for (int64_t i = 0; i < PAIRS; i++) {
        int64_t n, second, alone, ids[2 * BLOCK], types[2 * BLOCK];
        const int32_t *own = asc_sentences_at(s, i, &n, &second);
        asc_sentences *apart = asc_pair_sentences(data, ASC_SPLIT_VALID, model.tokenizer, BLOCK, false);
        const int32_t *first = asc_sentences_at(apart, 2 * i, &alone, NULL);
        ck_assert_int_eq(second, alone);
        ck_assert_mem_eq(own, first, (size_t)alone * sizeof *own);
        const int32_t *other = asc_sentences_at(apart, 2 * i + 1, &alone, NULL);
        ck_assert_int_eq(n - second, alone - 1); /* no second [CLS] */
        ck_assert_mem_eq(own + second, other + 1, (size_t)(alone - 1) * sizeof *own);
        asc_sentences_free(apart);
        for (int64_t t = 0; t < n; t++) {
            ids[t] = own[t];
            types[t] = t >= second;
        }
        asc_tensor states = asc_encoder_states(encoder, asc_from(ctx, ASC_I64, ids, ASC_SHAPE(1, n)),
                                               asc_from(ctx, ASC_I64, types, ASC_SHAPE(1, n)), asc_null());
        int64_t lengths[] = {second, n - second};
        asc_tensor counts,
            means = asc_window_means(ctx, states, asc_from(ctx, ASC_I64, lengths, ASC_SHAPE(1, 2)), 2, 2, &counts);
        const int64_t *count = asc_data(counts);
        ck_assert_int_eq(asc_features_first_rows(f, i), count[0]);
        ck_assert_int_eq(asc_features_rows(f, i), count[0] + count[1]);
        ck_assert_int_eq(asc_features_read(f, i, rows), ASC_OK);
        for (int64_t e = 0; e < asc_features_rows(f, i) * E; e++) {
            ck_assert_float_eq_tol(rows[e], ((const float *)asc_data(means))[e], 1e-5);
        }
    }
    no_error();
    free(rows);
    asc_sentences_free(s);
    asc_features_free(f);
}
END_TEST

/* What an evaluation finds in the file, and a prediction for the same texts. */
static asc_status compare(void *user, int64_t number, int64_t label, int64_t found, double loss)
{
    const double *p = (const double *)user + 2 * number;
    ck_assert_double_eq_tol(exp(-loss), p[label], 1e-6);
    ck_assert_int_eq(found, p[1] > p[0]);
    return ASC_OK;
}

START_TEST(predictions_are_what_an_evaluation_finds)
{
    if (_i) {
        take_together();
    }
    double p[2 * PAIRS];
    asc_features *f = features_of();
    asc_split *split = asc_split_load(data, ASC_SPLIT_TRAIN, model.tokenizer);
    asc_eval_result result;
    ck_assert_int_eq(asc_pair_predict(ctx, &model, encoder, pairs, PAIRS, p), ASC_OK);
    for (int i = 0; i < PAIRS; i++) {
        ck_assert_double_eq_tol(p[2 * i] + p[2 * i + 1], 1, 1e-6);
    }
    const asc_eval_options how = {.batch = 2, .features = f, .sequence = compare, .user = p};
    ck_assert_int_eq(asc_evaluate(ctx, model.lm, split, &how, &result), ASC_OK);
    ck_assert_int_eq(result.tokens, PAIRS);
    const asc_eval_options without = {.batch = 2};
    ck_assert_int_eq(asc_evaluate(ctx, model.lm, split, &without, &result), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "encoder: the model takes states of ");
    asc_split_free(ctx, split);
    asc_features_free(f);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    double p[2];
    ck_assert_int_eq(asc_pair_predict(ctx, &model, NULL, pairs, 1, p), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "pair_predict: encoder is NULL, and the model takes states");
    asc_lm *own = model.lm;
    model.lm = asc_lm_new(ctx, "{\"states\": 3, \"vocab\": 9, " SIZES "}", ASC_F32, 3);
    ck_assert_ptr_null(asc_pair_features(model.lm, encoder, data, ASC_SPLIT_TRAIN, model.tokenizer,
                                         &(asc_features_options){0}));
    expect_error_with(ASC_ERR_ARG, "entries, but the model takes 3");
    asc_lm_free(model.lm);
    model.lm = own;
    ck_assert_ptr_null(asc_model_encoder(ctx, &model, NULL, NULL));
    expect_error_with(ASC_ERR_ARG, "encoder is missing: the model takes states");
    ck_assert_ptr_null(asc_lm_new(ctx, "{\"vocab\": 9, \"pairs\": \"together\", " SIZES "}", ASC_F32, 3));
    expect_error_with(ASC_ERR_ARG, "pairs is together, and the model embeds tokens itself");
    ck_assert_ptr_null(asc_lm_new(
        ctx, "{\"states\": 3, \"vocab\": 9, \"pairs\": \"together\", \"sees\": \"premise\", " SIZES "}", ASC_F32, 3));
    expect_error_with(ASC_ERR_ARG, "expected sees both");
    asc_dataset *plain = asc_dataset_open(ctx, "builtin:1000");
    ck_assert_ptr_null(asc_pair_sentences(plain, ASC_SPLIT_TRAIN, model.tokenizer, BLOCK, false));
    expect_error_with(ASC_ERR_ARG, "has no texts with a class");
    asc_dataset_free(plain);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_test(all, features_are_windows_of_each_text);
    tcase_add_test(all, read_together_the_windows_are_of_each_text_nonetheless);
    tcase_add_loop_test(all, predictions_are_what_an_evaluation_finds, 0, 2);
    tcase_add_test(all, what_does_not_fit_is_refused);
    return run_suite("train/pairs", all);
}
