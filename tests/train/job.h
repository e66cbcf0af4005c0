/* tests/train/job.h: a training on several ranks, which are threads here, with a communicator of the tests' own. */
#ifndef TESTS_TRAIN_JOB_H
#define TESTS_TRAIN_JOB_H

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <ascgrad/comm.h>

#include "tests/train/runs.h"

enum { MOST = 8 };

/* ---- messages by sockets ---- */

typedef struct job job;

typedef struct rank {
    job *of;
    int number;
    heap memory;
    asc_ctx *ctx;
    asc_status status;
    bool lost;
    char message[300];
    asc_train_result result; /* filled with bytes of 1 before */
    double clock;         /* of the network below, in seconds */
    int64_t large, bytes; /* messages sent that are no heads, and what is in them */
} rank;

/* What a message costs: overhead at either end and time for each byte, as in LogGP. Nobody waits for it: messages carry
 * their sender's clock, and computing takes no time. */
static const double overhead = 5e-6, per_byte = 0.8e-9;
enum { LARGE = 5000 };

struct job {
    int size;
    int socket[MOST][MOST]; /* [a][b]: of a, to b */
    const char *path;
    bool resume;
    const pair *pairs, *more, *others, *odd; /* settings of all, twice; more of all ranks but 0; of the last one */
    int stop_at;             /* the call of rank 0's hook that stops; -1: none */
    int dies_at;             /* the message at which the last rank goes; -1: none */
    int messages;            /* of the last rank */
    bool in_turns;           /* no exchange in the table */
    rank rank[MOST];
};

static bool dies(const rank *r)
{
    return r->number == r->of->size - 1 && r->of->dies_at >= 0 && r->of->messages++ >= r->of->dies_at;
}

static int move(const rank *r, int other, char *data, size_t bytes, bool out)
{
    int fd = r->of->socket[r->number][other];
    if (dies(r)) {
        for (int i = 0; i < r->of->size; i++) {
            shutdown(r->of->socket[r->number][i], SHUT_RDWR);
        }
        return 1;
    }
    while (bytes > 0) {
        ssize_t n = out ? send(fd, data, bytes, MSG_NOSIGNAL) : recv(fd, data, bytes, 0);
        if (n <= 0) {
            return 1;
        }
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static void count(rank *r, size_t bytes)
{
    r->large += bytes >= LARGE;
    r->bytes += bytes >= LARGE ? (int64_t)bytes : 0;
}

static int send_to(void *user, int to, const void *data, size_t bytes)
{
    rank *r = user;
    r->clock += overhead + (double)bytes * per_byte;
    count(r, bytes);
    double stamp = r->clock;
    return move(r, to, (char *)&stamp, sizeof stamp, true) || move(r, to, (char *)(uintptr_t)data, bytes, true);
}

static int receive_from(void *user, int from, void *data, size_t bytes)
{
    rank *r = user;
    double stamp = 0;
    if (move(r, from, (char *)&stamp, sizeof stamp, false) || move(r, from, data, bytes, false)) {
        return 1;
    }
    r->clock = (r->clock > stamp ? r->clock : stamp) + overhead;
    return 0;
}

/* One side of an exchange. */
typedef struct flow {
    char *data;
    size_t bytes;
} flow;

static int step_flow(int fd, flow *f, bool out)
{
    ssize_t n = f->bytes == 0 ? 0
                : out         ? send(fd, f->data, f->bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recv(fd, f->data, f->bytes, MSG_DONTWAIT);
    if (f->bytes > 0 && (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK))) {
        return 1;
    }
    f->data += n > 0 ? n : 0;
    f->bytes -= n > 0 ? (size_t)n : 0;
    return 0;
}

static int move_both(const rank *r, int other, flow out, flow in)
{
    int fd = r->of->socket[r->number][other];
    if (dies(r)) {
        return move(r, other, NULL, 0, true);
    }
    while (out.bytes + in.bytes > 0) {
        struct pollfd p = {fd, (short)((out.bytes > 0 ? POLLOUT : 0) | (in.bytes > 0 ? POLLIN : 0)), 0};
        if (poll(&p, 1, -1) < 0 || step_flow(fd, &out, true) || step_flow(fd, &in, false)) {
            return 1;
        }
    }
    return 0;
}

static int exchange_with(void *user, int other, const void *out, void *in, size_t out_bytes, size_t in_bytes)
{
    rank *r = user;
    double theirs = 0, own = r->clock + (out_bytes > 0 ? overhead + (double)out_bytes * per_byte : 0);
    count(r, out_bytes);
    if (move_both(r, other, (flow){(char *)&own, sizeof own}, (flow){(char *)&theirs, sizeof theirs}) ||
        move_both(r, other, (flow){(char *)(uintptr_t)out, out_bytes}, (flow){in, in_bytes})) {
        return 1;
    }
    r->clock = in_bytes == 0 ? own : fmax(own, theirs) + overhead;
    return 0;
}

/* ---- a job ---- */

static bool stop_rank(void *user, const asc_train_progress *p)
{
    job *j = user;
    (void)p;
    return j->stop_at < 0 || j->stop_at-- > 0;
}

static void set_all(asc_settings *s, const pair *pairs)
{
    for (int i = 0; pairs && pairs[i][0]; i++) {
        asc_settings_set(s, pairs[i][0], pairs[i][1]);
    }
}

static void *run_rank(void *arg)
{
    rank *r = arg;
    job *j = r->of;
    const asc_comm comm = {.rank = r->number, .size = j->size, .send = send_to, .receive = receive_from, .user = r,
                           .exchange = j->in_turns ? NULL : exchange_with};
    asc_settings *s = j->resume ? asc_settings_new(r->ctx) : make_settings(r->ctx);
    if (!j->resume) {
        asc_settings_set(s, "shards", "4");
    }
    set_all(s, j->pairs);
    set_all(s, j->more);
    set_all(s, r->number > 0 ? j->others : NULL);
    set_all(s, r->number == j->size - 1 ? j->odd : NULL);
    asc_set_comm(r->ctx, &comm);
    if (j->resume) {
        asc_settings_resume(s, j->path);
    }
    const asc_train_hooks hooks = {.progress = stop_rank, .user = j};
    memset(&r->result, 1, sizeof r->result);
    r->status = asc_train(r->ctx, s, j->path, j->resume, &hooks, &r->result);
    r->lost = asc_comm_lost(r->ctx);
    snprintf(r->message, sizeof r->message, "%s", asc_error_message(r->ctx));
    for (int i = 0; r->lost && i < j->size; i++) {
        shutdown(j->socket[r->number][i], SHUT_RDWR); /* as ending the job would */
    }
    asc_settings_free(s);
    return NULL;
}

static void check_same_result(const asc_train_result *a, const asc_train_result *b)
{
    ck_assert_int_eq(a->parameters, b->parameters);
    ck_assert_int_eq(a->step, b->step);
    ck_assert_int_eq(a->tokens, b->tokens);
    ck_assert_int_eq(a->best_step, b->best_step);
    ck_assert_int_eq(a->end, b->end);
    ck_assert(a->best_loss == b->best_loss || (isnan(a->best_loss) && isnan(b->best_loss)));
}

/* Runs the job; all ranks end with the status of rank 0, unless they lost each other. */
static void run_job(job *j)
{
    pthread_t thread[MOST];
    for (int a = 0; a < j->size; a++) {
        for (int b = a; b < j->size; b++) {
            int ends[2];
            ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
            j->socket[a][b] = ends[0];
            j->socket[b][a] = ends[1];
        }
    }
    for (int i = 0; i < j->size; i++) {
        rank *r = &j->rank[i];
        *r = (rank){.of = j, .number = i, .memory = {.fail_at = NEVER}};
        r->ctx = context_on(&r->memory, 1);
    }
    for (int i = 0; i < j->size; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run_rank, &j->rank[i]), 0);
    }
    for (int i = 0; i < j->size; i++) {
        pthread_join(thread[i], NULL);
        asc_ctx_free(j->rank[i].ctx);
        expect_empty(&j->rank[i].memory);
    }
    for (int i = 0; i < j->size; i++) {
        if (j->dies_at < 0) {
            ck_assert_msg(j->rank[i].status == j->rank[0].status, "rank %d: %s", i, j->rank[i].message);
            check_same_result(&j->rank[i].result, &j->rank[0].result);
        }
        for (int b = 0; b < j->size; b++) {
            close(j->socket[i][b]);
        }
    }
}

static const pair apart[] = {{"shard_optimizer", "true"}, {NULL, NULL}};

#endif
