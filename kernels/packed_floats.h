/* kernels/packed_floats.h: packed elements as floats, rounded to bfloat16 for instruction sets that multiply none, or
 * as they are; included by packed_impl.c. `rounds` is a constant everywhere. */

typedef float element;

#include "kernels/packed_lines.h"

/* ---- lines ---- */

static inline float as_packed(float x, const bool rounds)
{
    if (rounds) {
        uint32_t bits = rounded_at(&x);
        memcpy(&x, &bits, sizeof x);
    }
    return x;
}

#ifdef __AVX512F__
static ALWAYS_INLINE line line_of(const float *x, const bool rounds)
{
    line bits = load_line(x);
    if (!rounds) {
        return bits;
    }
    line magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    line tie = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    line y = _mm512_add_epi32(bits, _mm512_add_epi32(tie, _mm512_set1_epi32(0x7fff)));
    __mmask16 nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000));
    __mmask16 tiny = _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(0x00800000));
    y = _mm512_mask_or_epi32(y, nan, bits, _mm512_set1_epi32(0x400000));
    y = _mm512_and_si512(y, _mm512_set1_epi32((int)0xffff0000));
    return _mm512_mask_and_epi32(y, tiny, bits, _mm512_set1_epi32((int)0x80000000));
}
#else
static ALWAYS_INLINE line line_of(const float *x, const bool rounds)
{
    line y;
    for (int j = 0; j < SIDE; j++) {
        float z = as_packed(x[j], rounds);
        memcpy(&y.at[j], &z, sizeof z);
    }
    return y;
}
#endif

/* A square of x, of which `down` lines of `across` elements are there, as it lies, or turned; of the result `lines` of
 * `width` elements are wanted. */
static ALWAYS_INLINE void pack_square(float *to, int64_t ld_to, int64_t lines, int64_t width, const float *x,
                                      int64_t ld, const bool turned, int64_t down, int64_t across, const bool rounds)
{
    float room[SIDE * SIDE], out[SIDE * SIDE];
    if (down < SIDE || across < SIDE) {
        memset(room, 0, sizeof room);
        for (int64_t i = 0; i < at_most(down, SIDE) && across > 0; i++) {
            memcpy(room + i * SIDE, x + i * ld, (size_t)at_most(across, SIDE) * sizeof *room);
        }
        x = room;
        ld = SIDE;
    }
    line square[SIDE];
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        square[i] = line_of(x + i * ld, rounds);
    }
    if (turned) {
        turn(square);
    }
    bool whole = lines >= SIDE && width >= SIDE;
    float *place = whole ? to : out;
    int64_t step = whole ? ld_to : SIDE;
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        store_line(place + i * step, square[i]);
    }
    for (int64_t i = 0; !whole && i < at_most(lines, SIDE); i++) {
        memcpy(to + i * ld_to, out + i * SIDE, (size_t)at_most(width, SIDE) * sizeof *out);
    }
}

/* to[lines][width] = x, or its transpose; x is [down][across] and what lies outside of it counts as 0. Squares in the
 * order in which x lies in memory. Not inlined: a square is thousands of instructions, and callers are many. */
static void pack(float *to, int64_t ld_to, int64_t lines, int64_t width, const float *x, int64_t ld, const bool turned,
                 int64_t down, int64_t across, const bool rounds)
{
    int64_t rows = turned ? width : lines, columns = turned ? lines : width;
    for (int64_t i = 0; i < rows; i += SIDE) {
        for (int64_t j = 0; j < columns; j += SIDE) {
            int64_t line = turned ? j : i, place = turned ? i : j;
            pack_square(to + line * ld_to + place, ld_to, lines - line, width - place, x + i * ld + j, ld, turned,
                        down - i, across - j, rounds);
        }
    }
}

/* ---- operands ---- */

static ALWAYS_INLINE void pack_rows_as(const bool rounds, float *to, const float *x, int64_t ld, bool turned,
                                       int64_t rows, int64_t k)
{
    int64_t width = rounded_up(k, UNIT);
    if (turned) {
        pack(to, width, rows, width, x, ld, true, k, rows, rounds);
    } else {
        pack(to, width, rows, width, x, ld, false, rows, k, rounds);
    }
}

static ALWAYS_INLINE void pack_panels_as(const bool rounds, float *to, const float *x, int64_t ld, bool turned,
                                         int64_t k, int64_t n)
{
    int64_t depth = rounded_up(k, UNIT);
    for (int64_t j = 0; j < n; j += COLUMNS, to += depth * COLUMNS) {
        int64_t columns = at_most(n - j, COLUMNS);
        if (turned) {
            pack(to, COLUMNS, depth, COLUMNS, x + j * ld, ld, true, columns, k, rounds);
        } else {
            pack(to, COLUMNS, depth, COLUMNS, x + j, ld, false, k, columns, rounds);
        }
    }
}

static void pack_rows(void *to, const float *x, int64_t ld, bool turned, int64_t rows, int64_t k)
{
    pack_rows_as(true, to, x, ld, turned, rows, k);
}

static void pack_panels(void *to, const float *x, int64_t ld, bool turned, int64_t k, int64_t n)
{
    pack_panels_as(true, to, x, ld, turned, k, n);
}

static void pack_rows_f32(void *to, const float *x, int64_t ld, bool turned, int64_t rows, int64_t k)
{
    pack_rows_as(false, to, x, ld, turned, rows, k);
}

static void pack_panels_f32(void *to, const float *x, int64_t ld, bool turned, int64_t k, int64_t n)
{
    pack_panels_as(false, to, x, ld, turned, k, n);
}

static void turn_rows(void *to, const void *from, int64_t rows, int64_t k, int64_t first, int64_t places)
{
    int64_t width = rounded_up(k, UNIT), width_to = rounded_up(rows, UNIT), there = at_most(places, width - first);
    pack(to, width_to, there, width_to, (const float *)from + first, width, true, rows, there, false);
}

/* sum += the products of a pair of places, the odd one first. */
static ALWAYS_INLINE void add_pair(const int rows, vector sum[ROWS][VECTORS], const float *a, int64_t lda,
                                   const float *b)
{
    for (int place = 1; place >= 0; place--) {
        vector x[VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            x[v] = *(const vector *)(b + place * COLUMNS + v * LANES);
        }
        UNROLL
        for (int r = 0; r < rows; r++) {
            vector y = broadcast(a[r * lda + place]);
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                sum[r][v] = multiply_add(y, x[v], sum[r][v]);
            }
        }
    }
}
