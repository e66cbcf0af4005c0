/* kernels/gemm.h: matrix products, by OpenBLAS or of operands rounded to bfloat16, and the pieces they are cut into. */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "tensor/blas.h"
#include "tensor/ctx.h"

/* What asc_gemm.bf16 is for a call's products. */
static inline asc_ctx *asc_bf16(asc_ctx *ctx)
{
    return ctx && ctx->precision == ASC_PRECISION_BF16 ? ctx : NULL;
}

/* On the calling thread; from inside a piece, too. Sizes and leading dimensions up to INT32_MAX. With `bf16`, operands
 * of float32 are rounded to bfloat16 as kernels/packed.h says. */
void asc_gemm_run(const asc_gemm *g);

/* On the context's threads, cut into pieces by the problem: the same bits for any number of threads. ASC_ERR_ARG
 * for a leading dimension, or a k of a large C, over INT32_MAX; ASC_ERR_MEMORY. */
asc_status asc_gemm_parallel(asc_ctx *ctx, const asc_gemm *g);

/* How many pieces that makes. */
int64_t asc_gemm_pieces(const asc_gemm *g);

/* The first of these on bfloat16; m, n and k are not 0, and beta or the bias starts C. */
void asc_gemm_packed(const asc_gemm *g);

#endif
