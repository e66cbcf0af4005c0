/* train/encoder/encode.c: sentences to states, a batch of one length at a time, and what is kept of them. */
#include "train/encoder/encode.h"

#include <string.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

/* Tokens of a batch: so many that products are at their best, and their activations still in the cache that threads
 * share. The sentences of a batch are of one length: nothing is computed for padding, and attention does the same for a
 * sentence whatever else is encoded. */
enum { BATCH = 2048, WINDOW = 8 };

/* ---- pooling ---- */

static const char *const names[] = {[ASC_POOLING_NONE] = "none",
                                    [ASC_POOLING_MEAN] = "mean",
                                    [ASC_POOLING_CLS] = "cls",
                                    [ASC_POOLING_WINDOWS] = "windows"};

const char *asc_pooling_name(asc_pooling kind)
{
    return kind >= ASC_POOLING_NONE && kind <= ASC_POOLING_WINDOWS ? names[kind] : NULL;
}

/* Window and stride as they are meant, in *p. ASC_ERR_ARG: there is no such pool, or one is below 0. */
static asc_status check_pooling(asc_ctx *ctx, asc_pooling_options *p)
{
    if (!asc_pooling_name(p->kind)) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "pool", " is %d, expected none, mean, cls or windows", (int)p->kind);
    }
    if (p->window < 0 || p->stride < 0) {
        bool window = p->window < 0;
        return asc_fail_on(ctx, ASC_ERR_ARG, window ? "window" : "stride", " is %lld, expected at least 1, or 0 for %d",
                           (long long)(window ? p->window : p->stride), WINDOW);
    }
    p->window = p->window ? p->window : WINDOW;
    p->stride = p->stride ? p->stride : WINDOW;
    return ASC_OK;
}

int64_t asc_pooling_rows(const asc_pooling_options *p, int64_t tokens)
{
    if (!p || tokens < 1) {
        return 0;
    }
    int64_t stride = p->stride > 0 ? p->stride : WINDOW;
    return p->kind == ASC_POOLING_NONE ? tokens : p->kind == ASC_POOLING_WINDOWS ? (tokens - 1) / stride + 1 : 1;
}

/* A worker's memory for pooled rows. */
typedef struct pool_room {
    double *sum; /* [E] */
    float *rows; /* of a sentence */
    size_t sum_bytes, rows_bytes;
} pool_room;

static asc_status room_make(asc_ctx *ctx, const asc_pooling_options *p, int64_t longest, int64_t E, pool_room *room)
{
    if (p->kind == ASC_POOLING_NONE || p->kind == ASC_POOLING_CLS) {
        return ASC_OK;
    }
    room->sum_bytes = (size_t)E * sizeof *room->sum;
    room->rows_bytes = (size_t)((asc_pooling_rows(p, longest) + p->by_text) * E) * sizeof *room->rows;
    room->sum = asc_alloc(ctx, room->sum_bytes);
    room->rows = room->sum ? asc_alloc(ctx, room->rows_bytes) : NULL;
    return room->rows ? ASC_OK : ASC_ERR_MEMORY;
}

static void room_free(asc_ctx *ctx, pool_room *room)
{
    asc_free(ctx, room->sum, room->sum_bytes);
    asc_free(ctx, room->rows, room->rows_bytes);
}

/* The mean of n states, summed up in double. */
static void mean_of(const float *states, int64_t n, int64_t E, double *sum, float *mean)
{
    for (int64_t e = 0; e < E; e++) {
        sum[e] = states[e];
    }
    for (int64_t t = 1; t < n; t++) {
        for (int64_t e = 0; e < E; e++) {
            sum[e] += states[t * E + e];
        }
    }
    for (int64_t e = 0; e < E; e++) {
        mean[e] = (float)(sum[e] / (double)n);
    }
}

/* The rows of states [tokens, E] that follow one another, to `to`. */
static void pool_text(const asc_pooling_options *p, const float *states, int64_t tokens, int64_t E, double *sum,
                      float *to)
{
    bool whole = p->kind == ASC_POOLING_MEAN;
    int64_t rows = asc_pooling_rows(p, tokens);
    for (int64_t w = 0; w < rows; w++) {
        int64_t first = w * p->stride, left = tokens - first;
        mean_of(states + first * E, whole || left < p->window ? left : p->window, E, sum, to + w * E);
    }
}

/* The rows that are kept of a sentence's states [tokens, E]. */
static const float *pool_states(const asc_pooling_options *p, const float *states, int64_t tokens, int64_t second,
                                int64_t E, pool_room *room)
{
    if (!room->rows) {
        return states;
    }
    int64_t first = p->by_text && p->kind == ASC_POOLING_WINDOWS ? second : tokens;
    pool_text(p, states, first, E, room->sum, room->rows);
    pool_text(p, states + first * E, tokens - first, E, room->sum, room->rows + asc_pooling_rows(p, first) * E);
    return room->rows;
}

/* ---- batches ---- */

/* An encoding under way. */
typedef struct job {
    asc_encoder *e;
    const asc_sentences *s;
    const asc_sentence_order *order;
    asc_pooling_options pooling;
    pool_room room;
    asc_encoded_fn *take;
    void *user;
} job;

static int64_t length_of(const job *j, int64_t d)
{
    return asc_sentence_length(j->s, asc_distinct(j->order, d));
}

/* The end of the batch that begins with `from`. */
static int64_t batch_end(const job *j, int64_t from, int64_t to)
{
    int64_t end = from + 1, length = length_of(j, from);
    while (end < to && length_of(j, end) == length && (end + 1 - from) * length <= BATCH) {
        end++;
    }
    return end;
}

/* The states of n sentences of T tokens each. */
static asc_tensor run_batch(const job *j, int64_t from, int64_t n, int64_t T)
{
    asc_ctx *ctx = j->e->ctx;
    asc_tensor tokens = asc_empty(ctx, ASC_I64, ASC_SHAPE(n, T)), types = asc_empty(ctx, ASC_I64, ASC_SHAPE(n, T));
    int64_t *token = asc_data_mut(tokens), *type = asc_data_mut(types);
    bool pairs = false;
    for (int64_t i = 0; token && type && i < n; i++) {
        int64_t which = asc_distinct(j->order, from + i), length;
        asc_sentences_fill(j->s, &which, 1, T, token + i * T, type + i * T, &length);
        pairs = pairs || j->s->seconds[which] < T;
    }
    return asc_encoder_net_states(ctx, &j->e->net, tokens, pairs ? types : asc_null(), asc_null());
}

static asc_status encode_batch(job *j, int64_t from, int64_t n)
{
    int64_t T = length_of(j, from), E = j->e->net.dim;
    asc_scope_begin(j->e->ctx);
    const float *states = asc_data(run_batch(j, from, n, T));
    asc_status status = asc_error(j->e->ctx);
    for (int64_t i = 0; i < n && !status; i++) {
        int64_t second = j->s->seconds[asc_distinct(j->order, from + i)];
        const float *rows = pool_states(&j->pooling, states + i * T * E, T, second, E, &j->room);
        status = j->take(j->user, from + i, asc_pooled_rows(&j->pooling, T, second), rows);
    }
    asc_scope_end(j->e->ctx);
    return status;
}

asc_status asc_encode_distinct(asc_encoder *e, const asc_sentences *s, const asc_sentence_order *order, int64_t from,
                               int64_t to, const asc_pooling_options *pooling, asc_encoded_fn *take, void *user)
{
    job j = {.e = e, .s = s, .order = order, .pooling = *pooling, .take = take, .user = user};
    asc_status status = room_make(e->ctx, pooling, s->longest, e->net.dim, &j.room);
    for (int64_t end; from < to && !status; from = end) {
        end = batch_end(&j, from, to);
        status = encode_batch(&j, from, end - from);
    }
    room_free(e->ctx, &j.room);
    return status;
}

/* ---- all of them ---- */

asc_status asc_encode_check(const asc_encoder *e, const asc_sentences *s, asc_pooling_options *pooling)
{
    if (s->longest > e->net.positions) {
        return asc_fail(e->ctx, ASC_ERR_ARG, "encoder: a sentence has %lld tokens, expected at most the model's %lld",
                        (long long)s->longest, (long long)e->net.positions);
    }
    return check_pooling(e->ctx, pooling);
}

/* Whom the caller's function is called for. */
typedef struct spread {
    const asc_sentence_order *order;
    asc_encoded_fn *take;
    void *user;
} spread;

static asc_status take_each(void *user, int64_t d, int64_t n, const float *rows)
{
    const spread *to = user;
    asc_status status = ASC_OK;
    for (int64_t k = to->order->starts[d]; k < to->order->starts[d + 1] && !status; k++) {
        status = to->take(to->user, to->order->at[k], n, rows);
    }
    return status;
}

asc_status asc_encoder_encode(asc_encoder *e, const asc_sentences *s, const asc_pooling_options *pooling,
                              asc_encoded_fn *take, void *user)
{
    asc_status status =
        ASC_NEED(e   ? e->ctx
                 : s ? s->ctx
                     : NULL,
                 "encoder_encode: encoder sentences pooling take", e, s, pooling, (const void *)(uintptr_t)take);
    asc_pooling_options p = pooling ? *pooling : (asc_pooling_options){0};
    if (status || (status = asc_error(e->ctx)) || (status = asc_encode_check(e, s, &p))) {
        return status;
    }
    asc_sentence_order order;
    status = asc_sentence_order_make(s, &order);
    if (!status) {
        status = asc_encode_distinct(e, s, &order, 0, order.n, &p, take_each, &(spread){&order, take, user});
    }
    asc_sentence_order_free(e->ctx, &order);
    return status;
}
