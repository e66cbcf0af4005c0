/* tests/heap.h: an allocator that counts, and fails when it is told to. */
#ifndef TESTS_HEAP_H
#define TESTS_HEAP_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/base.h>

typedef struct heap {
    int64_t calls, blocks; /* so far; not yet freed */
    size_t bytes;          /* of those blocks */
    int64_t fail_at;       /* the number of the call that fails, from 0; NEVER: none */
    bool and_after;        /* and all that follow */
    bool misaligned;       /* a request was */
} heap;

enum { NEVER = -1 };

/* Memory comes full of huge numbers: what is not initialised shows. */
static inline void *heap_alloc(void *user, size_t bytes, size_t align)
{
    heap *h = user;
    int64_t call = h->calls++;
    void *p = NULL;
    if (h->fail_at != NEVER && (call == h->fail_at || (h->and_after && call > h->fail_at))) {
        return NULL;
    }
    h->misaligned |= align < 64 || (align & (align - 1)) != 0;
    if (posix_memalign(&p, align, bytes) != 0) {
        return NULL;
    }
    h->blocks++;
    h->bytes += bytes;
    return memset(p, 0x7F, bytes);
}

static inline void heap_free(void *user, void *memory, size_t bytes)
{
    heap *h = user;
    h->blocks--;
    h->bytes -= bytes;
    free(memory);
}

/* From the call after the next n on, all fail. */
static inline void heap_fail_after(heap *h, int64_t n)
{
    h->fail_at = h->calls + n;
    h->and_after = true;
}

static inline void expect_empty(const heap *h)
{
    ck_assert_msg(h->blocks == 0 && h->bytes == 0, "%lld blocks leak, %zu bytes", (long long)h->blocks, h->bytes);
    ck_assert(!h->misaligned);
}

/* A context on h, which is as `h` says: {.fail_at = NEVER} for one that works. NULL where it fails. */
static inline asc_ctx *context_on(heap *h, int threads)
{
    return asc_ctx_new(&(asc_options){.threads = threads, .allocator = {heap_alloc, heap_free, h}});
}

#endif
