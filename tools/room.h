/* tools/room.h: whether a limit on address space leaves OpenBLAS room. */
#ifndef TOOLS_ROOM_H
#define TOOLS_ROOM_H

#include <stdint.h>

/* Ends the program with status 3 where so many threads that compute don't fit under the limit. 0: one per processor. */
void room_check(int64_t threads);

#endif
