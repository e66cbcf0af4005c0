/* tests/train/test_ascender.c: training ASCender: its separation phased in, with exact resumes, and what its log
 * tells. */
#include "tests/train/runs.h"

enum { STEPS = 12, WARMUP = 3, RAMP = 4 };

static asc_settings *swarm_settings(const char *sep_ramp)
{
    const char *const pairs[][2] = {
        {"model", "ascender"}, {"data", "builtin:3000"}, {"tokenizer", "word"}, {"layers", "2"},   {"dim", "8"},
        {"heads", "2"},        {"block", "16"},          {"batch", "2"},        {"steps", "12"},   {"warmup", "3"},
        {"log_every", "1"},    {"eval_every", "6"},      {"lr", "0.01"},        {"k", "3"},        {"gate", "after"},
        {"omega_sep", "0.2"},  {"sep_ramp", sep_ramp},   {"checkpoint_every", "4"}};
    asc_settings *s = asc_settings_new(ctx);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ck_assert_msg(asc_settings_set(s, pairs[i][0], pairs[i][1]) == ASC_OK, "%s", asc_error_message(ctx));
    }
    return s;
}

static bool stop_after(void *user, const asc_train_progress *p)
{
    return p->step != *(const int64_t *)user;
}

/* Trains to the end, or stops after a number of steps. */
static void train_swarm(const char *path, const char *sep_ramp, bool resume, int64_t stop)
{
    asc_settings *s = swarm_settings(sep_ramp);
    if (resume) {
        ck_assert_int_eq(asc_settings_resume(s, path), ASC_OK);
    }
    asc_status status = asc_train(ctx, s, path, resume, &(asc_train_hooks){.progress = stop_after, .user = &stop}, NULL);
    ck_assert_msg(status == ASC_OK || status == ASC_ERR_INTERRUPTED, "%s", asc_error_message(ctx));
    asc_error_clear(ctx);
    asc_settings_free(s);
}

/* The first number of every line's list under "ascender"; how many lines have it. */
static int read_first(const char *key, double *values)
{
    char word[60], *text = read_file(run_path, "metrics.jsonl");
    snprintf(word, sizeof word, "\"%s\":[[", key);
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) && n < 2 * STEPS; n++) {
        at += strlen(word);
        values[n] = strtod(at, NULL);
    }
    free(text);
    return n;
}

START_TEST(separation_rises_after_the_warm_up)
{
    double sep[2 * STEPS], coh[2 * STEPS];
    train_swarm(run_path, "4", false, -1);
    ck_assert_int_eq(read_first("omega_sep", sep), STEPS);
    ck_assert_int_eq(read_first("omega_coh", coh), STEPS);
    for (int step = 0; step < WARMUP + RAMP; step++) {
        double share = step < WARMUP ? 0 : (double)(step - WARMUP + 1) / RAMP;
        ck_assert_double_eq_tol(sep[step], .2 * share, 1e-6);
    }
    ck_assert(fabs(sep[WARMUP + RAMP] - .2) > 1e-5); /* trained from here on */
    ck_assert(fabs(coh[0] - .1) > 1e-5);             /* from the start */
}
END_TEST

START_TEST(without_a_ramp_separation_is_trained_from_the_start)
{
    double sep[2 * STEPS];
    train_swarm(run_path, "0", false, -1);
    ck_assert_int_eq(read_first("omega_sep", sep), STEPS);
    ck_assert(fabs(sep[0] - .2) > 1e-5);
    ck_assert(fabs(sep[0] - .2) < .1);
}
END_TEST

START_TEST(gates_are_measured_at_evaluations)
{
    static const char *const gates[] = {"gamma_align", "gamma_coh", "eta"};
    double values[2 * STEPS];
    train_swarm(run_path, "0", false, -1);
    for (int g = 0; g < 3; g++) {
        ck_assert_int_eq(read_first(gates[g], values), 2);
        ck_assert(values[0] > 0 && values[0] < 1);
    }
}
END_TEST

/* Whether it is stopped in the warm-up, in the ramp or after it. */
START_TEST(interruptions_leave_no_trace)
{
    static const int64_t stops[] = {1, 3, 4, 6, 7, 8, 11};
    train_swarm(run_path, "4", false, -1);
    train_swarm(other_path, "4", false, stops[_i]);
    train_swarm(other_path, "4", true, -1);
    check_same("model.safetensors");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("train");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_add_test(t, separation_rises_after_the_warm_up);
    tcase_add_test(t, without_a_ramp_separation_is_trained_from_the_start);
    tcase_add_test(t, gates_are_measured_at_evaluations);
    tcase_add_loop_test(t, interruptions_leave_no_trace, 0, 7);
    return run_suite("train/ascender", t);
}
