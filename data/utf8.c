/* data/utf8.c: UTF-8, RFC 3629. */
#include "data/utf8.h"

#include <stdbool.h>
#include <string.h>

/* The second byte's range tells overlong forms, surrogates and numbers past U+10FFFF; by first byte. */
static bool second_is_right(unsigned first, unsigned second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    default:
        return second >= 0x80 && second <= 0xbf;
    }
}

int asc_utf8_next(const char *text, size_t n, int32_t *code)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        *code = s[0];
        return 1;
    }
    if (s[0] < 0xc2 || s[0] > 0xf4) {
        return ASC_UTF8_WRONG;
    }
    size_t length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n > 1 && !second_is_right(s[0], s[1])) {
        return ASC_UTF8_WRONG;
    }
    int32_t value = s[0] & (0x7f >> length);
    for (size_t i = 1; i < length && i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return ASC_UTF8_WRONG;
        }
        value = value << 6 | (s[i] & 0x3f);
    }
    *code = value;
    return n < length ? ASC_UTF8_CUT : (int)length;
}

size_t asc_utf8_check(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t eight;
        if (n - i >= sizeof eight) {
            memcpy(&eight, text + i, sizeof eight);
            if (!(eight & UINT64_C(0x8080808080808080))) {
                i += sizeof eight;
                continue;
            }
        }
        int32_t code;
        int length = asc_utf8_next(text + i, n - i, &code);
        if (length <= 0) {
            return i;
        }
        i += (size_t)length;
    }
    return n;
}

int asc_utf8_put(int32_t code, char *text)
{
    if (code < 0x80) {
        text[0] = (char)code;
        return 1;
    }
    int length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--) {
        text[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    static const int lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    text[0] = (char)(lead[length] | code);
    return length;
}

static bool is_wide_space(int32_t code)
{
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
           code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

int asc_utf8_space(const char *text, size_t n)
{
    unsigned char c = (unsigned char)*text;
    if (c < 0x80) {
        return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
    }
    int32_t code = 0;
    int length = asc_utf8_next(text, n, &code);
    return length > 0 && is_wide_space(code) ? length : 0;
}
