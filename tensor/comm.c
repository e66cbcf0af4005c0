/* tensor/comm.c: messages between the ranks of a job. */
#include "tensor/comm.h"

#include <stdio.h>
#include <string.h>

asc_status asc_set_comm(asc_ctx *ctx, const asc_comm *comm)
{
    if (!ctx) {
        return ASC_ERR_ARG;
    }
    if (!comm) {
        ctx->comm = (asc_comm){0};
        return ASC_OK;
    }
    if (comm->size < 1 || comm->rank < 0 || comm->rank >= comm->size) {
        return asc_fail(ctx, ASC_ERR_ARG, "set_comm: rank %d of %d, expected 0 to size - 1", comm->rank, comm->size);
    }
    if (!comm->send || !comm->receive) {
        return asc_fail(ctx, ASC_ERR_ARG, "set_comm: send or receive is NULL");
    }
    ctx->comm = *comm;
    ctx->comm_lost = false;
    return ASC_OK;
}

bool asc_comm_lost(const asc_ctx *ctx)
{
    return ctx && ctx->comm_lost;
}

/* Whatever error there was, this one is what counts: the others are not told of it. */
static asc_status lose(asc_ctx *ctx, int other)
{
    const char *why = ctx->comm.error ? ctx->comm.error(ctx->comm.user) : NULL;
    ctx->comm_lost = true;
    asc_error_clear(ctx);
    return why ? asc_fail(ctx, ASC_ERR_IO, "%s", why)
               : asc_fail(ctx, ASC_ERR_IO, "no message from or to rank %d", other);
}

asc_status asc_comm_send(asc_ctx *ctx, int to, const void *data, size_t bytes)
{
    if (ctx->comm_lost) {
        return ASC_ERR_IO;
    }
    return ctx->comm.send(ctx->comm.user, to, data, bytes) ? lose(ctx, to) : ASC_OK;
}

asc_status asc_comm_receive(asc_ctx *ctx, int from, void *data, size_t bytes)
{
    if (ctx->comm_lost) {
        memset(data, 0, bytes);
        return ASC_ERR_IO;
    }
    if (ctx->comm.receive(ctx->comm.user, from, data, bytes)) {
        memset(data, 0, bytes);
        return lose(ctx, from);
    }
    return ASC_OK;
}

/* The lower rank sends first. */
static asc_status take_turns(asc_ctx *ctx, int other, const void *out, void *in, size_t out_bytes, size_t in_bytes)
{
    bool first = asc_comm_rank(ctx) < other;
    asc_status status = ASC_OK;
    for (int turn = 0; turn < 2 && !status; turn++) {
        if ((turn == 0) == first) {
            status = out_bytes > 0 ? asc_comm_send(ctx, other, out, out_bytes) : ASC_OK;
        } else {
            status = in_bytes > 0 ? asc_comm_receive(ctx, other, in, in_bytes) : ASC_OK;
        }
    }
    return status;
}

asc_status asc_comm_exchange(asc_ctx *ctx, int other, const void *out, void *in, size_t out_bytes, size_t in_bytes)
{
    if (ctx->comm_lost) {
        memset(in, 0, in_bytes);
        return ASC_ERR_IO;
    }
    if (!ctx->comm.exchange) {
        asc_status status = take_turns(ctx, other, out, in, out_bytes, in_bytes);
        memset(in, 0, status ? in_bytes : 0);
        return status;
    }
    if (out_bytes + in_bytes > 0 && ctx->comm.exchange(ctx->comm.user, other, out, in, out_bytes, in_bytes)) {
        memset(in, 0, in_bytes);
        return lose(ctx, other);
    }
    return ASC_OK;
}

asc_status asc_comm_broadcast(asc_ctx *ctx, void *data, size_t bytes)
{
    int rank = asc_comm_rank(ctx), size = asc_comm_size(ctx), bit = 1;
    asc_status status = ASC_OK;
    while (bit < size && !(rank & bit)) {
        bit <<= 1;
    }
    if (rank > 0) {
        status = asc_comm_receive(ctx, rank - bit, data, bytes);
    }
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (rank + bit < size && !status) {
            status = asc_comm_send(ctx, rank + bit, data, bytes);
        }
    }
    return status;
}

/* ---- errors ---- */

asc_verdict asc_verdict_of(const asc_ctx *ctx)
{
    asc_verdict v = {.status = asc_error(ctx)};
    if (v.status) {
        snprintf(v.text, sizeof v.text, "%s", asc_error_message(ctx));
    }
    return v;
}

void asc_verdict_take(asc_ctx *ctx, const asc_verdict *v, int from)
{
    if (v->status && !asc_error(ctx)) {
        if (from < 0) {
            asc_fail(ctx, (asc_status)v->status, "%s", v->text);
        } else {
            asc_fail(ctx, (asc_status)v->status, "rank %d: %s", from, v->text);
        }
    }
}

asc_status asc_comm_agree(asc_ctx *ctx)
{
    asc_verdict own = asc_verdict_of(ctx);
    int rank = asc_comm_rank(ctx), size = asc_comm_size(ctx);
    if (rank > 0) {
        asc_comm_send(ctx, 0, &own, sizeof own);
    }
    for (int r = 1; rank == 0 && r < size; r++) {
        asc_verdict other;
        asc_comm_receive(ctx, r, &other, sizeof other);
        asc_verdict_take(ctx, &other, r);
        own = asc_verdict_of(ctx);
    }
    if (asc_comm_broadcast(ctx, &own, sizeof own) == ASC_OK && rank > 0) {
        asc_error_clear(ctx);
        asc_verdict_take(ctx, &own, -1);
    }
    return asc_error(ctx);
}
