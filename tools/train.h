/* tools/train.h: what the commands that train have in common. */
#ifndef TOOLS_TRAIN_H
#define TOOLS_TRAIN_H

#include "tools/cli.h"
#include "tools/profile.h"
#include "tools/ranks.h"

struct train_args {
    const char *out, *preset, *resume, *data_of;
    cli_list configs, sets, given;
    struct profile_args profile;
    struct ranks_args ranks;
    bool json;
};

#define CLI_RUN(args)                                                                                                  \
    CLI_GROUP("Run"), {"out", 'o', "RUN", CLI_TEXT, offsetof(args, out), 0, 0, "the folder to write"},                 \
        {"resume", 0, "RUN", CLI_OPTIONAL, offsetof(args, resume), 0, 0, ""},                                          \
        {"preset", 0, "NAME", CLI_TEXT, offsetof(args, preset), 0, 0, ""},                                             \
        {"config", 0, "FILE", CLI_LIST, offsetof(args, configs), 0, 0,                                                 \
         "settings from a JSON file, such as a run's config.json"},                                                    \
        {"set", 0, "KEY=VALUE", CLI_LIST, offsetof(args, sets), 0, 0,                                                  \
         "a setting, or a key of the model's configuration, by name"},                                                \
        {"data-of", 0, "RUN", CLI_TEXT, offsetof(args, data_of), 0, 0,                                                \
         "refuse data that are not what RUN was trained on, by their checksums"}
#define CLI_TRAINING(args)                                                                                             \
    CLI_RANKS(args), CLI_GROUP("Output"), CLI_PROFILE(args), CLI_JSON(args), CLI_PROGRESS

/* The RUN: of --out, of --resume=RUN, or the operand of --resume RUN. */
const char *train_find_run(const struct train_args *args, int operands, char **argv);

/* The options of `own`, which a name NULL ends, with those of all settings, whose defaults are the preset's `base` or
 * with NULL train's; --preset and --resume of it get their help. One table at a time. */
const cli_option *train_options(const cli_option *own, const char *base);

/* From here on interrupts are a training's: the first saves, once there is something to save. */
void train_catch_signals(const struct train_args *args);

/* Takes all settings that were given, the later wins: the preset `base`, unless it is NULL, the preset that was named,
 * files, --set, options; then those of the run that goes on, which takes no `base`. */
asc_settings *train_gather(asc_ctx *ctx, const struct train_args *args, const char *base, const char *run);

/* What to say is next, of a run that was trained to its end. */
typedef void train_offer(asc_ctx *ctx, const char *run, const asc_train_result *result);

/* Trains, shows how it goes, and says what to do next; the exit status. `settings`, which it takes, may be NULL with
 * the error set. */
int train_run(asc_ctx *ctx, asc_settings *settings, const struct train_args *args, const char *run,
              train_offer *offer);

#endif
