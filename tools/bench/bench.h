/*
 * tools/bench/bench.h: what the kinds of ascgrad bench share. A kind is a command of its own, with its options, in a
 * file of its own; tools/bench/bench.c finds the one that is meant.
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <ascgrad/bench.h>

#include "tools/cli.h"

extern const cli_command bench_train, bench_layer, bench_ops, bench_scaling, bench_generate, bench_encode,
    bench_startup;

/* ---- models: tools/bench/model.c ---- */

/* Settings of the model that is measured, as on the command line of ascgrad train. */
typedef struct bench_model {
    cli_list given; /* options that are settings */
    cli_list sets;  /* --set */
    const char *preset;
} bench_model;

/* An option of the field `model` of a kind's arguments, and those that many kinds have. Help NULL: its setting's, by
 * bench_options. */
#define BENCH_SETTING(args, name, argument, help) \
    {name, 0, argument, CLI_LIST, offsetof(args, model.given), 0, 0, help}
#define BENCH_ROW(args, name) BENCH_SETTING(args, name, NULL, NULL)
#define BENCH_MODEL(args)                                                                                              \
    BENCH_ROW(args, "layers"), BENCH_ROW(args, "dim"), BENCH_ROW(args, "heads"), BENCH_ROW(args, "ffn"),               \
        {"vocab", 0, "N", CLI_INT, offsetof(args, vocab), 1, 1 << 30, "size of the vocabulary (30522)"}
#define BENCH_SET(args)                                                                                                \
    {"set", 0, "KEY=VALUE", CLI_LIST, offsetof(args, model.sets), 0, 0,                                                \
     "a setting of ascgrad train, or a key of the model's configuration; data, rates and lengths of a training change "\
     "no figure"}
#define BENCH_PRESET(args)                                                                                             \
    {"preset", 0, "NAME", CLI_TEXT, offsetof(args, model.preset), 0, 0,                                                \
     "the model, batch and optimiser of a preset of ascgrad train; list says what is in them"}
#define BENCH_STEPS(args, help) {"steps", 0, "N", CLI_INT, offsetof(args, steps), 1, 1e6, help}
#define BENCH_MEMORY(args)                                                                                             \
    {"memory", 0, "MIB", CLI_INT, offsetof(args, memory), 1, 1 << 30,                                                  \
     "the most to take (3/4 of what is free); - stands for what needs more"}

/* A kind's table of options with the help of its settings, whose defaults are the benchmark's, or `more` (or NULL). */
const cli_option *bench_options(const cli_option *table, const cli_initial *more);

/* New settings: the benchmark's defaults, then `more` (or NULL), then --preset, --set, options. Errors are the
 * context's. */
asc_settings *bench_settings(asc_ctx *ctx, const bench_model *model, const cli_initial *more);

/* A context that takes at most `mib` MiB, or of what is free so much that the system does not kill us (0); freed by
 * asc_ctx_free. One at a time. NULL after a message. */
asc_ctx *bench_open(int64_t threads, int64_t mib);

/* The models to measure: `model` alone, or all if it is NULL; the i-th, NULL past the last. */
const char *bench_model_at(const char *model, int i);

/* Runs measure(arg, result) in a process of its own and brings back the `size` bytes of the result, so that its peak of
 * memory is its own. Returns measure's exit status; CLI_OK with the result as it was where `seconds` (0: any time) were
 * too few; CLI_IO after a message if the process did not come to its end. To be called before the program has
 * threads. */
int bench_apart(int (*measure)(const void *arg, void *result), const void *arg, double seconds, void *result,
                size_t size);

/* ---- tables: tools/bench/table.c ---- */

enum { BENCH_LENGTHS = 64 }; /* of an option, at most */

/* A number in a column: with three or more significant digits; as a percentage; "-" where it is not finite. */
void bench_print_number(double value, int width);
void bench_print_share(double share, int width);

#endif
