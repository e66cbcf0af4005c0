/* tensor/bf16.h: bfloat16 as the upper half of a float. */
#ifndef TENSOR_BF16_H
#define TENSOR_BF16_H

#include <stdint.h>

/* Floats to the upper halves of what asc_bf16_bits makes of them, and back; n of them. */
typedef struct asc_rounding {
    void (*round)(uint16_t *to, const float *from, int64_t n);
    void (*widen)(float *to, const uint16_t *from, int64_t n);
} asc_rounding;

/* The bits of a float rounded to bfloat16, the lower half 0: to nearest, ties to even; a NaN stays one, and what is
 * subnormal becomes zero of its sign, as the instructions have it. */
static inline uint32_t asc_bf16_bits(uint32_t x)
{
    uint32_t magnitude = x & 0x7fffffff, rounded = (x + 0x7fff + (x >> 16 & 1)) & 0xffff0000;
    uint32_t quiet = (x | 0x400000) & 0xffff0000, zero = x & 0x80000000;
    return magnitude > 0x7f800000 ? quiet : magnitude < 0x00800000 ? zero : rounded;
}

#endif
