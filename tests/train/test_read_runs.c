/* tests/train/test_read_runs.c: runs read back : whole, cut and foreign ones, and how they are found. */
#include <sys/stat.h>

#include <ascgrad/runs.h>

#include "tests/faults.h"
#include "tests/train/runs.h"
#include "train/run/claim.h"

static void write_text(const char *path, const char *name, const char *text)
{
    char full[300];
    snprintf(full, sizeof full, "%s/%s", path, name);
    FILE *f = fopen(full, "wb");
    ck_assert_msg(f != NULL, "%s", full);
    fputs(text, f);
    fclose(f);
}

static const char config[] = "{\"version\": \"0.1.0\", \"lr\": 0.003, \"seed\": 2, \"plan\": {\"steps\": 40},"
                             " \"model\": {\"mix\": \"transformer\", \"d_model\": 8, \"offsets\": [1, 2]}}";

/* A run that was written by hand. */
static void make_run(const char *path, const char *metrics, const char *summary)
{
    mkdir(path, 0777);
    write_text(path, "config.json", config);
    write_text(path, "metrics.jsonl", metrics);
    if (summary) {
        write_text(path, "summary.json", summary);
    }
}

static asc_run *read_run(const char *path)
{
    asc_run *run = asc_run_read(ctx, path);
    ck_assert_msg(run != NULL, "%s", asc_error_message(ctx));
    ck_assert_str_eq(asc_run_folder(run), path);
    return run;
}

static void expect_state(const asc_run *run, asc_run_state state, int64_t step)
{
    ck_assert_str_eq(asc_run_state_name(asc_run_info_of(run)->state), asc_run_state_name(state));
    ck_assert_int_eq(asc_run_info_of(run)->step, step);
}

/* ---- runs of asc_train ---- */

START_TEST(a_finished_run)
{
    asc_train_result r;
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, &r), ASC_OK);
    asc_run *run = read_run(run_path);
    const asc_run_info *info = asc_run_info_of(run);
    expect_state(run, ASC_RUN_STATE_DONE, 12);
    ck_assert_int_eq(info->steps, 12);
    ck_assert_double_eq(info->tokens, (double)r.tokens);
    ck_assert_int_eq(info->best.step, r.best_step);
    ck_assert_double_eq_tol(info->best.valid_loss, r.best_loss, 1e-8);
    ck_assert_double_eq_tol(info->best.valid_bits_per_byte, r.best_bits_per_byte, 1e-8);
    ck_assert(info->tokens_per_s > 0 && info->wall_s >= 0 && info->updated_s > 1.7e9);
    ck_assert_str_eq(info->version, ASC_VERSION);
    double steps[20];
    int n = read_metrics(run_path, "step", steps, 20);
    ck_assert_uint_eq(asc_run_rows(run), (size_t)n);
    for (int i = 0; i < n; i++) {
        ck_assert_double_eq(asc_run_value(run, (size_t)i, "step"), steps[i]);
        ck_assert(isnan(asc_run_value(run, (size_t)i, "valid_ppl")) == (steps[i] != 5 && steps[i] < 10));
    }
    ck_assert(isnan(asc_run_value(run, (size_t)n, "step")) && isnan(asc_run_value(run, 0, "stepp")));
    asc_run_free(run);
}
END_TEST

/* Its lines past the checkpoint are not there twice after the resume. */
START_TEST(a_stopped_and_resumed_run)
{
    brake at_seventh = {0, 9}, never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &at_seventh, NULL), ASC_ERR_INTERRUPTED);
    asc_error_clear(ctx);
    asc_run *run = read_run(run_path);
    ck_assert_int_eq(asc_run_info_of(run)->state, ASC_RUN_STATE_INTERRUPTED);
    ck_assert(asc_run_info_of(run)->step > 0 && asc_run_info_of(run)->step < 12);
    asc_run_free(run);
    ck_assert_int_eq(train(run_path, true, &never, NULL), ASC_OK);
    run = read_run(run_path);
    expect_state(run, ASC_RUN_STATE_DONE, 12);
    ck_assert_uint_eq(asc_run_rows(run), 7);
    asc_run_free(run);
}
END_TEST

START_TEST(settings_by_key_and_by_option)
{
    brake never = {0, -1};
    ck_assert_int_eq(train(run_path, false, &never, NULL), ASC_OK);
    asc_run *run = read_run(run_path);
    const char *const expected[][2] = {{"lr", "0.003"},      {"data", "\"builtin:3000\""}, {"seed", "1"},
                                       {"dim", "8"},         {"d_model", "8"},             {"model", "\"transformer\""},
                                       {"mixing", "\"transformer\""}, {"eval-every", "5"}, {"recompute", "false"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        ck_assert_str_eq(asc_run_setting(run, expected[i][0]), expected[i][1]);
    }
    ck_assert_ptr_null(asc_run_setting(run, "version"));
    ck_assert_ptr_null(asc_run_setting(run, "omega_sep"));
    int n = 0;
    for (const char *key; (key = asc_run_setting_at(run, n)); n++) {
        ck_assert_ptr_nonnull(asc_run_setting(run, key));
    }
    ck_assert_int_gt(n, 30);
    ck_assert_ptr_null(asc_run_setting_at(run, -1));
    asc_run_free(run);
    no_error();
}
END_TEST

/* ---- files by hand ---- */

#define LINES "{\"step\": 10, \"loss\": 5}\n{\"step\": 20, \"loss\": 4, \"valid_loss\": 4.5}\n"

START_TEST(a_last_line_that_is_not_whole)
{
    static const char *const ends[] = {"", "{", "{\"step\": 30, \"lo", "{\"step\": 30, \"loss\": 3", "garbage"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s%s", LINES, ends[i]);
        make_run(run_path, text, NULL);
        asc_run *run = read_run(run_path);
        ck_assert_uint_eq(asc_run_rows(run), 2);
        expect_state(run, ASC_RUN_STATE_INTERRUPTED, 20);
        ck_assert_int_eq(asc_run_info_of(run)->best.step, 20);
        asc_run_free(run);
    }
}
END_TEST

START_TEST(no_line_yet)
{
    make_run(run_path, "", NULL);
    asc_run *run = read_run(run_path);
    ck_assert_uint_eq(asc_run_rows(run), 0);
    const asc_run_info *info = asc_run_info_of(run);
    expect_state(run, ASC_RUN_STATE_INTERRUPTED, 0);
    ck_assert(info->best.step == -1 && isnan(info->best.valid_loss) && isnan(info->tokens_per_s));
    ck_assert(isnan(info->parameters) && isnan(info->peak_rss_mib) && !info->processor && !info->reason);
    ck_assert_ptr_null(asc_run_key_at(run, 0));
    asc_run_free(run);
}
END_TEST

START_TEST(names_of_nested_numbers)
{
    make_run(run_path,
             "{\"step\": 1, \"m\": {\"a\": [[1, 2], null, [3]], \"b\": {\"c\": 4}}, \"x\": null, \"y\": \"t\"}\n"
             "{\"step\": 2, \"late\": 1e300}\n", NULL);
    asc_run *run = read_run(run_path);
    static const char *const keys[] = {"step", "m.a[0][0]", "m.a[0][1]", "m.a[2][0]", "m.b.c", "late"};
    const double values[2][6] = {{1, 1, 2, 3, 4, NAN}, {2, NAN, NAN, NAN, NAN, 1e300}};
    for (int k = 0; k < 6; k++) {
        ck_assert_str_eq(asc_run_key_at(run, k), keys[k]);
        for (size_t row = 0; row < 2; row++) {
            double got = asc_run_value(run, row, keys[k]);
            ck_assert_msg(got == values[row][k] || (isnan(got) && isnan(values[row][k])), "%s: %g", keys[k], got);
        }
    }
    ck_assert_ptr_null(asc_run_key_at(run, 6));
    asc_run_free(run);
}
END_TEST

#define SUMMARY(state, steps)                                                                                          \
    "{\"state\": \"" state "\", \"reason\": \"why\", \"steps\": " steps ", \"tokens\": 900, \"epochs\": 1.5," \
    " \"wall_s\": 60, \"peak_rss_mib\": 50, \"parameters\": 1000, \"tokens_per_s\": 15, \"processor\": \"a\"," \
    " \"memory_gib\": null, \"best\": {\"step\": 15, \"valid_loss\": 4.25, \"valid_ppl\": 70}}"

START_TEST(a_summary_says_how_it_ended)
{
    static const struct {
        const char *summary;
        asc_run_state state;
    } cases[] = {{SUMMARY("done", "20"), ASC_RUN_STATE_DONE},
                 {SUMMARY("interrupted", "20"), ASC_RUN_STATE_INTERRUPTED},
                 {SUMMARY("failed", "20"), ASC_RUN_STATE_FAILED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_run(run_path, LINES, cases[i].summary);
        asc_run *run = read_run(run_path);
        const asc_run_info *info = asc_run_info_of(run);
        expect_state(run, cases[i].state, 20);
        ck_assert_str_eq(info->reason, "why");
        ck_assert_str_eq(info->processor, "a");
        ck_assert(info->tokens == 900 && info->epochs == 1.5 && info->wall_s == 60 && info->peak_rss_mib == 50);
        ck_assert(info->parameters == 1000 && info->tokens_per_s == 15 && isnan(info->memory_gib));
        ck_assert(info->best.step == 15 && info->best.valid_loss == 4.25 && info->best.valid_ppl == 70);
        ck_assert(isnan(info->best.elapsed_s));
        asc_run_free(run);
    }
}
END_TEST

/* It was resumed after it, and killed: that it was done is no longer true, its size still is. */
START_TEST(a_summary_that_the_lines_left_behind)
{
    make_run(run_path, LINES, SUMMARY("done", "10"));
    asc_run *run = read_run(run_path);
    const asc_run_info *info = asc_run_info_of(run);
    expect_state(run, ASC_RUN_STATE_INTERRUPTED, 20);
    ck_assert(!info->reason && info->parameters == 1000 && info->best.step == 20 && info->best.valid_loss == 4.5);
    asc_run_free(run);
}
END_TEST

/* What an earlier session said of its end, or where it came to, is not so while a process trains in it. */
START_TEST(a_run_that_is_claimed)
{
    make_run(run_path, LINES, SUMMARY("interrupted", "20"));
    char path[128];
    snprintf(path, sizeof path, "%s/running", run_path);
    asc_claim *claim;
    asc_claim_holder other;
    ck_assert_int_eq(asc_claim_take(ctx, path, &claim, &other), ASC_OK);
    asc_run *run = read_run(run_path);
    expect_state(run, ASC_RUN_STATE_RUNNING, 20);
    ck_assert_ptr_null(asc_run_info_of(run)->reason);
    asc_run_free(run);
    asc_claim_drop(claim);
    run = read_run(run_path);
    expect_state(run, ASC_RUN_STATE_INTERRUPTED, 20);
    asc_run_free(run);
}
END_TEST

/* ---- what is refused ---- */

static void expect_refused(const char *name, const char *text, asc_status status, const char *message)
{
    make_run(run_path, LINES, NULL);
    write_text(run_path, name, text);
    ck_assert_msg(asc_run_read(ctx, run_path) == NULL, "%s with '%.60s' is accepted", name, text);
    expect_error_with(status, message);
    char full[200];
    snprintf(full, sizeof full, "%s/summary.json", run_path);
    remove(full);
}

START_TEST(content_that_is_refused)
{
    static const struct {
        const char *name, *text, *message;
    } cases[] = {
        {"metrics.jsonl", "{\"step\": 1}\n{\"step\": 2\n{\"step\": 3}\n", "metrics.jsonl: line 2: '}' expected"},
        {"metrics.jsonl", "{\"step\": 1}\n\n", "line 2: is empty"},
        {"metrics.jsonl", "[1]\n", "line 1: not a JSON object"},
        {"metrics.jsonl", "{\"step\": 1}\n{\"loss\": 2}\n", "line 2: expected a step from 1 to 1000000000000000"},
        {"metrics.jsonl", "{\"step\": 20}\n{\"step\": 10}\n", "line 2: expected a step from 20 to 1000000000000000"},
        {"metrics.jsonl", "{\"step\": -1}\n", "line 1: expected a step from 0 to 1000000000000000"},
        {"metrics.jsonl", "{\"step\": 9223372036854775807}\n", "line 1: expected a step from 0 to"},
        {"metrics.jsonl", "{\"step\": \"1\"}\n", "line 1: expected a step"},
        {"metrics.jsonl", "{\"step\": 1, \"step\": 2}\n", "line 1: duplicate"},
        {"config.json", "", "config.json: is empty"},
        {"config.json", "{\"lr\": 1}", "config.json: has no object \"model\""},
        {"config.json", "{\"model\": \n3,}", "config.json: line 2"},
        {"summary.json", "{", "summary.json: line 1"},
        {"summary.json", "{\"steps\": 20}", "summary.json: state: expected"},
        {"summary.json", "{\"state\": \"dead\", \"steps\": 20}", "summary.json: state: expected \"done\""},
        {"summary.json", "{\"steps\": \"20\"}", "summary.json: steps: expected a number"},
        {"summary.json", "{\"state\": \"done\", \"steps\": 20, \"best\": 3}", "summary.json: best: expected an object"},
        {"summary.json", "{\"processor\": 1}", "summary.json: processor: expected a text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_refused(cases[i].name, cases[i].text, ASC_ERR_FORMAT, cases[i].message);
    }
}
END_TEST

/* Neither takes memory without end: a line of a megabyte, a name that grows with each level. */
START_TEST(lines_and_names_without_end)
{
    enum { MANY = 1 << 21 };
    char *text = calloc(1, MANY);
    memset(text, ' ', MANY - 1);
    memcpy(text, "{\"step\": 1", 10);
    expect_refused("metrics.jsonl", text, ASC_ERR_FORMAT, "line 1 has more than 1048575 bytes");
    size_t n = (size_t)sprintf(text, "{\"step\": 1, \"a\": ");
    for (int i = 0; i < 100; i++) {
        n += (size_t)sprintf(text + n, "[");
    }
    n += (size_t)sprintf(text + n, "1");
    for (int i = 0; i < 100; i++) {
        n += (size_t)sprintf(text + n, "]");
    }
    sprintf(text + n, "}\n");
    expect_refused("metrics.jsonl", text, ASC_ERR_FORMAT, "line 1: a name has more than 199 bytes");
    free(text);
}
END_TEST

START_TEST(what_is_no_run)
{
    ck_assert_ptr_null(asc_run_read(ctx, run_path));
    expect_error_with(ASC_ERR_IO, "run: there is no run");
    ck_assert_ptr_null(asc_run_read(ctx, folder));
    expect_error_with(ASC_ERR_IO, "no config.json");
    static const char *const names[] = {"config.json", "metrics.jsonl", "summary.json"};
    for (size_t i = 0; i < 3; i++) {
        make_run(run_path, LINES, SUMMARY("done", "20"));
        char full[200];
        snprintf(full, sizeof full, "%s/%s", run_path, names[i]);
        remove(full);
        ck_assert_int_eq(symlink("/etc/passwd", full), 0);
        ck_assert_ptr_null(asc_run_read(ctx, run_path));
        expect_error_with(ASC_ERR_IO, "is a symbolic link, expected a regular file");
        remove(full);
    }
}
END_TEST

static bool count(void *user, const char *run)
{
    (void)run;
    ++*(int *)user;
    return true;
}

static double reads(void)
{
    int n = 0;
    asc_run *run = asc_run_read(ctx, run_path);
    double value = asc_run_value(run, 1, "valid_loss");
    asc_run_free(run);
    asc_runs_find(ctx, folder, count, &n);
    return value + n;
}

START_TEST(allocations_that_fail)
{
    make_run(run_path, LINES, SUMMARY("done", "20"));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_gt(fail_each_allocation(reads, i == 1), 10);
    }
}
END_TEST

/* ---- finding ---- */

typedef struct names {
    char text[600];
    int most;
} names;

static bool note(void *user, const char *run)
{
    names *n = user;
    strcat(n->text, run + strlen(folder));
    strcat(n->text, " ");
    return --n->most > 0;
}

static void make_folder_in(const char *name, bool run)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    mkdir(path, 0777);
    if (run) {
        make_run(path, LINES, NULL);
    }
}

START_TEST(runs_are_found_in_order)
{
    static const char *const runs[] = {"a-10", "a-2", "a-02", "b", "x/runs/z", "x/a"};
    static const char *const others[] = {"x", "x/runs", "empty", "b/within"};
    make_folder_in("x", false);
    make_folder_in("x/runs", false);
    for (size_t i = 0; i < 6; i++) {
        make_folder_in(runs[i], true);
    }
    for (size_t i = 2; i < 4; i++) {
        make_folder_in(others[i], i == 3);
    }
    char link[200];
    snprintf(link, sizeof link, "%s/linked", folder);
    ck_assert_int_eq(symlink("b", link), 0);
    names all = {"", 100}, two = {"", 2};
    ck_assert_int_eq(asc_runs_find(ctx, folder, note, &all), ASC_OK);
    ck_assert_str_eq(all.text, "/a-02 /a-2 /a-10 /b /x/a /x/runs/z ");
    ck_assert_int_eq(asc_runs_find(ctx, folder, note, &two), ASC_OK);
    ck_assert_str_eq(two.text, "/a-02 /a-2 ");
    names itself = {"", 100};
    ck_assert_int_eq(asc_runs_find(ctx, link, note, &itself), ASC_OK);
    ck_assert_str_eq(itself.text, "/linked ");
    ck_assert_int_eq(asc_runs_find(ctx, run_path, note, &itself), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "run: there is no such run or file");
}
END_TEST

int main(void)
{
    TCase *trained = tcase_create("trained"), *written = tcase_create("written"), *found = tcase_create("found");
    tcase_add_checked_fixture(trained, setup_runs, teardown_runs);
    tcase_add_test(trained, a_finished_run);
    tcase_add_test(trained, a_stopped_and_resumed_run);
    tcase_add_test(trained, settings_by_key_and_by_option);
    tcase_add_checked_fixture(written, setup_runs, teardown_runs);
    tcase_add_test(written, a_last_line_that_is_not_whole);
    tcase_add_test(written, no_line_yet);
    tcase_add_test(written, names_of_nested_numbers);
    tcase_add_test(written, a_summary_says_how_it_ended);
    tcase_add_test(written, a_summary_that_the_lines_left_behind);
    tcase_add_test(written, a_run_that_is_claimed);
    tcase_add_test(written, content_that_is_refused);
    tcase_add_test(written, lines_and_names_without_end);
    tcase_add_test(written, what_is_no_run);
    tcase_add_test(written, allocations_that_fail);
    tcase_add_checked_fixture(found, setup_runs, teardown_runs);
    tcase_add_test(found, runs_are_found_in_order);
    return run_suite("read_runs", trained, written, found);
}
