/* stats/draw.c: random numbers of the statistics: functions of seed, stream and number, with no state. */
#include "stats/stats.h"
#include "tensor/random.h"

double asc_stats_uniform(uint64_t seed, uint64_t stream, uint64_t draw)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)draw, (uint32_t)(draw >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t out[4];
    asc_philox(key, counter, out);
    return (double)(((uint64_t)out[0] << 32 | out[1]) >> 11) * 0x1p-53;
}

void asc_stats_shuffle(int64_t *x, int64_t n, uint64_t seed, uint64_t stream)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t other = (int64_t)(asc_stats_uniform(seed, stream, (uint64_t)i) * (double)(i + 1)), held = x[i];
        x[i] = x[other];
        x[other] = held;
    }
}
