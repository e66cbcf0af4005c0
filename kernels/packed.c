/* kernels/packed.c: the kernels of the instructions in use. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "kernels/packed.h"

static const asc_packed_kernel *const kernels[ASC_BF16_COUNT] = {
    [ASC_BF16_PLAIN] = &asc_bf16_plain,
#ifdef HAVE_KERNELS_AVX2
    [ASC_BF16_AVX2] = &asc_bf16_avx2,
#endif
#ifdef HAVE_KERNELS_AVX512
    [ASC_BF16_AVX512] = &asc_bf16_avx512,
#endif
#ifdef HAVE_KERNELS_AVX512_BF16
    [ASC_BF16_AVX512_BF16] = &asc_bf16_avx512_bf16,
#endif
#ifdef HAVE_KERNELS_AMX
    [ASC_BF16_AMX] = &asc_bf16_amx,
#endif
};

const asc_packed_kernel *asc_packed_kernel_of(enum asc_bf16 set)
{
    return kernels[set];
}

const asc_packed_kernel *asc_packed_kernel_active(void)
{
    return kernels[asc_bf16_active()];
}

static const asc_packed_kernel *const f32_kernels[ASC_ISA_COUNT] = {
    [ASC_ISA_PLAIN] = &asc_f32_plain,
#ifdef HAVE_KERNELS_AVX2
    [ASC_ISA_AVX2] = &asc_f32_avx2,
#endif
#ifdef HAVE_KERNELS_AVX512
    [ASC_ISA_AVX512] = &asc_f32_avx512,
#endif
};

const asc_packed_kernel *asc_packed_f32_kernel_of(enum asc_isa isa)
{
    return f32_kernels[isa];
}

const asc_packed_kernel *asc_packed_f32_kernel(void)
{
    return asc_f32_packs() ? f32_kernels[asc_isa_active()] : NULL;
}
