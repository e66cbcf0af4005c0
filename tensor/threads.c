/* tensor/threads.c: a pool of threads per context, and the one way to run pieces on it. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tensor/ctx.h"

enum { SPIN = 4000 }; /* looks for work before a thread sleeps: some tens of microseconds */

struct asc_workers {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    asc_piece_fn *fn;
    void *arg;
    int64_t pieces;
    atomic_llong next;    /* the next piece to take */
    atomic_uint job;      /* counts jobs; a change wakes the workers */
    atomic_int busy;      /* workers that have not finished the job */
    atomic_bool quit;
    int n;                /* threads besides the caller's */
    struct worker {
        asc_workers *pool;
        pthread_t thread;
        int index;
    } *worker;
};

/* The pool whose piece a thread runs, and as which worker; NULL: none. */
typedef struct place {
    const asc_workers *pool;
    int worker;
} place;

static _Thread_local place here;

static void run_pieces(asc_workers *w, int worker)
{
    place outer = here; /* of another context: a piece may use one of its own */
    here = (place){w, worker};
    for (;;) {
        int64_t piece = atomic_fetch_add(&w->next, 1);
        if (piece >= w->pieces) {
            break;
        }
        w->fn(w->arg, piece, worker);
    }
    here = outer;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void wait_for_job(asc_workers *w, unsigned seen)
{
    for (int i = 0; i < SPIN; i++) {
        if (atomic_load(&w->job) != seen) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&w->lock);
    while (atomic_load(&w->job) == seen) {
        pthread_cond_wait(&w->work, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

static void *worker_main(void *arg)
{
    struct worker *self = arg;
    asc_workers *w = self->pool;
    for (unsigned seen = 0;;) {
        wait_for_job(w, seen);
        seen = atomic_load(&w->job);
        if (atomic_load(&w->quit)) {
            return NULL;
        }
        run_pieces(w, self->index);
        if (atomic_fetch_sub(&w->busy, 1) == 1) {
            pthread_mutex_lock(&w->lock);
            pthread_cond_signal(&w->done);
            pthread_mutex_unlock(&w->lock);
        }
    }
}

static void announce(asc_workers *w)
{
    pthread_mutex_lock(&w->lock);
    atomic_fetch_add(&w->job, 1);
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
}

static void wait_until_done(asc_workers *w)
{
    for (int i = 0; i < SPIN; i++) {
        if (atomic_load(&w->busy) == 0) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&w->lock);
    while (atomic_load(&w->busy) > 0) {
        pthread_cond_wait(&w->done, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

void asc_parallel(asc_ctx *ctx, int64_t pieces, asc_piece_fn *fn, void *arg)
{
    asc_workers *w = ctx->workers;
    if (here.pool == w) {
        for (int64_t i = 0; i < pieces; i++) {
            fn(arg, i, here.worker);
        }
        return;
    }
    bool together = w->n > 0 && pieces > 1;
    w->fn = fn;
    w->arg = arg;
    w->pieces = pieces;
    atomic_store(&w->next, 0);
    if (together) {
        atomic_store(&w->busy, w->n);
        announce(w);
    }
    run_pieces(w, 0);
    if (together) {
        wait_until_done(w);
    }
}

static int online_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 256 ? 256 : (int)n;
}

/* Starts the threads with all signals blocked: the host's handlers run on the host's threads. */
static asc_status start(asc_ctx *ctx, asc_workers *w, int n)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = 0;
    for (; w->n < n && !failed; w->n += !failed) {
        w->worker[w->n] = (struct worker){.pool = w, .index = w->n + 1};
        failed = pthread_create(&w->worker[w->n].thread, NULL, worker_main, &w->worker[w->n]);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed ? asc_fail(ctx, ASC_ERR_MEMORY, "threads: %s", strerror(failed)) : ASC_OK;
}

asc_status asc_workers_new(asc_ctx *ctx, int threads)
{
    int total = threads > 0 ? threads : online_processors();
    asc_workers *w = asc_alloc(ctx, sizeof *w + (size_t)total * sizeof *w->worker);
    if (!w) {
        return ASC_ERR_MEMORY;
    }
    memset(w, 0, sizeof *w);
    w->worker = (struct worker *)(w + 1);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->done, NULL);
    ctx->workers = w;
    ctx->threads = total;
    return start(ctx, w, total - 1);
}

void asc_workers_free(asc_ctx *ctx)
{
    asc_workers *w = ctx->workers;
    if (!w) {
        return;
    }
    atomic_store(&w->quit, true);
    announce(w);
    for (int i = 0; i < w->n; i++) {
        pthread_join(w->worker[i].thread, NULL);
    }
    pthread_cond_destroy(&w->done);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    asc_free(ctx, w, sizeof *w + (size_t)ctx->threads * sizeof *w->worker);
    ctx->workers = NULL;
}
