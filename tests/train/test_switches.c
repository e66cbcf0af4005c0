/* tests/train/test_switches.c: a model's switches in trainings: rates by width, dropout over the steps, resumes. */
#include "tests/train/runs.h"

/* Trains with these settings, "KEY=VALUE", over those of make_settings; the hook stops at call `at`, -1 never. */
static asc_status train_switched(const char *path, const char *const *pairs, int at, asc_train_result *r)
{
    asc_settings *s = make_settings(ctx);
    for (; *pairs; pairs++) {
        char key[40];
        size_t n = strcspn(*pairs, "=");
        snprintf(key, sizeof key, "%.*s", (int)n, *pairs);
        ck_assert_msg(asc_settings_set(s, key, *pairs + n + 1) == ASC_OK, "%s", asc_error_message(ctx));
    }
    brake b = {0, at};
    asc_status status = asc_train(ctx, s, path, false, &(asc_train_hooks){.progress = stop_at, .user = &b}, r);
    asc_settings_free(s);
    return status;
}

/* The mean of |w - w₀| of a parameter after a run, w₀ its initial value. */
static double moved(const asc_model *model, asc_lm *initial, const char *name)
{
    asc_tensor w = asc_params_find(asc_lm_params(model->lm), name), w0 = asc_params_find(asc_lm_params(initial), name);
    ck_assert_msg(!asc_is_null(w) && !asc_is_null(w0), "%s", name);
    double sum = 0;
    for (int64_t e = 0; e < asc_numel(w); e++) {
        sum += fabs((double)((const float *)asc_data(w))[e] - (double)((const float *)asc_data(w0))[e]);
    }
    return sum / (double)asc_numel(w);
}

/* AdamW's first step moves every number by its rate. */
START_TEST(rates_follow_the_width)
{
    static const char *const pairs[] = {"steps=1", "weight_decay=0", "mup_width=2", "lr=1e-3", "seed=1", "tied=false",
                                        NULL};
    asc_train_result r;
    ck_assert_msg(train_switched(run_path, pairs, -1, &r) == ASC_OK, "%s", asc_error_message(ctx));
    asc_model *model = asc_model_open(ctx, run_path, NULL, NULL);
    ck_assert_msg(model != NULL, "%s", asc_error_message(ctx));
    asc_lm *initial = asc_lm_new(ctx, asc_lm_config(model->lm), ASC_F32, 1);
    ck_assert_double_eq_tol(moved(model, initial, "blocks.0.mix.v.weight"), 1e-3 / 4, 2e-5);
    ck_assert_double_eq_tol(moved(model, initial, "blocks.0.ffn.fc2.weight"), 1e-3 / 4, 2e-5);
    ck_assert_double_eq_tol(moved(model, initial, "blocks.0.ffn.fc2.bias"), 1e-3, 2e-5);
    ck_assert_double_eq_tol(moved(model, initial, "lm_head.weight"), 1e-3, 2e-5);
    asc_lm_free(initial);
    asc_model_free(ctx, model);
}
END_TEST

/* All of them at once. */
static const char *const all[] = {"qk_norm=gain",   "attn_cap=20",       "norm=rms",       "activation=swiglu",
                                  "zero_init=true", "emb_norm=true",     "tied=false",    "logit_cap=10",
                                  "mup_width=4",    "dim=16",
                                  "mix=g,t,linear", "layers=3",         NULL};

/* Trained through or stopped and resumed it is the same. */
static void check_resumes(const char *const *pairs)
{
    asc_train_result r;
    ck_assert_msg(train_switched(run_path, pairs, -1, &r) == ASC_OK, "%s", asc_error_message(ctx));
    for (int at = 1; at < 12; at += 5) {
        brake again = {0, -1};
        ck_assert_int_eq(train_switched(other_path, pairs, at, &r), ASC_ERR_INTERRUPTED);
        asc_error_clear(ctx);
        ck_assert_msg(train(other_path, true, &again, &r) == ASC_OK, "%s", asc_error_message(ctx));
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}

START_TEST(interruptions_leave_no_trace)
{
    check_resumes(all);
}
END_TEST

/* ---- dropout over the steps ---- */

START_TEST(a_level_schedule_is_dropout)
{
    asc_train_result r;
    ck_assert_int_eq(train_switched(run_path, (const char *[]){"dropout=0.25", NULL}, -1, &r), ASC_OK);
    static const char *const level[] = {"dropout_schedule=3:0.25,50%:0.25", NULL};
    ck_assert_msg(train_switched(other_path, level, -1, &r) == ASC_OK, "%s", asc_error_message(ctx));
    check_same("metrics.jsonl");
}
END_TEST

/* Until it begins the run is one without. Steps are counted from 0, lines from 1. */
START_TEST(dropout_begins_where_the_schedule_says)
{
    asc_train_result r;
    double with[12], without[12];
    ck_assert_int_eq(train_switched(run_path, (const char *[]){"dropout=0", "log_every=1", NULL}, -1, &r), ASC_OK);
    static const char *const late[] = {"dropout_schedule=5:0,7:0.6", "log_every=1", NULL};
    ck_assert_msg(train_switched(other_path, late, -1, &r) == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert_int_eq(read_metrics(run_path, "loss", without, 12), 12);
    ck_assert_int_eq(read_metrics(other_path, "loss", with, 12), 12);
    for (int i = 0; i < 12; i++) {
        ck_assert_msg((with[i] == without[i]) == (i < 6), "step %d: %.9g and %.9g", i, with[i], without[i]);
    }
}
END_TEST

START_TEST(a_schedule_is_resumed)
{
    check_resumes((const char *const[]){"dropout_schedule=0:0,100%:0.5", NULL});
}
END_TEST

static const struct {
    const char *given, *message;
} no_schedules[] = {
    {"dropout_schedule=0.1", "dropout_schedule: got '0.1', expected AT:VALUE"},
    {"dropout_schedule=0:1", "dropout_schedule: got 1, expected a dropout from 0 to 0.999"},
    {"dropout_schedule=0:-0.1", "dropout_schedule: got -0.1, expected a dropout from 0 to 0.999"},
    {"dropout_schedule=0:0;5:0.1", "dropout_schedule: got ';5:0.1', expected a comma before another point"},
    {"dropout_schedule=5:0,5:0.1", "dropout_schedule: got '5:0.1', expected a point later than the one before"},
};

START_TEST(wrong_schedules_are_refused)
{
    asc_train_result r;
    ck_assert_int_eq(train_switched(run_path, (const char *[]){no_schedules[_i].given, NULL}, -1, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, no_schedules[_i].message);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("switches");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, rates_follow_the_width);
    tcase_add_test(t, interruptions_leave_no_trace);
    tcase_add_test(t, a_level_schedule_is_dropout);
    tcase_add_test(t, dropout_begins_where_the_schedule_says);
    tcase_add_test(t, a_schedule_is_resumed);
    tcase_add_loop_test(t, wrong_schedules_are_refused, 0, sizeof no_schedules / sizeof *no_schedules);
    return run_suite("train/switches", t);
}
