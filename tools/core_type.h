/* tools/core_type.h: starting again with the kernels that OpenBLAS should have taken. */
#ifndef TOOLS_CORE_TYPE_H
#define TOOLS_CORE_TYPE_H

/* Where OpenBLAS took kernels narrower than the processor's, replaces this process by the same program with
 * OPENBLAS_CORETYPE set; to be called first in main. Returns where there is nothing to do: the kernels suit, or the
 * variable is set, by the user or by an earlier call; and where it can't be done: under valgrind, with raised
 * privileges, or where the program's own path is not known or may not be executed. */
void core_type_prepare(char **argv);

#endif
