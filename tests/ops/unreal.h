/* tests/ops/unreal.h: a context for tensors too large to be real: from 2 GiB on their memory can't be touched. */
#ifndef TESTS_OPS_UNREAL_H
#define TESTS_OPS_UNREAL_H

#include <sys/mman.h>

#include "tests/ops/values.h"

static const size_t unreal = (size_t)1 << 31;

static void *alloc_unreal(void *user, size_t bytes, size_t align)
{
    if (bytes < unreal) {
        return heap_alloc(user, bytes, align);
    }
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void free_unreal(void *user, void *memory, size_t bytes)
{
    if (bytes < unreal) {
        heap_free(user, memory, bytes);
    } else {
        munmap(memory, bytes);
    }
}

/* Takes the place of the test's context. */
static void setup_unreal(void)
{
    teardown();
    ctx = asc_ctx_new(&(asc_options){.threads = 2, .allocator = {alloc_unreal, free_unreal, &memory}});
    ck_assert_ptr_nonnull(ctx);
}

#endif
