/* tensor/core_advice.h: whether OpenBLAS took kernels that suit the processor. */
#ifndef TENSOR_CORE_ADVICE_H
#define TENSOR_CORE_ADVICE_H

#include "tensor/cpu.h"

/* The core type to set in OPENBLAS_CORETYPE, where OpenBLAS chose `core`, whose kernels are narrower than the widest
 * instruction set of the processor, `best`; else NULL. NULL too where setting it is of no use or not ours to advise:
 * `config`, OpenBLAS' description of its build, lacks DYNAMIC_ARCH, so that it has kernels of one core type only; or
 * `chosen`, the variable's value, is not NULL: what a user chose stands. Static. */
const char *asc_core_advice(enum asc_isa best, const char *core, const char *config, const char *chosen);

#endif
