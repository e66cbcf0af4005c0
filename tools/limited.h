/* tools/limited.h: an allocator that has so much and no more: of --max-memory, and of bench. */
#ifndef TOOLS_LIMITED_H
#define TOOLS_LIMITED_H

#include <ascgrad/base.h>

#define CLI_MAX_MEMORY(args)                                                                                           \
    {                                                                                                                  \
        "max-memory", 0, "MIB", CLI_INT, offsetof(args, max_memory), 1, 1e9,                                           \
            "end with status 3 where tensors and what is read take more MiB than that (no limit)"                      \
    }

/* From here on contexts have at most so many bytes; 0: no limit. */
void limited_set(size_t bytes);

/* What a context is made with. */
asc_allocator limited_allocator(void);

#endif
