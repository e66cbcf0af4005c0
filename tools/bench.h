/* tools/bench.h: what the kinds of ascgrad bench share. */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include "tools/cli.h"

struct bench_args {
    const char *model, *lengths;
    int64_t layers, dim, heads, ffn, block, batch, vocab, steps, memory, threads;
    double dropout;
    cli_list sets;
    bool json;
};

/* Sets "heads" where the model takes it, then what --set gave. Ends the program with status 2 on wrong usage. */
void bench_configure(json_t *config, const struct bench_args *args);

/* Each measures one kind, prints the result, and returns the exit status. */
int bench_train(const struct bench_args *args);
int bench_layer(const struct bench_args *args);

#endif
