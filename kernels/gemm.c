/* kernels/gemm.c: matrix products, and the pieces they are cut into. */
#include "kernels/gemm.h"

#include "tensor/ctx.h"
#include "tensor/dtype.h"

enum { FEW_ROWS = 32, SMALL_B = 1 << 14 }; /* for which B is not worth packing */

/* The kernel of ours for a product, or NULL. */
static const asc_packed_kernel *kernel_of(const asc_gemm *g)
{
    if (!g->packs || g->dtype != ASC_F32 || g->m <= 0 || g->n <= 0 || g->k <= 0) {
        return NULL;
    }
    if (asc_bf16(g->packs)) {
        return asc_packed_kernel_active();
    }
    bool few = g->m < FEW_ROWS || (double)g->n * (double)g->k < SMALL_B;
    return few ? NULL : asc_packed_f32_kernel();
}

/* x [rows, width], rounded; `to` has room for that, and for a row of halves behind it. */
static const float *rounded(const asc_rounding *by, const float *x, int64_t ld, int64_t rows, int64_t width, float *to)
{
    uint16_t *halves = (uint16_t *)(to + rows * width);
    for (int64_t i = 0; i < rows; i++) {
        by->round(halves, x + i * ld, width);
        by->widen(to + i * width, halves, width);
    }
    return to;
}

void asc_gemm_rounded(const asc_gemm *g, const asc_packed_kernel *kernel)
{
    const asc_rounding *by = &kernel->rounding;
    asc_gemm product = *g;
    float *a = asc_product_room(g->packs), *b = a + ASC_PRODUCT_ROOM / 2 / sizeof *a;
    product.a = rounded(by, g->a, g->lda, g->ta ? g->k : g->m, g->ta ? g->m : g->k, a);
    product.b = rounded(by, g->b, g->ldb, g->tb ? g->n : g->k, g->tb ? g->k : g->n, b);
    product.lda = g->ta ? g->m : g->k;
    product.ldb = g->tb ? g->k : g->n;
    asc_blas_run(&product);
}

void asc_gemm_run(const asc_gemm *g)
{
    const asc_packed_kernel *kernel = kernel_of(g);
    if (!kernel) {
        asc_blas_run(g);
    } else if ((double)(g->m + g->n) * (double)g->k < (double)kernel->least) {
        asc_gemm_rounded(g, kernel);
    } else {
        asc_gemm_packed(g, kernel);
    }
}

/* How a product is cut: tiles of C, and for a small C of a long sum also pieces of k, whose partial products are
 * added up in order. */
typedef struct tiling {
    const asc_gemm *g;
    int64_t rows, cols; /* of a tile; */
    int64_t across;     /* tiles beside one another, */
    int64_t tiles;      /* and in all */
    int64_t depth;      /* of k in a piece */
    int64_t layers;     /* pieces of k; with more than one, layer l > 0 goes to partial[l - 1] */
    void *partial;      /* [layers - 1][m, n] */
} tiling;

enum { SHORTEST = 256, DEPTH = 1024, SMALL = 1 << 19, FEW = 4, EVEN = 256 };

static int64_t count(int64_t whole, int64_t part)
{
    return (whole + part - 1) / part;
}

/* Cuts the longer side of the tiles in two, while a tile is more than `most` multiply-adds.
 * False: it is too short already, and packing the operands would show. */
static bool halve(tiling *t, double most, int64_t shortest)
{
    int64_t *side = t->rows >= t->cols ? &t->rows : &t->cols;
    if ((double)t->rows * (double)t->cols * (double)t->depth <= most || *side < 2 * shortest) {
        return false;
    }
    *side = count(*side / 2, 16) * 16;
    return true;
}

static tiling cut(const asc_gemm *g)
{
    const double most = 36e6, least = 12e6; /* multiply-adds: some tenths of a millisecond */
    tiling t = {.g = g, .rows = g->m, .cols = g->n, .depth = g->k, .layers = 1};
    while (halve(&t, most, SHORTEST)) {
    }
    if (g->k >= 2 * DEPTH && g->m * g->n <= SMALL) {
        t.depth = DEPTH;
        t.layers = count(g->k, DEPTH);
    }
    /* Packing shows, but threads that wait for one piece's end show more. Where a cut makes no edge, since most of
     * OpenBLAS' kernels add in another order there: a product has the bits that it has whole. */
    bool even = t.rows % EVEN == 0 && t.cols % EVEN == 0;
    while (even && count(g->m, t.rows) * count(g->n, t.cols) * t.layers < FEW && halve(&t, least, SHORTEST / 2)) {
    }
    t.across = count(g->n, t.cols);
    t.tiles = count(g->m, t.rows) * t.across;
    return t;
}

int64_t asc_gemm_pieces(const asc_gemm *g)
{
    tiling t = cut(g);
    return t.tiles * t.layers;
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run_tile(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const tiling *t = arg;
    asc_gemm g = *t->g;
    int64_t tile = piece % t->tiles, layer = piece / t->tiles;
    int64_t i = tile / t->across * t->rows, j = tile % t->across * t->cols, l = layer * t->depth;
    int64_t size = (int64_t)asc_dtype_size(g.dtype);
    if (layer > 0) {
        g.c = (char *)t->partial + (layer - 1) * g.m * g.n * size;
        g.ldc = g.n;
        g.beta = 0;
        g.bias = NULL;
    }
    g.m = least(g.m - i, t->rows);
    g.n = least(g.n - j, t->cols);
    g.k = least(g.k - l, t->depth);
    g.a = (const char *)g.a + (g.ta ? l * g.lda + i : i * g.lda + l) * size;
    g.b = (const char *)g.b + (g.tb ? j * g.ldb + l : l * g.ldb + j) * size;
    g.c = (char *)g.c + (i * g.ldc + j) * size;
    g.bias = g.bias ? (const char *)g.bias + j * size : NULL;
    asc_gemm_run(&g);
}

/* ---- float, and f64.awk makes the same for double ---- */

static void add_partials_f32(void *arg, int64_t row, int worker)
{
    (void)worker;
    const tiling *t = arg;
    const asc_gemm *g = t->g;
    float *c = (float *)g->c + row * g->ldc;
    for (int64_t layer = 1; layer < t->layers; layer++) {
        const float *partial = (const float *)t->partial + ((layer - 1) * g->m + row) * g->n;
        for (int64_t j = 0; j < g->n; j++) {
            c[j] += partial[j];
        }
    }
}

/* ---- end of float ---- */
#include "kernels/gemm.f64.h"

asc_status asc_gemm_parallel(asc_ctx *ctx, const asc_gemm *g)
{
    if (g->m == 0 || g->n == 0) {
        return ASC_OK;
    }
    tiling t = cut(g); /* tiles of C are below the BLAS's limit, the other numbers may be beyond it */
    if (g->lda > INT32_MAX || g->ldb > INT32_MAX || g->ldc > INT32_MAX || t.depth > INT32_MAX) {
        return asc_fail(ctx, ASC_ERR_ARG,
                        "matrix product: rows of %lld, %lld and %lld elements, sums of %lld: "
                        "expected at most %d",
                        (long long)g->lda, (long long)g->ldb, (long long)g->ldc, (long long)g->k, INT32_MAX);
    }
    asc_storage *partial = NULL;
    if (t.layers > 1) {
        partial = asc_storage_new(ctx, (size_t)((t.layers - 1) * g->m * g->n) * asc_dtype_size(g->dtype));
        if (!partial) {
            return ASC_ERR_MEMORY;
        }
        t.partial = partial->data;
    }
    asc_parallel(ctx, t.tiles * t.layers, run_tile, &t);
    if (partial) {
        asc_parallel(ctx, g->m, BY_DTYPE(g->dtype, add_partials), &t);
        asc_storage_unref(ctx, partial);
    }
    return ASC_OK;
}
