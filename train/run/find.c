/* train/run/find.c: the runs below a folder. */
#include <ascgrad/runs.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/path.h"
#include "train/run/no_run.h"

enum { MOST_DEEP = 32 };

typedef struct search {
    asc_ctx *ctx;
    bool (*found)(void *user, const char *run);
    void *user;
    bool over;
} search;

/* The names in a folder. */
typedef struct listing {
    void *names; /* char *, each to be freed with asc_path_free */
    size_t n, capacity;
} listing;

static bool is_folder(const char *path)
{
    struct stat there;
    return lstat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

static bool has(asc_ctx *ctx, const char *folder, const char *name)
{
    char *path = asc_path_join(ctx, folder, name);
    bool there = path && asc_path_exists(path);
    asc_path_free(ctx, path);
    return there;
}

static size_t leading_zeros(const char *digits)
{
    size_t n = strspn(digits, "0");
    return isdigit((unsigned char)digits[n]) || n == 0 ? n : n - 1;
}

/* Numbers within names by their value: with as many digits as each other, they are in the order of their texts. */
static int by_name(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    while (*a && *b) {
        if (!isdigit((unsigned char)*a) || !isdigit((unsigned char)*b)) {
            if (*a != *b) {
                return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            }
            a++;
            b++;
            continue;
        }
        a += leading_zeros(a);
        b += leading_zeros(b);
        size_t na = strspn(a, "0123456789"), nb = strspn(b, "0123456789");
        int order = na != nb ? (na < nb ? -1 : 1) : strncmp(a, b, na);
        if (order) {
            return order;
        }
        a += na;
        b += nb;
    }
    int order = (*a != 0) - (*b != 0);
    return order ? order : strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Notes the names of the folders in `folder`. */
static asc_status list(asc_ctx *ctx, DIR *open, const char *folder, listing *l)
{
    for (const struct dirent *entry; (entry = readdir(open));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        char *path = asc_path_join(ctx, folder, entry->d_name);
        if (path && is_folder(path) && asc_grow(ctx, &l->names, &l->capacity, l->n + 1, sizeof(char *))) {
            ((char **)l->names)[l->n++] = path;
        } else {
            asc_path_free(ctx, path);
        }
        if (asc_error(ctx)) {
            break;
        }
    }
    return asc_error(ctx);
}

/* Other programs' models have a config.json, too. */
static bool is_run(asc_ctx *ctx, const char *folder)
{
    return has(ctx, folder, "config.json") &&
           (has(ctx, folder, "metrics.jsonl") || has(ctx, folder, "checkpoint.safetensors"));
}

static asc_status walk(search *s, const char *folder, int depth)
{
    if (is_run(s->ctx, folder)) {
        s->over = !s->found(s->user, folder);
        return asc_error(s->ctx);
    }
    DIR *open = asc_error(s->ctx) ? NULL : opendir(folder);
    if (!open && depth == 0 && !asc_error(s->ctx)) {
        return errno == ENOENT ? asc_fail_no_run(s->ctx, folder)
                               : asc_fail(s->ctx, ASC_ERR_IO, "%s: %s", folder, strerror(errno));
    }
    if ((!open || access(folder, X_OK)) && !asc_error(s->ctx)) { /* what is in it does not hide the others */
        asc_note(s->ctx, "%s: %s", folder, strerror(errno));
    }
    if (!open) {
        return asc_error(s->ctx);
    }
    listing l = {NULL, 0, 0};
    list(s->ctx, open, folder, &l);
    closedir(open);
    if (l.n > 0) {
        qsort(l.names, l.n, sizeof(char *), by_name);
    }
    for (size_t i = 0; i < l.n; i++) {
        char *path = ((char **)l.names)[i];
        if (asc_error(s->ctx) == ASC_OK && !s->over && depth < MOST_DEEP) {
            walk(s, path, depth + 1);
        }
        asc_path_free(s->ctx, path);
    }
    asc_free(s->ctx, l.names, l.capacity * sizeof(char *));
    return asc_error(s->ctx);
}

asc_status asc_runs_find(asc_ctx *ctx, const char *folder, bool (*found)(void *user, const char *run), void *user)
{
    asc_status status = ASC_NEED(ctx, "runs_find: folder found", folder, (const void *)found);
    if (status) {
        return status;
    }
    search s = {ctx, found, user, false};
    return walk(&s, folder, 0);
}
