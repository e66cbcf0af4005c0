/* tools/profile.h: --profile: where the time of a training went, as tables on stderr and as a trace. */
#ifndef TOOLS_PROFILE_H
#define TOOLS_PROFILE_H

#include <ascgrad/profile.h>

#include "tools/cli.h"

/* The options of a command, and where they go; `traced` has PROFILE_TRACED steps as its default. */
struct profile_args {
    const char *path;
    int64_t traced;
};
enum { PROFILE_TRACED = 10 };
#define CLI_PROFILE(args) \
    {"profile", 0, "FILE", CLI_TEXT, offsetof(args, profile.path), 0, 0, \
     "show on stderr where the time goes, by phase, part of the model and op; trace into FILE"}, \
    {"profile-steps", 0, "N", CLI_INT, offsetof(args, profile.traced), 0, 1000, "steps that the trace has (10)"}

/* Begins a profile; NULL without --profile. Ends the program with status 3 if FILE has no place, with
 * status 2 if it is missing beside --profile-steps. */
asc_profile *profile_start(asc_ctx *ctx, const struct profile_args *args);

/* Prints the tables, beside the machine's limit `sgemm` in GFLOP/s (0: not known), writes FILE, and frees the profile,
 * which may be NULL. The context's error, which has been reported, is cleared; if it came before the first step, there
 * is nothing to show. Returns the exit status. */
int profile_finish(asc_ctx *ctx, asc_profile *profile, const struct profile_args *args, double sgemm);

#endif
