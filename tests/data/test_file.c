/* tests/data/test_file.c: files that are there as a whole, or not at all. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "data/file.h"
#include "tests/data/fixture.h"

#include <program/file.h>

static char temporary[400];

static void name_files(void)
{
    snprintf(temporary, sizeof temporary, "%s" ASC_FILE_TEMPORARY, in_folder("x"));
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

/* A file that only its owner may read stays one; a link is replaced, and what it names is not. */
START_TEST(atomic_keeps_the_mode_and_what_a_link_names)
{
    struct stat there;
    char target[400];
    snprintf(target, sizeof target, "%s", spill_text("target", "theirs"));
    name_files();
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "first", 5), ASC_OK);
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "second", 6), ASC_OK);
    ck_assert(stat(path, &there) == 0 && (there.st_mode & 0777) == 0600 && there.st_size == 6);
    ck_assert_int_eq(chmod(path, 0400), 0); /* and a killed writer's file can be written in any case */
    asc_output *o = asc_output_begin(ctx, path);
    ck_assert(stat(temporary, &there) == 0 && (there.st_mode & 0777) == 0600);
    ck_assert_int_eq(asc_output_end(o), ASC_OK);
    ck_assert(stat(path, &there) == 0 && (there.st_mode & 0777) == 0400);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "mine", 4), ASC_OK);
    ck_assert(lstat(path, &there) == 0 && S_ISREG(there.st_mode) && there.st_size == 4);
    ck_assert(stat(target, &there) == 0 && there.st_size == 6);
}
END_TEST

START_TEST(output_is_whole_or_not_there)
{
    name_files();
    asc_output *o = asc_output_begin(ctx, path);
    ck_assert_int_eq(asc_output_write(o, "first ", 6), ASC_OK);
    ck_assert_int_eq(asc_output_write(o, "results", 7), ASC_OK);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(asc_output_end(o), ASC_OK);
    unsigned char bytes[32];
    ck_assert_uint_eq(slurp(path, bytes, sizeof bytes), 13);
    o = asc_output_begin(ctx, path);
    ck_assert_int_eq(asc_output_write(o, "others", 6), ASC_OK);
    asc_fail(ctx, ASC_ERR_STATE, "from elsewhere");
    ck_assert_int_eq(asc_output_end(o), ASC_ERR_STATE);
    ck_assert(!asc_output_begin(ctx, path));
    expect_error_with(ASC_ERR_STATE, "from elsewhere");
    ck_assert_uint_eq(slurp(path, bytes, sizeof bytes), 13);
    ck_assert_mem_eq(bytes, "first results", 13);
    ck_assert_int_ne(access(temporary, F_OK), 0);
    ck_assert(!asc_output_begin(ctx, folder));
    expect_error_with(ASC_ERR_IO, "Is a directory");
}
END_TEST

START_TEST(atomic_uses_what_a_killed_writer_left)
{
    name_files();
    spill_text("x" ASC_FILE_TEMPORARY, "half of a longer file");
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

static void *let_go_soon(void *other)
{
    nanosleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
    fclose(other);
    return NULL;
}

START_TEST(atomic_waits_for_another_writer)
{
    name_files();
    FILE *other = fopen(temporary, "wb");
    ck_assert_int_eq(flock(fileno(other), LOCK_EX), 0);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "x", 1), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "x: another process is writing it");
    ck_assert_int_eq(access(temporary, F_OK), 0);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, let_go_soon, other), 0);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "x", 1), ASC_OK);
    pthread_join(thread, NULL);
    ck_assert_int_ne(access(temporary, F_OK), 0);
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

/* What lies beside a file of ours is neither written through nor waited for. */
START_TEST(atomic_refuses_a_temporary_name_that_is_no_file)
{
    name_files();
    char other[400];
    snprintf(other, sizeof other, "%s", spill_text("other", "someone's"));
    in_folder("x");
    ck_assert_int_eq(symlink(other, temporary), 0);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "new", 3), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "x" ASC_FILE_TEMPORARY ": is a symbolic link, expected a regular file");
    ck_assert_int_eq(unlink(temporary), 0);
    ck_assert_int_eq(mkfifo(temporary, 0600), 0);
    ck_assert_int_eq(asc_file_write_atomic(ctx, path, "new", 3), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "x" ASC_FILE_TEMPORARY ": is a pipe, expected a regular file");
    unsigned char bytes[32];
    ck_assert_uint_eq(slurp(other, bytes, sizeof bytes), 9);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* A name that a person gave may be a link; one of our own may not. None is waited for. */
START_TEST(only_regular_files_are_opened)
{
    char link[400];
    snprintf(link, sizeof link, "%s", in_folder("link"));
    spill_text("x", "text");
    ck_assert_int_eq(symlink(path, link), 0);
    int fd = asc_file_open(ctx, link, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(asc_file_open(ctx, link, O_RDONLY | O_NOFOLLOW), -1);
    expect_error_with(ASC_ERR_IO, "link: is a symbolic link, expected a regular file");
    ck_assert_int_eq(asc_file_check_own(ctx, path), ASC_OK);
    ck_assert_int_eq(asc_file_check_own(ctx, in_folder("none")), ASC_OK);
    ck_assert_int_eq(asc_file_check_own(ctx, link), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "link: is a symbolic link");
    ck_assert_int_eq(asc_file_open(ctx, path, O_RDONLY), -1);
    expect_error_with(ASC_ERR_IO, "none: can't open: No such file");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(asc_file_open(ctx, path, O_RDONLY), -1);
    expect_error_with(ASC_ERR_IO, "is a pipe");
    ck_assert_int_eq(asc_file_open(ctx, path, O_WRONLY), -1);
    expect_error_with(ASC_ERR_IO, "is a pipe");
    ck_assert_int_eq(asc_file_open(ctx, "/dev/null", O_RDONLY), -1);
    expect_error_with(ASC_ERR_IO, "/dev/null: is a device");
    ck_assert_int_eq(asc_file_open(ctx, folder, O_RDONLY), -1);
    expect_error_with(ASC_ERR_IO, "is a folder");
    ck_assert_ptr_null(asc_text_open(ctx, link, ASC_TEXT_OWN));
    expect_error_with(ASC_ERR_IO, "link: is a symbolic link");
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
    ck_assert_int_eq(mkdir(path, 0777), 0);
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
    tcase_add_test(all, atomic_keeps_the_mode_and_what_a_link_names);
    tcase_add_test(all, output_is_whole_or_not_there);
    tcase_add_test(all, atomic_uses_what_a_killed_writer_left);
    tcase_add_test(all, atomic_keeps_the_earlier_file_when_the_disk_is_full);
    tcase_add_test(all, atomic_waits_for_another_writer);
    tcase_add_test(all, atomic_leaves_pipes_and_devices_alone);
    tcase_add_test(all, atomic_refuses_a_temporary_name_that_is_no_file);
    tcase_add_test(all, only_regular_files_are_opened);
    tcase_add_test(all, atomic_refuses_what_it_cannot_write);
    return run_data_suite("data/file", all);
}
