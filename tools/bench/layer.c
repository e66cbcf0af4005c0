/* tools/bench/layer.c: ascgrad bench layer: one mixing layer at several lengths, fused beside composed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"

#define MIB (1024.0 * 1024)

struct args {
    bench_model model;
    const char *lengths;
    int64_t context, steps, memory, threads;
    bool fused, json;
};

static const cli_option options[] = {
    BENCH_ROW(struct args, "model"),
    BENCH_ROW(struct args, "dim"),
    BENCH_ROW(struct args, "heads"),
    {"lengths", 0, "N,N,...", CLI_TEXT, offsetof(struct args, lengths), 0, 0,
     "tokens of a sequence (128,512,2048,8192)"},
    {"context", 0, "M", CLI_INT, offsetof(struct args, context), 1, 1 << 24,
     "cross-attention: the tokens look at a context of M others"},
    BENCH_ROW(struct args, "batch"),
    BENCH_STEPS(struct args, "runs that are timed, after one that is not (5)"),
    {"fused", 0, NULL, CLI_FLAG, offsetof(struct args, fused), 0, 0, "the fused layer only"},
    BENCH_MEMORY(struct args),
    BENCH_ROW(struct args, "precision"),
    BENCH_SET(struct args),
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

static const cli_initial single[] = {{"batch", "1"}, {NULL, NULL}};

/* ---- one measurement ---- */

typedef struct measurement {
    double ms, peak_mib; /* NaN: it does not fit in memory; */
    double tokens;       /* in it */
} measurement;

static int measure(const struct args *args, int64_t length, bool composed, measurement *m)
{
    asc_ctx *ctx = bench_open(args->threads, args->memory);
    if (!ctx) {
        return CLI_IO;
    }
    asc_settings *settings = bench_settings(ctx, &args->model, single);
    if (composed) {
        asc_settings_set(settings, "composed", "true");
    }
    asc_bench_layer_result r;
    *m = (measurement){NAN, NAN, NAN};
    asc_status status = args->context > 0
                            ? asc_bench_layer_cross(ctx, settings, length, args->context, args->steps, &r)
                            : asc_bench_layer(ctx, settings, length, args->steps, &r);
    if (status == ASC_OK) {
        *m = (measurement){r.ms, (double)r.peak_bytes / MIB, (double)r.tokens};
    }
    int exit_status = status == ASC_ERR_MEMORY ? CLI_OK : cli_report(ctx);
    asc_settings_free(settings);
    asc_ctx_free(ctx);
    return exit_status;
}

/* The model, and whether it is measured composed of primitive ops as well. */
static int choose_model(const struct args *args, char model[40], bool *composed)
{
    asc_ctx *ctx = cli_ctx_new(1);
    asc_settings *settings = bench_settings(ctx, &args->model, single);
    const char *text = settings ? asc_settings_text(settings, "model", NULL) : NULL;
    snprintf(model, 40, "%s", text && *text ? text : asc_mixing_at(NULL, 0));
    *composed = !args->fused && asc_mixing_takes(NULL, model, "composed");
    int status = cli_report(ctx);
    asc_settings_free(settings);
    asc_ctx_free(ctx);
    return status;
}

/* ---- tables ---- */

/* One length: what was measured, and `composed` or NULL. */
typedef struct row {
    int64_t length;
    const measurement *fused, *composed;
} row;

static double us_per_token(const measurement *m)
{
    return 1e3 * m->ms / m->tokens;
}

static double kib_per_token(const measurement *m)
{
    return 1024 * m->peak_mib / m->tokens;
}

static json_t *row_to_json(const row *r)
{
    json_t *json = json_pack("{s:I, s:o, s:o, s:o, s:o}", "length", (json_int_t)r->length, "ms",
                             cli_json_real(r->fused->ms), "us_per_token", cli_json_real(us_per_token(r->fused)),
                             "peak_mib", cli_json_real(r->fused->peak_mib), "kib_per_token",
                             cli_json_real(kib_per_token(r->fused)));
    if (r->composed) {
        json_object_set_new(json, "composed_ms", cli_json_real(r->composed->ms));
        json_object_set_new(json, "composed_peak_mib", cli_json_real(r->composed->peak_mib));
        json_object_set_new(json, "ratio", cli_json_real(r->composed->ms / r->fused->ms));
        json_object_set_new(json, "memory_ratio", cli_json_real(r->composed->peak_mib / r->fused->peak_mib));
    }
    return json;
}

static void print_row(const row *r)
{
    cli_print("%8lld", (long long)r->length);
    bench_print_number(r->fused->ms, 11);
    bench_print_number(us_per_token(r->fused), 10);
    bench_print_number(r->fused->peak_mib, 10);
    bench_print_number(kib_per_token(r->fused), 11);
    if (r->composed) {
        bench_print_number(r->composed->ms, 14);
        bench_print_number(r->composed->peak_mib, 10);
        bench_print_number(r->composed->ms / r->fused->ms, 8);
        bench_print_number(r->composed->peak_mib / r->fused->peak_mib, 10);
    }
    putchar('\n');
    cli_flush();
}

static void print_head(bool composed)
{
    cli_print("%8s%11s%11s%10s%11s", "length", composed ? "fused ms" : "ms", "µs/token", "peak MiB", "KiB/token");
    cli_print(composed ? "%14s%10s%8s%10s\n" : "\n", "composed ms", "peak MiB", "time x", "memory x");
}

/* ---- all lengths ---- */

static int measure_all(const struct args *args, const int64_t *lengths, int n, bool both, json_t *rows)
{
    for (int i = 0; i < n; i++) {
        measurement fused, composed;
        int status = measure(args, lengths[i], false, &fused);
        if (status == CLI_OK && both) {
            status = measure(args, lengths[i], true, &composed);
        }
        if (status != CLI_OK) {
            return status;
        }
        row r = {lengths[i], &fused, both ? &composed : NULL};
        if (rows) {
            json_array_append_new(rows, row_to_json(&r));
            continue;
        }
        if (i == 0) {
            print_head(both);
        }
        print_row(&r);
    }
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    static struct args args = {.lengths = "128,512,2048,8192", .steps = 5};
    int n = cli_parse_options(&bench_layer, bench_options(options, single), argc, argv, &args);
    cli_expect_operands(n, argv, 0, 0, "");
    int64_t lengths[BENCH_LENGTHS];
    n = cli_numbers("lengths", args.lengths, 1, lengths, BENCH_LENGTHS);
    bool both;
    char model[40];
    int status = choose_model(&args, model, &both);
    if (status != CLI_OK) {
        return status;
    }
    json_t *rows = args.json ? json_array() : NULL;
    status = measure_all(&args, lengths, n, both, rows);
    if (!rows || status != CLI_OK) {
        json_decref(rows);
        return status;
    }
    json_t *context = args.context > 0 ? json_integer(args.context) : NULL;
    return cli_print_json(json_pack("{s:s, s:o*, s:o}", "model", model, "context", context, "lengths", rows));
}

const cli_command bench_layer = {
    "bench layer", "times one layer at several lengths, fused beside composed, and its memory", "",
    "Forward and backward of one mixing layer on random numbers, the median, and the most memory that was held; where\n"
    "a layer can be composed of primitive ops (--set composed=true), beside its fused form.",
    "ascgrad bench layer --model ascender --lengths 128,512,2048 --dim 256 --heads 4 --set k=16\n"
    "ascgrad bench layer --model grassmann --lengths 1024,8192,65536 --fused\n"
    "ascgrad bench layer --model ascender --lengths 128,512 --context 1024\n"
    "ascgrad bench layer --model transformer --lengths 8192 --set window=128 --set random=8",
    options, run,
};
