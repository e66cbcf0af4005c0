/* tools/room.c: OpenBLAS asks for its buffers again and again, for good, where the system has none to give: as soon as
 * it is loaded, and with each thread's first product. So a limit on address space is looked at before either. */
#include "tools/room.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/cli.h"

/* Libraries and the program take 100 MiB; a thread its stack, its share of the heap and its buffer. */
enum { START_MIB = 384, THREAD_MIB = 128 };

static rlim_t limit_mib(void)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited ? limit.rlim_cur >> 20 : RLIM_INFINITY;
}

#if defined(__linux__) && defined(__GLIBC__)
/* Before the libraries' own beginnings, of which OpenBLAS' is one. No sanitizer has begun, either. */
__attribute__((no_sanitize("address"))) static void check_first(void)
{
    static const char refused[] = "ascgrad: the limit on address space is too low, expected at least 512 MiB "
                                  "(ulimit -v 524288)\n";
    if (limit_mib() < START_MIB + THREAD_MIB) {
        (void)!write(STDERR_FILENO, refused, sizeof refused - 1);
        _exit(CLI_IO);
    }
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = check_first;
#endif

void room_check(int64_t threads)
{
    rlim_t limit = limit_mib(), most = limit < START_MIB ? 0 : (limit - START_MIB) / THREAD_MIB;
    int64_t n = threads > 0 ? threads : asc_machine_info().processors;
    if ((rlim_t)n > most) {
        cli_message("the limit on address space, %lld MiB, is too low for %lld thread%s: expected %lld MiB, or "
                    "--threads %lld", (long long)limit, (long long)n, n == 1 ? "" : "s",
                    (long long)(START_MIB + n * THREAD_MIB), (long long)(most > 0 ? most : 1));
        exit(CLI_IO);
    }
}
