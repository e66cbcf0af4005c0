/* kernels/packed_pairs.h: packed elements as pairs of bfloat16 that lie beside one another, the first one in the lower
 * half of an int32; included by packed_impl.c and packed_amx.c, with UNIT of k, COLUMNS of a panel, and TILED: squares
 * of SIDE by SIDE pairs lie one after the other, in place of whole rows. With AVX512-BF16 the processor rounds. */

typedef uint32_t element; /* two of them */

#ifndef ASC_BF16_PRODUCTS
#define PLAIN_LINES
#endif
#include "kernels/packed_lines.h"

/* ---- lines of pairs ---- */

#ifdef ASC_BF16_PRODUCTS
/* Two rows, place by place. */
static ALWAYS_INLINE line pair_rows(const float *even, const float *odd)
{
    const __m512i places = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                            21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(odd), _mm512_loadu_ps(even));
    return _mm512_permutexvar_epi16(places, (__m512i)both);
}

/* One row. */
static ALWAYS_INLINE line pair_places(const float *x)
{
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + SIDE), _mm512_loadu_ps(x));
}

/* Of the pairs of two rows the first halves, and the second ones, as pairs. */
static ALWAYS_INLINE void join_halves(line even, line odd, line *first, line *second)
{
    *first = _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16));
    *second = _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(even, 16), odd);
}
#else
static inline uint32_t pair_of(const float *even, const float *odd)
{
    return rounded_at(even) >> 16 | rounded_at(odd);
}

static ALWAYS_INLINE line pair_rows(const float *even, const float *odd)
{
    line x;
    for (int j = 0; j < SIDE; j++) {
        x.at[j] = pair_of(even + j, odd + j);
    }
    return x;
}

static ALWAYS_INLINE line pair_places(const float *x)
{
    line y;
    for (int j = 0; j < SIDE; j++) {
        y.at[j] = pair_of(x + 2 * j, x + 2 * j + 1);
    }
    return y;
}

static ALWAYS_INLINE void join_halves(line even, line odd, line *first, line *second)
{
    for (int j = 0; j < SIDE; j++) {
        first->at[j] = (even.at[j] & 0xffff) | odd.at[j] << 16;
        second->at[j] = even.at[j] >> 16 | (odd.at[j] & 0xffff0000);
    }
}
#endif

/* A square of pairs, of SIDE rows and twice as many places, to lines of rows or, by places, of places. x is
 * [rows][places], or [places][rows] where turned; where it ends within the square, `rows` or `places` is less. */
static ALWAYS_INLINE void pack_square(uint32_t *to, int64_t ld_to, const bool by_places, const float *x, int64_t ld,
                                      const bool turned, int64_t rows, int64_t places)
{
    float room[2 * SIDE * SIDE];
    if (rows < SIDE || places < 2 * SIDE) {
        int64_t down = at_most(turned ? places : rows, turned ? 2 * SIDE : SIDE);
        int64_t across = at_most(turned ? rows : places, turned ? SIDE : 2 * SIDE), width = turned ? SIDE : 2 * SIDE;
        memset(room, 0, sizeof room);
        for (int64_t i = 0; i < down && across > 0; i++) {
            memcpy(room + i * width, x + i * ld, (size_t)across * sizeof *room);
        }
        x = room;
        ld = width;
    }
    line lines[SIDE];
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        lines[i] = turned ? pair_rows(x + 2 * i * ld, x + (2 * i + 1) * ld) : pair_places(x + i * ld);
    }
    if (turned != by_places) {
        turn(lines);
    }
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        store_line(to + i * ld_to, lines[i]);
    }
}

/* ---- operands ---- */

/* Squares in the order in which x lies in memory. Room is made for whole squares of rows, and for whole ones of places:
 * UNIT is 2 SIDE. */
static void pack_rows(void *to, const float *x, int64_t ld, bool turned, int64_t rows, int64_t k)
{
    int64_t width = rounded_up(k, UNIT) / 2, to_place = TILED ? SIDE : 1, ld_to = TILED ? SIDE : width;
    element *e = to;
    if (turned) {
        for (int64_t p = 0; p < width; p += SIDE) {
            for (int64_t r = 0; r < rows; r += SIDE) {
                pack_square(e + r * width + p * to_place, ld_to, false, x + 2 * p * ld + r, ld, true, rows - r,
                            k - 2 * p);
            }
        }
        return;
    }
    for (int64_t r = 0; r < rows; r += SIDE) {
        for (int64_t p = 0; p < width; p += SIDE) {
            pack_square(e + r * width + p * to_place, ld_to, false, x + r * ld + 2 * p, ld, false, rows - r, k - 2 * p);
        }
    }
}

/* Where a square of a panel lies: places from p on, columns from j on. */
static inline element *in_panel(void *to, int64_t depth, int64_t p, int64_t j)
{
    int64_t half = j % COLUMNS;
    return (element *)to + (j - half) * depth + p * COLUMNS + half * (TILED ? SIDE : 1);
}

static void pack_panels(void *to, const float *x, int64_t ld, bool turned, int64_t k, int64_t n)
{
    int64_t depth = rounded_up(k, UNIT) / 2, columns = rounded_up(n, COLUMNS), ld_to = TILED ? SIDE : COLUMNS;
    if (turned) {
        for (int64_t j = 0; j < columns; j += SIDE) {
            for (int64_t p = 0; p < depth; p += SIDE) {
                pack_square(in_panel(to, depth, p, j), ld_to, true, x + j * ld + 2 * p, ld, false, n - j, k - 2 * p);
            }
        }
        return;
    }
    for (int64_t p = 0; p < depth; p += SIDE) {
        for (int64_t j = 0; j < columns; j += SIDE) {
            pack_square(in_panel(to, depth, p, j), ld_to, true, x + 2 * p * ld + j, ld, true, n - j, k - 2 * p);
        }
    }
}

/* 2 SIDE rows of SIDE pairs of places, `there` of them, become 2 SIDE rows of SIDE pairs of rows; from and to have
 * squares of SIDE rows, `from_below` and `to_below` apart. */
static ALWAYS_INLINE void turn_squares(uint32_t *to, int64_t ld_to, int64_t to_below, const uint32_t *from,
                                       int64_t ld_from, int64_t from_below, int64_t there)
{
    line first[SIDE] = {0}, second[SIDE] = {0};
    int64_t pairs = at_most(there / 2, SIDE);
    for (int i = 0; i < pairs; i++) {
        const uint32_t *row = from + 2 * i / SIDE * from_below + 2 * i % SIDE * ld_from;
        join_halves(load_line(row), load_line(row + ld_from), &first[i], &second[i]);
    }
    turn(first);
    turn(second);
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        uint32_t *row = to + 2 * i / SIDE * to_below + 2 * i % SIDE * ld_to;
        store_line(row, first[i]);
        store_line(row + ld_to, second[i]);
    }
}

static void turn_rows(void *to, const void *from, int64_t rows, int64_t k, int64_t first, int64_t places)
{
    int64_t width = rounded_up(k, UNIT) / 2, width_to = rounded_up(rows, UNIT) / 2, to_place = TILED ? SIDE : 1;
    int64_t ld = TILED ? SIDE : width, ld_to = TILED ? SIDE : width_to, filled = rounded_up(rows, SIDE);
    for (int64_t p = 0; p < places; p += 2 * SIDE) {
        const uint32_t *column = (const uint32_t *)from + (first + p) / 2 * to_place;
        uint32_t *row = (uint32_t *)to + p * width_to;
        for (int64_t r = 0; r < filled; r += 2 * SIDE) {
            turn_squares(row + r / 2 * to_place, ld_to, SIDE * width_to, column + r * width, ld, SIDE * width,
                         filled - r);
        }
    }
}
