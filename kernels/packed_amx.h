/*
 * kernels/packed_amx.h: products of bfloat16 on tiles; included by packed_amx.c, and by a test with tiles of its own,
 * after packed_pairs.h and these functions, whose tile numbers are constants:
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

static ALWAYS_INLINE void load_sums(const float *from, int64_t ld)
{
    int64_t bytes = ld * (int64_t)sizeof *from;
    tile_load(0, from, bytes);
    tile_load(1, from + SIDE, bytes);
    tile_load(2, from + SIDE * ld, bytes);
    tile_load(3, from + SIDE * ld + SIDE, bytes);
}

static ALWAYS_INLINE void store_sums(float *to, int64_t ld)
{
    int64_t bytes = ld * (int64_t)sizeof *to;
    tile_store(0, to, bytes);
    tile_store(1, to + SIDE, bytes);
    tile_store(2, to + SIDE * ld, bytes);
    tile_store(3, to + SIDE * ld + SIDE, bytes);
}

/* sums [32, COLUMNS] += 32 rows of A, or 16, times a panel, in tiles. */
static ALWAYS_INLINE void add_products(const element *a, const element *b, int64_t width, const bool second)
{
    enum { BYTES = SIDE * sizeof(element) };
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
}

/* What sums begin with: `ld` from row to row. */
static ALWAYS_INLINE void begin_sums(const float *base, int64_t ld)
{
    if (base) {
        load_sums(base, ld);
    } else {
        tile_zero(0);
        tile_zero(1);
        tile_zero(2);
        tile_zero(3);
    }
}

/* Rows and columns at the end of C, or sums that take a factor. */
static inline void multiply_part(const asc_packed_product *p, int64_t i, int64_t j, const float *base, int64_t ld)
{
    _Alignas(64) float sums[2 * SIDE][COLUMNS];
    int64_t rows = at_most(p->m - i, 2 * SIDE), columns = at_most(p->n - j, COLUMNS);
    int64_t width = rounded_up(p->k, UNIT) / 2;
    const element *a = (const element *)p->a + i * width, *b = (const element *)p->b + j * width;
    if (base) {
        memset(sums, 0, sizeof sums);
        for (int64_t r = 0; r < rows; r++) {
            memcpy(sums[r], base + r * ld, (size_t)columns * sizeof *base);
        }
    }
    begin_sums(base ? sums[0] : NULL, COLUMNS);
    if (rows > SIDE) {
        add_products(a, b, width, true);
    } else {
        add_products(a, b, width, false);
    }
    store_sums(sums[0], COLUMNS);
    for (int64_t r = 0; r < rows; r++) {
        if (p->alpha == 1) {
            memcpy(p->c + (i + r) * p->ldc + j, sums[r], (size_t)columns * sizeof *p->c);
        } else if (columns == COLUMNS) {
            finish_row(p, false, i + r, j, COLUMNS, sums[r]);
        } else {
            finish_row(p, false, i + r, j, columns, sums[r]);
        }
    }
}

static void multiply(const asc_packed_product *p)
{
    int64_t width = rounded_up(p->k, UNIT) / 2, ld = p->add ? p->ldc : 0;
    tiles_begin();
    for (int64_t i = 0; i < p->m; i += 2 * SIDE) {
        for (int64_t j = 0; j < p->n; j += COLUMNS) {
            float *c = p->c + i * p->ldc + j;
            const float *base = p->alpha != 1 ? NULL : p->add ? c : p->bias ? p->bias + j : NULL;
            if (p->alpha != 1 || p->m - i < 2 * SIDE || p->n - j < COLUMNS) {
                multiply_part(p, i, j, base, ld);
                continue;
            }
            begin_sums(base, ld);
            add_products((const element *)p->a + i * width, (const element *)p->b + j * width, width, true);
            store_sums(c, p->ldc);
        }
    }
    tiles_end();
}

/* What both are that include this. */
#define TILES_KERNEL                                                                                                   \
    {                                                                                                                  \
        .element = 2, .depth = 512, .unit = UNIT, .rows = SIDE, .columns = COLUMNS, .pack_rows = pack_rows,            \
        .pack_panels = pack_panels, .turn_rows = turn_rows, .multiply = multiply,                                      \
        .rounding = {round_floats, widen_halves}, .least = 2048,                                                       \
    }
