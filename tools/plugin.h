/* tools/plugin.h: the ops that a command works on: the library's, or those of users' shared objects. */
#ifndef TOOLS_PLUGIN_H
#define TOOLS_PLUGIN_H

#include <ascgrad/op.h>
#include <jansson.h>
#include <stdio.h>

#include "tools/cli.h"

/* The ops of shared objects, in order. */
typedef struct cli_plugins {
    int n;
    const asc_op **op; /* [n] */
    int *file;         /* which shared object each is of */
} cli_plugins;

/* An op by name; ends the program with status 2, and offers the nearest, the plugins' first, if there is none.
 * `plugins`: or NULL. */
const asc_op *cli_op_find(asc_ctx *ctx, const char *name, const cli_plugins *plugins);

/* Number i of the ops: of the n that are named, else of the plugins' (or NULL), else of the library's; NULL past the
 * last. */
const asc_op *cli_op_at(asc_ctx *ctx, int i, char **names, int n, const cli_plugins *plugins);

/* Work on ops of shared objects. It is done in a process of its own, of which the parent hears by messages
 * (tools/apart.h), so that whatever an op does there gets a line. */
typedef struct cli_plugin_job {
    const cli_list *files;
    char **names; /* of the n ops that are meant; n = 0: all that the files have */
    int n;
    int64_t threads;
    double limit;      /* seconds that an op may take; 0: any */
    const char *doing; /* "checked" */
    /* In the process: at its beginning, or NULL; and for each op. Both return an exit status: one of wrong usage or of
     * input and output ends all. */
    int (*begin)(void *user, FILE *to);
    int (*work)(void *user, asc_ctx *ctx, const asc_op *op, FILE *to);
    /* In the parent: a message of theirs, and an op that took its process along, and why; those after it get another */
    void (*hear)(void *user, const char *name, const json_t *value);
    void (*lost)(void *user, const char *op, const char *why);
    void *user;
} cli_plugin_job;

/* The highest exit status of all ops, CLI_FAILED for one that took its process along; CLI_USAGE, after a message, for a
 * file or name that is none. */
int cli_plugins_run(const cli_plugin_job *job);

#endif
