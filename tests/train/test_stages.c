/* tests/train/test_stages.c: batch and block that grow over a run: what each step takes, resumes, runs made longer. */
#include <math.h>

#include <jansson.h>

#include <ascgrad/compare.h>
#include <ascgrad/runs.h>

#include "tests/train/runs.h"
#include "train/stages.h"

/* ---- the arithmetic ---- */

static const struct {
    int64_t from, sequences, block, blocks;
} wanted[] = {{0, 2, 4, 20}, {3, 3, 4, 20}, {12, 3, 8, 10}, {13, 4, 8, 10}, {20, 30, 8, 10}};
enum { WANTED = sizeof wanted / sizeof *wanted };

static asc_stages make_stages(bool carry)
{
    asc_stages s = {.carry = carry};
    for (int i = 0; i < WANTED; i++) {
        int64_t n = wanted[i].sequences, blocks = wanted[i].blocks, steps = carry ? blocks / n : (blocks + n - 1) / n;
        asc_stages_add(&s, (asc_stage){.from = wanted[i].from, .sequences = n, .block = wanted[i].block, .pass = n,
                                       .blocks = carry && steps > 0 ? steps * n : blocks, .steps = steps ? steps : 1});
    }
    return s;
}

/* Step by step every epoch is read from its beginning, in order and without a gap, and to its end unless the block
 * changes. */
START_TEST(steps_follow_one_another)
{
    asc_stages s = make_stages(false);
    int64_t epoch = 0, first = 0;
    double tokens = 0;
    for (int64_t step = 0; step < 40; step++) {
        asc_stage_place p = asc_stages_at(&s, step);
        if (first == p.stage->blocks || (first > 0 && step == 12)) {
            epoch++;
            first = 0;
        }
        ck_assert_msg(p.epoch == epoch && p.first == first, "step %d", (int)step);
        int64_t rest = p.stage->blocks - first;
        ck_assert_int_eq(p.n, p.stage->sequences < rest ? p.stage->sequences : rest);
        ck_assert_double_eq(asc_stages_tokens(&s, step), tokens);
        ck_assert(asc_stages_epochs(&s, step) >= (double)epoch && asc_stages_epochs(&s, step) < (double)epoch + 1);
        ck_assert(step == 0 || asc_stages_epochs(&s, step) > asc_stages_epochs(&s, step - 1));
        first += p.n;
        tokens += (double)(p.n * p.stage->block);
    }
}
END_TEST

/* The first step at which so many epochs are done or left. */
START_TEST(epochs_have_their_steps)
{
    for (int carry = 0; carry < 2; carry++) {
        asc_stages s = make_stages(carry);
        for (int64_t epochs = 1; epochs < 12; epochs++) {
            int64_t step = asc_stages_steps(&s, epochs);
            ck_assert_msg(asc_stages_at(&s, step).epoch >= epochs && asc_stages_at(&s, step - 1).epoch < epochs,
                          "%d epochs: step %d", (int)epochs, (int)step);
        }
        ck_assert_int_eq(asc_stages_steps(&s, INT64_MAX), INT64_MAX);
    }
}
END_TEST

/* ---- runs ---- */

/* The tokens of each of the first 12 steps. */
static void expect_tokens(const char *path, const int64_t *each)
{
    double tokens[12], sum = 0;
    ck_assert_int_eq(read_metrics(path, "tokens", tokens, 12), 12);
    for (int i = 0; i < 12; i++) {
        sum += (double)each[i];
        ck_assert_msg(tokens[i] == sum, "step %d: %g tokens, expected %g", i + 1, tokens[i], sum);
    }
}

static json_t *plan_of(const char *path)
{
    char *text = read_file(path, "config.json");
    json_t *config = json_loads(text, 0, NULL), *plan = json_incref(json_object_get(config, "plan"));
    ck_assert_ptr_nonnull(plan);
    json_decref(config);
    free(text);
    return plan;
}

START_TEST(tokens_are_those_of_the_schedules)
{
    train_so(run_path, false, NULL, ASC_OK,
             (pair[]){{"batch_schedule", "0:2,25%:4,6:16,9:3"}, {"block_schedule", "6:2,75%:8"}, {"log_every", "1"},
                      {NULL, NULL}});
    expect_tokens(run_path, (int64_t[]){4, 4, 4, 8, 8, 8, 32, 32, 32, 24, 24, 24});
    json_t *plan = plan_of(run_path);
    ck_assert_str_eq(json_string_value(json_object_get(plan, "batch_schedule")), "0:2,3:4,6:16,9:3");
    ck_assert_str_eq(json_string_value(json_object_get(plan, "block_schedule")), "6:2,9:8");
    json_decref(plan);
}
END_TEST

/* Epochs end where the schedules have them end, and the model is evaluated there. */
START_TEST(evaluations_are_at_ends_of_epochs)
{
    static const pair schedules[][6] = {
        {{"batch_schedule", "0:2"}, {"eval_every", "0"}, {"log_every", "1"}, {"steps", "0"}, {"epochs", "2"},
         {NULL, NULL}},
        {{"batch_schedule", "0:2,5:4"}, {"eval_every", "0"}, {"log_every", "1"}, {"steps", "0"}, {"epochs", "2"},
         {NULL, NULL}},
        {{"block_schedule", "0:3,5:8"}, {"eval_every", "0"}, {"log_every", "1"}, {"steps", "0"}, {"epochs", "2"},
         {NULL, NULL}},
    };
    train_so(run_path, false, NULL, ASC_OK, schedules[_i]);
    asc_run *run = asc_run_read(ctx, run_path);
    ck_assert_ptr_nonnull(run);
    int seen = 0;
    double before = 0;
    for (size_t i = 0; i < asc_run_rows(run); i++) {
        double epoch = asc_run_value(run, i, "epoch");
        bool ends = floor(epoch + 1e-9) > floor(before + 1e-9);
        bool last = i == asc_run_rows(run) - 1;
        ck_assert_msg(!isnan(asc_run_value(run, i, "valid_loss")) == (ends || last), "epoch %g", epoch);
        seen += ends;
        before = epoch;
    }
    ck_assert_int_gt(seen, 0);
    asc_run_free(run);
}
END_TEST

/* The schedule says what the settings say anyway: the same run. */
START_TEST(level_schedules_change_nothing)
{
    train_so(run_path, false, NULL, ASC_OK, (pair[]){{"accumulate", "2"}, {NULL, NULL}});
    train_so(other_path, false, NULL, ASC_OK,
             (pair[]){{"accumulate", "2"}, {"batch_schedule", "0:8,50%:8"}, {"block_schedule", "3:8"}, {NULL, NULL}});
    check_same("metrics.jsonl");
    check_same("model.safetensors");
}
END_TEST

static const pair growing[][9] = {
    {{"batch_schedule", "0:1,4:3,7:4"}, {NULL, NULL}},
    {{"block_schedule", "0:3,5:8"}, {"schedule", "wsd"}, {"fall", "4"}, {"average", "0.9"}, {NULL, NULL}},
    {{"batch_schedule", "0:21,5:8"}, {"block_schedule", "0:3,6:8"}, {"accumulate", "2"}, {"optimizer", "muon"},
     {NULL, NULL}},
    {{"batch_schedule", "0:10,3:5,7:8"}, {"block_schedule", "0:4,7:8"}, {"accumulate", "2"}, {"carry", "6"},
     {"pos_emb", "false"}, {"positions", "rotary"}, {"checkpoint_every", "1"}, {NULL, NULL}},
    {{"batch_schedule", "0:1,50%:4"}, {"data", "task:majority:length=5,train=50,valid=8,test=8"}, {"block", "9"},
     {NULL, NULL}},
};

START_TEST(resumes_are_exact)
{
    train_so(run_path, false, NULL, ASC_OK, growing[_i]);
    for (int at = 1; at < 17; at += 3) {
        brake b = {0, at};
        train_so(other_path, false, &(asc_train_hooks){.progress = stop_at, .user = &b}, ASC_ERR_INTERRUPTED,
                 growing[_i]);
        train_so(other_path, true, NULL, ASC_OK, NULL);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

/* What a run makes of epochs: their steps, as fewer sequences take more. */
START_TEST(a_small_batch_has_more_steps_an_epoch)
{
    const pair given[] = {{"epochs", "1"}, {"steps", "0"}, {"batch_schedule", "0:1,40:4"}, {NULL, NULL}};
    const pair level[] = {{"epochs", "1"}, {"steps", "0"}, {NULL, NULL}};
    asc_train_result usual = train_so(run_path, false, NULL, ASC_OK, level);
    asc_train_result small = train_so(other_path, false, NULL, ASC_OK, given);
    ck_assert_int_eq(small.tokens, usual.tokens);
    ck_assert_int_eq(small.steps, 40 + (usual.tokens / 8 - 40 + 3) / 4);
}
END_TEST

/* A run that is made longer keeps the steps at which its batch and block grew; given in steps it becomes the run that
 * was so long from the start. */
START_TEST(a_longer_run_grows_where_it_grew)
{
    static const pair shares[] = {{"batch_schedule", "0%:1,50%:4"}, {"block_schedule", "0%:4,75%:8"},
                                  {"schedule", "wsd"}, {"fall", "3"}, {"steps", "12"}, {NULL, NULL}};
    static const pair steps[] = {{"batch_schedule", "0:1,6:4"}, {"block_schedule", "0:4,9:8"},
                                 {"schedule", "wsd"}, {"fall", "3"}, {"steps", "20"}, {NULL, NULL}};
    train_so(run_path, false, NULL, ASC_OK, steps);
    train_so(other_path, false, NULL, ASC_OK, shares);
    train_so(other_path, true, NULL, ASC_OK, steps + 4);
    check_same("metrics.jsonl");
    check_same("model.safetensors");
}
END_TEST

/* Positions are learned up to the largest block, and evaluations take that, whatever the training does. */
START_TEST(evaluations_take_the_largest_block)
{
    train_so(run_path, false, NULL, ASC_OK,
             (pair[]){{"block_schedule", "0:2,100:8"}, {"lr", "0"}, {"eval_every", "4"}, {NULL, NULL}});
    train_so(other_path, false, NULL, ASC_OK, (pair[]){{"lr", "0"}, {"eval_every", "4"}, {NULL, NULL}});
    double got[9], expected[9];
    int n = read_metrics(run_path, "valid_loss", got, 9);
    ck_assert_int_eq(n, read_metrics(other_path, "valid_loss", expected, 9));
    for (int i = 0; i < n; i++) {
        ck_assert_double_eq(got[i], expected[i]);
    }
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    ck_assert_int_eq(asc_lm_block(m->lm), 8);
    ck_assert_int_eq(asc_size(asc_params_find(asc_lm_params(m->lm), "pos_emb.weight"), 0), 8);
    asc_model_free(ctx, m);
}
END_TEST

/* What a comparison knows of the order in which a run saw its blocks. */
static uint32_t order_of(const char *path)
{
    asc_dataset *data = asc_dataset_open(ctx, "builtin:3000");
    asc_model *m = asc_model_open(ctx, path, NULL, NULL);
    asc_split *split = asc_split_load(data, ASC_SPLIT_VALID, m->tokenizer);
    asc_scores *scores = asc_score(ctx, m, split, &(asc_eval_options){.batch = 4});
    ck_assert_msg(scores != NULL, "%s", asc_error_message(ctx));
    uint32_t order = scores->train_checksum;
    asc_scores_free(ctx, scores);
    asc_split_free(ctx, split);
    asc_model_free(ctx, m);
    asc_dataset_free(data);
    return order;
}

/* Seeds are paired where the blocks came in the same order: not where one of two runs cut them otherwise. */
START_TEST(other_blocks_are_another_order)
{
    train_so(run_path, false, NULL, ASC_OK, NULL);
    train_so(other_path, false, NULL, ASC_OK, (pair[]){{"batch_schedule", "0:2,4:4"}, {NULL, NULL}});
    ck_assert_uint_eq(order_of(run_path), order_of(other_path));
    remove_tree(other_path);
    train_so(other_path, false, NULL, ASC_OK, (pair[]){{"block_schedule", "0:2,4:8"}, {NULL, NULL}});
    ck_assert_uint_ne(order_of(run_path), order_of(other_path));
}
END_TEST

static const struct {
    pair given[4];
    const char *message;
} wrong[] = {
    {{{"batch_schedule", "4"}}, "batch_schedule: got '4', expected AT:VALUE"},
    {{{"batch_schedule", "0x1:1"}}, "batch_schedule: got '0x1:1', expected AT:VALUE"},
    {{{"batch_schedule", "0:1,1k:16"}},
     "batch_schedule: 16 sequences of 8 tokens from step 1000 on, expected no more tokens"},
    {{{"param_groups", ";"}}, "param_groups: got ';', expected PATTERN:"},
    {{{"batch_schedule", "0:0"}}, "batch_schedule: got 0, expected whole numbers from 1 to 32"},
    {{{"batch_schedule", "0:2,3:2.5"}}, "batch_schedule: got 2.5, expected whole numbers from 1 to 32"},
    {{{"batch_schedule", "0:2,5:5"}},
     "batch_schedule: 5 sequences of 8 tokens from step 5 on, expected no more tokens "
     "than batch x accumulate x block, 4 x 1 x 8"},
    {{{"batch_schedule", "0:8"}, {"block_schedule", "0:4,9:8"}}, "batch_schedule: 8 sequences of 8 tokens from step 9"},
    {{{"batch_schedule", "5:1,5:2"}}, "expected a point later than the one before"},
    {{{"batch_schedule", "0:1,50%:2"}, {"epochs", "2"}}, "batch_schedule: got '0:1,50%:2', expected steps"},
    {{{"block_schedule", "0:2,5:16"}}, "block_schedule: got 16, expected whole numbers from 1 to 8"},
    {{{"block_schedule", "0:2,5:4"}}, "block_schedule: its largest is 4, expected block, 8, among them"},
    {{{"block_schedule", "0:2,5:20"}, {"block", "20"}, {"data", "task:majority:length=5,train=50,valid=8,test=8"}},
     "block_schedule: each block of task:majority"},
    {{{"group_by_length", "true"}}, "group_by_length: builtin:"},
};

START_TEST(wrong_schedules_are_refused)
{
    asc_settings *s = make_settings(ctx);
    for (const pair *given = wrong[_i].given; (*given)[0]; given++) {
        ck_assert_msg(asc_settings_set(s, (*given)[0], (*given)[1]) == ASC_OK, "%s", asc_error_message(ctx));
    }
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, NULL), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, wrong[_i].message);
    ck_assert(!has_file(run_path, ""));
    asc_settings_free(s);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("stages");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, steps_follow_one_another);
    tcase_add_test(t, epochs_have_their_steps);
    tcase_add_test(t, tokens_are_those_of_the_schedules);
    tcase_add_loop_test(t, evaluations_are_at_ends_of_epochs, 0, 3);
    tcase_add_test(t, level_schedules_change_nothing);
    tcase_add_loop_test(t, resumes_are_exact, 0, (int)(sizeof growing / sizeof *growing));
    tcase_add_test(t, a_small_batch_has_more_steps_an_epoch);
    tcase_add_test(t, a_longer_run_grows_where_it_grew);
    tcase_add_test(t, evaluations_take_the_largest_block);
    tcase_add_test(t, other_blocks_are_another_order);
    tcase_add_loop_test(t, wrong_schedules_are_refused, 0, (int)(sizeof wrong / sizeof *wrong));
    return run_suite("train/stages", t);
}
