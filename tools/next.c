/* tools/next.c: commands that a user may type, with the names quoted for a shell. */
#include "tools/next.h"

#include <stdio.h>
#include <string.h>

#include "tools/cli.h"

static bool is_plain(const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+:,=@%-";
    return *word && word[strspn(word, safe)] == '\0';
}

const char *next_quote(const char *word, char *text, size_t size)
{
    static const char apostrophe[] = "'\\''";
    if (is_plain(word)) {
        snprintf(text, size, "%s", word);
        return text;
    }
    size_t n = 0;
    text[n++] = '\'';
    for (; *word && n + sizeof apostrophe < size; word++) {
        size_t bytes = *word == '\'' ? sizeof apostrophe - 1 : 1;
        memcpy(text + n, *word == '\'' ? apostrophe : word, bytes);
        n += bytes;
    }
    memcpy(text + n, "'", 2);
    return text;
}

const char *next_path(const char *path, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "%s", path[0] == '-' ? "./" : "");
    next_quote(path, text + n, size - n);
    return text;
}

/* A path, after a space. */
static void print_path(const char *path)
{
    char text[NEXT_WORD];
    cli_print_to(stderr, " %s", next_path(path, text, sizeof text));
}

void next_begin(void)
{
    fputs("what next:\n", stderr);
}

void next_command(const char *command, const char *run, const char *options, const char *path)
{
    fputc(' ', stderr);
    print_path(cli_program());
    cli_print_to(stderr, " %s", command);
    if (run) {
        print_path(run);
    }
    if (options) {
        cli_print_to(stderr, " %s", options);
    }
    if (path) {
        print_path(path);
    }
    fputc('\n', stderr);
}
