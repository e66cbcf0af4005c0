/* ops/rows/reduce.h: what ops over dimensions share. Their attributes are, or begin with, asc_reduce_attrs. */
#ifndef OPS_REDUCE_H
#define OPS_REDUCE_H

#include "ops/shared/broadcast.h"

typedef struct asc_reduce_attrs {
    int n_dims; /* 0: all */
    int dims[ASC_MAX_DIMS];
    bool keepdim;
} asc_reduce_attrs;

/* The attributes of a builder's arguments; a number of dimensions that does not fit is kept, for infer to refuse. */
asc_reduce_attrs asc_reduce_attrs_of(int n_dims, const int *dims, bool keepdim);
/* Applies an op whose attributes are just these; dims NULL is an error of the op that it names. */
asc_tensor asc_reduce(asc_ctx *ctx, const asc_op *op, asc_tensor x, int n_dims, const int *dims, bool keepdim);

/* Checks x, in[0], and its dimensions, and declares the output. */
asc_status asc_reduce_infer(asc_call *call);

/* After infer: the number of entries that a value of y is made of. */
int64_t asc_reduce_count(const asc_call *call);

/* x, contiguous, with the dimensions that are kept first: asc_reduce_count elements in a row make a value of y. */
asc_walk asc_reduce_walk(const asc_call *call);

#endif
