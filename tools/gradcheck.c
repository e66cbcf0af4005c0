/* tools/gradcheck.c: ascgrad gradcheck: checks the gradients of ops, what looks ahead, and the check itself. */
#include <stdio.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/gradcheck_print.h"
#include "tools/plugin.h"

struct args {
    int64_t seed, threads;
    const char *plugin;
    bool json, mutants, layers;
};

static const cli_option options[] = {
    {"mutants", 0, NULL, CLI_FLAG, offsetof(struct args, mutants), 0, 0,
     "check the check: spoil each op's gradient in seven ways, all have to be found"},
    {"plugin", 0, "FILE", CLI_TEXT, offsetof(struct args, plugin), 0, 0, "check the ops of a shared object"},
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
} job;

/* An op or layer that fails with an error is named, and does not pass; without memory the program ends. */
static int refused(const job *j, const char *name)
{
    int status = asc_error(j->ctx) == ASC_ERR_MEMORY ? CLI_IO : CLI_FAILED;
    cli_message("%s", asc_error_message(j->ctx));
    asc_error_clear(j->ctx);
    if (!j->ops) {
        printf("%-22s FAIL  it could not be checked\n", name);
    }
    return status;
}

static int check_op(const job *j, const asc_op *op)
{
    asc_gradcheck_report r;
    int status = asc_gradcheck(j->ctx, op, &j->options, &r) ? refused(j, op->name) : CLI_OK;
    if (j->ops) {
        json_array_append_new(j->ops, gradcheck_json(&r));
    } else if (!status) {
        gradcheck_print(&r);
    }
    return status ? status : r.passed ? CLI_OK : CLI_FAILED;
}

static int check_mutants(const job *j, const asc_op *op)
{
    asc_mutants_report r;
    int status = asc_gradcheck_mutants(j->ctx, op, &j->options, &r) ? refused(j, op->name) : CLI_OK;
    if (j->ops) {
        json_array_append_new(j->ops, mutants_json(&r));
    } else if (!status) {
        mutants_print(&r);
    }
    return status ? status : r.passed ? CLI_OK : CLI_FAILED;
}

static int check_layer(const job *j, const char *mixing)
{
    asc_causal_report r;
    int status = asc_causal_check(j->ctx, mixing, NULL, &j->options, &r) ? refused(j, mixing) : CLI_OK;
    if (j->layers) {
        json_array_append_new(j->layers, causal_json(&r));
    } else if (!status) {
        causal_print(&r);
    }
    return status ? status : r.passed ? CLI_OK : CLI_FAILED;
}

static int worse(int a, int b)
{
    return a > b ? a : b;
}

static int check_ops(const job *j, char **names, int n, const asc_op *const *plugin)
{
    int worst = CLI_OK;
    for (int i = 0; i < n; i++) {
        cli_op_find(j->ctx, names[i], plugin); /* a wrong name is found before anything is printed */
    }
    if (j->mutants && !j->ops) {
        mutants_print_head();
    }
    const asc_op *op;
    for (int i = 0; (op = cli_op_at(j->ctx, i, names, n, plugin)) != NULL && worst < CLI_IO; i++) {
        worst = worse(worst, j->mutants ? check_mutants(j, op) : check_op(j, op));
    }
    if (j->mutants && !j->ops) {
        mutants_print_total();
    }
    return worst;
}

static int check_layers(const job *j)
{
    int worst = CLI_OK;
    for (int i = 0; asc_mixing_at(NULL, i) && worst < CLI_IO; i++) {
        worst = worse(worst, check_layer(j, asc_mixing_at(NULL, i)));
    }
    return worst;
}

static int check_all(const job *j, const struct args *args, char **names, int n)
{
    const asc_op *const *plugin = args->plugin ? cli_plugin_open(j->ctx, args->plugin) : NULL;
    if (args->plugin && !plugin) {
        return CLI_USAGE;
    }
    bool ops = !args->layers, layers = args->layers || (n == 0 && !args->plugin && !args->mutants);
    int status = ops ? check_ops(j, names, n, plugin) : CLI_OK;
    return layers && status < CLI_IO ? worse(status, check_layers(j)) : status;
}

static int run(int argc, char **argv)
{
    struct args args = {.threads = 1};
    int n = cli_parse(&command_gradcheck, argc, argv, &args);
    job j = {.ctx = cli_ctx_new(args.threads), .options = {.seed = (uint64_t)args.seed}, .mutants = args.mutants,
             .ops = args.json ? json_array() : NULL, .layers = args.json ? json_array() : NULL};
    int status = check_all(&j, &args, argv, n);
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
    "too.\n"
    "Exit status 1 if one fails.",
    "ascgrad gradcheck\nascgrad gradcheck linear layer_norm\nascgrad gradcheck --mutants\n"
    "ascgrad gradcheck --plugin ./my_op.so", options, run,
};
