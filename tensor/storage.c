/* tensor/storage.c: storage and its pool.
 *
 * Storage that is let go serves later requests, so that a step that repeats the last one's shapes asks the allocator
 * for nothing.
 *
 * The large storage of a scope is cut out of chunks of memory by first fit (Knuth, The Art of Computer Programming 1,
 * 2.5, algorithms A and B): from the free block with the lowest address in the oldest chunk that has one. What is let
 * go joins the free blocks beside it, and a request without room brings a chunk, which is then the youngest. So memory
 * serves requests of any size, and a step of smaller shapes, the last batch of an epoch, gets by with what there is. A
 * step that repeats another finds each block where that one found it, and needs no chunk that it did not need.
 *
 * Small storage waits in a list of its size class; so does what is to outlive scopes, parameters and gradients, which
 * would stand between the blocks of chunks and break up the room. Classes are an eighth of a power of two apart: at
 * most an eighth is wasted. */
#include "tensor/ctx.h"

#include <string.h>

enum { CLASSES = 8 * 60, SMALLEST = 256, LARGE = 1 << 16, LINE = 64 };
enum { CALLERS = -1, IN_CHUNK = -2 }; /* size classes that are none */

typedef struct chunk {
    void *data;
    size_t capacity;
} chunk;

struct asc_pool {
    asc_storage *free[CLASSES];
    asc_storage *blocks; /* free ones of the chunks, by chunk and address */
    asc_storage *spare;  /* that have no memory */
    chunk *chunks;       /* the oldest first */
    size_t n_chunks, cap_chunks;
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

/* Frees a list of storage, and the memory of each where it is its own. */
static void free_list(asc_ctx *ctx, asc_storage *list, bool memory)
{
    for (asc_storage *next; list; list = next) {
        next = list->next;
        if (memory) {
            asc_free(ctx, list->data, list->capacity);
        }
        asc_free(ctx, list, sizeof *list);
    }
}

void asc_pool_free(asc_ctx *ctx)
{
    asc_pool *pool = ctx->pool;
    if (!pool) {
        return;
    }
    for (int c = 0; c < CLASSES; c++) {
        free_list(ctx, pool->free[c], true);
    }
    free_list(ctx, pool->blocks, false);
    free_list(ctx, pool->spare, false);
    for (size_t i = 0; i < pool->n_chunks; i++) {
        asc_free(ctx, pool->chunks[i].data, pool->chunks[i].capacity);
    }
    asc_free(ctx, pool->chunks, pool->cap_chunks * sizeof *pool->chunks);
    asc_free(ctx, pool, sizeof *pool);
    ctx->pool = NULL;
}

/* ---- size classes ---- */

static asc_storage *take_from_class(asc_ctx *ctx, size_t bytes)
{
    size_t capacity;
    int class = class_of(bytes, &capacity);
    asc_storage *s = ctx->pool->free[class];
    if (s) {
        ctx->pool->free[class] = s->next;
        return s;
    }
    s = asc_alloc(ctx, sizeof *s);
    if (!s) {
        return NULL;
    }
    *s = (asc_storage){.data = asc_alloc(ctx, capacity), .capacity = capacity, .size_class = class};
    if (!s->data) {
        asc_free(ctx, s, sizeof *s);
        return NULL;
    }
    return s;
}

/* ---- chunks ---- */

static asc_storage *new_block(asc_ctx *ctx, void *data, size_t capacity, size_t number)
{
    asc_storage *s = ctx->pool->spare;
    if (s) {
        ctx->pool->spare = s->next;
    } else if (!(s = asc_alloc(ctx, sizeof *s))) {
        return NULL;
    }
    *s = (asc_storage){.data = data, .capacity = capacity, .size_class = IN_CHUNK, .chunk = number};
    return s;
}

/* A chunk of at least `bytes`, as one free block that is in no list yet. Its size is a class's, so that requests that
 * grow little by little don't each bring a chunk. */
static asc_storage *new_chunk(asc_ctx *ctx, size_t bytes)
{
    asc_pool *pool = ctx->pool;
    size_t capacity, number = pool->n_chunks;
    class_of(bytes, &capacity);
    if (!asc_grow(ctx, &pool->chunks, &pool->cap_chunks, number + 1, sizeof *pool->chunks)) {
        return NULL;
    }
    void *data = asc_alloc(ctx, capacity);
    asc_storage *block = data ? new_block(ctx, data, capacity, number) : NULL;
    if (!block) {
        asc_free(ctx, data, capacity);
        return NULL;
    }
    pool->chunks[pool->n_chunks++] = (chunk){data, capacity};
    return block;
}

/* Cuts a block out of the first free one with room. */
static asc_storage *take_from_chunk(asc_ctx *ctx, size_t bytes)
{
    asc_storage **at = &ctx->pool->blocks;
    bytes = (bytes + LINE - 1) / LINE * LINE;
    while (*at && (*at)->capacity < bytes) {
        at = &(*at)->next;
    }
    if (!*at && !(*at = new_chunk(ctx, bytes))) {
        return NULL;
    }
    asc_storage *block = *at;
    if (block->capacity == bytes) {
        *at = block->next;
        return block;
    }
    asc_storage *front = new_block(ctx, block->data, bytes, block->chunk);
    if (front) {
        block->data = (char *)block->data + bytes;
        block->capacity -= bytes;
    }
    return front;
}

/* Makes one block of two that follow each other in the list, if they do in memory. */
static void join(asc_pool *pool, asc_storage *a, asc_storage *b)
{
    if (a && b && a->chunk == b->chunk && (char *)a->data + a->capacity == (char *)b->data) {
        a->capacity += b->capacity;
        a->next = b->next;
        b->next = pool->spare;
        pool->spare = b;
    }
}

static void return_to_chunk(asc_pool *pool, asc_storage *s)
{
    asc_storage *before = NULL, *after = pool->blocks;
    while (after && (after->chunk < s->chunk || (after->chunk == s->chunk && after->data < s->data))) {
        before = after;
        after = after->next;
    }
    s->next = after;
    *(before ? &before->next : &pool->blocks) = s;
    join(pool, s, after);
    join(pool, before, s);
}

/* ---- storage ---- */

static asc_storage *serve(asc_ctx *ctx, size_t bytes, bool lasting)
{
    if (bytes > PTRDIFF_MAX) {
        asc_fail(ctx, ASC_ERR_MEMORY, "out of memory: %zu bytes are more than there can be", bytes);
        return NULL;
    }
    asc_storage *s = lasting || bytes < LARGE ? take_from_class(ctx, bytes) : take_from_chunk(ctx, bytes);
    if (s) {
        s->refs = 1;
        s->stamp = (asc_stamp){0};
        s->gradients = (asc_extent){PTRDIFF_MAX, 0};
        s->operands = 0;
        s->keeps_whole = s->is_rounded = false;
        s->half = NULL;
        s->served = ++ctx->n_served;
        s->next = NULL;
    }
    return s;
}

asc_storage *asc_storage_new(asc_ctx *ctx, size_t bytes)
{
    return ctx ? serve(ctx, bytes, ctx->n_scopes == 0) : NULL;
}

asc_storage *asc_storage_lasting(asc_ctx *ctx, size_t bytes)
{
    return serve(ctx, bytes, true);
}

asc_storage *asc_storage_wrap(asc_ctx *ctx, void *data, void (*on_release)(void *user, void *data), void *user)
{
    asc_storage *s = asc_alloc(ctx, sizeof *s);
    if (s) {
        *s = (asc_storage){.data = data, .refs = 1, .size_class = CALLERS, .served = ++ctx->n_served,
                           .gradients = {PTRDIFF_MAX, 0}, .on_release = on_release, .user = user};
    }
    return s;
}

asc_extent asc_storage_extent(const asc_storage *s, const asc_array *a)
{
    ptrdiff_t from = (const char *)a->data - (const char *)s->data;
    return (asc_extent){from, from + (ptrdiff_t)asc_array_span(a)};
}

void asc_storage_add_gradient(asc_storage *s, const asc_array *a)
{
    s->stamp.gradients++;
    s->gradients = asc_extent_both(s->gradients, asc_storage_extent(s, a));
}

bool asc_storage_changed(const asc_storage *s, asc_stamp since, asc_extent range)
{
    return s->stamp.writes != since.writes ||
           (s->stamp.gradients != since.gradients && range.from < s->gradients.to && s->gradients.from < range.to);
}

void asc_storage_ref(asc_storage *s)
{
    s->refs++;
}

static void let_go(asc_ctx *ctx, asc_storage *s)
{
    if (s->size_class >= 0) {
        s->next = ctx->pool->free[s->size_class];
        ctx->pool->free[s->size_class] = s;
    } else if (s->size_class == IN_CHUNK) {
        return_to_chunk(ctx->pool, s);
    } else {
        if (s->on_release) {
            s->on_release(s->user, s->data);
        }
        asc_free(ctx, s, sizeof *s);
    }
}

/* ---- rounding ---- */

/* Takes the memory of `other`, which goes with what it was. */
static void move_to(asc_ctx *ctx, asc_storage *s, asc_storage *other)
{
    asc_storage was = *s;
    s->data = other->data, s->capacity = other->capacity;
    s->chunk = other->chunk, s->size_class = other->size_class;
    other->data = was.data, other->capacity = was.capacity;
    other->chunk = was.chunk, other->size_class = was.size_class;
    let_go(ctx, other);
}

enum { PIECE = 1 << 14 };

/* n elements between the two forms. */
typedef struct conversion {
    const asc_rounding *rounding;
    float *floats;
    uint16_t *halves;
    int64_t n;
} conversion;

static int64_t length_of(const conversion *c, int64_t piece)
{
    int64_t left = c->n - piece * PIECE;
    return left < PIECE ? left : PIECE;
}

static void round_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const conversion *c = arg;
    c->rounding->round(c->halves + piece * PIECE, c->floats + piece * PIECE, length_of(c, piece));
}

static void widen_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const conversion *c = arg;
    c->rounding->widen(c->floats + piece * PIECE, c->halves + piece * PIECE, length_of(c, piece));
}

static void round_off(asc_ctx *ctx, asc_storage *s)
{
    asc_storage *half = s->half;
    conversion c = {s->rounding, s->data, half->data, (int64_t)(s->capacity / sizeof(float))};
    asc_parallel(ctx, (c.n + PIECE - 1) / PIECE, round_piece, &c);
    s->half = NULL;
    s->is_rounded = true;
    move_to(ctx, s, half);
}

asc_status asc_storage_widen(asc_ctx *ctx, asc_storage *s)
{
    if (!s->is_rounded) {
        return ASC_OK;
    }
    asc_storage *whole = asc_storage_new(ctx, 2 * s->capacity);
    if (!whole) {
        return ASC_ERR_MEMORY;
    }
    conversion c = {s->rounding, whole->data, s->data, (int64_t)(s->capacity / sizeof(uint16_t))};
    asc_parallel(ctx, (c.n + PIECE - 1) / PIECE, widen_piece, &c);
    s->is_rounded = false;
    move_to(ctx, s, whole);
    return ASC_OK;
}

static void drop_half(asc_ctx *ctx, asc_storage *s)
{
    if (s->half) {
        let_go(ctx, s->half);
        s->half = NULL;
    }
}

void asc_storage_unref(asc_ctx *ctx, asc_storage *s)
{
    if (s && --s->refs == 0) {
        drop_half(ctx, s);
        let_go(ctx, s);
    } else if (s && s->half && s->refs == s->operands) {
        round_off(ctx, s);
    }
}

void asc_storage_ref_whole(asc_ctx *ctx, asc_storage *s)
{
    s->refs++;
    s->keeps_whole = true;
    drop_half(ctx, s);
}

asc_status asc_storage_ref_rounded(asc_ctx *ctx, asc_storage *s, const asc_rounding *rounding)
{
    if (s->size_class == IN_CHUNK && !s->keeps_whole && s->operands == 0) {
        s->rounding = rounding;
        s->half = asc_storage_new(ctx, s->capacity / 2);
        if (!s->half) {
            return ASC_ERR_MEMORY;
        }
    }
    s->refs++;
    s->operands++;
    return ASC_OK;
}

void asc_storage_unref_rounded(asc_ctx *ctx, asc_storage *s)
{
    if (--s->operands == 0) {
        drop_half(ctx, s);
    }
    asc_storage_unref(ctx, s);
}
