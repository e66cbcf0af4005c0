/* tests/train/test_optimizers.c: optimisers, groups, averaged weights and schedules of trainings, and their resumes. */
#include "train/state.h"

#include "tests/train/runs.h"

static const pair kinds[][6] = {
    {{"optimizer", "muon"}, {NULL, NULL}},
    {{"optimizer", "sgd"}, {"momentum", "0.5"}, {NULL, NULL}},
    {{"average", "0.8"}, {NULL, NULL}},
    {{"optimizer", "muon"},
     {"average", "0.9"},
     {"param_groups", "blocks.0.mix.*:optimizer=adamw,lr=0.01;*bias:decay=1"},
     {"sample_every", "3"},
     {NULL, NULL}},
    {{"param_groups", "*norm*:optimizer=sgd;tok_emb*:lr=0"}, {NULL, NULL}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

START_TEST(a_resume_is_exact)
{
    train_so(run_path, false, NULL, ASC_OK, kinds[_i]);
    for (int at = 1; at < 24; at += 5) {
        brake b = {0, at};
        train_so(other_path, false, &(asc_train_hooks){.progress = stop_at, .user = &b}, ASC_ERR_INTERRUPTED,
                 kinds[_i]);
        train_so(other_path, true, NULL, ASC_OK, NULL);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

START_TEST(each_kind_trains_in_a_way_of_its_own)
{
    double usual[40], own[40];
    train_so(run_path, false, NULL, ASC_OK, NULL);
    train_so(other_path, false, NULL, ASC_OK, kinds[_i]);
    int n = read_metrics(run_path, "valid_loss", usual, 40);
    ck_assert_int_eq(read_metrics(other_path, "valid_loss", own, 40), n);
    ck_assert_double_ne(own[n - 1], usual[n - 1]);
    ck_assert_double_lt(own[n - 1], own[0]);
}
END_TEST

/* ---- averages ---- */

/* The model that is saved is the averaged one, and evaluates to what was said of it; the checkpoint has both. */
START_TEST(the_averaged_model_is_saved)
{
    train_so(run_path, false, NULL, ASC_OK, (pair[]){{"average", "0.9"}, {"steps", "15"}, {NULL, NULL}});
    asc_dataset *data = asc_dataset_open(ctx, "builtin:3000");
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    asc_split *split = asc_split_load(data, ASC_SPLIT_VALID, m->tokenizer);
    asc_eval_result result;
    ck_assert_int_eq(asc_evaluate(ctx, m->lm, split, &(asc_eval_options){.batch = 4}, &result), ASC_OK);
    ck_assert_double_eq_tol(result.loss, model_loss(run_path), 1e-8);
    char path[200];
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", run_path);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    asc_tensor saved = asc_params_find(asc_lm_params(m->lm), "tok_emb.weight");
    asc_tensor mean = asc_safetensors_read(ctx, file, "optim.average.tok_emb.weight", ASC_F32);
    asc_tensor own = asc_safetensors_read(ctx, file, "param.tok_emb.weight", ASC_F32);
    no_error();
    size_t bytes = (size_t)asc_numel(saved) * sizeof(float);
    ck_assert_int_eq(memcmp(asc_data(saved), asc_data(mean), bytes), 0);
    ck_assert_int_ne(memcmp(asc_data(saved), asc_data(own), bytes), 0);
    asc_safetensors_close(file);
    asc_split_free(ctx, split);
    asc_model_free(ctx, m);
    asc_dataset_free(data);
}
END_TEST

/* ---- warm-up, stable, decay ---- */

static const pair wsd[] = {{"schedule", "wsd"}, {"fall", "0.4"}, {"warmup", "2"}, {"steps", "30"}, {NULL, NULL}};

START_TEST(the_rate_stays_and_falls)
{
    double rate[40];
    train_so(run_path, false, NULL, ASC_OK,
             (pair[]){{"schedule", "wsd"}, {"fall", "8"}, {"log_every", "1"}, {"min_lr", "0"}, {NULL, NULL}});
    ck_assert_int_ge(read_metrics(run_path, "lr", rate, 40), 12);
    for (int i = 0; i < 12; i++) {
        double x = i < 4 ? 0 : (i - 4) / 8.;
        ck_assert_double_eq_tol(rate[i], 3e-3 * (1 - sqrt(x)), 1e-10);
    }
}
END_TEST

START_TEST(a_fifth_of_the_run_if_nothing_is_said)
{
    double rate[40];
    train_so(run_path, false, NULL, ASC_OK,
             (pair[]){{"schedule", "wsd"}, {"log_every", "1"}, {"steps", "20"}, {NULL, NULL}});
    ck_assert_int_ge(read_metrics(run_path, "lr", rate, 40), 20);
    ck_assert(rate[16] == rate[0] && rate[17] < rate[16] && rate[19] < rate[17]);
}
END_TEST

/* A run that is done, and then has more steps, becomes the run that had them from the start. */
START_TEST(a_run_is_extended_without_a_restart)
{
    static const char *const steps[] = {"12", "20", "29"};
    train_so(run_path, false, NULL, ASC_OK, wsd);
    pair shorter[5];
    memcpy(shorter, wsd, sizeof wsd);
    shorter[3][1] = steps[_i];
    train_so(other_path, false, NULL, ASC_OK, shorter);
    ck_assert(has_file(other_path, "checkpoint.stable.safetensors"));
    train_so(other_path, true, NULL, ASC_OK, wsd + 3);
    check_same("metrics.jsonl");
    check_same("model.safetensors");
}
END_TEST

/* The same where the rate fell from the end of its warm-up on. */
START_TEST(a_run_that_fell_at_once_is_extended)
{
    static const char *const steps[] = {"8", "12"};
    pair longer[] = {{"schedule", "wsd"}, {"fall", "10"}, {"warmup", "2"}, {"steps", "30"}, {NULL, NULL}}, shorter[5];
    train_so(run_path, false, NULL, ASC_OK, longer);
    memcpy(shorter, longer, sizeof longer);
    shorter[3][1] = steps[_i];
    train_so(other_path, false, NULL, ASC_OK, shorter);
    train_so(other_path, true, NULL, ASC_OK, longer + 3);
    check_same("metrics.jsonl");
    check_same("model.safetensors");
}
END_TEST

/* The same where it was stopped while its rate fell, and again while it goes on. */
START_TEST(an_extended_run_survives_stops)
{
    train_so(run_path, false, NULL, ASC_OK, wsd);
    pair shorter[5];
    memcpy(shorter, wsd, sizeof wsd);
    shorter[3][1] = "20";
    for (int at = 12; at < 32; at += 6) {
        brake first = {0, at}, second = {0, 5};
        train_so(other_path, false, &(asc_train_hooks){.progress = stop_at, .user = &first}, ASC_ERR_INTERRUPTED,
                 shorter);
        train_so(other_path, true, &(asc_train_hooks){.progress = stop_at, .user = &second}, ASC_ERR_INTERRUPTED,
                 wsd + 3);
        train_so(other_path, true, NULL, ASC_OK, NULL);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

/* A run that is made longer and is killed when its checkpoint is the one from before the fall already, but not yet its
 * best model. */
START_TEST(a_kill_while_it_goes_back_leaves_no_trace)
{
    train_so(run_path, false, NULL, ASC_OK, wsd);
    pair shorter[5];
    memcpy(shorter, wsd, sizeof wsd);
    shorter[3][1] = "20";
    train_so(other_path, false, NULL, ASC_OK, shorter);
    char from[200], to[200];
    snprintf(from, sizeof from, "%s/checkpoint.stable.safetensors", other_path);
    snprintf(to, sizeof to, "%s/checkpoint.safetensors", other_path);
    ck_assert_int_eq(rename(from, to), 0);
    ck_assert(has_file(other_path, "model.stable.safetensors"));
    brake b = {0, 1};
    train_so(other_path, true, &(asc_train_hooks){.progress = stop_at, .user = &b}, ASC_ERR_INTERRUPTED, wsd + 3);
    ck_assert(has_file(other_path, "model.kept.safetensors"));
    ck_assert(!has_file(other_path, "model.stable.safetensors"));
    train_so(other_path, true, NULL, ASC_OK, NULL);
    check_same("metrics.jsonl");
    check_same("model.safetensors");
}
END_TEST

/* Two models of one step in a run's folder, as after it went back: one of before stands in the place of its own. */
static void put_two(asc_folder *f, const asc_best *before, const asc_best *own)
{
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    ck_assert_int_eq(asc_folder_open(f, ctx, run_path, true), ASC_OK);
    ck_assert_int_eq(asc_model_write(ctx, f->model, m->lm, m->tokenizer, NULL, before), ASC_OK);
    ck_assert_int_eq(asc_model_write(ctx, f->kept, m->lm, m->tokenizer, NULL, own), ASC_OK);
    asc_model_free(ctx, m);
}

START_TEST(a_better_model_of_the_same_step_stays)
{
    train_so(run_path, false, NULL, ASC_OK, NULL);
    asc_best own = {5, 2, 1, 0}, before = {5, 1, 1, 0}, stranger;
    asc_folder f;
    put_two(&f, &before, &own);
    ck_assert_int_eq(asc_folder_recover(&f, &own, &stranger), ASC_OK);
    ck_assert(stranger.step == 5 && stranger.loss == 1);
    ck_assert(has_file(run_path, "model.kept.safetensors"));
    asc_folder_close(&f);
}
END_TEST

/* What a run may go back to is its own best. */
START_TEST(the_second_name_is_of_its_own_model)
{
    train_so(run_path, false, NULL, ASC_OK, NULL);
    asc_best own = {5, 2, 1, 0}, before = {7, 1, 1, 0};
    asc_folder f;
    put_two(&f, &before, &own);
    asc_folder_mark(&f);
    asc_safetensors *file = asc_safetensors_open(ctx, f.stable_model);
    ck_assert_str_eq(asc_safetensors_metadata(file, "step"), "5");
    asc_safetensors_close(file);
    asc_folder_close(&f);
}
END_TEST

/* Writes a byte in the middle of a run's file. */
static void damage(const char *path, const char *name)
{
    char full[200];
    snprintf(full, sizeof full, "%s/%s", path, name);
    FILE *f = fopen(full, "r+b");
    ck_assert_ptr_nonnull(f);
    fseek(f, 0, SEEK_END);
    long middle = ftell(f) / 2;
    fseek(f, middle, SEEK_SET);
    int byte = fgetc(f);
    fseek(f, middle, SEEK_SET);
    fputc(byte ^ 64, f);
    fclose(f);
}

/* What a run goes back to is looked at as the checkpoint is, by its own name, and the run stays as it was; without it
 * the run goes on from its end. */
START_TEST(what_a_run_goes_back_to_is_checked)
{
    pair shorter[5];
    memcpy(shorter, wsd, sizeof wsd);
    shorter[3][1] = "20";
    train_so(other_path, false, NULL, ASC_OK, shorter);
    damage(other_path, "checkpoint.stable.safetensors");
    char *before = read_file(other_path, "checkpoint.safetensors");
    asc_settings *s = asc_settings_new(ctx);
    asc_settings_set(s, "steps", "30");
    ck_assert_int_eq(asc_settings_resume(s, other_path), ASC_OK);
    ck_assert_int_eq(asc_train(ctx, s, other_path, true, NULL, NULL), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, "/checkpoint.stable.safetensors: ");
    asc_error_clear(ctx);
    asc_settings_free(s);
    char *after = read_file(other_path, "checkpoint.safetensors");
    ck_assert_int_eq(memcmp(before, after, 1 << 20), 0);
    free(before);
    free(after);
    char path[200];
    snprintf(path, sizeof path, "%s/checkpoint.stable.safetensors", other_path);
    ck_assert_int_eq(unlink(path), 0);
    asc_train_result r = train_so(other_path, true, NULL, ASC_OK, wsd + 3);
    ck_assert_int_eq(r.step, 30);
}
END_TEST

/* ---- what is refused ---- */

/* A fall by hand is for wsd; a preset's or a file's waits for it. */
START_TEST(a_fall_without_wsd_is_refused)
{
    asc_settings *s = make_settings(ctx);
    ck_assert_int_eq(asc_settings_set(s, "fall", "0.3"), ASC_OK);
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, NULL), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "fall is for schedule wsd, got schedule constant");
    asc_error_clear(ctx);
    ck_assert(!has_file(run_path, ""));
    ck_assert_int_eq(asc_settings_set(s, "schedule", "wsd"), ASC_OK);
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, NULL), ASC_OK);
    asc_settings_free(s);
    char config[200];
    snprintf(config, sizeof config, "%s/config.json", run_path);
    s = asc_settings_new(ctx);
    ck_assert_int_eq(asc_settings_load(s, config), ASC_OK);
    ck_assert_int_eq(asc_settings_set(s, "schedule", "cosine"), ASC_OK);
    ck_assert_msg(asc_train(ctx, s, other_path, false, NULL, NULL) == ASC_OK, "%s", asc_error_message(ctx));
    asc_settings_free(s);
}
END_TEST

static const struct {
    pair given[3];
    const char *part;
} idle[] = {
    {{{"schedule", "constant"}, {"min_lr", "0"}}, "min_lr is for schedule linear, cosine or wsd, got schedule const"},
    {{{"momentum", "0.9"}}, "momentum is for optimizer muon or sgd, got optimizer adamw"},
    {{{"optimizer", "sgd"}, {"beta2", "0.99"}}, "beta2 is for optimizer adamw or muon, got optimizer sgd"},
    {{{"sep_delay", "0.1"}}, "sep_delay is for models with ascender"},
    {{{"aux_delay", "0.1"}}, "aux_delay is for models with ascender"},
};

START_TEST(settings_that_nothing_reads_are_refused)
{
    asc_settings *s = asc_settings_new(ctx);
    ck_assert_int_eq(asc_settings_set(s, "data", "builtin:2000"), ASC_OK);
    for (int i = 0; i < 3 && idle[_i].given[i][0]; i++) {
        ck_assert_int_eq(asc_settings_set(s, idle[_i].given[i][0], idle[_i].given[i][1]), ASC_OK);
    }
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, NULL), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, idle[_i].part);
    asc_settings_free(s);
}
END_TEST

static const struct {
    const char *groups, *part;
} wrong[] = {
    {"tok_emb*", "param_groups: got 'tok_emb*', expected PATTERN:lr=R,decay=W,optimizer=NAME"},
    {"tok_emb*:", "param_groups: got 'tok_emb*', expected PATTERN:"},
    {"tok_emb*:lr", "param_groups: got 'lr', expected lr=R, decay=W or optimizer=NAME"},
    {"tok_emb*:lr=-1", "param_groups: got '-1', expected a number from 0 to 1000"},
    {"tok_emb*:decay=nan", "param_groups: got 'nan', expected a number from 0 to 1000"},
    {"tok_emb*:optimizer=lion", "param_groups: got 'lion', expected one of adamw, sgd, muon"},
    {"tok_emb*:lr=1;nothing:lr=1", "no parameter has a name like 'nothing'"},
};

START_TEST(groups_that_are_none)
{
    asc_settings *s = make_settings(ctx);
    ck_assert_int_eq(asc_settings_set(s, "param_groups", wrong[_i].groups), ASC_OK);
    asc_train_result r;
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, wrong[_i].part);
    ck_assert(!has_file(run_path, ""));
    asc_settings_free(s);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("optimizers");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_add_loop_test(t, a_resume_is_exact, 0, KINDS);
    tcase_add_loop_test(t, each_kind_trains_in_a_way_of_its_own, 0, KINDS);
    tcase_add_test(t, the_averaged_model_is_saved);
    tcase_add_test(t, the_rate_stays_and_falls);
    tcase_add_test(t, a_fifth_of_the_run_if_nothing_is_said);
    tcase_add_loop_test(t, a_run_is_extended_without_a_restart, 0, 3);
    tcase_add_loop_test(t, a_run_that_fell_at_once_is_extended, 0, 2);
    tcase_add_test(t, an_extended_run_survives_stops);
    tcase_add_test(t, a_kill_while_it_goes_back_leaves_no_trace);
    tcase_add_test(t, a_better_model_of_the_same_step_stays);
    tcase_add_test(t, the_second_name_is_of_its_own_model);
    tcase_add_test(t, what_a_run_goes_back_to_is_checked);
    tcase_add_test(t, a_fall_without_wsd_is_refused);
    tcase_add_loop_test(t, settings_that_nothing_reads_are_refused, 0, sizeof idle / sizeof *idle);
    tcase_add_loop_test(t, groups_that_are_none, 0, (int)(sizeof wrong / sizeof *wrong));
    return run_suite("optimizers", t);
}
