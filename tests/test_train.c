/* tests/test_train.c: settings, evaluation, sampling, and training as a library: interruptions, failures, memory. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ascgrad/safetensors.h>
#include <ascgrad/train.h>

static asc_ctx *ctx;
static char folder[64], run_path[96], other_path[96];

static void setup(void)
{
    ctx = asc_ctx_new(&(asc_options){.threads = 1});
    ck_assert_ptr_nonnull(ctx);
    /* each training waits for the disk many times: memory is faster */
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/ascgrad-test-XXXXXX" : "/tmp/ascgrad-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(run_path, sizeof run_path, "%s/run", folder);
    snprintf(other_path, sizeof other_path, "%s/other", folder);
}

static void remove_folder(const char *path)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", path);
    ck_assert_int_eq(system(command), 0);
}

static void teardown(void)
{
    asc_ctx_free(ctx);
    remove_folder(folder);
}

static void check_failed(asc_status status, const char *words)
{
    ck_assert_int_eq(asc_error(ctx), status);
    ck_assert_msg(strstr(asc_error_message(ctx), words), "%s", asc_error_message(ctx));
    asc_error_clear(ctx);
}

/* ---- settings ---- */

START_TEST(settings_are_checked)
{
    asc_settings *s = asc_settings_new(ctx);
    const char *const wrong[][3] = {
        {"layers", "many", "layers: got 'many', expected a whole number from 0 to 10000"},
        {"layers", "-1", "layers: got '-1'"},
        {"steps", "1.5", "steps: got '1.5', expected a whole number >= 0"},
        {"weight-decay", "x", "weight_decay: got 'x', expected a number from 0"},
        {"pos_emb", "maybe", "expected true or false"},
        {"schedule", "cosine ", "did you mean 'cosine'?"},
        {"dtype", "f16", "expected one of f32, f64"},
        {"weigth_decay", "1", "did you mean 'weight_decay'?"},
        {"d_modle", "1", "did you mean 'd_model'?"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(asc_settings_set(s, wrong[i][0], wrong[i][1]), ASC_ERR_ARG);
        check_failed(ASC_ERR_ARG, wrong[i][2]);
    }
    ck_assert_int_eq(asc_settings_preset(s, "wikitext-6l"), ASC_ERR_ARG);
    check_failed(ASC_ERR_ARG, "did you mean 'wikitext2-6l'?");
    ck_assert_int_eq(asc_settings_set(s, "threads", "3"), ASC_OK);
    ck_assert_int_eq(asc_settings_threads(s), 3);
    asc_settings_free(s);
}
END_TEST

START_TEST(settings_and_presets_are_complete)
{
    for (int i = 0; asc_setting_at(i); i++) {
        const asc_setting *t = asc_setting_at(i);
        ck_assert_ptr_nonnull(t->help);
        ck_assert_ptr_null(strchr(t->key, '-'));
        ck_assert(t->min <= t->max);
    }
    for (int i = 0; asc_preset_at(i); i++) {
        asc_settings *s = asc_settings_new(ctx);
        ck_assert_msg(asc_settings_preset(s, asc_preset_at(i)) == ASC_OK, "%s", asc_error_message(ctx));
        ck_assert_ptr_nonnull(asc_preset_summary(i));
        asc_settings_free(s);
    }
}
END_TEST

/* ---- sampling ---- */

static int64_t draw(const double *logits, int64_t n, asc_sampling s, uint64_t number)
{
    asc_tensor t = asc_from(ctx, ASC_F64, logits, 1, &n);
    int64_t id = asc_sample_token(ctx, t, &s, number);
    asc_release(t);
    return id;
}

/* Drawn often enough, each token comes as often as its probability says: chi-squared below its 0.9999 quantile. */
START_TEST(draws_follow_the_probabilities)
{
    enum { N = 4, DRAWS = 20000 };
    const double p[N] = {0.1, 0.4, 0.2, 0.3}, temperature = 2;
    double logits[N], seen[N] = {0}, chi = 0;
    for (int i = 0; i < N; i++) {
        logits[i] = temperature * log(p[i]) + 5;
    }
    for (uint64_t d = 0; d < DRAWS; d++) {
        seen[draw(logits, N, (asc_sampling){temperature, 0, 1, 7}, d)]++;
    }
    for (int i = 0; i < N; i++) {
        chi += (seen[i] - DRAWS * p[i]) * (seen[i] - DRAWS * p[i]) / (DRAWS * p[i]);
    }
    ck_assert_msg(chi < 21.1, "chi-squared is %g", chi);
}
END_TEST

START_TEST(draws_keep_to_the_most_probable)
{
    const double logits[] = {log(0.1), log(0.4), log(0.2), log(0.3)};
    bool three[4] = {false}, half[4] = {false};
    for (uint64_t d = 0; d < 200; d++) {
        three[draw(logits, 4, (asc_sampling){1, 3, 1, 1}, d)] = true;
        half[draw(logits, 4, (asc_sampling){1, 0, 0.6, 1}, d)] = true;
        ck_assert_int_eq(draw(logits, 4, (asc_sampling){0, 0, 1, 1}, d), 1);
    }
    ck_assert(!three[0] && three[1] && three[2] && three[3]);
    ck_assert(!half[0] && half[1] && !half[2] && half[3]);
    const double ties[] = {1, 2, 2, 2};
    ck_assert_int_eq(draw(ties, 4, (asc_sampling){0, 0, 1, 1}, 0), 1);
    ck_assert_int_eq(draw(ties, 4, (asc_sampling){1, 1, 1, 1}, 0), 1);
}
END_TEST

START_TEST(draws_refuse)
{
    const double logits[] = {0, NAN}, fine[] = {0, 1};
    ck_assert_int_eq(draw(logits, 2, (asc_sampling){1, 0, 1, 1}, 0), -1);
    check_failed(ASC_ERR_NONFINITE, "not finite");
    ck_assert_int_eq(draw(fine, 2, (asc_sampling){-1, 0, 1, 1}, 0), -1);
    check_failed(ASC_ERR_ARG, "temperature -1");
    ck_assert_int_eq(draw(fine, 2, (asc_sampling){1, 0, 0, 1}, 0), -1);
    check_failed(ASC_ERR_ARG, "top_p 0");
    ck_assert_int_eq(draw(fine, 0, (asc_sampling){1, 0, 1, 1}, 0), -1);
    check_failed(ASC_ERR_ARG, "expected (V)");
}
END_TEST

/* ---- evaluation ---- */

typedef struct tally {
    int64_t n;
    double sum;
    const asc_split *split;
} tally;

static asc_status add_tokens(void *user, const int64_t *ids, const double *losses, int64_t n)
{
    tally *t = user;
    for (int64_t i = 0; i < n; i++) {
        ck_assert_int_eq(ids[i], t->split->tokens[++t->n]); /* in the order of the text, all but the first */
        t->sum += losses[i];
    }
    return ASC_OK;
}

/* 21 tokens in blocks of 8: two full ones and one of 4, each token but the first predicted once. */
START_TEST(evaluation_predicts_each_token_once)
{
    int32_t tokens[21];
    for (int i = 0; i < 21; i++) {
        tokens[i] = i * 5 % 11;
    }
    asc_split split = {.tokens = tokens, .n_tokens = 21, .bytes = 40, .source_tokens = 0};
    const char *config = "{\"d_model\": 8, \"layers\": 1, \"heads\": 2, \"vocab\": 11, \"block\": 8}";
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    for (int64_t batch = 1; batch <= 3; batch++) {
        tally t = {.split = &split};
        asc_eval_result r;
        asc_eval_options o = {.batch = batch, .tokens = add_tokens, .user = &t};
        ck_assert_int_eq(asc_evaluate(ctx, lm, &split, &o, &r), ASC_OK);
        ck_assert_int_eq(r.tokens, 20);
        ck_assert_int_eq(t.n, 20);
        ck_assert_double_eq_tol(r.loss, t.sum / 20, 1e-14);
        ck_assert_double_eq_tol(r.ppl, exp(r.loss), 1e-12);
        ck_assert_double_eq_tol(r.bits_per_byte, t.sum / log(2) / 40, 1e-14);
        ck_assert(isnan(r.source_ppl));
    }
    asc_lm_free(lm);
}
END_TEST

/* ---- training ---- */

static const char *lr = "3e-3"; /* of the trainings */

static asc_settings *make_settings(asc_ctx *c)
{
    const char *const pairs[][2] = {{"data", "builtin:3000"}, {"layers", "1"}, {"dim", "8"}, {"heads", "2"},
                                    {"block", "8"}, {"batch", "4"}, {"steps", "12"}, {"eval_every", "5"},
                                    {"log_every", "2"}, {"checkpoint_every", "4"}, {"lr", lr},
                                    {"schedule", "constant"}, {"warmup", "0"}};
    asc_settings *s = asc_settings_new(c);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        asc_settings_set(s, pairs[i][0], pairs[i][1]);
    }
    return s;
}

/* Stops at call number `at` of the hook. */
typedef struct brake {
    int calls, at;
} brake;

static bool stop_at(void *user, const asc_train_progress *p)
{
    brake *b = user;
    ck_assert(p->step <= p->steps);
    return b->calls++ != b->at;
}

static asc_status train(const char *path, bool resume, brake *b, asc_train_result *r)
{
    asc_settings *s = resume ? asc_settings_new(ctx) : make_settings(ctx);
    if (resume) {
        ck_assert_msg(asc_settings_resume(s, path) == ASC_OK, "%s", asc_error_message(ctx));
    }
    asc_status status = asc_train(ctx, s, path, resume, &(asc_train_hooks){stop_at, NULL, b}, r);
    asc_settings_free(s);
    return status;
}

/* The file without the times that differ; to be freed. */
static char *read_file(const char *path, const char *name)
{
    char full[200];
    snprintf(full, sizeof full, "%s/%s", path, name);
    FILE *f = fopen(full, "rb");
    ck_assert_msg(f != NULL, "%s", full);
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f), kept = 0;
    fclose(f);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(text + i, "\"tokens_per_s\"", 14) == 0) {
            i += strcspn(text + i, ",}") + 1;
            i += strcspn(text + i, ",}");
        }
        text[kept++] = text[i];
    }
    memset(text + kept, 0, n - kept);
    return text;
}

static void check_same(const char *name)
{
    char *a = read_file(run_path, name), *b = read_file(other_path, name);
    ck_assert_msg(memcmp(a, b, 1 << 20) == 0, "%s differs", name);
    free(a);
    free(b);
}

static bool has_file(const char *path, const char *name)
{
    char full[200];
    snprintf(full, sizeof full, "%s/%s", path, name);
    return access(full, F_OK) == 0;
}

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
    ck_assert(r.end == ASC_END_STEPS && isfinite(r.best_loss));
    int calls = never.calls;
    for (int at = 0; at < calls; at++) {
        brake b = {0, at}, again = {0, -1};
        asc_status status = train(other_path, false, &b, &r);
        ck_assert(status == ASC_ERR_INTERRUPTED || (status == ASC_OK && at == calls - 1));
        asc_error_clear(ctx);
        ck_assert_int_eq(r.step == 0, at == 0); /* the first call comes before the first step, all the same saved */
        ck_assert(has_file(other_path, "checkpoint.safetensors"));
        ck_assert_msg(train(other_path, true, &again, &r) == ASC_OK, "%s", asc_error_message(ctx));
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_folder(other_path);
    }
}
END_TEST

/* The values of a key in a run's metrics; how many. */
static int read_metrics(const char *path, const char *key, double *values, int most)
{
    char word[40], *text = read_file(path, "metrics.jsonl");
    snprintf(word, sizeof word, "\"%s\": ", key);
    int n = 0;
    for (const char *at = text; n < most && (at = strstr(at, word)); n++) {
        at += strlen(word);
        values[n] = strtod(at, NULL);
    }
    free(text);
    return n;
}

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

/* Trains with more settings, dropout 0. */
static void train_with(const char *path, const char *const (*pairs)[2], int n)
{
    asc_settings *s = make_settings(ctx);
    asc_settings_set(s, "dropout", "0");
    for (int i = 0; i < n; i++) {
        asc_settings_set(s, pairs[i][0], pairs[i][1]);
    }
    asc_status status = asc_train(ctx, s, path, false, NULL, NULL);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    asc_settings_free(s);
}

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
    asc_split *split = asc_split_load(data, ASC_TRAIN, m->tokenizer);
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

/* Lets the time run out at a step. */
static bool dawdle_at(void *user, const asc_train_progress *p)
{
    const int64_t *step = user;
    if (p->phase == ASC_TRAIN_STEP && p->step == *step) {
        usleep(80000);
    }
    return true;
}

static void train_until(const char *path, bool resume, int64_t step)
{
    asc_settings *s = resume ? asc_settings_new(ctx) : make_settings(ctx);
    asc_settings_set(s, "minutes", "0.001");
    if (resume) {
        ck_assert_int_eq(asc_settings_resume(s, path), ASC_OK);
    }
    asc_train_result r;
    asc_status status = asc_train(ctx, s, path, resume, &(asc_train_hooks){dawdle_at, NULL, &step}, &r);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert(r.end == ASC_END_MINUTES && r.step == step);
    asc_settings_free(s);
}

/* The validation loss that the model on disk was written with. */
static double model_loss(const char *path)
{
    char full[200];
    snprintf(full, sizeof full, "%s/model.safetensors", path);
    asc_safetensors *file = asc_safetensors_open(ctx, full);
    ck_assert_msg(file != NULL, "%s", asc_error_message(ctx));
    double loss = strtod(asc_safetensors_metadata(file, "valid_loss"), NULL);
    asc_safetensors_close(file);
    return loss;
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
        remove_folder(other_path);
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
    check_failed(ASC_ERR_IO, "there is no model in it");
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
    asc_sampling greedy = {0, 0, 1, 1};
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

static long left, held;

static void *limited_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    void *memory = NULL;
    if (left-- <= 0 || posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, bytes)) {
        return NULL;
    }
    held++;
    return memory;
}

static void limited_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    held--;
    free(memory);
}

/* Allocation number 0, 1, 2, … fails: an error, nothing left behind. */
START_TEST(memory_fails)
{
    asc_status status = ASC_ERR_MEMORY;
    for (long n = 0; status != ASC_OK; n += 1 + n / 25) {
        ck_assert_int_lt(n, 5000);
        left = n;
        asc_ctx *c = asc_ctx_new(&(asc_options){.threads = 1, .allocator = {limited_alloc, limited_free, NULL}});
        if (c) {
            asc_settings *s = make_settings(c);
            asc_settings_set(s, "steps", "2");
            asc_train_result r;
            status = s ? asc_train(c, s, run_path, false, NULL, &r) : ASC_ERR_MEMORY;
            ck_assert_msg(status == ASC_OK || status == ASC_ERR_MEMORY, "%ld: %d, %s", n, status, asc_error_message(c));
            asc_settings_free(s);
            asc_ctx_free(c);
        }
        ck_assert_int_eq(held, 0);
        remove_folder(run_path);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train");
    TCase *t = tcase_create("train");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, settings_are_checked);
    tcase_add_test(t, settings_and_presets_are_complete);
    tcase_add_test(t, draws_follow_the_probabilities);
    tcase_add_test(t, draws_keep_to_the_most_probable);
    tcase_add_test(t, draws_refuse);
    tcase_add_test(t, evaluation_predicts_each_token_once);
    tcase_add_loop_test(t, interruptions_leave_no_trace, 0, 2);
    tcase_add_loop_test(t, time_limits_lose_no_model, 0, 2);
    tcase_add_test(t, a_finished_run_keeps_its_best);
    tcase_add_loop_test(t, an_epoch_takes_each_block_once, 1, 3);
    tcase_add_test(t, accumulated_batches_are_one);
    tcase_add_test(t, lines_are_those_that_are_due);
    tcase_add_test(t, killed_writers_are_finished_or_undone);
    tcase_add_test(t, model_file_stands_alone);
    tcase_add_test(t, generation_goes_on_beyond_the_block);
    tcase_add_test(t, memory_fails);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
