/* tests/train/test_ascender.c: training ASCender: its separation phased in, with exact resumes, and what its log
 * tells. */
#include "tests/train/runs.h"

enum { STEPS = 12, WARMUP = 3, RAMP = 4 };

/* Settings beside the usual ones, to a key that is NULL. */
static const pair plain[] = {{NULL, NULL}}, ramped[] = {{"sep_ramp", "4"}, {NULL, NULL}};

/* Sets them, with gates after the normalisation unless a preset says where they are. */
static void set_swarm(asc_settings *s, const pair *more, bool after)
{
    const char *const pairs[][2] = {
        {"gate", "after"},  {"model", "ascender"},  {"data", "builtin:3000"},   {"tokenizer", "word"}, {"layers", "2"},
        {"dim", "8"},       {"heads", "2"},         {"block", "16"},            {"batch", "2"},        {"steps", "12"},
        {"warmup", "3"},    {"log_every", "1"},     {"eval_every", "6"},        {"lr", "0.01"},        {"k", "3"},
        {"omega_sep", "0.2"}, {"checkpoint_every", "4"}};
    for (size_t i = after ? 0 : 1; i < sizeof pairs / sizeof *pairs; i++) {
        ck_assert_msg(asc_settings_set(s, pairs[i][0], pairs[i][1]) == ASC_OK, "%s", asc_error_message(ctx));
    }
    for (; (*more)[0]; more++) {
        ck_assert_msg(asc_settings_set(s, (*more)[0], (*more)[1]) == ASC_OK, "%s", asc_error_message(ctx));
    }
}

static asc_settings *swarm_settings(const pair *more)
{
    asc_settings *s = asc_settings_new(ctx);
    set_swarm(s, more, true);
    return s;
}

static bool stop_after(void *user, const asc_train_progress *p)
{
    return p->step != *(const int64_t *)user;
}

/* Trains to the end, or stops after a number of steps. */
static void train_swarm(const char *path, const pair *more, bool resume, int64_t stop)
{
    asc_settings *s = resume ? asc_settings_new(ctx) : swarm_settings(more);
    if (resume) {
        ck_assert_int_eq(asc_settings_resume(s, path), ASC_OK);
    }
    const asc_train_hooks hooks = {.progress = stop_after, .user = &stop};
    asc_status status = asc_train(ctx, s, path, resume, &hooks, NULL);
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
    train_swarm(run_path, ramped, false, -1);
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

/* Shares of the run: of 12 steps a quarter and a third. */
START_TEST(delay_and_ramp_may_be_shares)
{
    static const pair shares[] = {{"warmup", "1"}, {"sep_delay", "0.25"}, {"sep_ramp", "0.33"}, {NULL, NULL}};
    double sep[2 * STEPS];
    train_swarm(run_path, shares, false, -1);
    ck_assert_int_eq(read_first("omega_sep", sep), STEPS);
    for (int step = 0; step < 7; step++) {
        ck_assert_double_eq_tol(sep[step], step < 3 ? 0 : .2 * (step - 2) / 4, 1e-6);
    }
    ck_assert(fabs(sep[7] - .2) > 1e-5);
}
END_TEST

START_TEST(a_delay_without_a_ramp_ends_at_once)
{
    static const pair delayed[] = {{"sep_delay", "5"}, {NULL, NULL}};
    double sep[2 * STEPS];
    train_swarm(run_path, delayed, false, -1);
    ck_assert_int_eq(read_first("omega_sep", sep), STEPS);
    ck_assert(sep[4] == 0 && fabs(sep[5] - .2) < 1e-6 && sep[6] != sep[5]);
}
END_TEST

START_TEST(a_course_leads_from_point_to_point)
{
    static const pair course[] = {{"curriculum", "omega_coh=2:0.5,6:0.1,50%:0.3;tau_score=0:3"}, {NULL, NULL}};
    static const pair right[] = {{"curriculum", "omega_coh=2:0.5,6:0.1,75%:0.4;tau_score=0:3"}, {NULL, NULL}};
    double coh[2 * STEPS];
    asc_settings *s = swarm_settings(course); /* 50 % of 12 steps are 6, too */
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, NULL), ASC_ERR_ARG);
    ck_assert_str_eq(asc_error_message(ctx), "curriculum: got '50%:0.3;tau_score=0:3', expected a point later than the "
                                             "one before");
    asc_error_clear(ctx);
    asc_settings_free(s);
    train_swarm(run_path, right, false, -1);
    ck_assert_int_eq(read_first("omega_coh", coh), STEPS);
    static const double expected[] = {.5, .5, .5, .4, .3, .2, .1, .2, .3, .4};
    for (int step = 0; step < 10; step++) {
        ck_assert_double_eq_tol(coh[step], expected[step], 1e-6);
    }
    ck_assert(fabs(coh[10] - .4) > 1e-5); /* trained from here on */
}
END_TEST

/* With a delay the steps before it are those of a training without auxiliary losses, to the bit. */
START_TEST(auxiliary_losses_may_come_late)
{
    static const pair late[] = {{"aux_coh", "2"}, {"aux_delay", "0.5"}, {NULL, NULL}};
    double without[STEPS], with[STEPS];
    train_swarm(run_path, plain, false, -1);
    train_swarm(other_path, late, false, -1);
    ck_assert_int_eq(read_metrics(run_path, "grad_norm", without, STEPS), STEPS);
    ck_assert_int_eq(read_metrics(other_path, "grad_norm", with, STEPS), STEPS);
    for (int step = 0; step < STEPS; step++) {
        ck_assert((without[step] == with[step]) == (step < STEPS / 2));
    }
}
END_TEST

static const struct {
    pair setting;
    const char *message;
} refused[] = {
    {{"sep_delay", "1.5"}, "sep_delay: got 1.5, expected a share of the run below 1, or whole steps"},
    {{"sep_ramp", "2.5"}, "sep_ramp: got 2.5, expected a share of the run below 1, or whole steps"},
    {{"aux_delay", "-0.5"}, "aux_delay: got -0.5, expected a share of the run below 1, or whole steps"},
    {{"curriculum", "omega_coh"}, "curriculum: got 'omega_coh', expected NAME=AT:VALUE,AT:VALUE"},
    {{"curriculum", "omega_coh=0"}, "curriculum: got '0', expected AT:VALUE, AT a step or a share of the run in %"},
    {{"curriculum", "omega_coh=1.5:1"},
     "curriculum: got '1.5:1', expected AT:VALUE, AT a step or a share of the run in"},
    {{"curriculum", "omega_coh=101%:1"}, "curriculum: got '101%:1', expected AT:VALUE,"},
    {{"curriculum", "omega_coh=0:nan"}, "curriculum: got '0:nan', expected AT:VALUE,"},
    {{"curriculum", "omega_coh=0:1 "}, "curriculum: got '0:1 ', expected AT:VALUE,"},
    {{"curriculum", "omega_coh=0:1;omega_coh=0:2"}, "curriculum: got 'omega_coh', expected one course for it"},
    {{"curriculum", "omega_sep=0:1"},
     "curriculum: got 'omega_sep', expected either a course for it, or sep_delay and sep_ramp"},
    {{"curriculum", "tau_sep=0:0"}, "curriculum: tau_sep: got 0, expected 0.001 to 1e+09"},
    {{"curriculum", "omega=0:0"},
     "curriculum: no layer has a number 'omega' that is trained; did you mean 'omega_align'?"},
    {{"curriculum", "lambda_dist=0:0"}, "curriculum: no layer has a number 'lambda_dist' that is trained"},
};

START_TEST(wrong_lengths_and_courses_are_refused)
{
    const pair more[] = {{"sep_ramp", "4"}, {refused[_i].setting[0], refused[_i].setting[1]}, {NULL, NULL}};
    asc_settings *s = swarm_settings(more);
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, NULL), ASC_ERR_ARG);
    const char *got = asc_error_message(ctx), *expected = refused[_i].message;
    ck_assert_msg(strncmp(got, expected, strlen(expected)) == 0, "'%s'", got);
    ck_assert_str_eq(asc_error_subject(ctx), refused[_i].setting[0]);
    ck_assert(!has_file(run_path, "config.json"));
    asc_error_clear(ctx);
    asc_settings_free(s);
}
END_TEST

/* What is measured at the start is written down: with gates before the normalisation λ_align moves nothing in float32,
 * ω_align does; in float64 both do. */
START_TEST(what_is_inert_is_measured)
{
    static const pair f32[] = {{"gate", "before"}, {"freeze_inert", "measured"}, {"freeze", "[\"delta:1\"]"},
                               {NULL, NULL}};
    static const pair f64[] = {{"gate", "before"}, {"freeze_inert", "measured"}, {"dtype", "f64"}, {NULL, NULL}};
    train_swarm(run_path, f32, false, -1);
    char *config = read_file(run_path, "config.json");
    const char *freeze = strstr(config, "\"freeze\": ["), *inert = strstr(config, "\"freeze_inert\": false");
    ck_assert(freeze && inert && freeze < inert);
    char list[600];
    snprintf(list, sizeof list, "%.*s", (int)(inert - freeze), freeze);
    ck_assert_ptr_nonnull(strstr(list, "\"lambda_align\""));
    ck_assert_ptr_nonnull(strstr(list, "\"delta:1\""));
    ck_assert(!strstr(list, "omega_align") && !strstr(list, "tau_score"));
    free(config);
    train_swarm(other_path, f64, false, -1);
    config = read_file(other_path, "config.json");
    ck_assert(!strstr(config, "\"lambda_align\"\n") && !strstr(config, "\"lambda_align\","));
    free(config);
}
END_TEST

/* The listing's presets train λ, ω, κ, δ and τ_score; τ_sep and τ_coh are constants. */
START_TEST(presets_train_what_the_sources_train)
{
    static const char *const presets[] = {"intended", "reference", "intended-after", "reference-after"};
    static const char *const learned[] = {"lambda_align", "lambda_sep", "lambda_coh", "omega_align", "omega_sep",
                                          "omega_coh",    "kappa",      "delta",      "tau_score"};
    static const pair ahead[] = {{"look_ahead", "true"}, {NULL, NULL}};
    asc_settings *s = asc_settings_new(ctx);
    ck_assert_int_eq(asc_settings_preset(s, presets[_i]), ASC_OK);
    set_swarm(s, ahead, false);
    asc_status status = asc_train(ctx, s, run_path, false, NULL, NULL);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    asc_settings_free(s);
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    ck_assert(m != NULL);
    asc_lm *fresh = asc_lm_new(ctx, asc_lm_config(m->lm), ASC_F32, 1);
    for (size_t i = 0; i < 11; i++) {
        const char *name = i < 9 ? learned[i] : i == 9 ? "tau_sep" : "tau_coh";
        char full[60];
        snprintf(full, sizeof full, "blocks.0.mix.%s", name);
        const float *was = asc_data(asc_params_find(asc_lm_params(fresh), full));
        const float *is = asc_data(asc_params_find(asc_lm_params(m->lm), full));
        ck_assert_msg((was[0] != is[0]) == (i < 9), "%s: %s was %g, is %g", presets[_i], name, was[0], is[0]);
    }
    asc_lm_free(fresh);
    asc_model_free(ctx, m);
}
END_TEST

/* And those of the papers bring separation in late. */
START_TEST(presets_bring_separation_in_late)
{
    static const char *const presets[] = {"ascender", "ascender-after"};
    asc_settings *s = asc_settings_new(ctx);
    ck_assert_int_eq(asc_settings_preset(s, presets[_i]), ASC_OK);
    set_swarm(s, plain, false);
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, NULL), ASC_OK);
    asc_settings_free(s);
    double sep[2 * STEPS];
    ck_assert_int_eq(read_first("omega_sep", sep), STEPS);
    ck_assert(sep[0] == 0 && sep[1] == 0 && fabs(sep[2] - .2) < 1e-6); /* 15 % and 10 % of 12 steps are 2 and 1 */
    char *config = read_file(run_path, "config.json");
    ck_assert_ptr_nonnull(strstr(config, _i ? "\"gate\": \"after\"" : "\"gate\": \"before\""));
    free(config);
}
END_TEST

START_TEST(without_a_ramp_separation_is_trained_from_the_start)
{
    double sep[2 * STEPS];
    train_swarm(run_path, plain, false, -1);
    ck_assert_int_eq(read_first("omega_sep", sep), STEPS);
    ck_assert(fabs(sep[0] - .2) > 1e-5);
    ck_assert(fabs(sep[0] - .2) < .1);
}
END_TEST

START_TEST(gates_are_measured_at_evaluations)
{
    static const char *const gates[] = {"gamma_align", "gamma_coh", "eta"};
    double values[2 * STEPS];
    train_swarm(run_path, plain, false, -1);
    for (int g = 0; g < 3; g++) {
        ck_assert_int_eq(read_first(gates[g], values), 2);
        ck_assert(values[0] > 0 && values[0] < 1);
    }
}
END_TEST

/* Whether it is stopped in the warm-up, in the ramp or after it; with all that comes late, is led, frozen or shared. */
START_TEST(interruptions_leave_no_trace)
{
    static const pair all[] = {
        {"gate", "before"},    {"sep_delay", "0.3"}, {"sep_ramp", "0.3"},
        {"aux_sep", "0.5"},    {"aux_delay", "-1"},  {"curriculum", "tau_score=0:2,7:1;omega_coh=4:0.3"},
        {"freeze", "[\"omega_align:1\"]"}, {"share", "[\"delta\"]"}, {"freeze_inert", "measured"},
        {NULL, NULL}};
    static const int64_t stops[] = {1, 3, 4, 6, 7, 8, 11};
    const pair *more = _i % 2 ? all : ramped;
    train_swarm(run_path, more, false, -1);
    train_swarm(other_path, more, false, stops[_i / 2]);
    train_swarm(other_path, NULL, true, -1);
    check_same("model.safetensors");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("train");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_add_test(t, separation_rises_after_the_warm_up);
    tcase_add_test(t, delay_and_ramp_may_be_shares);
    tcase_add_test(t, a_delay_without_a_ramp_ends_at_once);
    tcase_add_test(t, a_course_leads_from_point_to_point);
    tcase_add_test(t, auxiliary_losses_may_come_late);
    tcase_add_loop_test(t, wrong_lengths_and_courses_are_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, what_is_inert_is_measured);
    tcase_add_loop_test(t, presets_train_what_the_sources_train, 0, 4);
    tcase_add_loop_test(t, presets_bring_separation_in_late, 0, 2);
    tcase_add_test(t, without_a_ramp_separation_is_trained_from_the_start);
    tcase_add_test(t, gates_are_measured_at_evaluations);
    tcase_add_loop_test(t, interruptions_leave_no_trace, 0, 14);
    return run_suite("train/ascender", t);
}
