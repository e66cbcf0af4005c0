/*
 * kernels/packed_impl.c: products of packed operands, compiled once for each set of instructions with ASC_ISA defined
 * as plain, avx2, avx512 or avx512_bf16. Each compilation exports its tables and nothing else: of products of bfloat16,
 * and but for the last of floats as they are.
 */
#include "kernels/packed.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/packed_tiles.h"

/* A tile of C in registers, ROWS by VECTORS of LANES each: with a row of B and one of A's elements all that there are
 * of them, or nearly. */
#if defined(__AVX512F__)
enum { BYTES = 64, ROWS = 12, VECTORS = 2 };
#elif defined(__AVX2__)
enum { BYTES = 32, ROWS = 6, VECTORS = 2 };
#else
enum { BYTES = 16, ROWS = 4, VECTORS = 2 };
#endif
enum { LANES = BYTES / 4, COLUMNS = VECTORS * LANES };
typedef float vector __attribute__((vector_size(BYTES), aligned(4), may_alias));

#if defined(ASC_BF16_PRODUCTS)
enum { UNIT = 32, STEP = 1, FILL = 16, TILED = 0 };
#include "kernels/packed_pairs.h"

static ALWAYS_INLINE void add_pair(const int rows, vector sum[ROWS][VECTORS], const element *a, int64_t lda,
                                   const element *b)
{
    __m512bh x[VECTORS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        x[v] = (__m512bh)_mm512_loadu_si512(b + v * LANES);
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        __m512bh y = (__m512bh)_mm512_set1_epi32((int)a[r * lda]);
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            sum[r][v] = _mm512_dpbf16_ps(sum[r][v], y, x[v]);
        }
    }
}
#else
enum { UNIT = 2, STEP = 2, FILL = 1 };

#if defined(__AVX512F__)
static ALWAYS_INLINE vector broadcast(float x)
{
    return _mm512_set1_ps(x);
}

static ALWAYS_INLINE vector multiply_add(vector x, vector y, vector z)
{
    return _mm512_fmadd_ps(x, y, z);
}
#elif defined(__AVX2__)
static ALWAYS_INLINE vector broadcast(float x)
{
    return _mm256_set1_ps(x);
}

static ALWAYS_INLINE vector multiply_add(vector x, vector y, vector z)
{
    return _mm256_fmadd_ps(x, y, z);
}
#else
static ALWAYS_INLINE vector broadcast(float x)
{
    return (vector){x, x, x, x};
}

static ALWAYS_INLINE vector multiply_add(vector x, vector y, vector z)
{
    return x * y + z; /* the product of two bfloat16 is exact */
}
#endif

#include "kernels/packed_floats.h"
#endif

/* A tile of C: `rows` of A, whose sums stay in registers, by a panel. */
static ALWAYS_INLINE void multiply_tile(const int rows, const bool flushes, const asc_packed_product *p, int64_t i,
                                        int64_t j)
{
    int64_t depth = rounded_up(p->k, UNIT) / 2 * STEP, lda = p->lda > 0 ? p->lda : depth;
    const element *a = (const element *)p->a + i * lda, *b = (const element *)p->b + j * depth;
    vector sum[ROWS][VECTORS];
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            sum[r][v] = (vector){0};
        }
    }
    for (int64_t pair = 0; 2 * pair < p->k; pair++) {
        add_pair(rows, sum, a + pair * STEP, lda, b + pair * STEP * COLUMNS);
    }
    float sums[ROWS][COLUMNS];
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            *(vector *)(sums[r] + v * LANES) = sum[r][v];
        }
    }
    int64_t columns = at_most(p->n - j, COLUMNS);
    for (int r = 0; r < rows; r++) {
        finish_row(p, flushes, i + r, j, columns, sums[r]);
    }
}

typedef void tile_fn(const asc_packed_product *p, int64_t i, int64_t j);

/* One function for each number of rows. */
#define TILE(n)                                                                                                        \
    static void multiply_##n(const asc_packed_product *p, int64_t i, int64_t j)                                        \
    {                                                                                                                  \
        multiply_tile(n, true, p, i, j);                                                                               \
    }                                                                                                                  \
    TILE_F32(n)
#if defined(ASC_BF16_PRODUCTS)
#define TILE_F32(n)
#else
#define TILE_F32(n)                                                                                                    \
    static void multiply_f32_##n(const asc_packed_product *p, int64_t i, int64_t j)                                    \
    {                                                                                                                  \
        multiply_tile(n, false, p, i, j);                                                                              \
    }
#endif
TILE(1)
TILE(2)
TILE(3)
TILE(4)
#if defined(__AVX2__)
TILE(5)
TILE(6)
#endif
#if defined(__AVX512F__)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
#endif

#if defined(__AVX512F__)
#define TILES(f) {f##1, f##2, f##3, f##4, f##5, f##6, f##7, f##8, f##9, f##10, f##11, f##12}
#elif defined(__AVX2__)
#define TILES(f) {f##1, f##2, f##3, f##4, f##5, f##6}
#else
#define TILES(f) {f##1, f##2, f##3, f##4}
#endif

/* Rows are shared out evenly: a tile of few would wait for its own sums. */
static ALWAYS_INLINE void multiply_by(tile_fn *const tile[ROWS], const asc_packed_product *p)
{
    int64_t tiles = (p->m + ROWS - 1) / ROWS;
    for (int64_t t = 0; t < tiles; t++) {
        int64_t i = p->m * t / tiles, end = p->m * (t + 1) / tiles;
        for (int64_t j = 0; j < p->n; j += COLUMNS) {
            tile[end - i - 1](p, i, j);
        }
    }
}

static void multiply(const asc_packed_product *p)
{
    static tile_fn *const tile[ROWS] = TILES(multiply_);
    multiply_by(tile, p);
}

#define PASTE(a, b)          a##_##b
#define PASTE_EXPANDED(a, b) PASTE(a, b)
const asc_packed_kernel PASTE_EXPANDED(asc_bf16, ASC_ISA) = {
    .element = sizeof(element) * STEP / 2,
    .depth = 512,
    .unit = UNIT,
    .rows = FILL,
    .columns = COLUMNS,
    .pack_rows = pack_rows,
    .pack_panels = pack_panels,
    .turn_rows = turn_rows,
    .multiply = multiply,
    .rounding = {round_floats, widen_halves},
};

#if !defined(ASC_BF16_PRODUCTS)
static void multiply_f32(const asc_packed_product *p)
{
    static tile_fn *const tile[ROWS] = TILES(multiply_f32_);
    multiply_by(tile, p);
}

const asc_packed_kernel PASTE_EXPANDED(asc_f32, ASC_ISA) = {
    .element = sizeof(element),
    .depth = 256,
    .takes_rows = true,
    .unit = UNIT,
    .rows = FILL,
    .columns = COLUMNS,
    .pack_rows = pack_rows_f32,
    .pack_panels = pack_panels_f32,
    .turn_rows = turn_rows,
    .multiply = multiply_f32,
};
#endif
