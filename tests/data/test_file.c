/* tests/data/test_file.c: files that are there as a whole, or not at all. */
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/data/fixture.h"

#include <ascgrad/file.h>

static char temporary[400];

static void name_files(void)
{
    snprintf(temporary, sizeof temporary, "%s.tmp", in_folder("x"));
}

START_TEST(atomic_replaces_and_leaves_nothing_aside)
{
    name_files();
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "first", 5), ASC_OK);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "second one", 10), ASC_OK);
    unsigned char bytes[32];
    ck_assert_uint_eq(slurp(path, bytes, sizeof bytes), 10);
    ck_assert_mem_eq(bytes, "second one", 10);
    ck_assert_int_ne(access(temporary, F_OK), 0);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, NULL, 0), ASC_OK);
    ck_assert_uint_eq(slurp(path, bytes, sizeof bytes), 0);
}
END_TEST

START_TEST(atomic_uses_what_a_killed_writer_left)
{
    name_files();
    spill_text("x.tmp", "half of a longer file");
    in_folder("x");
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "new", 3), ASC_OK);
    unsigned char bytes[32];
    ck_assert_uint_eq(slurp(path, bytes, sizeof bytes), 3);
    ck_assert_int_ne(access(temporary, F_OK), 0);
}
END_TEST

/* The limit on a file's size stands in for a full disk: write() comes up short, then fails. */
START_TEST(atomic_keeps_the_earlier_file_when_the_disk_is_full)
{
    name_files();
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "earlier", 7), ASC_OK);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small = {100000, 100000};
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    const size_t n = 400000;
    char *big = calloc(n, 1);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, big, n), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "x: can't write: File too large");
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, big, n / 2), ASC_ERR_IO); /* found out by the commit */
    expect_error_with(ASC_ERR_IO, "x: can't write: File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    free(big);
    unsigned char bytes[32];
    ck_assert_uint_eq(slurp(path, bytes, sizeof bytes), 7);
    ck_assert_int_ne(access(temporary, F_OK), 0);
}
END_TEST

START_TEST(atomic_refuses_a_second_writer)
{
    name_files();
    FILE *other = fopen(temporary, "wb");
    ck_assert_int_eq(flock(fileno(other), LOCK_EX), 0);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "x", 1), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "busy");
    ck_assert_int_eq(access(temporary, F_OK), 0);
    fclose(other);
}
END_TEST

START_TEST(atomic_leaves_pipes_and_devices_alone)
{
    name_files();
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "new", 3), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "x: is not a regular file");
    struct stat there;
    ck_assert(stat(path, &there) == 0 && S_ISFIFO(there.st_mode));
    ck_assert_int_ne(access(temporary, F_OK), 0);
}
END_TEST

START_TEST(atomic_refuses_what_it_cannot_write)
{
    name_files();
    ck_assert_int_eq(asc_file_write_atomic(ctx, NULL, "x", 1), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "path is NULL");
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, NULL, 1), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "bytes is NULL");
    ck_assert_int_eq(asc_file_write_atomic(ctx, "/nonexistent/f", "x", 1), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "/nonexistent/f: can't write: No such file or directory");
    ck_assert_int_eq(mkdir(path, 0777), 0); /* the rename fails */
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "x", 1), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "Is a directory");
    ck_assert_int_ne(access(temporary, F_OK), 0);
    rmdir(path);
    if (geteuid() != 0) {
        chmod(folder, 0555);
        ck_assert_int_eq(asc_file_write_atomic(ctx, path, "x", 1), ASC_ERR_IO);
        expect_error_with(ASC_ERR_IO, "Permission denied");
        chmod(folder, 0755);
    }
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_test(all, atomic_replaces_and_leaves_nothing_aside);
    tcase_add_test(all, atomic_uses_what_a_killed_writer_left);
    tcase_add_test(all, atomic_keeps_the_earlier_file_when_the_disk_is_full);
    tcase_add_test(all, atomic_refuses_a_second_writer);
    tcase_add_test(all, atomic_leaves_pipes_and_devices_alone);
    tcase_add_test(all, atomic_refuses_what_it_cannot_write);
    return run_data_suite("data/file", all);
}
