/* train/path.c: texts and paths in the context's memory. */
#include "train/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/ctx.h"

char *asc_path_copy(asc_ctx *ctx, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = asc_alloc(ctx, n);
    return copy ? memcpy(copy, text, n) : NULL;
}

char *asc_path_join(asc_ctx *ctx, const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = asc_alloc(ctx, n);
    if (path) {
        snprintf(path, n, "%s/%s", folder, name);
    }
    return path;
}

void asc_path_free(asc_ctx *ctx, char *path)
{
    if (path) {
        asc_free(ctx, path, strlen(path) + 1);
    }
}

bool asc_path_exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

char *asc_path_folder(asc_ctx *ctx, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) {
        return asc_path_copy(ctx, ".");
    }
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    char *folder = asc_alloc(ctx, n + 1);
    if (folder) {
        memcpy(folder, path, n);
        folder[n] = '\0';
    }
    return folder;
}

void asc_path_make_parents(const char *path)
{
    char parent[4096];
    for (const char *slash = strchr(path + (*path != 0), '/'); slash; slash = strchr(slash + 1, '/')) {
        bool left_again = strncmp(slash, "/../", 4) == 0 || strcmp(slash, "/..") == 0;
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
        if (!left_again && mkdir(parent, 0777) == 0) { /* if it fails, so will what comes after it */
            asc_path_sync(parent);
        }
    }
}

void asc_path_sync(const char *path)
{
    char folder[4096];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    while (n > 0 && path[n - 1] != '/') {
        n--;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)n, path);
    int fd = open(n > 0 ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd); /* not all file systems can */
        close(fd);
    }
}
