/* data/bpe_split.c: text to words. */
#include <string.h>
#include <utf8proc.h>

#include "data/bpe.h"
#include "data/utf8.h"

typedef enum kind { SPACE, LETTER, NUMBER, OTHER } kind;

/* \s of Unicode: White_Space. The four separators 0x1c … 0x1f, which asc_utf8_space takes as well, are none. */
static bool is_space(const char *text, size_t n)
{
    return asc_utf8_space(text, n) > 0 && !(*text >= 0x1c && *text <= 0x1f);
}

static kind kind_of_code(int32_t code)
{
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return NUMBER;
    default: return OTHER;
    }
}

/* The character at the start of n >= 1 bytes, and its length. */
static kind kind_at(const char *text, size_t n, size_t *length)
{
    unsigned char c = (unsigned char)*text;
    *length = 1;
    if (c < 0x80) {
        unsigned char letter = c | 0x20;
        return letter >= 'a' && letter <= 'z'  ? LETTER
               : c >= '0' && c <= '9'          ? NUMBER
               : c == ' ' || (c >= 9 && c <= 13) ? SPACE
                                               : OTHER;
    }
    int32_t code;
    int size = asc_utf8_next(text, n, &code);
    if (size <= 0) {
        return OTHER;
    }
    *length = (size_t)size;
    return is_space(text, n) ? SPACE : kind_of_code(code);
}

/* The length of 's, 't, 're, 've, 'm, 'll, 'd at the start; 0 if there is none. */
static size_t contraction(const char *text, size_t n)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    for (size_t i = 0; *text == '\'' && i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (n > length && memcmp(text + 1, endings[i], length) == 0) {
            return length + 1;
        }
    }
    return 0;
}

/* The end of the characters of one kind from `at` on; *last is where the last of them starts. */
static size_t run_end(const char *text, size_t n, size_t at, kind of, size_t *last)
{
    size_t length;
    while (at < n && kind_at(text + at, n - at, &length) == of) {
        *last = at;
        at += length;
    }
    return at;
}

size_t asc_bpe_word(const char *text, size_t n)
{
    size_t length = contraction(text, n), last = 0;
    if (length) {
        return length;
    }
    size_t start = *text == ' ' && n > 1, ignored;
    kind first = kind_at(text + start, n - start, &ignored);
    if (first != SPACE) {
        return run_end(text, n, start, first, &last);
    }
    /* White space before a word leaves its last character to it. */
    size_t end = run_end(text, n, 0, SPACE, &last);
    return end < n && last > 0 ? last : end;
}
