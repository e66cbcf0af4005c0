/* tensor/random.h: the counter-based generator. Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011. */
#ifndef TENSOR_RANDOM_H
#define TENSOR_RANDOM_H

#include <stdint.h>

/* out = Philox 4x32-10 of the counter under the key. */
void asc_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* Number i of stream `stream` of `seed`: uniform on [0, 1) with 53 bits; standard normal (Box and Muller 1958). */
double asc_random_uniform(uint64_t seed, uint64_t stream, uint64_t i);
double asc_random_normal(uint64_t seed, uint64_t stream, uint64_t i);

#endif
