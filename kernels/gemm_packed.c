/* kernels/gemm_packed.c: products of operands rounded to bfloat16, by blocks packed into the calling thread's room. */
#include "kernels/packed.h"
#include "kernels/gemm.h"
#include "tensor/ctx.h"

/* Of op(A) a block is ROWS by DEPTH, of op(B) DEPTH by COLUMNS: the first stays in the second cache, a panel of the
 * other one in the first. Multiples of all kernels' units. */
enum { ROWS = 512, COLUMNS = 1024, DEPTH = 512, WIDEST_ELEMENT = 4 };

_Static_assert((ROWS + COLUMNS) * DEPTH * WIDEST_ELEMENT == ASC_PRODUCT_ROOM, "a thread's room");

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Row i, column j of a matrix that is stored turned, or not. */
static const float *at(const void *x, int64_t ld, bool turned, int64_t i, int64_t j)
{
    return (const float *)x + (turned ? j * ld + i : i * ld + j);
}

void asc_gemm_packed(const asc_gemm *g)
{
    const asc_packed_kernel *kernel = asc_packed_kernel_active();
    char *a = asc_product_room(g->bf16), *b = a + (size_t)ROWS * DEPTH * kernel->element;
    for (int64_t l = 0; l < g->k; l += DEPTH) {
        int64_t k = least(g->k - l, DEPTH);
        for (int64_t j = 0; j < g->n; j += COLUMNS) {
            int64_t n = least(g->n - j, COLUMNS);
            kernel->pack_panels(b, at(g->b, g->ldb, g->tb, l, j), g->ldb, g->tb, k, n);
            for (int64_t i = 0; i < g->m; i += ROWS) {
                int64_t m = least(g->m - i, ROWS);
                kernel->pack_rows(a, at(g->a, g->lda, g->ta, i, l), g->lda, g->ta, m, k);
                kernel->multiply(&(asc_packed_product){.m = m,
                                                     .n = n,
                                                     .k = k,
                                                     .a = a,
                                                     .b = b,
                                                     .alpha = (float)g->alpha,
                                                     .add = l > 0 || (g->beta != 0 && !g->bias),
                                                     .bias = g->bias ? (const float *)g->bias + j : NULL,
                                                     .c = (float *)g->c + i * g->ldc + j,
                                                     .ldc = g->ldc});
            }
        }
    }
}
