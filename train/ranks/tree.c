/* train/ranks/tree.c: the gradients of a batch's shards, added in a binary tree. */
#include "train/ranks/tree.h"

#include "tensor/comm.h"
#include "train/ranks/tree_parts.h"

/* ---- the tree ---- */

typedef struct running {
    asc_tree *tree;
    asc_shard_fn *run;
    void *user;
} running;

static int64_t first_of(int level, int64_t index)
{
    return index << level;
}

static int owner_of(const asc_tree *t, int64_t shard)
{
    return (int)(shard / (t->shards / asc_comm_size(t->ctx)));
}

bool asc_tree_owns(const asc_tree *t, int64_t shard)
{
    return owner_of(t, shard) == asc_comm_rank(t->ctx);
}

/* Whether the rank runs any of the shards of a node. */
static bool takes_part(const asc_tree *t, int level, int64_t index)
{
    int64_t first = first_of(level, index), last = first_of(level, index + 1) - 1;
    int rank = asc_comm_rank(t->ctx);
    return owner_of(t, first) <= rank && rank <= owner_of(t, last < t->shards ? last : t->shards - 1);
}

static asc_shard_sum run_node(const running *r, int level, int64_t index);

/* Both of a node's halves, the first of which begins on this rank, and the second on `right`. */
static asc_shard_sum join(const running *r, int level, int64_t index, int right)
{
    asc_tree *t = r->tree;
    asc_shard_sum sum = run_node(r, level - 1, 2 * index), more;
    if (right != asc_comm_rank(t->ctx)) {
        more = asc_rooted_receive_up(t, right);
    } else {
        bool put_by = !asc_error(t->ctx) && asc_tree_put(t, &t->waiting[level - 1]) == ASC_OK;
        more = run_node(r, level - 1, 2 * index + 1);
        if (put_by) {
            asc_tree_add(t, &t->waiting[level - 1]);
        }
    }
    return (asc_shard_sum){sum.loss + more.loss, sum.flops + more.flops};
}

/* The sum of the shards from index · 2^level on, 2^level of them or as many as there are. It is whose the first is. */
static asc_shard_sum run_node(const running *r, int level, int64_t index)
{
    asc_tree *t = r->tree;
    asc_shard_sum none = {0, 0};
    if (!takes_part(t, level, index)) {
        return none;
    }
    if (level == 0) {
        return asc_error(t->ctx) ? none : r->run(r->user, index);
    }
    int64_t middle = first_of(level - 1, 2 * index + 1);
    if (middle >= t->shards) {
        return run_node(r, level - 1, 2 * index);
    }
    int left = owner_of(t, first_of(level, index)), right = owner_of(t, middle), rank = asc_comm_rank(t->ctx);
    if (left == rank) {
        return join(r, level, index, right);
    }
    run_node(r, level - 1, 2 * index);
    asc_shard_sum sum = run_node(r, level - 1, 2 * index + 1);
    if (right == rank) {
        asc_rooted_send_up(t, left, &sum);
    }
    return none;
}

/* Of a tree over so many. */
static int count_levels(int64_t shards)
{
    int level = 0;
    while (first_of(level, 1) < shards) {
        level++;
    }
    return level;
}

/* Of the part of the tree that this rank adds up, where ranks have whole branches. */
static int own_levels(const asc_tree *t)
{
    return count_levels(asc_halving_fits(t) ? t->shards / asc_comm_size(t->ctx) : t->shards);
}

double asc_tree_bytes(const asc_tree *t, bool batches)
{
    return t ? (double)asc_tree_share_bytes(t, ASC_ALL_SHARES) * (own_levels(t) + batches + (asc_comm_size(t->ctx) > 1))
             : 0;
}

asc_status asc_tree_run(asc_tree *t, asc_shard_fn *run, void *user, asc_shard_sum *sum)
{
    *sum = run_node(&(running){t, run, user}, own_levels(t), t->halving ? asc_comm_rank(t->ctx) : 0);
    return t->halving ? asc_halving_reduce(t, sum) : asc_error(t->ctx);
}

asc_status asc_tree_share(asc_tree *t, asc_shard_sum *sum, double *norm)
{
    if (asc_comm_size(t->ctx) > 1) {
        return t->halving ? asc_halving_share(t, norm) : asc_rooted_share(t, sum, norm);
    }
    *norm = asc_error(t->ctx) ? *norm : asc_tree_norm(t);
    return asc_error(t->ctx);
}

asc_status asc_tree_spread(asc_tree *t)
{
    if (!t->divided) {
        return asc_error(t->ctx);
    }
    return t->halving ? asc_halving_spread(t) : asc_rooted_spread(t);
}

/* ---- several batches ---- */

asc_status asc_tree_put_by(asc_tree *t)
{
    return asc_tree_put(t, &t->total);
}

asc_status asc_tree_add_back(asc_tree *t)
{
    return asc_tree_add(t, &t->total);
}

/* ---- memory ---- */

asc_status asc_tree_open(asc_tree *t)
{
    if (asc_halving_fits(t)) {
        return asc_halving_open(t);
    }
    if (asc_comm_size(t->ctx) > 1) {
        t->message = asc_alloc(t->ctx, asc_tree_message_bytes(t, ASC_ALL_SHARES));
    }
    return asc_error(t->ctx);
}

void asc_tree_close(asc_tree *t)
{
    for (int i = 0; i < ASC_TREE_LEVELS; i++) {
        asc_tree_free_set(t, &t->waiting[i]);
    }
    asc_tree_free_set(t, &t->total);
    asc_halving_close(t);
    asc_free(t->ctx, t->message, t->message ? asc_tree_message_bytes(t, ASC_ALL_SHARES) : 0);
    t->message = NULL;
}
