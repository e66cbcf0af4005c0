/* tests/cli/core_type_shim.c: preloaded before the program, makes a processor of today one that OpenBLAS does not know:
 * SHIM_CORE is the core type that it takes unless OPENBLAS_CORETYPE is set. SHIM_LOG is a file that gets a line for
 * each execv; SHIM_NO_EXEC makes it fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

char *openblas_get_corename(void)
{
    char *unknown = getenv("SHIM_CORE"), *(*real)(void) = (char *(*)(void))dlsym(RTLD_NEXT, "openblas_get_corename");
    return unknown && !getenv("OPENBLAS_CORETYPE") ? unknown : real();
}

int execv(const char *path, char *const argv[])
{
    FILE *log = fopen(getenv("SHIM_LOG"), "a");
    fprintf(log, "%s %s\n", path, getenv("OPENBLAS_CORETYPE"));
    fclose(log);
    if (getenv("SHIM_NO_EXEC")) {
        errno = EACCES;
        return -1;
    }
    int (*real)(const char *, char *const[]) = (int (*)(const char *, char *const[]))dlsym(RTLD_NEXT, "execv");
    return real(path, argv);
}
