/* tools/bench/ops.c: ascgrad bench ops: every op of the registry beside the machine's limits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/apart.h"
#include "tools/bench/bench.h"
#include "tools/plugin.h"

#define MIB (1024.0 * 1024)

struct args {
    cli_list plugins;
    const char *precision;
    double seconds;
    int64_t threads;
    bool json;
};

static const cli_option options[] = {
    {"seconds", 0, "TIME", CLI_SECONDS, offsetof(struct args, seconds), 0, 3600, "time for each op (0.25)"},
    {"plugin", 0, "FILE", CLI_LIST, offsetof(struct args, plugins), 0, 0,
     "time the ops of a shared object; may be given again, for those of another"},
    {"precision", 0, "f32|bf16", CLI_CHOICE, offsetof(struct args, precision), 0, 0,
     "of matrix products, as train's --precision; their limit is the product of that precision (f32)"},
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

static bool is_bf16(const struct args *args)
{
    return strcmp(args->precision, "bf16") == 0;
}

static const char *limit_of(const asc_bench_pass *p, bool bf16)
{
    return p->memory_binds ? "memory" : bf16 ? "gemm" : "sgemm";
}

/* A number that is 0 is none: an op without products, a view that moves nothing. */
static double or_none(double value)
{
    return value > 0 ? value : NAN;
}

/* NaN of a pass that there isn't. */
static double number_of(const json_t *pass, const char *key)
{
    const json_t *value = json_object_get(pass, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void print_pass(const json_t *pass)
{
    double share = or_none(number_of(pass, "share"));
    bench_print_number(number_of(pass, "ms"), 10);
    bench_print_number(or_none(number_of(pass, "gflops")), 9);
    bench_print_number(or_none(number_of(pass, "gbs")), 8);
    bench_print_share(share, 8);
    cli_print(" %-7s", isfinite(share) ? json_string_value(json_object_get(pass, "limit")) : "");
}

static void print_head(const asc_bench_limits *limits, int threads, bool bf16)
{
    cli_print("%d thread%s: sgemm %.0f GFLOP/s, ", threads, threads == 1 ? "" : "s", limits->sgemm_gflops);
    if (bf16) {
        cli_print("product in bf16 %.0f GFLOP/s, ", limits->gemm_gflops);
    }
    cli_print("memory %.1f GB/s\n\n", limits->memory_gbs);
    cli_print("%-21s%*s%*s\n", "", 25, "forward", 43, "backward");
    cli_print("%-21s", "op");
    for (int i = 0; i < 2; i++) {
        cli_print("%10s%9s%8s%16s", "ms", "GFLOP/s", "GB/s", "of the limit  ");
    }
    cli_print("%6s  %s\n", "MiB", "inputs");
}

static json_t *pass_to_json(const asc_bench_pass *p, bool bf16)
{
    if (p->runs == 0) {
        return json_null();
    }
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:s}", "runs", p->runs, "ms", cli_json_real(p->ms), "gflops",
                     cli_json_real(p->gflops), "gbs", cli_json_real(p->gbs), "share", cli_json_real(p->share), "limit",
                     limit_of(p, bf16));
}

static json_t *row_to_json(const asc_op *op, const asc_bench_op_result *r, bool bf16)
{
    char inputs[400];
    describe_inputs(op->bench, inputs, sizeof inputs);
    return json_pack("{s:s, s:s, s:o, s:o, s:f}", "op", op->name, "inputs", inputs, "forward",
                     pass_to_json(&r->forward, bf16), "backward", pass_to_json(&r->backward, bf16), "peak_mib",
                     (double)r->peak_bytes / MIB);
}

static void print_row(const json_t *row)
{
    cli_print("%-21s", json_string_value(json_object_get(row, "op")));
    print_pass(json_object_get(row, "forward"));
    print_pass(json_object_get(row, "backward"));
    cli_print("%6.0f  %s\n", json_number_value(json_object_get(row, "peak_mib")),
              json_string_value(json_object_get(row, "inputs")));
    cli_flush();
}

/* ---- measuring ---- */

typedef struct job {
    const struct args *args;
    json_t *rows; /* of --json, or NULL */
    asc_bench_limits limits;
    int threads; /* 0: the limits were not measured yet */
    bool named;  /* ops were: each of them is to be timed */
} job;

static int measure_limits(job *j)
{
    asc_ctx *ctx = cli_ctx_new(j->args->threads);
    const cli_initial precision[] = {{"precision", j->args->precision}, {NULL, NULL}};
    asc_settings *settings = bench_settings(ctx, &(bench_model){.given.n = 0}, precision);
    j->threads = asc_threads(ctx);
    if (settings) {
        j->limits = (asc_bench_limits){asc_bench_sgemm(ctx, settings), asc_memory_speed(ctx), 0};
        j->limits.gemm_gflops = is_bf16(j->args) ? asc_bench_gemm(ctx, settings) : j->limits.sgemm_gflops;
    }
    int status = cli_report(ctx);
    asc_settings_free(settings);
    asc_ctx_free(ctx);
    return status;
}

/* In a context of its own, whose peak of memory is the op's; *row is new. */
static int measure_op(const job *j, const asc_op *op, json_t **row)
{
    asc_ctx *ctx = cli_ctx_new(j->args->threads);
    asc_bench_op_result r;
    asc_set_precision(ctx, is_bf16(j->args) ? ASC_PRECISION_BF16 : ASC_PRECISION_F32);
    asc_bench_op(ctx, op, j->args->seconds, &j->limits, &r);
    int status = cli_report(ctx);
    asc_ctx_free(ctx);
    *row = status == CLI_OK ? row_to_json(op, &r, is_bf16(j->args)) : NULL;
    return status;
}

/* A row, which goes, to where rows go. */
static void enter(const job *j, json_t *row)
{
    if (j->rows) {
        json_array_append_new(j->rows, row);
    } else {
        print_row(row);
        json_decref(row);
    }
}

static int measure_all(job *j, char **names, int n)
{
    asc_ctx *ctx = cli_ctx_new(1);
    for (int i = 0; i < n; i++) {
        cli_op_find(ctx, names[i], NULL); /* a wrong name is found before anything is measured */
    }
    int status = measure_limits(j);
    if (status == CLI_OK && !j->rows) {
        print_head(&j->limits, j->threads, is_bf16(j->args));
    }
    const asc_op *op;
    for (int i = 0; status == CLI_OK && (op = cli_op_at(ctx, i, names, n, NULL)); i++) {
        json_t *row;
        status = measure_op(j, op, &row);
        if (status == CLI_OK) {
            enter(j, row);
        }
    }
    asc_ctx_free(ctx);
    return status;
}

/* ---- plugins ---- */

static int tell_limits(void *user, FILE *to)
{
    job *j = user;
    int status = j->threads ? CLI_OK : measure_limits(j);
    if (status == CLI_OK) {
        apart_tell(to, "limits", json_pack("{s:i, s:f, s:f, s:f}", "threads", j->threads, "sgemm",
                                           j->limits.sgemm_gflops, "gemm", j->limits.gemm_gflops, "memory",
                                           j->limits.memory_gbs));
    }
    return status;
}

static int tell_row(void *user, asc_ctx *ctx, const asc_op *op, FILE *to)
{
    (void)ctx;
    const job *j = user;
    if (!op->bench && !j->named) {
        apart_tell(to, "untimed", json_string(op->name));
        return CLI_OK;
    }
    json_t *row;
    int status = measure_op(j, op, &row);
    if (status == CLI_OK) {
        apart_tell(to, "row", row);
    } else if (status == CLI_USAGE && op->bench) { /* an error of its own, which has been told: others are timed */
        apart_tell(to, "failed", json_string(op->name));
        status = CLI_FAILED;
    }
    return status;
}

/* An op without numbers. */
static void enter_why(const job *j, const char *op, const char *key, const char *why)
{
    if (j->rows) {
        json_array_append_new(j->rows, json_pack("{s:s, s:s}", "op", op, key, why));
    } else {
        cli_print("%-21s%s\n", op, why);
    }
}

static void hear(void *user, const char *name, const json_t *value)
{
    job *j = user;
    if (strcmp(name, "row") == 0) {
        enter(j, json_deep_copy(value));
        return;
    }
    if (strcmp(name, "untimed") == 0) {
        enter_why(j, json_string_value(value), "skipped", "skipped: its descriptor has no call to time (`bench`)");
        return;
    }
    if (strcmp(name, "failed") == 0) {
        enter_why(j, json_string_value(value), "error", "fails: its message stands on standard error");
        return;
    }
    bool first = j->threads == 0;
    j->threads = (int)json_integer_value(json_object_get(value, "threads"));
    j->limits = (asc_bench_limits){json_number_value(json_object_get(value, "sgemm")),
                                   json_number_value(json_object_get(value, "memory")),
                                   json_number_value(json_object_get(value, "gemm"))};
    if (first && !j->rows) {
        print_head(&j->limits, j->threads, is_bf16(j->args));
    }
}

static void enter_lost(void *user, const char *op, const char *why)
{
    enter_why(user, op, "error", why);
}

static int run(int argc, char **argv)
{
    struct args args = {.seconds = .25, .precision = "f32"};
    int n = cli_parse(&bench_ops, argc, argv, &args);
    job j = {.args = &args, .rows = args.json ? json_array() : NULL, .named = n > 0};
    const cli_plugin_job plugins = {.files = &args.plugins, .names = argv, .n = n, .threads = 1, .doing = "timed",
                                    .begin = tell_limits, .work = tell_row, .hear = hear, .lost = enter_lost,
                                    .user = &j};
    int status = args.plugins.n ? cli_plugins_run(&plugins) : measure_all(&j, argv, n);
    if (!j.rows || status > CLI_FAILED) {
        json_decref(j.rows);
        return status;
    }
    int printed = cli_print_json(json_pack("{s:i, s:f, s:f, s:f, s:o}", "threads", j.threads, "sgemm_gflops",
                                           j.limits.sgemm_gflops, "gemm_gflops", j.limits.gemm_gflops, "memory_gbs",
                                           j.limits.memory_gbs, "ops", j.rows));
    return printed > status ? printed : status;
}

const cli_command bench_ops = {
    "bench ops", "times ops, forward and backward, beside the limit that binds", "[OP...]",
    "Every op, or those named, on the call of a training's size that its descriptor has. GFLOP/s counts the products\n"
    "that the mathematics needs, GB/s the arrays that are read and written, each once: inputs, outputs, what is\n"
    "saved, gradients. The share is of the machine's matrix product or memory (triad), whichever is nearer; above\n"
    "100 % of memory, arrays came from the caches. A plugin's ops are timed in a process of their own: of one that\n"
    "ends it, the line says how, those after it are timed in another, and the exit status is 1. Those that have no\n"
    "such call are skipped, unless they are named.",
    "ascgrad bench ops\nascgrad bench ops linear attention --seconds 2 --threads 1\n"
    "ascgrad bench ops --plugin ./my_op.so",
    options, run,
};
