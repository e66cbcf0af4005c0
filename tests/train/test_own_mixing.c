/* tests/train/test_own_mixing.c: a mixing that is registered with the context: training, resume, evaluation,
 * generation. */
#include <program/settings.h>

#include "tests/nn/summing.h"
#include "tests/train/runs.h"
#include "train/settings.h"

static void setup_registered(void)
{
    setup_runs();
    ck_assert_int_eq(asc_mixing_register(ctx, &summing), ASC_OK);
}

static asc_settings *chosen(void)
{
    asc_settings *s = make_settings(ctx);
    ck_assert_int_eq(asc_settings_set(s, "model", "sum"), ASC_OK); /* its beginning */
    ck_assert_int_eq(asc_settings_set(s, "part", "0.25"), ASC_OK);
    no_error();
    return s;
}

/* The heads of make_settings were asked for by name. */
START_TEST(its_settings_are_checked)
{
    asc_settings *s = chosen();
    ck_assert_int_eq(asc_settings_set(s, "part", "3"), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "part: got '3', expected a number from 0 to 2");
    ck_assert_int_eq(asc_settings_set(s, "model", "t,sum,sumimng"), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, ", summing, or none for pairs of sentences; did you mean 'summing'");
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, NULL), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "heads is a setting of transformer and");
    asc_settings_free(s);
}
END_TEST

static bool count(void *user, int32_t id)
{
    *(int *)user += id >= 0;
    return true;
}

static asc_status start(const char *path, brake *b)
{
    asc_settings *s = chosen();
    asc_settings_option(s, "heads", "2"); /* left out where no layer knows it */
    asc_status status = asc_train(ctx, s, path, false, &(asc_train_hooks){.progress = stop_at, .user = b}, NULL);
    asc_settings_free(s);
    return status;
}

START_TEST(it_trains_resumes_and_generates)
{
    ck_assert_msg(start(run_path, &(brake){.at = -1}) == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert_int_eq(start(other_path, &(brake){.at = 7}), ASC_ERR_INTERRUPTED);
    asc_error_clear(ctx);
    ck_assert_msg(train(other_path, true, &(brake){.at = -1}, NULL) == ASC_OK, "%s", asc_error_message(ctx));
    check_same("model.safetensors");
    char *config = read_file(run_path, "config.json");
    ck_assert_ptr_nonnull(strstr(config, "\"mix\": \"summing\""));
    ck_assert_ptr_nonnull(strstr(config, "\"part\": 0.25"));
    free(config);
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    ck_assert_msg(m != NULL, "%s", asc_error_message(ctx));
    int tokens = 0;
    asc_generate(ctx, m, NULL, 0, 20, &(asc_sampling){.temperature = 1, .top_p = 1}, count, &tokens);
    no_error();
    ck_assert_int_eq(tokens, 20); /* more than a block */
    asc_dataset *data = asc_dataset_open(ctx, m->data);
    asc_split *split = asc_split_load(data, ASC_SPLIT_VALID, m->tokenizer);
    asc_eval_result r;
    ck_assert_int_eq(asc_evaluate(ctx, m->lm, split, &(asc_eval_options){.batch = 4}, &r), ASC_OK);
    ck_assert_double_eq_tol(r.loss, model_loss(run_path), 1e-5);
    asc_split_free(ctx, split);
    asc_dataset_free(data);
    asc_model_free(ctx, m);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("own_mixing");
    tcase_add_checked_fixture(t, setup_registered, teardown_runs);
    tcase_add_test(t, its_settings_are_checked);
    tcase_add_test(t, it_trains_resumes_and_generates);
    return run_suite("train/own_mixing", t);
}
