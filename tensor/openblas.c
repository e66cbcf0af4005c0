/* tensor/openblas.c: matrix products on OpenBLAS, one thread a call. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "tensor/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/core_advice.h"
#include "tensor/cpu.h"
#include "tensor/ctx.h"
#include "tensor/dtype.h"
#include "tensor/processors.h"

/* What a build of OpenBLAS asks of those who call it from threads of their own.
 *
 * Built for POSIX threads: a count of threads for the process, to be set to 1.
 * Built for OpenMP: it asks the runtime at each call how many threads the calling thread may have, and for a thread
 * that OpenMP did not start that is OMP_NUM_THREADS or all processors, whatever was set elsewhere (num_cpu_avail in its
 * common_thread.h). So each product sets its thread's number, and puts the old one back, which is the host program's.
 * The runtime's functions are looked up, as the other builds have none.
 * Built without threads: its buffers are handed out without a lock, unless it was built with USE_LOCKING; two calls at
 * a time may get the same buffer, and wrong results. So they go one at a time. */
static struct {
    void (*set_omp)(int threads);
    int (*get_omp)(void);
    bool one_at_a_time;
    char config[256]; /* a copy: openblas_get_config() writes its one buffer anew at each call, without a lock */
} build;

static _Thread_local int omp_threads = 1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void take_turn(void)
{
    pthread_mutex_lock(&turn);
}

static void end_turn(void)
{
    pthread_mutex_unlock(&turn);
}

static void find_build(void)
{
    if (openblas_get_parallel() == OPENBLAS_OPENMP) {
        build.set_omp = (void (*)(int))dlsym(RTLD_DEFAULT, "omp_set_num_threads");
        build.get_omp = (int (*)(void))dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    }
    snprintf(build.config, sizeof build.config, "%s", openblas_get_config());
    build.one_at_a_time = openblas_get_parallel() == OPENBLAS_SEQUENTIAL && !strstr(build.config, "USE_LOCKING");
    if (build.one_at_a_time) {
        pthread_atfork(take_turn, end_turn, end_turn); /* a child must not wait for a thread that it doesn't have */
    }
}

static void know_build(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_build);
}

void asc_blas_threads(int n)
{
    know_build();
    omp_threads = n;
    if (!build.set_omp || !build.get_omp) {
        openblas_set_num_threads(n);
    }
}

/* Gives what leave_blas wants. */
static int enter_blas(void)
{
    int before = 0;
    if (build.one_at_a_time) {
        take_turn();
    } else if (build.set_omp && build.get_omp) {
        before = build.get_omp();
        build.set_omp(omp_threads);
    }
    return before;
}

static void leave_blas(int before)
{
    if (build.one_at_a_time) {
        end_turn();
    } else if (before > 0) {
        build.set_omp(before);
    }
}

/* Rows of C start from the bias, or from 0. */
static void start_rows(const asc_gemm *g)
{
    size_t size = asc_dtype_size(g->dtype), row = (size_t)g->n * size;
    for (int64_t i = 0; i < g->m; i++) {
        void *c = (char *)g->c + (size_t)(i * g->ldc) * size;
        if (g->bias) {
            memcpy(c, g->bias, row);
        } else {
            memset(c, 0, row);
        }
    }
}

void asc_blas_run(const asc_gemm *g)
{
    if (g->m == 0 || g->n == 0) {
        return;
    }
    if (g->bias || (g->k == 0 && g->beta == 0)) {
        start_rows(g);
    }
    if (g->k == 0) {
        return;
    }
    double beta = g->bias ? 1 : g->beta;
    CBLAS_TRANSPOSE ta = g->ta ? CblasTrans : CblasNoTrans, tb = g->tb ? CblasTrans : CblasNoTrans;
    blasint m = (blasint)g->m, n = (blasint)g->n, k = (blasint)g->k;
    blasint lda = (blasint)g->lda, ldb = (blasint)g->ldb, ldc = (blasint)g->ldc;
    int before = enter_blas();
    if (g->dtype == ASC_F32) {
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, (float)g->alpha, g->a, lda, g->b, ldb, (float)beta, g->c, ldc);
    } else {
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, g->alpha, g->a, lda, g->b, ldb, beta, g->c, ldc);
    }
    leave_blas(before);
}

int asc_version(void)
{
    return ASC_VERSION_NUMBER;
}

asc_machine asc_machine_info(void)
{
    know_build();
    const char *core = openblas_get_corename();
    return (asc_machine){
        .version = ASC_VERSION,
        .isa = asc_isa_name(asc_isa_active()),
        .best_isa = asc_isa_name(asc_isa_best()),
        .blas = build.config,
        .blas_core = core,
        .blas_advice = asc_core_advice(asc_isa_best(), core, build.config, getenv("OPENBLAS_CORETYPE")),
        .blas_serial = build.one_at_a_time,
        .bf16 = asc_bf16_name(asc_bf16_active()),
        .products = asc_f32_packs() ? "own" : "openblas",
        .products_refused = asc_products_refused(),
        .isa_refused = asc_isa_refused(),
        .processors = asc_processors(),
        .processor = asc_processor_name(),
        .memory_bytes = asc_memory_bytes(),
    };
}
