/* kernels/dispatch.c: the tables of the instruction set in use. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "kernels/kernels.h"

static const struct {
    const asc_kernel_table_f32 *f32;
    const asc_kernel_table_f64 *f64;
} tables[ASC_ISA_COUNT] = {
    [ASC_ISA_PLAIN] = {&asc_kernels_f32_plain, &asc_kernels_f64_plain},
#ifdef HAVE_KERNELS_AVX2
    [ASC_ISA_AVX2] = {&asc_kernels_f32_avx2, &asc_kernels_f64_avx2},
#endif
#ifdef HAVE_KERNELS_AVX512
    [ASC_ISA_AVX512] = {&asc_kernels_f32_avx512, &asc_kernels_f64_avx512},
#endif
};

const asc_kernel_table_f32 *asc_kernels_f32_of(enum asc_isa isa)
{
    return tables[isa].f32;
}

const asc_kernel_table_f64 *asc_kernels_f64_of(enum asc_isa isa)
{
    return tables[isa].f64;
}

const asc_kernel_table_f32 *asc_kernels_f32(void)
{
    return tables[asc_isa_active()].f32;
}

const asc_kernel_table_f64 *asc_kernels_f64(void)
{
    return tables[asc_isa_active()].f64;
}
