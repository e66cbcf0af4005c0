/* tools/bench.c: ascgrad bench. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <ascgrad/train.h>

#include "tools/commands.h"

struct args {
    const char *model;
    int64_t layers, dim, heads, ffn, block, batch, vocab, steps, threads;
    double dropout;
    cli_list sets;
    bool json;
};

static const cli_option options[] = {
    {"model", 0, "M", CLI_TEXT, offsetof(struct args, model), 0, 0, "transformer, grassmann, ascender (transformer)"},
    {"layers", 0, "N", CLI_INT, offsetof(struct args, layers), 0, 10000, "layers of the model (6)"},
    {"dim", 0, "D", CLI_INT, offsetof(struct args, dim), 1, 1 << 20, "width of the model (256)"},
    {"heads", 0, "N", CLI_INT, offsetof(struct args, heads), 1, 1 << 20, "attention heads (4)"},
    {"ffn", 0, "N", CLI_INT, offsetof(struct args, ffn), 1, 1 << 24, "width of the feed-forward layers (4 times D)"},
    {"block", 0, "N", CLI_INT, offsetof(struct args, block), 1, 1 << 24, "tokens of a sequence (128)"},
    {"batch", 0, "N", CLI_INT, offsetof(struct args, batch), 1, 1 << 20, "sequences at a time (32)"},
    {"vocab", 0, "N", CLI_INT, offsetof(struct args, vocab), 1, 1 << 30, "size of the vocabulary (30522)"},
    {"dropout", 0, "P", CLI_REAL, offsetof(struct args, dropout), 0, 0.999, "dropout (0.1)"},
    {"steps", 0, "N", CLI_INT, offsetof(struct args, steps), 1, 1e6, "steps that are timed (5)"},
    {"set", 0, "KEY=VALUE", CLI_LIST, offsetof(struct args, sets), 0, 0, "a key of the model's configuration"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* The model's configuration as JSON text; to be freed. */
static char *describe_model(const struct args *a)
{
    json_t *config = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "mix", a->model, "layers", (json_int_t)a->layers,
                               "d_model", (json_int_t)a->dim, "d_ff", (json_int_t)(a->ffn > 0 ? a->ffn : 4 * a->dim),
                               "heads", (json_int_t)a->heads, "block", (json_int_t)a->block, "vocab",
                               (json_int_t)a->vocab);
    for (int i = 0; i < a->sets.n; i++) {
        const char *value = strchr(a->sets.value[i], '=');
        if (!value) {
            cli_wrong_usage("--set: got '%s', expected KEY=VALUE", a->sets.value[i]);
        }
        json_t *json = json_loads(value + 1, JSON_DECODE_ANY, NULL);
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)(value - a->sets.value[i]), a->sets.value[i]);
        json_object_set_new(config, key, json ? json : json_string(value + 1));
    }
    char *text = json_dumps(config, JSON_COMPACT);
    json_decref(config);
    return text;
}

/* The best that sgemm reaches, on a large square product and on one like the model's. */
static double measure_sgemm(asc_ctx *ctx, const struct args *a)
{
    const int64_t tokens = a->batch * a->block, shapes[][3] = {
        {1024, 1024, 1024}, {tokens < 4096 ? tokens : 4096, 4 * a->dim, a->dim},
    };
    double best = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        double speed = asc_gemm_speed(ctx, shapes[i][0], shapes[i][1], shapes[i][2]);
        best = speed > best ? speed : best;
    }
    return best;
}

static double peak_rss_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static int print_result(const asc_bench_result *r, double sgemm, double peak, bool json)
{
    double efficiency = sgemm > 0 ? r->gflops / sgemm : 0;
    if (json) {
        return cli_print_json(json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "tokens_per_s", r->tokens_per_s,
                                        "step_ms", r->step_ms, "gflop_per_token", r->gflop_per_token, "gflops",
                                        r->gflops, "sgemm_gflops", sgemm, "efficiency", efficiency, "peak_rss_mib", peak));
    }
    printf("tokens per s     %.0f\nstep             %.1f ms (median)\nper token        %.4f GFLOP\n"
           "reached          %.1f GFLOP/s\nsgemm's best     %.1f GFLOP/s\nefficiency       %.3f\n"
           "peak memory      %.0f MiB\n",
           r->tokens_per_s, r->step_ms, r->gflop_per_token, r->gflops, sgemm, efficiency, peak);
    return CLI_OK;
}

static int bench_train(const struct args *args)
{
    char *config = describe_model(args);
    if (!config) {
        cli_message("out of memory");
        return CLI_IO;
    }
    asc_ctx *ctx = cli_ctx_new(args->threads);
    asc_bench_result result;
    double sgemm = 0, peak = 0;
    if (asc_bench_train(ctx, config, args->batch, args->steps, args->dropout, &result) == ASC_OK) {
        peak = peak_rss_mib(); /* before the products that are no part of training */
        sgemm = measure_sgemm(ctx, args);
    }
    int status = cli_report(ctx);
    free(config);
    asc_ctx_free(ctx);
    return status ? status : print_result(&result, sgemm, peak, args->json);
}

static int run(int argc, char **argv)
{
    struct args args = {.model = "transformer", .layers = 6, .dim = 256, .heads = 4, .block = 128, .batch = 32,
                        .vocab = 30522, .steps = 5, .dropout = 0.1};
    int n = cli_parse(&command_bench, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 1, "KIND (train)");
    if (strcmp(argv[0], "train") != 0) {
        cli_wrong_usage("unknown kind '%s'; did you mean 'train'?", argv[0]);
    }
    return bench_train(&args);
}

const cli_command command_bench = {
    "bench", "measures speed and memory, beside the machine's own limit", "train",
    "train: real training steps (forward, backward, clipping, AdamW, dropout) on random tokens; the median step.\n"
    "Per token count the products that the mathematics needs, forward and twice that backward.",
    "ascgrad bench train --model transformer --layers 6 --dim 256 --block 128 --batch 32 --json", options, run,
};
