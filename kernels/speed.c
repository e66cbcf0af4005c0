/* kernels/speed.c: the machine's limits: the best that its matrix product and its memory reach. */
#include <math.h>
#include <string.h>

#include "kernels/gemm.h"
#include "tensor/ctx.h"

enum { RUNS = 5 };

/* The shortest of RUNS runs after one to warm up; infinite with the error set. */
static double shortest(asc_ctx *ctx, const asc_gemm *g, bool own_threads)
{
    double best = 0;
    for (int i = 0; i <= RUNS; i++) {
        double start = asc_clock();
        if (!own_threads) {
            asc_gemm_run(g);
        } else if (asc_gemm_parallel(ctx, g)) {
            return INFINITY;
        }
        double took = asc_clock() - start;
        if (i > 0 && (best == 0 || took < best)) {
            best = took;
        }
    }
    return best;
}

/* A product of [m, k] by [k, n] out of memory of its own; NULL with the error set. */
static asc_storage *make_product(asc_ctx *ctx, int64_t m, int64_t n, int64_t k, asc_gemm *g)
{
    bool few = m <= INT32_MAX && n <= INT32_MAX && k <= INT32_MAX; /* as BLAS counts */
    if (m < 1 || n < 1 || k < 1 || !few) {
        asc_fail(ctx, ASC_ERR_ARG, "gemm_speed: m, n and k are %lld, %lld and %lld, expected 1 to 2147483647",
                 (long long)m, (long long)n, (long long)k);
        return NULL;
    }
    double most = (double)m * (double)k + (double)k * (double)n + (double)m * (double)n;
    if (most >= (double)(PTRDIFF_MAX / (int64_t)sizeof(float))) {
        asc_fail(ctx, ASC_ERR_ARG, "gemm_speed: m, n and k are %lld, %lld and %lld, of more than PTRDIFF_MAX bytes",
                 (long long)m, (long long)n, (long long)k);
        return NULL;
    }
    size_t floats = (size_t)(m * k + k * n + m * n);
    asc_storage *s = asc_storage_new(ctx, floats * sizeof(float));
    if (s) {
        float *x = s->data;
        for (size_t i = 0; i < floats; i++) {
            x[i] = (float)(i % 17) / 16 - .5f;
        }
        *g = (asc_gemm){.dtype = ASC_F32,
                        .m = m,
                        .n = n,
                        .k = k,
                        .alpha = 1,
                        .a = x,
                        .lda = k,
                        .b = x + m * k,
                        .ldb = n,
                        .c = x + m * k + k * n,
                        .ldc = n};
    }
    return s;
}

static double gflops(const asc_gemm *g, double seconds)
{
    return 2e-9 * (double)g->m * (double)g->n * (double)g->k / seconds;
}

double asc_gemm_speed(asc_ctx *ctx, int64_t m, int64_t n, int64_t k)
{
    asc_gemm g;
    asc_storage *s = make_product(ctx, m, n, k, &g);
    if (!s) {
        return 0;
    }
    double own = shortest(ctx, &g, true);
    asc_blas_threads(asc_threads(ctx));
    double blas = shortest(ctx, &g, false);
    asc_blas_threads(1);
    asc_storage_unref(ctx, s);
    return gflops(&g, own < blas || isinf(own) ? own : blas);
}

double asc_gemm_speed_of(asc_ctx *ctx, asc_precision precision, int64_t m, int64_t n, int64_t k)
{
    asc_precision before = asc_precision_of(ctx);
    if (asc_set_precision(ctx, precision)) {
        return 0;
    }
    asc_gemm g;
    asc_storage *s = make_product(ctx, m, n, k, &g);
    double speed = 0;
    if (s) {
        g.packs = asc_packs(ctx);
        speed = gflops(&g, shortest(ctx, &g, true));
        asc_storage_unref(ctx, s);
    }
    asc_set_precision(ctx, before);
    return speed;
}

/* ---- memory: the triad of McCalpin's STREAM, a_i = b_i + s c_i ---- */

enum { TRIAD_FLOATS = 1 << 25, TRIAD_PIECE = 1 << 16 }; /* of an array, 128 MiB: far more than caches hold */

typedef struct triad {
    float *a;
    const float *b, *c;
    float s;
} triad;

static void triad_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const triad *t = arg;
    float *restrict a = t->a + piece * TRIAD_PIECE;
    const float *restrict b = t->b + piece * TRIAD_PIECE, *restrict c = t->c + piece * TRIAD_PIECE;
    for (int i = 0; i < TRIAD_PIECE; i++) {
        a[i] = b[i] + t->s * c[i];
    }
}

double asc_memory_speed(asc_ctx *ctx)
{
    size_t bytes = TRIAD_FLOATS * sizeof(float);
    asc_storage *s = asc_storage_new(ctx, 3 * bytes);
    if (!s) {
        return 0;
    }
    float *x = s->data;
    memset(x, 0, 3 * bytes);
    triad t = {x, x + TRIAD_FLOATS, x + 2 * TRIAD_FLOATS, 3};
    double best = 0;
    for (int i = 0; i <= RUNS; i++) {
        double start = asc_clock();
        asc_parallel(ctx, TRIAD_FLOATS / TRIAD_PIECE, triad_piece, &t);
        double took = asc_clock() - start;
        best = i > 0 && (best == 0 || took < best) ? took : best;
    }
    asc_storage_unref(ctx, s);
    return 3e-9 * (double)bytes / best;
}
