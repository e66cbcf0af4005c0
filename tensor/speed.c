/* tensor/speed.c: the machine's limit: the best that its matrix product reaches. */
#include <time.h>

#include "tensor/blas.h"
#include "tensor/ctx.h"

enum { RUNS = 5 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The shortest of RUNS runs after one to warm up. */
static double shortest(asc_ctx *ctx, const asc_gemm *g, bool own_threads)
{
    double best = 0;
    for (int i = 0; i <= RUNS; i++) {
        double start = seconds();
        if (own_threads) {
            asc_gemm_parallel(ctx, g);
        } else {
            asc_gemm_run(g);
        }
        double took = seconds() - start;
        if (i > 0 && (best == 0 || took < best)) {
            best = took;
        }
    }
    return best;
}

double asc_gemm_speed(asc_ctx *ctx, int64_t m, int64_t n, int64_t k)
{
    size_t floats = (size_t)(m * k + k * n + m * n);
    asc_storage *s = asc_storage_new(ctx, floats * sizeof(float));
    if (!s) {
        return 0;
    }
    float *x = s->data;
    for (size_t i = 0; i < floats; i++) {
        x[i] = (float)(i % 17) / 16 - .5f;
    }
    const asc_gemm g = {.dtype = ASC_F32, .m = m, .n = n, .k = k, .alpha = 1, .a = x, .lda = k, .b = x + m * k,
                        .ldb = n, .c = x + m * k + k * n, .ldc = n};
    double own = shortest(ctx, &g, true);
    asc_blas_threads(asc_threads(ctx));
    double blas = shortest(ctx, &g, false);
    asc_blas_threads(1);
    asc_storage_unref(ctx, s);
    return 2e-9 * (double)m * (double)n * (double)k / (own < blas ? own : blas);
}
