/* tests/autograd/test_observe.c: what an observer is told of calls and spans: order, nesting, times, counts. */
#include <check.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <ascgrad/ops.h>

#include "tests/autograd/ops.h"
#include "tests/suite.h"

static asc_ctx *ctx;

/* What was told, with copies of what is only borrowed. */
enum { MOST = 32 };
static struct seen {
    asc_event event;
    char label[32], span[32], outer[32];
    int64_t numel; /* of a call's first output */
} seen[MOST];
static int n_seen;

static void see(void *user, const asc_event *event)
{
    ck_assert_ptr_eq(user, seen);
    ck_assert_int_lt(n_seen, MOST);
    struct seen *s = &seen[n_seen++];
    *s = (struct seen){.event = *event, .numel = event->call ? event->call->out[0].numel : 0};
    const asc_span *outer = event->span ? event->span->outer : NULL;
    strcpy(s->label, event->label ? event->label : "");
    strcpy(s->span, event->span ? event->span->name : "");
    strcpy(s->outer, outer ? outer->name : "");
}

static void setup(void)
{
    ctx = asc_ctx_new(&(asc_options){.threads = 2});
    ck_assert_ptr_nonnull(ctx);
    ck_assert_int_eq(asc_set_observer(ctx, see, seen), ASC_OK);
    n_seen = 0;
}

static void teardown(void)
{
    asc_ctx_free(ctx);
}

/* Event i is of that name, direction and depth, and its times are in order. */
static const asc_event *expect(int i, const char *name, bool backward, int depth)
{
    ck_assert_int_lt(i, n_seen);
    const asc_event *e = &seen[i].event;
    ck_assert_str_eq(e->name, name);
    ck_assert_int_eq(e->backward, backward);
    ck_assert_int_eq(e->depth, depth);
    ck_assert_double_le(e->start_s, e->end_s);
    ck_assert_double_ge(e->work_s, 0);
    ck_assert_double_le(e->work_s, 2 * (e->end_s - e->start_s) + 1e-9);
    return e;
}

static void expect_cost(const asc_event *e, double flops, double bytes)
{
    ck_assert_double_eq(e->flops, flops);
    ck_assert_double_eq(e->bytes, bytes);
}

static asc_tensor leaf(bool wanted)
{
    asc_tensor t = asc_full(ctx, ASC_F64, 2, ASC_SHAPE(2, 3));
    ck_assert_int_eq(asc_require_grad(t, wanted), ASC_OK);
    return t;
}

static void backward(asc_tensor y)
{
    ck_assert_int_eq(asc_backward(ctx, y, asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2, 3)), false), ASC_OK);
}

/* ---- calls ---- */

START_TEST(every_call_in_its_order)
{
    asc_tensor a = leaf(true), b = leaf(true);
    asc_set_label(ctx, "first");
    asc_tensor ab = mul(ctx, a, b);
    asc_set_label(ctx, "second");
    asc_tensor y = next(ctx, ab);
    asc_set_label(ctx, NULL);
    backward(y);
    ck_assert_int_eq(n_seen, 4);
    enum { ARRAY = 6 * sizeof(double) };
    expect_cost(expect(0, "test_mul", false, 0), 6, 3 * ARRAY);
    expect_cost(expect(1, "test_next", false, 0), 0, 2 * ARRAY);
    /* dy; its gradient, which is added to */
    expect_cost(expect(2, "test_next", true, 0), 0, 3 * ARRAY);
    /* dy; what is saved of a and b; two gradients */
    expect_cost(expect(3, "test_mul", true, 0), 12, 7 * ARRAY);
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_eq(seen[i].event.op, i == 0 || i == 3 ? &mul_op : seen[1].event.op);
        ck_assert_str_eq(seen[i].label, i == 0 || i == 3 ? "first" : "second");
        ck_assert_int_eq(seen[i].event.status, ASC_OK);
        ck_assert_int_eq(seen[i].numel, 6);
        ck_assert(i == 0 || seen[i].event.start_s >= seen[i - 1].event.end_s);
    }
}
END_TEST

START_TEST(one_factor_alone_costs_half)
{
    backward(mul(ctx, leaf(true), leaf(false)));
    ck_assert_double_eq(expect(1, "test_mul", true, 0)->flops, 6);
}
END_TEST

START_TEST(products_count_where_they_are_done)
{
    enum { T = 5, V = 7, D = 4 };
    const double once = 2 * T * V * D;
    for (int wanted = 0; wanted <= 2; wanted++) { /* neither, the table alone, both */
        asc_tensor x = asc_normal(ctx, ASC_F32, 0, 1, 1, 1, ASC_SHAPE(T, D));
        asc_tensor w = asc_normal(ctx, ASC_F32, 0, 1, 1, 2, ASC_SHAPE(V, D)), y = asc_zeros(ctx, ASC_I64, ASC_SHAPE(T));
        asc_require_grad(w, wanted > 0);
        asc_require_grad(x, wanted > 1);
        n_seen = 0;
        asc_tensor loss = asc_linear_cross_entropy(ctx, x, w, y, NULL);
        ck_assert_double_eq(expect(0, "linear_cross_entropy", false, 0)->flops, (1 + wanted) * once);
        if (wanted > 0) {
            ck_assert_int_eq(asc_backward(ctx, loss, asc_null(), false), ASC_OK);
            ck_assert_double_eq(expect(1, "linear_cross_entropy", true, 0)->flops, 0);
        }
    }
}
END_TEST

/* Views move nothing; of a table only the rows that are taken move, and only they are added to. */
START_TEST(bytes_that_move)
{
    enum { V = 1000, D = 4, N = 3 };
    const double rows = N * D * sizeof(float), indices = N * sizeof(int64_t);
    asc_tensor table = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(V, D)), index = asc_zeros(ctx, ASC_I64, ASC_SHAPE(N));
    asc_require_grad(table, true);
    for (int pass = 0; pass < 2; pass++) {
        n_seen = 0;
        asc_tensor y = asc_sum(ctx, asc_embedding(ctx, table, index), 0, NULL, false);
        ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_OK);
        expect_cost(expect(0, "embedding", false, 0), 0, 2 * rows + indices);
        /* the first time all of the gradient is written */
        double written = pass == 0 ? V * D * sizeof(float) : 2 * rows;
        expect_cost(expect(3, "embedding", true, 0), 0, rows + indices + written);
    }
    n_seen = 0;
    asc_slice(ctx, table, 0, 1, 3, 1);
    expect_cost(expect(0, "slice", false, 0), 0, 0);
}
END_TEST

/* ---- ops that call ops: y = a∘a∘a ---- */

static asc_status cube_forward(asc_call *call)
{
    asc_scope_begin(call->ctx);
    asc_tensor a = asc_zeros(call->ctx, ASC_F64, 2, call->in[0].shape);
    memcpy(asc_data_mut(a), call->in[0].data, (size_t)call->in[0].numel * sizeof(double));
    asc_tensor y = mul(call->ctx, mul(call->ctx, a, a), a);
    if (asc_error(call->ctx) == ASC_OK) {
        memcpy(call->out[0].data, asc_data(y), (size_t)call->out[0].numel * sizeof(double));
    }
    asc_scope_end(call->ctx);
    return asc_error(call->ctx);
}

static asc_status cube_backward(asc_call *call)
{
    asc_scope_begin(call->ctx);
    asc_tensor one = asc_full(call->ctx, ASC_F64, 1, ASC_SHAPE(2, 3));
    mul(call->ctx, one, one);
    asc_scope_end(call->ctx);
    return ASC_OK;
}

static const asc_op cube_op = {
    .abi = ASC_OP_ABI,
    .name = "test_cube",
    .equation = "y = a∘a∘a",
    .inputs = "a",
    .n_out = 1,
    .infer = same_as_first,
    .forward = cube_forward,
    .backward = cube_backward,
};

static void expect_within(const asc_event *inner, const asc_event *outer)
{
    ck_assert_double_ge(inner->start_s, outer->start_s);
    ck_assert_double_le(inner->end_s, outer->end_s);
}

START_TEST(calls_within_calls)
{
    asc_tensor a = leaf(true);
    backward(asc_apply1(ctx, &cube_op, &a, 1, NULL));
    ck_assert_int_eq(n_seen, 5);
    const asc_event *forward = expect(2, "test_cube", false, 0), *back = expect(4, "test_cube", true, 0);
    expect_within(expect(0, "test_mul", false, 1), forward);
    expect_within(expect(1, "test_mul", false, 1), forward);
    expect_within(expect(3, "test_mul", false, 1), back);
}
END_TEST

/* ---- failures ---- */

static bool fails_forward;

static asc_status failing(asc_call *call)
{
    if (fails_forward == (call->grad_out[0].data == NULL)) {
        return asc_call_fail(call, "fails");
    }
    return ASC_OK;
}

static const asc_op failing_op = {
    .abi = ASC_OP_ABI,
    .name = "test_failing",
    .equation = "none",
    .inputs = "a",
    .n_out = 1,
    .infer = same_as_first,
    .forward = failing,
    .backward = failing,
    .flops = mul_flops,
};

/* A call that fails is told as such; those that have nothing to work on don't run. */
START_TEST(calls_that_fail)
{
    asc_tensor a = leaf(true);
    fails_forward = true;
    next(ctx, asc_apply1(ctx, &failing_op, &a, 1, NULL));
    ck_assert_int_eq(n_seen, 1);
    const asc_event *e = expect(0, "test_failing", false, 0);
    ck_assert_int_eq(e->status, ASC_ERR_ARG);
    expect_cost(e, 0, 0);
    asc_error_clear(ctx);

    mul(ctx, a, asc_null()); /* not even its inputs are there */
    ck_assert_int_eq(expect(1, "test_mul", false, 0)->status, ASC_ERR_ARG);
    asc_error_clear(ctx);

    fails_forward = false;
    asc_tensor y = asc_apply1(ctx, &failing_op, &a, 1, NULL);
    ck_assert_int_eq(asc_backward(ctx, y, asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2, 3)), false), ASC_ERR_ARG);
    ck_assert_int_eq(n_seen, 4);
    ck_assert_int_eq(expect(2, "test_failing", false, 0)->status, ASC_OK);
    ck_assert_int_eq(expect(3, "test_failing", true, 0)->status, ASC_ERR_ARG);
    asc_error_clear(ctx);

    next(ctx, a); /* the depth is still right */
    expect(4, "test_next", false, 0);
}
END_TEST

/* ---- spans ---- */

START_TEST(spans_nest)
{
    asc_span step, part;
    asc_tensor a = leaf(false);
    asc_span_begin(ctx, &step, "step");
    asc_span_begin(ctx, &part, "part");
    next(ctx, a);
    asc_span_end(ctx, &part);
    next(ctx, a);
    asc_span_end(ctx, &step);
    next(ctx, a);
    static const char *const expected[][3] = {
        {"test_next", "part", "step"}, {"part", "step", ""}, {"test_next", "step", ""}, {"step", "", ""},
        {"test_next", "", ""},
    };
    ck_assert_int_eq(n_seen, 5);
    for (int i = 0; i < 5; i++) {
        const asc_event *e = expect(i, expected[i][0], false, 0);
        ck_assert_str_eq(seen[i].span, expected[i][1]);
        ck_assert_str_eq(seen[i].outer, expected[i][2]);
        bool span = i % 2 == 1;
        ck_assert(span ? !e->op && !e->call : e->op && e->call);
    }
    expect_within(&seen[0].event, &seen[1].event);
    expect_within(&seen[1].event, &seen[3].event);
    ck_assert_double_ge(seen[4].event.start_s, seen[3].event.end_s);
}
END_TEST

START_TEST(spans_that_do_not_nest)
{
    asc_span step, part;
    asc_tensor a = leaf(false);
    for (int i = 0; i < 3; i++) { /* a span of before is not looked at again */
        asc_span_begin(ctx, &step, "step");
        asc_span_begin(ctx, &part, "part");
        next(ctx, a);
        asc_span_end(ctx, &step);
        asc_span_end(ctx, &part);
        ck_assert_str_eq(asc_error_message(ctx), "span_end: step is not the last that was begun and not ended");
        asc_error_clear(ctx);
    }
    asc_span_begin(ctx, &step, "step");
    asc_span_begin(ctx, &step, "again");
    ck_assert_str_eq(asc_error_message(ctx), "span_begin: again has begun, and not ended");
    asc_error_clear(ctx);
    asc_span_end(ctx, &step);
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
}
END_TEST

START_TEST(span_that_never_began)
{
    asc_span span = {0};
    asc_ctx *fresh = asc_ctx_new(NULL); /* nothing has been recorded */
    asc_ctx *contexts[] = {fresh, ctx};
    for (int i = 0; i < 2; i++) {
        asc_span_end(contexts[i], &span);
        ck_assert_int_eq(asc_error(contexts[i]), ASC_ERR_STATE);
        ck_assert_str_eq(asc_error_message(contexts[i]),
                         "span_end: the span is not the last that was begun and not ended");
        asc_error_clear(contexts[i]);
    }
    asc_ctx_free(fresh);
}
END_TEST

/* A span is told if it was begun and ended under the same observer. */
START_TEST(spans_that_nobody_saw_begin)
{
    asc_span early, late;
    asc_set_observer(ctx, NULL, NULL);
    asc_span_begin(ctx, &early, "early");
    asc_set_observer(ctx, see, seen);
    asc_span_begin(ctx, &late, "late");
    next(ctx, leaf(false));
    ck_assert_str_eq(seen[0].span, "late");
    ck_assert_str_eq(seen[0].outer, "");
    asc_set_observer(ctx, NULL, NULL);
    asc_span_end(ctx, &late);
    asc_set_observer(ctx, see, seen);
    asc_span_end(ctx, &early);
    next(ctx, leaf(false));
    ck_assert_str_eq(seen[1].span, "");
    ck_assert_int_eq(n_seen, 2);
}
END_TEST

/* ---- threads, memory ---- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Two pieces, of which one has work. */
static void work_in_one_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    volatile double x = 0;
    double start = seconds();
    if (piece == 0) {
        while (x < 1e7) {
            x = x + 1;
        }
        *(double *)arg = seconds() - start;
    }
}

/* A machine that is overloaded may take the processor away from the other piece, too: once it doesn't. */
START_TEST(threads_that_wait_do_not_work)
{
    double worked = 0, work = INFINITY;
    for (int attempt = 0; attempt < 50 && work > 1.2 * worked; attempt++) {
        asc_span span;
        n_seen = 0;
        asc_span_begin(ctx, &span, "lopsided");
        asc_parallel(ctx, 2, work_in_one_piece, &worked);
        asc_span_end(ctx, &span);
        work = expect(0, "lopsided", false, 0)->work_s;
        ck_assert_double_ge(work, worked);
    }
    ck_assert_double_le(work, 1.2 * worked);
}
END_TEST

/* Two pieces that run at the same time, on a thread each. */
static void work_together(void *arg, int64_t piece, int worker)
{
    (void)piece;
    (void)worker;
    atomic_int *begun = arg;
    atomic_fetch_add(begun, 1);
    while (atomic_load(begun) < 2) {
    }
    for (double start = seconds(); seconds() - start < 0.01;) {
    }
}

/* What threads did before a span that they go in is none of its work, and not taken from it either. */
START_TEST(threads_that_go_have_worked)
{
    atomic_int begun = 0;
    asc_span span;
    asc_parallel(ctx, 2, work_together, &begun);
    asc_span_begin(ctx, &span, "fewer");
    ck_assert_int_eq(asc_set_threads(ctx, 1), ASC_OK);
    asc_span_end(ctx, &span);
    expect(0, "fewer", false, 0);
}
END_TEST

static uint64_t run_steps(void)
{
    for (int i = 0; i < 3; i++) {
        asc_scope_begin(ctx);
        backward(mul(ctx, leaf(true), leaf(true)));
        asc_scope_end(ctx);
    }
    return asc_memory(ctx).allocations;
}

/* Being watched takes no memory, and what was watched can go on unwatched. */
START_TEST(watching_takes_no_memory)
{
    uint64_t before = run_steps();
    ck_assert_uint_eq(run_steps(), before);
    ck_assert_int_eq(n_seen, 12);
    asc_set_observer(ctx, NULL, NULL);
    ck_assert_uint_eq(run_steps(), before);
    ck_assert_int_eq(n_seen, 12);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("observe");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, every_call_in_its_order);
    tcase_add_test(t, one_factor_alone_costs_half);
    tcase_add_test(t, products_count_where_they_are_done);
    tcase_add_test(t, bytes_that_move);
    tcase_add_test(t, calls_within_calls);
    tcase_add_test(t, calls_that_fail);
    tcase_add_test(t, spans_nest);
    tcase_add_test(t, spans_that_do_not_nest);
    tcase_add_test(t, span_that_never_began);
    tcase_add_test(t, spans_that_nobody_saw_begin);
    tcase_add_test(t, threads_that_wait_do_not_work);
    tcase_add_test(t, threads_that_go_have_worked);
    tcase_add_test(t, watching_takes_no_memory);
    return run_suite("autograd/observe", t);
}
