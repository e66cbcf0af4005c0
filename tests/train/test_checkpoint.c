/* tests/train/test_checkpoint.c: checkpoints and models whose metadata or bytes are not those of their run. */
#include "tests/train/runs.h"
#include "train/run/metrics.h"

/* ---- a checkpoint that says something else, and whose checksum is right ---- */

enum { MOST_TENSORS = 200, MOST_PAIRS = 40 };

typedef struct edit {
    const char *key[3], *value[3]; /* those that are not needed: NULL */
    const char *message;           /* of the refusal */
} edit;

/* Writes a file of a run anew, with other values for some keys: NULL for a pair that goes. */
static void rewrite(const char *run, const char *name, const edit *e)
{
    char full[200];
    snprintf(full, sizeof full, "%s/%s", run, name);
    asc_safetensors *file = asc_safetensors_open(ctx, full);
    ck_assert_msg(file != NULL, "%s", asc_error_message(ctx));
    asc_named_tensor tensors[MOST_TENSORS];
    asc_safetensors_pair pairs[MOST_PAIRS];
    int64_t n = 0, n_pairs = 0;
    for (const asc_safetensors_entry *at; (at = asc_safetensors_at(file, n)); n++) {
        tensors[n] = (asc_named_tensor){at->name, asc_safetensors_read(ctx, file, at->name, ASC_SAFETENSORS_STORED)};
    }
    const asc_safetensors_pair *pair;
    for (int64_t i = 0; (pair = asc_safetensors_metadata_at(file, i)); i++) {
        pairs[n_pairs] = *pair;
        for (int j = 0; j < 3; j++) {
            if (e->key[j] && strcmp(e->key[j], pair->key) == 0) {
                pairs[n_pairs].value = e->value[j];
            }
        }
        n_pairs += pairs[n_pairs].value != NULL;
    }
    for (int j = 0; j < 3; j++) {
        if (e->value[j] && !asc_safetensors_metadata(file, e->key[j])) {
            pairs[n_pairs++] = (asc_safetensors_pair){e->key[j], e->value[j]};
        }
    }
    asc_safetensors_write(ctx, full, tensors, n, pairs, n_pairs);
    no_error();
    asc_safetensors_close(file);
    for (int64_t i = 0; i < n; i++) {
        asc_release(tensors[i].tensor);
    }
}

/* A run of 12 steps of 4 blocks of 8 tokens, of which the last was the best; an evaluation every 5. */
static const edit wrong[] = {
    {{"step"}, {"-1"}, "its step is '-1', expected a whole number from 0 to 1000000000000000"},
    {{"step"}, {"9223372036854775807"}, "its step is '9223372036854775807'"},
    {{"step"}, {"-9223372036854775808"}, "its step is '-9223372036854775808'"},
    {{"step"}, {"99999999999999999999"}, "its step is '99999999999999999999'"},
    {{"step"}, {"1000000000000000"}, "its step is 1000000000000000, but"},
    {{"step"}, {" 12"}, "its step is ' 12'"},
    {{"step"}, {"12."}, "its step is '12.'"},
    {{"step"}, {"+12"}, "its step is '+12'"},
    {{"step"}, {""}, "its step is ''"},
    {{"step"}, {NULL}, "its step is 'missing'"},
    {{"step"}, {"11"}, "its tokens are 384, but 11 steps take 352"},
    {{"step"}, {"13"}, "config.json has planned 12"},
    {{"step", "tokens"}, {"11", "352"}, "its optimiser has made 12 steps, but its step is 11"},
    {{"tokens"}, {"-1"}, "its tokens is '-1', expected a whole number from 0"},
    {{"tokens"}, {"9223372036854775807"}, "its tokens are 9223372036854775807, but 12 steps take 384"},
    {{"best_step"}, {"-2"}, "its best_step is '-2'"},
    {{"best_step"}, {"0"}, "its best_step is 0"},
    {{"best_step"}, {"13"}, "its best_step is 13"},
    {{"best_step"}, {"-1"}, "which is none"},
    {{"best_step"}, {"11"}, "is not the run's best model, which is of step 11"},
    {{"best_loss"}, {"-1"}, "its best_loss is '-1', expected a number from 0 to inf"},
    {{"best_loss"}, {"nan"}, "its best_loss is 'nan'"},
    {{"best_loss"}, {"1e999"}, "its best_loss is '1e999'"},
    {{"best_loss"}, {"0x1p1"}, "its best_loss is '0x1p1'"},
    {{"best_loss"}, {"inf"}, "with a loss of inf"},
    {{"best_loss"}, {"2.5"}, "a best_loss of 2.5 comes to"},
    {{"best_bits"}, {"nan"}, "its best_bits are nan"},
    {{"evaluated_step"}, {"7"}, "its evaluated_step is 7, expected -1 or a step with an evaluation up to its step, 12"},
    {{"evaluated_step"}, {"15"}, "its evaluated_step is 15"},
    {{"evaluated_step"}, {"0"}, "its evaluated_step is 0"},
    {{"logged_step"}, {"13"}, "its logged_step is 13"},
    {{"logged_step"}, {"8"}, "don't end in a line of step 8"},
    {{"logged_step"}, {"-1"}, "don't end in a line of step -1"},
    {{"metrics_bytes"}, {"-1"}, "its metrics_bytes is '-1'"},
    {{"metrics_bytes"}, {"9223372036854775807"}, "but the checkpoint goes with 9223372036854775807"},
    {{"metrics_bytes"}, {"0"}, "its first 0 bytes don't end in a line of step 10"},
    {{"metrics_bytes"}, {"1"}, "its first 1 bytes don't end"},
    {{"elapsed_s"}, {"-0.5"}, "its elapsed_s is '-0.5'"},
    {{"elapsed_s"}, {"inf"}, "its elapsed_s inf"},
    {{"loss"}, {"nan"}, "its loss is nan"},
    {{"lr"}, {"inf"}, "its lr inf"},
    {{"grad_norm"}, {"-3"}, "its grad_norm is '-3'"},
    {{"grad_norm"}, {"1e1 "}, "its grad_norm is '1e1 '"},
    {{"format_version"}, {"3"}, "its format_version is '3', expected 2 or none"},
    {{"format_version"}, {"-2"}, "its format_version is '-2'"},
    {{"format_version"}, {NULL}, "is no checkpoint: its metadata has no format_version"},
};

/* Refused with its reason, and the run is as it was. */
START_TEST(states_of_no_run)
{
    const edit *e = &wrong[_i];
    asc_train_result r;
    brake never = {0, -1};
    lr = "3e-3";
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    rewrite(run_path, "checkpoint.safetensors", e);
    char *metrics = read_file(run_path, "metrics.jsonl"), *config = read_file(run_path, "config.json");
    ck_assert_int_ne(train(run_path, true, &never, &r), ASC_OK);
    expect_error_with(ASC_ERR_FORMAT, e->message);
    char *after[] = {read_file(run_path, "metrics.jsonl"), read_file(run_path, "config.json")};
    ck_assert_str_eq(metrics, after[0]);
    ck_assert_str_eq(config, after[1]);
    free(metrics);
    free(config);
    free(after[0]);
    free(after[1]);
}
END_TEST

/* A key that this version does not know is nothing against a checkpoint: it stays out of the way. */
START_TEST(unknown_keys_are_passed_over)
{
    asc_train_result r;
    brake early = {0, 6}, again = {0, -1}, never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    ck_assert_int_eq(train(other_path, false, &early, &r), ASC_ERR_INTERRUPTED);
    asc_error_clear(ctx);
    rewrite(other_path, "checkpoint.safetensors", &(edit){{"later"}, {"of a version to come"}, NULL});
    ck_assert_msg(train(other_path, true, &again, &r) == ASC_OK, "%s", asc_error_message(ctx));
    check_same("model.safetensors");
    check_same("metrics.jsonl");
}
END_TEST

/* The last line of metrics.jsonl is found however long it is, and whatever it begins with is compared whole. */
START_TEST(long_lines_are_found)
{
    static const int lengths[] = {0, 4070, 4080, 4081, 4082, 4083, 4084, 4085, 4096, 8178, 20000};
    char full[160];
    snprintf(full, sizeof full, "%s/metrics.jsonl", folder);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        FILE *f = fopen(full, "w");
        ck_assert_ptr_nonnull(f);
        fprintf(f, "{\"step\": 2, \"x\": 1}\n{\"step\": 40,%*s}\n", lengths[i], "");
        int64_t bytes = ftell(f);
        fprintf(f, "{\"step\": 60, \"x\": 1}\n");
        fclose(f);
        const int64_t steps[] = {40, 4, 2, 60, -1};
        for (int j = 0; j < 5; j++) {
            asc_metrics m;
            ck_assert_int_eq(asc_metrics_open(&m, ctx, full, bytes), ASC_OK);
            ck_assert_int_eq(asc_metrics_check(&m, steps[j]), j == 0 ? ASC_OK : ASC_ERR_FORMAT);
            asc_error_clear(ctx);
            m.bytes--; /* no longer the end of a line */
            ck_assert_int_eq(asc_metrics_check(&m, steps[j]), ASC_ERR_FORMAT);
            asc_error_clear(ctx);
            asc_metrics_close(&m);
        }
    }
}
END_TEST

/* ---- models ---- */

static const edit wrong_models[] = {
    {{"step"}, {"-1"}, "its step is '-1'"},
    {{"step"}, {"1x"}, "its step is '1x'"},
    {{"step"}, {NULL}, "its step is 'missing'"},
    {{"valid_loss"}, {"nan"}, "its valid_loss is 'nan'"},
    {{"valid_loss"}, {"9.5"}, "is not the run's best model, which is of step 12"},
};

/* What a model of no classes says of them. */
static const char *const classes[] = {"[\"a\"]", "[1]", "{}", "[", "x"};

START_TEST(classes_are_the_models)
{
    asc_train_result r;
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    rewrite(run_path, "model.safetensors", &(edit){{"classes"}, {classes[_i]}, NULL});
    ck_assert_ptr_null(asc_model_open(ctx, run_path, NULL, NULL));
    char expected[80];
    snprintf(expected, sizeof expected, "its classes are '%s', expected a list of 0 names", classes[_i]);
    expect_error_with(ASC_ERR_FORMAT, expected);
}
END_TEST

START_TEST(models_of_no_run)
{
    const edit *e = &wrong_models[_i];
    asc_train_result r;
    brake never = {0, -1};
    lr = "3e-3";
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    rewrite(run_path, "model.safetensors", e);
    ck_assert_int_ne(train(run_path, true, &never, &r), ASC_OK);
    expect_error_with(ASC_ERR_FORMAT, e->message);
}
END_TEST

/* The version says which keys a model has. */
START_TEST(a_model_of_ids_alone)
{
    char path[200];
    snprintf(path, sizeof path, "%s/ids.safetensors", folder);
    static const char config[] = "{\"mix\":\"conv\",\"layers\":1,\"d_model\":8,\"block\":8,\"vocab\":5}";
    static const asc_dtype dtypes[] = {ASC_F32, ASC_F64};
    for (int i = 0; i < 2; i++) {
        asc_lm *lm = asc_lm_new(ctx, config, dtypes[i], 1);
        ck_assert_int_eq(asc_lm_save(ctx, lm, path), ASC_OK);
        asc_lm *again = asc_lm_load(ctx, path);
        ck_assert_msg(again != NULL, "%s", asc_error_message(ctx));
        ck_assert_str_eq(asc_lm_config(again), asc_lm_config(lm));
        for (int k = 0; k < asc_params_count(asc_lm_params(lm)); k++) {
            asc_tensor a = asc_params_at(asc_lm_params(lm), k), b = asc_params_at(asc_lm_params(again), k);
            ck_assert_int_eq(asc_dtype_of(b), asc_dtype_of(a));
            ck_assert_mem_eq(asc_data(b), asc_data(a), (size_t)asc_numel(a) * asc_dtype_size(asc_dtype_of(a)));
        }
        asc_lm_free(again);
        asc_lm_free(lm);
    }
    ck_assert_ptr_null(asc_model_open(ctx, path, NULL, NULL));
    expect_error_with(ASC_ERR_FORMAT, "ids.safetensors: is no model: its metadata has no tokenizer");
    asc_safetensors_write(ctx, path, NULL, 0, NULL, 0);
    ck_assert_ptr_null(asc_lm_load(ctx, path));
    expect_error_with(ASC_ERR_FORMAT, "ids.safetensors: is no model: its metadata has no config");
    ck_assert_ptr_null(asc_lm_load(ctx, "/nowhere"));
    expect_error_with(ASC_ERR_IO, "/nowhere: ");
    asc_train_result r;
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    snprintf(path, sizeof path, "%s/model.safetensors", run_path);
    asc_lm_free(asc_lm_load(ctx, path)); /* of a RUN */
    no_error();
}
END_TEST

START_TEST(a_model_has_its_keys)
{
    static const char *const keys[] = {"config", "tokenizer", "vocab", "vocab_checksum", "step", "valid_loss"};
    asc_train_result r;
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    rewrite(run_path, "model.safetensors", &(edit){{keys[_i]}, {NULL}, NULL});
    ck_assert_ptr_null(asc_model_open(ctx, run_path, NULL, NULL));
    char expected[80];
    snprintf(expected, sizeof expected, "model.safetensors: is no model: its metadata has no %s", keys[_i]);
    expect_error_with(ASC_ERR_FORMAT, expected);
}
END_TEST

/* A bit of every byte, another one each time. */
START_TEST(every_byte_of_a_model_counts)
{
    asc_train_result r;
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    char full[160];
    snprintf(full, sizeof full, "%s/model.safetensors", run_path);
    FILE *f = fopen(full, "r+b");
    ck_assert_ptr_nonnull(f);
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    for (long at = 0; at < n; at += in_full() ? 1 : 29) {
        fseek(f, at, SEEK_SET);
        int good = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(good ^ 1 << at % 8, f);
        fflush(f);
        ck_assert_msg(asc_model_open(ctx, run_path, NULL, NULL) == NULL, "byte %ld", at);
        ck_assert_msg(asc_error(ctx) == ASC_ERR_FORMAT, "byte %ld: %s", at, asc_error_message(ctx));
        asc_error_clear(ctx);
        fseek(f, at, SEEK_SET);
        fputc(good, f);
    }
    fclose(f);
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    no_error();
    asc_model_free(ctx, m);
}
END_TEST

/* ---- files without checksums ---- */

static void count_notes(void *user, const char *text)
{
    *(int *)user += strstr(text, "model.safetensors: has no checksum") != NULL; /* others are BLAS' */
}

START_TEST(a_model_without_checksum_is_told)
{
    asc_train_result r;
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    int told = 0;
    asc_ctx *c = asc_ctx_new(&(asc_options){.threads = 1, .message = count_notes, .message_user = &told});
    for (int without = 0; without < 2; without++) {
        asc_model *m = asc_model_open(c, run_path, NULL, NULL);
        ck_assert_msg(m != NULL, "%s", asc_error_message(c));
        asc_model_free(c, m);
        ck_assert_int_eq(told, without);
        const edit bare = {{"asc_crc32", "asc_crc32_tensors", "format_version"}, {NULL}, NULL};
        rewrite(run_path, "model.safetensors", &bare);
    }
    asc_ctx_free(c);
}
END_TEST

/* Sizes that are claimed, with none of the tensors, take no memory. */
START_TEST(a_model_of_metadata_alone)
{
    static const char config[] = "{\"layers\": 12, \"d_model\": 2048, \"vocab\": 256, \"block\": 64, "
                                 "\"mix\": \"transformer\", \"heads\": 16}";
    asc_safetensors_pair metadata[] = {{"config", config}, {"tokenizer", "byte"}};
    char path[160];
    snprintf(path, sizeof path, "%s/claims.safetensors", folder);
    asc_safetensors_write(ctx, path, NULL, 0, metadata, 2);
    no_error();
    size_t before = asc_memory(ctx).peak_bytes;
    ck_assert_ptr_null(asc_model_open(ctx, path, NULL, NULL));
    expect_error_with(ASC_ERR_FORMAT, "claims.safetensors: has no tensor tok_emb.weight");
    ck_assert_uint_lt(asc_memory(ctx).peak_bytes - before, (size_t)1 << 20);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("checkpoint");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_add_loop_test(t, states_of_no_run, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(t, a_model_of_metadata_alone);
    tcase_add_test(t, a_model_of_ids_alone);
    tcase_add_test(t, long_lines_are_found);
    tcase_add_test(t, unknown_keys_are_passed_over);
    tcase_add_loop_test(t, models_of_no_run, 0, sizeof wrong_models / sizeof *wrong_models);
    tcase_add_loop_test(t, a_model_has_its_keys, 0, 6);
    tcase_add_loop_test(t, classes_are_the_models, 0, sizeof classes / sizeof *classes);
    tcase_add_test(t, every_byte_of_a_model_counts);
    tcase_add_test(t, a_model_without_checksum_is_told);
    return run_suite("train/checkpoint", t);
}
