/* tests/tensor/test_format.c: tensors as people read them, statuses in words. */
#include <math.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "tests/context.h"

static void expect_text(asc_tensor t, const char *text)
{
    char got[2000], cut[9];
    size_t n = asc_format(t, got, sizeof got);
    ck_assert_str_eq(got, text);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_uint_eq(asc_format(t, NULL, 0), n);
    ck_assert_uint_eq(asc_format(t, cut, sizeof cut), n);
    ck_assert(strlen(cut) == (n < 8 ? n : 8) && strncmp(cut, text, strlen(cut)) == 0);
    char *written = NULL;
    size_t bytes;
    FILE *f = open_memstream(&written, &bytes);
    ck_assert_int_eq(asc_write(ctx, t, f), ASC_OK);
    fclose(f);
    ck_assert(bytes == n + 1 && strncmp(written, text, n) == 0 && written[n] == '\n');
    free(written);
}

START_TEST(texts)
{
    expect_text(asc_scalar(ctx, ASC_F64, -.25), "f64 () -0.25");
    expect_text(asc_from(ctx, ASC_F32, (float[]){1, -NAN, 1e6f}, ASC_SHAPE(3)), "f32 (3) [    1,   nan, 1e+06]");
    asc_tensor x = asc_from(ctx, ASC_I64, (int64_t[]){1, 2, 3, 4, 5, -6}, ASC_SHAPE(2, 3));
    expect_text(x, "i64 (2, 3)\n[[ 1,  2,  3],\n [ 4,  5, -6]]");
    expect_text(asc_transpose(ctx, x, 0, 1), "i64 (3, 2)\n[[ 1,  4],\n [ 2,  5],\n [ 3, -6]]");
    expect_text(asc_reshape(ctx, x, ASC_SHAPE(2, 1, 3)), "i64 (2, 1, 3)\n[[[ 1,  2,  3]],\n\n [[ 4,  5, -6]]]");
    expect_text(asc_from(ctx, ASC_U8, (uint8_t[]){3, 200}, ASC_SHAPE(2)), "u8 (2) [  3, 200]");
    expect_text(asc_zeros(ctx, ASC_U8, ASC_SHAPE(2, 0)), "u8 (2, 0)\n[[],\n []]");
    expect_text(asc_arange(ctx, ASC_I64, 0, 100, 1), "i64 (100) [ 0,  1,  2, ..., 97, 98, 99]");
    expect_text(asc_arange(ctx, ASC_I64, 0, 8, 1), "i64 (8) [0, 1, 2, 3, 4, 5, 6, 7]");
    expect_text(asc_null(), "no tensor");
    asc_release(x);
    expect_text(x, "a tensor that is gone");
    no_error();
}
END_TEST

START_TEST(a_full_file_is_an_error)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        return;
    }
    setvbuf(full, NULL, _IONBF, 0);
    ck_assert_int_eq(asc_write(ctx, asc_scalar(ctx, ASC_F32, 1), full), ASC_ERR_IO);
    expect_error(ASC_ERR_IO, "write: the file takes no more");
    fclose(full);
}
END_TEST

START_TEST(statuses)
{
    ck_assert_str_eq(asc_status_name(ASC_OK), "ok");
    ck_assert_str_eq(asc_status_name(ASC_ERR_ARG), "wrong argument");
    ck_assert_str_eq(asc_status_name(ASC_ERR_INTERRUPTED), "interrupted");
    ck_assert_str_eq(asc_status_name((asc_status)99), "unknown status");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("format");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, texts);
    tcase_add_test(t, a_full_file_is_an_error);
    tcase_add_test(t, statuses);
    return run_suite("format", t);
}
