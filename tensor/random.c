/* tensor/random.c: Philox and what is drawn from it. */
#include "tensor/random.h"

#include <math.h>

void asc_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Two uniform numbers of 53 bits from one block. */
static void block(uint64_t seed, uint64_t stream, uint64_t i, double u[2])
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t w[4];
    asc_philox(key, counter, w);
    for (int j = 0; j < 2; j++) {
        uint64_t bits = ((uint64_t)w[2 * j] << 32 | w[2 * j + 1]) >> 11;
        u[j] = (double)bits * 0x1p-53;
    }
}

double asc_random_uniform(uint64_t seed, uint64_t stream, uint64_t i)
{
    double u[2];
    block(seed, stream, i, u);
    return u[0];
}

double asc_random_normal(uint64_t seed, uint64_t stream, uint64_t i)
{
    double u[2];
    block(seed, stream, i, u);
    return sqrt(-2 * log(1 - u[0])) * cos(6.283185307179586 * u[1]);
}
