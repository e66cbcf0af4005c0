/* tests/data/test_checksum.c: the checksums of a safetensors file: what they are of, and what they notice. */
#include "data/byte_order.h"
#include "tests/data/fixture.h"

#include <ascgrad/ops.h>
#include <ascgrad/safetensors.h>

/* Two pairs, one of a key that no reader knows, in either order, and three tensors. */
static void write_sample(const char *name, bool turned)
{
    const double values[6] = {1, -2.5, 3e-9, 0, 1e30, -7};
    const uint8_t bytes[3] = {0, 7, 255};
    asc_named_tensor tensors[] = {{"b", asc_from(ctx, ASC_F64, values, ASC_SHAPE(2, 3))},
                                  {"a", asc_from(ctx, ASC_U8, bytes, ASC_SHAPE(3))},
                                  {"none", asc_empty(ctx, ASC_F32, ASC_SHAPE(0, 4))}};
    asc_safetensors_pair step = {"step", "12"}, unknown = {"later", "\"é\n"};
    asc_safetensors_pair pairs[] = {turned ? unknown : step, {ASC_SAFETENSORS_CRC, "passed over"},
                                    turned ? step : unknown};
    asc_safetensors_write(ctx, name, tensors, 3, pairs, 3);
    no_error();
    for (int i = 0; i < 3; i++) {
        asc_release(tensors[i].tensor);
    }
}

/* The definition in ascgrad/safetensors.h, word by word. */
START_TEST(sums_are_as_documented)
{
    double values[6] = {1, -2.5, 3e-9, 0, 1e30, -7};
    static const char texts[] = "later\0\"é\n\0step\00012\0a\0U8\0003\0\0b\0F64\0002\0003\0\0none\0F32\0000\0004\0";
    char tensors[40], expected[9], all[200];
    asc_file_order(values, 6, sizeof *values);
    snprintf(tensors, sizeof tensors, "%08lx %08lx 00000000", crc32(0, (const Bytef *)"\0\7\377", 3),
             crc32(0, (const Bytef *)values, sizeof values));
    size_t n = (size_t)snprintf(all, sizeof all, "asc_crc32_tensors%c%s", 0, tensors) + 1;
    memcpy(all + n, texts, sizeof texts);
    snprintf(expected, sizeof expected, "%08lx", crc32(0, (const Bytef *)all, (uInt)(n + sizeof texts)));
    write_sample(path, false);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    no_error();
    ck_assert_str_eq(asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC_TENSORS), tensors);
    ck_assert_str_eq(asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC), expected);
    asc_safetensors_close(file);
}
END_TEST

/* What another program writes in another order is the same; pairs written with other tensors are summed anew. */
START_TEST(order_does_not_matter)
{
    char first[9], tensors[40];
    for (int turned = 0; turned < 2; turned++) {
        write_sample(path, turned);
        asc_safetensors *file = asc_safetensors_open(ctx, path);
        no_error();
        const char *crc = asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC);
        ck_assert_str_eq(asc_safetensors_metadata_at(file, 0)->key, turned ? "later" : "step");
        if (turned) {
            ck_assert_str_eq(crc, first);
        }
        snprintf(first, sizeof first, "%s", crc);
        snprintf(tensors, sizeof tensors, "%s", asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC_TENSORS));
        asc_safetensors_close(file);
    }
    asc_tensor x = asc_from(ctx, ASC_F32, (float[]){1, 2, 3, 4, 5, 6}, ASC_SHAPE(2, 3));
    asc_safetensors_pair stale[] = {{ASC_SAFETENSORS_CRC, first}, {ASC_SAFETENSORS_CRC_TENSORS, tensors}};
    asc_safetensors_write(ctx, path, &(asc_named_tensor){"x", asc_transpose(ctx, x, 0, 1)}, 1, stale, 2);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    no_error();
    ck_assert_str_ne(asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC), first);
    ck_assert(!asc_is_null(asc_safetensors_read(ctx, file, "x", ASC_F64)));
    no_error();
    asc_safetensors_close(file);
}
END_TEST

/* Opens the file and reads all of it, as it is stored or converted. */
static asc_status read_all(int round)
{
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    const asc_safetensors_entry *e;
    for (int64_t i = 0; (e = asc_safetensors_at(file, i)); i++) {
        int other = e->dtype == ASC_F64 ? ASC_F32 : e->dtype == ASC_U8 ? ASC_I64 : ASC_F64;
        asc_release(asc_safetensors_read(ctx, file, e->name, round % 2 ? other : ASC_SAFETENSORS_STORED));
    }
    asc_safetensors_close(file);
    return asc_error(ctx);
}

/* Every single bit of the file: of the length, the header, the checksums themselves, the values. */
START_TEST(every_bit_is_noticed)
{
    unsigned char good[2048], bad[2048];
    write_sample(path, false);
    size_t n = slurp(path, good, sizeof good);
    ck_assert_int_eq(read_all(0), ASC_OK);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        memcpy(bad, good, n);
        bad[bit / 8] ^= (unsigned char)(1 << bit % 8);
        spill(FILE_NAME, bad, n);
        ck_assert_msg(read_all((int)bit) == ASC_ERR_FORMAT, "bit %zu of byte %zu: %s", bit % 8, bit / 8,
                      asc_error_message(ctx));
        asc_error_clear(ctx);
    }
}
END_TEST

/* Changes `from` to `to`, of the same length. */
static void damage(const char *from, const char *to)
{
    unsigned char bytes[2048];
    write_sample(path, false);
    size_t n = slurp(path, bytes, sizeof bytes);
    size_t at = 0, length = strlen(from);
    while (at + length <= n && memcmp(bytes + at, from, length) != 0) {
        at++;
    }
    ck_assert_uint_le(at + length, n);
    memcpy(bytes + at, to, length);
    spill(FILE_NAME, bytes, n);
}

START_TEST(damage_is_named)
{
    damage("\"12\"", "\"13\"");
    ck_assert_int_eq(read_all(0), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, FILE_NAME ": is damaged: its checksum is ");
    damage("asc_crc32\"", "xsc_crc32\""); /* one of the two without the other */
    ck_assert_int_eq(read_all(0), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, ", expected one");
    damage("asc_crc32_", "xsc_crc32_");
    ck_assert_int_eq(read_all(0), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, "is damaged");
    damage("\7\377", "\7\376");
    ck_assert_int_eq(read_all(0), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, "tensor 'a': is damaged: its checksum is ");
    ck_assert_int_eq(read_all(1), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, "tensor 'a': is damaged: its checksum is ");
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_test(all, sums_are_as_documented);
    tcase_add_test(all, order_does_not_matter);
    tcase_add_test(all, every_bit_is_noticed);
    tcase_add_test(all, damage_is_named);
    return run_data_suite("data/checksum", all);
}
