/*
 * kernels/bf16_amx.h: products of bfloat16 on tiles; included by bf16_amx.c, and by a test with tiles of its own, after
 * bf16_pairs.h and these functions, whose tile numbers are constants:
 *
 *   tiles_begin()            every tile 16 rows of 64 bytes
 *   tile_zero(t)             t = 0
 *   tile_load(t, x, bytes)   row r of t is at x + r bytes
 *   tile_multiply(t, a, b)   t [16, 16] floats += a [16 rows, 16 pairs] b [16 pairs, 16 columns], as tdpbf16ps
 *   tile_store(t, x, bytes)
 *   tiles_end()
 *
 * Four tiles of sums: 32 rows of A by a panel, which are what eight tiles hold with two of A and two of B.
 */

enum { TILE = 16, PAIRS = 16 }; /* rows or columns, and pairs of k, of a tile */

static inline void multiply_square(const asc_bf16_product *p, int64_t i, int64_t j, bool second)
{
    int64_t width = rounded_up(p->k, UNIT) / 2, bytes = width * (int64_t)sizeof(element);
    const element *a = (const element *)p->a + i * width, *b = (const element *)p->b + j * width;
    float sums[2 * TILE][COLUMNS];
    enum { ROW = sizeof sums[0] };
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    for (int64_t l = 0; l < width; l += PAIRS) {
        tile_load(4, a + l, bytes);
        tile_load(6, b + l * COLUMNS, ROW);
        tile_load(7, b + l * COLUMNS + TILE, ROW);
        tile_multiply(0, 4, 6);
        tile_multiply(1, 4, 7);
        if (second) {
            tile_load(5, a + l + TILE * width, bytes);
            tile_multiply(2, 5, 6);
            tile_multiply(3, 5, 7);
        }
    }
    tile_store(0, sums[0], ROW);
    tile_store(1, sums[0] + TILE, ROW);
    tile_store(2, sums[TILE], ROW);
    tile_store(3, sums[TILE] + TILE, ROW);
    int64_t rows = at_most(p->m - i, 2 * TILE), columns = at_most(p->n - j, COLUMNS);
    for (int64_t r = 0; r < rows; r++) {
        finish_row(p, i + r, j, columns, sums[r]);
    }
}

static void multiply(const asc_bf16_product *p)
{
    tiles_begin();
    for (int64_t j = 0; j < p->n; j += COLUMNS) {
        for (int64_t i = 0; i < p->m; i += 2 * TILE) {
            multiply_square(p, i, j, p->m - i > TILE);
        }
    }
    tiles_end();
}
