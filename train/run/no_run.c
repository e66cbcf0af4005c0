/* train/run/no_run.c: the error where a run was expected and is none: who reads it wants to know which there are. */
#include "train/run/no_run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <program/names.h>

#include "tensor/ctx.h"

enum { NAMED = 4, LONGEST = 4096 };

bool asc_is_run(const char *path)
{
    char config[LONGEST];
    struct stat s;
    return snprintf(config, sizeof config, "%s/config.json", path) < LONGEST && lstat(config, &s) == 0;
}

/* The runs in a folder. */
typedef struct listing {
    int n;                   /* of them; the first few by name: */
    char names[NAMED][256];
    char nearest[256];       /* the one whose name is close to the one that was asked for; "": none is */
} listing;

static void take_name(listing *l, const char *name, const char *asked)
{
    bool closer = asc_name_close(asked, name) &&
                  (!*l->nearest || asc_name_distance(asked, name) < asc_name_distance(asked, l->nearest));
    if (closer) {
        snprintf(l->nearest, sizeof l->nearest, "%s", name);
    }
    int at = l->n < NAMED ? l->n : NAMED; /* where it belongs among the first */
    while (at > 0 && strcmp(name, l->names[at - 1]) < 0) {
        at--;
    }
    for (int i = NAMED - 1; i > at; i--) {
        memcpy(l->names[i], l->names[i - 1], sizeof *l->names);
    }
    if (at < NAMED) {
        snprintf(l->names[at], sizeof l->names[at], "%s", name);
    }
    l->n++;
}

static listing list_runs(const char *folder, const char *asked)
{
    listing l = {0};
    DIR *open = opendir(folder);
    for (const struct dirent *entry; open && (entry = readdir(open));) {
        char path[LONGEST];
        bool fits = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < LONGEST;
        if (entry->d_name[0] != '.' && fits && asc_is_run(path)) {
            take_name(&l, entry->d_name, asked);
        }
    }
    if (open) {
        closedir(open);
    }
    return l;
}

/* "a, b, c, d and 7 more" */
static void write_names(const listing *l, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < l->n && i < NAMED; i++) {
        size_t n = strlen(text);
        snprintf(text + n, size - n, "%s%.60s", i ? ", " : "", l->names[i]);
    }
    size_t n = strlen(text);
    if (l->n > NAMED) {
        snprintf(text + n, size - n, " and %d more", l->n - NAMED);
    }
}

/* A run that the path may have meant, in the folder that it names one in. */
static asc_status fail_beside(asc_ctx *ctx, const char *path, const char *why)
{
    char parent[LONGEST], names[400];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    snprintf(parent, sizeof parent, "%.*s", (int)n, path);
    char *slash = strrchr(parent, '/'), asked[256];
    snprintf(asked, sizeof asked, "%.255s", slash ? slash + 1 : parent);
    size_t lead = slash ? (size_t)(slash - parent) + 1 : 0; /* of the path before the name */
    parent[slash && slash != parent ? lead - 1 : lead] = '\0';
    listing l = list_runs(lead ? parent : ".", asked);
    write_names(&l, names, sizeof names);
    if (*l.nearest) {
        return asc_fail(ctx, ASC_ERR_IO, "%s: %s; did you mean %.*s%s?", path, why, (int)lead, path, l.nearest);
    }
    if (l.n > 0) {
        return asc_fail(ctx, ASC_ERR_IO, "%s: %s; runs in %s: %s", path, why, lead ? parent : "this folder", names);
    }
    return asc_fail(ctx, ASC_ERR_IO, "%s: %s", path, why);
}

asc_status asc_fail_no_run(asc_ctx *ctx, const char *path)
{
    struct stat s;
    if (stat(path, &s)) {
        const char *why = errno == ENOENT ? "there is no such run or file" : strerror(errno);
        return fail_beside(ctx, path, why);
    }
    if (!S_ISDIR(s.st_mode)) {
        return asc_fail(ctx, ASC_ERR_IO, "%s: is a file, expected the folder of a run", path);
    }
    listing l = list_runs(path, "");
    char names[400];
    write_names(&l, names, sizeof names);
    return l.n > 0 ? asc_fail(ctx, ASC_ERR_IO, "%s: no run there; runs in it: %s", path, names)
                   : fail_beside(ctx, path, "no run there: it has no config.json");
}

asc_status asc_fail_taken(asc_ctx *ctx, const char *path)
{
    struct stat s;
    if (asc_is_run(path)) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s exists; take another name, or go on with it by --resume", path);
    }
    const char *what = stat(path, &s)           ? "a link to what is not there"
                       : S_ISDIR(s.st_mode) ? "a folder with something in it"
                                            : "a file";
    return asc_fail(ctx, ASC_ERR_ARG, "%s exists and is no run, but %s; take another name", path, what);
}
