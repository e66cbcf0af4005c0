/* tools/limited.h: --max-memory: an allocator that has so much and no more. */
#ifndef TOOLS_LIMITED_H
#define TOOLS_LIMITED_H

#include <ascgrad/base.h>

#define CLI_MAX_MEMORY(args)                                                                                           \
    {                                                                                                                  \
        "max-memory", 0, "MIB", CLI_INT, offsetof(args, max_memory), 1, 1e9,                                           \
            "end with status 3 where tensors and what is read take more MiB than that (no limit)"                      \
    }

/* From here on contexts have at most so many MiB; 0: no limit. */
void limited_set(int64_t mib);

/* What a context is made with. */
asc_allocator limited_allocator(void);

#endif
