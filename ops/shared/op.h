/* ops/shared/op.h: what the library's op files share. */
#ifndef OPS_OP_H
#define OPS_OP_H

#include <ascgrad/op.h>
#include <ascgrad/ops.h>

#include "autograd/operands.h"
#include "kernels/kernels.h"
#include "kernels/gemm.h"
#include "tensor/ctx.h"
#include "tensor/dtype.h"
#include "tensor/need.h"

/* Tables of samples leave out the fields that are 0; gcc takes that from designated initialisers without a word. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wmissing-field-initializers"
#endif

#define ASC_COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

#define ASC_LEAST_NORM 1e-12 /* vectors that are not longer have no direction */

/* The length of rows of a transposed copy, an odd number of cache lines: of a power of two, they would share few places
 * in a cache. */
static inline int64_t asc_turned_ld(int64_t n)
{
    return (n + 31) / 32 * 32 + 16;
}

enum { ASC_PIECE = 16384 }; /* elements of an elementwise piece: some tens of KiB, in the first caches */

/* It is f32 or f64, and has the dtype of the first input that is one of them. */
asc_status asc_expect_floating(asc_call *call, int input);
/* The least that numbers of the dtype can be divided by, and one over the most that they can be bounded to. */
double asc_least_cap(asc_dtype dtype);
/* Attribute `cap`, 0 for none, is between these. */
asc_status asc_expect_cap(asc_call *call, double cap, asc_dtype dtype);
/* Input is present, of this dtype and exactly this shape. `what` describes the shape in symbols. */
asc_status asc_expect_shape(asc_call *call, int input, asc_dtype dtype, int ndim, const int64_t *shape,
                            const char *what);

/* Every value of input, an i64 array called "index", is in 0 … limit-1. */
asc_status asc_expect_indices(asc_call *call, int input, int64_t limit);
/* The dimension of input that `dim` means, -1 being the last; -1 with the error set if there is no such one. */
int asc_expect_dim(asc_call *call, int input, int dim);

/* The product of the first `n` sizes: of all but the last dimension with n = ndim - 1. */
int64_t asc_leading(const asc_array *a, int n);

/* out[n] (+)= the sum over the rows of x [rows, n], the same to the bit for any number of threads. */
asc_status asc_column_sums(asc_call *call, const asc_array *x, int64_t rows, int64_t n, void *out, bool fresh);

/* infer and flops of ops that end with y = x Wᵀ + b: inputs "x weight bias?", x (..., in), W (out, in), b (out). */
asc_status asc_linear_infer(asc_call *call);
double asc_linear_flops(const asc_call *call);

/* y[n] (+)= a x on the context's threads; written where `fresh`. dtype f32 or f64. */
void asc_add_scaled(asc_ctx *ctx, asc_dtype dtype, void *y, double a, const void *x, int64_t n, bool fresh);

/* dst = src, arrays of one shape and dtype and of any strides, on the context's threads. */
void asc_strided_copy(asc_ctx *ctx, const asc_array *dst, const asc_array *src);
/* The same, but dst += src unless `fresh`; floating. Where dst has strides of 0, += sums, in a fixed order. */
void asc_strided_add(asc_ctx *ctx, const asc_array *dst, const asc_array *src, bool fresh);
/* Sets `bytes` to 0, on the context's threads. */
void asc_clear(asc_ctx *ctx, void *memory, size_t bytes);

/* Whether x is there, and the context's: for builders that may give it back as it is. */
static inline bool asc_is_of(const asc_ctx *ctx, asc_tensor x)
{
    const asc_node *node = asc_node_of(x);
    return node && node->ctx == ctx;
}

/* For builders: an output goes to the caller who wants it, or is let go of where `to` is NULL. */
static inline void asc_give(asc_tensor *to, asc_tensor output)
{
    if (to) {
        *to = output;
    } else {
        asc_release(output);
    }
}

/* Runs fn over pieces of ASC_PIECE elements of n. */
void asc_elementwise(asc_call *call, int64_t n, asc_piece_fn *fn);

/* The number of pieces of asc_elementwise, and the range of one. */
static inline int64_t asc_pieces(int64_t n)
{
    return (n + ASC_PIECE - 1) / ASC_PIECE;
}
static inline int64_t asc_piece_begin(int64_t piece)
{
    return piece * ASC_PIECE;
}
static inline int64_t asc_piece_size(int64_t piece, int64_t n)
{
    int64_t left = n - piece * ASC_PIECE;
    return left < ASC_PIECE ? left : ASC_PIECE;
}

/* The same for rows of n elements, of which a piece has at least one. */
static inline int64_t asc_rows_per_piece(int64_t n)
{
    return n < ASC_PIECE ? ASC_PIECE / (n + !n) : 1;
}
static inline int64_t asc_row_pieces(int64_t rows, int64_t n)
{
    return (rows + asc_rows_per_piece(n) - 1) / asc_rows_per_piece(n);
}

typedef struct asc_range {
    int64_t first, end;
} asc_range;

static inline asc_range asc_piece_rows(int64_t piece, int64_t rows, int64_t n)
{
    int64_t first = piece * asc_rows_per_piece(n), end = first + asc_rows_per_piece(n);
    return (asc_range){first, end < rows ? end : rows};
}

#endif
