/* tests/train/test_train.c: settings, sampling, evaluation. */
#include <math.h>
#include <string.h>

#include <ascgrad/ops.h>
#include <ascgrad/stats.h>
#include <ascgrad/train.h>
#include <program/settings.h>

#include "tests/context.h"
#include "train/settings.h"

/* ---- settings ---- */

START_TEST(settings_are_checked)
{
    asc_settings *s = asc_settings_new(ctx);
    const char *const wrong[][3] = {
        {"layers", "many", "layers: got 'many', expected a whole number from 1 to 10000"},
        {"layers", "-1", "layers: got '-1'"},
        {"steps", "1.5", "steps: got '1.5', expected a whole number >= 0"},
        {"weight-decay", "x", "weight_decay: got 'x', expected a number from 0"},
        {"pos_emb", "maybe", "expected true or false"},
        {"schedule", "cosine ", "did you mean 'cosine'?"},
        {"dtype", "f16", "expected one of f32, f64"},
        {"weigth_decay", "1", "did you mean 'weight_decay'?"},
        {"d_modle", "1", "did you mean 'd_model'?"},
        {"kappa", "-1", "kappa: got '-1', expected a number >= 0"},
        {"offsets", "[0]", "offsets: got 0, expected a whole number >= 1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(asc_settings_set(s, wrong[i][0], wrong[i][1]), ASC_ERR_ARG);
        expect_error_with(ASC_ERR_ARG, wrong[i][2]);
    }
    ck_assert_int_eq(asc_settings_preset(s, "wikitext-6l"), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "did you mean 'wikitext2-6l'?");
    ck_assert_int_eq(asc_settings_set(s, "threads", "3"), ASC_OK);
    ck_assert_int_eq(asc_settings_threads(s), 3);
    bool given = true;
    ck_assert_str_eq(asc_settings_text(s, "encoder", &given), "");
    ck_assert(!given);
    asc_settings_set(s, "encoder", "e");
    ck_assert_str_eq(asc_settings_text(s, "encoder", &given), "e");
    ck_assert(given);
    ck_assert_str_eq(asc_settings_text(s, "model", &given), "");
    ck_assert(!given);
    ck_assert_int_eq(asc_settings_set(s, "mixing", "lin"), ASC_OK);
    ck_assert_str_eq(asc_settings_text(s, "model", &given), "linear");
    ck_assert(given);
    ck_assert_ptr_null(asc_settings_text(s, "threads", NULL));
    expect_error_with(ASC_ERR_ARG, "'threads' is no setting of the training's that is text");
    asc_settings_free(s);
}
END_TEST

START_TEST(settings_and_presets_are_complete)
{
    asc_schema schema;
    ck_assert_str_eq(asc_settings_schema(NULL, 0).owner, "train");
    for (int i = 0; (schema = asc_settings_schema(ctx, i)).owner; i++) {
        for (const asc_setting *row = schema.settings; row->key; row++) {
            ck_assert_ptr_nonnull(row->help);
            ck_assert_ptr_null(strchr(row->key, '-'));
            bool model; /* a key of both would be the training's, in config.json's model, too */
            ck_assert_ptr_nonnull(asc_settings_find(ctx, row->key, &model));
            ck_assert_msg(model == (i > 0), "%s is a key of %s, too", row->key, model ? "a model" : "trainings");
        }
    }
    for (int i = 0; asc_preset_at(i); i++) {
        asc_settings *s = asc_settings_new(ctx);
        ck_assert_msg(asc_settings_preset(s, asc_preset_at(i)) == ASC_OK, "%s", asc_error_message(ctx));
        ck_assert_ptr_nonnull(asc_preset_summary(i));
        asc_settings_free(s);
    }
}
END_TEST

/* ---- sampling ---- */

static asc_sampling sampling(double temperature, int64_t top_k, double top_p, uint64_t seed)
{
    return (asc_sampling){.temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed};
}

static int64_t draw(const double *logits, int64_t n, asc_sampling s, uint64_t number)
{
    asc_tensor t = asc_from(ctx, ASC_F64, logits, 1, &n);
    int64_t id = asc_sample_token(ctx, t, &s, number);
    asc_release(t);
    return id;
}

/* Drawn often enough, each token comes as often as its probability says: chi-squared below its 0.9999 quantile. */
START_TEST(draws_follow_the_probabilities)
{
    enum { N = 4, DRAWS = 20000 };
    const double p[N] = {0.1, 0.4, 0.2, 0.3}, temperature = 2;
    double logits[N], seen[N] = {0}, chi = 0;
    for (int i = 0; i < N; i++) {
        logits[i] = temperature * log(p[i]) + 5;
    }
    for (uint64_t d = 0; d < DRAWS; d++) {
        seen[draw(logits, N, sampling(temperature, 0, 1, 7), d)]++;
    }
    for (int i = 0; i < N; i++) {
        chi += (seen[i] - DRAWS * p[i]) * (seen[i] - DRAWS * p[i]) / (DRAWS * p[i]);
    }
    ck_assert_msg(chi < 21.1, "chi-squared is %g", chi);
}
END_TEST

START_TEST(draws_keep_to_the_most_probable)
{
    const double logits[] = {log(0.1), log(0.4), log(0.2), log(0.3)};
    bool three[4] = {false}, half[4] = {false};
    for (uint64_t d = 0; d < 200; d++) {
        three[draw(logits, 4, sampling(1, 3, 1, 1), d)] = true;
        half[draw(logits, 4, sampling(1, 0, 0.6, 1), d)] = true;
        ck_assert_int_eq(draw(logits, 4, sampling(0, 0, 1, 1), d), 1);
    }
    ck_assert(!three[0] && three[1] && three[2] && three[3]);
    ck_assert(!half[0] && half[1] && !half[2] && half[3]);
    const double ties[] = {1, 2, 2, 2};
    ck_assert_int_eq(draw(ties, 4, sampling(0, 0, 1, 1), 0), 1);
    ck_assert_int_eq(draw(ties, 4, sampling(1, 1, 1, 1), 0), 1);
}
END_TEST

START_TEST(draws_refuse)
{
    const double logits[] = {0, NAN}, fine[] = {0, 1};
    ck_assert_int_eq(draw(logits, 2, sampling(1, 0, 1, 1), 0), -1);
    expect_error_with(ASC_ERR_NONFINITE, "inf or nan");
    ck_assert_int_eq(draw(fine, 2, sampling(-1, 0, 1, 1), 0), -1);
    expect_error_with(ASC_ERR_ARG, "temperature -1");
    ck_assert_int_eq(draw(fine, 2, sampling(1, 0, 0, 1), 0), -1);
    expect_error_with(ASC_ERR_ARG, "top_p 0");
    ck_assert_int_eq(draw(fine, 0, sampling(1, 0, 1, 1), 0), -1);
    expect_error_with(ASC_ERR_ARG, "expected (V)");
}
END_TEST

/* ---- evaluation ---- */

typedef struct tally {
    int64_t n;
    double sum;
    const asc_split *split;
} tally;

static asc_status add_tokens(void *user, const int64_t *ids, const double *losses, int64_t n)
{
    tally *t = user;
    for (int64_t i = 0; i < n; i++) {
        ck_assert_int_eq(ids[i], t->split->tokens[++t->n]); /* in the order of the text, all but the first */
        t->sum += losses[i];
    }
    return ASC_OK;
}

/* 21 tokens in blocks of 8: two full ones and one of 4, each token but the first predicted once. */
START_TEST(evaluation_predicts_each_token_once)
{
    int32_t tokens[21];
    for (int i = 0; i < 21; i++) {
        tokens[i] = i * 5 % 11;
    }
    asc_split split = {.tokens = tokens, .n_tokens = 21, .bytes = 40, .unknown = -1};
    const char *config = "{\"d_model\": 8, \"layers\": 1, \"heads\": 2, \"vocab\": 11, \"block\": 8}";
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    for (int64_t batch = 1; batch <= 3; batch++) {
        tally t = {.split = &split};
        asc_eval_result r;
        asc_eval_options o = {.batch = batch, .tokens = add_tokens, .user = &t};
        ck_assert_int_eq(asc_evaluate(ctx, lm, &split, &o, &r), ASC_OK);
        ck_assert_int_eq(r.tokens, 20);
        ck_assert_int_eq(t.n, 20);
        ck_assert_double_eq_tol(r.loss, t.sum / 20, 1e-14);
        ck_assert_double_eq_tol(r.ppl, exp(r.loss), 1e-12);
        ck_assert_double_eq_tol(r.bits_per_byte, t.sum / log(2) / 40, 1e-14);
    }
    asc_lm_free(lm);
}
END_TEST

/* Against the logits, in full. */
START_TEST(evaluation_is_calibrated_by_the_most_probable)
{
    enum { N = 61, L = 6 };
    int32_t tokens[N];
    uint8_t given[N];
    for (int i = 0; i < N; i++) {
        tokens[i] = i * i % 7;
        given[i] = i % 10 == 3;
    }
    asc_split split = {.tokens = tokens, .n_tokens = N, .bytes = N, .given = given, .unknown = -1};
    const char *config = "{\"d_model\": 8, \"layers\": 1, \"heads\": 2, \"vocab\": 7, \"block\": 6}";
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 3);
    asc_eval_result r;
    double confidence[N], ece, accuracy;
    uint8_t right[N];
    int n = 0;
    asc_tensor weight = asc_params_find(asc_lm_params(lm), "tok_emb.weight");
    double *w = asc_data_mut(weight);
    for (int i = 0; i < asc_numel(weight); i++) {
        w[i] *= 40; /* probabilities of all sizes */
    }
    ck_assert_int_eq(asc_evaluate(ctx, lm, &split, &(asc_eval_options){.batch = 3}, &r), ASC_OK);
    for (int64_t i = 0; i < N / L; i++) {
        int64_t x[L], y[L];
        asc_block_fill(ctx, &split, L, (const int32_t[]){(int32_t)i}, 1, x, y);
        asc_tensor p = asc_softmax(ctx, asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, L))), asc_null());
        no_error();
        const double *all = asc_data(p);
        for (int t = 0; t < L; t++, all += 7) {
            int best = 0;
            for (int v = 1; v < 7; v++) {
                best = all[v] > all[best] ? v : best;
            }
            if (y[t] >= 0) {
                confidence[n] = all[best];
                right[n++] = y[t] == best;
            }
        }
    }
    ck_assert_int_eq(r.tokens, n);
    ck_assert_int_eq(asc_stats_calibration(ctx, confidence, right, n, 15, &ece, &accuracy), ASC_OK);
    ck_assert_double_eq_tol(r.accuracy, accuracy, 1e-15);
    ck_assert_double_eq_tol(r.ece, ece, 1e-12);
    ck_assert(accuracy > 0 && accuracy < 1 && ece > .01);
    asc_lm_free(lm);
}
END_TEST

/* Of the tokens that are predicted: neither the first nor a given one. */
START_TEST(evaluation_counts_unknown_tokens)
{
    const int32_t tokens[9] = {3, 1, 3, 3, 2, 4, 0, 1, 3};
    const uint8_t given[9] = {0, 0, 0, 1, 0, 0, 0, 0, 0};
    asc_split split = {.tokens = tokens, .n_tokens = 9, .bytes = 20, .given = given, .unknown = 3};
    const char *config = "{\"d_model\": 8, \"layers\": 1, \"heads\": 2, \"vocab\": 5, \"block\": 3}";
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 1);
    asc_eval_result r;
    ck_assert_int_eq(asc_evaluate(ctx, lm, &split, &(asc_eval_options){.batch = 2}, &r), ASC_OK);
    ck_assert_int_eq(r.tokens, 7);
    ck_assert_double_eq_tol(r.unknown, 2. / 7, 1e-15);
    split.unknown = -1;
    ck_assert_int_eq(asc_evaluate(ctx, lm, &split, &(asc_eval_options){.batch = 2}, &r), ASC_OK);
    ck_assert_double_eq(r.unknown, 0);
    asc_lm_free(lm);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("train");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, settings_are_checked);
    tcase_add_test(t, settings_and_presets_are_complete);
    tcase_add_test(t, draws_follow_the_probabilities);
    tcase_add_test(t, draws_keep_to_the_most_probable);
    tcase_add_test(t, draws_refuse);
    tcase_add_test(t, evaluation_predicts_each_token_once);
    tcase_add_test(t, evaluation_is_calibrated_by_the_most_probable);
    tcase_add_test(t, evaluation_counts_unknown_tokens);
    return run_suite("train", t);
}
