/* tests/data/test_npz.c: .npz files, read back byte for byte by a reader of the test's own, and refused. */
#include <math.h>

#include "data/byte_order.h"
#include "tests/data/fixture.h"

#include <ascgrad/npz.h>
#include <ascgrad/ops.h>

enum { FILE_MAX = 1 << 16, LOCAL_BYTES = 30, CENTRAL_BYTES = 46, END_BYTES = 22 };

static unsigned char file[FILE_MAX];
static size_t file_bytes;

/* ---- a reader: what the format's description says, and no more ---- */

typedef struct member {
    char name[64];
    char dictionary[256]; /* of the .npy, without the filling */
    const unsigned char *elements;
    size_t bytes;
} member;

static uint32_t number(const unsigned char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) {
        value |= (uint32_t)at[i] << 8 * i;
    }
    return value;
}

static void read_npy(member *m, const unsigned char *npy, size_t bytes)
{
    ck_assert_mem_eq(npy, "\x93NUMPY\1\0", 8);
    size_t n = number(npy + 8, 2), trimmed = n - 1;
    ck_assert_uint_eq((10 + n) % 64, 0);
    ck_assert_int_eq(npy[10 + n - 1], '\n');
    while (npy[10 + trimmed - 1] == ' ') {
        trimmed--;
    }
    snprintf(m->dictionary, sizeof m->dictionary, "%.*s", (int)trimmed, npy + 10);
    m->elements = npy + 10 + n;
    m->bytes = bytes - 10 - n;
}

/* Member i, found by the central directory; the local header must say the same. */
static member read_member(int i)
{
    const unsigned char *end = file + file_bytes - END_BYTES;
    ck_assert_uint_eq(number(end, 4), 0x06054b50);
    ck_assert_uint_lt((uint32_t)i, number(end + 10, 2));
    ck_assert_uint_eq(number(end + 12, 4) + number(end + 16, 4) + END_BYTES, file_bytes);
    const unsigned char *central = file + number(end + 16, 4);
    for (; i > 0; i--) {
        central += CENTRAL_BYTES + number(central + 28, 2);
    }
    ck_assert_uint_eq(number(central, 4), 0x02014b50);
    const unsigned char *local = file + number(central + 42, 4);
    ck_assert_uint_eq(number(local, 4), 0x04034b50);
    ck_assert_mem_eq(local + 4, central + 6, LOCAL_BYTES - 4);
    size_t name = number(local + 26, 2), bytes = number(local + 18, 4);
    ck_assert_uint_eq(number(local + 8, 2), 0);
    ck_assert_uint_eq(number(local + 22, 4), bytes);
    const unsigned char *content = local + LOCAL_BYTES + name;
    ck_assert_uint_eq(number(local + 14, 4), crc32(0, content, (uInt)bytes));
    member m;
    snprintf(m.name, sizeof m.name, "%.*s", (int)name, local + LOCAL_BYTES);
    read_npy(&m, content, bytes);
    return m;
}

static int members(void)
{
    return (int)number(file + file_bytes - END_BYTES + 8, 2);
}

static void write_ok(const asc_npz_array *arrays, int64_t n)
{
    asc_npz_write(ctx, path, arrays, n);
    ck_assert_msg(asc_error(ctx) == ASC_OK, "%s", asc_error_message(ctx));
    file_bytes = slurp(path, file, FILE_MAX);
    ck_assert_uint_lt(file_bytes, FILE_MAX);
}

/* ---- what is written ---- */

START_TEST(tensors_of_every_dtype_and_shape)
{
    const float f32[6] = {1, -2.5f, 3e-9f, 0, 1e30f, NAN};
    const double f64[2] = {1e300, -7};
    const int64_t i64[3] = {1, -2, INT64_MAX};
    const uint8_t u8[5] = {0, 1, 2, 254, 255};
    const asc_npz_array arrays[] = {
        {.name = "a", .tensor = asc_from(ctx, ASC_F32, f32, ASC_SHAPE(2, 3))},
        {.name = "b", .tensor = asc_from(ctx, ASC_F64, f64, ASC_SHAPE(1, 2, 1))},
        {.name = "c", .tensor = asc_from(ctx, ASC_I64, i64, ASC_SHAPE(3))},
        {.name = "d", .tensor = asc_from(ctx, ASC_U8, u8, ASC_SHAPE(5))},
        {.name = "e", .tensor = asc_scalar(ctx, ASC_F64, -7)},
        {.name = "f", .tensor = asc_zeros(ctx, ASC_F32, ASC_SHAPE(0, 4))},
    };
    static const struct {
        const char *name, *dictionary;
        size_t bytes;
    } expected[] = {
        {"a.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", sizeof f32},
        {"b.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 1), }", sizeof f64},
        {"c.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", sizeof i64},
        {"d.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }", sizeof u8},
        {"e.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 8},
        {"f.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }", 0},
    };
    const void *values[] = {f32, f64, i64, u8, &f64[1], f32};
    static const size_t widths[] = {4, 8, 8, 1, 8, 4};
    unsigned char in_order[sizeof f32];
    write_ok(arrays, 6);
    ck_assert_int_eq(members(), 6);
    for (int i = 0; i < 6; i++) {
        member m = read_member(i);
        ck_assert_str_eq(m.name, expected[i].name);
        ck_assert_str_eq(m.dictionary, expected[i].dictionary);
        ck_assert_uint_eq(m.bytes, expected[i].bytes);
        memcpy(in_order, values[i], m.bytes);
        asc_file_order(in_order, m.bytes / widths[i], widths[i]);
        ck_assert_mem_eq(m.elements, in_order, m.bytes);
    }
}
END_TEST

START_TEST(strided_tensors_are_packed)
{
    const float rows[6] = {0, 1, 2, 3, 4, 5};
    float columns[6] = {0, 3, 1, 4, 2, 5};
    asc_tensor t = asc_transpose(ctx, asc_from(ctx, ASC_F32, rows, ASC_SHAPE(2, 3)), 0, 1);
    write_ok(&(asc_npz_array){.name = "t", .tensor = t}, 1);
    member m = read_member(0);
    ck_assert_str_eq(m.dictionary, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }");
    ck_assert_uint_eq(m.bytes, sizeof columns);
    asc_file_order(columns, 6, sizeof *columns);
    ck_assert_mem_eq(m.elements, columns, sizeof columns);
}
END_TEST

START_TEST(texts_are_unicode_of_one_width)
{
    static const char *const texts[] = {"a\"b'", "", "\xc3\xa9t\xc3\xa9\xf0\x9f\x98\x80"};
    uint32_t codes[3][4] = {{'a', '"', 'b', '\''}, {0}, {0xe9, 't', 0xe9, 0x1f600}};
    const asc_npz_array arrays[] = {{.name = "tokens", .texts = texts, .n_texts = 3}, {.name = "none", .texts = texts}};
    write_ok(arrays, 2);
    member m = read_member(0);
    ck_assert_str_eq(m.dictionary, "{'descr': '<U4', 'fortran_order': False, 'shape': (3,), }");
    ck_assert_uint_eq(m.bytes, sizeof codes);
    asc_file_order(codes, 12, sizeof **codes);
    ck_assert_mem_eq(m.elements, codes, sizeof codes);
    ck_assert_str_eq(read_member(1).dictionary, "{'descr': '<U1', 'fortran_order': False, 'shape': (0,), }");
}
END_TEST

START_TEST(an_empty_archive_and_the_same_bytes_again)
{
    write_ok(NULL, 0);
    ck_assert_uint_eq(file_bytes, END_BYTES);
    asc_tensor t = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3));
    write_ok(&(asc_npz_array){.name = "x", .tensor = t}, 1);
    size_t n = file_bytes;
    uLong crc = crc32(0, file, (uInt)n);
    write_ok(&(asc_npz_array){.name = "x", .tensor = t}, 1);
    ck_assert_uint_eq(file_bytes, n);
    ck_assert_uint_eq(crc32(0, file, (uInt)n), crc);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(wrong_arguments_are_named)
{
    char longest[1002];
    memset(longest, 'x', 1001);
    longest[1001] = 0;
    static const char *const wrong[] = {"fine", "\xff"}, *const missing[] = {NULL};
    asc_tensor t = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3)), gone = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3));
    asc_release(gone);
    const struct {
        asc_npz_array second;
        const char *message;
    } cases[] = {
        {{.name = NULL, .tensor = t}, "the name of array 1 is NULL"},
        {{.name = "", .tensor = t}, "the name of array 1 is empty"},
        {{.name = "\xff", .tensor = t}, "the name of array 1 is too long or not UTF-8"},
        {{.name = longest, .tensor = t}, "the name of array 1 is too long or not UTF-8"},
        {{.name = "first", .tensor = t}, "'first' is given twice"},
        {{.name = "x"}, "'x' has neither a tensor nor texts"},
        {{.name = "x", .tensor = gone}, "the tensor of 'x' is gone"},
        {{.name = "x", .texts = wrong, .n_texts = 2}, "text 1 of 'x' is not UTF-8"},
        {{.name = "x", .texts = missing, .n_texts = 1}, "text 0 of 'x' is NULL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const asc_npz_array arrays[] = {{.name = "first", .tensor = t}, cases[i].second};
        ck_assert_int_eq(asc_npz_write(ctx, path, arrays, 2), ASC_ERR_ARG);
        expect_error_with(ASC_ERR_ARG, cases[i].message);
        ck_assert_int_ne(access(path, F_OK), 0);
    }
    ck_assert_int_eq(asc_npz_write(ctx, NULL, NULL, 0), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "path is NULL");
    ck_assert_int_eq(asc_npz_write(ctx, path, NULL, 2), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "arrays is NULL");
    ck_assert_int_eq(asc_npz_write(ctx, path, NULL, -1), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "got -1 arrays");
    ck_assert_int_eq(asc_npz_write(ctx, in_folder("none/x.npz"), NULL, 0), ASC_ERR_IO);
    expect_error_with(ASC_ERR_IO, "none/x.npz");
}
END_TEST

/* One element that is seen 2^31 times. */
START_TEST(four_gibibytes_are_refused)
{
    asc_tensor huge = asc_expand(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(1)), ASC_SHAPE(INT64_C(1) << 31));
    ck_assert_int_eq(asc_npz_write(ctx, path, &(asc_npz_array){.name = "x", .tensor = huge}, 1), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "4 GiB or more");
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static const char *const texts[] = {"a", "bc"};
    asc_tensor t = asc_transpose(ctx, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), 0, 1);
    const asc_npz_array arrays[] = {{.name = "t", .tensor = t}, {.name = "s", .texts = texts, .n_texts = 2}};
    size_t held = asc_memory(ctx).bytes;
    asc_status status = ASC_ERR_MEMORY;
    long n = 0;
    for (; status && n < 100; n++) {
        heap_fail_after(&memory, n);
        status = asc_npz_write(ctx, path, arrays, 2);
        memory.fail_at = NEVER;
        if (status) {
            expect_error_with(ASC_ERR_MEMORY, "");
            ck_assert_int_ne(access(path, F_OK), 0);
        }
        ck_assert_uint_eq(asc_memory(ctx).bytes, held);
    }
    ck_assert_int_eq(status, ASC_OK);
    ck_assert_int_gt(n, 3);
}
END_TEST

/* ---- reading ---- */

START_TEST(what_was_written_is_read)
{
    static const char *const words[] = {"a", "b"};
    asc_tensor t[] = {asc_from(ctx, ASC_F32, (float[]){1, -2, NAN, 4, 5, 6}, ASC_SHAPE(2, 3)),
                      asc_scalar(ctx, ASC_F64, .1), asc_from(ctx, ASC_I64, (int64_t[]){INT64_MIN, 7}, ASC_SHAPE(2)),
                      asc_zeros(ctx, ASC_U8, ASC_SHAPE(0, 4))};
    const asc_npz_array arrays[] = {{"f", asc_transpose(ctx, t[0], 0, 1), NULL, 0}, {"d", t[1], NULL, 0},
                                    {"words", asc_null(), words, 2}, {"i", t[2], NULL, 0}, {"u", t[3], NULL, 0}};
    asc_npz_write(ctx, path, arrays, 5);
    asc_params *read = asc_params_new(ctx);
    asc_npz_read(ctx, path, read);
    no_error();
    ck_assert_int_eq(asc_params_count(read), 4); /* texts are left out */
    asc_tensor f = asc_params_find(read, "f");
    ck_assert(asc_size(f, 0) == 3 && asc_size(f, 1) == 2 && ((const float *)asc_data(f))[1] == 4);
    ck_assert(asc_item(asc_params_find(read, "d")) == .1);
    ck_assert_mem_eq(asc_data(asc_params_find(read, "i")), ((int64_t[]){INT64_MIN, 7}), 16);
    ck_assert(asc_dtype_of(asc_params_find(read, "u")) == ASC_U8 && asc_size(asc_params_find(read, "u"), 1) == 4);
    asc_npz_read(ctx, path, read);
    expect_error_with(ASC_ERR_FORMAT, "'f': is there already, expected distinct names");
    asc_npy_write(ctx, path, arrays[0].tensor);
    asc_tensor one = asc_npy_read(ctx, path);
    no_error();
    ck_assert(asc_ndim(one) == 2 && ((const float *)asc_data(one))[1] == 4);
    asc_params_free(read);
}
END_TEST

/* What NumPy writes of an array in Fortran's order, in several dtypes. */
START_TEST(other_layouts_are_converted)
{
    static const struct {
        const char *type;
        size_t bytes;
        const char *elements;
        int64_t values[6];
    } cases[] = {
        {"<i2", 12, "\1\0\4\0\2\0\5\0\3\0\xfa\xff", {1, 2, 3, 4, 5, -6}},
        {"|i1", 6, "\1\4\2\5\3\xfa", {1, 2, 3, 4, 5, -6}},
        {"<u2", 12, "\1\0\4\0\2\0\5\0\3\0\xfa\xff", {1, 2, 3, 4, 5, 65530}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char npy[256];
        int n = snprintf(npy + 10, sizeof npy - 10, "{'descr': '%s', 'fortran_order': True, 'shape': (2, 3), }\n",
                         cases[c].type);
        memcpy(npy, "\x93NUMPY\1\0", 8);
        npy[8] = (char)n;
        npy[9] = 0;
        memcpy(npy + 10 + n, cases[c].elements, cases[c].bytes);
        asc_tensor t = asc_npy_read(ctx, spill("order.npy", npy, 10 + (size_t)n + cases[c].bytes));
        no_error();
        ck_assert(asc_size(t, 0) == 2 && asc_dtype_of(t) == ASC_I64);
        ck_assert_mem_eq(asc_data(t), cases[c].values, sizeof cases[c].values);
        asc_npy_read(ctx, spill("cut.npy", npy, 10 + (size_t)n + cases[c].bytes - 1));
        expect_error_with(ASC_ERR_FORMAT, "is cut short");
    }
}
END_TEST

/* Any byte that is changed gives the same arrays, others, or a clean refusal; a file that is cut is refused. */
START_TEST(damage_is_refused_or_harmless)
{
    static unsigned char whole[2048], changed[2048];
    asc_tensor t = asc_from(ctx, ASC_F64, (double[]){1, 2, 3}, ASC_SHAPE(3));
    asc_npz_write(ctx, path, &(asc_npz_array){"x", t, NULL, 0}, 1);
    size_t n = slurp(path, whole, sizeof whole);
    int refused = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        asc_params *read = asc_params_new(ctx);
        memcpy(changed, whole, n);
        changed[i % n] ^= 0x41;
        asc_status status = asc_npz_read(ctx, spill("damaged.npz", changed, i < n ? n : i - n), read);
        refused += i < n && status == ASC_ERR_FORMAT;
        ck_assert(i < n || status == ASC_ERR_FORMAT);
        asc_params_free(read);
        asc_error_clear(ctx);
    }
    ck_assert_int_gt(refused, (int)n / 2);
}
END_TEST

/* Central headers that name one member's bytes would unpack to any size; more than the record can count are refused. */
START_TEST(members_that_share_bytes_are_refused)
{
    static unsigned char whole[4096], twice[4096];
    asc_tensor t = asc_zeros(ctx, ASC_F64, ASC_SHAPE(40));
    asc_npz_write(ctx, path, &(asc_npz_array){"x", t, NULL, 0}, 1);
    size_t n = slurp(path, whole, sizeof whole), end = n - 22, central = end - 46 - strlen("x.npy");
    memcpy(twice, whole, end);
    memcpy(twice + end, whole + central, end - central); /* the same member again, as y */
    twice[2 * end - central - 5] = 'y';
    memcpy(twice + 2 * end - central, whole + end, 22);
    size_t size = 2 * end - central + 22;
    twice[size - 22 + 8] = twice[size - 22 + 10] = 2;
    asc_params *read = asc_params_new(ctx);
    ck_assert_int_eq(asc_npz_read(ctx, spill("twice.npz", twice, size), read), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, "'y.npy': shares its bytes with another one");
    memset(twice + size - 22 + 8, 0xff, 4);
    ck_assert_int_eq(asc_npz_read(ctx, spill("many.npz", twice, size), read), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, "has too many arrays, expected fewer than 65535");
    asc_params_free(read);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_test(all, tensors_of_every_dtype_and_shape);
    tcase_add_test(all, strided_tensors_are_packed);
    tcase_add_test(all, texts_are_unicode_of_one_width);
    tcase_add_test(all, an_empty_archive_and_the_same_bytes_again);
    tcase_add_test(all, what_was_written_is_read);
    tcase_add_test(all, other_layouts_are_converted);
    tcase_add_test(all, damage_is_refused_or_harmless);
    tcase_add_test(all, members_that_share_bytes_are_refused);
    tcase_add_test(all, wrong_arguments_are_named);
    tcase_add_test(all, four_gibibytes_are_refused);
    tcase_add_test(all, every_allocation_may_fail);
    return run_data_suite("data/npz", all);
}
