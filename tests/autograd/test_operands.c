/* tests/autograd/test_operands.c: what the tape keeps as bfloat16 of operands of products that nobody else holds: half
 * the memory, and the same gradients to the bit as where a handle keeps them whole. */
#include <string.h>

#include <ascgrad/ops.h>

#include "tests/faults.h"

enum { ROWS = 128, WIDTH = 256, SIZE = ROWS * WIDTH, LAYERS = 12 }; /* 128 KiB: large enough to be rounded */

static int layers = LAYERS; /* of the chain */

/* A graph from h, which goes, to a tensor; `done` is for what it needs no more. */
typedef asc_tensor graph_fn(asc_tensor h, asc_tensor w, void (*done)(asc_tensor));

static asc_tensor moved(asc_tensor h, void (*done)(asc_tensor))
{
    asc_tensor y = asc_scale(ctx, h, 1.001);
    done(h);
    return y;
}

static asc_tensor chain(asc_tensor h, asc_tensor w, void (*done)(asc_tensor))
{
    for (int l = 0; l < layers; l++) {
        asc_tensor y = asc_linear(ctx, h, w, asc_null());
        done(h);
        h = moved(y, done);
    }
    return h;
}

/* As with queries, keys and values. */
static asc_tensor one_input_of_three(asc_tensor h, asc_tensor w, void (*done)(asc_tensor))
{
    asc_tensor a = asc_linear(ctx, h, w, asc_null()), b = asc_linear(ctx, h, w, asc_null());
    asc_tensor c = asc_linear(ctx, h, w, asc_null()), ab = asc_mul(ctx, a, b), y = asc_mul(ctx, ab, c);
    asc_tensor gone[] = {h, a, b, c, ab};
    for (int i = 0; i < 5; i++) {
        done(gone[i]);
    }
    return y;
}

/* The product wants little, but x² all of h. */
static asc_tensor whole_after(asc_tensor h, asc_tensor w, void (*done)(asc_tensor))
{
    asc_tensor y = asc_linear(ctx, h, w, asc_null()), square = asc_mul(ctx, h, h), sum = asc_add(ctx, y, square);
    asc_tensor gone[] = {h, y, square};
    for (int i = 0; i < 3; i++) {
        done(gone[i]);
    }
    return sum;
}

static asc_tensor whole_before(asc_tensor h, asc_tensor w, void (*done)(asc_tensor))
{
    asc_tensor square = asc_mul(ctx, h, h), y = asc_linear(ctx, h, w, asc_null()), sum = asc_add(ctx, y, square);
    asc_tensor gone[] = {h, y, square};
    for (int i = 0; i < 3; i++) {
        done(gone[i]);
    }
    return sum;
}

/* Parts of one tensor, each somewhere in its storage. */
static asc_tensor views(asc_tensor h, asc_tensor w, void (*done)(asc_tensor))
{
    asc_tensor top = asc_slice(ctx, h, 0, 0, ROWS / 2, 1), rest = asc_slice(ctx, h, 0, ROWS / 2, ROWS, 1);
    done(h);
    asc_tensor a = asc_linear(ctx, top, w, asc_null()), b = asc_linear(ctx, rest, w, asc_null());
    asc_tensor y = asc_mul(ctx, a, b), gone[] = {top, rest, a, b};
    for (int i = 0; i < 4; i++) {
        done(gone[i]);
    }
    return y;
}

/* A copy is made of every other column. */
static asc_tensor strided(asc_tensor h, asc_tensor w, void (*done)(asc_tensor))
{
    asc_tensor twice = asc_concat(ctx, (asc_tensor[]){h, h}, 2, 1);
    asc_tensor other = asc_slice(ctx, twice, 1, 0, 2 * WIDTH, 2), y = asc_linear(ctx, other, w, asc_null());
    asc_tensor gone[] = {h, twice, other};
    for (int i = 0; i < 3; i++) {
        done(gone[i]);
    }
    return y;
}

static asc_tensor attend(asc_tensor h, void (*done)(asc_tensor), const asc_attention_options *o)
{
    asc_tensor x = asc_reshape(ctx, h, ASC_SHAPE(1, ROWS, WIDTH));
    done(h);
    asc_attention_inputs in = {
        .q = asc_scale(ctx, x, 2), .k = asc_scale(ctx, x, 3), .v = asc_scale(ctx, x, 1)};
    asc_tensor y = asc_attention(ctx, &in, o), gone[] = {x, in.q, in.k, in.v};
    for (int i = 0; i < 4; i++) {
        done(gone[i]);
    }
    return y;
}

static asc_tensor attention(asc_tensor h, asc_tensor w, void (*done)(asc_tensor))
{
    (void)w;
    return attend(h, done, &(asc_attention_options){.heads = 2, .causal = true});
}

/* Random links are taken as they are, one by one. */
static asc_tensor links(asc_tensor h, asc_tensor w, void (*done)(asc_tensor))
{
    (void)w;
    return attend(h, done, &(asc_attention_options){.heads = 2, .causal = true, .window = 4, .random = 3});
}

static graph_fn *const graphs[] = {chain, one_input_of_three, whole_after, whole_before, views, strided, attention,
                                   links};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

/* ---- a pass ---- */

typedef struct leaves {
    asc_tensor x, w;
} leaves;

static leaves make_leaves(void)
{
    static float x[SIZE], w[WIDTH * WIDTH];
    for (int i = 0; i < SIZE; i++) {
        x[i] = (float)((i * 7919 + i / 13) % 997 - 498) / 250.f;
    }
    for (int i = 0; i < WIDTH * WIDTH; i++) {
        w[i] = (float)((i * 1049 + i / 7) % 887 - 443) / 4000.f;
    }
    leaves l = {asc_from(ctx, ASC_F32, x, ASC_SHAPE(ROWS, WIDTH)),
                asc_from(ctx, ASC_F32, w, ASC_SHAPE(WIDTH, WIDTH))};
    asc_require_grad(l.x, true);
    asc_require_grad(l.w, true);
    return l;
}

static void drop_leaves(leaves l)
{
    asc_release(l.x);
    asc_release(l.w);
}

static void keep(asc_tensor t)
{
    (void)t;
}

static void pass(graph_fn *graph, leaves l, void (*done)(asc_tensor), int passes)
{
    asc_scope_begin(ctx);
    asc_tensor y = graph(moved(asc_keep(l.x), done), l.w, done);
    asc_tensor square = asc_mul(ctx, y, y), loss = asc_mean(ctx, square, ASC_ALL_DIMS, false);
    for (int i = 1; i <= passes; i++) {
        asc_backward(ctx, loss, asc_null(), i < passes);
    }
    asc_scope_end(ctx);
}

static const float *grad(asc_tensor t)
{
    return asc_data(asc_grad(t));
}

START_TEST(the_same_bits)
{
    ck_assert_int_eq(asc_set_precision(ctx, ASC_PRECISION_BF16), ASC_OK);
    leaves kept = make_leaves(), gone = make_leaves();
    pass(graphs[_i], kept, keep, 1);
    pass(graphs[_i], gone, asc_release, 1);
    no_error();
    ck_assert(memcmp(grad(kept.x), grad(gone.x), SIZE * sizeof(float)) == 0);
    ck_assert(asc_is_null(asc_grad(kept.w)) || memcmp(grad(kept.w), grad(gone.w), WIDTH * WIDTH * sizeof(float)) == 0);
    drop_leaves(kept);
    drop_leaves(gone);
}
END_TEST

START_TEST(a_second_pass)
{
    ck_assert_int_eq(asc_set_precision(ctx, ASC_PRECISION_BF16), ASC_OK);
    leaves once = make_leaves(), twice = make_leaves();
    pass(graphs[_i], once, asc_release, 1);
    pass(graphs[_i], twice, asc_release, 2);
    no_error();
    for (int i = 0; i < SIZE; i++) {
        ck_assert_float_eq_tol(grad(twice.x)[i], 2 * grad(once.x)[i], 1e-6f);
    }
    drop_leaves(once);
    drop_leaves(twice);
}
END_TEST

/* Graphs that come and go, with a backward pass and without, while a handle holds what they take: nothing piles up. */
START_TEST(again_and_again)
{
    ck_assert_int_eq(asc_set_precision(ctx, ASC_PRECISION_BF16), ASC_OK);
    leaves l = make_leaves();
    asc_scope_begin(ctx);
    asc_tensor h = moved(asc_detach(ctx, l.x), asc_release);
    size_t settled = 0;
    for (int i = 0; i < 20; i++) {
        asc_tensor y = asc_linear(ctx, h, l.w, asc_null());
        if (i % 2) {
            asc_tensor loss = asc_mean(ctx, y, ASC_ALL_DIMS, false);
            asc_backward(ctx, loss, asc_null(), false);
            asc_release(loss);
        }
        asc_release(y);
        settled = i == 3 ? asc_memory(ctx).bytes : settled;
    }
    no_error();
    ck_assert_uint_eq(asc_memory(ctx).bytes, settled);
    asc_scope_end(ctx);
    drop_leaves(l);
}
END_TEST

/* What a chain's memory at its most grows by with as many layers again. */
static double growth(asc_precision precision, void (*done)(asc_tensor))
{
    double peak[2];
    asc_ctx *outer = ctx;
    for (int i = 0; i < 2; i++) {
        heap own = {.fail_at = NEVER};
        ctx = context_on(&own, 1);
        ck_assert_int_eq(asc_set_precision(ctx, precision), ASC_OK);
        leaves l = make_leaves();
        layers = (i + 1) * LAYERS;
        pass(chain, l, done, 1);
        no_error();
        peak[i] = (double)asc_memory(ctx).peak_bytes;
        asc_ctx_free(ctx);
    }
    ctx = outer;
    return peak[1] - peak[0];
}

START_TEST(half_the_memory)
{
    double whole = growth(ASC_PRECISION_F32, asc_release), half = growth(ASC_PRECISION_BF16, asc_release);
    ck_assert_double_ge(whole, LAYERS * SIZE * sizeof(float));
    ck_assert_double_le(half, .6 * whole);
    ck_assert_double_ge(growth(ASC_PRECISION_BF16, keep), whole);
}
END_TEST

static double live(void)
{
    asc_set_precision(ctx, ASC_PRECISION_BF16);
    leaves l = make_leaves();
    double sum = 0;
    for (int g = 1; g < GRAPHS; g++) {
        pass(graphs[g], l, asc_release, 1);
    }
    const float *dx = asc_error(ctx) ? NULL : grad(l.x);
    for (int i = 0; dx && i < SIZE; i++) {
        sum += (double)dx[i] * (i % 7);
    }
    drop_leaves(l);
    return sum;
}

START_TEST(every_allocation_fails_once)
{
    ck_assert_int_gt(fail_each_allocation(live, false), 30);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("operands");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, the_same_bits, 0, GRAPHS);
    tcase_add_loop_test(t, a_second_pass, 0, GRAPHS);
    tcase_add_test(t, again_and_again);
    tcase_add_test(t, half_the_memory);
    tcase_add_test(t, every_allocation_fails_once);
    return run_suite("autograd/operands", t);
}
