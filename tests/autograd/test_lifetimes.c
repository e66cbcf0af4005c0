/* tests/autograd/test_lifetimes.c: what holds a graph, and what goes when: with scopes and without, in any order. */
#include <pthread.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "tests/autograd/ops.h"
#include "tests/faults.h"

static void count_release(void *user, void *data)
{
    (void)data;
    ++*(int *)user;
}

static asc_tensor leaf(double value)
{
    asc_tensor t = asc_scalar(ctx, ASC_F64, value);
    asc_require_grad(t, true);
    return t;
}

static void backward(asc_tensor loss, bool retain)
{
    asc_status status = asc_backward(ctx, loss, asc_null(), retain);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
}

static double grad(asc_tensor t)
{
    return asc_item(asc_grad(t));
}

/* ---- rounds of each lifetime: memory stays as it is after the first ones ---- */

static int released;

/* x, tanh x and their sum over 300 elements: one size below those that are cut out of chunks. */
typedef struct graph {
    asc_tensor x, y, loss;
} graph;

static double values[300];

static graph make_graph(void)
{
    graph g = {.x = asc_wrap(ctx, ASC_F64, values, ASC_SHAPE(300), NULL, count_release, &released)};
    asc_require_grad(g.x, true);
    g.y = asc_tanh(ctx, g.x);
    g.loss = asc_sum(ctx, g.y, ASC_ALL_DIMS, false);
    return g;
}

static void release_graph(graph g)
{
    asc_release(g.x);
    asc_release(g.y);
    asc_release(g.loss);
}

static void in_a_scope(void)
{
    asc_scope_begin(ctx);
    backward(make_graph().loss, false);
    asc_scope_end(ctx);
}

static void without_a_scope(void)
{
    graph g = make_graph();
    backward(g.loss, false);
    release_graph(g);
}

static void a_dropped_forward(void)
{
    release_graph(make_graph());
}

static void a_dropped_forward_in_a_scope(void)
{
    asc_scope_begin(ctx);
    make_graph();
    asc_scope_end(ctx);
}

static void a_result_kept(void)
{
    asc_scope_begin(ctx);
    asc_tensor loss = asc_keep(make_graph().loss);
    asc_scope_end(ctx);
    backward(loss, false);
    asc_release(loss);
}

static void two_passes(void)
{
    graph g = make_graph();
    asc_release(g.y);
    backward(g.loss, true);
    backward(g.loss, false);
    asc_release(g.x);
    asc_release(g.loss);
}

static void a_kept_tape_dropped(void)
{
    graph g = make_graph();
    backward(g.loss, true);
    release_graph(g);
}

static void two_graphs(void)
{
    graph a = make_graph(), b = make_graph();
    backward(a.loss, false);
    release_graph(a);
    a = make_graph();
    backward(b.loss, false);
    release_graph(b);
    backward(a.loss, false);
    release_graph(a);
}

static void a_failed_pass(void)
{
    graph g = make_graph();
    asc_data_mut(g.y); /* which its own gradient needs */
    ck_assert_int_eq(asc_backward(ctx, g.loss, asc_null(), false), ASC_ERR_STATE);
    asc_error_clear(ctx);
    release_graph(g);
}

static asc_status tanh_again(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    (void)user;
    out[0] = asc_sum(c, asc_tanh(c, in[0]), ASC_ALL_DIMS, false);
    return asc_error(c);
}

static void recomputed(void)
{
    asc_tensor x = asc_wrap(ctx, ASC_F64, values, ASC_SHAPE(300), NULL, count_release, &released), out;
    asc_require_grad(x, true);
    asc_recompute(ctx, tanh_again, NULL, &x, 1, &out, 1);
    asc_release(x);
    backward(out, false);
    asc_release(out);
}

static const struct {
    const char *name;
    void (*round)(void);
    int leaves;
} lives[] = {
    {"in a scope", in_a_scope, 1},
    {"without a scope", without_a_scope, 1},
    {"a dropped forward pass", a_dropped_forward, 1},
    {"a dropped forward pass in a scope", a_dropped_forward_in_a_scope, 1},
    {"a result kept", a_result_kept, 1},
    {"two passes", two_passes, 1},
    {"a kept tape dropped", a_kept_tape_dropped, 1},
    {"two graphs", two_graphs, 3},
    {"a failed pass", a_failed_pass, 1},
    {"recomputed", recomputed, 1},
};

START_TEST(ten_thousand_rounds)
{
    int rounds = in_full() ? 10000 : 1000;
    asc_memory_stats early = {0};
    released = 0;
    for (int i = 1; i <= rounds; i++) {
        lives[_i].round();
        ck_assert_int_eq(released, i * lives[_i].leaves);
        if (i == 10) {
            early = asc_memory(ctx);
        }
    }
    asc_memory_stats late = asc_memory(ctx);
    ck_assert_msg(late.bytes == early.bytes && late.peak_bytes == early.peak_bytes,
                  "%s: %zu bytes after %d rounds, %zu after 10", lives[_i].name, late.bytes, rounds, early.bytes);
    /* what is wrapped has a header of its own each time, and nothing else is asked for */
    ck_assert_uint_eq(late.allocations - early.allocations, (uint64_t)((rounds - 10) * lives[_i].leaves));
}
END_TEST

/* ---- functions that are composed of ops, or give several results: nothing is left of them but what is given ---- */

static asc_tensor chosen(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_topk(ctx, x, asc_null(), 2, NULL);
}

static asc_tensor capped(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_soft_cap(ctx, x, 2);
}

static asc_tensor lower(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_tril(ctx, x, 0);
}

static asc_tensor stacked(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_stack(ctx, (asc_tensor[]){x, x}, 2, 1);
}

static asc_tensor rolled(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_roll(ctx, x, 0, 2);
}

static asc_tensor cosines(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_cosine_similarity(ctx, x, x);
}

static asc_tensor products(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_einsum(ctx, "ab,cd->dac", (asc_tensor[]){x, x}, 2);
}

static asc_tensor sums(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_einsum(ctx, "ab->b", &x, 1);
}

static asc_tensor the_same(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_einsum(ctx, "ab->ab", &x, 1);
}

static asc_tensor outer_products(asc_tensor x, asc_tensor labels)
{
    (void)labels;
    return asc_outer(ctx, x, x);
}

static asc_tensor smoothed(asc_tensor x, asc_tensor labels)
{
    return asc_cross_entropy_smoothed(ctx, x, labels, -100, .1);
}

static const struct {
    const char *name;
    asc_tensor (*make)(asc_tensor x, asc_tensor labels); /* of x (5, 4), labels (5) */
} made[] = {
    {"topk", chosen},
    {"soft_cap", capped},
    {"tril", lower},
    {"stack", stacked},
    {"roll", rolled},
    {"cosine_similarity", cosines},
    {"einsum of two", products},
    {"einsum of one", sums},
    {"einsum of what is there", the_same},
    {"outer", outer_products},
    {"cross_entropy_smoothed", smoothed},
};

START_TEST(what_is_made_on_the_way_goes)
{
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 1, 1, 0, ASC_SHAPE(5, 4));
    asc_tensor labels = asc_zeros(ctx, ASC_I64, ASC_SHAPE(5));
    asc_require_grad(x, true);
    size_t early = 0;
    for (int i = 1; i <= 300; i++) {
        asc_tensor y = made[_i].make(x, labels), loss = asc_sum(ctx, y, ASC_ALL_DIMS, false);
        backward(loss, false);
        asc_release(loss);
        asc_release(y);
        ck_assert(asc_is_valid(x) && asc_is_valid(labels));
        early = i == 10 ? asc_memory(ctx).bytes : early;
    }
    ck_assert_msg(asc_memory(ctx).bytes == early, "%s: %zu bytes after 300 calls, %zu after 10", made[_i].name,
                  asc_memory(ctx).bytes, early);
}
END_TEST

/* Of what was released within a scope, not even the list of what that is to let go. */
START_TEST(what_is_released_within_a_scope_costs_nothing)
{
    asc_tensor x = asc_zeros(ctx, ASC_F64, ASC_SHAPE(2)), stays[200];
    asc_scope_begin(ctx);
    asc_scope_begin(ctx);
    size_t early = 0;
    for (int i = 1; i <= 20000; i++) {
        asc_tensor y = asc_neg(ctx, x);
        if (i % 100 == 0) {
            stays[i / 100 - 1] = y;
        } else {
            asc_release(y);
        }
        early = i == 10000 ? asc_memory(ctx).bytes : early;
    }
    for (int i = 0; i < 200; i++) {
        ck_assert(asc_is_valid(stays[i]));
    }
    ck_assert_msg(asc_memory(ctx).bytes < early + 100 * 1024, "%zu bytes after 20000 calls, %zu after 10000",
                  asc_memory(ctx).bytes, early);
    asc_scope_end(ctx);
    for (int i = 0; i < 200; i++) {
        ck_assert(!asc_is_valid(stays[i]));
    }
    asc_scope_end(ctx);
}
END_TEST

START_TEST(a_leaf_goes_after_its_backward_pass)
{
    graph g = make_graph();
    released = 0;
    backward(g.loss, false);
    asc_release(g.x); /* the results are still there, but need it no more */
    ck_assert_int_eq(released, 1);
    ck_assert(asc_is_valid(g.y) && asc_is_valid(g.loss));
    release_graph(g);
}
END_TEST

START_TEST(a_leaf_stays_for_its_backward_pass)
{
    graph g = make_graph();
    released = 0;
    asc_release(g.x);
    asc_release(g.y);
    ck_assert_int_eq(released, 0);
    backward(g.loss, true);
    ck_assert_int_eq(released, 0);
    asc_release(g.loss);
    ck_assert_int_eq(released, 1);
}
END_TEST

START_TEST(the_context_lets_go_of_all)
{
    released = 0;
    asc_ctx *outer = ctx;
    heap own = {.fail_at = NEVER};
    ctx = context_on(&own, 1);
    graph g = make_graph(), h = make_graph();
    backward(h.loss, true);
    asc_release(g.x);
    asc_keep(h.y);
    asc_ctx_free(ctx);
    expect_empty(&own);
    ck_assert_int_eq(released, 2);
    ck_assert(!asc_is_valid(g.loss) && !asc_is_valid(h.x));
    ctx = outer;
}
END_TEST

/* ---- scopes ---- */

START_TEST(a_result_outlives_its_scope_with_its_gradient)
{
    asc_tensor x = leaf(3);
    asc_scope_begin(ctx);
    asc_scope_begin(ctx);
    asc_tensor y = asc_keep(mul(ctx, mul(ctx, x, x), x));
    asc_scope_end(ctx);
    asc_tensor z = asc_keep(mul(ctx, y, leaf(2)));
    asc_release(y);
    asc_scope_end(ctx);
    ck_assert(!asc_is_valid(y) && asc_requires_grad(z));
    backward(z, false);
    ck_assert_double_eq(grad(x), 54);
    asc_tensor constant = asc_detach(ctx, z);
    asc_release(z);
    ck_assert(asc_item(constant) == 54 && !asc_requires_grad(constant));
}
END_TEST

/* ---- parts of graphs ---- */

START_TEST(from_the_middle_and_then_from_the_end)
{
    asc_tensor x = leaf(3), y = mul(ctx, x, x), z = mul(ctx, y, x), other = mul(ctx, y, y);
    backward(y, true);
    ck_assert_double_eq(grad(x), 6);
    backward(z, true);
    ck_assert_double_eq(grad(x), 6 + 27);
    backward(other, false); /* frees y's part, and its own */
    ck_assert_double_eq(grad(x), 6 + 27 + 108);
    ck_assert_int_eq(asc_backward(ctx, z, asc_null(), false), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "backward: test_mul was freed by an earlier backward pass, which did not retain it");
}
END_TEST

START_TEST(graphs_that_interleave)
{
    enum { GRAPHS = 7, DEPTH = 50 };
    asc_tensor x[GRAPHS], y[GRAPHS];
    for (int g = 0; g < GRAPHS; g++) {
        x[g] = leaf(g);
        y[g] = mul(ctx, x[g], x[g]);
    }
    for (int i = 0; i < DEPTH; i++) {
        for (int g = 0; g < GRAPHS; g++) {
            asc_tensor longer = next(ctx, y[g]);
            asc_release(y[g]);
            y[g] = longer;
        }
    }
    static const int order[GRAPHS] = {3, 0, 6, 2, 5, 1, 4};
    for (int i = 0; i < GRAPHS; i++) {
        int g = order[i];
        backward(y[g], false);
        asc_release(y[g]);
        for (int j = 0; j < GRAPHS; j++) {
            bool done = false;
            for (int k = 0; k <= i; k++) {
                done |= order[k] == j;
            }
            ck_assert(done ? grad(x[j]) == 2 * j : asc_is_null(asc_grad(x[j])));
        }
    }
}
END_TEST

/* A kept tape, a leaf's values overwritten between its two passes. */
START_TEST(a_kept_tape_notices_what_is_overwritten)
{
    asc_tensor x = leaf(3), y = mul(ctx, x, x), z = next(ctx, y);
    backward(z, true);
    *(double *)asc_data_mut(x) = 5;
    ck_assert_int_eq(asc_backward(ctx, z, asc_null(), false), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "backward: test_mul: input 0 was overwritten after the forward pass, and its old value "
                 "is needed");
}
END_TEST

/* ---- callbacks ---- */

static void another_pass(void *user, asc_tensor gradient)
{
    (void)gradient;
    asc_backward(ctx, *(asc_tensor *)user, asc_null(), false);
}

START_TEST(a_pass_within_a_pass)
{
    asc_tensor x = leaf(3), y = mul(ctx, x, x), other = mul(ctx, x, x);
    asc_on_grad(x, another_pass, &other);
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "backward: called from within a backward pass");
    asc_on_grad(x, NULL, NULL);
    backward(other, false);
    ck_assert_double_eq(grad(x), 12);
}
END_TEST

typedef struct chain {
    asc_tensor next; /* that its release lets go of */
    int *count;
} chain;

static void release_next(void *user, void *data)
{
    (void)data;
    const chain *c = user;
    ++*c->count;
    asc_release(c->next);
}

/* Each leaf's memory holds a result of the leaf before it. */
START_TEST(a_release_that_releases)
{
    enum { N = 50 };
    static chain link[N];
    double value = 2;
    int count = 0;
    asc_tensor behind = asc_null();
    for (int i = 0; i < N; i++) {
        link[i] = (chain){behind, &count};
        asc_tensor x = asc_wrap(ctx, ASC_F64, &value, 0, NULL, NULL, release_next, &link[i]);
        asc_require_grad(x, true);
        behind = mul(ctx, x, x);
        asc_release(x);
    }
    ck_assert_int_eq(count, 0);
    asc_release(behind);
    ck_assert_int_eq(count, N);
}
END_TEST

/* ---- size ---- */

static void *release_it(void *t)
{
    asc_release(*(asc_tensor *)t);
    return NULL;
}

/* Freed on a stack that holds no deep recursion. */
START_TEST(a_deep_graph_is_dropped)
{
    asc_tensor x = leaf(3), y = mul(ctx, x, x);
    for (int i = 0; i < 100000; i++) {
        asc_tensor longer = next(ctx, y);
        asc_release(y);
        y = longer;
    }
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 17);
    ck_assert_int_eq(pthread_create(&thread, &small, release_it, &y), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    ck_assert(!asc_is_valid(y));
}
END_TEST

/* The gradient's memory of a long chain is not that of all its steps. */
START_TEST(memory_falls_as_the_pass_goes)
{
    enum { N = 20000, DEPTH = 30 };
    size_t peak[2];
    for (int pass = 0; pass < 2; pass++) {
        asc_ctx *outer = ctx;
        ctx = asc_ctx_new(&(asc_options){.threads = 1});
        asc_tensor x = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(N)), one = asc_full(ctx, ASC_F64, 1, ASC_SHAPE(N)), y = x;
        asc_require_grad(x, true);
        for (int i = 0; i < DEPTH; i++) {
            asc_tensor longer = mul(ctx, y, one);
            if (i > 0) {
                asc_release(y);
            }
            y = longer;
        }
        if (pass == 1) {
            ck_assert_int_eq(asc_backward(ctx, y, one, false), ASC_OK);
        }
        peak[pass] = asc_memory(ctx).peak_bytes;
        asc_ctx_free(ctx);
        ctx = outer;
    }
    ck_assert_uint_lt(peak[1], peak[0] + 3 * N * sizeof(double));
}
END_TEST

/* ---- failures ---- */

static double grad_of(graph g)
{
    double sum = 0;
    for (int i = 0; i < 300 && !asc_is_null(asc_grad(g.x)); i++) {
        sum += ((const double *)asc_data(asc_grad(g.x)))[i];
    }
    return sum;
}

/* Graphs without a scope, one of them dropped, one twice used, one computed again. */
static double live(void)
{
    graph a = make_graph(), dropped = make_graph(), twice = make_graph();
    release_graph(dropped);
    asc_backward(ctx, twice.loss, asc_null(), true);
    asc_tensor again;
    asc_recompute(ctx, tanh_again, NULL, &a.x, 1, &again, 1);
    asc_backward(ctx, a.loss, asc_null(), false);
    asc_backward(ctx, twice.loss, asc_null(), false);
    asc_backward(ctx, again, asc_null(), false);
    double sum = grad_of(a) + 3 * grad_of(twice);
    asc_release(again);
    release_graph(twice);
    release_graph(a);
    return sum;
}

START_TEST(every_allocation_fails_once)
{
    ck_assert_int_gt(fail_each_allocation(live, false), 20);
    ck_assert_int_gt(fail_each_allocation(live, true), 20);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("lifetimes");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, ten_thousand_rounds, 0, (int)(sizeof lives / sizeof *lives));
    tcase_add_loop_test(t, what_is_made_on_the_way_goes, 0, (int)(sizeof made / sizeof *made));
    tcase_add_test(t, what_is_released_within_a_scope_costs_nothing);
    tcase_add_test(t, a_leaf_goes_after_its_backward_pass);
    tcase_add_test(t, a_leaf_stays_for_its_backward_pass);
    tcase_add_test(t, the_context_lets_go_of_all);
    tcase_add_test(t, a_result_outlives_its_scope_with_its_gradient);
    tcase_add_test(t, from_the_middle_and_then_from_the_end);
    tcase_add_test(t, graphs_that_interleave);
    tcase_add_test(t, a_kept_tape_notices_what_is_overwritten);
    tcase_add_test(t, a_pass_within_a_pass);
    tcase_add_test(t, a_release_that_releases);
    tcase_add_test(t, a_deep_graph_is_dropped);
    tcase_add_test(t, memory_falls_as_the_pass_goes);
    tcase_add_test(t, every_allocation_fails_once);
    return run_suite("autograd/lifetimes", t);
}
