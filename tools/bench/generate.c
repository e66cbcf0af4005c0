/* tools/bench/generate.c: ascgrad bench generate: the time of the next token, near and far into a sequence. */
#include <math.h>
#include <stdio.h>

#include "tools/bench/bench.h"

struct args {
    bench_model model;
    const char *only, *positions;
    int64_t vocab, steps, memory, threads;
    bool json;
};

static const cli_option options[] = {
    {"model", 0, "M", CLI_TEXT, offsetof(struct args, only), 0, 0, "this one alone"},
    {"positions", 0, "N,N,...", CLI_TEXT, offsetof(struct args, positions), 0, 0,
     "tokens before the one that is timed (16,100,1000,10000)"},
    BENCH_MODEL(struct args),
    BENCH_SETTING(struct args, "block", "N", "learned positions, with --set pos_emb=true; - beyond them (128)"),
    BENCH_STEPS(struct args, "tokens that are timed at each position (9)"),
    BENCH_MEMORY(struct args),
    BENCH_ROW(struct args, "precision"),
    BENCH_SET(struct args),
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

enum { MOST_MODELS = 16 };

/* Models without learned positions, which end; those that compare positions turn them. */
static asc_settings *describe(asc_ctx *ctx, const struct args *args, const char *model)
{
    bool rotary = asc_mixing_takes(NULL, model, "positions");
    const cli_initial endless[] = {{"model", model}, {"pos_emb", "false"}, {rotary ? "positions" : NULL, "rotary"},
                                     {NULL, NULL}};
    return bench_settings(ctx, &args->model, endless);
}

static int measure(const struct args *args, const char *model, const int64_t *positions, int n, double *ms)
{
    asc_ctx *ctx = bench_open(args->threads, args->memory);
    if (!ctx) {
        return CLI_IO;
    }
    for (int i = 0; i < n; i++) {
        ms[i] = NAN;
    }
    asc_settings *settings = describe(ctx, args, model);
    asc_status status = asc_error(ctx);
    if (!status) {
        status = asc_bench_generate(ctx, settings, args->vocab, positions, n, args->steps, ms);
    }
    int exit_status = status == ASC_ERR_MEMORY ? CLI_OK : cli_report(ctx);
    asc_settings_free(settings);
    asc_ctx_free(ctx);
    return exit_status;
}

static void print_table(const struct args *args, const int64_t *positions, int n, double ms[][BENCH_LENGTHS])
{
    cli_print("ms per token\n\n%9s", "position");
    for (int k = 0; bench_model_at(args->only, k); k++) {
        cli_print("%15s", bench_model_at(args->only, k));
    }
    for (int i = 0; i < n; i++) {
        cli_print("\n%9lld", (long long)positions[i]);
        for (int k = 0; bench_model_at(args->only, k); k++) {
            bench_print_number(ms[k][i], 15);
        }
    }
    putchar('\n');
}

static int print_json(const struct args *args, const int64_t *positions, int n, double ms[][BENCH_LENGTHS])
{
    json_t *models = json_array();
    for (int k = 0; bench_model_at(args->only, k); k++) {
        json_t *list = json_array();
        for (int i = 0; i < n; i++) {
            json_array_append_new(list, json_pack("{s:I, s:o}", "position", (json_int_t)positions[i], "ms",
                                                  cli_json_real(ms[k][i])));
        }
        json_array_append_new(models, json_pack("{s:s, s:o}", "model", bench_model_at(args->only, k), "positions",
                                                list));
    }
    return cli_print_json(json_pack("{s:o}", "models", models));
}

static int run(int argc, char **argv)
{
    static struct args args = {.positions = "16,100,1000,10000", .vocab = 30522, .steps = 9};
    static double ms[MOST_MODELS][BENCH_LENGTHS];
    int n = cli_parse_options(&bench_generate, bench_options(options, NULL), argc, argv, &args);
    cli_expect_operands(n, argv, 0, 0, "");
    int64_t positions[BENCH_LENGTHS];
    n = cli_numbers("positions", args.positions, 0, positions, BENCH_LENGTHS);
    for (int k = 0; k < MOST_MODELS && bench_model_at(args.only, k); k++) {
        int status = measure(&args, bench_model_at(args.only, k), positions, n, ms[k]);
        if (status != CLI_OK) {
            return status;
        }
    }
    if (args.json) {
        return print_json(&args, positions, n, ms);
    }
    print_table(&args, positions, n, ms);
    return CLI_OK;
}

const cli_command bench_generate = {
    "bench generate", "times the next token of all models, near and far into a sequence", "",
    "On the model's cache, the median of some tokens. By default no positions are learned, as those end with the\n"
    "block: the Transformer and ASCender have rotary ones, Grassmann mixing none.",
    "ascgrad bench generate\nascgrad bench generate --model grassmann --positions 100,10000,1000000 --threads 1\n"
    "ascgrad bench generate --set pos_emb=true --block 512",
    options, run,
};
