/* tools/ranks.h: a command as one of several processes, which mpirun has started. Rank 0 speaks; the others are silent
 * unless something ends them alone. */
#ifndef TOOLS_RANKS_H
#define TOOLS_RANKS_H

#include "tools/cli.h"

struct ranks_args {
    double timeout_s;
    bool mixed;
};

#define RANKS_TIMEOUT 600
#define CLI_RANKS(args)                                                                                                \
    CLI_GROUP("Several processes, by mpirun"),                                                                         \
        {"rank-timeout", 0, "TIME", CLI_SECONDS, offsetof(args, ranks.timeout_s), 1, 1e9,                              \
         "how long a process may say nothing to one that waits for it before the job ends (10m)"},                     \
        {"mixed", 0, NULL, CLI_FLAG, offsetof(args, ranks.mixed), 0, 0,                                                \
         "allow processes of other builds or processors: equal to rounding, not to the bit"}

/* Whether this process is one of several, by its launcher, and not the one that speaks. */
bool ranks_follower(void);

/* Whether all of several processes run the command of that name, or a kind of it; others are for the one alone. */
bool ranks_share(const char *name);

/* From here on this process is one by itself, and so are those that it starts. */
void ranks_leave(void);

/* Joins the others, where there are some. ASC_ERR_IO: MPI is missing, or does not start. */
asc_status ranks_open(asc_ctx *ctx, const struct ranks_args *args);

/* Whether there are others. */
bool ranks_several(void);

/* Says the context's error, if there is one, as cli_report, and whose it is; of this rank alone where the others can't
 * be reached. */
int ranks_report(const asc_ctx *ctx);

/* Parts from the others, and returns `status`. Where one of them can't be reached the job ends here. */
int ranks_close(const asc_ctx *ctx, int status);

#endif
