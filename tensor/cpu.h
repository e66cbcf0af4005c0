/* tensor/cpu.h: instruction sets: what the processor has, and which one the kernels use. */
#ifndef TENSOR_CPU_H
#define TENSOR_CPU_H

enum asc_isa { ASC_ISA_PLAIN, ASC_ISA_AVX2, ASC_ISA_AVX512 }; /* narrow to wide */
#define ASC_ISA_COUNT 3

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

#endif
