/* tools/plugin.h: ops from a user's shared object. */
#ifndef TOOLS_PLUGIN_H
#define TOOLS_PLUGIN_H

#include <ascgrad/op.h>

/* Opens the file and registers its ops with the context; they stay until the program ends. The list, NULL at its end,
 * or NULL after a message that says what is wrong with the file. */
const asc_op *const *cli_plugin_open(asc_ctx *ctx, const char *path);

#endif
