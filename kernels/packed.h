/*
 * kernels/packed.h: products of packed operands, of floats or of floats rounded to bfloat16, summed in float.
 *
 * An operand is packed once into what the instructions take, and multiplied tile by tile:
 *
 *   A [m, k]   row by row, k rounded up to a multiple of `unit`
 *   B [k, n]   in panels of `columns` columns, the last one filled with zeros; a panel is [k/2][columns][2] in pairs
 *              of bfloat16, [k][columns] in floats
 *
 * To bfloat16 it is rounded to nearest, ties to even; a NaN stays one, what is too large becomes infinite, a subnormal
 * float zero of its sign. Where no instruction multiplies bfloat16, packed elements are floats that have been rounded:
 * their products are exact in float. An element of C is one sum of 0 … k-1, fused, each odd place before the even one
 * before it, which is the order of AVX512-BF16's vdpbf16ps (measured on Zen 4: every element of 2 million is that of
 * two fused multiply-adds); AMX adds the 16 even products and the 16 odd ones of 32 places by themselves, then these
 * two sums, then that to the sum before. What C begins with is added last, or by AMX first where alpha is 1. A sum that
 * is subnormal becomes zero of its sign: after every step by these instructions, at the end elsewhere. So kernels other
 * than AMX's give the same bits but where a sum is so small on its way, or a single product below or beyond all normal
 * numbers.
 */
#ifndef KERNELS_PACKED_H
#define KERNELS_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/bf16.h"
#include "tensor/cpu.h"

/* C = base + alpha A B, all of it in packed operands' rows and panels; base: C where add, a row `bias` for every row,
 * or nothing. */
typedef struct asc_packed_product {
    int64_t m, n, k;
    const void *a, *b; /* packed */
    int64_t lda;       /* elements from row to row of A, where the kernel takes_rows; 0: as they are packed */
    float alpha;
    bool add;
    const float *bias; /* [n], or NULL */
    float *c;
    int64_t ldc;
} asc_packed_product;

typedef struct asc_packed_kernel {
    size_t element;  /* bytes of a packed element: 2, in pairs, or 4 */
    int64_t depth;   /* of k, that caches like at a time */
    bool takes_rows; /* A may be rows of floats as they lie, for a k that is a multiple of `unit` */
    int64_t unit;    /* of k */
    int64_t rows;    /* that A is filled up to with zeros, a multiple of it */
    int64_t columns; /* of a panel */
    /* x as packed by rows: [rows][k], from A or, where turned, from A [k, rows]; `ld` elements from row to row */
    void (*pack_rows)(void *to, const float *x, int64_t ld, bool turned, int64_t rows, int64_t k);
    /* x as panels: from B [k, n] or, where turned, from B [n, k] */
    void (*pack_panels)(void *to, const float *x, int64_t ld, bool turned, int64_t k, int64_t n);
    /* Packed rows [rows][k] as packed rows [k][rows], those of `places` of k from `first` on, a multiple of 32 */
    void (*turn_rows)(void *to, const void *from, int64_t rows, int64_t k, int64_t first, int64_t places);
    void (*multiply)(const asc_packed_product *p);
    asc_rounding rounding;
    int64_t least; /* elements of both operands: fewer are rounded, and summed by OpenBLAS, as packing would show */
} asc_packed_kernel;

/* The kernel in use for bfloat16; static, never NULL. */
const asc_packed_kernel *asc_packed_kernel_active(void);

/* That of one set of instructions, or NULL where the library was built without it. Not checked against the processor:
 * see asc_bf16_best. */
const asc_packed_kernel *asc_packed_kernel_of(enum asc_bf16 set);

/* That of floats as they are, or NULL: OpenBLAS is as fast here (asc_f32_packs). The other one as above; neither has a
 * rounding. */
const asc_packed_kernel *asc_packed_f32_kernel(void);
const asc_packed_kernel *asc_packed_f32_kernel_of(enum asc_isa isa);

/* One for each compilation of packed_impl.c, and packed_amx.c's. */
extern const asc_packed_kernel asc_bf16_plain, asc_bf16_avx2, asc_bf16_avx512, asc_bf16_avx512_bf16, asc_bf16_amx;
extern const asc_packed_kernel asc_f32_plain, asc_f32_avx2, asc_f32_avx512;

#endif
