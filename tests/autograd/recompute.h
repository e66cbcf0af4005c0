/* tests/autograd/recompute.h: a small network for asc_recompute: two layers that share all of their parameters, with
 * each other and with what is round them. */
#ifndef TESTS_AUTOGRAD_RECOMPUTE_H
#define TESTS_AUTOGRAD_RECOMPUTE_H

#include <ascgrad/ops.h>

#include "tests/context.h"

enum { ROWS = 6, D = 8, WORDS = 5 };

typedef struct net {
    asc_tensor w, b, table; /* [D, D], [D], [WORDS, D] */
    bool again;             /* layers are recomputed */
    int runs;               /* of layers */
    int fail_at;            /* the run that fails; 0: none */
    bool grows;             /* a later run gives more rows */
} net;

static inline net make_net(bool again)
{
    net n = {.again = again};
    n.w = asc_normal(ctx, ASC_F32, 0, .5, 1, 1, ASC_SHAPE(D, D));
    n.b = asc_normal(ctx, ASC_F32, 0, .5, 1, 2, ASC_SHAPE(D));
    n.table = asc_normal(ctx, ASC_F32, 0, .5, 1, 3, ASC_SHAPE(WORDS, D));
    asc_require_grad(n.w, true);
    asc_require_grad(n.b, true);
    asc_require_grad(n.table, true);
    return n;
}

static inline void release_net(const net *n)
{
    asc_release(n->w);
    asc_release(n->b);
    asc_release(n->table);
}

/* x (ROWS, D), index i64 (ROWS), null -> x', a scalar, something that nobody uses, null. It releases nothing. */
static inline asc_status layer(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
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

static inline void run_layer(net *n, asc_tensor x, asc_tensor index, asc_tensor *out)
{
    const asc_tensor in[] = {x, index, asc_null()};
    out[0] = out[1] = out[2] = out[3] = asc_null();
    if (n->again) {
        asc_recompute(ctx, layer, n, in, 3, out, 4);
    } else {
        layer(ctx, n, in, out);
    }
}

/* The loss of two layers, with an op on their parameters before, between and behind. */
static inline asc_tensor loss_of(net *n, uint64_t step)
{
    static const int64_t words[ROWS] = {3, 1, 4, 1, 0, 3};
    asc_set_step(ctx, 7, step);
    asc_tensor index = asc_from(ctx, ASC_I64, words, ASC_SHAPE(ROWS));
    asc_tensor x = asc_dropout(ctx, asc_linear(ctx, asc_embedding(ctx, n->table, index), n->w, n->b), .1), a[4], b[4];
    run_layer(n, x, index, a);
    asc_release(x);
    asc_tensor between = asc_linear(ctx, a[0], n->w, asc_null());
    run_layer(n, between, index, b);
    asc_tensor y = asc_dropout(ctx, asc_add(ctx, b[0], a[0]), .1);
    asc_tensor loss = asc_mean(ctx, asc_square(ctx, asc_linear(ctx, y, n->w, n->b)), ASC_DIMS(0, 1), false);
    return asc_add(ctx, loss, asc_add(ctx, a[1], asc_scale(ctx, b[1], .5)));
}

/* The gradients after one backward pass, or two of one graph with `twice`; and the loss, last. */
enum { VALUES = D * D + D + WORDS * D + 1 };
static inline void gradients(bool again, bool twice, float *values)
{
    net n = make_net(again);
    asc_scope_begin(ctx);
    asc_tensor loss = loss_of(&n, 3);
    values[VALUES - 1] = (float)asc_item(loss);
    asc_backward(ctx, loss, asc_null(), twice);
    if (twice) {
        asc_backward(ctx, loss, asc_null(), false);
    }
    asc_scope_end(ctx);
    if (asc_error(ctx) == ASC_OK) {
        memcpy(values, asc_data(asc_grad(n.w)), D * D * sizeof *values);
        memcpy(values + D * D, asc_data(asc_grad(n.b)), D * sizeof *values);
        memcpy(values + D * D + D, asc_data(asc_grad(n.table)), WORDS * D * sizeof *values);
        ck_assert_int_eq(n.runs, again ? twice ? 6 : 4 : 2);
    }
    release_net(&n);
}

static inline bool same_bits(const float *a, const float *b)
{
    return memcmp(a, b, VALUES * sizeof *a) == 0;
}

/* Gives back its input, the input again, and a tensor from outside. */
static inline asc_status pass_on(asc_ctx *c, void *user, const asc_tensor *in, asc_tensor *out)
{
    (void)c;
    out[0] = out[1] = in[0];
    out[2] = *(const asc_tensor *)user;
    return ASC_OK;
}

#endif
