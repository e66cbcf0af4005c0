/* tools/bench/ops.c: ascgrad bench ops: every op of the registry beside the machine's limits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/plugin.h"

#define MIB (1024.0 * 1024)

struct args {
    const char *plugin;
    double seconds;
    int64_t threads;
    bool json;
};

static const cli_option options[] = {
    {"seconds", 0, "TIME", CLI_SECONDS, offsetof(struct args, seconds), 0, 3600, "time for each op (0.25)"},
    {"plugin", 0, "FILE", CLI_TEXT, offsetof(struct args, plugin), 0, 0, "time the ops of a shared object"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* ---- what is printed of an op ---- */

static bool same_shape(const asc_sample_input *a, const asc_sample_input *b)
{
    return a->kind && b->kind && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

/* "2x(32,128,256) (256,512)": the shapes of the inputs, equal ones that follow one another as one. */
static void describe_inputs(const asc_sample *sample, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0, count = 1; i < ASC_MAX_IN && n < size; i += count, count = 1) {
        const asc_sample_input *in = &sample->in[i];
        while (i + count < ASC_MAX_IN && same_shape(in, in + count)) {
            count++;
        }
        if (in->kind && count > 1) {
            n += (size_t)snprintf(text + n, size - n, "%s%dx", n ? " " : "", count);
        }
        for (int d = 0; in->kind && d < in->ndim && n < size; d++) {
            n += (size_t)snprintf(text + n, size - n, "%s%lld%s", d ? "," : count > 1 || !n ? "(" : " (",
                                  (long long)in->shape[d], d + 1 < in->ndim ? "" : ")");
        }
    }
}

static const char *limit_of(const asc_bench_pass *p)
{
    return p->memory_binds ? "memory" : "sgemm";
}

/* A number that is 0 is none: an op without products, a view that moves nothing. */
static double or_none(double value)
{
    return value > 0 ? value : NAN;
}

static void print_pass(const asc_bench_pass *p)
{
    double share = or_none(p->share);
    bench_print_number(p->ms, 10);
    bench_print_number(or_none(p->gflops), 9);
    bench_print_number(or_none(p->gbs), 8);
    bench_print_share(share, 8);
    printf(" %-7s", isfinite(share) ? limit_of(p) : "");
}

static void print_head(const asc_bench_limits *limits, int threads)
{
    printf("%d thread%s: sgemm %.0f GFLOP/s, memory %.1f GB/s\n\n", threads, threads == 1 ? "" : "s",
           limits->sgemm_gflops, limits->memory_gbs);
    printf("%-21s%*s%*s\n", "", 25, "forward", 43, "backward");
    printf("%-21s", "op");
    for (int i = 0; i < 2; i++) {
        printf("%10s%9s%8s%16s", "ms", "GFLOP/s", "GB/s", "of the limit  ");
    }
    printf("%6s  %s\n", "MiB", "inputs");
}

static void print_row(const asc_op *op, const asc_bench_op_result *r)
{
    char inputs[400];
    describe_inputs(op->bench, inputs, sizeof inputs);
    printf("%-21s", op->name);
    print_pass(&r->forward);
    print_pass(&r->backward);
    printf("%6.0f  %s\n", (double)r->peak_bytes / MIB, inputs);
    fflush(stdout);
}

static json_t *pass_to_json(const asc_bench_pass *p)
{
    if (p->runs == 0) {
        return json_null();
    }
    return json_pack("{s:i, s:f, s:f, s:f, s:f, s:s}", "runs", p->runs, "ms", p->ms, "gflops", p->gflops, "gbs", p->gbs,
                     "share", p->share, "limit", limit_of(p));
}

static json_t *row_to_json(const asc_op *op, const asc_bench_op_result *r)
{
    char inputs[400];
    describe_inputs(op->bench, inputs, sizeof inputs);
    return json_pack("{s:s, s:s, s:o, s:o, s:f}", "op", op->name, "inputs", inputs, "forward",
                     pass_to_json(&r->forward), "backward", pass_to_json(&r->backward), "peak_mib",
                     (double)r->peak_bytes / MIB);
}

/* ---- measuring ---- */

static int measure_limits(int64_t threads, asc_bench_limits *limits, int *count)
{
    asc_ctx *ctx = cli_ctx_new(threads);
    asc_settings *settings = bench_settings(ctx, &(bench_model){.given.n = 0}, NULL);
    *count = asc_threads(ctx);
    *limits = (asc_bench_limits){0};
    if (settings) {
        *limits = (asc_bench_limits){asc_bench_sgemm(ctx, settings), asc_memory_speed(ctx)};
    }
    int status = cli_report(ctx);
    asc_settings_free(settings);
    asc_ctx_free(ctx);
    return status;
}

/* In a context of its own, whose peak of memory is the op's. */
static int measure_op(const struct args *args, const asc_op *op, const asc_bench_limits *limits, json_t *rows)
{
    asc_ctx *ctx = cli_ctx_new(args->threads);
    asc_bench_op_result r;
    asc_bench_op(ctx, op, args->seconds, limits, &r);
    int status = cli_report(ctx);
    asc_ctx_free(ctx);
    if (status == CLI_OK && rows) {
        json_array_append_new(rows, row_to_json(op, &r));
    } else if (status == CLI_OK) {
        print_row(op, &r);
    }
    return status;
}

static int run(int argc, char **argv)
{
    struct args args = {.seconds = .25};
    int n = cli_parse(&bench_ops, argc, argv, &args), threads;
    asc_ctx *ctx = cli_ctx_new(1);
    const asc_op *const *plugin = args.plugin ? cli_plugin_open(ctx, args.plugin) : NULL, *op;
    for (int i = 0; i < n; i++) {
        cli_op_find(ctx, argv[i], plugin); /* a wrong name is found before anything is measured */
    }
    asc_bench_limits limits;
    json_t *rows = args.json ? json_array() : NULL;
    int status = args.plugin && !plugin ? CLI_USAGE : measure_limits(args.threads, &limits, &threads);
    if (status == CLI_OK && !rows) {
        print_head(&limits, threads);
    }
    for (int i = 0; status == CLI_OK && (op = cli_op_at(ctx, i, argv, n, plugin)); i++) {
        status = measure_op(&args, op, &limits, rows);
    }
    asc_ctx_free(ctx);
    if (!rows || status != CLI_OK) {
        json_decref(rows);
        return status;
    }
    return cli_print_json(json_pack("{s:i, s:f, s:f, s:o}", "threads", threads, "sgemm_gflops", limits.sgemm_gflops,
                                    "memory_gbs", limits.memory_gbs, "ops", rows));
}

const cli_command bench_ops = {
    "bench ops", "times ops, forward and backward, beside the limit that binds", "[OP...]",
    "Every op, or those named, on the call of a training's size that its descriptor has. GFLOP/s counts the products\n"
    "that the mathematics needs, GB/s the arrays that are read and written, each once: inputs, outputs, what is\n"
    "saved, gradients. The share is of the machine's matrix product or memory (triad), whichever is nearer; above\n"
    "100 % of memory, arrays came from the caches.",
    "ascgrad bench ops\nascgrad bench ops linear attention --seconds 2 --threads 1\n"
    "ascgrad bench ops --plugin ./my_op.so",
    options, run,
};
