/* tensor/cpu.h: instruction sets: what the processor has, and which one the kernels use. */
#ifndef TENSOR_CPU_H
#define TENSOR_CPU_H

#include <stdbool.h>

enum asc_isa { ASC_ISA_PLAIN, ASC_ISA_AVX2, ASC_ISA_AVX512 }; /* narrow to wide */
#define ASC_ISA_COUNT 3

/* The instructions that do products of bfloat16, slow to fast; the first three round and multiply floats. */
enum asc_bf16 { ASC_BF16_PLAIN, ASC_BF16_AVX2, ASC_BF16_AVX512, ASC_BF16_AVX512_BF16, ASC_BF16_AMX };
#define ASC_BF16_COUNT 5

/* The widest one that the processor (and its operating system) runs and the library has kernels for. */
enum asc_isa asc_isa_best(void);

/* The one in use: asc_isa_best, held down by the environment variable ASCGRAD_ISA, which is read once. */
enum asc_isa asc_isa_active(void);

/* The rule for the above: the one named `wanted`, but no wider than `best`; `best` for NULL or an unknown name. */
enum asc_isa asc_isa_choose(const char *wanted, enum asc_isa best);

/* The value of ASCGRAD_ISA, if it names no instruction set; or NULL. Borrowed from the environment. */
const char *asc_isa_refused(void);

/* "plain", "avx2" or "avx512"; static. */
const char *asc_isa_name(enum asc_isa isa);

/* The same of products of bfloat16. The first question that leads to AMX asks the system to let the process use its
 * registers; where it will not, AVX512-BF16 is the best. */
enum asc_bf16 asc_bf16_best(void);
enum asc_bf16 asc_bf16_active(void);
const char *asc_bf16_name(enum asc_bf16 set); /* "plain", "avx2", "avx512", "avx512_bf16" or "amx"; static */

/* Whether products of float32 are our own kernels', which are faster than OpenBLAS' on Intel's processors with AVX-512
 * (doc/performance.md); the environment variable ASCGRAD_PRODUCTS, own or openblas, decides otherwise, and is read
 * once. */
bool asc_f32_packs(void);

/* The value of ASCGRAD_PRODUCTS, if it is neither; or NULL. Borrowed from the environment. */
const char *asc_products_refused(void);

#endif
