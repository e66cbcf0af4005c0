/* train/tree.c: the gradients of a batch's shards, added in a binary tree. */
#include "train/tree.h"

#include <string.h>

#include "kernels/kernels.h"
#include "tensor/ctx.h"
#include "tensor/dtype.h"

enum { PIECE = 1 << 14 }; /* elements that one thread adds at a time */

/* ---- sets of gradients ---- */

static size_t bytes_of(asc_tensor p)
{
    return (size_t)asc_numel(p) * asc_dtype_size(asc_dtype_of(p));
}

static size_t bytes_of_all(const asc_params *params)
{
    size_t bytes = 0;
    for (int i = 0; i < asc_params_count(params); i++) {
        bytes += bytes_of(asc_params_at(params, i));
    }
    return bytes;
}

static size_t flags_of(const asc_params *params)
{
    return (size_t)asc_params_count(params) * sizeof(bool);
}

static asc_status make_set(const asc_tree *t, asc_grad_set *s)
{
    if (!s->data) {
        s->data = asc_alloc(t->ctx, bytes_of_all(t->params));
        s->has = asc_alloc(t->ctx, flags_of(t->params));
    }
    return asc_error(t->ctx);
}

static void free_set(const asc_tree *t, asc_grad_set *s)
{
    asc_free(t->ctx, s->data, s->data ? bytes_of_all(t->params) : 0);
    asc_free(t->ctx, s->has, s->has ? flags_of(t->params) : 0);
    *s = (asc_grad_set){NULL, NULL};
}

/* The parameters' gradients go into the set, and there are none. */
static asc_status put(const asc_tree *t, asc_grad_set *s)
{
    if (make_set(t, s)) {
        return asc_error(t->ctx);
    }
    char *to = s->data;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        const void *grad = asc_data(asc_grad(p));
        s->has[i] = grad != NULL;
        if (grad) {
            memcpy(to, grad, bytes_of(p));
        }
        to += bytes_of(p);
    }
    asc_params_zero_grad(t->params);
    return ASC_OK;
}

/* ---- adding. Of two numbers the sum is the same in either order ---- */

typedef struct adding {
    void *to;
    const void *from;
    int64_t numel;
    asc_dtype dtype;
} adding;

static void add_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const adding *a = arg;
    int64_t at = piece * PIECE, n = a->numel - at < PIECE ? a->numel - at : PIECE;
    if (a->dtype == ASC_F32) {
        asc_kernels_f32()->acc((float *)a->to + at, (const float *)a->from + at, n);
    } else {
        asc_kernels_f64()->acc((double *)a->to + at, (const double *)a->from + at, n);
    }
}

/* Adds `from` to the gradient of p, or makes it the gradient where there is none. */
static asc_status add_one(asc_ctx *ctx, asc_tensor p, const char *from)
{
    asc_tensor grad = asc_grad(p);
    if (asc_is_null(grad)) {
        asc_array shape = asc_array_of(p);
        asc_tensor own = asc_empty(ctx, shape.dtype, shape.ndim, shape.shape);
        if (asc_error(ctx) == ASC_OK) {
            memcpy(asc_data_mut(own), from, bytes_of(p));
            asc_grad_into(p, own, true);
        }
        asc_release(own); /* the parameter holds it */
        return asc_error(ctx);
    }
    adding a = {asc_data_mut(grad), from, asc_numel(p), asc_dtype_of(p)};
    asc_parallel(ctx, (a.numel + PIECE - 1) / PIECE, add_piece, &a);
    return asc_error(ctx);
}

static asc_status add(const asc_tree *t, const asc_grad_set *s)
{
    const char *from = s->data;
    for (int i = 0; i < asc_params_count(t->params) && !asc_error(t->ctx); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        if (s->has[i]) {
            add_one(t->ctx, p, from);
        }
        from += bytes_of(p);
    }
    return asc_error(t->ctx);
}

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

/* The sum of the shards from index · 2^level on, 2^level of them or as many as there are. */
static asc_shard_sum run_node(const running *r, int level, int64_t index)
{
    asc_tree *t = r->tree;
    if (level == 0) {
        return r->run(r->user, index);
    }
    asc_shard_sum sum = run_node(r, level - 1, 2 * index);
    if (asc_error(t->ctx) || first_of(level - 1, 2 * index + 1) >= t->shards || put(t, &t->waiting[level])) {
        return sum;
    }
    asc_shard_sum right = run_node(r, level - 1, 2 * index + 1);
    if (asc_error(t->ctx) == ASC_OK) {
        add(t, &t->waiting[level]);
    }
    return (asc_shard_sum){sum.loss + right.loss, sum.flops + right.flops};
}

static int count_levels(const asc_tree *t)
{
    int level = 0;
    while (first_of(level, 1) < t->shards) {
        level++;
    }
    return level;
}

double asc_tree_bytes(const asc_tree *t, bool batches)
{
    return t ? (double)bytes_of_all(t->params) * (count_levels(t) + batches) : 0;
}

asc_status asc_tree_run(asc_tree *t, asc_shard_fn *run, void *user, asc_shard_sum *sum)
{
    *sum = run_node(&(running){t, run, user}, count_levels(t), 0);
    return asc_error(t->ctx);
}

asc_status asc_tree_put_by(asc_tree *t)
{
    return put(t, &t->total);
}

asc_status asc_tree_add_back(asc_tree *t)
{
    return add(t, &t->total);
}

void asc_tree_close(asc_tree *t)
{
    for (int i = 0; i < ASC_TREE_LEVELS; i++) {
        free_set(t, &t->waiting[i]);
    }
    free_set(t, &t->total);
}
