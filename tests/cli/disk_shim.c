/* tests/cli/disk_shim.c: preloaded before the program, counts the calls by which it, and all that it starts, change
 * files or make processes and pipes, and lets one of them go wrong. SHIM_COUNT is a file of 4 bytes, the number of
 * calls so far. SHIM_LOG, if set, gets a line for each: its number, what it was, and its file. At call number SHIM_AT
 *
 *   SHIM_FAULT=before, after   the process is killed
 *   SHIM_FAULT=middle          so it is, when half of a write is done
 *   SHIM_FAULT=power           so it is, after the call, and files lose what was not brought to the disk
 *   SHIM_FAULT=EIO             the call fails; of a write half is done
 *   SHIM_FAULT=ENOSPC          so it does, and so do all after it that need room
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum { NAME = 4200, FILES = 64 };

typedef enum outcome { GO_ON, FAIL, HALF, HALF_AND_DIE, GO_ON_AND_DIE } outcome;

/* Files with bytes that are not on the disk yet, by descriptors of our own, and their sizes there. */
static struct {
    int fd;
    struct stat was;
} unsynced[FILES];
static int n_unsynced;

static _Noreturn void die(void)
{
    if (strcmp(getenv("SHIM_FAULT"), "power") == 0) {
        for (int i = 0; i < n_unsynced; i++) {
            (void)!REAL(ftruncate)(unsynced[i].fd, unsynced[i].was.st_size);
        }
    }
    raise(SIGKILL);
    _exit(99);
}

static int find_unsynced(const struct stat *file)
{
    int i = 0;
    while (i < n_unsynced && unsynced[i].was.st_ino != file->st_ino) {
        i++;
    }
    return i;
}

static void note_write(int fd)
{
    struct stat now;
    if (fstat(fd, &now) == 0 && find_unsynced(&now) == n_unsynced && n_unsynced < FILES) {
        unsynced[n_unsynced].fd = fcntl(fd, F_DUPFD_CLOEXEC, 100);
        unsynced[n_unsynced++].was = now;
    }
}

static void note_sync(int fd)
{
    struct stat now;
    int i = fstat(fd, &now) == 0 ? find_unsynced(&now) : n_unsynced;
    if (i < n_unsynced) {
        close(unsynced[i].fd);
        unsynced[i] = unsynced[--n_unsynced];
    }
}

static void note_call(int number, const char *call, const char *name)
{
    char line[NAME + 100];
    int fd = getenv("SHIM_LOG") ? REAL(open)(getenv("SHIM_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    int n = snprintf(line, sizeof line, "%d %s %s\n", number, call, name);
    if (fd >= 0) {
        (void)!REAL(write)(fd, line, (size_t)n);
        close(fd);
    }
}

/* What happens at a call, which needs room on the disk or doesn't, and is a write or isn't. */
static outcome at_call(const char *call, const char *name, bool room, bool writes)
{
    static _Atomic int *count;
    if (!count) {
        int fd = REAL(open)(getenv("SHIM_COUNT"), O_RDWR | O_CLOEXEC);
        count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    int number = ++*count, at = getenv("SHIM_AT") ? atoi(getenv("SHIM_AT")) : 0;
    const char *fault = getenv("SHIM_FAULT");
    note_call(number, call, name);
    if (number == at && strcmp(fault, "before") == 0) {
        die();
    }
    bool full = at > 0 && number > at && room && strcmp(fault, "ENOSPC") == 0;
    if (number != at && !full) {
        return GO_ON;
    }
    if (*fault != 'E') {
        return strcmp(fault, "middle") == 0 && writes ? HALF_AND_DIE : GO_ON_AND_DIE;
    }
    errno = strcmp(fault, "EIO") == 0 ? EIO : ENOSPC;
    return writes && !full ? HALF : FAIL;
}

/* What follows a call: its result, if the process is to see it. */
static long after(outcome what, long result)
{
    if (what == GO_ON_AND_DIE || what == HALF_AND_DIE) {
        die();
    }
    return result;
}

/* The file of a descriptor, "" for what is no file on the disk, or a stream of the process. */
static const char *file_of(int fd, char name[NAME])
{
    char link[40];
    struct stat s;
    *name = '\0';
    if (fd > STDERR_FILENO && fstat(fd, &s) == 0 && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode))) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, name, NAME - 1);
        name[n > 0 ? n : 0] = '\0';
    }
    return name;
}

/* ---- the calls ---- */

#define SIMPLE(name, parameters, arguments, about, room)                                                               \
    int name parameters                                                                                                \
    {                                                                                                                  \
        outcome what = at_call(#name, about, room, false);                                                             \
        return what == FAIL ? -1 : (int)after(what, REAL(name) arguments);                                             \
    }
SIMPLE(rename, (const char *from, const char *to), (from, to), to, true)
SIMPLE(link, (const char *from, const char *to), (from, to), to, true)
SIMPLE(unlink, (const char *path), (path), path, false)
SIMPLE(mkdir, (const char *path, mode_t mode), (path, mode), path, true)
SIMPLE(rmdir, (const char *path), (path), path, false)
SIMPLE(pipe, (int fds[2]), (fds), "", false)

pid_t fork(void)
{
    outcome what = at_call("fork", "", false, false);
    return what == FAIL ? -1 : (pid_t)after(what, REAL(fork)());
}

static int open_with(const char *path, int flags, mode_t mode)
{
    outcome what = flags & (O_CREAT | O_TRUNC) ? at_call("open", path, true, false) : GO_ON;
    return what == FAIL ? -1 : (int)after(what, REAL(open)(path, flags, mode));
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;                                                      \
        va_end(rest);                                                                                                  \
        return open_with(path, flags, mode);                                                                           \
    }

OPEN(open)
OPEN(open64)

static ssize_t write_at(const char *call, int fd, const void *bytes, size_t n, off_t at)
{
    char name[NAME];
    outcome what = *file_of(fd, name) ? at_call(call, name, true, true) : GO_ON;
    int reason = errno;
    if (what == FAIL) {
        return -1;
    }
    if (*name) {
        note_write(fd);
    }
    size_t some = what == HALF || what == HALF_AND_DIE ? n / 2 : n;
    ssize_t done = at < 0 ? REAL(write)(fd, bytes, some) : REAL(pwrite)(fd, bytes, some, at);
    errno = what == HALF ? reason : errno;
    return what == HALF ? -1 : (ssize_t)after(what, done);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    return write_at("write", fd, bytes, n, -1);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return write_at("pwrite", fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
    return write_at("pwrite", fd, bytes, n, at);
}

int ftruncate(int fd, off_t size)
{
    char name[NAME];
    outcome what = at_call("ftruncate", file_of(fd, name), false, false);
    return what == FAIL ? -1 : (int)after(what, REAL(ftruncate)(fd, size));
}

int ftruncate64(int fd, off_t size)
{
    return ftruncate(fd, size);
}

int fsync(int fd)
{
    char name[NAME];
    outcome what = at_call("fsync", file_of(fd, name), false, false);
    if (what == FAIL) {
        return -1;
    }
    note_sync(fd);
    return (int)after(what, 0); /* no plug is pulled: the disk need not be waited for */
}
