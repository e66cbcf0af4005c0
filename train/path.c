/* train/path.c: texts and paths in the context's memory. */
#include "train/path.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

/* Gives the error another status and "WHERE: " in place of the first `skip` bytes of its message. */
static void restate(asc_ctx *ctx, asc_status status, const char *where, size_t skip, const char *after)
{
    char message[800];
    snprintf(message, sizeof message, "%s", asc_error_message(ctx) + skip);
    asc_error_clear(ctx);
    asc_fail(ctx, status, "%s%s%s%s", where, *where ? ": " : "", message, after);
}

void asc_error_extend(asc_ctx *ctx, const char *where, const char *after)
{
    if (asc_error(ctx) != ASC_OK) {
        restate(ctx, asc_error(ctx), where, 0, after);
    }
}

void asc_error_blame(asc_ctx *ctx, const char *file)
{
    static const char config[] = "config: "; /* whose that is, the file's name says */
    if (asc_error(ctx) == ASC_ERR_ARG) {
        bool of_config = strncmp(asc_error_message(ctx), config, sizeof config - 1) == 0;
        restate(ctx, ASC_ERR_FORMAT, file, of_config ? sizeof config - 1 : 0, "");
    }
}
