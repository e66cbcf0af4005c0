/* train/ranks/tree_parts.h: what the files of the tree share. */
#ifndef TRAIN_TREE_PARTS_H
#define TRAIN_TREE_PARTS_H

#include "train/ranks/tree.h"

/* ---- sets.c ---- */

enum { ASC_ALL_SHARES = -1 };

size_t asc_tree_param_bytes(asc_tensor p);
bool asc_tree_is_of(const asc_tree *t, int i, int share);
size_t asc_tree_share_bytes(const asc_tree *t, int share); /* of its parameters */

/* The parameters' gradients go into the set as they are, and there are none. */
asc_status asc_tree_put(const asc_tree *t, asc_grad_set *s);
/* Adds the set to the parameters' gradients. It is empty then, after an error, too. */
asc_status asc_tree_add(const asc_tree *t, const asc_grad_set *s);
void asc_tree_free_set(const asc_tree *t, asc_grad_set *s);

void asc_tree_add_numbers(asc_ctx *ctx, asc_dtype dtype, void *to, const void *from, int64_t numel);
/* The gradient of p, to be written to: what is in it where there was none is not said. */
void *asc_tree_grad(asc_ctx *ctx, asc_tensor p);
/* Adds `from` to the gradient of p, or makes it the gradient where there was none. */
void asc_tree_add_one(asc_ctx *ctx, asc_tensor p, const void *from);

double asc_tree_norm(const asc_tree *t); /* of the parameters' gradients */

/* ---- rooted.c ---- */

size_t asc_tree_message_bytes(const asc_tree *t, int share);
/* The gradients go to another rank, and there are none. */
void asc_rooted_send_up(asc_tree *t, int to, const asc_shard_sum *sum);
/* Those of another rank are added. With an error they are taken all the same: who sends must not wait. */
asc_shard_sum asc_rooted_receive_up(asc_tree *t, int from);
asc_status asc_rooted_share(asc_tree *t, asc_shard_sum *sum, double *norm);
asc_status asc_rooted_spread(asc_tree *t);

/* ---- halving.c ---- */

/* Whether ranks exchange halves: the shards, and so the ranks, are a power of two. */
bool asc_halving_fits(const asc_tree *t);
asc_status asc_halving_open(asc_tree *t);
void asc_halving_close(asc_tree *t);
/* The ranks' sums become one sum, of whose gradients each rank has its segment, with a divided optimiser those of its
 * share: what is in the rest is not said. */
asc_status asc_halving_reduce(asc_tree *t, asc_shard_sum *sum);
asc_status asc_halving_share(asc_tree *t, double *norm);
asc_status asc_halving_spread(asc_tree *t);

#endif
