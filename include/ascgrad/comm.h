/*
 * ascgrad/comm.h: trainings on several processes, the ranks of a job: messages between them, by a table of functions
 * that a program fills in itself, or that is made of MPI.
 *
 *     asc_comm comm;
 *     if (asc_mpi_launched() && asc_mpi_open(ctx, 600, &comm) == ASC_OK) {
 *         asc_set_comm(ctx, &comm);
 *     }
 *     asc_train(ctx, settings, …);                on every rank, with the same settings
 *     if (asc_comm_lost(ctx)) {
 *         asc_mpi_abort(&comm, 3);
 *     }
 *     asc_mpi_close(&comm);
 *
 * asc_train then has rank r of R make shards r·S/R … (r+1)·S/R − 1 of each batch, S being the setting `shards`, of
 * which R is a divisor. The model is the same to the bit for every R. Rank 0 makes the folder, evaluates and writes;
 * the others do steps with it, and return what it returns.
 */
#ifndef ASCGRAD_COMM_H
#define ASCGRAD_COMM_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_comm {
    int rank, size; /* 0 … size-1; how many there are */
    bool mixed;     /* ranks may have other builds and processors: the results then depend on who computes what */
    /* Sends `bytes` bytes to another rank, or receives as many as that sends by one call: messages between two ranks
     * arrive in order. Both return when `data` may be used again; a send may wait for the receiver. 0, or another
     * number where the other rank can't be reached. Called by the thread that trains. */
    int (*send)(void *user, int to, const void *data, size_t bytes);
    int (*receive)(void *user, int from, void *data, size_t bytes);
    /* What went wrong, in words: "rank 2 has said nothing for 600 s". NULL: nothing is known. */
    const char *(*error)(void *user);
    void *user;
    /* Sends to another rank and receives from it at once, while that does the same: one of the two may be of 0 bytes,
     * and is no message then. NULL: the lower rank sends first, by send and receive, which takes twice as long. */
    int (*exchange)(void *user, int other, const void *out, void *in, size_t out_bytes, size_t in_bytes);
} asc_comm;

/* Trainings in this context are one rank's of several. The table is copied, and must serve until another is set; NULL:
 * there is one process. ASC_ERR_ARG: a rank that is none, or a function is missing. */
ASC_API asc_status asc_set_comm(asc_ctx *ctx, const asc_comm *comm);

/* Whether a message failed. The other ranks know nothing of it: the program has to end the job. */
ASC_API bool asc_comm_lost(const asc_ctx *ctx);

/* ---- MPI ---- */

/* Which MPI the library was built with, "Open MPI 4.1.4"; NULL: none, or the module for it, ascgrad_mpi.so, is neither
 * beside the program nor where it was to be installed. */
ASC_API const char *asc_mpi_version(void);

/* Whether a launcher (mpirun, srun) has started this process as one of several. */
ASC_API bool asc_mpi_launched(void);

/* Starts MPI, which is loaded here and not before, once in a process, and makes a table of it. A rank from which no
 * message comes for `timeout_s` seconds, in which this process ran, is held for dead. To be closed. ASC_ERR_IO: there
 * is no MPI, it does not start, or it knows of no other process, where another MPI's launcher started several. */
ASC_API asc_status asc_mpi_open(asc_ctx *ctx, double timeout_s, asc_comm *comm);

/* Waits for the other ranks to close theirs. */
ASC_API void asc_mpi_close(asc_comm *comm);

/* Ends all processes of the job, this one among them, with an exit status. Does nothing where `comm` is not open. */
ASC_API void asc_mpi_abort(const asc_comm *comm, int status);

#ifdef __cplusplus
}
#endif
#endif
