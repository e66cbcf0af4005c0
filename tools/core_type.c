/* tools/core_type.c: OpenBLAS chooses its kernels when it is loaded, from the environment or the processor's model
 * number; only a new process can choose again. */
#include "tools/core_type.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ascgrad/base.h>

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

#define GUARD "ASCGRAD_REEXEC"

static bool under_valgrind(void)
{
#ifdef RUNNING_ON_VALGRIND
    return RUNNING_ON_VALGRIND;
#else
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
#endif
}

void core_type_prepare(char **argv)
{
    if (getenv(GUARD)) {
        unsetenv(GUARD);
        return;
    }
    if (getenv("OPENBLAS_CORETYPE")) {
        return;
    }
    const char *advice = asc_machine_info().blas_advice;
    if (!advice || under_valgrind()) {
        return;
    }
    setenv("OPENBLAS_CORETYPE", advice, 1);
    setenv(GUARD, "1", 1);
    execv("/proc/self/exe", argv);
    unsetenv(GUARD); /* no such path: go on with what there is */
    unsetenv("OPENBLAS_CORETYPE");
}
