/* data/split_files.c: where the splits of a data set stand. */
#include "data/split_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <program/file.h>

#include "tensor/locale.h"

/* ---- parts of one file ---- */

/* The parts depend on the uncompressed length. */
asc_status asc_file_cuts(asc_ctx *ctx, const char *path, int64_t cuts[ASC_SPLITS + 1], int64_t *longest)
{
    asc_text *text = asc_text_open(ctx, path, 0);
    if (!text) {
        return asc_error(ctx);
    }
    const char *line;
    size_t bytes, most = 0;
    asc_status status;
    do {
        status = asc_text_next(text, &line, &bytes);
        most = bytes > most ? bytes : most;
    } while (!status && line);
    int64_t total = asc_text_bytes(text);
    asc_text_close(text);
    cuts[ASC_SPLIT_TRAIN] = 0;
    cuts[ASC_SPLIT_VALID] = total - total / 10;
    cuts[ASC_SPLIT_TEST] = total - total / 20;
    cuts[ASC_SPLITS] = total;
    if (longest) {
        *longest = (int64_t)most;
    }
    return status;
}

/* ---- files of a folder ---- */

/* The parts of a file's name that tell the split, by asc_split_kind. */
static const char *const parts[ASC_SPLIT_TEST + 1][5] = {
    {"train"},
    {"valid", "validation", "val", "dev"},
    {"test"},
};

bool asc_name_tells(const char *name, asc_split_kind kind)
{
    if (!name || (unsigned)kind > ASC_SPLIT_TEST) {
        return false;
    }
    for (const char *part = name; *part; part += strspn(part, "._-")) {
        size_t n = strcspn(part, "._-");
        for (int i = 0; parts[kind][i]; i++) {
            if (strlen(parts[kind][i]) == n && asc_strncasecmp(parts[kind][i], part, n) == 0) {
                return true;
            }
        }
        part += n;
    }
    return false;
}

/* The length of a name without ".gz". */
static size_t plain_length(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, ".gz") == 0 ? n - 3 : n;
}

static bool same_but_gzip(const char *a, const char *b)
{
    size_t n = plain_length(a);
    return n == plain_length(b) && memcmp(a, b, n) == 0;
}

static char *join(asc_ctx *ctx, const char *folder, const char *name)
{
    size_t n = strlen(folder);
    const char *slash = n > 0 && folder[n - 1] == '/' ? "" : "/";
    size_t bytes = n + strlen(slash) + strlen(name) + 1;
    char *path = asc_alloc(ctx, bytes);
    if (path) {
        snprintf(path, bytes, "%s%s%s", folder, slash, name);
    }
    return path;
}

void asc_split_path_free(asc_ctx *ctx, char *path)
{
    if (path) {
        asc_free(ctx, path, strlen(path) + 1);
    }
}

static const char *name_in(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* Takes a candidate, or keeps the one in *found; both is an error. Frees the other. */
static asc_status choose(asc_ctx *ctx, char **found, char *candidate, asc_split_kind kind)
{
    asc_status status = ASC_OK;
    char *drop = *found;
    if (*found && !same_but_gzip(name_in(*found), name_in(candidate))) {
        status = asc_fail(ctx, ASC_ERR_IO, "%s: and %s beside it: both may be the %s split, expected one", *found,
                          name_in(candidate), asc_split_name(kind));
        drop = candidate;
    } else if (*found && strlen(*found) < strlen(candidate)) {
        drop = candidate;
    } else {
        *found = candidate;
    }
    asc_split_path_free(ctx, drop);
    return status;
}

static asc_status consider(asc_ctx *ctx, const char *folder, const char *name, asc_split_kind kind, char **found)
{
    if (name[0] == '.' || !asc_name_tells(name, kind)) {
        return ASC_OK;
    }
    char *path = join(ctx, folder, name);
    if (!path) {
        return ASC_ERR_MEMORY;
    }
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        asc_split_path_free(ctx, path);
        return ASC_OK;
    }
    return choose(ctx, found, path, kind);
}

char *asc_split_path(asc_ctx *ctx, const char *folder, asc_split_kind kind)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        asc_fail(ctx, ASC_ERR_IO, "%s: can't open the folder: %s", folder, strerror(errno));
        return NULL;
    }
    char *found = NULL;
    asc_status status = ASC_OK;
    const struct dirent *entry;
    while (!status && (entry = readdir(dir))) {
        status = consider(ctx, folder, entry->d_name, kind, &found);
    }
    closedir(dir);
    if (status) {
        asc_split_path_free(ctx, found);
        return NULL;
    }
    if (!found) {
        asc_fail(ctx, ASC_ERR_IO, "%s: no file for the %s split, expected one like wiki.%s.tokens or %s.txt.gz", folder,
                 asc_split_name(kind), asc_split_name(kind), asc_split_name(kind));
    }
    return found;
}

bool asc_folder_fits(const char *folder, bool (*fits)(const char *name))
{
    DIR *dir = opendir(folder);
    bool found = false;
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        found = entry->d_name[0] != '.' && asc_name_tells(entry->d_name, ASC_SPLIT_TRAIN) && fits(entry->d_name);
    }
    if (dir) {
        closedir(dir);
    }
    return found;
}
