/* kernels/gemm.h: matrix products, by OpenBLAS or our own kernels (kernels/packed.h), and the pieces they are cut into.
 */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "kernels/packed.h"
#include "tensor/blas.h"
#include "tensor/ctx.h"

/* Whether a call's products are of operands rounded to bfloat16. */
static inline bool asc_bf16(const asc_ctx *ctx)
{
    return ctx && ctx->precision == ASC_PRECISION_BF16;
}

/* What asc_gemm.packs is for a call's products. */
static inline asc_ctx *asc_packs(asc_ctx *ctx)
{
    return asc_bf16(ctx) || (ctx && asc_f32_packs()) ? ctx : NULL;
}

/* On the calling thread; from inside a piece, too. Sizes and leading dimensions up to INT32_MAX. With `packs`, operands
 * of float32 are rounded to bfloat16 where the context has that, as kernels/packed.h says; else it is a matter of speed
 * alone whose product this is. */
void asc_gemm_run(const asc_gemm *g);

/* On the context's threads, cut into pieces by the problem: the same bits for any number of threads. ASC_ERR_ARG
 * for a leading dimension, or a k of a large C, over INT32_MAX; ASC_ERR_MEMORY. */
asc_status asc_gemm_parallel(asc_ctx *ctx, const asc_gemm *g);

/* How many pieces that makes. */
int64_t asc_gemm_pieces(const asc_gemm *g);

/* The first of these by a kernel of ours; m, n and k are not 0, and beta or the bias starts C. */
void asc_gemm_packed(const asc_gemm *g, const asc_packed_kernel *kernel);
/* The first of these by OpenBLAS, of operands that a kernel of bfloat16 has rounded, of some thousand elements. */
void asc_gemm_rounded(const asc_gemm *g, const asc_packed_kernel *kernel);

#endif
