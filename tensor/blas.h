/* tensor/blas.h: a matrix product, and the one door to OpenBLAS. kernels/gemm.h is what others include. */
#ifndef TENSOR_BLAS_H
#define TENSOR_BLAS_H

#include <ascgrad/tensor.h>

/* C[m, n] = alpha op(A) op(B) + beta C, row-major; op(A) is [m, k], A is [k, m] where ta; ld: elements from row to
 * row. f32 or f64; beta 0 or 1. With beta 0 C is not read; with a bias [n], every row of C starts from it in place of
 * beta C. */
typedef struct asc_gemm {
    asc_dtype dtype;
    bool ta, tb;
    int64_t m, n, k;
    double alpha;
    const void *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    double beta;
    void *c;
    int64_t ldc;
    const void *bias; /* or NULL */
    asc_ctx *packs;   /* NULL, or the context (asc_packs) whose thread packs operands, maybe rounded; f32 */
} asc_gemm;

/* By OpenBLAS, whatever `packs` says, on the calling thread; from inside a piece, too. Sizes and leading dimensions up
 * to INT32_MAX. */
void asc_blas_run(const asc_gemm *g);

/* How many threads of its own OpenBLAS may use for a product: in the whole process, or where it is built for OpenMP,
 * for the calling thread's products (on all other threads it stays 1). A context sets 1: products run on the thread
 * that asks for them. With another number their last bits differ. */
void asc_blas_threads(int n);

#endif
