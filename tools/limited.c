/* tools/limited.c: see limited.h. A command has one context, whose thread alone calls these. */
#include "tools/limited.h"

#include <stdlib.h>

static struct {
    size_t most, held;
} memory;

static void *take(void *user, size_t bytes, size_t align)
{
    (void)user;
    void *block = NULL;
    if (bytes > memory.most - memory.held || posix_memalign(&block, align, bytes)) {
        return NULL;
    }
    memory.held += bytes;
    return block;
}

static void give(void *user, void *block, size_t bytes)
{
    (void)user;
    memory.held -= bytes;
    free(block);
}

void limited_set(size_t bytes)
{
    memory.most = bytes;
}

asc_allocator limited_allocator(void)
{
    return memory.most ? (asc_allocator){take, give, NULL} : (asc_allocator){0};
}
