/* train/ranks/tree.h: the shards of a batch, whose gradients and losses are added in a binary tree over the shards'
 * numbers, ((0+1)+(2+3))+…, whoever computes them. Where they are no power of two, neighbours are joined until one is
 * left, and an odd last one passes. */
#ifndef TRAIN_TREE_H
#define TRAIN_TREE_H

#include <ascgrad/optim.h>

enum { ASC_TREE_LEVELS = 21 }; /* 2^20 shards at most */

/* With several ranks (ascgrad/comm.h), rank r of R runs the shards r·S/R … (r+1)·S/R − 1. Where S is a power of two,
 * and R with it, each rank's are a branch of the tree, and ranks add up one segment each (halving.c); else the sum
 * comes to rank 0 (rooted.c). */

/* What a shard gives beside the gradients of the parameters. */
typedef struct asc_shard_sum {
    double loss, flops;
} asc_shard_sum;

/* Adds the gradient of shard number `shard` to the parameters', which have none before. Errors stay in the context. */
typedef asc_shard_sum asc_shard_fn(void *user, int64_t shard);

/* A set of gradients that waits for another. */
typedef struct asc_grad_set {
    asc_tensor *grad; /* of each parameter; null: it has none. NULL: not made yet */
} asc_grad_set;

typedef struct asc_halving asc_halving;

typedef struct asc_tree {
    asc_ctx *ctx;
    asc_params *params;
    int64_t shards;
    asc_grad_set waiting[ASC_TREE_LEVELS]; /* those that are needed, log2 of the shards, are made when they are */
    asc_grad_set total;                    /* of the batches before, where a step has several */
    char *message;                         /* of gradients, where they come to rank 0 */
    asc_halving *halving;                  /* where ranks exchange halves */
    const asc_optim *divided; /* with several ranks: each changes its share of the parameters; NULL: all of them */
} asc_tree;

/* With several ranks: the memory for messages. ASC_ERR_MEMORY. In any case to be closed. */
asc_status asc_tree_open(asc_tree *t);
void asc_tree_close(asc_tree *t);

/* The bytes of the sets of gradients that wait, of several batches or one; 0 for NULL. */
double asc_tree_bytes(const asc_tree *t, bool batches);

/* Whether this rank runs the shard. */
bool asc_tree_owns(const asc_tree *t, int64_t shard);

/* Runs all shards: the parameters' gradients, none before, are the tree's sum of theirs, of which each rank has what
 * asc_tree_share begins with. After an error nothing is computed, and the other ranks are told. ASC_ERR_MEMORY, or what
 * a shard fails with. */
asc_status asc_tree_run(asc_tree *t, asc_shard_fn *run, void *user, asc_shard_sum *sum);

/* The sums, the gradients' norm and the gradients, or the error of a rank, to all; of a divided optimiser to each the
 * gradients of its share. */
asc_status asc_tree_share(asc_tree *t, asc_shard_sum *sum, double *norm);

/* Of a divided optimiser, after its step: the parameters of each share, or an error of one, to all. */
asc_status asc_tree_spread(asc_tree *t);

/* Puts the sum of the batches before by, so that there are no gradients; adds it to those that there are then. */
asc_status asc_tree_put_by(asc_tree *t);
asc_status asc_tree_add_back(asc_tree *t);

#endif
