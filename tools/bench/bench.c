/* tools/bench/bench.c: ascgrad bench: finds the kind that is meant; its options are its own. */
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/commands.h"

static const cli_command *const kinds[] = {&bench_train,    &bench_layer,    &bench_ops,
                                           &bench_scaling,  &bench_generate, &bench_startup};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static char models[200], details[1200]; /* filled in before use */
const char *bench_models = models;

/* "train" of "bench train". */
static const char *name_of(const cli_command *kind)
{
    return strchr(kind->name, ' ') + 1;
}

static const cli_command *find_kind(const char *word)
{
    for (int i = 0; i < N_KINDS; i++) {
        if (strcmp(word, name_of(kinds[i])) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

static _Noreturn void refuse_kind(const char *word)
{
    const char *names[N_KINDS + 1] = {NULL};
    for (int i = 0; i < N_KINDS; i++) {
        names[i] = name_of(kinds[i]);
    }
    cli_wrong_usage("unknown kind '%s'; did you mean '%s'?", word, asc_name_nearest(word, names));
}

/* ---- options of other kinds ---- */

static bool has_option(const cli_command *kind, const char *name, size_t n)
{
    const cli_option *o = kind->options;
    while (o->name && (strncmp(o->name, name, n) != 0 || o->name[n])) {
        o++;
    }
    return o->name;
}

/* Whoever gives an option of another kind should hear that, not of a typing error. */
static void refuse_options(const cli_command *kind, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *name = argv[i] + 2;
        size_t n = strncmp(argv[i], "--", 2) == 0 ? strcspn(name, "=") : 0;
        for (int k = 0; k < N_KINDS && n > 0 && !has_option(kind, name, n); k++) {
            if (has_option(kinds[k], name, n)) {
                cli_wrong_usage("--%.*s is an option of %s, not of %s", (int)n, name, kinds[k]->name, kind->name);
            }
        }
    }
}

/* ---- the command ---- */

static void describe(void)
{
    size_t n = 0;
    for (int i = 0; i < N_KINDS && n < sizeof details; i++) {
        n += (size_t)snprintf(details + n, sizeof details - n, "  %-10s %s\n", name_of(kinds[i]), kinds[i]->summary);
    }
    snprintf(details + n, n < sizeof details ? sizeof details - n : 0,
             "\nModels: %s.\n\"ascgrad bench KIND --help\" explains a kind and lists its options.",
             strchr(models, ':') + 2);
}

/* The first word that names a kind is the one: options may stand before it. */
static int run(int argc, char **argv)
{
    cli_list_models("what mixes the positions", models, sizeof models);
    describe();
    for (int i = 1; i < argc; i++) {
        const cli_command *kind = find_kind(argv[i]);
        if (kind) {
            char *word = argv[i];
            memmove(argv + 2, argv + 1, (size_t)(i - 1) * sizeof *argv);
            argv[1] = word;
            refuse_options(kind, argc - 1, argv + 1);
            return kind->run(argc - 1, argv + 1);
        }
    }
    if (argc > 1 && argv[1][0] != '-') {
        refuse_kind(argv[1]);
    }
    if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
        cli_parse(&command_bench, argc, argv, NULL);
    }
    cli_wrong_usage("KIND (train, layer, ops, scaling, generate or startup) is missing; see --help");
}

static const cli_option none[] = {{0}};

const cli_command command_bench = {
    "bench", "measures speed and memory, beside the machine's own limit", "KIND", details,
    "ascgrad bench train --model grassmann --threads 1 --json\nascgrad bench ops linear attention", none, run,
};
