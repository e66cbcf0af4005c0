/* tests/data/test_safetensors.c: safetensors written, read, damaged and refused. */
#include <math.h>

#include "data/byte_order.h"
#include "data/file.h"
#include "tests/data/fixture.h"

#include <ascgrad/ops.h>
#include <ascgrad/safetensors.h>

/* A file of this header and `data_bytes` bytes of data that count up. */
static void spill_header(const char *json, size_t data_bytes)
{
    unsigned char bytes[4096] = {0};
    size_t n = strlen(json);
    ck_assert_uint_le(8 + n + data_bytes, sizeof bytes);
    bytes[0] = (unsigned char)n;
    bytes[1] = (unsigned char)(n >> 8);
    memcpy(bytes + 8, json, n);
    for (size_t i = 0; i < data_bytes; i++) {
        bytes[8 + n + i] = (unsigned char)i;
    }
    spill(FILE_NAME, bytes, 8 + n + data_bytes);
}

/* ---- writing and reading back ---- */

static const double values[6] = {1, -2.5, 3e-9, 0, 1e30, -7};

static void write_sample(const char *name)
{
    const int64_t numbers[3] = {1, -2, INT64_MAX};
    const uint8_t bytes[5] = {0, 1, 2, 254, 255};
    asc_named_tensor tensors[] = {
        {"u8", asc_from(ctx, ASC_U8, bytes, ASC_SHAPE(5))},
        {"f64", asc_from(ctx, ASC_F64, values, ASC_SHAPE(2, 3))},
        {"scalar", asc_scalar(ctx, ASC_F32, 0.25)},
        {"i64", asc_from(ctx, ASC_I64, numbers, ASC_SHAPE(3))},
        {"empty", asc_empty(ctx, ASC_F32, ASC_SHAPE(0, 4))},
    };
    asc_safetensors_pair metadata[] = {{"z", "last \"quoted\" é"}, {"a", ""}};
    asc_safetensors_write(ctx, name, tensors, 5, metadata, 2);
    no_error();
    for (int i = 0; i < 5; i++) {
        asc_release(tensors[i].tensor);
    }
}

START_TEST(round_trip)
{
    write_sample(path);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    no_error();
    ck_assert_int_eq(asc_safetensors_count(file), 5);
    ck_assert_str_eq(asc_safetensors_metadata(file, "z"), "last \"quoted\" é");
    ck_assert_str_eq(asc_safetensors_metadata_at(file, 1)->key, "a");
    ck_assert_ptr_null(asc_safetensors_metadata_at(file, 2));
    ck_assert_ptr_null(asc_safetensors_metadata(file, "b"));
    const char *const order[] = {"f64", "i64", "empty", "scalar", "u8"};
    for (int i = 0; i < 5; i++) {
        const asc_safetensors_entry *e = asc_safetensors_at(file, i);
        ck_assert_str_eq(e->name, order[i]);
        ck_assert_ptr_eq(asc_safetensors_find(file, order[i]), e);
        ck_assert_int_eq(e->bytes ? e->offset % (int64_t)asc_dtype_size(e->dtype) : 0, 0);
    }
    ck_assert_ptr_null(asc_safetensors_find(file, "f32"));

    asc_tensor t = asc_safetensors_read(ctx, file, "f64", ASC_SAFETENSORS_STORED);
    ck_assert_int_eq(asc_dtype_of(t), ASC_F64);
    ck_assert_int_eq(asc_size(t, 1), 3);
    ck_assert_mem_eq(asc_data(t), values, sizeof values);
    t = asc_safetensors_read(ctx, file, "f64", ASC_F32);
    for (int i = 0; i < 6; i++) {
        ck_assert(((const float *)asc_data(t))[i] == (float)values[i]);
    }
    t = asc_safetensors_read(ctx, file, "scalar", ASC_F64);
    ck_assert_int_eq(asc_ndim(t), 0);
    ck_assert(asc_item(t) == 0.25);
    t = asc_safetensors_read(ctx, file, "i64", ASC_SAFETENSORS_STORED);
    ck_assert_int_eq(((const int64_t *)asc_data(t))[2], INT64_MAX);
    t = asc_safetensors_read(ctx, file, "u8", ASC_I64);
    ck_assert_int_eq(((const int64_t *)asc_data(t))[4], 255);
    t = asc_safetensors_read(ctx, file, "empty", ASC_SAFETENSORS_STORED);
    ck_assert_int_eq(asc_numel(t), 0);
    ck_assert_int_eq(asc_size(t, 1), 4);
    no_error();
    asc_safetensors_close(file);
}
END_TEST

START_TEST(bytes_depend_on_the_content_alone)
{
    asc_tensor a = asc_scalar(ctx, ASC_F32, 1), b = asc_scalar(ctx, ASC_F64, 2), c = asc_scalar(ctx, ASC_F32, 3);
    asc_named_tensor one[] = {{"a", a}, {"b", b}, {"c", c}}, other[] = {{"c", c}, {"a", a}, {"b", b}};
    static const char expected[] = "{\"b\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
                                   "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]},"
                                   "\"c\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[12,16]}}";
    unsigned char x[512], y[512];
    asc_safetensors_write(ctx, path, one, 3, NULL, 0);
    size_t n = slurp(path, x, sizeof x);
    asc_safetensors_write(ctx, path, other, 3, NULL, 0);
    no_error();
    ck_assert_uint_eq(slurp(path, y, sizeof y), n);
    ck_assert_mem_eq(x, y, n);
    ck_assert_mem_eq(x + 8, expected, sizeof expected - 1);
    ck_assert_uint_eq(x[0] % 8, 0);
    ck_assert_uint_eq(n, 8 + x[0] + 256 * x[1] + 16);
}
END_TEST

START_TEST(strided_tensors)
{
    asc_tensor x = asc_from(ctx, ASC_F64, values, ASC_SHAPE(2, 3)), y = asc_transpose(ctx, x, 0, 1);
    asc_tensor z = asc_slice(ctx, y, 0, 0, 3, 2);
    asc_safetensors_write(ctx, path, (asc_named_tensor[]){{"y", y}, {"z", z}}, 2, NULL, 0);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    y = asc_safetensors_read(ctx, file, "y", ASC_SAFETENSORS_STORED);
    z = asc_safetensors_read(ctx, file, "z", ASC_SAFETENSORS_STORED);
    no_error();
    ck_assert_mem_eq(asc_data(y), ((double[]){1, 0, -2.5, 1e30, 3e-9, -7}), sizeof values);
    ck_assert_mem_eq(asc_data(z), ((double[]){1, 0, 3e-9, -7}), 4 * sizeof(double));
    asc_safetensors_close(file);
}
END_TEST

START_TEST(write_refuses)
{
    asc_tensor t = asc_scalar(ctx, ASC_F32, 1);
    asc_named_tensor twice[] = {{"a", t}, {"a", asc_scalar(ctx, ASC_F64, 1)}};
    asc_safetensors_write(ctx, path, twice, 2, NULL, 0);
    expect_error_with(ASC_ERR_ARG, "'a' is given twice");
    asc_safetensors_write(ctx, path, &(asc_named_tensor){"b", asc_null()}, 1, NULL, 0);
    expect_error_with(ASC_ERR_ARG, "'b' is null");
    asc_safetensors_write(ctx, path, &(asc_named_tensor){"__metadata__", t}, 1, NULL, 0);
    expect_error_with(ASC_ERR_ARG, "__metadata__");
    asc_safetensors_write(ctx, path, &(asc_named_tensor){"\xff", t}, 1, NULL, 0);
    expect_error_with(ASC_ERR_ARG, "UTF-8");
    asc_safetensors_pair pairs[] = {{"k", "1"}, {"k", "2"}};
    asc_safetensors_write(ctx, path, NULL, 0, pairs, 2);
    expect_error_with(ASC_ERR_ARG, "'k' is given twice");
    asc_safetensors_write(ctx, NULL, twice, 1, NULL, 0);
    expect_error_with(ASC_ERR_ARG, "path is NULL");
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* ---- dtypes ---- */

START_TEST(narrow_dtypes)
{
    uint16_t half[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x8000, 0x7c00, 0x7e00};
    static const double expected[] = {1, -2, 65504, 0x1p-24, 1023 * 0x1p-24, -0.0, INFINITY, NAN};
    static const char json[] = "{\"h\":{\"dtype\":\"F16\",\"shape\":[8],\"data_offsets\":[0,16]},"
                               "\"b\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[16,18]},"
                               "\"i\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[18,20]},"
                               "\"u\":{\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[20,22]},"
                               "\"c\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[22,23]},"
                               "\"t\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[23,24]},"
                               "\"n\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[24,28]},"
                               "\"m\":{\"dtype\":\"U32\",\"shape\":[1],\"data_offsets\":[28,32]}}";
    static const unsigned char rest[] = {0xc0, 0x3f, 0xfe, 0xff, 0xfe, 0xff, 0x80, 7,
                                         0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    unsigned char bytes[1024] = {(sizeof json - 1) & 255, (sizeof json - 1) >> 8};
    asc_file_order(half, 8, sizeof *half);
    memcpy(bytes + 8, json, sizeof json - 1);
    memcpy(bytes + 8 + sizeof json - 1, half, sizeof half);
    memcpy(bytes + 8 + sizeof json - 1 + sizeof half, rest, sizeof rest);
    spill(FILE_NAME, bytes, 8 + sizeof json - 1 + 32);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    no_error();
    const float *f = asc_data(asc_safetensors_read(ctx, file, "h", ASC_SAFETENSORS_STORED));
    const double *d = asc_data(asc_safetensors_read(ctx, file, "h", ASC_F64));
    for (int i = 0; i < 8; i++) {
        ck_assert(isnan(expected[i]) ? isnan(f[i]) && isnan(d[i]) : f[i] == expected[i] && d[i] == expected[i]);
    }
    ck_assert(signbit(f[5]));
    static const struct {
        const char *name;
        double value;
    } singles[] = {{"b", 1.5}, {"i", -2}, {"u", 65534}, {"c", -128}, {"t", 1}, {"n", -1}, {"m", 4294967295.0}};
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
        ck_assert(asc_item(asc_safetensors_read(ctx, file, singles[i].name, ASC_SAFETENSORS_STORED)) ==
                  singles[i].value);
    }
    no_error();
    ck_assert(asc_is_null(asc_safetensors_read(ctx, file, "n", ASC_F32)));
    expect_error_with(ASC_ERR_ARG, "tensor 'n': it is I32, which is not read as f32");
    ck_assert(asc_is_null(asc_safetensors_read(ctx, file, "h", ASC_U8)));
    expect_error_with(ASC_ERR_ARG, "it is F16, which is not read as u8");
    ck_assert(asc_is_null(asc_safetensors_read(ctx, file, "none", ASC_SAFETENSORS_STORED)));
    expect_error_with(ASC_ERR_ARG, "tensor 'none': there is none of that name");
    ck_assert(asc_is_null(asc_safetensors_read(ctx, NULL, "h", ASC_SAFETENSORS_STORED)));
    expect_error(ASC_ERR_ARG, "safetensors_read: file is NULL");
    no_error();
    asc_safetensors_close(file);
}
END_TEST

START_TEST(read_into_an_existing_tensor)
{
    write_sample(path);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    asc_tensor t = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3));
    ck_assert_int_eq(asc_safetensors_read_into(ctx, file, "f64", t), ASC_OK);
    ck_assert(((const float *)asc_data(t))[1] == -2.5f);
    asc_safetensors_read_into(ctx, file, "f64", asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 2)));
    expect_error_with(ASC_ERR_ARG, "tensor 'f64': its shape is (2, 3), that of the tensor to read into (3, 2)");
    asc_safetensors_read_into(ctx, file, "f64", asc_null());
    expect_error_with(ASC_ERR_ARG, "null");
    asc_safetensors_close(file);
}
END_TEST

/* Values beyond one chunk of the conversion's buffer. */
START_TEST(large_tensors)
{
    enum { N = 300001 };
    asc_tensor t = asc_normal(ctx, ASC_F64, 0, 1, 1, 2, ASC_SHAPE(N));
    asc_safetensors_write(ctx, path, &(asc_named_tensor){"x", t}, 1, NULL, 0);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    asc_tensor same = asc_safetensors_read(ctx, file, "x", ASC_F64), f = asc_safetensors_read(ctx, file, "x", ASC_F32);
    no_error();
    ck_assert_mem_eq(asc_data(t), asc_data(same), N * sizeof(double));
    for (int i = 0; i < N; i++) {
        ck_assert(((const float *)asc_data(f))[i] == (float)((const double *)asc_data(t))[i]);
    }
    asc_safetensors_close(file);
}
END_TEST

/* ---- files that are refused ---- */

static const struct {
    const char *json, *message;
    size_t data_bytes;
} broken[] = {
    {"[]", "not a JSON object", 0},
    {"{\"a\":", "not valid JSON", 0},
    {"{} x", "not valid JSON", 0},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
     "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "duplicate", 4},
    {"{\"a\":1}", "tensor 'a': it has no dtype", 0},
    {"{\"a\":{\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]}}", "dtype F33 is not one", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", "its shape is not a list", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", "at most 8", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "size 0 of its shape", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", "size 0 of its shape", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905,4],\"data_offsets\":[0,4]}}", "any memory", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,0],\"data_offsets\":[0,0]}}", "any memory", 0},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,4]}}", "not valid JSON", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", "not two integers", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", "are [4, 0]", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", "are [-4, 0]", 4},
    {"{\"a\\n\":{\"dtype\":\"F32\",\"shape\":[1024],\"data_offsets\":[812,4908]}}",
     "tensor 'a?': 4096 bytes at 812 exceed the file's 3000", 3000},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", "2 elements of F32 are 8 bytes", 4},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]}}", "tensor 'b': it begins at 2", 6},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "tensor 'a': it begins at 4, after a hole", 8},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "its tensors end at", 8},
    {"{\"__metadata__\":{\"a\":1}}", "__metadata__ 'a' is not a string", 0},
    {"{\"__metadata__\":[]}", "__metadata__ is not an object", 0},
};

START_TEST(refuses_broken_headers)
{
    spill_header(broken[_i].json, broken[_i].data_bytes);
    size_t held = asc_memory(ctx).bytes;
    ck_assert_ptr_null(asc_safetensors_open(ctx, path));
    expect_error_with(ASC_ERR_FORMAT, broken[_i].message);
    ck_assert_uint_eq(asc_memory(ctx).bytes, held);
}
END_TEST

START_TEST(refuses_what_is_no_file)
{
    ck_assert_ptr_null(asc_safetensors_open(ctx, NULL));
    expect_error_with(ASC_ERR_ARG, "path is NULL");
    ck_assert_ptr_null(asc_safetensors_open(ctx, path));
    expect_error_with(ASC_ERR_IO, "No such file");
    ck_assert_ptr_null(asc_safetensors_open(ctx, folder));
    expect_error_with(ASC_ERR_IO, "is a folder, expected a regular file");
    spill(FILE_NAME, "1234567", 7);
    ck_assert_ptr_null(asc_safetensors_open(ctx, path));
    expect_error_with(ASC_ERR_FORMAT, "7 bytes are too few");
    spill(FILE_NAME, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    ck_assert_ptr_null(asc_safetensors_open(ctx, path));
    expect_error_with(ASC_ERR_FORMAT, "a header of 18446744073709551615 bytes");
    asc_safetensors_close(NULL);
}
END_TEST

START_TEST(survives_deep_nesting)
{
    enum { DEPTH = 100000 };
    char *bytes = malloc(8 + DEPTH);
    memset(bytes, 0, 8);
    bytes[0] = (char)(DEPTH & 255), bytes[1] = (char)(DEPTH >> 8 & 255), bytes[2] = DEPTH >> 16;
    memset(bytes + 8, '[', DEPTH);
    memcpy(bytes + 8, "{\"a\":", 5);
    spill(FILE_NAME, bytes, 8 + DEPTH);
    free(bytes);
    ck_assert_ptr_null(asc_safetensors_open(ctx, path));
    expect_error_with(ASC_ERR_FORMAT, "maximum parsing depth");
}
END_TEST

START_TEST(notices_a_file_that_shrinks)
{
    write_sample(path);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    ck_assert_int_eq(truncate(path, asc_safetensors_find(file, "f64")->offset + 5), 0);
    ck_assert(asc_is_null(asc_safetensors_read(ctx, file, "f64", ASC_SAFETENSORS_STORED)));
    expect_error_with(ASC_ERR_FORMAT, "43 bytes before");
    ck_assert(asc_is_null(asc_safetensors_read(ctx, file, "f64", ASC_F32)));
    expect_error_with(ASC_ERR_FORMAT, "43 bytes before");
    asc_safetensors_close(file);
}
END_TEST

/* Every cut and a few thousand random changes of a valid file: opened or refused as damaged, nothing else. */
START_TEST(survives_damage)
{
    unsigned char good[1024], bad[1024];
    write_sample(path);
    size_t n = slurp(path, good, sizeof good), header = good[0] + 256u * good[1];
    size_t held = asc_memory(ctx).bytes;
    for (int round = 0; round < 4000; round++) {
        memcpy(bad, good, n);
        size_t length = round < (int)n ? (size_t)round : n;
        for (int change = 0; round >= (int)n && change <= round % 3; change++) {
            static const char tempting[] = "0123456789-[]{},:\"\\ue.F";
            int64_t at = draw(8 + (int64_t)header);
            bad[at] = (unsigned char)(at < 8 ? draw(256) : tempting[draw(sizeof tempting - 1)]);
        }
        spill(FILE_NAME, bad, length);
        asc_safetensors *file = asc_safetensors_open(ctx, path);
        ck_assert(file ? asc_error(ctx) == ASC_OK : asc_error(ctx) == ASC_ERR_FORMAT);
        for (int64_t i = 0; i < asc_safetensors_count(file); i++) {
            asc_tensor t = asc_safetensors_read(ctx, file, asc_safetensors_at(file, i)->name, ASC_SAFETENSORS_STORED);
            ck_assert(!asc_is_null(t));
            asc_release(t);
        }
        asc_safetensors_close(file);
        asc_error_clear(ctx);
        if (round == (int)n) {
            held = asc_memory(ctx).bytes; /* the pool has what it will need */
        }
    }
    ck_assert_uint_le(asc_memory(ctx).bytes, held + (1 << 20));
}
END_TEST

/* ---- out of memory ---- */

static asc_status write_and_read(asc_ctx *c)
{
    asc_tensor t = asc_from(c, ASC_F64, values, ASC_SHAPE(6));
    if (asc_is_null(t)) {
        return asc_error(c);
    }
    const asc_safetensors_pair pairs[] = {{"k", "v"}, {ASC_SAFETENSORS_CRC, ""}};
    asc_safetensors_write(c, path, &(asc_named_tensor){"x", t}, 1, pairs, 2);
    asc_safetensors *file = asc_error(c) ? NULL : asc_safetensors_open(c, path);
    asc_safetensors_read(c, file, "x", ASC_F32);
    asc_safetensors_close(file);
    return asc_error(c);
}

START_TEST(every_allocation_may_fail)
{
    asc_status status = ASC_ERR_MEMORY;
    long failures = 0;
    for (; status; failures++) {
        heap small = {.fail_at = failures, .and_after = true};
        asc_ctx *c = context_on(&small, 1);
        status = c ? write_and_read(c) : ASC_ERR_MEMORY;
        asc_ctx_free(c);
        expect_empty(&small);
        ck_assert(status == ASC_OK || status == ASC_ERR_MEMORY);
        ck_assert_int_ne(access(in_folder(FILE_NAME ASC_FILE_TEMPORARY), F_OK), 0);
        in_folder(FILE_NAME);
    }
    ck_assert_int_gt(failures, 10);
}
END_TEST

/* ---- files of others ---- */

START_TEST(reads_a_model)
{
    const char *name = data_file("minilm-l6/model.safetensors");
    if (!name) {
        return;
    }
    asc_safetensors *file = asc_safetensors_open(ctx, name);
    no_error();
    ck_assert_int_eq(asc_safetensors_count(file), 101);
    ck_assert_str_eq(asc_safetensors_metadata(file, "format"), "pt");
    for (int64_t i = 0; i < asc_safetensors_count(file); i++) {
        asc_tensor t = asc_safetensors_read(ctx, file, asc_safetensors_at(file, i)->name, ASC_SAFETENSORS_STORED);
        no_error();
        ck_assert_int_eq(asc_dtype_of(t), ASC_F32);
        const float *x = asc_data(t);
        int64_t large = 0;
        for (int64_t j = 0; j < asc_numel(t); j++) {
            large += !(fabsf(x[j]) < 100);
        }
        ck_assert_int_eq(large, 0);
        asc_release(t);
    }
    asc_safetensors_close(file);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_test(all, round_trip);
    tcase_add_test(all, bytes_depend_on_the_content_alone);
    tcase_add_test(all, strided_tensors);
    tcase_add_test(all, write_refuses);
    tcase_add_test(all, narrow_dtypes);
    tcase_add_test(all, read_into_an_existing_tensor);
    tcase_add_test(all, large_tensors);
    tcase_add_test(all, refuses_what_is_no_file);
    tcase_add_test(all, survives_deep_nesting);
    tcase_add_test(all, notices_a_file_that_shrinks);
    tcase_add_test(all, survives_damage);
    tcase_add_test(all, every_allocation_may_fail);
    tcase_add_test(all, reads_a_model);
    tcase_add_loop_test(all, refuses_broken_headers, 0, sizeof broken / sizeof *broken);
    return run_data_suite("data/safetensors", all);
}
