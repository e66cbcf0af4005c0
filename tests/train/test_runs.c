/* tests/train/test_runs.c: what a training takes, writes and leaves; its model in use; failing memory. */
#include "tests/train/runs.h"

/* The sum of the losses of the split's full blocks. */
typedef struct full_blocks {
    int64_t left;
    double sum;
} full_blocks;

static asc_status add_full_blocks(void *user, const int64_t *ids, const double *losses, int64_t n)
{
    (void)ids;
    full_blocks *f = user;
    for (int64_t i = 0; i < n && f->left > 0; i++, f->left--) {
        f->sum += losses[i];
    }
    return ASC_OK;
}

/* With a learning rate of 0 the losses of an epoch's steps are the initial model's on all full blocks, once each. */
START_TEST(an_epoch_takes_each_block_once)
{
    const char *accumulate = _i == 1 ? "1" : "2";
    const char *const pairs[][2] = {{"lr", "0"}, {"epochs", "1"}, {"steps", "0"}, {"log_every", "1"},
                                    {"eval_every", "0"}, {"batch", "7"}, {"accumulate", accumulate}};
    enum { MOST = 400 };
    double tokens[MOST], losses[MOST], sum = 0;
    train_with(run_path, pairs, 7);
    int n = read_metrics(run_path, "tokens", tokens, MOST);
    ck_assert_int_eq(read_metrics(run_path, "loss", losses, MOST), n);
    for (int i = 0; i < n; i++) {
        sum += losses[i] * (tokens[i] - (i > 0 ? tokens[i - 1] : 0));
    }
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    ck_assert_msg(m != NULL, "%s", asc_error_message(ctx));
    asc_dataset *data = asc_dataset_open(ctx, m->data);
    asc_split *split = asc_split_load(data, ASC_SPLIT_TRAIN, m->tokenizer);
    int64_t all = 8 * asc_block_count(split->n_tokens, 8, false);
    full_blocks f = {.left = all};
    asc_eval_result r;
    asc_evaluate(ctx, m->lm, split, &(asc_eval_options){.batch = 16, .tokens = add_full_blocks, .user = &f}, &r);
    ck_assert_int_eq((int64_t)tokens[n - 1], all);
    ck_assert_double_eq_tol(sum / (double)all, f.sum / (double)all, 2e-6);
    asc_split_free(ctx, split);
    asc_dataset_free(data);
    asc_model_free(ctx, m);
}
END_TEST

/* Two batches of 4 blocks, accumulated, take the steps of one of 8: to rounding, so in float64. */
START_TEST(accumulated_batches_are_one)
{
    const char *const one[][2] = {{"dtype", "f64"}, {"batch", "8"}};
    const char *const two[][2] = {{"dtype", "f64"}, {"batch", "4"}, {"accumulate", "2"}};
    double a[20], b[20];
    train_with(run_path, one, 2);
    train_with(other_path, two, 3);
    int n = read_metrics(run_path, "loss", a, 20);
    ck_assert_int_eq(read_metrics(other_path, "loss", b, 20), n);
    for (int i = 0; i < n; i++) {
        ck_assert_double_eq_tol(a[i], b[i], 1e-7); /* lines have nine digits */
    }
    ck_assert_double_ne(a[0], a[n - 1]);
}
END_TEST

START_TEST(lines_are_those_that_are_due)
{
    const double due[] = {2, 4, 5, 6, 8, 10, 12};
    double steps[20];
    asc_train_result r;
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    ck_assert_int_eq(read_metrics(run_path, "step", steps, 20), 7);
    ck_assert_mem_eq(steps, due, sizeof due);
    ck_assert_int_eq(read_metrics(run_path, "valid_loss", steps, 20), 3);
}
END_TEST

START_TEST(model_file_stands_alone)
{
    asc_train_result r;
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    char from[160], to[160];
    snprintf(from, sizeof from, "%s/model.safetensors", run_path);
    snprintf(to, sizeof to, "%s/moved.safetensors", folder);
    ck_assert_int_eq(rename(from, to), 0);
    asc_model *m = asc_model_open(ctx, to, NULL, NULL);
    ck_assert_msg(m != NULL, "%s", asc_error_message(ctx));
    ck_assert_ptr_null(m->run);
    ck_assert_int_eq(asc_tokenizer_size(m->tokenizer), asc_lm_vocab(m->lm));
    ck_assert_int_eq(asc_params_numel(asc_lm_params(m->lm)), r.parameters);
    asc_model_free(ctx, m);
    ck_assert_ptr_null(asc_model_open(ctx, run_path, NULL, NULL));
    expect_error_with(ASC_ERR_IO, "there is no model in it");
}
END_TEST

/* ---- generation ---- */

typedef struct tokens {
    int32_t id[64];
    int n, most;
} tokens;

static bool take_token(void *user, int32_t id)
{
    tokens *t = user;
    t->id[t->n++] = id;
    return t->n < t->most;
}

/* Beyond the block of 8 tokens the newest half stays: greedy tokens equal those of a full pass over what is held. */
START_TEST(generation_goes_on_beyond_the_block)
{
    asc_train_result r;
    brake never = {0, -1};
    lr = "1e-6"; /* a model near its initial values, where each token counts */
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    const int32_t prompt[3] = {5, 6, 7};
    tokens t = {.most = 40};
    asc_sampling greedy = {.top_p = 1, .seed = 1};
    ck_assert_int_eq(asc_generate(ctx, m, prompt, 3, 40, &greedy, take_token, &t), ASC_OK);
    ck_assert_int_eq(t.n, 40);
    int64_t held[8] = {5, 6, 7}, n = 3;
    asc_set_recording(ctx, false);
    for (int i = 0; i < 40; i++) {
        asc_scope_begin(ctx);
        int64_t V = asc_lm_vocab(m->lm);
        asc_tensor logits = asc_lm_logits(m->lm, asc_from(ctx, ASC_I64, held, 2, (int64_t[]){1, n}));
        const float *last = (const float *)asc_data(logits) + (n - 1) * V;
        float best = -INFINITY;
        for (int64_t v = 0; v < V; v++) {
            best = last[v] > best ? last[v] : best;
        }
        ck_assert_msg(last[t.id[i]] > best - 1e-4f, "token %d", i);
        asc_scope_end(ctx);
        if (n == 8) {
            memmove(held, held + 4, 4 * sizeof *held);
            n = 4;
        }
        held[n++] = t.id[i];
    }
    tokens few = {.most = 2};
    ck_assert_int_eq(asc_generate(ctx, m, NULL, 0, 10, &greedy, take_token, &few), ASC_OK);
    ck_assert_int_eq(few.n, 2);
    asc_model_free(ctx, m);
}
END_TEST

/* ---- memory ---- */

/* Allocation number 0, 1, 2, … fails: an error, nothing left behind. */
START_TEST(memory_fails)
{
    asc_status status = ASC_ERR_MEMORY;
    for (long n = 0; status != ASC_OK; n += 1 + n / 25) {
        ck_assert_int_lt(n, 5000);
        heap small = {.fail_at = n, .and_after = true};
        asc_ctx *c = context_on(&small, 1);
        if (c) {
            asc_settings *s = make_settings(c);
            asc_settings_set(s, "steps", "2");
            asc_train_result r;
            status = s ? asc_train(c, s, run_path, false, NULL, &r) : ASC_ERR_MEMORY;
            ck_assert_msg(status == ASC_OK || status == ASC_ERR_MEMORY, "%ld: %d, %s", n, status, asc_error_message(c));
            asc_settings_free(s);
            asc_ctx_free(c);
        }
        expect_empty(&small);
        remove_tree(run_path);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("runs");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_add_loop_test(t, an_epoch_takes_each_block_once, 1, 3);
    tcase_add_test(t, accumulated_batches_are_one);
    tcase_add_test(t, lines_are_those_that_are_due);
    tcase_add_test(t, model_file_stands_alone);
    tcase_add_test(t, generation_goes_on_beyond_the_block);
    tcase_add_test(t, memory_fails);
    return run_suite("train/runs", t);
}
