/* tests/train/test_locale.c: a program that has set a locale with a decimal comma: settings are read, and files and
 * messages written, as in the C locale, to the byte. */
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ascgrad/compare.h>
#include <ascgrad/op.h>
#include <ascgrad/ops.h>
#include <ascgrad/profile.h>
#include <program/file.h>
#include <program/names.h>

#include "tensor/locale.h"
#include "tests/train/runs.h"

static const char *comma; /* a locale whose numbers have commas */

static const char *find_comma(void)
{
    static const char *const names[] = {"", "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "es_ES.UTF-8", "it_IT.UTF-8",
                                        "pt_BR.UTF-8", "ru_RU.UTF-8", "pl_PL.UTF-8", "nl_NL.UTF-8", "sv_SE.UTF-8",
                                        "tr_TR.UTF-8", NULL};
    for (const char *const *name = names; *name; name++) {
        if (setlocale(LC_ALL, *name) && strcmp(localeconv()->decimal_point, ",") == 0) {
            return *name;
        }
    }
    return NULL;
}

static void set_comma(bool set)
{
    ck_assert_ptr_nonnull(setlocale(LC_ALL, set ? comma : "C"));
}

static void setup_locale(void)
{
    setup_runs();
    set_comma(true);
}

static void teardown_locale(void)
{
    set_comma(false);
    teardown_runs();
}

/* ---- numbers ---- */

START_TEST(numbers_have_points)
{
    char text[40], *end;
    ck_assert(asc_strtod("1.5,", &end) == 1.5 && *end == ',');
    ck_assert(asc_strtod("1,5", &end) == 1 && *end == ',');
    asc_snprintf(text, sizeof text, "%.2f %g", 0.25, 1e-3);
    ck_assert_str_eq(text, "0.25 0.001");
    snprintf(text, sizeof text, "%.2f", 0.25); /* the program's own stay as it wants them */
    ck_assert_str_eq(text, "0,25");
    double value;
    ck_assert(asc_real_parse("0.2", &value) && value == 0.2);
    ck_assert(!asc_real_parse("0,2", &value));
    ck_assert(asc_time_parse("1.5h", 60, &value) && value == 90);
}
END_TEST

START_TEST(a_thread_keeps_its_own_locale)
{
    char text[40];
    locale_t own = newlocale(LC_ALL_MASK, comma, (locale_t)0), before = uselocale(own);
    asc_snprintf(text, sizeof text, "%.2f", 0.25);
    ck_assert_str_eq(text, "0.25");
    ck_assert(uselocale((locale_t)0) == own);
    uselocale(before);
    freelocale(own);
}
END_TEST

START_TEST(letters_are_those_of_ascii)
{
    ck_assert_int_eq(asc_strcasecmp("TRAIN", "train"), 0);
    ck_assert_int_lt(asc_strcasecmp("trai", "TRAIN"), 0);
    ck_assert_int_gt(asc_strcasecmp("\xc4", "\xe4"), -256); /* defined for any byte */
    ck_assert_int_eq(asc_strncasecmp("Dev.txt", "dev", 3), 0);
    ck_assert(asc_is_letter('I') && !asc_is_letter('\xe4') && !asc_is_printable('\xe4') && !asc_is_printable('\n'));
    ck_assert(asc_name_matches("blocks.[0-9].*", "blocks.1.mix"));
}
END_TEST

START_TEST(messages_have_points)
{
    asc_fail(ctx, ASC_ERR_ARG, "eps is %g", 0.5);
    ck_assert_str_eq(asc_error_message(ctx), "eps is 0.5");
    asc_error_clear(ctx);
    asc_dropout(ctx, asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2)), 1.5);
    ck_assert_ptr_nonnull(strstr(asc_error_message(ctx), "1.5"));
    asc_error_clear(ctx);
    asc_settings *s = asc_settings_new(ctx);
    ck_assert_int_eq(asc_settings_set(s, "dropout", "1.5"), ASC_ERR_ARG);
    ck_assert_str_eq(strstr(asc_error_message(ctx), "got"), "got '1.5', expected a number from 0 to 0.999");
    asc_error_clear(ctx);
    asc_settings_free(s);
}
END_TEST

START_TEST(tensors_have_points)
{
    char text[100];
    asc_format(asc_full(ctx, ASC_F64, 0.5, ASC_SHAPE(2)), text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "[0.5, 0.5]"));
}
END_TEST

/* ---- runs ---- */

/* Numbers of each way in: of a course, of a rule for parameters, of a layer, of the loop. */
static const pair numbers[] = {{"model", "ascender"}, {"dropout", "0.125"}, {"delta", "0.2"}, {"schedule", "cosine"},
                               {"min_lr", "1e-4"}, {"clip", "0.75"}, {"weight_decay", ".05"},
                               {"param_groups", "*.weight:lr=0.5,decay=0.01"}, {"variant", "swarm"},
                               {"dropout_schedule", "0:0.125,50%:0.25"}, {NULL, NULL}};

/* Trains in two parts, the first in one locale and the second in another. */
static void train_across(const char *path, bool first, bool second)
{
    brake b = {0, 5}, never = {0, -1};
    set_comma(first);
    train_so(path, false, &(asc_train_hooks){.progress = stop_at, .user = &b}, ASC_ERR_INTERRUPTED, numbers);
    set_comma(second);
    train_so(path, true, &(asc_train_hooks){.progress = stop_at, .user = &never}, ASC_OK, NULL);
    set_comma(true);
}

/* Every line with its times. */
static void check_metrics(const char *path)
{
    char full[200];
    snprintf(full, sizeof full, "%s/metrics.jsonl", path);
    FILE *f = fopen(full, "r");
    ck_assert_ptr_nonnull(f);
    json_error_t error;
    int lines = 0; /* of steps 2, 4, 5, 6, 8, 10, 12 */
    for (json_t *o; (o = json_loadf(f, JSON_DISABLE_EOF_CHECK, &error)); lines++) {
        ck_assert(json_real_value(json_object_get(o, "loss")) > 0);
        ck_assert(json_is_real(json_object_get(o, "tokens_per_s")) && json_is_real(json_object_get(o, "elapsed_s")));
        json_decref(o);
    }
    ck_assert_msg(lines == 7 && feof(f), "line %d: %s", lines + 1, error.text);
    fclose(f);
}

/* All but the time that it took. */
static void check_checkpoints(void)
{
    static const char *const keys[] = {"step", "best_loss", "best_bits", "loss", "lr", "grad_norm"};
    char path[2][200];
    snprintf(path[0], sizeof path[0], "%s/checkpoint.safetensors", run_path);
    snprintf(path[1], sizeof path[1], "%s/checkpoint.safetensors", other_path);
    asc_safetensors *a = asc_safetensors_open(ctx, path[0]), *b = asc_safetensors_open(ctx, path[1]);
    ck_assert_msg(a && b, "%s", asc_error_message(ctx));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        ck_assert_str_eq(asc_safetensors_metadata(a, keys[i]), asc_safetensors_metadata(b, keys[i]));
    }
    ck_assert_ptr_null(strchr(asc_safetensors_metadata(b, "elapsed_s"), ','));
    asc_safetensors_close(a);
    asc_safetensors_close(b);
}

START_TEST(runs_are_the_same_to_the_byte)
{
    static const char *const files[] = {"config.json", "metrics.jsonl", "model.safetensors", "vocab.txt"};
    train_across(run_path, false, false);
    train_across(other_path, _i & 1, _i & 2);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        check_same(files[i]);
    }
    check_metrics(other_path);
    check_checkpoints();
}
END_TEST

START_TEST(models_are_opened)
{
    train_across(run_path, true, true);
    asc_model *model = asc_model_open(ctx, run_path, NULL, NULL);
    ck_assert_msg(model != NULL, "%s", asc_error_message(ctx));
    ck_assert_ptr_nonnull(strstr(asc_lm_config(model->lm), "0.2"));
    asc_model_free(ctx, model);
}
END_TEST

/* ---- other files ---- */

START_TEST(scores_are_the_same_to_the_byte)
{
    asc_score_part block[2] = {{0.5, 4, 0, 0}, {1.25, 4, 0, 0}};
    asc_scores s = {.result = {.tokens = 8, .loss = 1.75 / 8, .ppl = exp(1.75 / 8)}, .block = 4, .tokens_per_s = NAN,
                    .n_blocks = 2, .blocks = block};
    for (int i = 0; i < 2; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s", i ? other_path : run_path);
        ck_assert_int_eq(asc_folder_make(ctx, path), ASC_OK);
        strcat(path, "/scores");
        set_comma(i > 0);
        ck_assert_msg(asc_scores_write(ctx, &s, path) == ASC_OK, "%s", asc_error_message(ctx));
        asc_scores *got = asc_scores_read(ctx, path);
        ck_assert_msg(got != NULL, "%s", asc_error_message(ctx));
        ck_assert(got->result.loss == s.result.loss && got->blocks[1].nats == 1.25 && isnan(got->tokens_per_s));
        asc_scores_free(ctx, got);
    }
    check_same("scores");
}
END_TEST

START_TEST(profiles_are_json)
{
    asc_profile *p = asc_profile_new(ctx, 4);
    asc_span step;
    asc_span_begin(ctx, &step, "step");
    asc_sum(ctx, asc_full(ctx, ASC_F32, 2, ASC_SHAPE(100)), ASC_ALL_DIMS, false);
    asc_span_end(ctx, &step);
    asc_profile_stop(p);
    ck_assert_msg(asc_profile_write(p, run_path, 1.5) == ASC_OK, "%s", asc_error_message(ctx));
    asc_profile_free(p);
    json_error_t error;
    json_t *o = json_load_file(run_path, 0, &error);
    ck_assert_msg(o != NULL, "%s", error.text);
    ck_assert(json_real_value(json_object_get(json_object_get(o, "profile"), "sgemm_gflops")) == 1.5);
    json_decref(o);
}
END_TEST

int main(void)
{
    comma = find_comma();
    setlocale(LC_ALL, "C");
    if (!comma) {
        puts("skipped: no locale with a decimal comma is installed, such as de_DE.UTF-8");
        return 77;
    }
    TCase *text = tcase_create("numbers, names and messages"), *runs = tcase_create("runs");
    TCase *files = tcase_create("other files");
    tcase_add_checked_fixture(text, setup_locale, teardown_locale);
    tcase_add_checked_fixture(runs, setup_locale, teardown_locale);
    tcase_add_checked_fixture(files, setup_locale, teardown_locale);
    tcase_add_test(text, numbers_have_points);
    tcase_add_test(text, a_thread_keeps_its_own_locale);
    tcase_add_test(text, letters_are_those_of_ascii);
    tcase_add_test(text, messages_have_points);
    tcase_add_test(text, tensors_have_points);
    tcase_add_loop_test(runs, runs_are_the_same_to_the_byte, 1, 4);
    tcase_add_test(runs, models_are_opened);
    tcase_add_test(files, scores_are_the_same_to_the_byte);
    tcase_add_test(files, profiles_are_json);
    return run_suite("locale", text, runs, files);
}
