/* tests/train/test_claim.c: claims: one process at a time, dead ones' taken over by one of those who want them. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/context.h"
#include "tests/folder.h"
#include "train/run/claim.h"

static char path[400];

static void setup_claim(void)
{
    setup_one_thread();
    make_folder();
    snprintf(path, sizeof path, "%s/running", folder);
}

static void teardown_claim(void)
{
    remove_tree(folder);
    teardown();
}

/* A claim that should be had; or NULL where another has it. */
static asc_claim *take(asc_claim_holder *other)
{
    asc_claim *claim;
    asc_claim_holder ignored;
    ck_assert_int_eq(asc_claim_take(ctx, path, &claim, other ? other : &ignored), ASC_OK);
    return claim;
}

static int count_files(void)
{
    int n = -2; /* . and .. */
    DIR *dir = opendir(folder);
    while (readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

static void write_text(const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void set_age(time_t seconds)
{
    struct timespec at = {time(NULL) - seconds, 0};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, (struct timespec[]){at, at}, 0), 0);
}

START_TEST(one_at_a_time)
{
    asc_claim_holder other;
    ck_assert(!asc_claim_alive(path, NULL));
    asc_claim *claim = take(NULL);
    ck_assert_ptr_nonnull(claim);
    ck_assert(asc_claim_held(claim) && asc_claim_alive(path, &other) && other.pid == getpid());
    ck_assert_int_eq(count_files(), 1);
    other.pid = 0;
    ck_assert_ptr_null(take(&other));
    ck_assert_int_eq(other.pid, getpid());
    ck_assert_str_ne(other.host, "");
    ck_assert_int_eq(count_files(), 1);
    asc_claim_drop(claim);
    ck_assert_int_eq(count_files(), 0);
    claim = take(NULL);
    ck_assert_ptr_nonnull(claim);
    asc_claim_drop(claim);
}
END_TEST

/* Takes the claim in a process of its own, which is killed: `reaped`, or a zombie. Its id. */
static pid_t die_with_claim(bool reaped)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)!write(ready[1], take(NULL) ? "y" : "n", 1);
        pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'y');
    asc_claim_holder other;
    ck_assert_ptr_null(take(&other));
    ck_assert_int_eq(other.pid, pid);
    kill(pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | (reaped ? 0 : WNOWAIT));
    close(ready[0]);
    close(ready[1]);
    return pid;
}

START_TEST(a_dead_process_on_this_host)
{
    pid_t pid = die_with_claim(_i == 0);
    ck_assert(!asc_claim_alive(path, NULL));
    asc_claim *claim = take(NULL);
    ck_assert_ptr_nonnull(claim);
    ck_assert_int_eq(count_files(), 1);
    ck_assert(asc_claim_held(claim));
    asc_claim_drop(claim);
    waitpid(pid, NULL, 0);
}
END_TEST

/* Another process has the number by now: ours, which started at another time. */
START_TEST(a_number_that_was_given_again)
{
    asc_claim *claim = take(NULL);
    char text[1024], *start;
    FILE *f = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    asc_claim_drop(claim);
    start = strstr(text, "\"start\": \"");
    ck_assert_ptr_nonnull(start);
    start[10] = start[10] == '1' ? '2' : '1';
    write_text(text);
    ck_assert(!asc_claim_alive(path, NULL));
    claim = take(NULL);
    ck_assert_ptr_nonnull(claim);
    asc_claim_drop(claim);
}
END_TEST

START_TEST(another_host)
{
    static const char *const texts[] = {"{\"host\": \"far\", \"pid\": 1, \"id\": \"0123\"}\n", "", "no claim\n"};
    asc_claim_holder other;
    int stale = _i == 0 ? ASC_CLAIM_STALE_S : ASC_CLAIM_WRITING_S; /* what says nothing is soon no claim any more */
    write_text(texts[_i]);
    set_age(_i == 0 ? stale - 10 : -60); /* ahead: however late we look */
    ck_assert(asc_claim_alive(path, &other));
    ck_assert_ptr_null(take(&other));
    ck_assert_str_eq(other.host, _i == 0 ? "far" : "");
    set_age(stale + 2);
    ck_assert(!asc_claim_alive(path, NULL));
    asc_claim *claim = take(NULL);
    ck_assert_ptr_nonnull(claim);
    ck_assert_int_eq(count_files(), 1);
    asc_claim_drop(claim);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

/* Where no file can be made, as on a full disk, what is dropped can't be removed: it says nothing any more. Here the
 * claim's name is so long that it can be had, but not the right to remove it. */
START_TEST(dropped_but_there)
{
    char *end = path + strlen(path);
    memset(end, 'x', 213); /* behind "running" */
    end[213] = '\0';
    asc_claim *claim = take(NULL);
    ck_assert_ptr_nonnull(claim);
    asc_claim_drop(claim);
    ck_assert_int_eq(count_files(), 1);
    set_age(ASC_CLAIM_WRITING_S + 2);
    claim = take(NULL);
    ck_assert_ptr_nonnull(claim);
    asc_claim_drop(claim);
}
END_TEST

/* Who stood still finds that another has it, and leaves it to that. */
START_TEST(taken_over)
{
    asc_claim *claim = take(NULL);
    ck_assert_int_eq(unlink(path), 0);
    write_text("{\"host\": \"far\", \"pid\": 1, \"id\": \"0123\"}\n");
    ck_assert(!asc_claim_held(claim));
    asc_claim_drop(claim);
    ck_assert_int_eq(count_files(), 1);
    asc_claim_holder other;
    ck_assert(asc_claim_alive(path, &other));
    ck_assert_str_eq(other.host, "far");
}
END_TEST

static void write_dead(void)
{
    write_text("{\"host\": \"far\", \"pid\": 1, \"id\": \"0123\"}\n");
    set_age(1000);
}

/* A process that tries to take the claim when the gate's other end closes, tells whether it has it, and lives on. */
static pid_t start_rival(const int gate[2], int tell)
{
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(gate[1]);
        (void)!read(gate[0], &byte, 1);
        (void)!write(tell, take(NULL) ? "y" : "n", 1);
        pause();
    }
    return pid;
}

enum { RIVALS = 6 };

/* How many of several that start at once have the claim. */
static int race(void)
{
    int gate[2], tell[2], had = 0;
    pid_t pid[RIVALS];
    char got;
    ck_assert_int_eq(pipe(gate) | pipe(tell), 0);
    for (int i = 0; i < RIVALS; i++) {
        pid[i] = start_rival(gate, tell[1]);
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < RIVALS; i++) {
        ck_assert_int_eq(read(tell[0], &got, 1), 1);
        had += got == 'y';
    }
    for (int i = 0; i < RIVALS; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
    close(tell[0]);
    close(tell[1]);
    return had;
}

/* Of several that find it dead at once one has it, also where another died while it took over. */
START_TEST(many_want_a_dead_one)
{
    for (int round = 0; round < 20; round++) {
        write_dead();
        if (round % 2) {
            char *end = path + strlen(path);
            strcpy(end, ".0123.over");
            write_dead();
            *end = '\0';
        }
        ck_assert_int_eq(race(), 1);
        unlink(path);
    }
}
END_TEST

/* Writes `text` to the file that stands beside the claim, `seconds` old. */
static void leave(const char *ending, const char *text, time_t seconds)
{
    char *end = path + strlen(path);
    strcpy(end, ending);
    write_text(text);
    set_age(seconds);
    *end = '\0';
}

/* Whoever takes the claim removes what processes left that were killed while they took or dropped it; not what is
 * another claim's, or a live process's. */
START_TEST(what_killed_processes_left_goes)
{
    static const char dead[] = "{\"host\": \"far\", \"pid\": 1, \"id\": \"89\"}\n";
    leave(".0123.over", dead, 1000);
    leave(".0123.over.4567.over", dead, 1000);
    leave(".unknown.over", "", 1000);
    leave(".0123.tmp", dead, 1000);
    leave(".0123.over.4567.tmp", "", 1000);
    leave(".5.0123.over", dead, 1000);
    leave(".5.0123.tmp", dead, 1000);
    leave(".89ab.over", dead, 0);
    leave(".89ab.tmp", "", 0);
    asc_claim *claim = take(NULL);
    ck_assert_ptr_nonnull(claim);
    ck_assert_int_eq(count_files(), 5);
    asc_claim_drop(claim);
    ck_assert_int_eq(count_files(), 4);
}
END_TEST

START_TEST(what_is_no_file)
{
    asc_claim *claim;
    asc_claim_holder other;
    if (_i == 0) {
        ck_assert_int_eq(mkdir(path, 0777), 0);
    } else {
        ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    }
    ck_assert_int_eq(asc_claim_take(ctx, path, &claim, &other), ASC_ERR_IO);
    ck_assert_ptr_null(claim);
    expect_error_with(ASC_ERR_IO, "running: is no regular file");
    strcat(path, "/none/running");
    ck_assert_int_eq(asc_claim_take(ctx, path, &claim, &other), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "running: N");
}
END_TEST

int main(void)
{
    TCase *claims = tcase_create("claims");
    tcase_add_checked_fixture(claims, setup_claim, teardown_claim);
    tcase_add_test(claims, one_at_a_time);
    tcase_add_loop_test(claims, a_dead_process_on_this_host, 0, 2);
    tcase_add_test(claims, a_number_that_was_given_again);
    tcase_add_loop_test(claims, another_host, 0, 3);
    tcase_add_test(claims, dropped_but_there);
    tcase_add_test(claims, taken_over);
    tcase_add_test(claims, many_want_a_dead_one);
    tcase_add_test(claims, what_killed_processes_left_goes);
    tcase_add_loop_test(claims, what_is_no_file, 0, 2);
    return run_suite("claims", claims);
}
