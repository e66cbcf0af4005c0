/* tests/train/test_events.c: TensorBoard's event files: their bytes, and that they go with metrics.jsonl. */
#include <sys/stat.h>

#include <ascgrad/runs.h>

#include "data/byte_order.h"
#include "tests/faults.h"
#include "tests/train/runs.h"
#include "train/run/events.h"

/* ---- bytes ---- */

/* RFC 3720, appendix B.4, and the check value of the catalogue of CRCs. */
START_TEST(checksums_are_the_known_ones)
{
    unsigned char bytes[32];
    memset(bytes, 0, sizeof bytes);
    ck_assert_uint_eq(asc_crc32c(bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    ck_assert_uint_eq(asc_crc32c(bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++) {
        bytes[i] = (unsigned char)i;
    }
    ck_assert_uint_eq(asc_crc32c(bytes, 32), 0x46dd794e);
    for (int i = 0; i < 32; i++) {
        bytes[i] = (unsigned char)(31 - i);
    }
    ck_assert_uint_eq(asc_crc32c(bytes, 32), 0x113fdb5c);
    ck_assert_uint_eq(asc_crc32c("123456789", 9), 0xe3069283);
    ck_assert_uint_eq(asc_crc32c("", 0), 0);
}
END_TEST

static void expect_bytes(const unsigned char *record, size_t n, const char *expected)
{
    char text[2 * ASC_EVENT_BYTES + 1] = "";
    for (size_t i = 0; i < n; i++) {
        sprintf(text + 2 * i, "%02x", record[i]);
    }
    ck_assert_str_eq(text, expected);
}

/* What tensorboard 2.21's RecordWriter writes of these events. */
START_TEST(records_are_tensorboards)
{
    unsigned char record[ASC_EVENT_BYTES];
    const double values[ASC_EVENT_VALUES] = {2.5, 0.001, NAN, NAN, NAN, NAN, NAN};
    expect_bytes(record, asc_event_record(record, 1.5, 0, NULL),
                 "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
    expect_bytes(record, asc_event_record(record, 1700000000.25, 300, values),
                 "2600000000000000734fe3000900001040fc54d94110ac022a180a0b0a046c6f737315000020400a090a026c72156f12833a"
                 "1f839730");
}
END_TEST

START_TEST(the_longest_record_fits)
{
    unsigned char record[ASC_EVENT_BYTES];
    const double values[ASC_EVENT_VALUES] = {1, 1, 1, 1, 1, 1, 1};
    ck_assert_uint_lt(asc_event_record(record, 1e9, INT64_MAX, values), ASC_EVENT_BYTES / 2);
}
END_TEST

/* ---- files ---- */

static const char *event_path(const char *run)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/tensorboard/events.out.tfevents.ascgrad", run);
    return path;
}

typedef struct bytes {
    unsigned char at[1 << 14];
    size_t n;
} bytes;

static void read_bytes(const char *run, bytes *b)
{
    FILE *f = fopen(event_path(run), "rb");
    ck_assert_msg(f != NULL, "%s", event_path(run));
    b->n = fread(b->at, 1, sizeof b->at, f);
    fclose(f);
}

static void append_bytes(const char *path, const void *more, size_t n)
{
    FILE *f = fopen(path, "ab");
    ck_assert_uint_eq(fwrite(more, 1, n, f), n);
    fclose(f);
}

/* The file has a record for each line of metrics.jsonl, of the line's numbers, and nothing else. */
static void check_events(const char *path)
{
    bytes b;
    read_bytes(path, &b);
    asc_run *run = asc_run_read(ctx, path);
    ck_assert_msg(run != NULL, "%s", asc_error_message(ctx));
    size_t at = 0;
    double before = 1.7e9;
    for (size_t row = 0; row <= asc_run_rows(run); row++) {
        unsigned char expected[ASC_EVENT_BYTES];
        double values[ASC_EVENT_VALUES], wall;
        ck_assert_uint_lt(at + 21, b.n);
        memcpy(&wall, b.at + at + 13, sizeof wall);
        asc_file_order(&wall, 1, sizeof wall);
        ck_assert_msg(wall >= before && wall < 4e9, "%.3f after %.3f", wall, before);
        for (int i = 0; i < ASC_EVENT_VALUES; i++) {
            values[i] = row > 0 ? asc_run_value(run, row - 1, asc_event_names[i]) : NAN;
        }
        int64_t step = row > 0 ? (int64_t)asc_run_value(run, row - 1, "step") : 0;
        size_t n = asc_event_record(expected, wall, step, row > 0 ? values : NULL);
        ck_assert_msg(at + n <= b.n && memcmp(b.at + at, expected, n) == 0, "record %zu", row);
        at += n;
        before = wall;
    }
    ck_assert_uint_eq(at, b.n);
    asc_run_free(run);
}

static asc_status train_events(const char *path, bool resume, brake *b)
{
    asc_settings *s = resume ? asc_settings_new(ctx) : make_settings(ctx);
    asc_settings_set(s, "tensorboard", "true");
    if (resume) {
        ck_assert_msg(asc_settings_resume(s, path) == ASC_OK, "%s", asc_error_message(ctx));
    }
    asc_status status = asc_train(ctx, s, path, resume, &(asc_train_hooks){.progress = stop_at, .user = b}, NULL);
    asc_settings_free(s);
    return status;
}

/* A run that stopped at a step that has a line and no checkpoint of the schedule. */
static void stop_run(void)
{
    brake soon = {0, 9};
    ck_assert_int_eq(train_events(run_path, false, &soon), ASC_ERR_INTERRUPTED);
    asc_error_clear(ctx);
    check_events(run_path);
}

static void finish_run(void)
{
    brake never = {0, -1};
    asc_status status = train_events(run_path, true, &never);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    check_events(run_path);
}

START_TEST(an_event_for_each_line)
{
    brake never = {0, -1};
    ck_assert_int_eq(train_events(run_path, false, &never), ASC_OK);
    check_events(run_path);
    ck_assert_int_eq(train(other_path, false, &never, NULL), ASC_OK);
    ck_assert(!has_file(other_path, "tensorboard"));
}
END_TEST

START_TEST(a_resume_goes_on_with_the_file)
{
    bytes before, after;
    stop_run();
    read_bytes(run_path, &before);
    finish_run();
    read_bytes(run_path, &after);
    ck_assert(after.n > before.n && memcmp(before.at, after.at, before.n) == 0);
}
END_TEST

/* Lines that the checkpoint does not know of go, and so do their events; a half-written one, too. */
START_TEST(nothing_is_there_twice)
{
    char metrics[128];
    unsigned char record[ASC_EVENT_BYTES];
    const double values[ASC_EVENT_VALUES] = {3, 1e-3, 1, 5, NAN, NAN, NAN};
    bytes before, after;
    stop_run();
    read_bytes(run_path, &before);
    const char line[] = "{\"step\": 10, \"loss\": 3, \"lr\": 1e-3, \"grad_norm\": 1, \"tokens_per_s\": 5}\n";
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", run_path);
    append_bytes(metrics, line, sizeof line - 1);
    size_t n = asc_event_record(record, 1.8e9, 10, values);
    append_bytes(event_path(run_path), record, n);
    append_bytes(event_path(run_path), record, n / 2);
    finish_run();
    read_bytes(run_path, &after);
    ck_assert_int_eq(memcmp(before.at, after.at, before.n), 0);
}
END_TEST

/* It follows from metrics.jsonl, so it can be made again. */
START_TEST(what_is_missing_or_damaged_is_written_again)
{
    static const long bytes_left[] = {0, 7, 60, 150};
    bytes b;
    stop_run();
    read_bytes(run_path, &b);
    if (_i < 4) {
        ck_assert_int_eq(truncate(event_path(run_path), bytes_left[_i]), 0);
    } else if (_i == 4) {
        remove_tree(event_path(run_path));
    } else {
        b.at[b.n - 20] ^= 1;
        FILE *f = fopen(event_path(run_path), "wb");
        fwrite(b.at, 1, b.n, f);
        fclose(f);
    }
    finish_run();
}
END_TEST

START_TEST(it_may_be_asked_for_at_a_resume)
{
    brake soon = {0, 9};
    ck_assert_int_eq(train(run_path, false, &soon, NULL), ASC_ERR_INTERRUPTED);
    asc_error_clear(ctx);
    ck_assert(!has_file(run_path, "tensorboard"));
    finish_run();
}
END_TEST

START_TEST(links_are_refused)
{
    brake never = {0, -1};
    char path[128];
    stop_run();
    remove_tree(event_path(run_path));
    ck_assert_int_eq(symlink("/dev/shm/ascgrad-not-there", event_path(run_path)), 0);
    ck_assert_int_eq(train_events(run_path, true, &never), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "is a symbolic link, expected a regular file");
    snprintf(path, sizeof path, "%s/tensorboard", run_path);
    remove_tree(path);
    ck_assert_int_eq(symlink("/dev/shm", path), 0);
    ck_assert_int_eq(train_events(run_path, true, &never), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "tensorboard: is a symbolic link, expected a folder");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(has_file(run_path, "summary.json")); /* a resume that is refused takes nothing away */
}
END_TEST

static double opens(void)
{
    char metrics[128];
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", run_path);
    asc_events *e = asc_events_open(ctx, run_path, metrics);
    asc_events_close(e);
    return e != NULL;
}

START_TEST(allocations_that_fail)
{
    stop_run();
    ck_assert_int_gt(fail_each_allocation(opens, true), 4);
    check_events(run_path);
}
END_TEST

int main(void)
{
    TCase *format = tcase_create("format"), *files = tcase_create("files");
    tcase_add_test(format, checksums_are_the_known_ones);
    tcase_add_test(format, records_are_tensorboards);
    tcase_add_test(format, the_longest_record_fits);
    tcase_add_checked_fixture(files, setup_runs, teardown_runs);
    tcase_add_test(files, an_event_for_each_line);
    tcase_add_test(files, a_resume_goes_on_with_the_file);
    tcase_add_test(files, nothing_is_there_twice);
    tcase_add_loop_test(files, what_is_missing_or_damaged_is_written_again, 0, 6);
    tcase_add_test(files, it_may_be_asked_for_at_a_resume);
    tcase_add_test(files, links_are_refused);
    tcase_add_test(files, allocations_that_fail);
    return run_suite("train/events", format, files);
}
