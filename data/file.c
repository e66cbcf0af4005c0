/* data/file.c: regular files opened; files written aside, brought to the disk, and renamed into their place. */
#define _GNU_SOURCE /* tee */
#include "data/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <program/file.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

enum { BUFFER_BYTES = 1 << 18, TEMPORARY_EXTRA = sizeof ASC_FILE_TEMPORARY - 1, OPEN_ATTEMPTS = 40, WAIT_MS = 50 };

/* ---- opening ---- */

/* What is no regular file, in words; NULL for one that is. */
static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return NULL;
    case S_IFDIR: return "a folder";
    case S_IFLNK: return "a symbolic link";
    case S_IFIFO: return "a pipe";
    case S_IFSOCK: return "a socket";
    default: return "a device";
    }
}

static asc_status refuse_kind(asc_ctx *ctx, const char *path, const char *kind)
{
    return asc_fail(ctx, ASC_ERR_IO, "%s: is %s, expected a regular file", path, kind);
}

/* The descriptor; -1 with *kind, where something else stands there, or with errno. O_NONBLOCK, so that a pipe is
 * refused and not waited for, means nothing to a regular file. */
static int open_regular(const char *path, int flags, const char **kind)
{
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    } while (fd < 0 && errno == EINTR);
    int reason = errno;
    struct stat there;
    int unknown = fd >= 0 ? fstat(fd, &there) : flags & O_NOFOLLOW ? lstat(path, &there) : stat(path, &there);
    *kind = unknown ? NULL : kind_of(there.st_mode);
    if (*kind && fd >= 0) {
        close(fd);
        fd = -1;
    }
    errno = reason;
    return fd;
}

int asc_file_open(asc_ctx *ctx, const char *path, int flags)
{
    const char *kind;
    int fd = open_regular(path, flags, &kind);
    if (kind) {
        refuse_kind(ctx, path, kind);
    } else if (fd < 0) {
        asc_fail(ctx, ASC_ERR_IO, "%s: can't open: %s", path, strerror(errno));
    }
    return fd;
}

/* A pipe's writer may be about to come: it is waited for, after a moment not without a word. One that has a writer is
 * waited for as long as that takes, by those who read. */
enum { SILENT_MS = 1000, LOOK_MS = 50, WRITER_S = 20 };

/* What can't be read to an end, in words: devices, but for terminals and the empty one. */
static const char *endless(int fd, const struct stat *there)
{
    struct stat empty;
    if (S_ISDIR(there->st_mode) || S_ISBLK(there->st_mode)) {
        return kind_of(there->st_mode);
    }
    bool fit = !S_ISCHR(there->st_mode) || isatty(fd) ||
               (stat("/dev/null", &empty) == 0 && there->st_rdev == empty.st_rdev);
    return fit ? NULL : kind_of(there->st_mode);
}

/* Whether there is a writer, or was one: without, a pipe's copy has come to its end. Where the system can't copy one it
 * is read as it is. */
static bool has_writer(int fd)
{
    bool any = true;
#ifdef __linux__
    int copy[2];
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    if (poll(&gone, 1, 0) == 0 && pipe2(copy, O_CLOEXEC) == 0) {
        any = tee(fd, copy[1], 1, SPLICE_F_NONBLOCK) != 0;
        close(copy[0]);
        close(copy[1]);
    }
#else
    (void)fd;
#endif
    return any;
}

static asc_status await_writer(asc_ctx *ctx, int fd, const char *path)
{
    if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, SILENT_MS) > 0 || has_writer(fd)) {
        return ASC_OK;
    }
    asc_note(ctx, "%s: is a pipe; what writes to it is waited for, up to %d s", path, WRITER_S);
    for (int ms = SILENT_MS; ms < 1000 * WRITER_S; ms += LOOK_MS) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000L * LOOK_MS}, NULL);
        if (has_writer(fd)) {
            return ASC_OK;
        }
    }
    return asc_fail(ctx, ASC_ERR_IO, "%s: is a pipe, and for %d s nothing has written to it", path, WRITER_S);
}

int asc_input_open(asc_ctx *ctx, const char *path)
{
    if (ASC_NEED(ctx, "input_open: path", path)) {
        return -1;
    }
    int fd;
    do {
        fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    struct stat there;
    if (fd < 0 || fstat(fd, &there)) {
        asc_fail(ctx, ASC_ERR_IO, "%s: can't open: %s", path, strerror(errno));
        return -1;
    }
    const char *kind = endless(fd, &there);
    if (kind) {
        asc_fail(ctx, ASC_ERR_IO, "%s: is %s, expected a file", path, kind);
        close(fd);
        return -1;
    }
    if (strcmp(path, "-") == 0) { /* its flags are others', too, and whoever opened it has waited */
        return fd;
    }
    if (S_ISFIFO(there.st_mode) && await_writer(ctx, fd, path)) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, 0); /* from here on a reader waits for the writer */
    return fd;
}

FILE *asc_file_read(const char *path)
{
    const char *kind;
    int fd = path ? open_regular(path, O_RDONLY, &kind) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !file) {
        close(fd);
    }
    return file;
}

int asc_file_create(asc_ctx *ctx, const char *path)
{
    int fd = ASC_NEED(ctx, "file_create: path", path)
                 ? -1
                 : asc_file_open(ctx, path, O_WRONLY | O_CREAT | O_NOFOLLOW);
    if (fd >= 0 && ftruncate(fd, 0)) {
        asc_fail(ctx, ASC_ERR_IO, "%s: can't write: %s", path, strerror(errno));
        close(fd);
        fd = -1;
    }
    return fd;
}

asc_status asc_folder_check_own(asc_ctx *ctx, const char *path)
{
    struct stat there;
    if (lstat(path, &there) != 0 || S_ISDIR(there.st_mode)) {
        return ASC_OK;
    }
    const char *kind = kind_of(there.st_mode);
    return asc_fail(ctx, ASC_ERR_IO, "%s: is %s, expected a folder", path, kind ? kind : "a file");
}

asc_status asc_folder_make(asc_ctx *ctx, const char *path)
{
    asc_status status = ASC_NEED(ctx, "folder_make: path", path);
    if (status) {
        return status;
    }
    if (mkdir(path, 0777) && errno != EEXIST) {
        return asc_fail(ctx, ASC_ERR_IO, "%s: %s", path, strerror(errno));
    }
    return asc_folder_check_own(ctx, path);
}

asc_status asc_file_check_own(asc_ctx *ctx, const char *path)
{
    struct stat there;
    const char *kind = lstat(path, &there) == 0 ? kind_of(there.st_mode) : NULL;
    return kind ? refuse_kind(ctx, path, kind) : ASC_OK;
}

/* ---- writing ---- */

static void release(asc_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    asc_free(file->ctx, file->buffer, BUFFER_BYTES);
    asc_free(file->ctx, file->temporary, file->path_bytes + TEMPORARY_EXTRA);
    asc_free(file->ctx, file->path, file->path_bytes);
    file->fd = -1;
    file->buffer = NULL;
    file->path = file->temporary = NULL;
}

/* The name goes before the lock does, so that no other writer's file is removed. */
void asc_file_discard(asc_file *file)
{
    if (file->fd >= 0) {
        unlink(file->temporary);
    }
    release(file);
}

static asc_status failed(asc_file *file, const char *what)
{
    int reason = errno;
    file->status = asc_fail(file->ctx, ASC_ERR_IO, "%s: %s: %s", file->path, what, strerror(reason));
    asc_file_discard(file);
    return file->status;
}

/* Whether the file that was opened is still the one that has the temporary name. */
static bool still_named(const asc_file *file)
{
    struct stat opened, named;
    return fstat(file->fd, &opened) == 0 && lstat(file->temporary, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/* Opens the temporary file and locks it: while another process writes the same file, of which a report has many small
 * ones, it waits, up to two seconds. That one may rename or remove it between the two steps: then the file that was
 * opened is no longer ours to fill, and the next attempt makes a new one. */
static bool open_locked(asc_file *file)
{
    const char *kind;
    for (int attempt = 0; attempt < OPEN_ATTEMPTS; attempt++) {
        file->fd = open_regular(file->temporary, O_WRONLY | O_CREAT | O_NOFOLLOW, &kind);
        if (file->fd < 0) {
            if (kind) {
                refuse_kind(file->ctx, file->temporary, kind);
            }
            return false;
        }
        bool busy = flock(file->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
        if (!busy && still_named(file)) {
            return true;
        }
        close(file->fd);
        file->fd = -1;
        if (busy) {
            nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000L}, NULL);
        }
    }
    asc_fail(file->ctx, ASC_ERR_IO, "%s: another process is writing it", file->path);
    return false;
}

/* Whether the path is a link of the system's to what a process has open, as /dev/stdout is: a file that took its place
 * would take it from every process. */
static bool is_of_process(const char *path)
{
    struct stat named;
    if (lstat(path, &named) != 0 || !S_ISLNK(named.st_mode)) {
        return false;
    }
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".", real[PATH_MAX];
    if (slash && (size_t)(slash - path) + 1 < sizeof folder) {
        memcpy(folder, path, (size_t)(slash - path) + 1);
        folder[slash - path + 1] = '\0';
    }
    return realpath(folder, real) && (strcmp(real, "/dev") == 0 || strncmp(real, "/proc/", 6) == 0);
}

asc_status asc_file_begin(asc_file *file, asc_ctx *ctx, const char *path)
{
    *file = (asc_file){.ctx = ctx, .fd = -1};
    if (!path || !*path) {
        return file->status = asc_fail(ctx, ASC_ERR_ARG, "file: no path was given");
    }
    struct stat there, replaced;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        return file->status = S_ISDIR(there.st_mode)
                                  ? asc_fail(ctx, ASC_ERR_IO, "%s: can't write: %s", path, strerror(EISDIR))
                                  : asc_fail(ctx, ASC_ERR_IO, "%s: is not a regular file, and can't be replaced", path);
    }
    if (is_of_process(path)) {
        return file->status = asc_fail(ctx, ASC_ERR_IO, "%s: is what a process has open, expected the name of a file",
                                       path);
    }
    file->path_bytes = strlen(path) + 1;
    file->path = asc_alloc(ctx, file->path_bytes);
    file->temporary = asc_alloc(ctx, file->path_bytes + TEMPORARY_EXTRA);
    file->buffer = asc_alloc(ctx, BUFFER_BYTES);
    if (!file->path || !file->temporary || !file->buffer) {
        release(file);
        return file->status = ASC_ERR_MEMORY;
    }
    memcpy(file->path, path, file->path_bytes);
    snprintf(file->temporary, file->path_bytes + TEMPORARY_EXTRA, "%s" ASC_FILE_TEMPORARY, path);
    if (!open_locked(file) || ftruncate(file->fd, 0)) {
        return failed(file, "can't write");
    }
    if (lstat(path, &replaced) == 0 && S_ISREG(replaced.st_mode)) { /* a private file stays private, where modes are */
        file->mode = replaced.st_mode & 0777;
        (void)!fchmod(file->fd, file->mode | 0600); /* if this process is killed, another writes here */
    }
    return ASC_OK;
}

static asc_status write_all(asc_file *file, const unsigned char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(file->fd, bytes, n);
        if (done < 0 && errno != EINTR) {
            return failed(file, "can't write");
        }
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        }
    }
    return ASC_OK;
}

static asc_status flush(asc_file *file)
{
    size_t n = file->used;
    file->used = 0;
    return write_all(file, file->buffer, n);
}

asc_status asc_file_write(asc_file *file, const void *bytes, size_t n)
{
    if (file->status || n == 0) {
        return file->status;
    }
    if (n > BUFFER_BYTES - file->used && flush(file)) {
        return file->status;
    }
    if (n >= BUFFER_BYTES) {
        return write_all(file, bytes, n);
    }
    memcpy(file->buffer + file->used, bytes, n);
    file->used += n;
    return ASC_OK;
}

static int sync_fd(int fd)
{
    int result;
    do {
        result = fsync(fd);
    } while (result && errno == EINTR);
    return result;
}

/* Brings the folder's new entry to the disk. File systems that can't, and folders that may not be read, are no
 * failure: the file itself is complete. */
static int sync_folder(asc_file *file)
{
    char *slash = strrchr(file->temporary, '/');
    const char *folder = !slash ? "." : slash == file->temporary ? "/" : file->temporary;
    if (slash) {
        *slash = 0; /* the temporary name is no longer needed */
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno == EACCES ? 0 : -1;
    }
    int result = sync_fd(fd);
    int reason = errno;
    close(fd);
    errno = reason;
    return result && (reason == EINVAL || reason == ENOTSUP) ? 0 : result;
}

asc_status asc_file_commit(asc_file *file)
{
    if (file->status || flush(file)) {
        return file->status;
    }
    if (file->mode) {
        (void)!fchmod(file->fd, file->mode);
    }
    if (sync_fd(file->fd)) {
        return failed(file, "can't bring it to the disk");
    }
    if (rename(file->temporary, file->path)) {
        return failed(file, "can't rename into its place");
    }
    if (sync_folder(file)) {
        file->status = asc_fail(file->ctx, ASC_ERR_IO, "%s: can't bring its folder to the disk: %s", file->path,
                                strerror(errno));
    }
    release(file);
    return file->status;
}

asc_status asc_file_write_atomic(asc_ctx *ctx, const char *path, const void *bytes, size_t n)
{
    asc_status status = ASC_NEED(ctx, "file_write_atomic: path bytes", path, asc_unless_empty(bytes, n > 0));
    if (status) {
        return status;
    }
    asc_file file;
    asc_file_begin(&file, ctx, path);
    asc_file_write(&file, bytes, n);
    return asc_file_commit(&file);
}
