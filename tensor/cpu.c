/* tensor/cpu.c: the choice of the instruction set. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "tensor/cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[ASC_ISA_COUNT] = {"plain", "avx2", "avx512"};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum asc_isa active;

const char *asc_isa_name(enum asc_isa isa)
{
    return names[isa];
}

enum asc_isa asc_isa_best(void)
{
    /* __builtin_cpu_supports asks the operating system too (xgetbv): a processor may have registers
     * that are not saved at a task switch. */
#ifdef HAVE_KERNELS_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
#ifdef HAVE_KERNELS_AVX512
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
            return ASC_ISA_AVX512;
        }
#endif
        return ASC_ISA_AVX2;
    }
#endif
    return ASC_ISA_PLAIN;
}

enum asc_isa asc_isa_choose(const char *wanted, enum asc_isa best)
{
    for (int i = 0; wanted && i < (int)best; i++) {
        if (strcmp(wanted, names[i]) == 0) {
            return (enum asc_isa)i;
        }
    }
    return best;
}

const char *asc_isa_refused(void)
{
    const char *wanted = getenv("ASCGRAD_ISA");
    for (int i = 0; wanted && i < ASC_ISA_COUNT; i++) {
        if (strcmp(wanted, names[i]) == 0) {
            return NULL;
        }
    }
    return wanted && *wanted ? wanted : NULL;
}

static void choose(void)
{
    active = asc_isa_choose(getenv("ASCGRAD_ISA"), asc_isa_best());
}

enum asc_isa asc_isa_active(void)
{
    pthread_once(&once, choose);
    return active;
}
