/* tools/columns.c: a table that fits the terminal. */
#include "tools/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include "tools/plain.h"

enum { GAP = 2, LEAST_NAME = 12 };

int columns_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *set = getenv("COLUMNS");
    int width = set ? atoi(set) : 0;
    return width > 0 ? width : 0;
}

/* The length of the character at `text`, 1 for a byte that begins none, whose *code is then -1. */
static size_t next_character(const char *text, utf8proc_int32_t *code)
{
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text, -1, code);
    *code = n > 0 ? *code : -1;
    return n > 0 ? (size_t)n : 1;
}

static int width_of(utf8proc_int32_t code)
{
    return code < 0 ? 1 : utf8proc_charwidth(code);
}

int columns_of(const char *text)
{
    int width = 0;
    utf8proc_int32_t code;
    while (text && *text) {
        text += next_character(text, &code);
        width += width_of(code);
    }
    return width;
}

size_t columns_fit(const char *text, int width)
{
    size_t n = 0;
    utf8proc_int32_t code;
    while (text[n]) {
        size_t bytes = next_character(text + n, &code);
        width -= width_of(code);
        if (width < 0) {
            break;
        }
        n += bytes;
    }
    return n;
}

char *columns_clean(const char *text)
{
    char *clean = malloc(strlen(text) + 1), *to = clean;
    while (clean && *text) {
        utf8proc_int32_t code;
        size_t n = next_character(text, &code);
        if (code < 0 || utf8proc_category(code) == UTF8PROC_CATEGORY_CC ||
            utf8proc_category(code) == UTF8PROC_CATEGORY_CF) {
            *to++ = '?';
        } else {
            memcpy(to, text, n);
            to += n;
        }
        text += n;
    }
    if (clean) {
        *to = '\0';
    }
    return clean;
}

static void pad(int n)
{
    cli_print("%*s", n > 0 ? n : 0, "");
}

static void print_cell(const columns_column *c, const char *text, bool last)
{
    text = text ? text : "";
    int room = c->width - columns_of(text);
    if (c->right) {
        pad(room);
    }
    if (room < 0) { /* the end of a path says more than its beginning */
        utf8proc_int32_t code;
        for (int over = 1 - room; over > 0 && *text;) {
            text += next_character(text, &code);
            over -= width_of(code);
        }
        cli_print("…%s", text);
        room = c->width - 1 - columns_of(text);
    } else {
        cli_print("%s", text);
    }
    if (!last) {
        pad((c->right ? 0 : room) + GAP);
    }
}

static int total(const columns_column *columns, int n)
{
    int width = -GAP;
    for (int c = 0; c < n; c++) {
        width += columns[c].shown ? columns[c].width + GAP : 0;
    }
    return width;
}

/* The shown column that is to go first: the last of those of the highest rank; -1: none may. */
static int least_needed(const columns_column *columns, int n)
{
    int least = -1;
    for (int c = 0; c < n; c++) {
        if (columns[c].shown && columns[c].rank > 0 && (least < 0 || columns[c].rank >= columns[least].rank)) {
            least = c;
        }
    }
    return least;
}

static void fit(columns_column *columns, int n, char *const *cells, int rows, int width)
{
    for (int c = 0; c < n; c++) {
        columns[c].shown = true;
        columns[c].width = columns_of(columns[c].title);
        for (int r = 0; r < rows; r++) {
            int needed = columns_of(cells[r * n + c]);
            columns[c].width = needed > columns[c].width ? needed : columns[c].width;
        }
    }
    for (int c; width > 0 && total(columns, n) > width && (c = least_needed(columns, n)) >= 0;) {
        int name = columns[0].width - (total(columns, n) - width); /* the name gives way before a column goes */
        if (name >= LEAST_NAME && name >= columns[0].width * 2 / 3) {
            break;
        }
        columns[c].shown = false;
    }
    int over = total(columns, n) - width;
    if (width > 0 && over > 0) {
        columns[0].width = columns[0].width - over > LEAST_NAME ? columns[0].width - over : LEAST_NAME;
    }
}

void columns_print(columns_column *columns, int n, char *const *cells, int rows, int width)
{
    fit(columns, n, cells, rows, width);
    int last = 0;
    for (int c = 0; c < n; c++) {
        last = columns[c].shown ? c : last;
    }
    for (int r = -1; r < rows; r++) {
        for (int c = 0; c <= last; c++) {
            if (columns[c].shown) {
                print_cell(&columns[c], r < 0 ? columns[c].title : cells[r * n + c], c == last);
            }
        }
        putchar('\n');
    }
}
