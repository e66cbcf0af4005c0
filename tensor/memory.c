/* tensor/memory.c: a context's memory, all of which its allocator gives. */
#include "tensor/ctx.h"

#include <string.h>

#include "tensor/processors.h"

asc_status asc_memory_check(asc_ctx *ctx, const char *what, double bytes)
{
    const double gib = 1024.0 * 1024 * 1024, all = asc_memory_bytes();
    if (bytes > all) {
        return asc_fail(ctx, ASC_ERR_MEMORY, "%s %.1f GiB, more than the machine's memory of %.1f GiB", what,
                        bytes / gib, all / gib);
    }
    return ASC_OK;
}

void *asc_alloc(asc_ctx *ctx, size_t bytes)
{
    if (!ctx) {
        return NULL;
    }
    size_t take = bytes ? bytes : 1;
    void *p = ctx->allocator.alloc(ctx->allocator.user, take, 64);
    if (!p) {
        asc_fail(ctx, ASC_ERR_MEMORY, "out of memory: %zu bytes, with %zu held", bytes, ctx->memory.bytes);
        return NULL;
    }
    ctx->memory.allocations++;
    ctx->memory.bytes += take;
    if (ctx->memory.bytes > ctx->memory.peak_bytes) {
        ctx->memory.peak_bytes = ctx->memory.bytes;
    }
    return p;
}

void asc_free(asc_ctx *ctx, void *memory, size_t bytes)
{
    if (ctx && memory) {
        size_t take = bytes ? bytes : 1;
        ctx->memory.bytes -= take;
        ctx->allocator.free(ctx->allocator.user, memory, take);
    }
}

asc_memory_stats asc_memory(const asc_ctx *ctx)
{
    return ctx ? ctx->memory : (asc_memory_stats){0};
}

bool asc_grow(asc_ctx *ctx, void *array, size_t *capacity, size_t need, size_t element)
{
    if (need <= *capacity) {
        return true;
    }
    size_t grown = *capacity ? *capacity * 2 : 64;
    while (grown < need) {
        grown *= 2;
    }
    void *p = asc_alloc(ctx, grown * element);
    if (!p) {
        return false;
    }
    void *before;
    memcpy(&before, array, sizeof before); /* a pointer of any type */
    if (before) {
        memcpy(p, before, *capacity * element);
        asc_free(ctx, before, *capacity * element);
    }
    memcpy(array, &p, sizeof p);
    *capacity = grown;
    return true;
}
