/* tools/plugin.h: the ops that a command works on: the library's, or from a user's shared object. */
#ifndef TOOLS_PLUGIN_H
#define TOOLS_PLUGIN_H

#include <ascgrad/op.h>

/* Opens the file and registers its ops with the context; they stay until the program ends. The list, NULL at its end,
 * or NULL after a message that says what is wrong with the file. */
const asc_op *const *cli_plugin_open(asc_ctx *ctx, const char *path);

/* An op by name; ends the program with status 2, and offers the nearest, the plugin's first, if there is none. */
const asc_op *cli_op_find(asc_ctx *ctx, const char *name, const asc_op *const *plugin);

/* Number i of the ops: of the n that are named, else of the plugin's (or NULL), else of the library's; NULL past the
 * last. */
const asc_op *cli_op_at(asc_ctx *ctx, int i, char **names, int n, const asc_op *const *plugin);

#endif
