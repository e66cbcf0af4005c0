/* tools/bench_layer.c: ascgrad bench layer: one mixing layer at several lengths, fused beside composed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ascgrad/train.h>

#include "tools/bench.h"

enum { MOST_LENGTHS = 64 };
#define MIB (1024.0 * 1024)

/* ---- memory with a limit ---- */

typedef struct budget {
    size_t held, most;
} budget;

static void *take(void *user, size_t bytes, size_t align)
{
    budget *b = user;
    void *memory = NULL;
    if (bytes > b->most - b->held || posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, bytes)) {
        return NULL;
    }
    b->held += bytes;
    return memory;
}

static void give(void *user, void *memory, size_t bytes)
{
    budget *b = user;
    b->held -= memory ? bytes : 0;
    free(memory);
}

/* Three quarters of what is free: a system that takes more than it has would rather kill us than refuse. */
static size_t free_memory(void)
{
    return (size_t)sysconf(_SC_AVPHYS_PAGES) / 4 * 3 * (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- one measurement ---- */

typedef struct measurement {
    double ms, peak_mib; /* NaN: it does not fit in memory */
} measurement;

/* The layer's configuration as JSON text; to be freed. */
static char *describe_layer(const struct bench_args *args, bool composed)
{
    json_t *config = json_object();
    bench_configure(config, args);
    if (composed) {
        json_object_set_new(config, "composed", json_true());
    }
    char *text = json_dumps(config, JSON_COMPACT);
    json_decref(config);
    return text;
}

static int measure(const struct bench_args *args, int64_t length, bool composed, measurement *m)
{
    budget limit = {.most = args->memory > 0 ? (size_t)args->memory << 20 : free_memory()};
    asc_options options = {.threads = (int)args->threads, .allocator = {take, give, &limit}};
    asc_ctx *ctx = asc_ctx_new(&options);
    char *config = describe_layer(args, composed);
    asc_bench_layer_result r;
    *m = (measurement){NAN, NAN};
    asc_status status = ctx && config ? asc_bench_layer(ctx, args->model, args->dim, config, args->batch, length,
                                                        args->steps, &r)
                                      : ASC_ERR_MEMORY;
    if (status == ASC_OK) {
        *m = (measurement){r.ms, (double)r.peak_bytes / MIB};
    }
    int exit_status = status == ASC_ERR_MEMORY ? CLI_OK : cli_report(ctx);
    free(config);
    asc_ctx_free(ctx);
    return exit_status;
}

/* ---- all lengths ---- */

static int read_lengths(const char *text, int64_t lengths[MOST_LENGTHS])
{
    int n = 0;
    for (const char *at = text; n == 0 || *at; n++) {
        char *end;
        long long value = strtoll(at, &end, 10);
        if (end == at || (*end && *end != ',') || value < 1 || value > 1 << 24 || n == MOST_LENGTHS) {
            cli_wrong_usage("--lengths: got '%s', expected at most %d whole numbers from 1 to %d, with commas", text,
                            MOST_LENGTHS, 1 << 24);
        }
        lengths[n] = value;
        at = end + (*end == ',');
    }
    return n;
}

static json_t *row_to_json(int64_t length, const measurement *fused, const measurement *composed)
{
    json_t *row = json_pack("{s:I, s:o, s:o}", "length", (json_int_t)length, "ms", cli_json_real(fused->ms), "peak_mib",
                            cli_json_real(fused->peak_mib));
    if (composed) {
        json_object_set_new(row, "composed_ms", cli_json_real(composed->ms));
        json_object_set_new(row, "composed_peak_mib", cli_json_real(composed->peak_mib));
        json_object_set_new(row, "ratio", cli_json_real(composed->ms / fused->ms));
        json_object_set_new(row, "memory_ratio", cli_json_real(composed->peak_mib / fused->peak_mib));
    }
    return row;
}

/* A number in a column of its own, or "-". */
static void print_number(double value, const char *format, int width)
{
    char text[32] = "-";
    if (isfinite(value)) {
        snprintf(text, sizeof text, format, value);
    }
    printf("%*s", width, text);
}

static void print_row(int64_t length, const measurement *fused, const measurement *composed)
{
    printf("%8lld", (long long)length);
    print_number(fused->ms, "%.2f", 12);
    print_number(fused->peak_mib, "%.1f", 12);
    if (composed) {
        print_number(composed->ms, "%.2f", 14);
        print_number(composed->peak_mib, "%.1f", 12);
        print_number(composed->ms / fused->ms, "%.2f", 10);
        print_number(composed->peak_mib / fused->peak_mib, "%.2f", 10);
    }
    putchar('\n');
    fflush(stdout);
}

static void print_head(bool composed)
{
    printf("%8s%12s%12s", "length", composed ? "fused ms" : "ms", "peak MiB");
    printf(composed ? "%14s%12s%10s%10s\n" : "\n", "composed ms", "peak MiB", "time x", "memory x");
}

static void check_model(const char *model)
{
    enum { MOST = 30 };
    const char *names[MOST + 1] = {NULL};
    for (int i = 0; i < MOST && asc_mixing_at(i); i++) {
        names[i] = asc_mixing_at(i);
    }
    if (strcmp(asc_name_nearest(model, names), model) != 0) {
        cli_wrong_usage("--model: there is no '%s'; did you mean '%s'?", model, asc_name_nearest(model, names));
    }
}

int bench_layer(const struct bench_args *args)
{
    check_model(args->model);
    int64_t lengths[MOST_LENGTHS];
    int n = read_lengths(args->lengths, lengths), status = CLI_OK;
    bool both = asc_mixing_takes(args->model, "composed");
    json_t *rows = args->json ? json_array() : NULL;
    for (int i = 0; status == CLI_OK && i < n; i++) {
        measurement fused, composed;
        status = measure(args, lengths[i], false, &fused);
        if (status == CLI_OK && both) {
            status = measure(args, lengths[i], true, &composed);
        }
        if (status != CLI_OK) {
            break;
        }
        if (rows) {
            json_array_append_new(rows, row_to_json(lengths[i], &fused, both ? &composed : NULL));
            continue;
        }
        if (i == 0) {
            print_head(both);
        }
        print_row(lengths[i], &fused, both ? &composed : NULL);
    }
    if (!rows || status != CLI_OK) {
        json_decref(rows);
        return status;
    }
    return cli_print_json(json_pack("{s:s, s:I, s:I, s:o}", "model", args->model, "dim", (json_int_t)args->dim, "batch",
                                    (json_int_t)args->batch, "lengths", rows));
}
