/* kernels/packed_lines.h: lines of SIDE elements of 32 bits, and squares of SIDE lines; included by packed_pairs.h and
 * packed_floats.h. PLAIN_LINES: without instructions of their own. */

enum { SIDE = 16 };

#if defined(__AVX512F__) && !defined(PLAIN_LINES)
#include <immintrin.h>

typedef __m512i line;

static ALWAYS_INLINE line load_line(const void *from)
{
    return _mm512_loadu_si512(from);
}

static ALWAYS_INLINE void store_line(void *to, line x)
{
    _mm512_storeu_si512(to, x);
}

/* Rows become columns: quarters of vectors first, then vectors. */
static ALWAYS_INLINE void turn(line *x)
{
    line y[SIDE];
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
        x[i] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0x88);
        x[i + 8] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0xdd);
    }
}
#else
typedef struct line {
    uint32_t at[SIDE];
} line;

static ALWAYS_INLINE line load_line(const void *from)
{
    line x;
    memcpy(x.at, from, sizeof x.at);
    return x;
}

static ALWAYS_INLINE void store_line(void *to, line x)
{
    memcpy(to, x.at, sizeof x.at);
}

static ALWAYS_INLINE void turn(line *x)
{
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < i; j++) {
            uint32_t other = x[i].at[j];
            x[i].at[j] = x[j].at[i];
            x[j].at[i] = other;
        }
    }
}
#endif
