/* tests/data/fixture.h: files of a test's own and real data, for the tests of what reads and writes them. */
#ifndef TESTS_DATA_FIXTURE_H
#define TESTS_DATA_FIXTURE_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <ascgrad/data.h>

#include "tests/context.h"
#include "tests/draw.h"
#include "tests/folder.h"

static char path[384];

#define FILE_NAME "file" /* what `path` is at first; there is none yet */

/* The path of a file in the test's folder; the same memory every time. */
static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void setup_data(void)
{
    setup_one_thread();
    make_folder();
    in_folder(FILE_NAME);
}

static void teardown_data(void)
{
    teardown();
    remove_tree(folder);
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

/* The first bytes of a file, at most `most`; how many. */
static inline size_t slurp(const char *name, unsigned char *bytes, size_t most)
{
    FILE *f = fopen(name, "rb");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(bytes, 1, most, f);
    fclose(f);
    return n;
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

/* A split that is made again and again, at the next allocation and all after it failing: an error and no leak, until
 * none fails. `make` leaves nothing but the split. */
static inline void fail_each_allocation_of(asc_split *(*make)(void))
{
    size_t held = asc_memory(ctx).bytes;
    int failures = -1;
    for (bool made = false; !made;) {
        heap_fail_after(&memory, ++failures);
        asc_split *split = make();
        made = split != NULL;
        ck_assert_int_eq(asc_error(ctx), made ? ASC_OK : ASC_ERR_MEMORY);
        asc_error_clear(ctx);
        asc_split_free(ctx, split);
        ck_assert_uint_eq(asc_memory(ctx).bytes, held);
    }
    ck_assert_int_gt(failures, 10);
}

/* Runs the tests of one case; what main returns. */
static inline int run_data_suite(const char *name, TCase *all)
{
    tcase_add_checked_fixture(all, setup_data, teardown_data);
    return run_suite(name, all);
}

#endif
