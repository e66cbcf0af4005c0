/* tensor/splitmix.h: splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014):
 * a number out of a number, for choices that are to be the same wherever they are made. */
#ifndef TENSOR_SPLITMIX_H
#define TENSOR_SPLITMIX_H

#include <stdint.h>

/* The generator's first output from a state. */
static inline uint64_t asc_splitmix64(uint64_t state)
{
    uint64_t z = state + 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

/* The m-th of n random links of the query at position i, among `keys` of them. */
static inline int64_t asc_random_link(int64_t i, int64_t n, int64_t m, int64_t keys)
{
    return (int64_t)(asc_splitmix64((uint64_t)i * (uint64_t)n + (uint64_t)m) % (uint64_t)keys);
}

#endif
