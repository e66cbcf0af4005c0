/* kernels/packed_tiles.h: bfloat16 as the upper half of a float, and what every kernel does with a tile's sums;
 * included by packed_impl.c and packed_amx.c. */
#ifndef KERNELS_PACKED_TILES_H
#define KERNELS_PACKED_TILES_H

#include <string.h>

#include "kernels/packed.h"
#include "tensor/bf16.h"

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* Loops of a constant number of turns over arrays that are to stay in registers. */
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

static inline uint32_t rounded_at(const float *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    return asc_bf16_bits(bits);
}

static void round_floats(uint16_t *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = (uint16_t)(rounded_at(from + i) >> 16);
    }
}

static void widen_halves(float *to, const uint16_t *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(to + i, &bits, sizeof bits);
    }
}

/* What is subnormal becomes zero of its sign. */
static inline float flushed(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= (bits & 0x7fffffff) < 0x00800000 ? 0x80000000 : 0xffffffff;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A row of a tile: `sum` are its n sums of row i from column j on; `flushes`: as bfloat16's. */
static ALWAYS_INLINE void finish_row(const asc_packed_product *p, const bool flushes, int64_t i, int64_t j, int64_t n,
                                     const float *sum)
{
    float *c = p->c + i * p->ldc + j, alpha = p->alpha;
    if (p->add) {
        for (int64_t l = 0; l < n; l++) {
            c[l] += alpha * (flushes ? flushed(sum[l]) : sum[l]);
        }
    } else if (p->bias) {
        const float *bias = p->bias + j;
        for (int64_t l = 0; l < n; l++) {
            c[l] = bias[l] + alpha * (flushes ? flushed(sum[l]) : sum[l]);
        }
    } else {
        for (int64_t l = 0; l < n; l++) {
            c[l] = alpha * (flushes ? flushed(sum[l]) : sum[l]);
        }
    }
}

static inline int64_t rounded_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static inline int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

#endif
