/* tensor/clock.c: the clock by which work is timed. */
#include <time.h>

#include "tensor/ctx.h"

double asc_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
