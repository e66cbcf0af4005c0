/* tools/plugin.c: the ops that a command works on. What a user's shared object has to export: asc_plugin_ops in
 * ascgrad/op.h. */
#include "tools/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <program/names.h>

#include "tools/cli.h"

/* A name without a slash is a file here, not one on the system's search path. */
static void *open_object(const char *path)
{
    char here[4096];
    int n = snprintf(here, sizeof here, "%s%s", strchr(path, '/') ? "" : "./", path);
    return n < (int)sizeof here ? dlopen(here, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* The message of dlerror, without the path that it begins with. */
static const char *reason(const char *path)
{
    const char *text = dlerror(), *after = text ? strstr(text, path) : NULL;
    after = after ? after + strlen(path) : NULL;
    return !text ? "its name is too long" : after && strncmp(after, ": ", 2) == 0 ? after + 2 : text;
}

static asc_plugin_fn *entry_of(const char *path)
{
    void *object = open_object(path);
    if (!object) {
        cli_message("%s: cannot be loaded: %s", path, reason(path));
        return NULL;
    }
    /* POSIX gives functions as object pointers */
    union {
        void *object;
        asc_plugin_fn *function;
    } entry = {dlsym(object, ASC_PLUGIN_ENTRY)};
    if (!entry.object) {
        cli_message("%s: exports no function %s; it is declared in ascgrad/op.h", path, ASC_PLUGIN_ENTRY);
        return NULL;
    }
    return entry.function;
}

const asc_op *const *cli_plugin_open(asc_ctx *ctx, const char *path)
{
    asc_plugin_fn *entry = entry_of(path);
    if (!entry) {
        return NULL;
    }
    const asc_op *const *ops = entry(ASC_OP_ABI);
    if (!ops || !ops[0]) {
        cli_message("%s: has no ops for ABI %d", path, ASC_OP_ABI);
        return NULL;
    }
    for (int i = 0; ops[i]; i++) {
        if (asc_op_register(ctx, ops[i])) {
            cli_message("%s: %s", path, asc_error_message(ctx));
            return NULL;
        }
        if (ops[i]->n_samples == 0) {
            cli_message("%s: %s: no samples: there is nothing to check it on", path, ops[i]->name);
            return NULL;
        }
    }
    return ops;
}

/* The plugin's ops, "wave, x_log_x"; "" without one. */
static const char *list_ops(const asc_op *const *plugin, char *text, size_t bytes)
{
    text[0] = 0;
    for (int i = 0; plugin && plugin[i]; i++) {
        size_t n = strlen(text);
        snprintf(text + n, bytes - n, "%s%s", i ? ", " : "", plugin[i]->name);
    }
    return text;
}

const asc_op *cli_op_find(asc_ctx *ctx, const char *name, const asc_op *const *plugin)
{
    enum { MOST = 512 };
    const char *names[MOST + 1] = {NULL};
    const asc_op *op = asc_op_find(ctx, name);
    if (op) {
        return op;
    }
    int n = 0;
    for (int i = 0; plugin && plugin[i] && n < MOST; i++) {
        names[n++] = plugin[i]->name;
    }
    for (int i = 0; asc_op_at(i) && n < MOST; i++) {
        names[n++] = asc_op_at(i)->name;
    }
    char own[400];
    const char *guess = asc_name_guess(name, names);
    if (guess) {
        cli_wrong_usage("unknown op '%s'; did you mean '%s'?", name, guess);
    } else if (plugin) {
        cli_wrong_usage("unknown op '%s'; the plugin has %s; ascgrad info --ops lists the library's", name,
                        list_ops(plugin, own, sizeof own));
    }
    cli_wrong_usage("unknown op '%s'; ascgrad info --ops lists them", name);
    return NULL;
}

const asc_op *cli_op_at(asc_ctx *ctx, int i, char **names, int n, const asc_op *const *plugin)
{
    if (n > 0) {
        return i < n ? cli_op_find(ctx, names[i], plugin) : NULL;
    }
    return plugin ? plugin[i] : asc_op_at(i);
}
