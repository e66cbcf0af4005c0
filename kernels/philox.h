/*
 * kernels/philox.h: Philox 4x32-10, a vector of blocks at a time.
 *
 * A 64-bit lane holds one 32-bit word of one block's state. Its upper half may hold anything between the
 * rounds: the multiplication reads the lower half only.
 */
#ifndef KERNELS_PHILOX_H
#define KERNELS_PHILOX_H

#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define PHILOX_LANES 8
#elif defined(__AVX2__)
#define PHILOX_LANES 4
#else
#define PHILOX_LANES 2
#endif

typedef uint64_t philox_lanes __attribute__((vector_size(8 * PHILOX_LANES)));

/* The products of the lanes' lower halves with m. Compilers don't see that one instruction does it. */
static inline philox_lanes mul_wide(philox_lanes a, uint32_t m)
{
#if defined(__AVX512F__)
    return (philox_lanes)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(m));
#elif defined(__AVX2__)
    return (philox_lanes)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(m));
#elif defined(__SSE2__)
    return (philox_lanes)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(m));
#else
    return (a & 0xFFFFFFFFu) * (uint64_t)m;
#endif
}

/* The lower halves of a and b as two words that stand one behind the other in memory. */
static inline philox_lanes pair_words(philox_lanes a, philox_lanes b)
{
    bool low_first = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    philox_lanes first = low_first ? a : b, second = low_first ? b : a;
    return (first & 0xFFFFFFFFu) | (second << 32);
}

/* The blocks first … first+PHILOX_LANES-1, four words each. */
static inline void philox_group(uint32_t *y, asc_philox_key key, uint64_t first)
{
    typedef uint64_t word_pair __attribute__((aligned(4), may_alias));
    philox_lanes c0;
    for (int l = 0; l < PHILOX_LANES; l++) {
        c0[l] = first + (uint64_t)l;
    }
    philox_lanes c1 = c0 >> 32;
    philox_lanes c2 = (philox_lanes){0} + key.stream, c3 = c2 >> 32;
    uint32_t k0 = (uint32_t)key.seed, k1 = (uint32_t)(key.seed >> 32);
    for (int round = 0; round < 10; round++) {
        philox_lanes a = mul_wide(c0, 0xD2511F53u), b = mul_wide(c2, 0xCD9E8D57u);
        c0 = (b >> 32) ^ c1 ^ k0;
        c2 = (a >> 32) ^ c3 ^ k1;
        c1 = b;
        c3 = a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    philox_lanes low = pair_words(c0, c1), high = pair_words(c2, c3);
    word_pair *out = (word_pair *)y;
    for (int l = 0; l < PHILOX_LANES; l++) {
        out[2 * l] = low[l];
        out[2 * l + 1] = high[l];
    }
}

/* Elements offset … offset+n-1 of the sequence. */
static void philox_words(uint32_t *y, int64_t n, asc_philox_key key, uint64_t offset)
{
    enum { WORDS = 4 * PHILOX_LANES };
    uint32_t part[WORDS];
    int64_t done = 0, skip = (int64_t)(offset % 4);
    if (skip) {
        philox_group(part, key, offset / 4);
        done = n < WORDS - skip ? n : WORDS - skip;
        memcpy(y, part + skip, (size_t)done * sizeof *y);
    }
    for (; done + WORDS <= n; done += WORDS) {
        philox_group(y + done, key, (offset + (uint64_t)done) / 4);
    }
    if (done < n) {
        philox_group(part, key, (offset + (uint64_t)done) / 4);
        memcpy(y + done, part, (size_t)(n - done) * sizeof *y);
    }
}

/* Uniform on [0, 1) from one element of the sequence, or from two. */
static inline float unit_f32(const uint32_t *w)
{
    return (float)(int32_t)(w[0] >> 8) * 0x1p-24f;
}

static inline double unit_f64(const uint32_t *w)
{
    return (double)(((uint64_t)w[0] << 32 | w[1]) >> 11) * 0x1p-53;
}

#endif
