/* ops/shared/carve.h: memory that is allocated at once, cut into arrays. The same function lays them out twice: first
 * with a space without memory, which only counts the bytes, then in what was allocated. */
#ifndef OPS_CARVE_H
#define OPS_CARVE_H

#include <stddef.h>

typedef struct asc_space {
    char *base; /* NULL: only count */
    size_t used;
} asc_space;

/* The next `bytes`, which begin on a cache line if the memory does. */
static inline void *asc_carve(asc_space *space, size_t bytes)
{
    void *at = space->base ? space->base + space->used : NULL;
    space->used += (bytes + 63) / 64 * 64;
    return at;
}

#endif
