/* tools/parity.c: ascgrad parity: replays cases that another framework exported. */
#include <string.h>

#include <program/parity.h>

#include "tools/commands.h"

struct args {
    int64_t threads;
    bool json;
};

static const cli_option options[] = {
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

static json_t *to_json(const asc_parity_report *r)
{
    return json_pack("{s:o, s:s, s:b, s:i, s:o, s:s, s:s}", "name", cli_json_string(r->name),
                     "case", r->kind, "passed", r->passed, "tensors", r->compared, "worst_error",
                     cli_json_real(r->worst_error), "worst_tensor", r->worst_tensor, "reason", r->reason);
}

static void print_case(const asc_parity_report *r)
{
    cli_print("%-40s %-4s", r->name, r->passed ? "ok" : "FAIL");
    if (r->compared > 0) {
        cli_print(" %9.2e  %s", r->worst_error, r->worst_tensor);
    }
    cli_print("%s%s\n", *r->reason ? "  " : "", r->reason);
}

/* Replays all, and says which did not pass; a file that can't be read does not keep the others from it. */
static int replay(asc_ctx *ctx, char **paths, int n, json_t *cases)
{
    int failed = 0, status = CLI_OK;
    for (int i = 0; i < n; i++) {
        asc_parity_report report;
        if (asc_parity_replay(ctx, paths[i], &report)) {
            if (cases) {
                json_t *name = cli_json_string(paths[i]), *why = cli_json_string(asc_error_message(ctx));
                json_array_append_new(cases, json_pack("{s:o, s:b, s:o}", "name", name, "passed", 0, "error", why));
            }
            status = cli_report(ctx);
            asc_error_clear(ctx);
            continue;
        }
        failed += !report.passed;
        if (cases) {
            json_array_append_new(cases, to_json(&report));
        } else {
            print_case(&report);
        }
    }
    return status == CLI_OK && failed > 0 ? CLI_FAILED : status;
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    int n = cli_parse(&command_parity, argc, argv, &args);
    cli_expect_operands(n, argv, 1, n > 1 ? n : 1, "a CASE");
    asc_ctx *ctx = cli_ctx_new(args.threads);
    json_t *cases = args.json ? json_array() : NULL;
    int status = replay(ctx, argv, n, cases);
    asc_ctx_free(ctx);
    if (args.json) {
        int printed = cli_print_json(json_pack("{s:b, s:o}", "passed", status == CLI_OK, "cases", cases));
        status = printed == CLI_OK ? status : printed;
    }
    return status;
}

const cli_command command_parity = {
    "parity", "replays cases that another framework exported, and compares", "CASE...",
    "A CASE is a safetensors file with inputs, parameters, and the outputs and gradients to expect (a layer), or the\n"
    "losses and the parameters at the end (a training run). One line each: its name, ok or FAIL, the largest relative\n"
    "error and the tensor that has it. Exit status 1 if a case does not agree, 3 if one can't be read.",
    "ascgrad parity tests/parity/*.safetensors", options, run,
};
