/* tests/data/test_text.c: lines of plain and gzip files, and what is wrong with them. */
#include "tests/data/fixture.h"

/* Reads all lines, checks that they are `whole` cut after each newline, and closes. */
static void check_lines(asc_text *text, const char *whole, size_t n)
{
    ck_assert_ptr_nonnull(text);
    const char *line;
    size_t at = 0, bytes;
    int64_t lines = 0;
    while (asc_text_next(text, &line, &bytes) == ASC_OK && line) {
        ck_assert_uint_gt(bytes, 0);
        ck_assert_uint_le(at + bytes, n);
        ck_assert_mem_eq(line, whole + at, bytes);
        ck_assert_ptr_null(memchr(line, '\n', bytes - 1));
        at += bytes;
        lines++;
        ck_assert(line[bytes - 1] == '\n' || at == n);
        ck_assert_int_eq(asc_text_bytes(text), (int64_t)at);
        ck_assert_int_eq(asc_text_lines(text), lines);
    }
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    ck_assert_uint_eq(at, n);
    ck_assert_int_eq(asc_text_next(text, &line, &bytes), ASC_OK); /* the end stays the end */
    ck_assert_ptr_null(line);
    asc_text_close(text);
}

START_TEST(reads_lines_of_plain_gzip_and_memory_alike)
{
    static const char *const texts[] = {
        "", "\n", "a", "a\n", "\n\n\n", "a\nb\r\n\nno end", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t n = strlen(texts[i]);
        check_lines(asc_text_open(ctx, spill("plain", texts[i], n), 0), texts[i], n);
        check_lines(asc_text_open(ctx, spill_gzip("packed", texts[i], n), 0), texts[i], n);
        check_lines(asc_text_open_memory(ctx, "memory", texts[i], n, 0), texts[i], n);
    }
}
END_TEST

START_TEST(reads_lines_longer_than_any_buffer)
{
    enum { N = 3 << 20 };
    char *text = malloc(N);
    memset(text, 'x', N);
    text[10] = '\n';
    text[N / 2] = '\n';
    check_lines(asc_text_open(ctx, spill("long", text, N), 0), text, N);
    check_lines(asc_text_open(ctx, spill_gzip("long", text, N), 0), text, N);
    draw_state = 1;
    for (size_t i = 0; i < N; i++) {
        text[i] = draw(50) ? 'y' : '\n'; /* lines across the ends of buffers */
    }
    check_lines(asc_text_open(ctx, spill_gzip("short", text, N), 0), text, N);
    free(text);
}
END_TEST

START_TEST(reads_gzip_of_several_members)
{
    char one[64], two[64], both[128];
    FILE *f = fopen(spill_gzip("one", "a\nb", 3), "rb");
    size_t n = fread(one, 1, sizeof one, f);
    fclose(f);
    f = fopen(spill_gzip("two", "c\nd\n", 4), "rb");
    size_t m = fread(two, 1, sizeof two, f);
    fclose(f);
    memcpy(both, one, n);
    memcpy(both + n, two, m);
    check_lines(asc_text_open(ctx, spill("both", both, n + m), 0), "a\nbc\nd\n", 7);
}
END_TEST

START_TEST(passes_over_a_byte_order_mark)
{
    static const char marked[] = "\357\273\277a\n\357\273\277b\n", *const rest = marked + 3;
    check_lines(asc_text_open(ctx, spill("marked", marked, 10), 0), rest, 7);
    check_lines(asc_text_open(ctx, spill_gzip("marked", marked, 10), 0), rest, 7);
    check_lines(asc_text_open(ctx, spill("mark", marked, 3), 0), "", 0);
    check_lines(asc_text_open(ctx, spill("marked", marked, 10), ASC_TEXT_NUL), marked, 10);
}
END_TEST

START_TEST(names_what_cannot_be_opened)
{
    ck_assert_ptr_null(asc_text_open(ctx, NULL, 0));
    expect_error_with(ASC_ERR_ARG, "path is NULL");
    ck_assert_ptr_null(asc_text_open(ctx, "x", 64));
    expect_error_with(ASC_ERR_ARG, "flags");
    ck_assert_ptr_null(asc_text_open_memory(ctx, "memory", NULL, 1, 0));
    expect_error_with(ASC_ERR_ARG, "data is NULL");
    ck_assert_ptr_null(asc_text_open(ctx, "/nonexistent/text", 0));
    expect_error_with(ASC_ERR_IO, "/nonexistent/text: can't open: No such file or directory");
    ck_assert_ptr_null(asc_text_open(ctx, folder, 0));
    expect_error_with(ASC_ERR_IO, "is a folder");
    const char *line;
    size_t bytes;
    ck_assert_int_eq(asc_text_next(NULL, &line, &bytes), ASC_ERR_ARG);
    asc_text_close(NULL);
}
END_TEST

/* Reads to the failure, which stays; the message holds `part`. */
static void check_failure(asc_text *text, asc_status status, const char *part)
{
    ck_assert_ptr_nonnull(text);
    const char *line;
    size_t bytes;
    asc_status got;
    while ((got = asc_text_next(text, &line, &bytes)) == ASC_OK) {
        ck_assert_ptr_nonnull(line);
    }
    ck_assert_int_eq(got, status);
    ck_assert_ptr_null(line);
    expect_error_with(status, part);
    ck_assert_int_eq(asc_text_next(text, &line, &bytes), status);
    asc_text_close(text);
    asc_error_clear(ctx);
}

static size_t count_bytes(const char *path)
{
    asc_text *text = asc_text_open(ctx, path, 0);
    const char *line;
    size_t n, all = 0;
    while (asc_text_next(text, &line, &n) == ASC_OK && line) {
        all += n;
    }
    no_error();
    asc_text_close(text);
    return all;
}

START_TEST(notices_damaged_gzip)
{
    enum { N = 100000 };
    char *text = malloc(N);
    unsigned char *packed = malloc(N);
    draw_state = 3;
    for (size_t i = 0; i < N; i++) {
        text[i] = (char)(draw(40) ? 'a' + draw(26) : '\n');
    }
    FILE *f = fopen(spill_gzip("good", text, N), "rb");
    size_t n = fread(packed, 1, N, f);
    fclose(f);
    ck_assert_uint_lt(n, N);
    for (size_t cut = 3; cut < n; cut = cut < n - 12 ? cut * 2 < n - 12 ? cut * 2 : n - 12 : cut + 1) {
        check_failure(asc_text_open(ctx, spill("cut", packed, cut), 0), ASC_ERR_FORMAT, "gzip data ends too early");
    }
    packed[n - 6] ^= 1; /* in the CRC */
    check_failure(asc_text_open(ctx, spill("crc", packed, n), 0), ASC_ERR_FORMAT,
                  "gzip data is damaged: incorrect data");
    packed[n - 6] ^= 1;
    packed[n - 2] ^= 1; /* in the length */
    check_failure(asc_text_open(ctx, spill("length", packed, n), 0), ASC_ERR_FORMAT, "gzip data is damaged");
    packed[n - 2] ^= 1;
    /* a second member counts as the first does; zeros may follow */
    packed = realloc(packed, 2 * n + 1000);
    memcpy(packed + n, packed, n);
    memset(packed + 2 * n, 0, 1000);
    size_t once = count_bytes(spill("one", packed, n));
    ck_assert_uint_eq(count_bytes(spill("two", packed, 2 * n)), 2 * once);
    ck_assert_uint_eq(count_bytes(spill("padded", packed, 2 * n + 1000)), 2 * once);
    check_failure(asc_text_open(ctx, spill("cut", packed, n + 5), 0), ASC_ERR_FORMAT, "gzip data ends too early");
    check_failure(asc_text_open(ctx, spill("cut", packed, n + 1), 0), ASC_ERR_FORMAT, "what follows its end is none");
    packed[n] ^= 1; /* in the second one's mark */
    check_failure(asc_text_open(ctx, spill("mark", packed, 2 * n), 0), ASC_ERR_FORMAT, "what follows its end is none");
    free(packed);
    free(text);
}
END_TEST

START_TEST(notices_what_is_no_text)
{
    static const struct {
        const char *text;
        size_t n;
        const char *part;
    } cases[] = {
        {"ab\nc\0d\n", 7, "line 2: byte 0x00 at offset 4 is a zero, which no text has"},
        {"ab\n\xff", 4, "line 2: byte 0xff at offset 3"},
        {"\xef\xbb\xbf" "ab\n\xff", 7, "line 2: byte 0xff at offset 6"},
        {"\x80", 1, "line 1: byte 0x80 at offset 0"},
        {"12345678\xc0\xaf\n", 11, "byte 0xc0 at offset 8"}, /* overlong */
        {"\xe0\x80\xaf", 3, "byte 0xe0 at offset 0"},        /* overlong */
        {"\xed\xa0\x80", 3, "byte 0xed at offset 0"},        /* a surrogate */
        {"\xf4\x90\x80\x80", 4, "byte 0xf4 at offset 0"},    /* past U+10FFFF */
        {"\xf0\x80\x80\x80", 4, "byte 0xf0 at offset 0"},    /* overlong */
        {"\xc3\n\xa9", 3, "byte 0xc3 at offset 0"},          /* cut by the line's end */
        {"abc\xe2\x82", 5, "byte 0xe2 at offset 3"},         /* cut by the file's end */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_failure(asc_text_open(ctx, spill("bad", cases[i].text, cases[i].n), 0), ASC_ERR_FORMAT, cases[i].part);
        check_failure(asc_text_open(ctx, spill_gzip("bad", cases[i].text, cases[i].n), 0), ASC_ERR_FORMAT,
                      cases[i].part);
    }
    check_lines(asc_text_open(ctx, spill("nul", "a\0b\n\0", 5), ASC_TEXT_NUL), "a\0b\n\0", 5);
}
END_TEST

START_TEST(ends_on_any_bytes)
{
    draw_state = 7;
    unsigned char bytes[600];
    for (int round = 0; round < 500; round++) {
        size_t n = (size_t)draw(sizeof bytes);
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (unsigned char)draw(256);
        }
        if (round % 2 && n > 10) { /* a gzip header before the noise */
            memcpy(bytes, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
        }
        asc_text *text = asc_text_open(ctx, spill("noise", bytes, n), round % 4 < 2 ? 0 : ASC_TEXT_NUL);
        ck_assert_ptr_nonnull(text);
        const char *line = "";
        size_t length, total = 0;
        asc_status status = ASC_OK;
        while (!status && line) {
            status = asc_text_next(text, &line, &length);
            total += length;
        }
        ck_assert(status == ASC_OK || status == ASC_ERR_FORMAT);
        ck_assert_int_eq(asc_text_bytes(text), (int64_t)total);
        ck_assert_int_eq(asc_error(ctx), status);
        asc_error_clear(ctx);
        asc_text_close(text);
    }
}
END_TEST

START_TEST(survives_failed_allocations)
{
    spill_gzip("text", "one\ntwo\n", 8);
    size_t held = asc_memory(ctx).bytes;
    int failures = 0;
    for (asc_status status = ASC_ERR_MEMORY; status; failures++) {
        heap_fail_after(&memory, failures);
        asc_text *text = asc_text_open(ctx, path, 0);
        const char *line;
        size_t bytes;
        status = asc_text_next(text, &line, &bytes);
        asc_text_close(text);
        if (status) {
            ck_assert_int_eq(asc_error(ctx), ASC_ERR_MEMORY);
        }
        asc_error_clear(ctx);
        ck_assert_uint_eq(asc_memory(ctx).bytes, held);
    }
    ck_assert_int_gt(failures, 2);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_test(all, reads_lines_of_plain_gzip_and_memory_alike);
    tcase_add_test(all, reads_lines_longer_than_any_buffer);
    tcase_add_test(all, reads_gzip_of_several_members);
    tcase_add_test(all, passes_over_a_byte_order_mark);
    tcase_add_test(all, names_what_cannot_be_opened);
    tcase_add_test(all, notices_damaged_gzip);
    tcase_add_test(all, notices_what_is_no_text);
    tcase_add_test(all, ends_on_any_bytes);
    tcase_add_test(all, survives_failed_allocations);
    return run_data_suite("data/text", all);
}
