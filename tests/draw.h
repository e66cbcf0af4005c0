/* tests/draw.h: numbers that look random and are the same everywhere: the generator of Knuth's MMIX, its upper bits. */
#ifndef TESTS_DRAW_H
#define TESTS_DRAW_H

#include <stdint.h>

static uint64_t draw_state; /* set it, for a sequence of one's own */

/* 0 … n - 1. */
static inline int64_t draw(int64_t n)
{
    draw_state = draw_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((draw_state >> 33) % (uint64_t)n);
}

static inline double draw_real(double from, double to)
{
    return from + (to - from) * (double)draw(1 << 20) / (1 << 20);
}

/* n tokens of a vocabulary of V. */
static inline void draw_tokens(int64_t *x, int64_t n, int64_t V, uint64_t seed)
{
    draw_state = seed;
    for (int64_t i = 0; i < n; i++) {
        x[i] = draw(V);
    }
}

#endif
