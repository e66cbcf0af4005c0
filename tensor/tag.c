/* tensor/tag.c: what handles point to.
 *
 * A handle may be looked at after its context is gone, so what it points to must stay for good: a tag of 24 bytes,
 * which knows the node of the moment. Tags are the process's, not a context's. They are taken from malloc 64 at a time,
 * lent to a context while it lives, and then serve others; the generations go on counting. So there are as many as
 * there ever were tensors at the same time. */
#include <stdatomic.h>
#include <stdlib.h>

#include "tensor/ctx.h"

static _Atomic(asc_tags *) spare; /* taken as a whole and put back: nobody waits, in a child of fork neither */

static void put_back(asc_tags *list)
{
    asc_tags *there = NULL;
    if (!list || atomic_compare_exchange_strong(&spare, &there, list)) {
        return;
    }
    asc_tags *last = list;
    while (last->next) {
        last = last->next;
    }
    do {
        last->next = there;
    } while (!atomic_compare_exchange_weak(&spare, &there, list));
}

asc_tags *asc_tags_take(void)
{
    asc_tags *tags = atomic_exchange(&spare, NULL);
    if (tags) {
        put_back(tags->next);
    } else {
        tags = calloc(1, sizeof *tags);
    }
    if (tags) {
        tags->next = NULL;
    }
    return tags;
}

void asc_tags_retire(asc_tags *tags)
{
    for (int i = 0; i < ASC_TAGS; i++) {
        asc_tag *tag = &tags->tag[i];
        uint64_t next = atomic_load_explicit(&tag->generation, memory_order_relaxed) + 1;
        atomic_store_explicit(&tag->generation, next, memory_order_relaxed);
        atomic_store_explicit(&tag->lent, next, memory_order_relaxed);
        atomic_store_explicit(&tag->node, NULL, memory_order_relaxed);
    }
}

void asc_tags_give(asc_tags *tags)
{
    put_back(tags);
}
