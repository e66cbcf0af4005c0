/* tests/tensor/test_fork.c: what a child of fork may do with a context: free it, leave it be, compute, make others. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ascgrad/ops.h>

#include "tests/context.h"

enum { THREADS = 3, N = 300 };

static void setup_threads_that_idle(void)
{
    setup_threads(THREADS);
}

/* Several pieces, forward and backward. */
static bool work(asc_ctx *c, float *values)
{
    asc_scope_begin(c);
    asc_tensor w = asc_normal(c, ASC_F32, 0, 1, 1, 1, ASC_SHAPE(N, N));
    asc_tensor x = asc_normal(c, ASC_F32, 0, 1, 1, 2, ASC_SHAPE(N, N));
    asc_require_grad(w, true);
    asc_tensor y = asc_sum(c, asc_tanh(c, asc_linear(c, x, w, asc_null())), ASC_ALL_DIMS, false);
    asc_backward(c, y, asc_null(), false);
    bool ok = asc_error(c) == ASC_OK;
    if (ok) {
        memcpy(values, asc_data(asc_grad(w)), N * sizeof *values);
    }
    asc_scope_end(c);
    return ok;
}

static float expected[N];

static bool works(asc_ctx *c)
{
    float values[N];
    return work(c, values) && memcmp(values, expected, sizeof values) == 0;
}

/* ---- what a child does; true: all is well ---- */

static bool frees(void)
{
    asc_ctx_free(ctx);
    return memory.blocks == 0 && memory.bytes == 0;
}

static bool computes(void)
{
    return works(ctx) && works(ctx) && asc_threads(ctx) == THREADS && frees();
}

static bool changes_threads(void)
{
    return asc_set_threads(ctx, 2) == ASC_OK && works(ctx) && frees();
}

static bool makes_another(void)
{
    heap own = {.fail_at = NEVER};
    asc_ctx *other = context_on(&own, THREADS);
    bool ok = works(other) && works(ctx);
    asc_ctx_free(other);
    return ok && own.blocks == 0 && frees();
}

static bool ends(void)
{
    exit(0);
}

static bool run_child(bool (*act)(void));

static bool forks_again(void)
{
    return works(ctx) && run_child(computes) && run_child(frees) && works(ctx) && frees();
}

/* Whether the child ended in time, and well. */
static bool run_child(bool (*act)(void))
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        _exit(act() ? 0 : 1);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const struct {
    const char *name;
    bool (*act)(void);
} acts[] = {{"frees", frees}, {"computes", computes}, {"changes_threads", changes_threads},
            {"makes_another", makes_another}, {"ends", ends}, {"forks_again", forks_again}};

START_TEST(a_child_of_threads_that_have_worked)
{
    ck_assert(work(ctx, expected));
    ck_assert_msg(run_child(acts[_i].act), "%s", acts[_i].name);
    ck_assert(works(ctx));
}
END_TEST

START_TEST(a_child_of_threads_that_have_not)
{
    asc_ctx *other = asc_ctx_new(&(asc_options){.threads = 1});
    ck_assert(work(other, expected));
    asc_ctx_free(other);
    ck_assert_msg(run_child(acts[_i].act), "%s", acts[_i].name);
    ck_assert(works(ctx));
}
END_TEST

/* ---- fork in the middle of a job ---- */

static void fork_once(void *arg, int64_t piece, int worker)
{
    pid_t *child = arg;
    (void)piece;
    if (worker == 0 && *child < 0) {
        *child = fork();
    }
}

START_TEST(a_piece_that_forks)
{
    ck_assert(work(ctx, expected));
    pid_t child = -1;
    while (child < 0) { /* until the caller's thread gets a piece, which it does at once */
        asc_parallel(ctx, 100, fork_once, &child);
    }
    if (child == 0) {
        alarm(20);
        bool told = asc_error(ctx) == ASC_ERR_STATE && strstr(asc_error_message(ctx), "child of fork");
        asc_error_clear(ctx);
        _exit(told && works(ctx) && frees() ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    no_error();
    ck_assert(works(ctx));
}
END_TEST

int main(void)
{
    int n = (int)(sizeof acts / sizeof *acts);
    TCase *t = tcase_create("fork");
    tcase_add_checked_fixture(t, setup_threads_that_idle, teardown);
    tcase_add_loop_test(t, a_child_of_threads_that_have_worked, 0, n);
    tcase_add_loop_test(t, a_child_of_threads_that_have_not, 0, n);
    tcase_add_test(t, a_piece_that_forks);
    return run_suite("tensor/fork", t);
}
