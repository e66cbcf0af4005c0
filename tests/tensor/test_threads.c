/* tests/tensor/test_threads.c: asc_parallel. */
#include <stdatomic.h>
#include <time.h>

#include "tests/context.h"

enum { THREADS = 4, PIECES = 5000, INNER = 7 };

static void setup_all(void)
{
    setup_threads(THREADS);
}

typedef struct tally {
    atomic_int runs[PIECES];
    atomic_int inside[THREADS]; /* pieces that run as this worker now */
    atomic_bool clash;
} tally;

static void enter(tally *t, int worker)
{
    if (worker < 0 || worker >= THREADS || atomic_fetch_add(&t->inside[worker], 1) != 0) {
        atomic_store(&t->clash, true);
    }
}

static void count(void *arg, int64_t piece, int worker)
{
    tally *t = arg;
    enter(t, worker);
    atomic_fetch_add(&t->runs[piece], 1);
    atomic_fetch_sub(&t->inside[worker], 1);
}

static void check_counts(tally *t, int64_t pieces, int times)
{
    int wrong = 0;
    for (int i = 0; i < PIECES; i++) {
        wrong += atomic_load(&t->runs[i]) != (i < pieces ? times : 0);
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert(!atomic_load(&t->clash));
}

START_TEST(every_piece_runs_once)
{
    static const int64_t sizes[] = {0, 1, 2, 3, THREADS, THREADS + 1, 100, PIECES};
    ck_assert_int_eq(asc_threads(ctx), THREADS);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tally t = {0};
        asc_parallel(ctx, sizes[i], count, &t);
        check_counts(&t, sizes[i], 1);
    }
}
END_TEST

START_TEST(many_short_jobs)
{
    tally t = {0};
    for (int i = 0; i < 500; i++) {
        asc_parallel(ctx, 5, count, &t);
    }
    check_counts(&t, 5, 500);
}
END_TEST

typedef struct job {
    atomic_bool open; /* asc_parallel has not returned */
    atomic_bool clash;
    atomic_int runs;
} job;

static void check_open(void *arg, int64_t piece, int worker)
{
    job *j = arg;
    if (!atomic_load(&j->open) || worker < 0 || worker >= THREADS) {
        atomic_store(&j->clash, true);
    }
    atomic_fetch_add(&j->runs, 1 + (int)(piece % 2));
}

/* Threads that are asleep, or come late, between jobs of all lengths: no piece runs twice, is left out, or runs after
 * its job. */
START_TEST(no_piece_outlives_its_job)
{
    for (int i = 0; i < 20000; i++) {
        job j = {.open = true};
        int pieces = i % 7;
        asc_parallel(ctx, pieces, check_open, &j);
        atomic_store(&j.open, false);
        ck_assert_int_eq(atomic_load(&j.runs), pieces + pieces / 2);
        ck_assert(!atomic_load(&j.clash));
        if (i % 500 == 0) { /* long enough for them to fall asleep */
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        }
    }
}
END_TEST

typedef struct nest {
    tally outer;
    int64_t next[PIECES]; /* the inner piece that comes next */
} nest;

typedef struct inner {
    nest *nest;
    int64_t piece;
    int worker;
} inner;

static void inner_piece(void *arg, int64_t piece, int worker)
{
    inner *i = arg;
    if (worker != i->worker || piece != i->nest->next[i->piece]++) {
        atomic_store(&i->nest->outer.clash, true);
    }
}

static void outer_piece(void *arg, int64_t piece, int worker)
{
    nest *n = arg;
    enter(&n->outer, worker);
    asc_parallel(ctx, INNER, inner_piece, &(inner){n, piece, worker});
    atomic_fetch_add(&n->outer.runs[piece], 1);
    atomic_fetch_sub(&n->outer.inside[worker], 1);
}

START_TEST(nested_calls_run_in_order_as_the_same_worker)
{
    static nest n;
    memset(&n, 0, sizeof n);
    asc_parallel(ctx, PIECES, outer_piece, &n);
    check_counts(&n.outer, PIECES, 1);
    int64_t runs = 0;
    for (int i = 0; i < PIECES; i++) {
        runs += n.next[i];
    }
    ck_assert_int_eq(runs, PIECES * INNER);
    tally t = {0};
    asc_parallel(ctx, 100, count, &t); /* not nested again */
    check_counts(&t, 100, 1);
}
END_TEST

/* A single piece is a piece, too: what it calls runs in order, as its worker. */
START_TEST(nested_calls_of_a_single_piece)
{
    static nest n;
    memset(&n, 0, sizeof n);
    asc_parallel(ctx, 1, outer_piece, &n);
    check_counts(&n.outer, 1, 1);
    ck_assert_int_eq(n.next[0], INNER);
}
END_TEST

/* Counts the pieces that run as worker 0. */
static void count_first_worker(void *arg, int64_t piece, int worker)
{
    (void)piece;
    *(int64_t *)arg += worker == 0;
}

static void use_own_context(void *arg, int64_t piece, int worker)
{
    int64_t n = 0;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* the other workers shall have pieces, too */
    asc_ctx *own = asc_ctx_new(&(asc_options){.threads = 1});
    asc_parallel(own, INNER, count_first_worker, &n);
    asc_ctx_free(own);
    if (n != INNER) {
        atomic_store(&((tally *)arg)->clash, true);
    }
    count(arg, piece, worker);
}

/* A piece may use a context of its own: the workers are that context's. */
START_TEST(a_piece_uses_another_context)
{
    tally t = {0};
    asc_parallel(ctx, 40, use_own_context, &t);
    check_counts(&t, 40, 1);
}
END_TEST

START_TEST(thread_counts)
{
    for (int threads = 1; threads <= 8; threads++) {
        asc_ctx *c = asc_ctx_new(&(asc_options){.threads = threads});
        ck_assert_int_eq(asc_threads(c), threads);
        asc_ctx_free(c);
    }
    asc_ctx *c = asc_ctx_new(NULL);
    ck_assert_int_ge(asc_threads(c), 1);
    asc_ctx_free(c);
}
END_TEST

static void add_one(void *arg, int64_t piece, int worker)
{
    (void)worker;
    ((int *)arg)[piece]++;
}

START_TEST(the_number_can_be_changed)
{
    asc_ctx *c = asc_ctx_new(&(asc_options){.threads = 1});
    static const int numbers[] = {3, 1, 2, 2};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int done[100] = {0};
        ck_assert_int_eq(asc_set_threads(c, numbers[i]), ASC_OK);
        ck_assert_int_eq(asc_threads(c), numbers[i]);
        asc_parallel(c, 100, add_one, done);
        for (int piece = 0; piece < 100; piece++) {
            ck_assert_int_eq(done[piece], 1);
        }
    }
    ck_assert_int_eq(asc_set_threads(c, 0), ASC_OK);
    ck_assert_int_ge(asc_threads(c), 1);
    ck_assert_int_eq(asc_set_threads(c, -1), ASC_ERR_ARG);
    ck_assert_int_eq(asc_set_threads(NULL, 1), ASC_ERR_ARG);
    asc_ctx_free(c);
}
END_TEST

/* ---- interrupts ---- */

static bool say_no(void *user)
{
    ++*(int *)user;
    return false;
}

static bool say_yes(void *user)
{
    ++*(int *)user;
    return true;
}

/* The question comes before the first piece, however late the caller itself comes to take one. */
START_TEST(an_interrupt_leaves_pieces_out)
{
    tally t = {0};
    int asked = 0;
    asc_set_interrupt(ctx, say_no, &asked);
    asc_parallel(ctx, PIECES, count, &t);
    int runs = 0;
    for (int i = 0; i < PIECES; i++) {
        runs += atomic_load(&t.runs[i]);
    }
    ck_assert_int_eq(runs, 0);
    ck_assert_int_eq(asked, 1);
    expect_error(ASC_ERR_INTERRUPTED, "interrupted");
    ck_assert(asc_interrupted(ctx)); /* until it is set anew */
    ck_assert_int_eq(asked, 1);
    asc_set_interrupt(ctx, NULL, NULL);
    ck_assert(!asc_interrupted(ctx));
    tally all = {0};
    asc_parallel(ctx, PIECES, count, &all);
    check_counts(&all, PIECES, 1);
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
}
END_TEST

START_TEST(a_question_leaves_the_work_as_it_is)
{
    tally t = {0};
    int asked = 0;
    asc_set_interrupt(ctx, say_yes, &asked);
    asc_parallel(ctx, PIECES, count, &t);
    check_counts(&t, PIECES, 1);
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    ck_assert_int_ge(asked, 1);
    asc_set_interrupt(ctx, NULL, NULL);
}
END_TEST

/* The caller's own piece is over at once; the others last until they are told that they may end. */
static void last_long(void *arg, int64_t piece, int worker)
{
    (void)piece;
    time_t start = time(NULL);
    while (worker > 0 && !asc_interrupted(ctx)) {
        if (time(NULL) - start > 60) {
            atomic_store((atomic_bool *)arg, true);
            return;
        }
    }
}

static bool say_no_later(void *user)
{
    return ++*(int *)user < 3;
}

START_TEST(a_long_piece_may_end_while_the_caller_waits)
{
    atomic_bool late = false;
    int asked = 0;
    asc_set_interrupt(ctx, say_no_later, &asked);
    asc_parallel(ctx, THREADS, last_long, &late);
    ck_assert(!atomic_load(&late));
    asc_set_interrupt(ctx, NULL, NULL);
    asc_error_clear(ctx);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("threads");
    tcase_add_checked_fixture(t, setup_all, teardown);
    tcase_add_test(t, every_piece_runs_once);
    tcase_add_test(t, many_short_jobs);
    tcase_add_test(t, no_piece_outlives_its_job);
    tcase_add_test(t, nested_calls_run_in_order_as_the_same_worker);
    tcase_add_test(t, nested_calls_of_a_single_piece);
    tcase_add_test(t, a_piece_uses_another_context);
    tcase_add_test(t, thread_counts);
    tcase_add_test(t, the_number_can_be_changed);
    tcase_add_test(t, an_interrupt_leaves_pieces_out);
    tcase_add_test(t, a_question_leaves_the_work_as_it_is);
    tcase_add_test(t, a_long_piece_may_end_while_the_caller_waits);
    return run_suite("tensor/threads", t);
}
