/* kernels/packed_amx.c: products of bfloat16 by AMX. The process has asked for its registers (tensor/cpu.c). */
#include <immintrin.h>

#include "kernels/packed_tiles.h"

enum { UNIT = 32, COLUMNS = 32, TILED = 1 };
#include "kernels/packed_pairs.h"

#define tile_zero(t)            _tile_zero(t)
#define tile_load(t, x, bytes)  _tile_loadd(t, x, bytes)
#define tile_multiply(t, a, b)  _tile_dpbf16ps(t, a, b)
#define tile_store(t, x, bytes) _tile_stored(t, x, bytes)

/* As ldtilecfg reads it: palette 1, bytes and rows of each tile. */
static inline void tiles_begin(void)
{
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&config);
}

static inline void tiles_end(void)
{
    _tile_release();
}

#include "kernels/packed_amx.h"

const asc_packed_kernel asc_bf16_amx = TILES_KERNEL;
