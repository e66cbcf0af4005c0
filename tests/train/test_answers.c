/* tests/train/test_answers.c: evaluation counts answers alone, and whole sequences; classes and what is taken for
 * which; blocks of another length; a training on sequences goes on where it was interrupted. */
#include <ascgrad/ops.h>

#include "tests/train/runs.h"

typedef struct opened {
    asc_dataset *data;
    asc_tokenizer *words;
    asc_split *split;
    asc_lm *lm;
} opened;

static opened open_all(const char *spec, const char *format)
{
    char config[300];
    opened o = {.data = asc_dataset_open(ctx, spec), .words = asc_tokenizer_new(ctx, "word")};
    asc_dataset_collect(o.data, o.words);
    o.split = asc_split_load(o.data, ASC_SPLIT_VALID, o.words);
    snprintf(config, sizeof config, format, (int)asc_tokenizer_size(o.words));
    o.lm = asc_lm_new(ctx, config, ASC_F64, 3);
    no_error();
    return o;
}

static void close_all(opened *o)
{
    asc_lm_free(o->lm);
    asc_split_free(ctx, o->split);
    asc_tokenizer_free(o->words);
    asc_dataset_free(o->data);
}

#define MODEL "\"mix\": \"transformer\", \"heads\": 2, \"d_model\": 8, \"layers\": 1, \"block\": 16, \"vocab\": %d}"

static int64_t top_of(const double *row, int64_t n)
{
    int64_t top = 0;
    for (int64_t i = 1; i < n; i++) {
        top = row[i] > row[top] ? i : top;
    }
    return top;
}

/* Of a model that has learned nothing, by its logits. */
START_TEST(accuracy_is_of_answers_alone)
{
    opened o = open_all("task:copy:length=8,vocab=2,valid=40", "{" MODEL);
    int64_t V = asc_tokenizer_size(o.words), right = 0, exact = 0, answers = 0;
    double nats = 0;
    asc_set_recording(ctx, false);
    for (int64_t s = 0; s < o.split->n_sequences; s++) {
        int64_t first = o.split->starts[s], n = o.split->starts[s + 1] - first, x[20], ours = 0, all = 0;
        for (int64_t t = 0; t < n; t++) {
            x[t] = o.split->tokens[first + t];
        }
        const double *row = asc_data(asc_contiguous(ctx, asc_lm_logits(o.lm, asc_from(ctx, ASC_I64, x,
                                                                                      ASC_SHAPE(1, n - 1)))));
        for (int64_t t = 1; t < n; t++, row += V) {
            double sum = 0;
            for (int64_t v = 0; v < V; v++) {
                sum += exp(row[v]);
            }
            all += !o.split->given[first + t];
            ours += !o.split->given[first + t] && top_of(row, V) == x[t];
            nats += o.split->given[first + t] ? 0 : log(sum) - row[x[t]];
        }
        right += ours;
        answers += all;
        exact += ours == all;
    }
    for (int64_t batch = 1; batch < 100; batch += 13) {
        asc_eval_result r;
        ck_assert_int_eq(asc_evaluate(ctx, o.lm, o.split, &(asc_eval_options){.batch = batch}, &r), ASC_OK);
        ck_assert_int_eq(r.tokens, answers);
        ck_assert_int_eq(r.tokens, 40 * 4);
        ck_assert_int_eq(r.sequences, 40);
        ck_assert_double_eq_tol(r.accuracy, (double)right / (double)answers, 1e-12);
        ck_assert_double_eq_tol(r.exact, (double)exact / 40, 1e-12);
        ck_assert_double_eq_tol(r.loss, nats / (double)answers, 1e-9);
    }
    close_all(&o);
}
END_TEST

START_TEST(classes_are_counted)
{
    opened o = open_all("task:majority:length=9,classes=3,valid=50",
                        "{\"head\": \"classifier\", \"classes\": 3, " MODEL);
    int64_t confusion[9] = {0}, expected[9] = {0}, x[9];
    asc_set_recording(ctx, false);
    for (int64_t s = 0; s < 50; s++) {
        for (int64_t t = 0; t < 9; t++) {
            x[t] = o.split->tokens[o.split->starts[s] + t];
        }
        asc_tensor logits = asc_lm_classify(o.lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, 9)), asc_null());
        expected[o.split->labels[s] * 3 + top_of(asc_data(logits), 3)]++;
    }
    asc_eval_result r;
    asc_eval_options options = {.batch = 7, .confusion = confusion};
    ck_assert_int_eq(asc_evaluate(ctx, o.lm, o.split, &options, &r), ASC_OK);
    ck_assert_mem_eq(confusion, expected, sizeof expected);
    ck_assert_double_eq_tol(r.accuracy, (double)(expected[0] + expected[4] + expected[8]) / 50, 1e-12);
    ck_assert(isnan(r.exact) && r.tokens == 50);
    close_all(&o);
    o = open_all("task:majority:length=9,valid=5", "{\"head\": \"classifier\", \"classes\": 3, " MODEL);
    ck_assert_int_eq(asc_evaluate(ctx, o.lm, o.split, &options, &r), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "evaluate: the model tells 3 classes, and the data has 2");
    close_all(&o);
}
END_TEST

/* A stream in longer blocks than the model's own, where it has no learned positions; its accuracy is of all tokens. */
START_TEST(a_stream_is_cut_as_asked)
{
    opened o = open_all("builtin:1500", "{\"pos_emb\": false, " MODEL);
    asc_eval_result r[2];
    for (int i = 0; i < 2; i++) {
        asc_eval_options options = {.batch = 3, .length = i ? 40 : 0};
        ck_assert_int_eq(asc_evaluate(ctx, o.lm, o.split, &options, &r[i]), ASC_OK);
        ck_assert_int_eq(r[i].tokens, o.split->n_tokens - 1);
        ck_assert(r[i].accuracy >= 0 && r[i].ece >= 0 && isnan(r[i].exact) && r[i].sequences == 0);
    }
    ck_assert(r[0].loss != r[1].loss);
    close_all(&o);
    o = open_all("builtin:1500", "{" MODEL);
    ck_assert_int_eq(asc_evaluate(ctx, o.lm, o.split, &(asc_eval_options){.batch = 1, .length = 17}, r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "length is 17, but the model has learned positions (pos_emb) for 16 tokens");
    ck_assert_int_eq(asc_evaluate(ctx, o.lm, o.split, &(asc_eval_options){.batch = 1, .length = -1}, r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "length: got -1, expected 0 (the model's 16) to");
    close_all(&o);
}
END_TEST

/* Sequences of many lengths: tokens are counted by their own, also where a run goes on in the middle of an epoch. */
static bool stop_after(void *user, const asc_train_progress *p)
{
    return p->step < *(const int64_t *)user;
}

static void train_on(const char *run, bool resume, int64_t until)
{
    static const char *const given[][2] = {
        {"data", "task:listops:length=30,min=1,train=70,valid=10,test=10"}, {"head", "classifier"}, {"mask", "full"},
        {"layers", "1"}, {"dim", "8"}, {"heads", "2"}, {"batch", "8"}, {"steps", "22"}, {"log_every", "1"},
        {"checkpoint_every", "4"}, {"eval_every", "5"},
    };
    asc_settings *s = asc_settings_new(ctx);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        asc_settings_set(s, given[i][0], given[i][1]);
    }
    if (resume) {
        asc_settings_resume(s, run);
    }
    asc_train(ctx, s, run, resume, &(asc_train_hooks){.progress = stop_after, .user = &until}, NULL);
    asc_settings_free(s);
    ck_assert_msg(asc_error(ctx) == ASC_OK || asc_error(ctx) == ASC_ERR_INTERRUPTED, "%s", asc_error_message(ctx));
    asc_error_clear(ctx);
}

START_TEST(a_training_on_sequences_goes_on)
{
    train_on(run_path, false, INT64_MAX);
    train_on(other_path, false, 6);
    train_on(other_path, true, 13);
    train_on(other_path, true, INT64_MAX);
    check_same("metrics.jsonl");
    check_same("model.safetensors");
    double tokens[30], accuracy[30];
    int n = read_metrics(run_path, "tokens", tokens, 30);
    ck_assert_int_ge(n, 22);
    bool varies = false;
    for (int i = 2; i < n; i++) {
        varies = varies || tokens[i] - tokens[i - 1] != tokens[i - 1] - tokens[i - 2];
    }
    ck_assert(varies);
    ck_assert_int_ge(read_metrics(run_path, "valid_accuracy", accuracy, 30), 4);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("answers");
    tcase_add_checked_fixture(all, setup_runs, teardown_runs);
    tcase_add_test(all, accuracy_is_of_answers_alone);
    tcase_add_test(all, classes_are_counted);
    tcase_add_test(all, a_stream_is_cut_as_asked);
    tcase_add_test(all, a_training_on_sequences_goes_on);
    return run_suite("train/answers", all);
}
