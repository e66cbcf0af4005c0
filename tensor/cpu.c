/* tensor/cpu.c: the choice of the instruction set. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "tensor/cpu.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(HAVE_KERNELS_AVX512_BF16)
#include <cpuid.h>
#endif
#if defined(HAVE_KERNELS_AMX)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Of products of bfloat16, too; row primitives have the first three. */
static const char *const names[ASC_BF16_COUNT] = {"plain", "avx2", "avx512", "avx512_bf16", "amx"};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum asc_isa active;
static enum asc_bf16 best_bf16, active_bf16;
static bool f32_packs;

const char *asc_isa_name(enum asc_isa isa)
{
    return names[isa];
}

const char *asc_bf16_name(enum asc_bf16 set)
{
    return names[set];
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

/* Which of the first n names `wanted` is; n, as for NULL: none of them. */
static int number_of(const char *wanted, int n)
{
    int i = 0;
    while (i < n && !(wanted && strcmp(wanted, names[i]) == 0)) {
        i++;
    }
    return i;
}

enum asc_isa asc_isa_choose(const char *wanted, enum asc_isa best)
{
    return (enum asc_isa)number_of(wanted, (int)best);
}

#if defined(HAVE_KERNELS_AVX512_BF16)
static bool has_avx512_bf16(void)
{
    unsigned a = 0, b, c, d;
    return asc_isa_best() == ASC_ISA_AVX512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1;
}
#endif

#if defined(HAVE_KERNELS_AMX)
/* Tiles are 8 KiB that the system saves for each thread, for processes that have asked. */
static bool has_amx(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    unsigned a, b, c, d = 0;
    bool there = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 22 & 1 && d >> 24 & 1;
    return there && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}
#endif

static enum asc_bf16 find_best_bf16(void)
{
#if defined(HAVE_KERNELS_AVX512_BF16)
    if (has_avx512_bf16()) {
#if defined(HAVE_KERNELS_AMX)
        if (has_amx()) {
            return ASC_BF16_AMX;
        }
#endif
        return ASC_BF16_AVX512_BF16;
    }
#endif
    return (enum asc_bf16)asc_isa_best();
}

const char *asc_isa_refused(void)
{
    const char *wanted = getenv("ASCGRAD_ISA");
    bool known = !wanted || !*wanted || number_of(wanted, ASC_BF16_COUNT) < ASC_BF16_COUNT;
    return known ? NULL : wanted;
}

const char *asc_products_refused(void)
{
    const char *wanted = getenv("ASCGRAD_PRODUCTS");
    bool known = !wanted || !*wanted || strcmp(wanted, "own") == 0 || strcmp(wanted, "openblas") == 0;
    return known ? NULL : wanted;
}

/* The rule, from the processor and what the user wants. */
static bool own_products(const char *wanted, enum asc_isa isa)
{
    if (wanted && strcmp(wanted, "own") == 0) {
        return true;
    }
    if (wanted && strcmp(wanted, "openblas") == 0) {
        return false;
    }
#if defined(HAVE_KERNELS_AVX512)
    return isa == ASC_ISA_AVX512 && __builtin_cpu_is("intel");
#else
    (void)isa;
    return false;
#endif
}

static void choose(void)
{
    const char *wanted = getenv("ASCGRAD_ISA");
    active = asc_isa_choose(wanted, asc_isa_best());
    best_bf16 = find_best_bf16();
    active_bf16 = (enum asc_bf16)number_of(wanted, (int)best_bf16);
    f32_packs = own_products(getenv("ASCGRAD_PRODUCTS"), active);
}

bool asc_f32_packs(void)
{
    pthread_once(&once, choose);
    return f32_packs;
}

enum asc_isa asc_isa_active(void)
{
    pthread_once(&once, choose);
    return active;
}

enum asc_bf16 asc_bf16_best(void)
{
    pthread_once(&once, choose);
    return best_bf16;
}

enum asc_bf16 asc_bf16_active(void)
{
    pthread_once(&once, choose);
    return active_bf16;
}
