/* train/ranks/rooted.c: shards that are no power of two: where two neighbours of the tree are different ranks' the
 * right one sends all gradients, and the left one adds, so that the sum comes to rank 0, which sends it down again. */
#include <string.h>

#include "tensor/comm.h"
#include "train/ranks/tree_parts.h"

/* ---- gradients ---- */

/* A message of gradients: of a share's parameters, one after another, and a flag for each parameter behind them:
 * whether it has one. */
size_t asc_tree_message_bytes(const asc_tree *t, int share)
{
    return asc_tree_share_bytes(t, share) + (size_t)asc_params_count(t->params) * sizeof(bool);
}

static void pack(const asc_tree *t, int share)
{
    char *to = t->message;
    bool *has = (bool *)to + asc_tree_share_bytes(t, share);
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        const void *grad = asc_data(asc_grad(p));
        has[i] = grad && asc_tree_is_of(t, i, share);
        if (has[i]) {
            memcpy(to, grad, asc_tree_param_bytes(p));
        } else if (asc_tree_is_of(t, i, share)) {
            memset(to, 0, asc_tree_param_bytes(p));
        }
        to += asc_tree_is_of(t, i, share) ? asc_tree_param_bytes(p) : 0;
    }
}

static void add_message(const asc_tree *t, int share)
{
    const char *from = t->message;
    const bool *has = (const bool *)from + asc_tree_share_bytes(t, share);
    for (int i = 0; i < asc_params_count(t->params) && !asc_error(t->ctx); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        if (has[i]) {
            asc_tree_add_one(t->ctx, p, from);
        }
        from += asc_tree_is_of(t, i, share) ? asc_tree_param_bytes(p) : 0;
    }
}

typedef struct message {
    asc_verdict verdict; /* with an error nothing comes after the head */
    asc_shard_sum sum;
    double norm; /* on the way down */
} message;

void asc_rooted_send_up(asc_tree *t, int to, const asc_shard_sum *sum)
{
    message m = {asc_verdict_of(t->ctx), *sum, 0};
    if (asc_comm_send(t->ctx, to, &m, sizeof m) == ASC_OK && !m.verdict.status) {
        pack(t, ASC_ALL_SHARES);
        asc_params_zero_grad(t->params);
        asc_comm_send(t->ctx, to, t->message, asc_tree_message_bytes(t, ASC_ALL_SHARES));
    }
}

asc_shard_sum asc_rooted_receive_up(asc_tree *t, int from)
{
    message m = {.sum = {0, 0}};
    if (asc_comm_receive(t->ctx, from, &m, sizeof m) || m.verdict.status) {
        asc_verdict_take(t->ctx, &m.verdict, from);
    } else if (asc_comm_receive(t->ctx, from, t->message, asc_tree_message_bytes(t, ASC_ALL_SHARES)) == ASC_OK &&
               !asc_error(t->ctx)) {
        add_message(t, ASC_ALL_SHARES);
    }
    return m.sum;
}

static void share_all(asc_tree *t)
{
    bool leads = asc_comm_rank(t->ctx) == 0;
    if (leads) {
        pack(t, ASC_ALL_SHARES);
    }
    if (asc_comm_broadcast(t->ctx, t->message, asc_tree_message_bytes(t, ASC_ALL_SHARES)) == ASC_OK && !leads) {
        add_message(t, ASC_ALL_SHARES); /* there are none here */
    }
}

/* To each rank its share's. */
static void share_out(asc_tree *t)
{
    int rank = asc_comm_rank(t->ctx);
    for (int r = 1; rank == 0 && r < asc_comm_size(t->ctx); r++) {
        pack(t, r);
        asc_comm_send(t->ctx, r, t->message, asc_tree_message_bytes(t, r));
    }
    if (rank > 0 && asc_comm_receive(t->ctx, 0, t->message, asc_tree_message_bytes(t, rank)) == ASC_OK) {
        add_message(t, rank);
    }
}

asc_status asc_rooted_share(asc_tree *t, asc_shard_sum *sum, double *norm)
{
    asc_ctx *ctx = t->ctx;
    if (asc_comm_rank(ctx) == 0 && !asc_error(ctx)) {
        *norm = asc_tree_norm(t);
    }
    message m = {asc_verdict_of(ctx), *sum, *norm};
    if (asc_comm_broadcast(ctx, &m, sizeof m) || m.verdict.status) {
        asc_verdict_take(ctx, &m.verdict, -1);
        return asc_error(ctx);
    }
    *sum = m.sum;
    *norm = m.norm;
    if (t->divided) {
        share_out(t);
    } else {
        share_all(t);
    }
    return asc_error(ctx);
}

/* ---- parameters of a divided optimiser ---- */

static void pack_params(const asc_tree *t, int share)
{
    char *to = t->message;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        if (asc_tree_is_of(t, i, share)) {
            memcpy(to, asc_data(p), asc_tree_param_bytes(p));
            to += asc_tree_param_bytes(p);
        }
    }
}

static void take_params(const asc_tree *t, int share)
{
    const char *from = t->message;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        if (asc_tree_is_of(t, i, share)) {
            memcpy(asc_data_mut(p), from, asc_tree_param_bytes(p));
            from += asc_tree_param_bytes(p);
        }
    }
}

static void send_share(asc_tree *t, int share)
{
    asc_verdict v = asc_verdict_of(t->ctx);
    if (asc_comm_send(t->ctx, 0, &v, sizeof v) == ASC_OK && !v.status) {
        pack_params(t, share);
        asc_comm_send(t->ctx, 0, t->message, asc_tree_share_bytes(t, share));
    }
}

static void receive_share(asc_tree *t, int share)
{
    asc_verdict v = {0};
    if (asc_comm_receive(t->ctx, share, &v, sizeof v) || v.status) {
        asc_verdict_take(t->ctx, &v, share);
    } else if (asc_comm_receive(t->ctx, share, t->message, asc_tree_share_bytes(t, share)) == ASC_OK) {
        take_params(t, share);
    }
}

asc_status asc_rooted_spread(asc_tree *t)
{
    asc_ctx *ctx = t->ctx;
    int rank = asc_comm_rank(ctx);
    for (int r = 1; rank == 0 && r < asc_comm_size(ctx); r++) {
        receive_share(t, r);
    }
    if (rank > 0) {
        send_share(t, rank);
    }
    asc_verdict v = asc_verdict_of(ctx);
    if (asc_comm_broadcast(ctx, &v, sizeof v) || v.status) {
        asc_verdict_take(ctx, &v, -1);
        return asc_error(ctx);
    }
    if (rank == 0) {
        pack_params(t, ASC_ALL_SHARES);
    }
    if (asc_comm_broadcast(ctx, t->message, asc_tree_share_bytes(t, ASC_ALL_SHARES)) == ASC_OK && rank > 0) {
        take_params(t, ASC_ALL_SHARES);
    }
    return asc_error(ctx);
}
