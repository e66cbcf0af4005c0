/* train/tree.h: the shards of a batch, whose gradients and losses are added in a binary tree over the shards' numbers,
 * ((0+1)+(2+3))+…, whoever computes them. Where they are no power of two, neighbours are joined until one is left, and
 * an odd last one passes. */
#ifndef TRAIN_TREE_H
#define TRAIN_TREE_H

#include <ascgrad/params.h>

enum { ASC_TREE_LEVELS = 21 }; /* 2^20 shards at most */

/* What a shard gives beside the gradients of the parameters. */
typedef struct asc_shard_sum {
    double loss, flops;
} asc_shard_sum;

/* Adds the gradient of shard number `shard` to the parameters', which have none before. Errors stay in the context. */
typedef asc_shard_sum asc_shard_fn(void *user, int64_t shard);

/* A set of gradients that waits for another. */
typedef struct asc_grad_set {
    char *data; /* of all parameters, one after another; NULL: not made yet */
    bool *has;  /* which of them have one */
} asc_grad_set;

typedef struct asc_tree {
    asc_ctx *ctx;
    asc_params *params;
    int64_t shards;
    asc_grad_set waiting[ASC_TREE_LEVELS]; /* those that are needed, log2 of the shards, are made when they are */
    asc_grad_set total;                    /* of the batches before, where a step has several */
} asc_tree;

void asc_tree_close(asc_tree *t);

/* The bytes of the sets of gradients that wait, of several batches or one; 0 for NULL. */
double asc_tree_bytes(const asc_tree *t, bool batches);

/* Runs all shards: the parameters' gradients, none before, are the tree's sum of theirs. ASC_ERR_MEMORY, or what a
 * shard fails with. */
asc_status asc_tree_run(asc_tree *t, asc_shard_fn *run, void *user, asc_shard_sum *sum);

/* Puts the sum of the batches before by, so that there are no gradients; adds it to those that there are then. */
asc_status asc_tree_put_by(asc_tree *t);
asc_status asc_tree_add_back(asc_tree *t);

#endif
