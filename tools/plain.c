/* tools/plain.c: see plain.h. */
#include "tools/plain.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* Whether a terminal would do something else than show it, or show what follows elsewhere. */
static bool steers(utf8proc_int32_t code)
{
    bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    return turns || utf8proc_category(code) == UTF8PROC_CATEGORY_CC;
}

/* What can be shown goes out in one piece: standard error has no buffer. */
static bool write_plain(FILE *out, bool lines, const char *text, size_t n)
{
    size_t first = 0; /* of what is not written yet */
    for (size_t i = 0; i < n;) {
        utf8proc_int32_t code;
        utf8proc_ssize_t length =
            utf8proc_iterate((const utf8proc_uint8_t *)text + i, (utf8proc_ssize_t)(n - i), &code);
        size_t next = i + (length > 0 ? (size_t)length : 1);
        if (length <= 0 || ((!lines || (code != '\n' && code != '\t')) && steers(code))) {
            fwrite(text + first, 1, i - first, out);
            if (!lines || code != '\r' || (i + 1 < n && text[i + 1] != '\n')) {
                fputc('?', out);
            }
            first = next;
        }
        i = next;
    }
    fwrite(text + first, 1, n - first, out);
    return !ferror(out);
}

bool cli_write(FILE *out, const char *text, size_t n)
{
    return write_plain(out, true, text, n);
}

char *cli_plain(const char *text)
{
    char *plain = NULL;
    size_t bytes;
    FILE *out = open_memstream(&plain, &bytes);
    bool whole = out && cli_write(out, text, strlen(text));
    whole = out && fclose(out) == 0 && whole;
    if (!whole) {
        free(plain);
        plain = calloc(1, 1);
    }
    return plain;
}

size_t cli_whole(const char *text, size_t most)
{
    size_t n = strnlen(text, most), first = n; /* behind the last character's first byte */
    while (first > 0 && ((unsigned char)text[first - 1] & 0xc0) == 0x80) {
        first--;
    }
    unsigned char lead = first > 0 ? (unsigned char)text[first - 1] : 0;
    size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
    return n - first + 1 < bytes ? first - 1 : n;
}

int cli_vprint_to(FILE *out, bool lines, const char *format, va_list args)
{
    char some[1000], *text = some;
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(some, sizeof some, format, args);
    if (n >= (int)sizeof some && (text = malloc((size_t)n + 1))) {
        vsnprintf(text, (size_t)n + 1, format, again);
    }
    va_end(again);
    bool whole = text && n >= 0;
    write_plain(out, lines, whole ? text : some, whole ? (size_t)n : n < 0 ? 0 : sizeof some - 1);
    if (text != some) {
        free(text);
    }
    return n;
}

int cli_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = cli_vprint_to(stdout, true, format, args);
    va_end(args);
    return n;
}

void cli_print_to(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cli_vprint_to(out, true, format, args);
    va_end(args);
}
