/* tests/train/test_resume.c: trainings that are interrupted, run out of time, are killed or are over, and go on. */
#include "tests/train/runs.h"

/* Whatever call of the hook stops it, a resume ends with the same files: where the model gets better, and where it gets
 * worse after the first evaluation. */
START_TEST(interruptions_leave_no_trace)
{
    asc_train_result r;
    brake never = {0, -1};
    lr = _i == 0 ? "3e-3" : "0.3";
    ck_assert_msg(train(run_path, false, &never, &r) == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert_int_eq(r.step, 12);
    ck_assert_int_eq(r.best_step, _i == 0 ? 12 : 5);
    ck_assert(r.end == ASC_TRAIN_END_STEPS && isfinite(r.best_loss));
    int calls = never.calls;
    for (int at = 0; at < calls; at += in_full() ? 1 : 4) {
        brake b = {0, at}, again = {0, -1};
        asc_status status = train(other_path, false, &b, &r);
        ck_assert(status == ASC_ERR_INTERRUPTED || (status == ASC_OK && at == calls - 1));
        asc_error_clear(ctx);
        ck_assert_int_eq(r.step == 0, at == 0); /* the first call comes before the first step, all the same saved */
        ck_assert(has_file(other_path, "checkpoint.safetensors"));
        ck_assert_msg(train(other_path, true, &again, &r) == ASC_OK, "%s", asc_error_message(ctx));
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

/* Lets the time run out at a step, however fast the machine is: the limit, which is read anew after each step, passes
 * from none to one that is over. */
typedef struct deadline {
    asc_settings *settings;
    int64_t step;
} deadline;

static bool end_time_at(void *user, const asc_train_progress *p)
{
    const deadline *d = user;
    if (p->phase == ASC_TRAIN_PHASE_STEP && p->step == d->step) {
        ck_assert_int_eq(asc_settings_set(d->settings, "minutes", "1e-12"), ASC_OK);
    }
    return true;
}

static void train_until(const char *path, bool resume, int64_t step)
{
    asc_settings *s = resume ? asc_settings_new(ctx) : make_settings(ctx);
    if (resume) {
        ck_assert_int_eq(asc_settings_resume(s, path), ASC_OK);
    }
    asc_train_result r;
    deadline d = {s, step};
    asc_status status = asc_train(ctx, s, path, resume, &(asc_train_hooks){.progress = end_time_at, .user = &d}, &r);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert(r.end == ASC_TRAIN_END_MINUTES && r.step == step);
    asc_settings_free(s);
}

/* A limit of time ends with an evaluation of its own. A resume keeps its model while it is the best; the end is that of
 * an uninterrupted run, and a model that was better than all of the run's own is still there. */
START_TEST(time_limits_lose_no_model)
{
    asc_train_result r;
    brake never = {0, -1};
    lr = _i == 0 ? "3e-3" : "0.3";
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    int extras = 0;
    for (int64_t step = 1; step <= 10; step++) {
        train_until(other_path, false, step);
        double loss = model_loss(other_path);
        train_until(other_path, true, step + 1);
        ck_assert(model_loss(other_path) <= loss);
        loss = model_loss(other_path);
        brake again = {0, -1};
        ck_assert_msg(train(other_path, true, &again, &r) == ASC_OK, "%s", asc_error_message(ctx));
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        bool extra = has_file(other_path, "model.extra.safetensors");
        ck_assert(extra == (model_loss(other_path) > loss));
        ck_assert(!has_file(other_path, "model.kept.safetensors") && !has_file(other_path, "model.next.safetensors"));
        extras += extra;
        remove_tree(other_path);
    }
    ck_assert((extras > 0) == (_i == 1)); /* where the model gets worse, the early ones are better */
}
END_TEST

/* More steps after the end never give a worse model, nor do fewer. */
START_TEST(a_finished_run_keeps_its_best)
{
    asc_train_result r;
    lr = "0.3";
    double before = INFINITY;
    for (int i = 0; i < 3; i++) {
        asc_settings *s = i == 0 ? make_settings(ctx) : asc_settings_new(ctx);
        asc_settings_set(s, "steps", (const char *const[]){"4", "9", "6"}[i]);
        if (i > 0) {
            ck_assert_int_eq(asc_settings_resume(s, run_path), ASC_OK);
        }
        ck_assert_msg(asc_train(ctx, s, run_path, i > 0, NULL, &r) == ASC_OK, "%s", asc_error_message(ctx));
        asc_settings_free(s);
        ck_assert_int_eq(r.step, i == 0 ? 4 : 9);
        ck_assert_double_eq(model_loss(run_path), r.best_loss);
        ck_assert(r.best_loss <= before);
        before = r.best_loss;
        ck_assert(!has_file(run_path, "model.kept.safetensors"));
    }
}
END_TEST

/* The two names of a better model: a process that was killed between the checkpoint and the renaming left the first. */
START_TEST(killed_writers_are_finished_or_undone)
{
    asc_train_result r;
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    brake early = {0, never.calls / 2}; /* after the first of two evaluations */
    ck_assert_int_eq(train(other_path, false, &early, &r), ASC_ERR_INTERRUPTED);
    asc_error_clear(ctx);
    char model[160], next[160], elsewhere[160];
    snprintf(model, sizeof model, "%s/model.safetensors", run_path);
    snprintf(next, sizeof next, "%s/model.next.safetensors", run_path);
    snprintf(elsewhere, sizeof elsewhere, "%s/model.safetensors", other_path);

    /* the checkpoint knows of it: it takes its name */
    ck_assert_int_eq(rename(model, next), 0);
    never.calls = 0;
    ck_assert_msg(train(run_path, true, &never, &r) == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert_int_eq(access(model, F_OK), 0);
    ck_assert_int_ne(access(next, F_OK), 0);

    /* of another step than the checkpoint's best: it goes */
    ck_assert_int_eq(rename(elsewhere, next), 0);
    ck_assert_msg(train(run_path, true, &never, &r) == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert_int_ne(access(next, F_OK), 0);
    brake again = {0, -1};
    ck_assert_int_eq(train(other_path, true, &again, &r), ASC_OK);
    check_same("model.safetensors");
    check_same("metrics.jsonl");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("resume");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_add_loop_test(t, interruptions_leave_no_trace, 0, 2);
    tcase_add_loop_test(t, time_limits_lose_no_model, 0, 2);
    tcase_add_test(t, a_finished_run_keeps_its_best);
    tcase_add_test(t, killed_writers_are_finished_or_undone);
    return run_suite("train/resume", t);
}
