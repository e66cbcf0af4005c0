/* data/batches.c: a loop over batches of rows, shuffled anew each time round. */
#include <ascgrad/batches.h>

#include <stdint.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/need.h"
#include "tensor/random.h"

struct asc_batches {
    asc_ctx *ctx;
    asc_tensor *whole;
    int n;
    int64_t rows, batch, at;
    int64_t *order;
    uint64_t seed, round;
    size_t scopes; /* that have begun with the batch's, which is the last of them; 0: no batch's has */
};

static asc_status check(asc_ctx *ctx, const asc_tensor *tensors, int n, int64_t batch)
{
    if (n < 1 || batch < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "batches_new: %s is %lld, expected at least 1", n < 1 ? "n" : "batch",
                        (long long)(n < 1 ? n : batch));
    }
    for (int i = 0; i < n; i++) {
        asc_array a = asc_array_of(tensors[i]), first = asc_array_of(tensors[0]);
        char shape[ASC_SHAPE_TEXT], name[24];
        snprintf(name, sizeof name, "tensors[%d]", i);
        if (asc_need_tensor(ctx, tensors[i], "batches_new", name)) {
            return asc_error(ctx);
        }
        if (a.ndim < 1) {
            return asc_fail(ctx, ASC_ERR_ARG, "batches_new: %s is a scalar, expected rows (N, ...)", name);
        }
        if (a.shape[0] != first.shape[0]) {
            return asc_fail(ctx, ASC_ERR_ARG, "batches_new: %s is %s, expected as many rows as tensors[0], %lld", name,
                            asc_shape_text(&a, shape), (long long)first.shape[0]);
        }
        if (a.shape[0] > PTRDIFF_MAX / (int64_t)sizeof(int64_t) - 1) { /* which have no elements */
            return asc_fail(ctx, ASC_ERR_MEMORY, "batches_new: %s has %lld rows, more than memory has room for", name,
                            (long long)a.shape[0]);
        }
        if (!asc_is_contiguous(tensors[i])) {
            return asc_fail(ctx, ASC_ERR_ARG, "batches_new: tensors[%d] is not contiguous", i);
        }
    }
    return asc_error(ctx);
}

/* Fisher and Yates' shuffle, a function of seed and round. */
static void shuffle(asc_batches *b)
{
    for (int64_t i = 0; i < b->rows; i++) {
        b->order[i] = i;
    }
    for (int64_t i = b->rows - 1; i > 0; i--) {
        int64_t j = (int64_t)(asc_random_uniform(b->seed, b->round, (uint64_t)i) * (double)(i + 1));
        int64_t moved = b->order[i];
        j = j > i ? i : j;
        b->order[i] = b->order[j];
        b->order[j] = moved;
    }
    b->round++;
    b->at = 0;
}

asc_batches *asc_batches_new(asc_ctx *ctx, const asc_tensor *tensors, int n, int64_t batch, uint64_t seed)
{
    if (ASC_NEED(ctx, "batches_new: tensors", tensors) || check(ctx, tensors, n, batch)) {
        return NULL;
    }
    asc_batches *b = asc_alloc(ctx, sizeof *b);
    if (!b) {
        return NULL;
    }
    *b = (asc_batches){.ctx = ctx, .rows = asc_size(tensors[0], 0), .batch = batch, .seed = seed};
    b->order = asc_alloc(ctx, (size_t)b->rows * sizeof *b->order + 1);
    b->whole = asc_alloc(ctx, (size_t)n * sizeof *b->whole);
    for (; b->whole && b->n < n; b->n++) {
        b->whole[b->n] = tensors[b->n];
        asc_node_ref(asc_node_of(tensors[b->n])); /* not asc_keep, which the caller might release */
    }
    if (!b->order || !b->whole) {
        asc_batches_free(b);
        return NULL;
    }
    shuffle(b);
    return b;
}

/* Ends the batch's scope, if it is the innermost one: no other's is ended in its place. */
static asc_status end_scope(asc_batches *b, const char *function)
{
    size_t begun = asc_scopes_begun(b->ctx), own = b->scopes;
    if (own && begun > own) {
        return asc_fail(b->ctx, ASC_ERR_STATE, "%s: a scope that was begun after the last batch has not ended",
                        function);
    }
    b->scopes = 0;
    if (own && begun < own) {
        return asc_fail(b->ctx, ASC_ERR_STATE, "%s: the last batch's scope was ended in place of another, begun before "
                        "it", function);
    }
    if (own) {
        asc_scope_end(b->ctx);
    }
    return ASC_OK;
}

void asc_batches_free(asc_batches *b)
{
    if (!b) {
        return;
    }
    end_scope(b, "batches_free");
    for (int i = 0; i < b->n; i++) {
        asc_node_unref(asc_node_of(b->whole[i]));
    }
    asc_free(b->ctx, b->whole, (size_t)b->n * sizeof *b->whole);
    asc_free(b->ctx, b->order, (size_t)b->rows * sizeof *b->order + 1);
    asc_free(b->ctx, b, sizeof *b);
}

/* The rows of the batch, one after another. */
static asc_tensor gather(const asc_batches *b, asc_tensor whole, int64_t rows)
{
    asc_array a = asc_array_of(whole);
    if (a.ndim < 0) {
        asc_need_tensor(b->ctx, whole, "batches_next", "a tensor of the batches");
        return asc_null();
    }
    size_t bytes = asc_array_bytes(&a) / (size_t)(b->rows > 0 ? b->rows : 1);
    a.shape[0] = rows;
    asc_tensor t = asc_empty(b->ctx, a.dtype, a.ndim, a.shape);
    char *to = asc_data_mut(t);
    for (int64_t i = 0; to && i < rows; i++) {
        memcpy(to + (size_t)i * bytes, (const char *)a.data + (size_t)b->order[b->at + i] * bytes, bytes);
    }
    return t;
}

bool asc_batches_next(asc_batches *b, asc_tensor *out)
{
    for (int i = 0; out && i < (b ? b->n : 1); i++) {
        out[i] = asc_null();
    }
    if (ASC_NEED(b ? b->ctx : NULL, "batches_next: batches out", b, out)) {
        return false;
    }
    if (end_scope(b, "batches_next") || asc_error(b->ctx)) {
        return false;
    }
    if (b->at >= b->rows) {
        shuffle(b);
        return false;
    }
    asc_scope_begin(b->ctx);
    b->scopes = asc_scopes_begun(b->ctx);
    int64_t left = b->rows - b->at, rows = left < b->batch ? left : b->batch;
    for (int i = 0; i < b->n; i++) {
        out[i] = gather(b, b->whole[i], rows);
    }
    b->at += rows;
    if (asc_error(b->ctx)) {
        end_scope(b, "batches_next");
    }
    return b->scopes > 0;
}
