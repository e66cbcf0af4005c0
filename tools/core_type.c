/* tools/core_type.c: OpenBLAS chooses its kernels when it is loaded, from the environment or the processor's model
 * number; only a new process can choose again. The variable itself keeps the new one from starting a third. */
#include "tools/core_type.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#include <ascgrad/base.h>

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

static bool under_valgrind(void)
{
#ifdef RUNNING_ON_VALGRIND
    return RUNNING_ON_VALGRIND;
#else
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
#endif
}

/* Whether /proc/self/exe is this program, and no more than the user's own rights are at stake. The kernel loads the
 * dynamic linker at AT_BASE for a program; there is none where the linker itself was started with the program's
 * name. */
static bool may_start_again(void)
{
#ifdef __linux__
    if (getauxval(AT_SECURE) || !getauxval(AT_BASE)) {
        return false;
    }
#endif
    return !under_valgrind();
}

void core_type_prepare(char **argv)
{
    const char *advice = asc_machine_info().blas_advice; /* NULL where the variable is set */
    if (!advice || !may_start_again() || setenv("OPENBLAS_CORETYPE", advice, 1)) {
        return;
    }
    execv("/proc/self/exe", argv);
    unsetenv("OPENBLAS_CORETYPE"); /* no such path, or it is not allowed: go on with what there is */
}
