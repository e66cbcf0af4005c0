/* kernels/gemm_packed.c: products by our own kernels, by blocks packed into the calling thread's room. */
#include "kernels/gemm.h"
#include "tensor/ctx.h"

/* Of op(A) a block is ROWS by the kernel's depth, of op(B) that by COLUMNS: they stay in the second cache, a few rows
 * of A in the first. Multiples of all kernels' units. */
enum { ROWS = 512, COLUMNS = 1024, LARGEST = 2048 }; /* bytes of a packed row of a block */

_Static_assert((ROWS + COLUMNS) * LARGEST == ASC_PRODUCT_ROOM, "a thread's room");

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Row i, column j of a matrix that is stored turned, or not. */
static const float *at(const void *x, int64_t ld, bool turned, int64_t i, int64_t j)
{
    return (const float *)x + (turned ? j * ld + i : i * ld + j);
}

void asc_gemm_packed(const asc_gemm *g, const asc_packed_kernel *kernel)
{
    char *room = asc_product_room(g->packs), *b = room + (size_t)(ROWS * kernel->depth) * kernel->element;
    for (int64_t l = 0; l < g->k; l += kernel->depth) {
        int64_t k = least(g->k - l, kernel->depth);
        bool in_place = kernel->takes_rows && !g->ta && k % kernel->unit == 0;
        for (int64_t j = 0; j < g->n; j += COLUMNS) {
            int64_t n = least(g->n - j, COLUMNS);
            kernel->pack_panels(b, at(g->b, g->ldb, g->tb, l, j), g->ldb, g->tb, k, n);
            for (int64_t i = 0; i < g->m; i += ROWS) {
                int64_t m = least(g->m - i, ROWS);
                const float *a = at(g->a, g->lda, g->ta, i, l);
                if (!in_place) {
                    kernel->pack_rows(room, a, g->lda, g->ta, m, k);
                }
                kernel->multiply(&(asc_packed_product){.m = m,
                                                       .n = n,
                                                       .k = k,
                                                       .a = in_place ? (const void *)a : room,
                                                       .lda = in_place ? g->lda : 0,
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
