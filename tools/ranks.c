/* tools/ranks.c: a command as one of several processes. */
#include "tools/ranks.h"

#include <stdlib.h>
#include <string.h>

#include <ascgrad/comm.h>

static asc_comm comm;

bool ranks_follower(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; asc_mpi_launched() && i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank) {
            return atoi(rank) > 0;
        }
    }
    return false;
}

bool ranks_share(const char *name)
{
    static const char *const shared[] = {"train", "nli train", "experiment run"};
    size_t n = strlen(name);
    bool found = false;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        found |= strncmp(shared[i], name, n) == 0 && (shared[i][n] == ' ' || shared[i][n] == '\0');
    }
    return found;
}

void ranks_leave(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsetenv(names[i]);
    }
}

asc_status ranks_open(asc_ctx *ctx, const struct ranks_args *args)
{
    if (!asc_mpi_launched()) {
        return ASC_OK;
    }
    double timeout_s = args->timeout_s > 0 ? args->timeout_s : RANKS_TIMEOUT;
    if (asc_mpi_open(ctx, timeout_s, &comm)) {
        return asc_error(ctx);
    }
    comm.mixed = args->mixed;
    return asc_set_comm(ctx, &comm);
}

bool ranks_several(void)
{
    return comm.size > 1;
}

int ranks_report(const asc_ctx *ctx)
{
    int status = cli_exit_of(asc_error(ctx));
    bool named = status != CLI_IO || strncmp(asc_error_message(ctx), "rank ", 5) == 0; /* or about none of them */
    if (!asc_comm_lost(ctx) && (named || !ranks_several())) {
        return cli_report(ctx);
    }
    if (!asc_comm_lost(ctx)) {
        cli_message("rank %d: %s", comm.rank, asc_error_message(ctx));
        return status;
    }
    char text[1200];
    snprintf(text, sizeof text, "rank %d: %s; the job ends, the last checkpoint stands", comm.rank,
             asc_error_message(ctx));
    cli_message_at_once(text);
    return CLI_IO;
}

int ranks_close(const asc_ctx *ctx, int status)
{
    if (asc_comm_lost(ctx)) {
        asc_mpi_abort(&comm, CLI_IO);
    }
    asc_mpi_close(&comm);
    return status;
}
