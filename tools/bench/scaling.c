/* tools/bench/scaling.c: ascgrad bench scaling: training steps of all models at rising lengths, with the same number of
 * tokens in a step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"

struct args {
    bench_model model;
    const char *only, *lengths;
    int64_t vocab, tokens, steps, memory, threads;
    double limit;
    bool json;
};

static const cli_option options[] = {
    {"model", 0, "M", CLI_TEXT, offsetof(struct args, only), 0, 0, "this one alone"},
    {"lengths", 0, "N,N,...", CLI_TEXT, offsetof(struct args, lengths), 0, 0,
     "tokens of a sequence (128,512,1024,2048,4096)"},
    {"tokens", 0, "N", CLI_INT, offsetof(struct args, tokens), 1, 1 << 24,
     "tokens of a step; of longer sequences one (4096)"},
    BENCH_MODEL(struct args),
    BENCH_ROW(struct args, "dropout"),
    BENCH_STEPS(struct args, "steps that are timed, after two that are not (3)"),
    {"limit", 0, "TIME", CLI_SECONDS, offsetof(struct args, limit), 0, 1e6,
     "- stands for steps that take longer, or would, by the lengths before (20)"},
    BENCH_MEMORY(struct args),
    BENCH_ROW(struct args, "precision"),
    BENCH_SET(struct args),
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* The table's rows and columns are not set beside it. */
static void check_sets(const struct args *args)
{
    static const char *const ours[][2] = {{"block", "--lengths"}, {"batch", "--tokens"}, {"model", "--model"},
                                          {"mix", "--model"}, {"mixing", "--model"}};
    for (int i = 0; i < args->model.sets.n; i++) {
        const char *set = args->model.sets.value[i];
        for (size_t k = 0; k < sizeof ours / sizeof *ours; k++) {
            if (strncmp(set, ours[k][0], strlen(ours[k][0])) == 0 && set[strlen(ours[k][0])] == '=') {
                cli_wrong_usage("--set %s: %s says which are measured", set, ours[k][1]);
            }
        }
    }
}

/* ---- one measurement, in a process of its own ---- */

/* What is to be measured: a model at a length. */
typedef struct task {
    const struct args *args;
    const char *model;
    int64_t length, batch;
} task;

static const asc_bench_result nothing = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}; /* not measured */

static int measure(const void *arg, void *result)
{
    const task *t = arg;
    asc_bench_result *r = result;
    char length[24], batch[24];
    snprintf(length, sizeof length, "%lld", (long long)t->length);
    snprintf(batch, sizeof batch, "%lld", (long long)t->batch);
    const cli_initial sizes[] = {{"model", t->model}, {"block", length}, {"batch", batch}, {NULL, NULL}};
    *r = nothing;
    asc_ctx *ctx = bench_open(t->args->threads, t->args->memory);
    if (!ctx) {
        return CLI_IO;
    }
    asc_settings *settings = bench_settings(ctx, &t->args->model, sizes);
    asc_status status = asc_error(ctx);
    if (!status) {
        status = asc_bench_train(ctx, settings, t->args->vocab, t->args->steps, r);
    }
    int exit_status = status == ASC_ERR_MEMORY ? CLI_OK : cli_report(ctx);
    asc_settings_free(settings);
    asc_ctx_free(ctx);
    return exit_status;
}

/* ---- what a step would take ---- */

enum { UNTIMED = 2, SET_UP = 30 }; /* steps before those that are timed; seconds for a model, and for products */

/* Seconds a token, at a length. */
typedef struct cost {
    double length, seconds;
} cost;

/* From the last two lengths, by a straight line; from one, the same; from a length that was left out, without end. */
static double estimate(const cost *before, int n, double length)
{
    if (n == 0) {
        return 0;
    }
    const cost *last = &before[n - 1];
    if (n == 1 || !isfinite(last->seconds) || last->length <= last[-1].length) {
        return last->seconds;
    }
    double slope = (last->seconds - last[-1].seconds) / (last->length - last[-1].length);
    return last->seconds + (slope > 0 ? slope : 0) * (length - last->length);
}

static int measure_model(const struct args *args, const char *model, const int64_t *lengths, cost *costs, int i,
                         asc_bench_result *r)
{
    int64_t batch = args->tokens > lengths[i] ? args->tokens / lengths[i] : 1;
    double tokens = (double)(batch * lengths[i]);
    int status = CLI_OK;
    *r = nothing;
    if (estimate(costs, i, (double)lengths[i]) * tokens <= args->limit) {
        double most = args->limit * (double)(args->steps + UNTIMED) + SET_UP;
        status = bench_apart(measure, &(task){args, model, lengths[i], batch}, most, r, sizeof *r);
    }
    double seconds = r->step_ms * 1e-3;
    costs[i] = (cost){(double)lengths[i], isfinite(seconds) ? seconds / tokens : INFINITY};
    return status;
}

/* ---- tables ---- */

static void print_head(const struct args *args)
{
    cli_print("%lld tokens a step\n\n%8s", (long long)args->tokens, "");
    for (int k = 0; bench_model_at(args->only, k); k++) {
        cli_print("%*s", k ? 31 : 11, bench_model_at(args->only, k));
    }
    cli_print("\n%8s", "length");
    for (int k = 0; bench_model_at(args->only, k); k++) {
        cli_print("%11s%11s%9s", "tokens/s", "of sgemm", "MiB");
    }
    putchar('\n');
}

static void print_result(const asc_bench_result *r)
{
    bench_print_number(r->tokens_per_s, 11);
    bench_print_share(r->paired_efficiency, 11);
    bench_print_number(r->peak_rss_mib, 9);
    cli_flush();
}

static json_t *to_json(const asc_bench_result *r, int64_t length)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "length", (json_int_t)length, "tokens_per_s",
                     cli_json_real(r->tokens_per_s), "step_ms", cli_json_real(r->step_ms), "gflops",
                     cli_json_real(r->gflops), "sgemm_gflops", cli_json_real(r->sgemm_gflops), "gemm_gflops",
                     cli_json_real(r->gemm_gflops), "efficiency", cli_json_real(r->efficiency), "paired_efficiency",
                     cli_json_real(r->paired_efficiency), "peak_rss_mib", cli_json_real(r->peak_rss_mib));
}

/* ---- all of them ---- */

enum { MOST_MODELS = 16 };

/* Length by length; `lists` has one list of JSON objects a model, or is NULL. */
static int measure_all(const struct args *args, const int64_t *lengths, int n, json_t **lists)
{
    static cost costs[MOST_MODELS][BENCH_LENGTHS];
    for (int i = 0; i < n; i++) {
        if (!lists) {
            cli_print("%8lld", (long long)lengths[i]);
            cli_flush();
        }
        for (int k = 0; k < MOST_MODELS && bench_model_at(args->only, k); k++) {
            asc_bench_result r;
            int status = measure_model(args, bench_model_at(args->only, k), lengths, costs[k], i, &r);
            if (status != CLI_OK) {
                return status;
            }
            if (lists) {
                json_array_append_new(lists[k], to_json(&r, lengths[i]));
            } else {
                print_result(&r);
            }
        }
        if (!lists) {
            putchar('\n');
        }
    }
    return CLI_OK;
}

static int print_json(const struct args *args, const int64_t *lengths, int n)
{
    json_t *models = json_array(), *lists[MOST_MODELS];
    for (int k = 0; k < MOST_MODELS && bench_model_at(args->only, k); k++) {
        lists[k] = json_array();
        json_array_append_new(models, json_pack("{s:s, s:o}", "model", bench_model_at(args->only, k), "lengths",
                                                lists[k]));
    }
    int status = measure_all(args, lengths, n, lists);
    if (status != CLI_OK) {
        json_decref(models);
        return status;
    }
    return cli_print_json(json_pack("{s:I, s:o}", "tokens", (json_int_t)args->tokens, "models", models));
}

static int run(int argc, char **argv)
{
    static struct args args = {.lengths = "128,512,1024,2048,4096", .vocab = 30522, .tokens = 4096, .steps = 3,
                               .limit = 20};
    int n = cli_parse_options(&bench_scaling, bench_options(options, NULL), argc, argv, &args);
    cli_expect_operands(n, argv, 0, 0, "");
    check_sets(&args);
    int64_t lengths[BENCH_LENGTHS];
    n = cli_numbers("lengths", args.lengths, 1, lengths, BENCH_LENGTHS);
    if (args.json) {
        return print_json(&args, lengths, n);
    }
    print_head(&args);
    return measure_all(&args, lengths, n, NULL);
}

const cli_command bench_scaling = {
    "bench scaling", "times training steps of all models at rising lengths, and their memory", "",
    "Each model and length in a process of its own, so that the peak of memory is its own. The share is the median\n"
    "of each step against the matrix products before and after it.",
    "ascgrad bench scaling\nascgrad bench scaling --model grassmann --lengths 1024,4096,16384,65536 --limit 60",
    options, run,
};
