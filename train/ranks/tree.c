/* train/ranks/tree.c: the gradients of a batch's shards, added in a binary tree. */
#include "train/ranks/tree.h"

#include <string.h>

#include "kernels/kernels.h"
#include "tensor/comm.h"
#include "tensor/dtype.h"

enum { PIECE = 1 << 14 }; /* elements that one thread adds at a time */

/* ---- sets of gradients ---- */

static size_t bytes_of(asc_tensor p)
{
    return (size_t)asc_numel(p) * asc_dtype_size(asc_dtype_of(p));
}

enum { ALL = -1 }; /* shares */

static bool is_of(const asc_tree *t, int i, int share)
{
    return share == ALL || asc_optim_share_of(t->divided, i) == share;
}

/* Of the parameters of a share. */
static size_t bytes_of_share(const asc_tree *t, int share)
{
    size_t bytes = 0;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        bytes += is_of(t, i, share) ? bytes_of(asc_params_at(t->params, i)) : 0;
    }
    return bytes;
}

static size_t bytes_of_set(const asc_tree *t)
{
    return (size_t)asc_params_count(t->params) * sizeof(asc_tensor);
}

static void empty(const asc_tree *t, const asc_grad_set *s)
{
    for (int i = 0; s->grad && i < asc_params_count(t->params); i++) {
        asc_release(s->grad[i]);
        s->grad[i] = asc_null();
    }
}

static void free_set(const asc_tree *t, asc_grad_set *s)
{
    empty(t, s);
    asc_free(t->ctx, s->grad, s->grad ? bytes_of_set(t) : 0);
    s->grad = NULL;
}

/* The parameters' gradients go into the set as they are, and there are none. */
static asc_status put(const asc_tree *t, asc_grad_set *s)
{
    if (!s->grad && !(s->grad = asc_alloc(t->ctx, bytes_of_set(t)))) {
        return asc_error(t->ctx);
    }
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        s->grad[i] = asc_grad(p);
        if (!asc_is_null(s->grad[i])) {
            asc_keep(s->grad[i]);
            asc_grad_into(p, asc_null(), false);
        }
    }
    return asc_error(t->ctx);
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

/* The gradient of p, to be written to: what is in it where there was none is not said. */
static void *grad_of(asc_ctx *ctx, asc_tensor p)
{
    asc_tensor grad = asc_grad(p);
    if (asc_is_null(grad)) {
        asc_array shape = asc_array_of(p);
        asc_tensor own = asc_empty(ctx, shape.dtype, shape.ndim, shape.shape);
        grad = asc_grad_into(p, own, true) == ASC_OK ? asc_grad(p) : asc_null();
        asc_release(own); /* the parameter holds it */
    }
    return asc_data_mut(grad);
}

/* Adds `from` to the gradient of p, or makes it the gradient where there was none. */
static void add_one(asc_ctx *ctx, asc_tensor p, const void *from)
{
    bool fresh = asc_is_null(asc_grad(p));
    adding a = {grad_of(ctx, p), from, asc_numel(p), asc_dtype_of(p)};
    if (a.to && fresh) {
        memcpy(a.to, from, bytes_of(p));
    } else if (a.to) {
        asc_parallel(ctx, (a.numel + PIECE - 1) / PIECE, add_piece, &a);
    }
}

/* The set is empty then, after an error, too. */
static asc_status add(const asc_tree *t, const asc_grad_set *s)
{
    for (int i = 0; i < asc_params_count(t->params) && !asc_error(t->ctx); i++) {
        asc_tensor p = asc_params_at(t->params, i), grad = s->grad[i];
        if (!asc_is_null(grad) && asc_is_null(asc_grad(p))) {
            asc_grad_into(p, grad, true);
        } else if (!asc_is_null(grad)) {
            add_one(t->ctx, p, asc_data(grad));
        }
    }
    empty(t, s);
    return asc_error(t->ctx);
}

/* ---- between ranks ---- */

/* A message of gradients: of a share's parameters, one after another, and a flag for each parameter behind them:
 * whether it has one. */
static size_t bytes_of_message(const asc_tree *t, int share)
{
    return bytes_of_share(t, share) + (size_t)asc_params_count(t->params) * sizeof(bool);
}

static void pack(const asc_tree *t, int share)
{
    char *to = t->message;
    bool *has = (bool *)to + bytes_of_share(t, share);
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        const void *grad = asc_data(asc_grad(p));
        has[i] = grad && is_of(t, i, share);
        if (has[i]) {
            memcpy(to, grad, bytes_of(p));
        } else if (is_of(t, i, share)) {
            memset(to, 0, bytes_of(p));
        }
        to += is_of(t, i, share) ? bytes_of(p) : 0;
    }
}

static void add_message(const asc_tree *t, int share)
{
    const char *from = t->message;
    const bool *has = (const bool *)from + bytes_of_share(t, share);
    for (int i = 0; i < asc_params_count(t->params) && !asc_error(t->ctx); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        if (has[i]) {
            add_one(t->ctx, p, from);
        }
        from += is_of(t, i, share) ? bytes_of(p) : 0;
    }
}

typedef struct message {
    asc_verdict verdict; /* with an error nothing comes after the head */
    asc_shard_sum sum;
    double norm; /* on the way down */
} message;

/* The gradients go to another rank, and there are none. */
static void send_up(asc_tree *t, int to, const asc_shard_sum *sum)
{
    message m = {asc_verdict_of(t->ctx), *sum, 0};
    if (asc_comm_send(t->ctx, to, &m, sizeof m) == ASC_OK && !m.verdict.status) {
        pack(t, ALL);
        asc_params_zero_grad(t->params);
        asc_comm_send(t->ctx, to, t->message, bytes_of_message(t, ALL));
    }
}

/* Those of another rank are added. With an error they are taken all the same: who sends must not wait. */
static asc_shard_sum receive_up(asc_tree *t, int from)
{
    message m = {.sum = {0, 0}};
    if (asc_comm_receive(t->ctx, from, &m, sizeof m) || m.verdict.status) {
        asc_verdict_take(t->ctx, &m.verdict, from);
    } else if (asc_comm_receive(t->ctx, from, t->message, bytes_of_message(t, ALL)) == ASC_OK && !asc_error(t->ctx)) {
        add_message(t, ALL);
    }
    return m.sum;
}

static void share_all(asc_tree *t)
{
    bool leads = asc_comm_rank(t->ctx) == 0;
    if (leads) {
        pack(t, ALL);
    }
    if (asc_comm_broadcast(t->ctx, t->message, bytes_of_message(t, ALL)) == ASC_OK && !leads) {
        add_message(t, ALL); /* there are none here */
    }
}

/* To each rank its share's. */
static void share_out(asc_tree *t)
{
    int rank = asc_comm_rank(t->ctx);
    for (int r = 1; rank == 0 && r < asc_comm_size(t->ctx); r++) {
        pack(t, r);
        asc_comm_send(t->ctx, r, t->message, bytes_of_message(t, r));
    }
    if (rank > 0 && asc_comm_receive(t->ctx, 0, t->message, bytes_of_message(t, rank)) == ASC_OK) {
        add_message(t, rank);
    }
}

asc_status asc_tree_share(asc_tree *t, asc_shard_sum *sum, double *norm)
{
    asc_ctx *ctx = t->ctx;
    if (asc_comm_size(ctx) == 1) {
        return asc_error(ctx);
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
        if (is_of(t, i, share)) {
            memcpy(to, asc_data(p), bytes_of(p));
            to += bytes_of(p);
        }
    }
}

static void take_params(const asc_tree *t, int share)
{
    const char *from = t->message;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        if (is_of(t, i, share)) {
            memcpy(asc_data_mut(p), from, bytes_of(p));
            from += bytes_of(p);
        }
    }
}

static void send_share(asc_tree *t, int share)
{
    asc_verdict v = asc_verdict_of(t->ctx);
    if (asc_comm_send(t->ctx, 0, &v, sizeof v) == ASC_OK && !v.status) {
        pack_params(t, share);
        asc_comm_send(t->ctx, 0, t->message, bytes_of_share(t, share));
    }
}

static void receive_share(asc_tree *t, int share)
{
    asc_verdict v = {0};
    if (asc_comm_receive(t->ctx, share, &v, sizeof v) || v.status) {
        asc_verdict_take(t->ctx, &v, share);
    } else if (asc_comm_receive(t->ctx, share, t->message, bytes_of_share(t, share)) == ASC_OK) {
        take_params(t, share);
    }
}

asc_status asc_tree_spread(asc_tree *t)
{
    asc_ctx *ctx = t->ctx;
    int rank = asc_comm_rank(ctx);
    if (!t->divided) {
        return asc_error(ctx);
    }
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
        pack_params(t, ALL);
    }
    if (asc_comm_broadcast(ctx, t->message, bytes_of_share(t, ALL)) == ASC_OK && rank > 0) {
        take_params(t, ALL);
    }
    return asc_error(ctx);
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
        more = receive_up(t, right);
    } else {
        bool put_by = !asc_error(t->ctx) && put(t, &t->waiting[level - 1]) == ASC_OK;
        more = run_node(r, level - 1, 2 * index + 1);
        if (put_by) {
            add(t, &t->waiting[level - 1]);
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
        send_up(t, left, &sum);
    }
    return none;
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
    return t ? (double)bytes_of_share(t, ALL) * (count_levels(t) + batches + (asc_comm_size(t->ctx) > 1)) : 0;
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

asc_status asc_tree_open(asc_tree *t)
{
    if (asc_comm_size(t->ctx) > 1) {
        t->message = asc_alloc(t->ctx, bytes_of_message(t, ALL));
    }
    return asc_error(t->ctx);
}

void asc_tree_close(asc_tree *t)
{
    for (int i = 0; i < ASC_TREE_LEVELS; i++) {
        free_set(t, &t->waiting[i]);
    }
    free_set(t, &t->total);
    asc_free(t->ctx, t->message, t->message ? bytes_of_message(t, ALL) : 0);
    t->message = NULL;
}
