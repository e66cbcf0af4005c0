/* tests/train/test_experiment.c: the plan of an experiment, what its runs are to have, tuning, time, who does what. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <program/experiment.h>
#include <program/file.h>

#include "tests/context.h"
#include "tests/folder.h"
#include "train/experiment/experiment.h"
#include "train/run/claim.h"

static char file[96], dir[96];

static void setup_experiment(void)
{
    setup_one_thread();
    make_folder();
    snprintf(file, sizeof file, "%s/near.json", folder);
    snprintf(dir, sizeof dir, "%s/dir", folder);
}

static void teardown_experiment(void)
{
    remove_tree(folder);
    teardown();
}

static void write_file(const char *path, const char *text)
{
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, text, strlen(text)), ASC_OK);
}

static asc_experiment *read_text(const char *text, const char *scale)
{
    write_file(file, text);
    return asc_experiment_read(ctx, file, scale);
}

static const char tuned[] =
    "{\"common\": {\"data\": \"builtin:2000\", \"epochs\": 2, \"block-norm\": \"pre\"},"
    " \"systems\": {\"a b\": {\"model\": \"transformer\"}, \"g\": {\"model\": \"grassmann\", \"block_norm\": null}},"
    " \"grid\": {\"d_model\": [8, 16]}, \"seeds\": [4, 2], "
    " \"tune\": {\"grid\": {\"lr\": [0.2, 0.3, 0.1]}, \"steps\": 10}, \"report\": {\"split\": \"test\"},"
    " \"scales\": {\"tiny\": {\"common\": {\"steps\": 5}, \"systems\": {\"a b\": null, \"g\": {\"r\": 4}},"
    " \"grid\": {\"dim\": null, \"block\": [7]}, \"seeds\": [9], \"tune\": {\"grid\": {\"lr\": [0.5]}}}}}";

static asc_experiment *read_tuned(const char *scale)
{
    asc_experiment *e = read_text(tuned, scale);
    no_error();
    return e;
}

static void expect_value(asc_experiment *e, int run, const char *key, const char *value)
{
    const char *got = asc_experiment_value(e, run, key);
    ck_assert_msg(value ? got && strcmp(got, value) == 0 : !got, "%s of run %d: %s", key, run, got ? got : "none");
}

START_TEST(plan)
{
    static const char *const names[] = {
        "tune-a_b-lr0.2-1", "tune-a_b-lr0.3-1", "tune-a_b-lr0.1-1", "tune-g-lr0.2-1", "tune-g-lr0.3-1",
        "tune-g-lr0.1-1",   "a_b-dim8-4",       "a_b-dim16-4",      "g-dim8-4",       "g-dim16-4",
        "a_b-dim8-2",       "a_b-dim16-2",      "g-dim8-2",         "g-dim16-2",      NULL};
    asc_experiment *e = read_tuned(NULL);
    for (int i = 0; names[i] || asc_experiment_run_at(e, i); i++) {
        const asc_experiment_run *run = asc_experiment_run_at(e, i);
        ck_assert_ptr_nonnull(run);
        ck_assert_str_eq(run->name, names[i]);
        ck_assert_int_eq(run->tuning, i < 6);
        ck_assert_str_eq(asc_experiment_system(e, run->system), strchr(run->name, 'g') ? "g" : "a b");
        ck_assert_ptr_null(run->folder);
    }
    ck_assert_str_eq(asc_experiment_name(e), "near");
    ck_assert_str_eq(asc_experiment_key(e, 0), "dim");
    ck_assert_ptr_null(asc_experiment_key(e, 1));
    ck_assert_str_eq(asc_experiment_tuned_key(e, 0), "lr");
    expect_value(e, 0, "steps", "10"); /* in place of the epochs */
    expect_value(e, 0, "epochs", NULL);
    expect_value(e, 0, "dim", "8"); /* the grid's first */
    expect_value(e, 7, "epochs", "2");
    expect_value(e, 7, "d-model", "16");
    expect_value(e, 7, "lr", NULL); /* not known yet */
    expect_value(e, 7, "seed", "4");
    expect_value(e, 7, "block-norm", "\"pre\"");
    expect_value(e, 8, "block-norm", NULL); /* taken back */
    asc_experiment_free(e);
}
END_TEST

START_TEST(scale)
{
    asc_experiment *e = read_tuned("tiny");
    ck_assert_str_eq(asc_experiment_scale(e), "tiny");
    ck_assert_str_eq(asc_experiment_run_at(e, 0)->name, "tune-g-lr0.5-1");
    ck_assert_str_eq(asc_experiment_run_at(e, 1)->name, "g-block7-9");
    ck_assert_ptr_null(asc_experiment_run_at(e, 2));
    expect_value(e, 1, "steps", "5");
    expect_value(e, 1, "r", "4");
    expect_value(e, 0, "steps", "10");
    ck_assert_int_eq(asc_experiment_set(e, "steps", "6"), ASC_OK);
    expect_value(e, 1, "steps", "6");
    ck_assert_int_eq(asc_experiment_set(e, "stepps", "6"), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "unknown setting 'stepps'");
    char *report = asc_experiment_json(e, "report");
    ck_assert_ptr_nonnull(strstr(report, "\"test\""));
    asc_experiment_text_free(report);
    asc_experiment_free(e);
    ck_assert_ptr_null(asc_experiment_read(ctx, file, "small"));
    expect_error_with(ASC_ERR_ARG, "there is no 'small', expected one of full, tiny");
}
END_TEST

/* What a training would leave; of an accuracy, if it chooses. */
static void pretend_accurate(asc_experiment *e, int run, int step, double loss, double seconds, double accuracy)
{
    char path[400], text[300];
    const char *run_folder = asc_experiment_run_at(e, run)->folder;
    mkdir(run_folder, 0777);
    snprintf(path, sizeof path, "%s/config.json", run_folder);
    write_file(path, isnan(accuracy) ? "{\"plan\": {\"steps\": 10}, \"model\": {}}\n"
                                     : "{\"best_by\": \"accuracy\", \"plan\": {\"steps\": 10}, \"model\": {}}\n");
    snprintf(path, sizeof path, "%s/metrics.jsonl", run_folder);
    int n = snprintf(text, sizeof text, "{\"step\": %d, \"elapsed_s\": %g, \"valid_loss\": %g", step, seconds, loss);
    snprintf(text + n, sizeof text - (size_t)n, isnan(accuracy) ? "}\n" : ", \"valid_accuracy\": %g}\n", accuracy);
    write_file(path, text);
}

static void pretend(asc_experiment *e, int run, int step, double loss, double seconds)
{
    pretend_accurate(e, run, step, loss, seconds, NAN);
}

/* Claims a run, trains it, and notes its end. */
static int do_one(asc_experiment *e, double loss, asc_experiment_end end)
{
    int run;
    bool later, resume;
    ck_assert_int_eq(asc_experiment_next(e, &run, &later), ASC_OK);
    ck_assert_int_ge(run, 0);
    ck_assert_ptr_nonnull(asc_experiment_settings_file(e, run, &resume));
    ck_assert(!resume);
    pretend(e, run, 10, loss, 20);
    ck_assert_int_eq(asc_experiment_release(e, run, end, "why"), ASC_OK);
    return run;
}

START_TEST(tuning)
{
    static const double losses[2][3] = {{3, 1, 2}, {1, 0.5, 4}};
    asc_experiment *e = read_tuned(NULL);
    asc_experiment_tuning t;
    asc_experiment_time time;
    ck_assert_int_eq(asc_experiment_place(e, dir), ASC_OK);
    ck_assert_int_eq(asc_experiment_run_at(e, 6)->state, ASC_EXPERIMENT_STATE_WAITING);
    for (int i = 0; i < 6; i++) { /* of g the second diverges, whatever loss it had before */
        bool wild = i == 4;
        asc_experiment_end end = wild ? ASC_EXPERIMENT_END_DIVERGED : ASC_EXPERIMENT_END_DONE;
        ck_assert_int_eq(do_one(e, losses[i / 3][i % 3], end), i);
    }
    ck_assert_int_eq(asc_experiment_tuning_of(e, 0, &t), ASC_OK);
    ck_assert(t.run == 1 && t.tried == 3 && t.failed == 0 && t.valid_loss == 1 && t.at_edge); /* of 0.1, 0.2, 0.3 */
    ck_assert_int_eq(asc_experiment_tuning_of(e, 1, &t), ASC_OK);
    ck_assert(t.run == 3 && t.done == 3 && t.failed == 1 && t.valid_loss == 1 && !t.at_edge);
    char path[4096], cache[4200];
    snprintf(cache, sizeof cache, "%s/cache", dir);
    ck_assert_int_eq(asc_experiment_cache(e, 7, path, sizeof path), ASC_OK);
    ck_assert_str_eq(path, cache);
    expect_value(e, 7, "lr", "0.3");
    expect_value(e, 8, "lr", "0.2");
    ck_assert_int_eq(asc_experiment_time_of(e, &time), ASC_OK);
    ck_assert(time.spent_s == 120 && time.tuning_s == 120 && isnan(time.left_s)); /* epochs: no steps are known */
    ck_assert_int_eq(do_one(e, 2, ASC_EXPERIMENT_END_DONE), 6);
    ck_assert_int_eq(asc_experiment_time_of(e, &time), ASC_OK);
    ck_assert(time.left_s == 7 * 20 && time.tuning_share == 120.0 / 280);
    asc_experiment_free(e);
}
END_TEST

/* Where the accuracy makes a model the best it chooses among the values, too: of equal ones the loss. */
START_TEST(tuning_by_accuracy)
{
    static const double losses[] = {3, 2, 1}, accuracies[] = {0.5, 0.7, 0.6, 0.7, 0.7, 0.6};
    asc_experiment *e = read_tuned(NULL);
    asc_experiment_tuning t;
    ck_assert_int_eq(asc_experiment_place(e, dir), ASC_OK);
    for (int i = 0, run; i < 6; i++) {
        bool later, resume;
        ck_assert_int_eq(asc_experiment_next(e, &run, &later), ASC_OK);
        ck_assert_ptr_nonnull(asc_experiment_settings_file(e, run, &resume));
        pretend_accurate(e, run, 10, losses[i % 3], 20, accuracies[i]);
        ck_assert_int_eq(asc_experiment_release(e, run, ASC_EXPERIMENT_END_DONE, NULL), ASC_OK);
    }
    ck_assert_int_eq(asc_experiment_tuning_of(e, 0, &t), ASC_OK);
    ck_assert(t.run == 1 && t.valid_loss == 2 && t.valid_accuracy == 0.7);
    ck_assert_int_eq(asc_experiment_tuning_of(e, 1, &t), ASC_OK);
    ck_assert(t.run == 4 && t.valid_loss == 2 && t.valid_accuracy == 0.7);
    asc_experiment_free(e);
}
END_TEST

/* Whether a value is chosen while another's run has failed would depend on what became of that by then. */
START_TEST(tuning_waits_for_a_run_that_failed)
{
    asc_experiment *e = read_tuned(NULL);
    asc_experiment_tuning t;
    int run;
    bool later;
    ck_assert_int_eq(asc_experiment_place(e, dir), ASC_OK);
    do_one(e, 3, ASC_EXPERIMENT_END_DONE);
    do_one(e, 9, ASC_EXPERIMENT_END_FAILED);
    for (int i = 2; i < 6; i++) {
        do_one(e, 2, ASC_EXPERIMENT_END_DONE);
    }
    ck_assert_int_eq(asc_experiment_tuning_of(e, 0, &t), ASC_OK);
    ck_assert(t.run == -1 && t.done == 3 && t.failed == 1 && t.to_retry == 1);
    ck_assert_int_eq(asc_experiment_run_at(e, 6)->state, ASC_EXPERIMENT_STATE_WAITING);
    ck_assert_int_eq(asc_experiment_next(e, &run, &later), ASC_OK);
    ck_assert_int_eq(asc_experiment_run_at(e, run)->system, 1); /* the others go on */
    ck_assert_int_eq(asc_experiment_release(e, run, ASC_EXPERIMENT_END_STOPPED, NULL), ASC_OK);
    asc_experiment_free(e);
    e = asc_experiment_open(ctx, dir);
    asc_experiment_time time;
    ck_assert_int_eq(asc_experiment_time_of(e, &time), ASC_OK); /* reads what the failed one left, a loss of 9 */
    ck_assert_int_eq(asc_experiment_next(e, &run, &later), ASC_OK);
    ck_assert_int_eq(run, 1);
    pretend(e, run, 10, 1, 20);
    ck_assert_int_eq(asc_experiment_release(e, run, ASC_EXPERIMENT_END_DONE, NULL), ASC_OK);
    ck_assert_int_eq(asc_experiment_tuning_of(e, 0, &t), ASC_OK);
    ck_assert(t.run == 1 && t.failed == 0 && t.to_retry == 0 && t.valid_loss == 1);
    char written[200];
    snprintf(written, sizeof written, "%s/tune/%s.json", dir, asc_experiment_system(e, 0));
    asc_experiment_free(e);
    ck_assert_int_eq(unlink(written), 0); /* a worker was killed before it was there: the next one writes it */
    e = asc_experiment_open(ctx, dir);
    ck_assert_int_eq(asc_experiment_next(e, &run, &later), ASC_OK);
    ck_assert_int_eq(access(written, F_OK), 0);
    asc_experiment_free(e);
}
END_TEST

START_TEST(workers)
{
    static const char text[] = "{\"systems\": {\"t\": {}, \"g\": {\"model\": \"grassmann\"}}, \"seeds\": [1, 2]}";
    asc_experiment *a = read_text(text, NULL), *b = read_text(text, NULL);
    int run;
    bool later, resume;
    ck_assert_int_eq(asc_experiment_place(a, dir) | asc_experiment_place(b, dir), ASC_OK);
    ck_assert_int_eq(asc_experiment_next(a, &run, &later), ASC_OK);
    ck_assert_int_eq(run, 0);
    ck_assert_int_eq(asc_experiment_next(b, &run, &later), ASC_OK);
    ck_assert_int_eq(run, 1);
    pretend(b, 1, 4, 2, 8); /* stopped half-way: someone goes on with it */
    ck_assert_int_eq(asc_experiment_release(b, 1, ASC_EXPERIMENT_END_STOPPED, NULL), ASC_OK);
    ck_assert_int_eq(asc_experiment_run_at(b, 1)->state, ASC_EXPERIMENT_STATE_INTERRUPTED);
    ck_assert_int_eq(asc_experiment_next(a, &run, &later), ASC_OK);
    ck_assert_int_eq(run, 1);
    asc_experiment_settings_file(a, run, &resume);
    ck_assert(resume);
    ck_assert_int_eq(asc_experiment_release(a, 1, ASC_EXPERIMENT_END_FAILED, "why"), ASC_OK);
    ck_assert_int_eq(do_one(b, 1, ASC_EXPERIMENT_END_DONE), 2); /* what failed while it works it leaves alone */
    ck_assert_int_eq(do_one(b, 1, ASC_EXPERIMENT_END_DONE), 3);
    ck_assert_int_eq(asc_experiment_next(b, &run, &later), ASC_OK);
    ck_assert(run == -1 && !later);
    ck_assert_int_eq(asc_experiment_run_at(b, 0)->state, ASC_EXPERIMENT_STATE_RUNNING);
    ck_assert_int_eq(asc_experiment_run_at(b, 1)->state, ASC_EXPERIMENT_STATE_FAILED);
    asc_experiment_free(a); /* gives its claim up */
    asc_experiment *c = asc_experiment_open(ctx, dir);
    ck_assert_int_eq(asc_experiment_next(c, &run, &later), ASC_OK);
    ck_assert_int_eq(run, 0);
    ck_assert_int_eq(asc_experiment_next(c, &run, &later), ASC_OK);
    ck_assert_int_eq(run, 1); /* tried again */
    ck_assert_int_eq(asc_experiment_release(c, 2, ASC_EXPERIMENT_END_DONE, NULL), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "run 2 is not claimed");
    asc_experiment_free(b);
    asc_experiment_free(c);
    no_error();
}
END_TEST

/* What a worker left in claims/ that was killed while it dropped the claim of a run that is done. */
START_TEST(what_a_killed_worker_left_goes)
{
    static const char text[] = "{\"systems\": {\"t\": {}, \"g\": {\"model\": \"grassmann\"}}}";
    asc_experiment *e = read_text(text, NULL);
    ck_assert_int_eq(asc_experiment_place(e, dir), ASC_OK);
    ck_assert_int_eq(do_one(e, 1, ASC_EXPERIMENT_END_DONE), 0);
    char left[200];
    snprintf(left, sizeof left, "%s/claims/%s.0123.over", dir, asc_experiment_run_at(e, 0)->name);
    write_file(left, "");
    struct timespec old = {time(NULL) - 1000, 0};
    ck_assert_int_eq(utimensat(AT_FDCWD, left, (struct timespec[]){old, old}, 0), 0);
    asc_experiment_free(e);
    e = asc_experiment_open(ctx, dir);
    ck_assert_int_eq(do_one(e, 1, ASC_EXPERIMENT_END_DONE), 1);
    ck_assert_int_ne(access(left, F_OK), 0);
    asc_experiment_free(e);
    no_error();
}
END_TEST

/* Whoever waits for it says so: the message ends the waiting here. */
static asc_claim *kept;

static void let_go(void *user, const char *text)
{
    *(bool *)user = strstr(text, "waits for process ") && strstr(text, "/claims/experiment");
    asc_claim_drop(kept);
    kept = NULL;
}

START_TEST(who_keeps_others_waiting_is_named)
{
    bool named = false;
    char path[200];
    asc_claim_holder other;
    asc_experiment *e = read_tuned(NULL);
    ck_assert_int_eq(asc_experiment_place(e, dir), ASC_OK);
    asc_experiment_free(e);
    snprintf(path, sizeof path, "%s/claims/experiment", dir);
    ck_assert_int_eq(asc_claim_take(ctx, path, &kept, &other), ASC_OK);
    ck_assert_ptr_nonnull(kept);
    asc_ctx *waiting = asc_ctx_new(&(asc_options){.threads = 1, .message = let_go, .message_user = &named});
    e = asc_experiment_read(waiting, file, NULL);
    ck_assert_int_eq(asc_experiment_place(e, dir), ASC_OK);
    ck_assert(named && !kept);
    asc_experiment_free(e);
    asc_ctx_free(waiting);
}
END_TEST

static void count(void *user, const char *text)
{
    *(int *)user += strstr(text, "waits for process ") != NULL;
}

/* Who does not go on is waited for no longer than it may take a living one. */
START_TEST(who_never_goes_on_is_refused)
{
    static const asc_folder_patience little = {.pause_ms = 1, .silent_ms = 2, .most_ms = 5};
    int notes = 0;
    char path[200];
    asc_claim *holds, *waits = NULL;
    asc_claim_holder other;
    write_file(file, tuned);
    asc_ctx *waiting = asc_ctx_new(&(asc_options){.threads = 1, .message = count, .message_user = &notes});
    asc_experiment *e = asc_experiment_read(waiting, file, NULL);
    ck_assert_int_eq(asc_experiment_place(e, dir), ASC_OK);
    snprintf(path, sizeof path, "%s/claims/experiment", dir);
    ck_assert_int_eq(asc_claim_take(ctx, path, &holds, &other), ASC_OK);
    ck_assert_int_eq(asc_folder_wait(e, &little, &waits), ASC_ERR_IO);
    ck_assert_ptr_null(waits);
    ck_assert_int_eq(notes, 1);
    const char *message = asc_error_message(waiting);
    char expected[80];
    snprintf(expected, sizeof expected, "dir: process %lld on host ", (long long)getpid());
    ck_assert_msg(strstr(message, expected) && strstr(message, "does not go on: continue or end it"), "%s", message);
    asc_error_clear(waiting);
    asc_claim_drop(holds);
    ck_assert_int_eq(asc_folder_wait(e, &little, &waits), ASC_OK);
    ck_assert_ptr_nonnull(waits);
    asc_claim_drop(waits);
    asc_experiment_free(e);
    asc_ctx_free(waiting);
}
END_TEST

/* Nothing is left of a run that could not be taken; what asks for the time does not hide why. */
START_TEST(a_run_that_can_not_be_taken)
{
    asc_experiment *e = read_text("{\"systems\": {\"t\": {}}, \"seeds\": [1]}", NULL);
    asc_experiment_time time;
    char path[200];
    int run;
    bool later;
    ck_assert_int_eq(asc_experiment_place(e, dir), ASC_OK);
    snprintf(path, sizeof path, "%s/settings/t-1.json", dir);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    ck_assert_int_eq(asc_experiment_next(e, &run, &later), ASC_ERR_IO);
    ck_assert_int_eq(asc_experiment_time_of(e, &time), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "settings/t-1.json: ");
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(asc_experiment_next(e, &run, &later), ASC_OK);
    ck_assert_int_eq(run, 0);
    asc_experiment_free(e);
    no_error();
}
END_TEST

int main(void)
{
    TCase *experiments = tcase_create("experiments");
    tcase_add_checked_fixture(experiments, setup_experiment, teardown_experiment);
    tcase_add_test(experiments, plan);
    tcase_add_test(experiments, scale);
    tcase_add_test(experiments, tuning);
    tcase_add_test(experiments, tuning_by_accuracy);
    tcase_add_test(experiments, tuning_waits_for_a_run_that_failed);
    tcase_add_test(experiments, workers);
    tcase_add_test(experiments, what_a_killed_worker_left_goes);
    tcase_add_test(experiments, who_keeps_others_waiting_is_named);
    tcase_add_test(experiments, who_never_goes_on_is_refused);
    tcase_add_test(experiments, a_run_that_can_not_be_taken);
    return run_suite("experiments", experiments);
}
