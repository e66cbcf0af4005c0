/* data/source_folder.c: a folder with a file for each split as a data source. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <ascgrad/corpus.h>

/* The parts of a file's name that tell the split, by asc_split_kind. */
static const char *const parts[ASC_TEST + 1][5] = {
    {"train"},
    {"valid", "validation", "val", "dev"},
    {"test"},
};

static bool names_split(const char *name, asc_split_kind kind)
{
    for (const char *part = name; *part; part += strspn(part, "._-")) {
        size_t n = strcspn(part, "._-");
        for (int i = 0; parts[kind][i]; i++) {
            if (strlen(parts[kind][i]) == n && strncasecmp(parts[kind][i], part, n) == 0) {
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

static void free_path(asc_ctx *ctx, char *path)
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
    free_path(ctx, drop);
    return status;
}

static asc_status consider(asc_ctx *ctx, const char *folder, const char *name, asc_split_kind kind, char **found)
{
    if (name[0] == '.' || !names_split(name, kind)) {
        return ASC_OK;
    }
    char *path = join(ctx, folder, name);
    if (!path) {
        return ASC_ERR_MEMORY;
    }
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        free_path(ctx, path);
        return ASC_OK;
    }
    return choose(ctx, found, path, kind);
}

/* The path of the file for a split, new: free_path. NULL with the error set: there is none, or there are several. */
static char *find(asc_ctx *ctx, const char *folder, asc_split_kind kind)
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
        free_path(ctx, found);
        return NULL;
    }
    if (!found) {
        asc_fail(ctx, ASC_ERR_IO, "%s: no file for the %s split, expected one like wiki.%s.tokens or %s.txt.gz", folder,
                 asc_split_name(kind), asc_split_name(kind), asc_split_name(kind));
    }
    return found;
}

/* ---- the source ---- */

typedef struct reader {
    asc_text *text;
} reader;

static bool takes(const char *spec)
{
    struct stat info;
    return stat(spec, &info) == 0 && S_ISDIR(info.st_mode);
}

static asc_status begin(asc_source_reader *s)
{
    asc_ctx *ctx = s->data->ctx;
    reader *r = s->self;
    char *path = find(ctx, s->data->spec, s->split);
    if (path) {
        r->text = asc_text_open(ctx, path, 0);
        free_path(ctx, path);
    }
    return r->text ? ASC_OK : asc_error(ctx);
}

static asc_status next(asc_source_reader *s, asc_text_piece *piece)
{
    return asc_text_next(((reader *)s->self)->text, &piece->text, &piece->bytes);
}

static void end(asc_source_reader *s)
{
    asc_text_close(((reader *)s->self)->text);
}

const asc_data_source asc_source_folder = {
    .abi = ASC_CORPUS_ABI,
    .name = "folder",
    .spec = "a folder with train, valid and test files",
    .is_path = true,
    .reader_size = sizeof(reader),
    .takes = takes,
    .begin = begin,
    .next = next,
    .end = end,
};
