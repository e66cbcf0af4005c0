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

static void print_quoted(const char *word)
{
    fputc('\'', stderr);
    for (size_t n; *word; word += n) {
        n = *word == '\'' ? 1 : strcspn(word, "'");
        cli_print_to(stderr, *word == '\'' ? "'\\''" : "%.*s", (int)n, word);
    }
    fputc('\'', stderr);
}

/* A path, after a space. */
static void print_path(const char *path)
{
    fputs(path[0] == '-' ? " ./" : " ", stderr);
    if (is_plain(path)) {
        cli_print_to(stderr, "%s", path);
    } else {
        print_quoted(path);
    }
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
