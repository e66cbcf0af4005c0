/* tests/autograd/test_orders.c: tensors made, kept, released and passed back through in random orders, with scopes and
 * without: gradients are those of dual numbers, and all memory goes. */
#include <ascgrad/ops.h>

#include "tests/autograd/ops.h"
#include "tests/context.h"
#include "tests/draw.h"

static void count_release(void *user, void *data)
{
    (void)data;
    ++*(int *)user;
}

enum { LEAVES = 3, TENSORS = 12 };

/* A tensor, its value and its derivatives by the leaves. */
typedef struct dual {
    asc_tensor t;
    double value, by[LEAVES];
} dual;

typedef struct world {
    double at[LEAVES], expected[LEAVES];
    int freed[LEAVES];
    dual made[LEAVES + TENSORS]; /* the leaves first */
    int n, scopes;
} world;

static void make_one(world *w)
{
    const dual *a = &w->made[draw(w->n)], *b = &w->made[draw(w->n)];
    if (!asc_is_valid(a->t) || !asc_is_valid(b->t)) {
        return;
    }
    dual *to = &w->made[w->n++];
    *to = (dual){.t = mul(ctx, a->t, b->t), .value = a->value * b->value};
    for (int l = 0; l < LEAVES; l++) {
        to->by[l] = a->by[l] * b->value + a->value * b->by[l];
    }
    ck_assert_double_eq(asc_item(to->t), to->value);
}

/* A pass that comes to a part that an earlier one has freed fails; what has come until then is of no use. */
static void pass_back(world *w, bool retain)
{
    const dual *from = &w->made[draw(w->n)];
    if (!asc_is_valid(from->t) || from < w->made + LEAVES) {
        return;
    }
    bool failed = asc_backward(ctx, from->t, asc_null(), retain) != ASC_OK;
    if (failed) {
        expect_error_with(ASC_ERR_STATE, "freed by an earlier backward pass");
    }
    for (int l = 0; l < LEAVES; l++) {
        w->expected[l] = failed ? 0 : w->expected[l] + from->by[l];
        if (failed) {
            asc_zero_grad(w->made[l].t);
        } else if (asc_is_valid(w->made[l].t) && w->expected[l] != 0) {
            ck_assert_double_eq_tol(asc_item(asc_grad(w->made[l].t)) / w->expected[l], 1, 1e-12);
        }
    }
}

static void move_at_random(world *w)
{
    switch (draw(12)) {
    case 0: asc_scope_begin(ctx), w->scopes++; break;
    case 1: w->scopes > 0 ? asc_scope_end(ctx), w->scopes-- : 0; break;
    case 2: asc_release(w->made[draw(w->n)].t); break;
    case 3: asc_keep(w->made[draw(w->n)].t); break;
    case 4: pass_back(w, true); break;
    case 5: pass_back(w, draw(3) == 0); break;
    default: make_one(w);
    }
}

static bool any_left(const world *w)
{
    for (int i = 0; i < w->n; i++) {
        if (asc_is_valid(w->made[i].t)) {
            return true;
        }
    }
    return false;
}

/* A leaf of the caller's memory. */
static asc_tensor leaf_at(double *at, int *freed)
{
    asc_tensor t = asc_wrap(ctx, ASC_F64, at, 0, NULL, NULL, count_release, freed);
    asc_require_grad(t, true);
    return t;
}

/* A leaf that its caller has let go may be held by the graph: then it is valid, and not the caller's to release. */
static void live_at_random(world *w)
{
    for (int l = 0; l < LEAVES; l++) {
        w->at[l] = 1 + .25 * (double)draw(4);
        w->made[l] = (dual){.t = leaf_at(&w->at[l], &w->freed[l]), .value = w->at[l]};
        w->made[l].by[l] = 1;
    }
    w->n = LEAVES;
    for (int moves = 0; w->n < LEAVES + TENSORS && moves < 40; moves++) {
        move_at_random(w);
    }
    for (; w->scopes > 0; w->scopes--) {
        asc_scope_end(ctx);
    }
    while (any_left(w)) {
        if (draw(6) == 0) {
            pass_back(w, draw(2));
        }
        asc_release(w->made[draw(w->n)].t);
    }
}

START_TEST(random_orders)
{
    int rounds = in_full() ? 100000 : 3000;
    size_t bytes = 0;
    for (int i = 0; i < rounds; i++) {
        draw_state = (uint64_t)i;
        world w = {0};
        live_at_random(&w);
        for (int l = 0; l < LEAVES; l++) {
            ck_assert_int_eq(w.freed[l], 1);
        }
        no_error();
        bytes = i == rounds / 10 ? asc_memory(ctx).bytes : bytes;
    }
    ck_assert_uint_le(asc_memory(ctx).bytes, bytes + (1 << 14)); /* for a round with more at a time than any before */
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("orders");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, random_orders);
    return run_suite("autograd/orders", t);
}
