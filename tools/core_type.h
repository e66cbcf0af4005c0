/* tools/core_type.h: starting again with the kernels that OpenBLAS should have taken. */
#ifndef TOOLS_CORE_TYPE_H
#define TOOLS_CORE_TYPE_H

/* Where OpenBLAS took kernels narrower than the processor's, replaces this process by the same program with
 * OPENBLAS_CORETYPE set; to be called first in main. Returns where there is nothing to do: the user chose a core type,
 * it has been done, the program runs under valgrind, or its own path is not known. */
void core_type_prepare(char **argv);

#endif
