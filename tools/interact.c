/* tools/interact.c: ascgrad generate --interactive. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/generate.h"
#include "tools/unknown.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

typedef struct line {
    char *text;
    size_t capacity, n;
} line;

/* The next line without its end; false: there are no more. Ctrl-C there drops what was typed. */
static bool read_line(line *l, bool terminal)
{
    for (;;) {
        if (terminal) {
            fputs("> ", stderr);
        }
        interrupted = 0;
        ssize_t n = getline(&l->text, &l->capacity, stdin);
        if (n < 0 && errno == EINTR && interrupted) {
            clearerr(stdin);
            fputs(terminal ? "\n(Ctrl-D ends)\n" : "", stderr);
            continue;
        }
        if (n < 0) {
            fputs(terminal ? "\n" : "", stderr);
            return false;
        }
        n -= n > 0 && l->text[n - 1] == '\n';
        n -= n > 0 && l->text[n - 1] == '\r';
        l->n = (size_t)n;
        return true;
    }
}

int generation_interact(generation *g)
{
    bool terminal = isatty(STDIN_FILENO);
    line l = {NULL, 0, 0};
    struct sigaction stop = {.sa_handler = on_interrupt}, before; /* no SA_RESTART: a read ends, too */
    sigaction(SIGINT, &stop, &before);
    if (terminal) {
        fputs("Each line is a prompt; Ctrl-C stops a continuation, Ctrl-D ends.\n", stderr);
    }
    errno = 0;
    while (read_line(&l, terminal)) {
        if (!generation_check("the prompt", l.text, l.n)) {
            continue;
        }
        unknown_name_words(g->model->tokenizer, l.text, l.n);
        if (!generation_print(g, l.text, l.n, false, &interrupted) && !interrupted) {
            break;
        }
    }
    int status = cli_report(g->ctx);
    if (status == CLI_OK && ferror(stdin)) {
        cli_message("standard input: %s", strerror(errno));
        status = CLI_IO;
    }
    sigaction(SIGINT, &before, NULL);
    free(l.text);
    return status;
}
