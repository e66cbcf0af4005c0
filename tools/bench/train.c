/* tools/bench/train.c: ascgrad bench train: real training steps beside the machine's matrix product. */
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/profile.h"

struct args {
    bench_model model;
    struct profile_args profile;
    int64_t vocab, steps, threads;
    bool json;
};

static const cli_option options[] = {
    BENCH_ROW(struct args, "model"),
    BENCH_PRESET(struct args),
    BENCH_MODEL(struct args),
    BENCH_ROW(struct args, "block"),
    BENCH_ROW(struct args, "batch"),
    BENCH_ROW(struct args, "dropout"),
    BENCH_ROW(struct args, "optimizer"),
    BENCH_ROW(struct args, "precision"),
    BENCH_STEPS(struct args, "steps that are timed, after two that are not (5)"),
    CLI_PROFILE(struct args),
    BENCH_SET(struct args),
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

static int print_result(const asc_bench_result *r, bool json)
{
    if (json) {
        return cli_print_json(json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "tokens_per_s",
                                        r->tokens_per_s, "step_ms", r->step_ms, "gflop_per_token", r->gflop_per_token,
                                        "gflops", r->gflops, "sgemm_gflops", r->sgemm_gflops, "gemm_gflops",
                                        r->gemm_gflops, "efficiency", r->efficiency, "paired_efficiency",
                                        r->paired_efficiency, "peak_rss_mib", r->peak_rss_mib));
    }
    cli_print("tokens per s     %.0f\nstep             %.1f ms (median)\nper token        %.4f GFLOP\n"
              "reached          %.1f GFLOP/s\nsgemm's best     %.1f GFLOP/s\n",
              r->tokens_per_s, r->step_ms, r->gflop_per_token, r->gflops, r->sgemm_gflops);
    if (r->gemm_gflops != r->sgemm_gflops) {
        cli_print("bf16's best      %.1f GFLOP/s (%s)\n", r->gemm_gflops, asc_machine_info().bf16);
    }
    cli_print("efficiency       %.3f\npaired           %.3f (median of each step against the products beside it)\n"
              "peak memory      %.0f MiB\n",
              r->efficiency, r->paired_efficiency, r->peak_rss_mib);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    static struct args args = {.vocab = 30522, .steps = 5, .profile.traced = PROFILE_TRACED};
    int n = cli_parse_options(&bench_train, bench_options(options, NULL), argc, argv, &args);
    cli_expect_operands(n, argv, 0, 0, "");
    if (args.model.preset && strcmp(args.model.preset, "list") == 0) {
        return cli_list_presets(args.json);
    }
    asc_ctx *ctx = cli_ctx_new(args.threads);
    asc_settings *settings = bench_settings(ctx, &args.model, NULL);
    asc_profile *profile = profile_start(ctx, &args.profile);
    asc_bench_result result = {0};
    asc_bench_train(ctx, settings, args.vocab, args.steps, &result);
    int status = cli_report(ctx);
    int shown = profile_finish(ctx, profile, &args.profile, result.gemm_gflops);
    status = status ? status : shown;
    asc_settings_free(settings);
    asc_ctx_free(ctx);
    return status ? status : print_result(&result, args.json);
}

const cli_command bench_train = {
    "bench train",
    "times real training steps, beside the machine's matrix product",
    "",
    "Forward, backward, clipping, the optimiser, with dropout, on random tokens; the median step. Per token count the\n"
    "products that the mathematics needs, forward and twice that backward, and none of the optimiser's. Large matrix\n"
    "products are timed before and after each step.",
    "ascgrad bench train --model transformer --layers 6 --dim 256 --block 128 --batch 32 --json\n"
    "ascgrad bench train --model grassmann --set 'offsets=[1,2,4]' --threads 1",
    options,
    run,
};
