/* tensor/storage.c: storage and its pool.
 *
 * Storage that is let go waits in a list of its size class and serves the next request of that class, so that a step
 * that repeats the last one's shapes asks the allocator for nothing. Classes are an eighth of a power of two apart:
 * at most an eighth is wasted.
 *
 * A step of smaller shapes, the last batch of an epoch, is lent the larger storage of the steps before it rather than
 * given memory of its own. What this step has itself had in its own class is not lent: its next request of that class
 * would find it gone. */
#include "tensor/ctx.h"

#include <string.h>

enum { CLASSES = 8 * 60, SMALLEST = 256, REACH = 24 /* classes: at most 8 times the size */ };

struct asc_pool {
    asc_storage *free[CLASSES];
};

/* The class whose storage holds `bytes`, and that storage's size. */
static int class_of(size_t bytes, size_t *capacity)
{
    if (bytes < SMALLEST) {
        bytes = SMALLEST;
    }
    int octave = 63 - __builtin_clzll((unsigned long long)bytes);
    size_t base = (size_t)1 << octave, step = base / 8;
    size_t eighth = (bytes - base + step - 1) / step;
    *capacity = base + eighth * step;
    return 8 * (octave - 8) + (int)eighth;
}

asc_status asc_pool_new(asc_ctx *ctx)
{
    ctx->pool = asc_alloc(ctx, sizeof *ctx->pool);
    if (!ctx->pool) {
        return ASC_ERR_MEMORY;
    }
    memset(ctx->pool, 0, sizeof *ctx->pool);
    return ASC_OK;
}

void asc_pool_free(asc_ctx *ctx)
{
    if (!ctx->pool) {
        return;
    }
    for (int c = 0; c < CLASSES; c++) {
        for (asc_storage *s = ctx->pool->free[c], *next; s; s = next) {
            next = s->next;
            asc_free(ctx, s->data, s->capacity);
            asc_free(ctx, s, sizeof *s);
        }
    }
    asc_free(ctx, ctx->pool, sizeof *ctx->pool);
    ctx->pool = NULL;
}

/* Takes storage of the class off its list; with `lent`, only what this outermost scope has not had as its own. */
static asc_storage *take(asc_ctx *ctx, int class, bool lent)
{
    for (asc_storage **at = &ctx->pool->free[class]; *at; at = &(*at)->next) {
        asc_storage *s = *at;
        if (!lent || s->owned_in != ctx->outer_scopes) {
            *at = s->next;
            return s;
        }
    }
    return NULL;
}

static asc_storage *take_pooled(asc_ctx *ctx, int class)
{
    asc_storage *s = take(ctx, class, false);
    if (s) {
        s->owned_in = ctx->outer_scopes;
    }
    for (int c = class + 1; !s && c <= class + REACH && c < CLASSES; c++) {
        s = take(ctx, c, true);
    }
    return s;
}

asc_storage *asc_storage_new(asc_ctx *ctx, size_t bytes)
{
    if (bytes > PTRDIFF_MAX) {
        asc_fail(ctx, ASC_ERR_MEMORY, "out of memory: %zu bytes are more than there can be", bytes);
        return NULL;
    }
    size_t capacity;
    int class = class_of(bytes, &capacity);
    asc_storage *s = take_pooled(ctx, class);
    if (!s) {
        s = asc_alloc(ctx, sizeof *s);
        if (!s) {
            return NULL;
        }
        s->data = asc_alloc(ctx, capacity);
        if (!s->data) {
            asc_free(ctx, s, sizeof *s);
            return NULL;
        }
        s->capacity = capacity;
        s->size_class = class;
        s->owned_in = ctx->outer_scopes;
    }
    s->refs = 1;
    s->version = 0;
    s->next = NULL;
    return s;
}

asc_storage *asc_storage_wrap(asc_ctx *ctx, void *data, void (*on_release)(void *user, void *data), void *user)
{
    asc_storage *s = asc_alloc(ctx, sizeof *s);
    if (s) {
        *s = (asc_storage){.data = data, .refs = 1, .size_class = -1, .on_release = on_release, .user = user};
    }
    return s;
}

void asc_storage_ref(asc_storage *s)
{
    s->refs++;
}

void asc_storage_unref(asc_ctx *ctx, asc_storage *s)
{
    if (!s || --s->refs > 0) {
        return;
    }
    if (s->size_class >= 0) {
        s->next = ctx->pool->free[s->size_class];
        ctx->pool->free[s->size_class] = s;
        return;
    }
    if (s->on_release) {
        s->on_release(s->user, s->data);
    }
    asc_free(ctx, s, sizeof *s);
}
