/* tests/test_autograd_recompute.c: asc_recompute: the same bits as without it, less memory, and failures that leave
 * nothing behind. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "tests/heap.h"

enum { ROWS = 6, D = 8, WORDS = 5 };

static heap memory = {.fail_at = NEVER}; /* of all contexts */

static asc_ctx *ctx;

static asc_ctx *open_ctx(int threads)
{
    return asc_ctx_new(&(asc_options){.threads = threads, .seed = 1, .allocator = {heap_alloc, heap_free, &memory}});
}

static void setup(void)
{
    memory.calls = 0;
    memory.fail_at = NEVER;
    ctx = open_ctx(1);
}

static void teardown(void)
{
    ck_assert_msg(asc_error(ctx) == ASC_OK, "%s", asc_error_message(ctx));
    asc_ctx_free(ctx);
    ck_assert_uint_eq(memory.bytes, 0);
}

static void expect_error(asc_status status, const char *part)
{
    ck_assert_int_eq(asc_error(ctx), status);
    ck_assert_msg(strstr(asc_error_message(ctx), part) != NULL, "%s", asc_error_message(ctx));
    asc_error_clear(ctx);
}

/* ---- a small network: two layers that share all of their parameters, with each other and with what is round them ---- */

typedef struct net {
    asc_tensor w, b, table; /* [D, D], [D], [WORDS, D] */
    bool again;             /* layers are recomputed */
    int runs;               /* of layers */
    int fail_at;            /* the run that fails; 0: none */
    bool grows;             /* a later run gives more rows */
} net;

static net make_net(asc_ctx *c, bool again)
{
    net n = {.again = again};
    n.w = asc_normal(c, ASC_F32, 0, .5, 1, 1, ASC_SHAPE(D, D));
    n.b = asc_normal(c, ASC_F32, 0, .5, 1, 2, ASC_SHAPE(D));
    n.table = asc_normal(c, ASC_F32, 0, .5, 1, 3, ASC_SHAPE(WORDS, D));
    asc_require_grad(n.w, true);
    asc_require_grad(n.b, true);
    asc_require_grad(n.table, true);
    return n;
}

/* x (ROWS, D), index i64 (ROWS), null -> x', a scalar, something that nobody uses, null. It releases nothing. */
static asc_status layer(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    net *n = user;
    if (++n->runs == n->fail_at) {
        return asc_fail(c, ASC_ERR_IO, "layer: told to fail");
    }
    ck_assert(asc_is_null(in[2]));
    const char *outer = asc_set_label(c, "layer");
    asc_tensor h = asc_dropout(c, asc_gelu(c, asc_linear(c, in[0], n->w, n->b)), .3);
    h = asc_add(c, h, asc_embedding(c, n->table, in[1]));
    out[0] = asc_add_dropout(c, in[0], asc_linear(c, h, n->w, asc_null()), .2);
    out[1] = asc_mean(c, asc_square(c, h), ASC_DIMS(0, 1), false);
    out[2] = asc_layer_norm(c, h, asc_null(), n->b, 1e-5);
    if (n->grows && n->runs > 1) {
        out[0] = asc_concat(c, (asc_tensor[]){out[0], in[0]}, 2, 0);
    }
    asc_set_label(c, outer);
    return asc_error(c);
}

static void run_layer(asc_ctx *c, net *n, asc_tensor x, asc_tensor index, asc_tensor *out)
{
    const asc_tensor in[] = {x, index, asc_null()};
    out[0] = out[1] = out[2] = out[3] = asc_null();
    if (n->again) {
        asc_recompute(c, layer, n, in, 3, out, 4);
    } else {
        layer(c, n, in, out);
    }
}

/* The loss of two layers, with an op on their parameters before, between and behind. */
static asc_tensor loss_of(asc_ctx *c, net *n, uint64_t step)
{
    static const int64_t words[ROWS] = {3, 1, 4, 1, 0, 3};
    asc_set_step(c, 7, step);
    asc_tensor index = asc_from(c, ASC_I64, words, ASC_SHAPE(ROWS));
    asc_tensor x = asc_dropout(c, asc_linear(c, asc_embedding(c, n->table, index), n->w, n->b), .1), a[4], b[4];
    run_layer(c, n, x, index, a);
    asc_release(x);
    asc_tensor between = asc_linear(c, a[0], n->w, asc_null());
    run_layer(c, n, between, index, b);
    asc_tensor y = asc_dropout(c, asc_add(c, b[0], a[0]), .1);
    asc_tensor loss = asc_mean(c, asc_square(c, asc_linear(c, y, n->w, n->b)), ASC_DIMS(0, 1), false);
    return asc_add(c, loss, asc_add(c, a[1], asc_scale(c, b[1], .5)));
}

/* The gradients after one backward pass, or two of one graph with `twice`; and the loss, last. */
enum { VALUES = D * D + D + WORDS * D + 1 };
static void gradients(asc_ctx *c, bool again, bool twice, float *values)
{
    net n = make_net(c, again);
    asc_scope_begin(c);
    asc_tensor loss = loss_of(c, &n, 3);
    values[VALUES - 1] = (float)asc_item(loss);
    asc_backward(c, loss, asc_null(), twice);
    if (twice) {
        asc_backward(c, loss, asc_null(), false);
    }
    asc_scope_end(c);
    if (asc_error(c) == ASC_OK) {
        memcpy(values, asc_data(asc_grad(n.w)), D * D * sizeof *values);
        memcpy(values + D * D, asc_data(asc_grad(n.b)), D * sizeof *values);
        memcpy(values + D * D + D, asc_data(asc_grad(n.table)), WORDS * D * sizeof *values);
        ck_assert_int_eq(n.runs, again ? twice ? 6 : 4 : 2);
    }
}

static bool same_bits(const float *a, const float *b)
{
    return memcmp(a, b, VALUES * sizeof *a) == 0;
}

START_TEST(same_bits_as_without)
{
    float kept[VALUES], again[VALUES], threads[VALUES];
    gradients(ctx, false, false, kept);
    gradients(ctx, true, false, again);
    ck_assert(same_bits(kept, again));
    asc_ctx *other = open_ctx(3);
    gradients(other, true, false, threads);
    ck_assert(same_bits(kept, threads));
    asc_ctx_free(other);
}
END_TEST

START_TEST(a_second_pass_runs_it_again)
{
    float kept[VALUES], again[VALUES], once[VALUES];
    gradients(ctx, false, true, kept);
    gradients(ctx, true, true, again);
    ck_assert(same_bits(kept, again));
    gradients(ctx, true, false, once);
    ck_assert(!same_bits(once, again));
}
END_TEST

START_TEST(without_retain_there_is_no_second_pass)
{
    net n = make_net(ctx, true);
    asc_scope_begin(ctx);
    asc_tensor out[4], index = asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS));
    run_layer(ctx, &n, asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), index, out);
    asc_backward(ctx, asc_scale(ctx, out[1], 1), asc_null(), false);
    asc_backward(ctx, asc_scale(ctx, out[1], 2), asc_null(), false);
    expect_error(ASC_ERR_STATE, "recompute was freed by an earlier backward pass");
    asc_scope_end(ctx);
}
END_TEST

/* ---- what flows ---- */

START_TEST(gradients_flow_where_they_would)
{
    net n = make_net(ctx, true);
    asc_scope_begin(ctx);
    asc_tensor out[4], index = asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS));
    asc_tensor x = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(ROWS, D));
    run_layer(ctx, &n, x, index, out); /* x asks for none, parameters do */
    ck_assert(asc_requires_grad(out[0]) && asc_requires_grad(out[1]) && asc_requires_grad(out[2]));
    ck_assert(asc_is_null(out[3]) && !asc_requires_grad(x));
    asc_backward(ctx, out[1], asc_null(), false); /* on this path b alone of the layer's norm has none */
    ck_assert(!asc_is_null(asc_grad(n.w)) && asc_is_null(asc_grad(x)));
    asc_set_recording(ctx, false);
    run_layer(ctx, &n, x, index, out);
    ck_assert(!asc_requires_grad(out[0]));
    asc_set_recording(ctx, true);
    asc_scope_end(ctx);
    asc_scope_begin(ctx);
    asc_require_grad(n.w, false);
    asc_require_grad(n.b, false);
    asc_require_grad(n.table, false);
    index = asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS));
    run_layer(ctx, &n, asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), index, out);
    ck_assert(asc_is_valid(out[0]) && !asc_requires_grad(out[0]));
    asc_scope_end(ctx);
}
END_TEST

/* Gives back its input, the input again, and a tensor from outside. */
static asc_status pass_on(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    (void)c;
    out[0] = out[1] = in[0];
    out[2] = *(const asc_tensor *)user;
    return ASC_OK;
}

START_TEST(outputs_that_it_did_not_make)
{
    asc_tensor leaf = asc_full(ctx, ASC_F32, 3, ASC_SHAPE(2)), in = asc_full(ctx, ASC_F32, 2, ASC_SHAPE(2)), out[3];
    asc_require_grad(leaf, true);
    asc_require_grad(in, true);
    asc_scope_begin(ctx);
    asc_tensor x = asc_scale(ctx, in, 5);
    asc_recompute(ctx, pass_on, &leaf, &x, 1, out, 3);
    asc_tensor sum = asc_add(ctx, asc_mul(ctx, out[0], out[1]), asc_add(ctx, asc_scale(ctx, out[2], 7), x));
    asc_backward(ctx, asc_sum(ctx, sum, ASC_DIMS(0), false), asc_null(), false); /* x² + 7 leaf + x */
    asc_scope_end(ctx);
    ck_assert_float_eq(((const float *)asc_data(asc_grad(leaf)))[1], 7);
    ck_assert_float_eq(((const float *)asc_data(asc_grad(in)))[1], 5 * (2 * 10 + 1));
}
END_TEST

/* x times a tensor that is no input, an op's result whose handle still stands. */
static asc_status times_captured(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    out[0] = asc_mul(c, in[0], *(const asc_tensor *)user);
    return asc_error(c);
}

START_TEST(gradients_reach_what_is_no_input)
{
    asc_tensor leaf = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(1)), out;
    asc_require_grad(leaf, true);
    asc_scope_begin(ctx);
    asc_tensor captured = asc_square(ctx, leaf), x = asc_scale(ctx, captured, 2);
    asc_recompute(ctx, times_captured, &captured, &x, 1, &out, 1);
    asc_backward(ctx, out, asc_null(), false); /* 2 leaf⁴ */
    asc_scope_end(ctx);
    ck_assert_double_eq(asc_item(asc_grad(leaf)), 8 * 27);
}
END_TEST

START_TEST(a_captured_tensor_that_is_gone)
{
    asc_tensor leaf = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(1)), out;
    asc_require_grad(leaf, true);
    asc_scope_begin(ctx);
    asc_tensor captured = asc_square(ctx, leaf), x = asc_scale(ctx, captured, 2);
    asc_recompute(ctx, times_captured, &captured, &x, 1, &out, 1);
    asc_release(captured);
    asc_backward(ctx, out, asc_null(), false);
    expect_error(ASC_ERR_STATE, "gone");
    asc_scope_end(ctx);
    asc_zero_grad(leaf);
}
END_TEST

/* ---- nested ---- */

static asc_status two_layers(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    asc_tensor first[4];
    run_layer(c, user, in[0], in[1], first);
    run_layer(c, user, first[0], in[1], out);
    return asc_error(c);
}

START_TEST(nested)
{
    float w[2][D * D];
    for (int nest = 0; nest < 2; nest++) {
        net n = make_net(ctx, nest);
        asc_scope_begin(ctx);
        asc_set_step(ctx, 1, 1);
        asc_tensor in[] = {asc_dropout(ctx, asc_square(ctx, n.w), .2), asc_zeros(ctx, ASC_I64, ASC_SHAPE(D))}, out[4];
        if (nest) {
            asc_recompute(ctx, two_layers, &n, in, 2, out, 4);
        } else {
            two_layers(ctx, &n, in, out);
        }
        asc_backward(ctx, asc_dropout(ctx, out[0], .1), asc_full(ctx, ASC_F32, .5, ASC_SHAPE(D, D)), false);
        memcpy(w[nest], asc_data(asc_grad(n.w)), sizeof w[nest]);
        ck_assert_int_eq(n.runs, nest ? 6 : 2); /* first, again without a record, again with one */
        asc_scope_end(ctx);
    }
    ck_assert_int_eq(memcmp(w[0], w[1], sizeof w[0]), 0);
}
END_TEST

/* ---- hooks and counters ---- */

static int hooked;

static void hook(void *user, asc_tensor gradient)
{
    hooked++;
    memcpy(user, asc_data(gradient), D * D * sizeof(float));
}

START_TEST(hooks_see_the_whole_gradient_once)
{
    float kept[VALUES], seen[D * D];
    gradients(ctx, false, false, kept);
    net n = make_net(ctx, true);
    hooked = 0;
    asc_on_grad(n.w, hook, seen);
    asc_scope_begin(ctx);
    asc_backward(ctx, loss_of(ctx, &n, 3), asc_null(), false);
    asc_scope_end(ctx);
    ck_assert_int_eq(hooked, 1);
    ck_assert_int_eq(memcmp(seen, kept, sizeof seen), 0);
}
END_TEST

START_TEST(products_count_once)
{
    double flops[2];
    for (int again = 0; again < 2; again++) {
        net n = make_net(ctx, again);
        asc_scope_begin(ctx);
        asc_flops_reset(ctx);
        asc_backward(ctx, loss_of(ctx, &n, 3), asc_null(), false);
        flops[again] = asc_flops(ctx);
        asc_scope_end(ctx);
    }
    ck_assert_double_gt(flops[0], 0);
    ck_assert_double_eq(flops[0], flops[1]);
}
END_TEST

/* ---- memory ---- */

typedef struct wide {
    asc_tensor up, down;
} wide;

static asc_status wide_layer(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    const wide *m = user;
    asc_tensor h = asc_linear(c, in[0], m->up, asc_null()), active = asc_gelu(c, h);
    out[0] = asc_add(c, in[0], asc_linear(c, active, m->down, asc_null()));
    return asc_error(c);
}

/* The most memory that eight layers of 256 rows take, and whether a step after the first asks for more. */
static size_t peak(bool again)
{
    enum { N = 256, WIDTH = 64, WIDE = 512, LAYERS = 8 };
    asc_ctx *c = open_ctx(1);
    wide m = {asc_normal(c, ASC_F32, 0, .1, 1, 1, ASC_SHAPE(WIDE, WIDTH)),
              asc_normal(c, ASC_F32, 0, .1, 1, 2, ASC_SHAPE(WIDTH, WIDE))};
    asc_require_grad(m.up, true);
    asc_require_grad(m.down, true);
    uint64_t allocations = 0;
    for (int step = 0; step < 3; step++) {
        asc_scope_begin(c);
        asc_tensor x = asc_full(c, ASC_F32, .1, ASC_SHAPE(N, WIDTH));
        for (int l = 0; l < LAYERS; l++) {
            asc_tensor y;
            if (again) {
                asc_recompute(c, wide_layer, &m, &x, 1, &y, 1);
            } else {
                wide_layer(c, &m, &x, &y);
            }
            asc_release(x);
            x = y;
        }
        asc_backward(c, x, asc_full(c, ASC_F32, 1, ASC_SHAPE(N, WIDTH)), false);
        asc_scope_end(c);
        ck_assert(step == 0 || asc_memory(c).allocations == allocations);
        allocations = asc_memory(c).allocations;
    }
    ck_assert_int_eq(asc_error(c), ASC_OK);
    size_t bytes = asc_memory(c).peak_bytes;
    asc_ctx_free(c);
    return bytes;
}

START_TEST(it_takes_less_memory)
{
    size_t kept = peak(false), again = peak(true);
    ck_assert_msg(again < kept / 2, "%zu bytes, %zu without", again, kept);
}
END_TEST

/* ---- failures ---- */

START_TEST(what_was_overwritten)
{
    net n = make_net(ctx, true);
    asc_scope_begin(ctx);
    asc_tensor loss = loss_of(ctx, &n, 1);
    asc_data_mut(n.table);
    asc_backward(ctx, loss, asc_null(), true);
    expect_error(ASC_ERR_STATE, "a tensor that the function reads was overwritten");
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), out[4];
    run_layer(ctx, &n, x, asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS)), out);
    asc_data_mut(x);
    asc_backward(ctx, out[1], asc_null(), false);
    expect_error(ASC_ERR_STATE, "input 0 was overwritten");
    asc_scope_end(ctx);
}
END_TEST

START_TEST(a_function_that_fails)
{
    float expected[VALUES], after[VALUES];
    gradients(ctx, true, false, expected);
    for (int run = 1; run <= 4; run++) { /* two first runs, then two second ones */
        net n = make_net(ctx, true);
        n.fail_at = run;
        asc_scope_begin(ctx);
        asc_tensor loss = loss_of(ctx, &n, 1);
        ck_assert(asc_is_null(loss) == (run <= 2));
        asc_backward(ctx, loss, asc_null(), false);
        expect_error(ASC_ERR_IO, "told to fail");
        asc_scope_end(ctx);
    }
    gradients(ctx, true, false, after);
    ck_assert(same_bits(expected, after));
}
END_TEST

START_TEST(a_function_that_changes_its_mind)
{
    net n = make_net(ctx, true);
    n.grows = true;
    asc_scope_begin(ctx);
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), out[4];
    run_layer(ctx, &n, x, asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS)), out);
    asc_backward(ctx, out[1], asc_null(), false);
    expect_error(ASC_ERR_STATE, "output 0 is f32 (12, 8) this time, it was f32 (6, 8)");
    asc_scope_end(ctx);
}
END_TEST

START_TEST(misuse)
{
    net n = make_net(ctx, true);
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(ROWS, D)), gone = asc_zeros(ctx, ASC_F32, ASC_SHAPE(1)), out[5];
    asc_release(gone);
    ck_assert_int_eq(asc_recompute(ctx, layer, &n, &gone, 1, out, 1), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "input 0 is a tensor that is gone");
    ck_assert_int_eq(asc_recompute(ctx, layer, &n, &x, 1, out, 5), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "1 inputs and 5 outputs, expected");
    ck_assert_int_eq(asc_recompute(ctx, pass_on, &gone, &x, 1, out, 3), ASC_ERR_STATE);
    ck_assert(asc_is_null(out[0]) && asc_is_null(out[2]));
    expect_error(ASC_ERR_STATE, "output 2 is a tensor that is gone");
    ck_assert_int_eq(n.runs, 0);
}
END_TEST

START_TEST(every_allocation_fails_once)
{
    float expected[VALUES], after[VALUES];
    gradients(ctx, false, false, expected);
    long n = 0;
    for (bool reached = true; reached; n++) {
        memory.calls = 0;
        memory.fail_at = n;
        size_t before = memory.bytes;
        asc_ctx *c = open_ctx(1);
        if (!c) {
            ck_assert_uint_eq(memory.bytes, before);
            continue;
        }
        gradients(c, true, false, after);
        reached = memory.calls > n;
        ck_assert_int_eq(asc_error(c), reached ? ASC_ERR_MEMORY : ASC_OK);
        memory.fail_at = NEVER;
        asc_error_clear(c);
        gradients(c, true, false, after);
        ck_assert_msg(asc_error(c) == ASC_OK && same_bits(expected, after), "call %ld: %s", n, asc_error_message(c));
        asc_ctx_free(c);
        ck_assert_msg(memory.bytes == before, "call %ld leaks", n);
    }
    ck_assert_int_gt(n, 40);
    memory.fail_at = NEVER;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("autograd/recompute");
    TCase *t = tcase_create("recompute");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, same_bits_as_without);
    tcase_add_test(t, a_second_pass_runs_it_again);
    tcase_add_test(t, without_retain_there_is_no_second_pass);
    tcase_add_test(t, gradients_flow_where_they_would);
    tcase_add_test(t, outputs_that_it_did_not_make);
    tcase_add_test(t, gradients_reach_what_is_no_input);
    tcase_add_test(t, a_captured_tensor_that_is_gone);
    tcase_add_test(t, nested);
    tcase_add_test(t, hooks_see_the_whole_gradient_once);
    tcase_add_test(t, products_count_once);
    tcase_add_test(t, it_takes_less_memory);
    tcase_add_test(t, what_was_overwritten);
    tcase_add_test(t, a_function_that_fails);
    tcase_add_test(t, a_function_that_changes_its_mind);
    tcase_add_test(t, misuse);
    tcase_add_test(t, every_allocation_fails_once);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
