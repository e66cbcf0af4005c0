/* tests/kernels/tiles.h: AMX's tiles in plain C, and the kernel of kernels/packed_amx.h on them. */
#ifndef TESTS_KERNELS_TILES_H
#define TESTS_KERNELS_TILES_H

#include <math.h>

#include "kernels/packed_tiles.h"

enum { UNIT = 32, COLUMNS = 32, TILED = 1 };
#include "kernels/packed_pairs.h"

/* Eight tiles of 16 rows of 64 bytes, as bits of floats, or as pairs of bfloat16. */
static uint32_t tiles[8][16][16];

static void tiles_begin(void)
{
    memset(tiles, 0, sizeof tiles);
}

static void tiles_end(void) {}

static void tile_zero(int t)
{
    memset(tiles[t], 0, sizeof tiles[t]);
}

static void tile_load(int t, const void *x, int64_t bytes)
{
    for (int r = 0; r < 16; r++) {
        memcpy(tiles[t][r], (const char *)x + r * bytes, 64);
    }
}

static void tile_store(int t, void *x, int64_t bytes)
{
    for (int r = 0; r < 16; r++) {
        memcpy((char *)x + r * bytes, tiles[t][r], 64);
    }
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* One of a pair, 0: the first; a subnormal is 0. */
static float half_of(uint32_t pair, int which)
{
    return flushed(from_bits(which ? pair & 0xffff0000 : pair << 16));
}

/* tdpbf16ps (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2): for every element the products of
 * the first of pairs are added, and those of the second, fused, each in order; then the two sums, then that and the
 * element; to nearest, a subnormal becoming 0 each time. */
static void tile_multiply(int t, int a, int b)
{
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++) {
            float sum[2] = {0, 0}, element = flushed(from_bits(tiles[t][i][j]));
            for (int l = 0; l < 16; l++) {
                for (int half = 0; half < 2; half++) {
                    sum[half] = flushed(fmaf(half_of(tiles[a][i][l], half), half_of(tiles[b][l][j], half), sum[half]));
                }
            }
            element = flushed(element + flushed(sum[0] + sum[1]));
            memcpy(&tiles[t][i][j], &element, sizeof element);
        }
    }
}

#include "kernels/packed_amx.h"

static const asc_packed_kernel tiles_in_c = TILES_KERNEL;

#endif
