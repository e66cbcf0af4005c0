/* tools/gradcheck.c: ascgrad gradcheck: checks the gradients of ops, what looks ahead, and the check itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/apart.h"
#include "tools/commands.h"
#include "tools/gradcheck_print.h"
#include "tools/plugin.h"

struct args {
    int64_t seed, threads;
    double limit;
    const char *plugin;
    bool json, mutants, layers;
};

static const cli_option options[] = {
    {"mutants", 0, NULL, CLI_FLAG, offsetof(struct args, mutants), 0, 0,
     "check the check: spoil each op's gradient in seven ways, all have to be found"},
    {"plugin", 0, "FILE", CLI_TEXT, offsetof(struct args, plugin), 0, 0, "check the ops of a shared object"},
    {"limit", 0, "TIME", CLI_SECONDS, offsetof(struct args, limit), 0, 1e9,
     "end a plugin's op that takes longer, in seconds or as 5m (120); 0: none"},
    {"layers", 0, NULL, CLI_FLAG, offsetof(struct args, layers), 0, 0, "check only that causal mixing layers are"},
    {"seed", 0, "N", CLI_INT, offsetof(struct args, seed), 0, 9e15, "of the inputs and cotangents (0)"},
    {"threads", 0, "N", CLI_INT, offsetof(struct args, threads), 0, 1024,
     "threads that compute; 0: one per processor (1); 1, 2 and 3 are compared anyway"},
    CLI_JSON(struct args),
    {0},
};

/* What is checked, and where the results go: the lists of --json, or NULL. */
typedef struct job {
    asc_ctx *ctx;
    asc_gradcheck_options options;
    json_t *ops, *layers;
    bool mutants;
    const struct args *args;
    char **names;
    int n;
} job;

/* What came of an op: its line, "" if it has none, its entry of --json, and the exit status that it asks for. */
typedef struct outcome {
    char *line;
    json_t *entry;
    int status;
} outcome;

static int worse(int a, int b)
{
    return a > b ? a : b;
}

/* An op or layer that fails with an error is named, and does not pass; without memory the program ends. */
static int refused(const job *j, FILE *line, const char *name)
{
    int status = asc_error(j->ctx) == ASC_ERR_MEMORY ? CLI_IO : CLI_FAILED;
    cli_message("%s", asc_error_message(j->ctx));
    asc_error_clear(j->ctx);
    fprintf(line, "%-22s FAIL  it could not be checked\n", name);
    return status;
}

static int check_gradient(const job *j, const asc_op *op, FILE *line, json_t **entry)
{
    asc_gradcheck_report r;
    int status = asc_gradcheck(j->ctx, op, &j->options, &r) ? refused(j, line, op->name) : CLI_OK;
    *entry = gradcheck_json(&r);
    if (!status) {
        gradcheck_print(line, &r);
    }
    return status ? status : r.passed ? CLI_OK : CLI_FAILED;
}

static int check_mutants(const job *j, const asc_op *op, FILE *line, json_t **entry)
{
    asc_mutants_report r;
    int status = asc_gradcheck_mutants(j->ctx, op, &j->options, &r) ? refused(j, line, op->name) : CLI_OK;
    *entry = mutants_json(&r);
    if (!status) {
        mutants_print(line, &r);
    }
    return status ? status : r.passed ? CLI_OK : CLI_FAILED;
}

static outcome check_op(const job *j, const asc_op *op)
{
    outcome o = {NULL, NULL, CLI_IO};
    size_t bytes;
    FILE *line = open_memstream(&o.line, &bytes);
    if (line) {
        o.status = j->mutants ? check_mutants(j, op, line, &o.entry) : check_gradient(j, op, line, &o.entry);
        fclose(line);
    }
    return o;
}

/* An entry, which goes, and its line, to where results go. */
static void enter(const job *j, const char *line, json_t *entry)
{
    if (j->mutants) {
        mutants_add(entry);
    }
    if (j->ops) {
        json_array_append_new(j->ops, entry);
    } else {
        fputs(line, stdout);
        json_decref(entry);
    }
}

static int check_ops(const job *j)
{
    int worst = CLI_OK;
    for (int i = 0; i < j->n; i++) {
        cli_op_find(j->ctx, j->names[i], NULL); /* a wrong name is found before anything is printed */
    }
    if (j->mutants && !j->ops) {
        mutants_print_head(stdout);
    }
    const asc_op *op;
    for (int i = 0; (op = cli_op_at(j->ctx, i, j->names, j->n, NULL)) != NULL && worst < CLI_IO; i++) {
        outcome o = check_op(j, op);
        enter(j, o.line ? o.line : "", o.entry);
        free(o.line);
        worst = worse(worst, o.status);
    }
    if (j->mutants && !j->ops) {
        mutants_print_total(stdout);
    }
    return worst;
}

/* ---- a plugin: in a process of its own ---- */

typedef struct plugin_job {
    job *j;
    bool loaded, ended;
    int next;        /* the op that the next process begins with */
    char op[64];     /* that is under way; "" for none */
    int worst;
} plugin_job;

/* In the process. */
static void check_plugin_ops(void *user, FILE *to)
{
    plugin_job *p = user;
    job *j = p->j;
    j->ctx = cli_ctx_new(j->args->threads);
    const asc_op *const *plugin = cli_plugin_open(j->ctx, j->args->plugin), *op;
    for (int i = 0; plugin && i < j->n; i++) {
        if (!asc_op_find(j->ctx, j->names[i])) {
            apart_tell(to, "end", json_integer(CLI_USAGE));
            cli_op_find(j->ctx, j->names[i], plugin);
        }
    }
    if (plugin) {
        apart_tell(to, "loaded", json_true());
    }
    for (int i = p->next; plugin && (op = cli_op_at(j->ctx, i, j->names, j->n, plugin)) != NULL; i++) {
        apart_tell(to, "op", json_string(op->name));
        outcome o = check_op(j, op);
        apart_tell(to, "outcome", json_pack("{s:s, s:o?, s:i}", "line", o.line ? o.line : "", "entry", o.entry,
                                            "status", o.status));
        free(o.line);
    }
    apart_tell(to, "end", json_integer(plugin ? CLI_OK : CLI_USAGE));
}

static bool hear(void *user, const char *name, const json_t *value)
{
    plugin_job *p = user;
    if (strcmp(name, "loaded") == 0) {
        if (p->j->mutants && !p->j->ops && !p->loaded) {
            mutants_print_head(stdout);
        }
        p->loaded = true;
    } else if (strcmp(name, "op") == 0) {
        snprintf(p->op, sizeof p->op, "%s", json_string_value(value));
    } else if (strcmp(name, "outcome") == 0) {
        enter(p->j, json_string_value(json_object_get(value, "line")), json_incref(json_object_get(value, "entry")));
        p->worst = worse(p->worst, (int)json_integer_value(json_object_get(value, "status")));
        p->next++;
        p->op[0] = 0;
    } else if (strcmp(name, "end") == 0) {
        p->worst = worse(p->worst, (int)json_integer_value(value));
        p->ended = true;
    }
    return !p->ended;
}

/* The op under way took the process along: it gets its line, and those after it another process. */
static void note_end(plugin_job *p, const char *why)
{
    const char *file = p->j->args->plugin;
    if (!p->op[0]) {
        cli_message("%s: %s while it was loaded", file, why);
        p->worst = CLI_USAGE;
        p->ended = true;
        return;
    }
    char line[256];
    cli_message("%s: %s: %s while it was checked", file, p->op, why);
    snprintf(line, sizeof line, "%-22s FAIL  %s\n", p->op, why);
    enter(p->j, line, json_pack("{s:s, s:b, s:s}", "op", p->op, "passed", false, "error", why));
    p->worst = worse(p->worst, CLI_FAILED);
    p->next++;
    p->op[0] = 0;
}

static int check_plugin(job *j)
{
    plugin_job p = {.j = j, .worst = CLI_OK};
    while (!p.ended && p.worst < CLI_IO) {
        const char *why = apart_run(j->args->limit, check_plugin_ops, hear, &p);
        if (why) {
            note_end(&p, why);
        }
    }
    if (p.loaded && j->mutants && !j->ops) {
        mutants_print_total(stdout);
    }
    return p.worst;
}

/* ---- layers ---- */

static int check_layer(const job *j, const char *mixing)
{
    asc_causal_report r;
    int status = CLI_OK;
    if (asc_causal_check(j->ctx, mixing, NULL, &j->options, &r)) {
        status = refused(j, j->layers ? stderr : stdout, mixing);
    }
    if (j->layers) {
        json_array_append_new(j->layers, causal_json(&r));
    } else if (!status) {
        causal_print(stdout, &r);
    }
    return status ? status : r.passed ? CLI_OK : CLI_FAILED;
}

static int check_layers(const job *j)
{
    int worst = CLI_OK;
    for (int i = 0; asc_mixing_at(NULL, i) && worst < CLI_IO; i++) {
        worst = worse(worst, check_layer(j, asc_mixing_at(NULL, i)));
    }
    return worst;
}

static int check_all(job *j)
{
    bool ops = !j->args->layers, layers = j->args->layers || (j->n == 0 && !j->mutants);
    int status = ops ? check_ops(j) : CLI_OK;
    return layers && status < CLI_IO ? worse(status, check_layers(j)) : status;
}

static int run(int argc, char **argv)
{
    struct args args = {.threads = 1, .limit = 120};
    int n = cli_parse(&command_gradcheck, argc, argv, &args);
    job j = {.options = {.seed = (uint64_t)args.seed}, .mutants = args.mutants, .args = &args, .names = argv, .n = n,
             .ops = args.json ? json_array() : NULL, .layers = args.json ? json_array() : NULL};
    j.ctx = args.plugin ? NULL : cli_ctx_new(args.threads); /* that process makes its own */
    int status = args.plugin ? check_plugin(&j) : check_all(&j);
    asc_ctx_free(j.ctx);
    if (args.json && status != CLI_USAGE) {
        int printed = cli_print_json(json_pack("{s:b, s:o, s:o}", "passed", status == CLI_OK, "ops", j.ops, "layers",
                                               j.layers));
        return worse(status, printed);
    }
    json_decref(j.ops);
    json_decref(j.layers);
    return status;
}

const cli_command command_gradcheck = {
    "gradcheck", "checks the gradients of ops, of all without a name", "[OP...]",
    "Each op's gradient is compared with central differences in double precision on the inputs that the op declares\n"
    "and on others of length 0 and 1, and with itself: strided and repeated inputs, accumulated gradients, one\n"
    "tensor given twice, single precision, 1 to 3 threads, causality. One line each: the op, the cases, the largest\n"
    "relative error, the digits verified, ok or the first failing element. Without a name, mixing layers' causality\n"
    "too. A plugin's ops are checked in a process of their own, and what they print goes to standard error: an op\n"
    "that ends it, or takes too long, fails, and those after it are checked in another.\n"
    "Exit status 1 if one fails.",
    "ascgrad gradcheck\nascgrad gradcheck linear layer_norm\nascgrad gradcheck --mutants\n"
    "ascgrad gradcheck --plugin ./my_op.so", options, run,
};
