/* tools/gradcheck.c: ascgrad gradcheck: checks the gradients of ops, what looks ahead, and the check itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/train.h>

#include "tools/apart.h"
#include "tools/commands.h"
#include "tools/gradcheck_print.h"
#include "tools/plugin.h"

struct args {
    int64_t seed, threads;
    double limit;
    cli_list plugins, models;
    bool json, mutants, layers;
};

static const cli_option options[] = {
    {"mutants", 0, NULL, CLI_FLAG, offsetof(struct args, mutants), 0, 0,
     "check the check: spoil each op's gradient in seven ways, all have to be found"},
    {"plugin", 0, "FILE", CLI_LIST, offsetof(struct args, plugins), 0, 0,
     "check the ops of a shared object; may be given again, for those of another"},
    {"limit", 0, "TIME", CLI_SECONDS, offsetof(struct args, limit), 0, 1e9,
     "end a plugin's op that takes longer, in seconds or as 5m (120); 0: none"},
    {"layers", 0, NULL, CLI_FLAG, offsetof(struct args, layers), 0, 0, "check only that causal mixing layers are"},
    {"model", 0, "RUN|MODEL", CLI_LIST, offsetof(struct args, models), 0, 0,
     "check only that a trained language model does not see the future; may be given again"},
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
    json_t *ops, *layers, *models;
    bool mutants;
    bool entered; /* an op's results, the first of which has the table's head above it */
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
    asc_gradcheck_report r = {0};
    int status = asc_gradcheck(j->ctx, op, &j->options, &r) ? refused(j, line, op->name) : CLI_OK;
    *entry = gradcheck_json(&r);
    if (!status) {
        gradcheck_print(line, &r);
    }
    return status ? status : r.passed ? CLI_OK : CLI_FAILED;
}

static int check_mutants(const job *j, const asc_op *op, FILE *line, json_t **entry)
{
    asc_mutants_report r = {0};
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
static void enter(job *j, const char *line, json_t *entry)
{
    if (j->mutants) {
        mutants_add(entry);
    }
    if (j->mutants && !j->ops && !j->entered) {
        mutants_print_head(stdout);
    }
    j->entered = true;
    if (j->ops) {
        json_array_append_new(j->ops, entry);
    } else {
        cli_print("%s", line);
        json_decref(entry);
    }
}

static int check_ops(job *j)
{
    int worst = CLI_OK;
    for (int i = 0; i < j->n; i++) {
        cli_op_find(j->ctx, j->names[i], NULL); /* a wrong name is found before anything is printed */
    }
    const asc_op *op;
    for (int i = 0; (op = cli_op_at(j->ctx, i, j->names, j->n, NULL)) != NULL && worst < CLI_IO; i++) {
        outcome o = check_op(j, op);
        enter(j, o.line ? o.line : "", o.entry);
        free(o.line);
        worst = cli_worse(worst, o.status);
    }
    if (j->mutants && !j->ops) {
        mutants_print_total(stdout);
    }
    return worst;
}

/* ---- plugins ---- */

static int check_plugin_op(void *user, asc_ctx *ctx, const asc_op *op, FILE *to)
{
    job *j = user;
    j->ctx = ctx;
    outcome o = check_op(j, op);
    apart_tell(to, "outcome", json_pack("{s:s, s:o?}", "line", o.line ? o.line : "", "entry", o.entry));
    free(o.line);
    return o.status;
}

static void hear(void *user, const char *name, const json_t *value)
{
    (void)name; /* there is one message */
    enter(user, json_string_value(json_object_get(value, "line")), json_incref(json_object_get(value, "entry")));
}

static void enter_lost(void *user, const char *op, const char *why)
{
    char line[256];
    snprintf(line, sizeof line, "%-22s FAIL  %s\n", op, why);
    enter(user, line, json_pack("{s:s, s:b, s:s}", "op", op, "passed", false, "error", why));
}

static int check_plugins(job *j)
{
    const cli_plugin_job plugins = {
        .files = &j->args->plugins, .names = j->names, .n = j->n, .threads = j->args->threads, .limit = j->args->limit,
        .doing = "checked", .work = check_plugin_op, .hear = hear, .lost = enter_lost, .user = j,
    };
    int status = cli_plugins_run(&plugins);
    if (j->entered && j->mutants && !j->ops) {
        mutants_print_total(stdout);
    }
    return status;
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
        worst = cli_worse(worst, check_layer(j, asc_mixing_at(NULL, i)));
    }
    return worst;
}

/* ---- models ---- */

/* One that can't be opened, or checked, is named, and does not pass. */
static int check_model(const job *j, const char *path)
{
    asc_causal_report r = {0};
    char error[1024] = "";
    asc_model *model = asc_model_open(j->ctx, path, NULL, NULL);
    if (model && asc_lm_classes(model->lm) > 0) {
        cli_wrong_usage("--model: %s is a classifier, which looks at the whole of its text; expected a language model",
                        path);
    }
    asc_status status = model ? asc_lm_causal_check(j->ctx, model->lm, &j->options, &r) : asc_error(j->ctx);
    if (status) {
        static const char who[] = "lm_causal_check: "; /* the library's function, which nobody here called */
        const char *message = asc_error_message(j->ctx);
        snprintf(error, sizeof error, "%s", message + (strncmp(message, who, strlen(who)) == 0 ? strlen(who) : 0));
        bool named = strstr(error, path) || strncmp(error, path, 400) == 0; /* of a long one the middle is left out */
        cli_message("%s%s%s", named ? "" : path, named ? "" : ": ", error);
        asc_error_clear(j->ctx);
    } else if (!j->models) {
        model_print(stdout, path, &r);
    }
    if (j->models) {
        json_array_append_new(j->models, model_json(path, &r, error));
    }
    asc_model_free(j->ctx, model);
    return status == ASC_ERR_IO || status == ASC_ERR_FORMAT || status == ASC_ERR_MEMORY ? CLI_IO
           : r.passed                                                                  ? CLI_OK
                                                                                       : CLI_FAILED;
}

static int check_models(const job *j)
{
    int worst = CLI_OK;
    for (int i = 0; i < j->args->models.n; i++) {
        worst = cli_worse(worst, check_model(j, j->args->models.value[i]));
    }
    return worst;
}

static int check_all(job *j)
{
    if (j->args->models.n > 0) {
        return check_models(j);
    }
    bool ops = !j->args->layers, layers = j->args->layers || (j->n == 0 && !j->mutants);
    int status = ops ? check_ops(j) : CLI_OK;
    return layers && status < CLI_IO ? cli_worse(status, check_layers(j)) : status;
}

static int run(int argc, char **argv)
{
    struct args args = {.threads = 1, .limit = -1};
    int n = cli_parse(&command_gradcheck, argc, argv, &args);
    job j = {.options = {.seed = (uint64_t)args.seed}, .mutants = args.mutants, .args = &args, .names = argv, .n = n,
             .ops = args.json ? json_array() : NULL, .layers = args.json ? json_array() : NULL,
             .models = args.json ? json_array() : NULL};
    if (args.models.n > 0 && (n > 0 || args.layers || args.mutants || args.plugins.n > 0)) {
        cli_wrong_usage("--model goes with no op, --layers, --mutants or --plugin");
    }
    if (args.layers && (n > 0 || args.mutants || args.plugins.n > 0)) {
        cli_wrong_usage("--layers goes with no op, --mutants or --plugin");
    }
    if (args.limit >= 0 && args.plugins.n == 0) {
        cli_wrong_usage("--limit is for ops of a --plugin, which run in a process of their own");
    }
    args.limit = args.limit < 0 ? 120 : args.limit;
    j.ctx = args.plugins.n ? NULL : cli_ctx_new(args.threads); /* a plugin's process makes its own */
    int status = args.plugins.n ? check_plugins(&j) : check_all(&j);
    asc_ctx_free(j.ctx);
    if (args.json && status != CLI_USAGE) {
        int printed = cli_print_json(json_pack("{s:b, s:o, s:o, s:o}", "passed", status == CLI_OK, "ops", j.ops,
                                               "layers", j.layers, "models", j.models));
        return cli_worse(status, printed);
    }
    json_decref(j.ops);
    json_decref(j.layers);
    json_decref(j.models);
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
    "ascgrad gradcheck --plugin ./my_op.so\nascgrad gradcheck --model runs/first", options, run,
};
