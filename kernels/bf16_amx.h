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
 * Four tiles of sums: 32 rows of A by a panel, which are what eight tiles hold with two of A and two of B. Packed
 * squares are tiles as they lie. Rows of A stay in the first cache while B goes by, so that C is written row after row,
 * not a page apart.
 */

enum { SQUARE = SIDE * SIDE }; /* pairs of a tile */

static ALWAYS_INLINE void store_sums(float *to, int64_t ld)
{
    int64_t bytes = ld * (int64_t)sizeof *to;
    tile_store(0, to, bytes);
    tile_store(1, to + SIDE, bytes);
    tile_store(2, to + SIDE * ld, bytes);
    tile_store(3, to + SIDE * ld + SIDE, bytes);
}

static ALWAYS_INLINE void multiply_square(const asc_bf16_product *p, int64_t i, int64_t j, const bool second)
{
    int64_t width = rounded_up(p->k, UNIT) / 2;
    enum { BYTES = SIDE * sizeof(element) };
    const element *a = (const element *)p->a + i * width, *b = (const element *)p->b + j * width;
    int64_t rows = at_most(p->m - i, 2 * SIDE), columns = at_most(p->n - j, COLUMNS);
    for (int64_t r = 0; r < rows && p->add; r++) {
        const float *c = p->c + (i + r) * p->ldc + j;
        FETCH(c);
        FETCH(c + columns - 1);
    }
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    for (int64_t l = 0; l < width * SIDE; l += SQUARE) {
        tile_load(6, b + 2 * l, BYTES);
        tile_load(4, a + l, BYTES);
        tile_load(7, b + 2 * l + SQUARE, BYTES);
        tile_multiply(0, 4, 6);
        tile_multiply(1, 4, 7);
        if (second) {
            tile_load(5, a + SIDE * width + l, BYTES);
            tile_multiply(2, 5, 6);
            tile_multiply(3, 5, 7);
        }
    }
    if (rows == 2 * SIDE && columns == COLUMNS && p->alpha == 1 && !p->add && !p->bias) {
        store_sums(p->c + i * p->ldc + j, p->ldc);
        return;
    }
    _Alignas(64) float sums[2 * SIDE][COLUMNS];
    store_sums(sums[0], COLUMNS);
    for (int64_t r = 0; r < rows; r++) {
        finish_row(p, i + r, j, columns, sums[r]);
    }
}

static void multiply(const asc_bf16_product *p)
{
    tiles_begin();
    for (int64_t i = 0; i < p->m; i += 2 * SIDE) {
        for (int64_t j = 0; j < p->n; j += COLUMNS) {
            if (p->m - i > SIDE) {
                multiply_square(p, i, j, true);
            } else {
                multiply_square(p, i, j, false);
            }
        }
    }
    tiles_end();
}
