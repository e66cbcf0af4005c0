/* tools/generate.h: what `ascgrad generate` does once, and what it does line by line. */
#ifndef TOOLS_GENERATE_H
#define TOOLS_GENERATE_H

#include <signal.h>

#include "tools/cli.h"

typedef struct generation {
    asc_ctx *ctx;
    const asc_model *model;
    asc_writing writing; /* but for who listens; sampling.nth: of the next continuation */
    int64_t count;       /* continuations of a prompt */
    int64_t tokens;      /* of all continuations so far, and their time */
    double seconds;
} generation;

/* Writes the continuations of a prompt to stdout as they come, after it if `whole`; false: the error is set, stdout
 * takes no more, or `*stop` was set, NULL for nobody who sets it. */
bool generation_print(generation *g, const char *prompt, size_t n, bool whole, const volatile sig_atomic_t *stop);

/* Whether a prompt, of n bytes, is UTF-8; false after a message that begins with `name`. */
bool generation_check(const char *name, const char *prompt, size_t n);

/* A line of standard input is a prompt, its continuation follows on stdout, until the input ends. The exit status. */
int generation_interact(generation *g);

#endif
