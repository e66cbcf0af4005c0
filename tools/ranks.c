/* tools/ranks.c: a command as one of several processes. */
#include "tools/ranks.h"

#include <stdlib.h>

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
    if (!asc_comm_lost(ctx)) {
        return cli_report(ctx);
    }
    char text[300];
    snprintf(text, sizeof text, "rank %d: %.200s; the job ends, the last checkpoint stands", comm.rank,
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
