/* kernels/bf16_pairs.h: packed elements as pairs of bfloat16 that lie beside one another, the first one in the lower
 * half of an int32; included by bf16_impl.c and bf16_amx.c. With AVX512-BF16 the processor rounds. */

typedef uint32_t element; /* two of them */

enum { SIDE = 16 }; /* squares of SIDE pairs are turned at a time */

#ifdef __AVX512BF16__
/* SIDE pairs of two rows, place by place. */
static inline void pair_rows(uint32_t *to, const float *even, const float *odd)
{
    const __m512i places = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                            21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(odd), _mm512_loadu_ps(even));
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(places, (__m512i)both));
}

/* SIDE pairs of one row. */
static inline void pair_places(uint32_t *to, const float *x)
{
    _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + SIDE), _mm512_loadu_ps(x)));
}

/* Turns a square of SIDE pairs: quarters of vectors first, then vectors. */
static inline void turn_square(uint32_t *to, int64_t ld_to, const uint32_t *from)
{
    __m512i x[SIDE], y[SIDE];
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        x[i] = _mm512_loadu_si512(from + i * SIDE);
    }
    UNROLL
    for (int i = 0; i < SIDE; i += 2) {
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    UNROLL
    for (int i = 0; i < SIDE; i += 4) {
        x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
        x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
        x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
        x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        y[i] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0x88);
        y[i + 4] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0xdd);
        y[i + 8] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0x88);
        y[i + 12] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0xdd);
    }
    UNROLL
    for (int i = 0; i < 8; i++) {
        _mm512_storeu_si512(to + i * ld_to, _mm512_shuffle_i32x4(y[i], y[i + 8], 0x88));
        _mm512_storeu_si512(to + (i + 8) * ld_to, _mm512_shuffle_i32x4(y[i], y[i + 8], 0xdd));
    }
}
#else
static inline uint32_t pair_of(const float *even, const float *odd)
{
    return rounded_at(even) >> 16 | rounded_at(odd);
}

static inline void pair_rows(uint32_t *to, const float *even, const float *odd)
{
    for (int j = 0; j < SIDE; j++) {
        to[j] = pair_of(even + j, odd + j);
    }
}

static inline void pair_places(uint32_t *to, const float *x)
{
    for (int j = 0; j < SIDE; j++) {
        to[j] = pair_of(x + 2 * j, x + 2 * j + 1);
    }
}

static inline void turn_square(uint32_t *to, int64_t ld_to, const uint32_t *from)
{
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            to[j * ld_to + i] = from[i * SIDE + j];
        }
    }
}
#endif

/* A square of pairs: of SIDE rows and twice as many places, [SIDE][SIDE] by rows. x: [rows][places], or [places][rows]
 * where turned; what lies outside counts as 0. */
typedef struct square {
    const float *x;
    int64_t ld;
    bool turned;
    int64_t rows, places; /* that there are; at most SIDE and 2 SIDE count */
} square;

/* The rows of x that make up a square, in full. */
static inline const float *whole_rows(const square *s, float *room, int64_t *ld)
{
    int64_t rows = s->turned ? s->places : s->rows, columns = s->turned ? s->rows : s->places;
    int64_t all_rows = s->turned ? 2 * SIDE : SIDE, all_columns = s->turned ? SIDE : 2 * SIDE;
    *ld = s->ld;
    if (rows >= all_rows && columns >= all_columns) {
        return s->x;
    }
    *ld = all_columns;
    memset(room, 0, 2 * SIDE * SIDE * sizeof *room);
    for (int64_t r = 0; r < at_most(rows, all_rows) && columns > 0; r++) {
        memcpy(room + r * all_columns, s->x + r * s->ld, (size_t)at_most(columns, all_columns) * sizeof *room);
    }
    return room;
}

/* to[r] or, by places, to[p] are rows of SIDE pairs, ld_to apart. */
static inline void pack_square(uint32_t *to, int64_t ld_to, bool by_places, const square *s)
{
    float room[2 * SIDE * SIDE];
    uint32_t pairs[SIDE * SIDE];
    int64_t ld;
    const float *x = whole_rows(s, room, &ld);
    bool turn = s->turned != by_places;
    for (int i = 0; i < SIDE; i++) {
        uint32_t *row = turn ? pairs + i * SIDE : to + i * ld_to;
        if (s->turned) {
            pair_rows(row, x + 2 * i * ld, x + (2 * i + 1) * ld);
        } else {
            pair_places(row, x + i * ld);
        }
    }
    if (turn) {
        turn_square(to, ld_to, pairs);
    }
}

/* Room is made for whole squares of rows, and for whole ones of places: UNIT is 2 SIDE. */
static void pack_rows(void *to, const float *x, int64_t ld, bool turned, int64_t rows, int64_t k)
{
    int64_t width = rounded_up(k, UNIT) / 2;
    for (int64_t r = 0; r < rows; r += SIDE) {
        for (int64_t p = 0; p < width; p += SIDE) {
            const square s = {x + (turned ? 2 * p * ld + r : r * ld + 2 * p), ld, turned, rows - r, k - 2 * p};
            pack_square((uint32_t *)to + r * width + p, width, false, &s);
        }
    }
}

static void pack_panels(void *to, const float *x, int64_t ld, bool turned, int64_t k, int64_t n)
{
    int64_t depth = rounded_up(k, UNIT) / 2;
    for (int64_t j = 0; j < rounded_up(n, COLUMNS); j += SIDE) {
        uint32_t *panel = (uint32_t *)to + j / COLUMNS * COLUMNS * depth + j % COLUMNS;
        for (int64_t p = 0; p < depth; p += SIDE) {
            const square s = {x + (turned ? j * ld + 2 * p : 2 * p * ld + j), ld, !turned, n - j, k - 2 * p};
            pack_square(panel + p * COLUMNS, COLUMNS, true, &s);
        }
    }
}
