/* tools/bench/bench.c: ascgrad bench: finds the kind that is meant; its options are its own. */
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/commands.h"

static const cli_command *const kinds[] = {&bench_train,    &bench_layer,    &bench_ops,
                                           &bench_scaling,  &bench_generate, &bench_encode, &bench_startup, NULL};

static char details[240]; /* filled in before use */

static int run(int argc, char **argv)
{
    char models[200];
    cli_list_models("what mixes the positions", models, sizeof models);
    snprintf(details, sizeof details, "Models: %s.", strchr(models, ':') + 2);
    return cli_run_kind(&command_bench, kinds, argc, argv);
}

const cli_command command_bench = {
    "bench", "measures speed and memory, beside the machine's own limit", "KIND", details,
    "ascgrad bench train --model grassmann --threads 1 --json\nascgrad bench ops linear attention", NULL, run,
};
