/* tensor/threads.c: a pool of threads per context, and the one way to run pieces on it.
 *
 * A job is open until its caller finds no piece left. Threads that come before join it, and the caller waits until they
 * have left; one that comes later, because the system woke it late, finds it closed and is waited for by nobody.
 *
 * A child of fork has the pool, but none of its threads, and its locks as they happened to be. The pool knows by the
 * number of forks that led here, and makes locks and threads anew at the first job. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "tensor/cpu.h"
#include "tensor/ctx.h"
#include "tensor/processors.h"

enum { SPIN = 4000 }; /* looks for work before a thread sleeps: some tens of microseconds */
#define ASK_S 0.05    /* between two questions whether to go on */

/* asc_workers.crew: the job's number << 32, whether it is closed, and how many threads besides the caller's are in
 * it. */
#define CLOSED 0x80000000u
#define INSIDE 0x7FFFFFFFu

struct asc_workers {
    unsigned forks;       /* when the threads were started */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    asc_piece_fn *fn;
    void *arg;
    int64_t pieces;
    atomic_llong next;    /* the next piece to take */
    atomic_ullong crew;   /* a change of the job's number wakes the workers */
    atomic_bool quit;
    int spin;             /* SPIN, or 0 with more threads than processors: one that spins keeps another from working */
    int n;                /* threads besides the caller's */
    bool watched;         /* jobs are timed: */
    double jobs_s;        /* all of them, until the last thread had finished */
    double busy_s;        /* … and the caller's own pieces in them */
    bool (*go_on)(void *user); /* asc_set_interrupt; NULL: nobody asks */
    void *go_on_user;
    double asked_s;            /* when it was called last */
    atomic_bool interrupted;   /* it has said no */
    char *rooms; /* ASC_PRODUCT_ROOM bytes for each thread; NULL: nothing has asked for them */
    struct worker {
        asc_workers *pool;
        pthread_t thread;
        int index;
        double busy_s;
    } *worker;
};

static atomic_uint forks; /* that led to this process, since the library was first used */

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* Whether the threads are another process'. */
static bool left_behind(const asc_workers *w)
{
    return w->forks != atomic_load_explicit(&forks, memory_order_relaxed);
}

/* The pool whose piece a thread runs, and as which worker; NULL: none. */
typedef struct place {
    const asc_workers *pool;
    int worker;
} place;

static _Thread_local place here;

/* Whether the work is to end. The caller's thread alone asks the user, and not all the time. */
static bool must_end(asc_workers *w, int worker)
{
    if (!w->go_on) {
        return false;
    }
    double now = worker == 0 ? asc_clock() : 0;
    if (worker == 0 && !atomic_load(&w->interrupted) && now - w->asked_s >= ASK_S) {
        w->asked_s = now;
        if (!w->go_on(w->go_on_user)) {
            atomic_store(&w->interrupted, true);
        }
    }
    return atomic_load(&w->interrupted);
}

static void run_pieces(asc_workers *w, int worker, double *busy)
{
    double start = w->watched ? asc_clock() : 0;
    place outer = here; /* of another context: a piece may use one of its own */
    here = (place){w, worker};
    for (;;) {
        int64_t piece = atomic_fetch_add(&w->next, 1);
        if (piece >= w->pieces || must_end(w, worker)) {
            break;
        }
        w->fn(w->arg, piece, worker);
    }
    here = outer;
    *busy += w->watched ? asc_clock() - start : 0;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static inline uint32_t number_of(unsigned long long crew)
{
    return (uint32_t)(crew >> 32);
}

static void wait_for_job(asc_workers *w, uint32_t seen)
{
    for (int i = 0; i < w->spin; i++) {
        if (number_of(atomic_load(&w->crew)) != seen) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&w->lock);
    while (number_of(atomic_load(&w->crew)) == seen) {
        pthread_cond_wait(&w->work, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

/* Joins the job, or finds it closed; either way it is the last one seen. */
static bool join(asc_workers *w, uint32_t *seen)
{
    unsigned long long crew = atomic_load(&w->crew);
    do {
        *seen = number_of(crew);
        if (crew & CLOSED) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&w->crew, &crew, crew + 1));
    return true;
}

static void leave(asc_workers *w)
{
    unsigned long long before = atomic_fetch_sub(&w->crew, 1);
    if ((before & CLOSED) && (before & INSIDE) == 1) {
        pthread_mutex_lock(&w->lock);
        pthread_cond_signal(&w->done);
        pthread_mutex_unlock(&w->lock);
    }
}

static void *worker_main(void *arg)
{
    struct worker *self = arg;
    asc_workers *w = self->pool;
    for (uint32_t seen = 0;;) {
        wait_for_job(w, seen);
        if (atomic_load(&w->quit)) {
            return NULL;
        }
        if (join(w, &seen)) {
            run_pieces(w, self->index, &self->busy_s);
            if (left_behind(w)) { /* a child's only thread, whose piece has called fork: it has no call to end */
                return NULL;
            }
            leave(w);
        }
    }
}

/* Begins the next job; nobody is in the last one. */
static void announce(asc_workers *w, unsigned closed)
{
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->crew, (unsigned long long)(number_of(atomic_load(&w->crew)) + 1) << 32 | closed);
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
}

/* Waits for the last one to leave; where the user is to be asked, not for long. */
static void wait_for_crew(asc_workers *w)
{
    if (!w->go_on) {
        pthread_cond_wait(&w->done, &w->lock);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(ASK_S * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&w->done, &w->lock, &until);
}

static void close_job(asc_workers *w)
{
    atomic_fetch_or(&w->crew, CLOSED);
    for (int i = 0; i < w->spin; i++) {
        if (!(atomic_load(&w->crew) & INSIDE)) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&w->lock);
    while (atomic_load(&w->crew) & INSIDE) {
        wait_for_crew(w);
        must_end(w, 0);
    }
    pthread_mutex_unlock(&w->lock);
}

/* ---- the threads ---- */

/* Starts the threads with all signals blocked: the host's handlers run on the host's threads. 0, or why there are not
 * more of them than w->n. */
static int start(asc_workers *w, int n)
{
    sigset_t all, old;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->done, NULL);
    atomic_store(&w->crew, CLOSED); /* number 0, the one that the threads have seen */
    w->forks = atomic_load(&forks);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = 0;
    for (w->n = 0; w->n < n && !failed; w->n += !failed) {
        w->worker[w->n] = (struct worker){.pool = w, .index = w->n + 1};
        failed = pthread_create(&w->worker[w->n].thread, NULL, worker_main, &w->worker[w->n]);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed;
}

/* Seconds that all threads have worked in jobs. */
static double busy_seconds(const asc_workers *w)
{
    double busy = w->busy_s;
    for (int i = 0; i < w->n; i++) {
        busy += w->worker[i].busy_s;
    }
    return busy;
}

/* In a child of fork. With fewer threads than there were, jobs take longer and come to the same. */
static void start_again(asc_ctx *ctx, asc_workers *w)
{
    w->busy_s = busy_seconds(w);
    int failed = start(w, w->n);
    if (failed) {
        asc_note(ctx, "threads: %s; after fork %d of %d work", strerror(failed), w->n + 1, ctx->threads);
    }
}

/* ---- jobs ---- */

void asc_parallel(asc_ctx *ctx, int64_t pieces, asc_piece_fn *fn, void *arg)
{
    if (!ctx || !fn) {
        asc_fail(ctx, ASC_ERR_ARG, "parallel: fn is NULL");
        return;
    }
    asc_workers *w = ctx->workers;
    if (here.pool == w) {
        for (int64_t i = 0; i < pieces && !must_end(w, here.worker); i++) {
            fn(arg, i, here.worker);
        }
        return;
    }
    bool together = w->n > 0 && pieces > 1;
    if (together && left_behind(w)) {
        start_again(ctx, w);
        together = w->n > 0;
    }
    together = together && !must_end(w, 0); /* asked now: the others may leave the caller no piece to ask before */
    w->fn = fn;
    w->arg = arg;
    w->pieces = pieces;
    atomic_store(&w->next, 0);
    double start = w->watched ? asc_clock() : 0;
    if (together) {
        announce(w, 0);
    }
    run_pieces(w, 0, &w->busy_s);
    if (together && left_behind(w)) { /* a piece has called fork */
        asc_fail(ctx, ASC_ERR_STATE, "parallel: the process is a child of fork, which a piece of the job has called: "
                 "other pieces ran on threads that it doesn't have");
    } else if (together) {
        close_job(w);
    }
    w->jobs_s += w->watched ? asc_clock() - start : 0;
    if (w->go_on && atomic_load(&w->interrupted)) {
        asc_fail(ctx, ASC_ERR_INTERRUPTED, "interrupted");
    }
}

void asc_set_interrupt(asc_ctx *ctx, bool (*go_on)(void *user), void *user)
{
    if (ctx) {
        asc_workers *w = ctx->workers;
        w->go_on = go_on;
        w->go_on_user = user;
        atomic_store(&w->interrupted, false);
    }
}

asc_interrupt asc_interrupt_of(const asc_ctx *ctx)
{
    return (asc_interrupt){ctx->workers->go_on, ctx->workers->go_on_user};
}

bool asc_interrupted(asc_ctx *ctx)
{
    return ctx && must_end(ctx->workers, here.pool == ctx->workers ? here.worker : 0);
}

void asc_workers_watch(asc_ctx *ctx, bool watch)
{
    ctx->workers->watched = watch;
}

double asc_work_seconds(const asc_ctx *ctx, double now)
{
    return now - ctx->workers->jobs_s + busy_seconds(ctx->workers);
}

static size_t bytes_of_rooms(int threads)
{
    return (size_t)threads * ASC_PRODUCT_ROOM;
}

asc_status asc_set_precision(asc_ctx *ctx, asc_precision precision)
{
    if (!ctx || (precision != ASC_PRECISION_F32 && precision != ASC_PRECISION_BF16)) {
        return asc_fail(ctx, ASC_ERR_ARG, "set_precision: got %d, expected ASC_PRECISION_F32 or ASC_PRECISION_BF16",
                        (int)precision);
    }
    asc_workers *w = ctx->workers;
    if (precision == ASC_PRECISION_BF16 && !w->rooms) {
        w->rooms = asc_alloc(ctx, bytes_of_rooms(ctx->threads));
        if (!w->rooms) {
            return ASC_ERR_MEMORY;
        }
    }
    ctx->precision = precision;
    return ASC_OK;
}

asc_precision asc_precision_of(const asc_ctx *ctx)
{
    return ctx ? ctx->precision : ASC_PRECISION_F32;
}

void *asc_product_room(const asc_ctx *ctx)
{
    const asc_workers *w = ctx->workers;
    return w->rooms + bytes_of_rooms(here.pool == w ? here.worker : 0);
}

asc_status asc_workers_new(asc_ctx *ctx, int threads)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    int total = threads > 0 ? threads : asc_processors();
    size_t bytes = sizeof(asc_workers) + (size_t)total * sizeof(struct worker);
    bool packs = ctx->precision == ASC_PRECISION_BF16 || asc_f32_packs();
    asc_workers *w = asc_alloc(ctx, bytes);
    char *rooms = w && packs ? asc_alloc(ctx, bytes_of_rooms(total)) : NULL;
    if (!w || (packs && !rooms)) {
        asc_free(ctx, w, bytes);
        return ASC_ERR_MEMORY;
    }
    memset(w, 0, sizeof *w);
    w->rooms = rooms;
    w->worker = (struct worker *)(w + 1);
    w->spin = total > 1 && total <= asc_processors() ? SPIN : 0;
    ctx->workers = w;
    ctx->threads = total;
    int failed = start(w, total - 1);
    return failed ? asc_fail(ctx, ASC_ERR_MEMORY, "threads: %s", strerror(failed)) : ASC_OK;
}

asc_status asc_set_threads(asc_ctx *ctx, int threads)
{
    if (!ctx || threads < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "set_threads: got %d, expected 0 or more", threads);
    }
    asc_workers *old = ctx->workers, *made;
    int before = ctx->threads;
    asc_status status = asc_workers_new(ctx, threads);
    made = ctx->workers;
    int now = ctx->threads;
    bool keep = status == ASC_OK; /* the new ones; the others go */
    if (made != old) {
        made->watched = old->watched;
        made->jobs_s = old->jobs_s;
        made->busy_s = busy_seconds(old);
        made->go_on = old->go_on;
        made->go_on_user = old->go_on_user;
        atomic_store(&made->interrupted, atomic_load(&old->interrupted));
        ctx->workers = keep ? old : made;
        ctx->threads = keep ? before : now;
        asc_workers_free(ctx);
    }
    ctx->workers = keep ? made : old;
    ctx->threads = keep ? now : before;
    return status;
}

void asc_workers_free(asc_ctx *ctx)
{
    asc_workers *w = ctx->workers;
    if (!w) {
        return;
    }
    if (!left_behind(w)) { /* else there is nobody to wait for, and a lock's end would wait for its users */
        atomic_store(&w->quit, true);
        announce(w, CLOSED);
        for (int i = 0; i < w->n; i++) {
            pthread_join(w->worker[i].thread, NULL);
        }
        pthread_cond_destroy(&w->done);
        pthread_cond_destroy(&w->work);
        pthread_mutex_destroy(&w->lock);
    }
    asc_free(ctx, w->rooms, bytes_of_rooms(ctx->threads));
    asc_free(ctx, w, sizeof *w + (size_t)ctx->threads * sizeof *w->worker);
    ctx->workers = NULL;
}
