/* tests/fuzz/frame.c: the target by its name, its folder, and a context for each input. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 256 << 20 };

static const struct {
    const char *name;
    fuzz_target *run;
} targets[] = {
#define ENTRY(name) {#name, fuzz_##name},
    FUZZ_TARGETS(ENTRY)
#undef ENTRY
};

static fuzz_target *target;
static char folder[64];

/* Files and folders below it; the frame makes no links. */
static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        char name[400];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            remove_tree(name);
        }
    }
    if (dir) {
        closedir(dir);
    }
    remove(path);
}

static void leave(void)
{
    remove_tree(folder);
}

static _Noreturn void fail(const char *what, const char *which)
{
    fprintf(stderr, "fuzz: %s%s\n", what, which);
    abort();
}

void fuzz_begin(const char *name)
{
    for (size_t i = 0; name && i < sizeof targets / sizeof *targets; i++) {
        target = strcmp(targets[i].name, name) == 0 ? targets[i].run : target;
    }
    if (!target) {
        fprintf(stderr, "fuzz: there is no target '%s'\n", name ? name : "");
        exit(2);
    }
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/ascgrad-fuzz-XXXXXX" : "/tmp/ascgrad-fuzz-XXXXXX");
    if (!mkdtemp(folder) || atexit(leave)) {
        fail("no folder", "");
    }
}

/* ---- memory ---- */

static void *take(void *held, size_t bytes, size_t align)
{
    size_t *n = held;
    void *memory = NULL;
    if (bytes > MOST_BYTES - *n || posix_memalign(&memory, align, bytes)) {
        return NULL;
    }
    *n += bytes;
    return memory;
}

static void give(void *held, void *memory, size_t bytes)
{
    *(size_t *)held -= bytes;
    free(memory);
}

void fuzz_one(const uint8_t *data, size_t n)
{
    size_t held = 0;
    asc_ctx *ctx = asc_ctx_new(&(asc_options){.threads = 1, .allocator = {take, give, &held}});
    if (!ctx) {
        fail("no context", "");
    }
    target(ctx, data, n);
    asc_ctx_free(ctx);
    if (held > 0) {
        fail("memory of the context is left", "");
    }
}

/* ---- files ---- */

const char *fuzz_path(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

const char *fuzz_spill(const char *name, const void *bytes, size_t n)
{
    const char *path = fuzz_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) {
        fail("can't write ", path);
    }
    return path;
}

uint8_t *fuzz_slurp(const char *name, size_t *n)
{
    const char *path = fuzz_path(name);
    FILE *f = fopen(path, "rb");
    long end = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    uint8_t *bytes = end >= 0 ? malloc((size_t)end + 1) : NULL;
    if (!bytes) {
        fail("can't read ", path);
    }
    rewind(f);
    *n = fread(bytes, 1, (size_t)end, f);
    fclose(f);
    return bytes;
}
