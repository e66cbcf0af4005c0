/* tests/train/test_switches.c: a model's switches in trainings: rates by width, resumes, the model's file alone. */
#include "tests/train/runs.h"

/* Trains with these settings, "KEY=VALUE", over those of make_settings; the hook stops at call number `at`, -1 never. */
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
static const char *const all[] = {"qk_norm=gain",   "attn_cap=20",       "norm=rms",      "activation=swiglu", "zero_init=true", "emb_norm=true",
                                  "tied=false",    "logit_cap=10",      "mup_width=4",    "dim=16",
                                  "mix=g,t,linear", "layers=3",         NULL};

START_TEST(interruptions_leave_no_trace)
{
    asc_train_result r;
    ck_assert_msg(train_switched(run_path, all, -1, &r) == ASC_OK, "%s", asc_error_message(ctx));
    for (int at = 1; at < 12; at += 5) {
        brake again = {0, -1};
        ck_assert_int_eq(train_switched(other_path, all, at, &r), ASC_ERR_INTERRUPTED);
        asc_error_clear(ctx);
        ck_assert_msg(train(other_path, true, &again, &r) == ASC_OK, "%s", asc_error_message(ctx));
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("switches");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, rates_follow_the_width);
    tcase_add_test(t, interruptions_leave_no_trace);
    return run_suite("train/switches", t);
}
