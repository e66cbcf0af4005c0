/* nn/cache.c: generation. The tokens before are kept in each layer's cache, so that the next costs one position. */
#include <ascgrad/ops.h>

#include <string.h>

#include "nn/lm_parts.h"
#include "tensor/need.h"

struct asc_lm_cache {
    asc_lm *lm;
    int64_t capacity, length;
    asc_layer_cache *layer;
};

bool asc_lm_streams(const asc_lm *lm)
{
    bool streams = lm && asc_is_null(lm->pos_emb);
    for (int64_t l = 0; streams && l < lm->layers; l++) {
        const asc_mixing *mixing = lm->blocks[l].mix.mixing;
        streams = mixing->next && !mixing->cache;
    }
    return streams;
}

asc_lm_cache *asc_lm_cache_new(asc_lm *lm, int64_t capacity)
{
    if (!lm) {
        return NULL;
    }
    asc_ctx *ctx = lm->ctx;
    if (!asc_lm_given(lm, asc_null(), "lm_cache: lm", ASC_HEAD_LM)) {
        return NULL;
    }
    if (capacity < 1 || (!asc_is_null(lm->pos_emb) && capacity > lm->block_length)) {
        asc_fail(ctx, ASC_ERR_ARG, "lm_cache: capacity is %lld, expected 1 to %lld", (long long)capacity,
                 (long long)(asc_is_null(lm->pos_emb) ? INT64_MAX : lm->block_length));
        return NULL;
    }
    asc_lm_cache *c = asc_alloc(ctx, sizeof *c);
    if (!c) {
        return NULL;
    }
    size_t layers = (size_t)lm->layers;
    *c = (asc_lm_cache){.lm = lm, .capacity = capacity};
    c->layer = asc_alloc(ctx, layers * sizeof *c->layer);
    if (c->layer) {
        memset(c->layer, 0, layers * sizeof *c->layer);
    }
    for (size_t l = 0; c->layer && l < layers && !asc_error(ctx); l++) {
        asc_layer_cache_make(&lm->blocks[l].mix, &c->layer[l], capacity);
    }
    if (!c->layer || asc_error(ctx)) {
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
    asc_free(ctx, c->layer, layers * sizeof *c->layer);
    asc_free(ctx, c, sizeof *c);
}

void asc_lm_cache_reset(asc_lm_cache *c)
{
    if (!c) {
        return;
    }
    c->length = 0;
    for (int64_t l = 0; l < c->lm->layers; l++) {
        c->layer[l].length = 0;
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

/* Staged states take their places, or go. */
static void settle(asc_layer_cache *c, bool done)
{
    for (int i = 0; i < ASC_STATES; i++) {
        if (done && !asc_is_null(c->staged[i])) {
            asc_release(c->state[i]);
            c->state[i] = c->staged[i];
        } else {
            asc_release(c->staged[i]);
        }
        c->staged[i] = asc_null();
    }
}

static asc_tensor mix_next(asc_layer *mix, asc_tensor x, int64_t l, void *arg)
{
    asc_layer_cache *cache = &((asc_lm_cache *)arg)->layer[l];
    asc_tensor y = asc_layer_next(mix, cache, x);
    cache->length += asc_size(x, 1);
    return y;
}

asc_tensor asc_lm_next(asc_lm_cache *c, const int64_t *tokens, int64_t n)
{
    if (!c || ASC_NEED(c->lm->ctx, "lm_next: tokens", tokens)) {
        return asc_null();
    }
    asc_lm *lm = c->lm;
    asc_ctx *ctx = lm->ctx;
    if (n < 1 || n > c->capacity - c->length) {
        asc_fail(ctx, ASC_ERR_ARG, "lm_next: %lld tokens, expected 1 to %lld, the room that is left", (long long)n,
                 (long long)(c->capacity - c->length));
        return asc_null();
    }
    bool recording = asc_set_recording(ctx, false);
    asc_tensor x = asc_from(ctx, ASC_I64, tokens, 2, (int64_t[]){1, n});
    asc_tensor h = asc_lm_hidden(lm, x, c->length, mix_next, c);
    asc_tensor last = asc_slice(ctx, h, 1, n - 1, n, 1);
    asc_tensor logits = asc_lm_head_logits(lm, last);
    asc_tensor flat = asc_reshape(ctx, logits, 1, &lm->vocab);
    asc_set_recording(ctx, recording);
    asc_release(x);
    asc_release(h);
    asc_release(logits);
    if (!asc_is_null(flat)) {
        c->length += n;
    }
    for (int64_t l = 0; l < lm->layers; l++) {
        c->layer[l].length = c->length; /* after a failure some layers hold more */
        settle(&c->layer[l], !asc_is_null(flat));
    }
    return flat;
}
