/* tensor/comm.h: messages between the ranks of a job. Without a communicator there is one rank, 0, and nothing is sent.
 * A message that fails is the context's error, and the last one: those after it do nothing. */
#ifndef TENSOR_COMM_H
#define TENSOR_COMM_H

#include <ascgrad/comm.h>

#include "tensor/ctx.h"

static inline int asc_comm_rank(const asc_ctx *ctx)
{
    return ctx->comm.size > 0 ? ctx->comm.rank : 0;
}

static inline int asc_comm_size(const asc_ctx *ctx)
{
    return ctx->comm.size > 0 ? ctx->comm.size : 1;
}

/* ASC_ERR_IO. An error that the context has already does not keep them from what they do. */
asc_status asc_comm_send(asc_ctx *ctx, int to, const void *data, size_t bytes);
asc_status asc_comm_receive(asc_ctx *ctx, int from, void *data, size_t bytes);

/* Both at once, with a rank that does the same. */
asc_status asc_comm_exchange(asc_ctx *ctx, int other, const void *out, void *in, size_t out_bytes, size_t in_bytes);

/* Rank 0's bytes to all, by a binomial tree. */
asc_status asc_comm_broadcast(asc_ctx *ctx, void *data, size_t bytes);

/* What a rank says of itself: its error, if it has one. */
typedef struct asc_verdict {
    int status;
    char text[400];
} asc_verdict;

asc_verdict asc_verdict_of(const asc_ctx *ctx);
/* Makes another's error this context's, unless that has one. `from`: the rank that it names; -1: none. */
void asc_verdict_take(asc_ctx *ctx, const asc_verdict *v, int from);

/* All wait for each other; if one of them has an error, all have it then: rank 0's own, or the first of the others', by
 * its rank. */
asc_status asc_comm_agree(asc_ctx *ctx);

#endif
