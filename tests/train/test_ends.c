/* tests/train/test_ends.c: how trainings end and what they leave: early stops, evaluations of a part, samples, steps
 * that are given up, summary.json. */
#include <jansson.h>
#include <time.h>

#include "tests/train/runs.h"

/* ---- what is left ---- */

static json_t *summary_of(const char *path)
{
    char full[200];
    snprintf(full, sizeof full, "%s/summary.json", path);
    json_t *summary = json_load_file(full, 0, NULL);
    ck_assert_ptr_nonnull(summary);
    return summary;
}

static double number(const json_t *object, const char *key)
{
    ck_assert_msg(json_is_number(json_object_get(object, key)), "%s", key);
    return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    ck_assert_msg(json_is_string(json_object_get(object, key)), "%s", key);
    return json_string_value(json_object_get(object, key));
}

/* ---- early stops ---- */

static const pair worse[] = {{"lr", "1"}, {"steps", "60"}, {"eval_every", "5"}, {"early_stop", "3"}, {NULL, NULL}};

START_TEST(a_training_stops_where_nothing_gets_better)
{
    asc_train_result r = train_so(run_path, false, NULL, ASC_OK, worse);
    ck_assert_int_eq(r.end, ASC_TRAIN_END_EARLY);
    ck_assert_int_lt(r.step, 60);
    ck_assert_int_eq(r.step, r.best_step + 15);
    json_t *s = summary_of(run_path);
    ck_assert_str_eq(text(s, "state"), "done");
    ck_assert_str_eq(text(s, "reason"), "early stop");
    json_decref(s);
    /* nothing is left of it, unless it may go on */
    ck_assert_int_eq(train_so(run_path, true, NULL, ASC_OK, NULL).end, ASC_TRAIN_END_EARLY);
    asc_train_result on = train_so(run_path, true, NULL, ASC_OK, (pair[]){{"early_stop", "0"}, {NULL, NULL}});
    ck_assert(on.end == ASC_TRAIN_END_STEPS && on.step == 60);
}
END_TEST

START_TEST(an_early_stop_survives_a_resume)
{
    asc_train_result whole = train_so(run_path, false, NULL, ASC_OK, worse);
    for (int at = 7; at < 40; at += 11) {
        brake b = {0, at};
        train_so(other_path, false, &(asc_train_hooks){.progress = stop_at, .user = &b}, ASC_ERR_INTERRUPTED, worse);
        asc_train_result r = train_so(other_path, true, NULL, ASC_OK, NULL);
        ck_assert(r.end == ASC_TRAIN_END_EARLY && r.step == whole.step);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

/* ---- evaluations of a part ---- */

/* The evaluations of the training are of the part; what is reported at the end is of the whole. */
START_TEST(the_best_model_is_evaluated_on_everything)
{
    lr = _i == 0 ? "3e-3" : "0.3"; /* the last model is the best, or an earlier one is */
    asc_train_result r = train_so(run_path, false, NULL, ASC_OK, (pair[]){{"eval_tokens", "20"}, {NULL, NULL}});
    double part[10];
    int n = read_metrics(run_path, "valid_loss", part, 10);
    ck_assert_int_eq(n, 3);
    ck_assert_int_eq(r.best_step, _i == 0 ? 12 : 5);
    double best = fmin(part[0], fmin(part[1], part[2]));
    ck_assert_double_eq_tol(model_loss(run_path), best, 1e-8);

    asc_dataset *data = asc_dataset_open(ctx, "builtin:3000");
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    asc_split *split = asc_split_load(data, ASC_SPLIT_VALID, m->tokenizer);
    asc_eval_result whole;
    ck_assert_int_eq(asc_evaluate(ctx, m->lm, split, &(asc_eval_options){.batch = 4}, &whole), ASC_OK);
    ck_assert_double_ne(whole.loss, best);
    ck_assert_double_eq(r.best_loss, whole.loss);
    ck_assert_double_eq(r.best_bits_per_byte, whole.bits_per_byte);
    json_t *s = summary_of(run_path), *of = json_object_get(s, "best");
    ck_assert_double_eq_tol(number(of, "valid_loss"), whole.loss, 1e-7);
    ck_assert_double_eq_tol(number(of, "valid_ppl"), whole.ppl, 1e-5);
    ck_assert_double_eq(number(of, "step"), (double)r.best_step);
    json_decref(s);

    asc_split part_of = *split;
    part_of.n_tokens = 21;
    asc_eval_result first;
    ck_assert_int_eq(asc_evaluate(ctx, m->lm, &part_of, &(asc_eval_options){.batch = 4}, &first), ASC_OK);
    ck_assert_int_eq(first.tokens, 20);
    ck_assert_double_eq_tol(first.loss, best, 1e-8);
    asc_split_free(ctx, split);
    asc_model_free(ctx, m);
    asc_dataset_free(data);
}
END_TEST

START_TEST(evaluations_of_a_part_survive_a_resume)
{
    const pair part[] = {{"eval_tokens", "20"}, {NULL, NULL}};
    train_so(run_path, false, NULL, ASC_OK, part);
    for (int at = 0; at < 24; at += 5) {
        brake b = {0, at};
        train_so(other_path, false, &(asc_train_hooks){.progress = stop_at, .user = &b}, ASC_ERR_INTERRUPTED, part);
        train_so(other_path, true, NULL, ASC_OK, NULL);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

/* ---- samples ---- */

typedef struct samples {
    int n;
    char first[200];
    int64_t steps[20];
} samples;

static void take_sample(void *user, const asc_train_progress *p, const char *prompt, const char *continuation)
{
    samples *s = user;
    ck_assert(*prompt && *continuation);
    if (s->n == 0) {
        snprintf(s->first, sizeof s->first, "%s", prompt);
    }
    s->steps[s->n++] = p->step;
}

START_TEST(samples_change_nothing)
{
    samples s = {0};
    train_so(run_path, false, NULL, ASC_OK, NULL);
    train_so(other_path, false, &(asc_train_hooks){.sample = take_sample, .user = &s}, ASC_OK,
             (pair[]){{"sample_every", "5"}, {NULL, NULL}});
    ck_assert_int_eq(s.n, 2);
    ck_assert(s.steps[0] == 5 && s.steps[1] == 10);
    check_same("model.safetensors");
    check_same("metrics.jsonl");
}
END_TEST

/* ---- steps that are given up ---- */

typedef struct patience {
    int asked, most;   /* times within steps and evaluations */
    int64_t step;      /* of the last call */
} patience;

static bool lose_patience(void *user, const asc_train_progress *p)
{
    patience *h = user;
    h->step = p->step;
    return ++h->asked < h->most;
}

/* Steps of some tenths of a second, in which it is asked several times; whatever is given up leaves no trace. */
START_TEST(a_step_that_is_given_up_leaves_no_trace)
{
    const pair slow[] = {{"batch", "1"}, {"block", "4000"}, {"dim", "64"}, {"steps", "2"}, {"data", "builtin:20000"},
                         {NULL, NULL}};
    train_so(run_path, false, NULL, ASC_OK, slow);
    for (int most = 1; most < 12; most += 3) {
        patience h = {.most = most};
        asc_train_hooks hooks = {.working = lose_patience, .user = &h};
        asc_settings *s = make_settings(ctx);
        for (int i = 0; slow[i][0]; i++) {
            asc_settings_set(s, slow[i][0], slow[i][1]);
        }
        asc_train_result r;
        asc_status status = asc_train(ctx, s, other_path, false, &hooks, &r);
        asc_settings_free(s);
        ck_assert_msg(status == (h.asked >= most ? ASC_ERR_INTERRUPTED : ASC_OK), "%s", asc_error_message(ctx));
        ck_assert(status == ASC_OK || r.step == h.step);
        ck_assert(most > 1 || status == ASC_ERR_INTERRUPTED);
        asc_error_clear(ctx);
        train_so(other_path, true, NULL, ASC_OK, NULL);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

static void sleep_a_little(void *arg, int64_t piece, int worker)
{
    (void)arg, (void)piece, (void)worker;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static bool lose_patience_silently(void *user)
{
    return ++((patience *)user)->asked < ((patience *)user)->most;
}

/* From here on the next time that it is asked is too often. */
static bool have_no_more(void *user, const asc_train_progress *p)
{
    (void)p;
    ((patience *)user)->most = ((patience *)user)->asked + 1;
    return true;
}

/* The caller's asc_set_interrupt stops it as well, and is what is asked afterwards. */
START_TEST(what_interrupts_the_caller_interrupts_a_training)
{
    const pair slow[] = {{"batch", "1"}, {"block", "4000"}, {"dim", "64"}, {"steps", "2"}, {"data", "builtin:20000"},
                         {NULL, NULL}};
    train_so(run_path, false, NULL, ASC_OK, slow);
    patience h = {.most = INT32_MAX};
    asc_set_interrupt(ctx, lose_patience_silently, &h);
    train_so(other_path, false, &(asc_train_hooks){.progress = have_no_more, .user = &h}, ASC_ERR_INTERRUPTED, slow);
    ck_assert(has_file(other_path, "checkpoint.safetensors"));
    h = (patience){.most = INT32_MAX};
    asc_parallel(ctx, 200, sleep_a_little, NULL);
    ck_assert_int_gt(h.asked, 0);
    asc_set_interrupt(ctx, NULL, NULL);
    train_so(other_path, true, NULL, ASC_OK, NULL);
    check_same("metrics.jsonl");
    check_same("model.safetensors");
}
END_TEST

/* ---- time ---- */

/* What a hook has seen of the time; steps and evaluations take as long as it sleeps. */
typedef struct times {
    double left_at_end; /* after the last step, before its evaluation */
    double began_s;     /* the time spent when the last evaluation began */
    int64_t evaluated;  /* its step */
} times;

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static bool watch_time(void *user, const asc_train_progress *p)
{
    times *t = user;
    if (p->phase == ASC_TRAIN_PHASE_STEP) {
        sleep_ms(20);
        t->left_at_end = p->step == p->steps ? p->left_s : t->left_at_end;
    }
    if (p->phase == ASC_TRAIN_PHASE_EVALUATING) {
        t->began_s = p->step != t->evaluated ? p->spent_s : t->began_s;
        t->evaluated = p->step;
        sleep_ms(3);
    }
    return true;
}

START_TEST(the_time_left_has_room_for_evaluations)
{
    times t = {0};
    asc_train_hooks hooks = {.progress = watch_time, .user = &t};
    train_so(run_path, false, &hooks, ASC_OK, (pair[]){{"steps", "6"}, {NULL, NULL}});
    ck_assert_double_gt(t.left_at_end, 0.06); /* the evaluation at step 5 took longer */

    /* a step may take long on a machine that is overloaded, and the evaluation come late: once it doesn't */
    const pair limited[] = {{"steps", "1000000"}, {"eval_every", "10"}, {"minutes", "0.025"}, {NULL, NULL}};
    bool in_time = false;
    for (int attempt = 0; attempt < 20 && !in_time; attempt++) {
        t.evaluated = 0;
        remove_tree(other_path);
        asc_train_result r = train_so(other_path, false, &hooks, ASC_OK, limited);
        ck_assert_int_eq(r.end, ASC_TRAIN_END_MINUTES);
        in_time = r.step % 10 == 0 || t.began_s < 1.5;
    }
    ck_assert_msg(in_time, "it began after %g s", t.began_s);
}
END_TEST

/* ---- summary.json ---- */

START_TEST(a_summary_says_what_came_of_it)
{
    brake b = {0, 7};
    train_so(run_path, false, &(asc_train_hooks){.progress = stop_at, .user = &b}, ASC_ERR_INTERRUPTED, NULL);
    json_t *stopped = summary_of(run_path);
    ck_assert_str_eq(text(stopped, "state"), "interrupted");
    ck_assert_str_eq(text(stopped, "reason"), "stopped");
    asc_train_result r = train_so(run_path, true, NULL, ASC_OK, NULL);
    json_t *done = summary_of(run_path), *best = json_object_get(done, "best");
    ck_assert_str_eq(text(done, "state"), "done");
    ck_assert_double_eq(number(done, "steps"), 12);
    ck_assert_double_eq(number(done, "tokens"), (double)r.tokens);
    ck_assert_double_eq(number(done, "parameters"), (double)r.parameters);
    ck_assert(number(done, "wall_s") > number(stopped, "wall_s"));
    ck_assert(number(done, "gflop_per_token") > 0 && number(done, "tokens_per_s") > 0);
    ck_assert(number(done, "peak_rss_mib") > 1 && number(done, "memory_gib") > 0 && number(done, "epochs") > 0);
    ck_assert_double_eq(number(done, "threads"), 1);
    ck_assert_double_eq_tol(number(done, "unknown"), r.unknown, 1e-8);
    ck_assert_str_eq(text(done, "version"), ASC_VERSION);
    ck_assert(*text(done, "processor") && *text(done, "instructions") && *text(done, "blas"));
    ck_assert_double_eq(number(best, "step"), (double)r.best_step);
    ck_assert_double_eq(number(best, "tokens"), (double)r.tokens);
    ck_assert_double_eq_tol(number(best, "valid_loss"), r.best_loss, 1e-7);
    ck_assert(number(best, "elapsed_s") > 0 && number(best, "valid_bits_per_byte") > 0);

    /* a resume that finds nothing to do knows what the one before knew */
    train_so(run_path, true, NULL, ASC_OK, NULL);
    json_t *again = summary_of(run_path);
    ck_assert_double_eq(number(again, "gflop_per_token"), number(done, "gflop_per_token"));
    ck_assert_double_eq(number(again, "unknown"), number(done, "unknown"));
    ck_assert(number(again, "wall_s") >= number(done, "wall_s"));
    json_decref(stopped);
    json_decref(done);
    json_decref(again);
}
END_TEST

START_TEST(a_training_that_fails_says_why)
{
    train_so(run_path, false, NULL, ASC_ERR_NONFINITE,
             (pair[]){{"lr", "1000"}, {"clip", "0"}, {"weight_decay", "1000"}, {"steps", "400"}, {NULL, NULL}});
    json_t *s = summary_of(run_path);
    ck_assert_str_eq(text(s, "state"), "failed");
    ck_assert_ptr_nonnull(strstr(text(s, "reason"), "the "));
    json_decref(s);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("ends");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_training_stops_where_nothing_gets_better);
    tcase_add_test(t, an_early_stop_survives_a_resume);
    tcase_add_loop_test(t, the_best_model_is_evaluated_on_everything, 0, 2);
    tcase_add_test(t, evaluations_of_a_part_survive_a_resume);
    tcase_add_test(t, samples_change_nothing);
    tcase_add_test(t, a_step_that_is_given_up_leaves_no_trace);
    tcase_add_test(t, what_interrupts_the_caller_interrupts_a_training);
    tcase_add_test(t, the_time_left_has_room_for_evaluations);
    tcase_add_test(t, a_summary_says_what_came_of_it);
    tcase_add_test(t, a_training_that_fails_says_why);
    return run_suite("train/ends", t);
}
