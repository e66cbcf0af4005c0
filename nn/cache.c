/* nn/cache.c: generation. The tokens before are kept in each layer's cache, so that the next costs one position. With
 * carried context a cache has a block at a time, behind what its layer was given for the last tokens of the block
 * before, from which it is made anew. */
#include <ascgrad/ops.h>

#include <string.h>

#include "nn/lm_parts.h"
#include "tensor/need.h"

/* What a layer was given, with carried context: inputs.state[0], as long as inputs.length. */
typedef struct given {
    int64_t reach; /* so many that the next block looks back at; 0: there are none to keep */
    bool turned;   /* a block has begun, and the layer's cache is to be made of them */
    asc_layer_cache inputs;
} given;

struct asc_lm_cache {
    asc_lm *lm;
    int64_t capacity, length;
    int64_t in_block; /* tokens of the block, with carried context */
    asc_layer_cache *layer;
    given *given; /* NULL without carried context */
};

bool asc_lm_streams(const asc_lm *lm)
{
    bool streams = lm && asc_is_null(lm->pos_emb);
    for (int64_t l = 0; streams && lm->carry == 0 && l < lm->layers; l++) {
        const asc_mixing *mixing = lm->blocks[l].mix.mixing;
        streams = mixing->next && !mixing->cache;
    }
    return streams;
}

/* Room in layer l for its part of `capacity` tokens. */
static asc_status make_room(asc_lm_cache *c, int64_t l, int64_t capacity)
{
    asc_layer *mix = &c->lm->blocks[l].mix;
    int64_t carry = c->lm->carry;
    if (carry > 0) {
        given *g = &c->given[l];
        g->reach = asc_layer_reach(mix, carry);
        int64_t most = g->reach + c->lm->block_length;
        capacity = capacity < most ? capacity : most;
        if (g->reach > 0) {
            asc_cache_make(mix, &g->inputs, 0, c->lm->D, capacity);
        }
    }
    return asc_layer_cache_make(mix, &c->layer[l], capacity);
}

static void *zeros(asc_ctx *ctx, size_t bytes)
{
    void *memory = asc_alloc(ctx, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

asc_lm_cache *asc_lm_cache_new(asc_lm *lm, int64_t capacity)
{
    if (!lm) {
        return NULL;
    }
    asc_ctx *ctx = lm->ctx;
    if (!asc_lm_given(lm, asc_null(), "lm_cache_new: lm", ASC_HEAD_LM)) {
        return NULL;
    }
    if (capacity < 1 || (!asc_is_null(lm->pos_emb) && capacity > lm->block_length)) {
        asc_fail(ctx, ASC_ERR_ARG, "lm_cache_new: capacity is %lld, expected 1 to %lld", (long long)capacity,
                 (long long)(asc_is_null(lm->pos_emb) ? INT64_MAX : lm->block_length));
        return NULL;
    }
    asc_lm_cache *c = asc_alloc(ctx, sizeof *c);
    if (!c) {
        return NULL;
    }
    size_t layers = (size_t)lm->layers;
    *c = (asc_lm_cache){.lm = lm, .capacity = capacity};
    c->layer = zeros(ctx, layers * sizeof *c->layer);
    c->given = lm->carry > 0 ? zeros(ctx, layers * sizeof *c->given) : NULL;
    for (int64_t l = 0; l < lm->layers && !asc_error(ctx); l++) {
        make_room(c, l, capacity);
    }
    if (asc_error(ctx)) {
        asc_lm_cache_free(c);
        return NULL;
    }
    return c;
}

void asc_lm_cache_free(asc_lm_cache *c)
{
    if (!c) {
        return;
    }
    asc_ctx *ctx = c->lm->ctx;
    size_t layers = (size_t)c->lm->layers;
    for (size_t l = 0; c->layer && l < layers; l++) {
        for (int i = 0; i < ASC_STATES; i++) {
            asc_release(c->layer[l].state[i]);
        }
    }
    for (size_t l = 0; c->given && l < layers; l++) {
        asc_release(c->given[l].inputs.state[0]);
    }
    asc_free(ctx, c->given, layers * sizeof *c->given);
    asc_free(ctx, c->layer, layers * sizeof *c->layer);
    asc_free(ctx, c, sizeof *c);
}

void asc_lm_cache_reset(asc_lm_cache *c)
{
    if (!c) {
        return;
    }
    c->length = c->in_block = 0;
    for (int64_t l = 0; l < c->lm->layers; l++) {
        c->layer[l].length = 0;
        if (c->given) {
            c->given[l].inputs.length = 0;
            c->given[l].turned = false;
        }
    }
}

int64_t asc_lm_cache_length(const asc_lm_cache *c)
{
    return c ? c->length : 0;
}

int64_t asc_lm_cache_capacity(const asc_lm_cache *c)
{
    return c ? c->capacity : 0;
}

/* Staged states take their places, or go. Those of `stay`, as bits, are not replaced. */
static void settle(asc_layer_cache *c, bool done, unsigned stay)
{
    for (int i = 0; i < ASC_STATES; i++) {
        if (done && !asc_is_null(c->staged[i]) && !(stay & 1u << i)) {
            asc_release(c->state[i]);
            c->state[i] = c->staged[i];
        } else {
            asc_release(c->staged[i]);
        }
        c->staged[i] = asc_null();
    }
}

/* ---- from block to block ---- */

/* The last inputs that the next block looks back at move to the front. Layers without any go on as they are. */
static void turn(asc_lm_cache *c)
{
    for (int64_t l = 0; l < c->lm->layers; l++) {
        given *g = &c->given[l];
        int64_t had = g->inputs.length, keep = had < g->reach ? had : g->reach;
        char *rows = g->reach > 0 ? asc_data_mut(g->inputs.state[0]) : NULL;
        size_t row = (size_t)c->lm->D * asc_dtype_size(c->lm->dtype);
        if (rows) {
            memmove(rows, rows + (size_t)(had - keep) * row, (size_t)keep * row);
            g->inputs.length = keep;
            g->turned = true;
        }
    }
    c->in_block = 0;
}

/* Makes the cache of a layer of its inputs alone; states that go on stay. To be done again if it fails. */
static asc_status make_anew(asc_lm_cache *c, int64_t l)
{
    asc_layer *mix = &c->lm->blocks[l].mix;
    asc_layer_cache *cache = &c->layer[l];
    given *g = &c->given[l];
    asc_tensor past = asc_slice(mix->ctx, g->inputs.state[0], 1, 0, g->inputs.length, 1);
    cache->length = 0;
    asc_tensor y = asc_layer_next(mix, cache, past);
    bool done = !asc_is_null(y) && !asc_error(mix->ctx);
    settle(cache, done, mix->mixing->carried_states);
    cache->length = done ? g->inputs.length : 0;
    g->turned = !done;
    asc_let_go(past);
    asc_let_go(y);
    return asc_error(mix->ctx);
}

static asc_status begin_block(asc_lm_cache *c)
{
    if (c->in_block == c->lm->block_length) {
        turn(c);
    }
    for (int64_t l = 0; l < c->lm->layers; l++) {
        if (c->given[l].turned && make_anew(c, l)) {
            return asc_error(c->lm->ctx);
        }
    }
    return ASC_OK;
}

/* ---- the next tokens ---- */

static asc_tensor mix_next(asc_layer *mix, asc_tensor x, int64_t l, void *arg)
{
    asc_lm_cache *c = arg;
    if (c->given && c->given[l].reach > 0) {
        asc_release(asc_cache_append(mix, &c->given[l].inputs, 0, asc_keep(x)));
    }
    return asc_layer_next(mix, &c->layer[l], x);
}

/* The layers hold n tokens more, or after a failure what they held. */
static void settle_all(asc_lm_cache *c, int64_t n, bool done)
{
    for (int64_t l = 0; l < c->lm->layers; l++) {
        settle(&c->layer[l], done, 0);
        c->layer[l].length += done ? n : 0;
        if (done && c->given && c->given[l].reach > 0) {
            c->given[l].inputs.length += n;
        }
    }
    c->length += done ? n : 0;
    c->in_block += done ? n : 0;
}

/* The logits after n tokens, which end within a block. */
static asc_tensor run_next(asc_lm_cache *c, const int64_t *tokens, int64_t n)
{
    asc_lm *lm = c->lm;
    asc_ctx *ctx = lm->ctx;
    asc_tensor x = asc_from(ctx, ASC_I64, tokens, 2, (int64_t[]){1, n});
    asc_tensor h = asc_lm_hidden(lm, x, c->length, mix_next, c);
    asc_tensor last = asc_slice(ctx, h, 1, n - 1, n, 1);
    asc_tensor logits = asc_lm_head_logits(lm, last);
    asc_tensor flat = asc_reshape(ctx, logits, 1, &lm->vocab);
    asc_release(x);
    asc_release(h);
    asc_release(logits);
    settle_all(c, n, !asc_is_null(flat));
    return flat;
}

/* The same, block by block. */
static asc_tensor run_blocks(asc_lm_cache *c, const int64_t *tokens, int64_t n)
{
    asc_tensor logits = asc_null();
    for (int64_t at = 0, piece; at < n; at += piece) {
        asc_release(logits);
        logits = asc_null();
        if (begin_block(c)) {
            return logits;
        }
        int64_t room = c->lm->block_length - c->in_block;
        piece = n - at < room ? n - at : room;
        logits = run_next(c, tokens + at, piece);
        if (asc_is_null(logits)) {
            return logits;
        }
    }
    return logits;
}

asc_tensor asc_lm_next(asc_lm_cache *c, const int64_t *tokens, int64_t n)
{
    if (!c || ASC_NEED(c->lm->ctx, "lm_next: tokens", tokens)) {
        return asc_null();
    }
    asc_ctx *ctx = c->lm->ctx;
    if (n < 1 || n > c->capacity - c->length) {
        asc_fail(ctx, ASC_ERR_ARG, "lm_next: %lld tokens, expected 1 to %lld, the room that is left", (long long)n,
                 (long long)(c->capacity - c->length));
        return asc_null();
    }
    bool recording = asc_set_recording(ctx, false);
    asc_tensor logits = c->given ? run_blocks(c, tokens, n) : run_next(c, tokens, n);
    asc_set_recording(ctx, recording);
    return logits;
}
