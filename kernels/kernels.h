/*
 * kernels/kernels.h: the row primitives on which the ops' inner loops stand.
 *
 * Two tables of functions, for float and for double. They are compiled once for each instruction set
 * (enum asc_isa), and the one to use is chosen at the first call; ASCGRAD_ISA holds it down.
 *
 * All instruction sets give the same bits: elementwise functions use only operations that IEEE 754
 * rounds correctly, in one order, never fused; sums run in a fixed number of lanes and are joined in a
 * fixed tree. The result for an element does not depend on where in the array it stands.
 *
 * Arrays need the alignment of their element only. An output may be the same array as an input of the
 * same shape (never a part of it that is shifted). n and rows may be 0. No function allocates, fails, or
 * keeps a state: all may be called from any thread.
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/ascender.h"
#include "kernels/background.h"
#include "kernels/strips.h"
#include "tensor/cpu.h"

/* What a Philox 4x32-10 sequence depends on (Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
 * SC'11). Element i of the sequence is word i % 4 of the block with the key `seed` and the counter
 * (i / 4, stream); low 32 bits first. */
typedef struct asc_philox_key {
    uint64_t seed;
    uint64_t stream;
} asc_philox_key;

/* One step of AdamW (Loshchilov and Hutter, ICLR 2019), in the form of PyTorch. */
typedef struct asc_adamw_step {
    double lr, beta1, beta2, eps, weight_decay;
    double grad_scale;   /* the gradient is multiplied by it first: clipping; 1 for none */
    double bias1, bias2; /* 1 - beta1^t and 1 - beta2^t at step t = 1, 2, … */
} asc_adamw_step;

/* One step of gradient descent with momentum, in the form of PyTorch (dampening 0, no Nesterov). */
typedef struct asc_sgd_step {
    double lr, momentum, weight_decay;
    double grad_scale;
} asc_sgd_step;

/* ---- float, and f64.awk makes the same for double ---- */
/* One function for each row of the list, by its name: asc_kernels_f32()->exp(y, x, n). */
typedef struct asc_kernel_table_f32 {
#define KERNEL(result, name, arguments) result(*name) arguments;
#include "kernels/list.h"
} asc_kernel_table_f32;
/* ---- end of float ---- */
#include "kernels/kernels.f64.h"

/* The kernels in use (asc_isa_active); static, never NULL. Cheap, but take it out of inner loops. */
const asc_kernel_table_f32 *asc_kernels_f32(void);
const asc_kernel_table_f64 *asc_kernels_f64(void);

/* The kernels of one instruction set, or NULL where the library was built without them. Not checked
 * against the processor: see asc_isa_best. */
const asc_kernel_table_f32 *asc_kernels_f32_of(enum asc_isa isa);
const asc_kernel_table_f64 *asc_kernels_f64_of(enum asc_isa isa);

/* One table per compilation of kernels_impl.c. */
extern const asc_kernel_table_f32 asc_kernels_f32_plain, asc_kernels_f32_avx2, asc_kernels_f32_avx512;
extern const asc_kernel_table_f64 asc_kernels_f64_plain, asc_kernels_f64_avx2, asc_kernels_f64_avx512;

#endif
