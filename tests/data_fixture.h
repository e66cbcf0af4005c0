/* tests/data_fixture.h: a context, a folder of its own for the test's files, and checks of errors. */
#ifndef TESTS_DATA_FIXTURE_H
#define TESTS_DATA_FIXTURE_H

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <ascgrad/data.h>

static asc_ctx *ctx;
static char folder[64], path[384];
static size_t held_at_start;
static long allocations_left; /* the allocator fails from then on; negative: never */

static void *fixture_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    void *p = NULL;
    if (allocations_left == 0) {
        return NULL;
    }
    allocations_left -= allocations_left > 0;
    return posix_memalign(&p, align, bytes) == 0 ? p : NULL;
}

static void fixture_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static void setup(void)
{
    allocations_left = -1;
    ctx = asc_ctx_new(&(asc_options){.threads = 1, .allocator = {fixture_alloc, fixture_free, NULL}});
    ck_assert_ptr_nonnull(ctx);
    held_at_start = asc_memory(ctx).bytes;
    strcpy(folder, "/tmp/ascgrad-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    ck_assert_uint_eq(asc_memory(ctx).bytes, held_at_start); /* nothing leaked */
    asc_ctx_free(ctx);
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        char name[400];
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        remove(name);
    }
    closedir(dir);
    rmdir(folder);
}

/* The path of a file in the test's folder; the same memory every time. */
static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Writes a file into the test's folder and returns its path. */
static const char *spill(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(in_folder(name), "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return path;
}

static inline const char *spill_text(const char *name, const char *text)
{
    return spill(name, text, strlen(text));
}

static inline const char *spill_gzip(const char *name, const void *bytes, size_t n)
{
    gzFile f = gzopen(in_folder(name), "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(gzwrite(f, bytes, (unsigned)n), (int)n);
    ck_assert_int_eq(gzclose(f), Z_OK);
    return path;
}

/* The error is `status` and its message, one line, holds `part`; cleared for what comes next. */
static inline void check_error(asc_status status, const char *part)
{
    ck_assert_int_eq(asc_error(ctx), status);
    ck_assert_msg(strstr(asc_error_message(ctx), part) != NULL, "'%s' lacks '%s'", asc_error_message(ctx), part);
    ck_assert_ptr_null(strchr(asc_error_message(ctx), '\n'));
    asc_error_clear(ctx);
}

/* The path of a file of the data folder; NULL, with a word about it, where there is none. */
static inline const char *data_file(const char *name)
{
    static char found[1024];
    const char *data = getenv("ASCGRAD_DATA");
    snprintf(found, sizeof found, "%s/%s", data ? data : "", name);
    if (!data || access(found, R_OK)) {
        printf("skipped: needs %s in the folder that ASCGRAD_DATA names\n", name);
        return NULL;
    }
    return found;
}

/* A small generator for tests (xorshift; Marsaglia 2003). */
static inline uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static inline int run_suite(const char *name, TCase *all)
{
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_set_timeout(all, 120);
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

#endif
