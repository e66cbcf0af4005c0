/* tensor/mpi_module.c: the messages of ascgrad/comm.h by MPI. A shared object of its own: see tensor/mpi.c. Waiting
 * asks again and again, at first without a pause, then with longer ones, and leaves the processor to others. */
#define _POSIX_C_SOURCE 200809L
#include "tensor/mpi_module.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { MOST = 1 << 26, TAG = 7 }; /* bytes of a message of MPI's; all have one tag */

static struct {
    double timeout_s;
    int started; /* by us: MPI_Finalize is ours, too */
    char text[200];
} state;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Between two looks: the longer one has waited, the longer, a millisecond at most. */
static void rest(double waited_s)
{
    double s = waited_s < 2e-4 ? 0 : waited_s / 20 < 1e-3 ? waited_s / 20 : 1e-3;
    if (s > 0) {
        nanosleep(&(struct timespec){.tv_nsec = (long)(s * 1e9)}, NULL);
    }
}

/* Time in which this process itself stood still is nobody else's silence. */
static int wait_for(MPI_Request *request, int rank)
{
    int done = 0;
    double waited = 0, before = now();
    while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        rest(waited);
        double after = now(), took = after - before;
        waited += took < 0.1 ? took : 0.1;
        before = after;
        if (waited > state.timeout_s) {
            snprintf(state.text, sizeof state.text, "rank %d has said nothing for %.0f s", rank, state.timeout_s);
            return 1;
        }
    }
    if (!done) {
        snprintf(state.text, sizeof state.text, "MPI: no message from or to rank %d", rank);
    }
    return !done;
}

static int send_all(void *user, int to, const void *data, size_t bytes)
{
    (void)user;
    const char *at = data;
    do {
        int n = bytes < MOST ? (int)bytes : MOST;
        MPI_Request request;
        if (MPI_Isend(at, n, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request) != MPI_SUCCESS || wait_for(&request, to)) {
            return 1;
        }
        at += n;
        bytes -= (size_t)n;
    } while (bytes > 0);
    return 0;
}

static int receive_all(void *user, int from, void *data, size_t bytes)
{
    (void)user;
    char *at = data;
    do {
        int n = bytes < MOST ? (int)bytes : MOST;
        MPI_Request request;
        if (MPI_Irecv(at, n, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &request) != MPI_SUCCESS ||
            wait_for(&request, from)) {
            return 1;
        }
        at += n;
        bytes -= (size_t)n;
    } while (bytes > 0);
    return 0;
}

static int exchange_all(void *user, int other, const void *out, void *in, size_t out_bytes, size_t in_bytes)
{
    (void)user;
    const char *from = out;
    char *to = in;
    while (out_bytes + in_bytes > 0) {
        int n_out = out_bytes < MOST ? (int)out_bytes : MOST, n_in = in_bytes < MOST ? (int)in_bytes : MOST;
        MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        if ((n_in > 0 && MPI_Irecv(to, n_in, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request[0]) != MPI_SUCCESS) ||
            (n_out > 0 && MPI_Isend(from, n_out, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request[1]) != MPI_SUCCESS) ||
            wait_for(&request[0], other) || wait_for(&request[1], other)) { /* of none it returns at once */
            return 1;
        }
        from += n_out;
        to += n_in;
        out_bytes -= (size_t)n_out;
        in_bytes -= (size_t)n_in;
    }
    return 0;
}

static const char *tell_error(void *user)
{
    (void)user;
    return *state.text ? state.text : NULL;
}

static int open_mpi(double timeout_s, asc_comm *comm, char *why, size_t bytes)
{
    int there = 0, rank = 0, size = 1, level;
    MPI_Initialized(&there);
    if (!there && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
        snprintf(why, bytes, "MPI does not start");
        return 1;
    }
    state.started = !there;
    state.timeout_s = timeout_s;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *comm = (asc_comm){.rank = rank, .size = size, .send = send_all, .receive = receive_all, .error = tell_error,
                       .user = &state, .exchange = exchange_all};
    return 0;
}

static void close_mpi(void)
{
    if (state.started) {
        MPI_Finalize();
    }
}

static void abort_mpi(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
}

extern const asc_mpi_module asc_mpi_functions;
__attribute__((visibility("default"))) const asc_mpi_module asc_mpi_functions = {ASC_VERSION_NUMBER, open_mpi,
                                                                                 close_mpi, abort_mpi};
