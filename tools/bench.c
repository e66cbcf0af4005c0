/* tools/bench.c: ascgrad bench. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <ascgrad/train.h>

#include "tools/bench.h"
#include "tools/commands.h"

#define AT(field) offsetof(struct bench_args, field)

static char models[200]; /* filled in before use: what there is */

static const cli_option options[] = {
    {"model", 0, "M", CLI_TEXT, AT(model), 0, 0, models},
    {"layers", 0, "N", CLI_INT, AT(layers), 0, 10000, "train: layers of the model (6)"},
    {"dim", 0, "D", CLI_INT, AT(dim), 1, 1 << 20, "width of the model (256)"},
    {"heads", 0, "N", CLI_INT, AT(heads), 1, 1 << 20, "attention heads (4)"},
    {"ffn", 0, "N", CLI_INT, AT(ffn), 1, 1 << 24, "train: width of the feed-forward layers (4 times D)"},
    {"block", 0, "N", CLI_INT, AT(block), 1, 1 << 24, "train: tokens of a sequence (128)"},
    {"lengths", 0, "N,N,...", CLI_TEXT, AT(lengths), 0, 0, "layer: tokens of a sequence (128,512,2048,8192)"},
    {"batch", 0, "N", CLI_INT, AT(batch), 1, 1 << 20, "sequences at a time (32; layer: 1)"},
    {"vocab", 0, "N", CLI_INT, AT(vocab), 1, 1 << 30, "train: size of the vocabulary (30522)"},
    {"dropout", 0, "P", CLI_REAL, AT(dropout), 0, 0.999, "train: dropout (0.1)"},
    {"steps", 0, "N", CLI_INT, AT(steps), 1, 1e6, "steps that are timed (5)"},
    {"memory", 0, "MIB", CLI_INT, AT(memory), 1, 1 << 30, "layer: the most to take; - stands for what needs more"},
    {"set", 0, "KEY=VALUE", CLI_LIST, AT(sets), 0, 0, "a key of the model's configuration"},
    CLI_THREADS(struct bench_args),
    CLI_JSON(struct bench_args),
    {0},
};

/* ---- configurations ---- */

static void set_pair(json_t *config, const char *pair)
{
    const char *value = strchr(pair, '=');
    if (!value) {
        cli_wrong_usage("--set: got '%s', expected KEY=VALUE", pair);
    }
    json_t *json = json_loads(value + 1, JSON_DECODE_ANY, NULL);
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)(value - pair), pair);
    json_object_set_new(config, key, json ? json : cli_json_text(value + 1, strlen(value + 1)));
}

void bench_configure(json_t *config, const struct bench_args *args)
{
    if (asc_mixing_takes(args->model, "heads")) { /* else --heads has no say, as in train */
        json_object_set_new(config, "heads", json_integer(args->heads));
    }
    for (int i = 0; i < args->sets.n; i++) {
        set_pair(config, args->sets.value[i]);
    }
}

/* ---- train ---- */

/* The model's configuration as JSON text; to be freed. */
static char *describe_model(const struct bench_args *a)
{
    json_t *config = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "mix", a->model, "layers", (json_int_t)a->layers,
                               "d_model", (json_int_t)a->dim, "d_ff", (json_int_t)(a->ffn > 0 ? a->ffn : 4 * a->dim),
                               "block", (json_int_t)a->block, "vocab", (json_int_t)a->vocab);
    bench_configure(config, a);
    char *text = json_dumps(config, JSON_COMPACT);
    json_decref(config);
    return text;
}

/* The best that sgemm reaches, on a large square product and on one like the model's. */
static double measure_sgemm(asc_ctx *ctx, const struct bench_args *a)
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
                                        r->gflops, "sgemm_gflops", sgemm, "efficiency", efficiency, "peak_rss_mib",
                                        peak));
    }
    printf("tokens per s     %.0f\nstep             %.1f ms (median)\nper token        %.4f GFLOP\n"
           "reached          %.1f GFLOP/s\nsgemm's best     %.1f GFLOP/s\nefficiency       %.3f\n"
           "peak memory      %.0f MiB\n",
           r->tokens_per_s, r->step_ms, r->gflop_per_token, r->gflops, sgemm, efficiency, peak);
    return CLI_OK;
}

int bench_train(const struct bench_args *args)
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

/* ---- the command ---- */

static const struct {
    const char *name;
    int (*run)(const struct bench_args *args);
    int64_t batch; /* where none is given */
} kinds[] = {{"train", bench_train, 32}, {"layer", bench_layer, 1}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* An option that only another kind has says so in its help: "train: ...". */
static void refuse_options(const char *kind)
{
    for (int i = 0; i < N_KINDS; i++) {
        size_t n = strlen(kinds[i].name);
        for (const cli_option *o = options; o->name; o++) {
            bool its_own = strncmp(o->help, kinds[i].name, n) == 0 && o->help[n] == ':';
            if (its_own && strcmp(kinds[i].name, kind) != 0 && cli_given_option(o->name, strlen(o->name))) {
                cli_wrong_usage("--%s is an option of bench %s, not of bench %s", o->name, kinds[i].name, kind);
            }
        }
    }
}

static int run(int argc, char **argv)
{
    struct bench_args args = {.model = "transformer", .layers = 6, .dim = 256, .heads = 4, .block = 128, .vocab = 30522,
                              .steps = 5, .dropout = 0.1, .lengths = "128,512,2048,8192"};
    cli_list_models("what mixes the positions", models, sizeof models);
    int n = cli_parse(&command_bench, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 1, "KIND (train or layer)");
    const char *names[N_KINDS + 1] = {NULL};
    for (int i = 0; i < N_KINDS; i++) {
        names[i] = kinds[i].name;
        if (strcmp(argv[0], names[i]) == 0) {
            refuse_options(names[i]);
            args.batch = args.batch > 0 ? args.batch : kinds[i].batch;
            return kinds[i].run(&args);
        }
    }
    cli_wrong_usage("unknown kind '%s'; did you mean '%s'?", argv[0], asc_name_nearest(argv[0], names));
}

const cli_command command_bench = {
    "bench", "measures speed and memory, beside the machine's own limit", "train|layer",
    "train: real training steps (forward, backward, clipping, AdamW, dropout) on random tokens; the median step.\n"
    "Per token count the products that the mathematics needs, forward and twice that backward.\n"
    "layer: forward and backward of one layer on random numbers at several lengths, the median, and the most memory;\n"
    "where a layer can be composed of primitive ops (--set composed=true), beside its fused form.",
    "ascgrad bench train --model transformer --layers 6 --dim 256 --block 128 --batch 32 --json\n"
    "ascgrad bench layer --model ascender --lengths 128,512,2048 --dim 256 --heads 4 --set k=16",
    options, run,
};
