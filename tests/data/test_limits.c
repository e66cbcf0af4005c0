/* tests/data/test_limits.c: what is opened and how much of it is believed, of files that anyone may have written. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <ascgrad/safetensors.h>
#include <program/file.h>

#include "data/json.h"
#include "tests/data/fixture.h"

static ssize_t read_input(const char *name)
{
    char bytes[16];
    int fd = asc_input_open(ctx, name);
    ck_assert_int_ge(fd, 0);
    ssize_t n = read(fd, bytes, sizeof bytes);
    close(fd);
    return n;
}

/* A writer that comes late, by `late` ms. */
static pid_t write_late(const char *name, int late, const char *text)
{
    pid_t pid = fork();
    if (pid == 0) {
        nanosleep(&(struct timespec){late / 1000, late % 1000 * 1000000L}, NULL);
        int fd = open(name, O_WRONLY);
        _exit(write(fd, text, strlen(text)) != (ssize_t)strlen(text));
    }
    return pid;
}

/* A pipe is read whenever its writer comes, also one that has nothing to say. */
START_TEST(pipes_are_waited_for)
{
    static const int late[] = {0, 200, 2500};
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    for (int i = 0; i < 3; i++) {
        int ended;
        pid_t pid = write_late(path, late[i], "abc");
        ck_assert_int_eq(read_input(path), 3);
        ck_assert_int_eq(waitpid(pid, &ended, 0), pid);
        ck_assert_int_eq(ended, 0);
    }
    pid_t pid = write_late(path, 200, "");
    ck_assert_int_eq(read_input(path), 0);
    waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(inputs_of_all_kinds)
{
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    int writer = open(path, O_RDWR);
    ck_assert_int_eq(write(writer, "abc", 3), 3);
    ck_assert_int_eq(read_input(path), 3);
    close(writer);
    ck_assert_int_eq(read_input("/dev/null"), 0);
    ck_assert_int_eq(asc_input_open(ctx, "/dev/zero"), -1);
    expect_error_with(ASC_ERR_IO, "/dev/zero: is a device, expected a file");
    ck_assert_int_eq(asc_input_open(ctx, folder), -1);
    expect_error_with(ASC_ERR_IO, "is a folder, expected a file");
    ck_assert_int_eq(asc_input_open(ctx, in_folder("none")), -1);
    expect_error_with(ASC_ERR_IO, "none: can't open: No such file");
    ck_assert_ptr_null(asc_file_read(in_folder("pipe")));
    FILE *file = asc_file_read(spill_text("x", "y"));
    ck_assert_ptr_nonnull(file);
    fclose(file);
}
END_TEST

/* Commas within strings are none; the limit is one of values. */
START_TEST(json_counts_values)
{
    static const char few[] = "{\"a,[,{\\\",\": [1, {}, \",,,\"]}";
    json_error_t where;
    json_t *object = asc_json_parse(few, strlen(few), 6, 0, &where);
    ck_assert(json_is_object(object));
    json_decref(object);
    ck_assert_ptr_null(asc_json_parse(few, strlen(few), 4, 0, &where));
    ck_assert_str_eq(where.text, "has more than 4 values");
    ck_assert_ptr_null(asc_json_parse("\"\\", 2, 4, 0, &where)); /* ends within what is escaped */
}
END_TEST

/* As many empty tensors as a header of 58 MB holds would take a gigabyte. */
START_TEST(a_header_of_a_million_tensors)
{
    enum { TENSORS = 600000, BYTES = 64 };
    char *text = malloc(8 + (size_t)TENSORS * BYTES), *at = text + 8;
    for (int i = 0; i < TENSORS; i++) {
        at += sprintf(at, "%c\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? ',' : '{', i);
    }
    *at++ = '}';
    uint64_t n = (uint64_t)(at - text - 8);
    for (int i = 0; i < 8; i++) {
        text[i] = (char)(n >> 8 * i);
    }
    ck_assert_ptr_null(asc_safetensors_open(ctx, spill("many.safetensors", text, (size_t)(at - text))));
    expect_error_with(ASC_ERR_FORMAT, "many.safetensors: its header is not valid JSON: ");
    ck_assert_uint_lt(asc_memory(ctx).peak_bytes, (size_t)64 << 20);
    free(text);
}
END_TEST

START_TEST(settings_of_many_bytes)
{
    size_t n = (4 << 20) + 1;
    char *text = malloc(n);
    spill("big.json", memset(text, ' ', n), n);
    free(text);
    ck_assert_ptr_null(asc_json_read(ctx, path, false));
    expect_error_with(ASC_ERR_FORMAT, "big.json: has more than 4194304 bytes");
}
END_TEST

START_TEST(settings_behind_a_mark)
{
    static const char text[] = "\xef\xbb\xbf{\"lr\": 1}";
    json_t *object = asc_json_read(ctx, spill("marked.json", text, sizeof text - 1), false);
    no_error();
    ck_assert_int_eq(json_integer_value(json_object_get(object, "lr")), 1);
    json_decref(object);
    ck_assert_ptr_null(asc_json_read(ctx, spill("mark.json", text, 3), false));
    expect_error_with(ASC_ERR_FORMAT, "mark.json: is empty");
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_test(all, pipes_are_waited_for);
    tcase_add_test(all, inputs_of_all_kinds);
    tcase_add_test(all, json_counts_values);
    tcase_add_test(all, a_header_of_a_million_tensors);
    tcase_add_test(all, settings_of_many_bytes);
    tcase_add_test(all, settings_behind_a_mark);
    return run_data_suite("data/limits", all);
}
