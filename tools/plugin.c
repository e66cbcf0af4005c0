/* tools/plugin.c: the ops that a command works on. What a user's shared object has to export: asc_plugin_ops in
 * ascgrad/op.h. */
#include "tools/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "tools/apart.h"

/* ---- shared objects ---- */

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

/* NULL, after a message, and an exit status: what can't be loaded is a file that can't be read, as others. */
static asc_plugin_fn *entry_of(const char *path, int *status)
{
    void *object = open_object(path);
    *status = object ? CLI_USAGE : CLI_IO;
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

/* Which ABI it has ops for, it says itself when it is asked for that one: of those that there may be. */
static void refuse_abi(const char *path, asc_plugin_fn *entry)
{
    enum { MOST_ABI = 100 };
    for (unsigned abi = 0; abi <= MOST_ABI; abi++) {
        const asc_op *const *ops = abi == ASC_OP_ABI ? NULL : entry(abi);
        if (ops && ops[0]) {
            cli_message("%s: has ops for ABI %u, expected ABI %d: compile it anew with this version's ascgrad/op.h",
                        path, abi, ASC_OP_ABI);
            return;
        }
    }
    cli_message("%s: has no ops for ABI %d: compile it anew with this version's ascgrad/op.h", path, ASC_OP_ABI);
}

/* The ops of a file, or NULL and an exit status after a message that says what is wrong with it. */
static const asc_op *const *open_file(asc_ctx *ctx, const char *path, int *status)
{
    asc_plugin_fn *entry = entry_of(path, status);
    if (!entry) {
        return NULL;
    }
    const asc_op *const *ops = entry(ASC_OP_ABI);
    if (!ops) {
        refuse_abi(path, entry);
        return NULL;
    }
    if (!ops[0]) {
        cli_message("%s: has no ops", path);
        return NULL;
    }
    for (int i = 0; ops[i]; i++) {
        if (asc_op_register(ctx, ops[i])) {
            cli_message("%s: %s", path, asc_error_message(ctx));
            return NULL;
        }
        if (ops[i]->n_samples == 0) {
            cli_message("%s: %s: no samples: there is nothing to run it on", path, ops[i]->name);
            return NULL;
        }
    }
    *status = CLI_OK;
    return ops;
}

static int add_op(cli_plugins *p, const asc_op *op, int file)
{
    const asc_op **ops = realloc(p->op, (size_t)(p->n + 1) * sizeof(const asc_op *));
    p->op = ops ? ops : p->op;
    int *files = realloc(p->file, (size_t)(p->n + 1) * sizeof *p->file);
    p->file = files ? files : p->file;
    if (!ops || !files) {
        cli_message("out of memory");
        return CLI_IO;
    }
    p->op[p->n] = op;
    p->file[p->n++] = file;
    return CLI_OK;
}

/* Loads all files, whose ops stay until the process ends. */
static int open_files(asc_ctx *ctx, const cli_list *files, cli_plugins *p, FILE *to)
{
    int status = CLI_OK;
    for (int f = 0; f < files->n && !status; f++) {
        apart_tell(to, "file", json_integer(f));
        const asc_op *const *ops = open_file(ctx, files->value[f], &status);
        for (int i = 0; ops && ops[i] && !status; i++) {
            status = add_op(p, ops[i], f);
        }
    }
    return status;
}

/* ---- ops by name ---- */

/* The plugins' ops, "wave, x_log_x". */
static const char *list_ops(const cli_plugins *p, char *text, size_t bytes)
{
    text[0] = 0;
    for (int i = 0; i < p->n; i++) {
        size_t n = strlen(text);
        snprintf(text + n, bytes - n, "%s%s", i ? ", " : "", p->op[i]->name);
    }
    return text;
}

const asc_op *cli_op_find(asc_ctx *ctx, const char *name, const cli_plugins *plugins)
{
    enum { MOST = 512 };
    const char *names[MOST + 1] = {NULL};
    const asc_op *op = asc_op_find(ctx, name);
    if (op) {
        return op;
    }
    int n = 0;
    for (int i = 0; plugins && i < plugins->n && n < MOST; i++) {
        names[n++] = plugins->op[i]->name;
    }
    for (int i = 0; asc_op_at(i) && n < MOST; i++) {
        names[n++] = asc_op_at(i)->name;
    }
    char own[400];
    const char *guess = asc_name_guess(name, names);
    if (guess) {
        cli_wrong_usage("unknown op '%s'; did you mean '%s'?", name, guess);
    } else if (plugins) {
        cli_wrong_usage("unknown op '%s'; the plugin has %s; ascgrad info --ops lists the library's", name,
                        list_ops(plugins, own, sizeof own));
    }
    cli_wrong_usage("unknown op '%s'; ascgrad info --ops lists them", name);
    return NULL;
}

const asc_op *cli_op_at(asc_ctx *ctx, int i, char **names, int n, const cli_plugins *plugins)
{
    if (n > 0) {
        return i < n ? cli_op_find(ctx, names[i], plugins) : NULL;
    }
    return !plugins ? asc_op_at(i) : i < plugins->n ? plugins->op[i] : NULL;
}

/* ---- work in a process of its own ---- */

typedef struct plugin_run {
    const cli_plugin_job *job;
    const char *file; /* that is being loaded, or has the op under way; NULL: the library has it */
    char op[64];      /* that is under way; "" for none */
    int next;         /* the op that the next process begins with */
    bool ended;
    int worst;
} plugin_run;

/* Which file an op is of; -1: the library's. */
static int file_of(const cli_plugins *p, const asc_op *op)
{
    for (int i = 0; i < p->n; i++) {
        if (p->op[i] == op) {
            return p->file[i];
        }
    }
    return -1;
}

/* In the process: a wrong name ends it. */
static void check_names(const cli_plugin_job *job, asc_ctx *ctx, const cli_plugins *p, FILE *to)
{
    for (int i = 0; i < job->n; i++) {
        if (!asc_op_find(ctx, job->names[i])) {
            apart_tell(to, "end", json_integer(CLI_USAGE));
            cli_op_find(ctx, job->names[i], p);
        }
    }
}

static void work_on_ops(void *user, FILE *to)
{
    const plugin_run *r = user;
    const cli_plugin_job *job = r->job;
    asc_ctx *ctx = cli_ctx_new(job->threads);
    cli_plugins plugins = {0};
    const asc_op *op;
    int status = open_files(ctx, job->files, &plugins, to);
    if (!status) {
        check_names(job, ctx, &plugins, to);
        status = job->begin ? job->begin(job->user, to) : CLI_OK;
    }
    for (int i = r->next; status < CLI_USAGE && (op = cli_op_at(ctx, i, job->names, job->n, &plugins)); i++) {
        apart_tell(to, "file", json_integer(file_of(&plugins, op)));
        apart_tell(to, "op", json_string(op->name));
        status = job->work(job->user, ctx, op, to);
        apart_tell(to, "done", json_integer(status));
    }
    apart_tell(to, "end", json_integer(status));
}

static bool hear(void *user, const char *name, const json_t *value)
{
    plugin_run *r = user;
    int number = (int)json_integer_value(value);
    if (strcmp(name, "file") == 0) {
        r->file = number < 0 ? NULL : r->job->files->value[number];
    } else if (strcmp(name, "op") == 0) {
        snprintf(r->op, sizeof r->op, "%s", json_string_value(value));
    } else if (strcmp(name, "done") == 0) {
        r->worst = cli_worse(r->worst, number);
        r->next++;
        r->op[0] = 0;
    } else if (strcmp(name, "end") == 0) {
        r->worst = cli_worse(r->worst, number);
        r->ended = true;
    } else {
        r->job->hear(r->job->user, name, value);
    }
    return !r->ended;
}

/* What was under way took the process along. */
static void note_end(plugin_run *r, const char *why)
{
    if (!r->op[0]) {
        bool begun = r->file != NULL; /* else the process did not come to a plugin */
        if (begun) {
            cli_message("%s: %s while it was loaded", r->file, why);
        } else {
            cli_message("the process for plugins: %s", why);
        }
        r->worst = begun ? CLI_USAGE : CLI_IO;
        r->ended = true;
        return;
    }
    cli_message("%s%s%s: %s while it was %s", r->file ? r->file : "", r->file ? ": " : "", r->op, why, r->job->doing);
    r->job->lost(r->job->user, r->op, why);
    r->worst = cli_worse(r->worst, CLI_FAILED);
    r->next++;
    r->op[0] = 0;
}

int cli_plugins_run(const cli_plugin_job *job)
{
    plugin_run r = {.job = job, .worst = CLI_OK};
    while (!r.ended) {
        const char *why = apart_run(job->limit, work_on_ops, hear, &r);
        if (why) {
            note_end(&r, why);
        }
    }
    return r.worst;
}
