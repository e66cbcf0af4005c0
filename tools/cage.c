/* tools/cage.c: see cage.h. Landlock is asked for by system calls, as glibc has no functions for it. */
#define _GNU_SOURCE /* O_PATH */
#include "tools/cage.h"

/* None under the address sanitizer: its search for leaks traces threads that began before the cage, and may not from
 * within. */
#if defined(__has_include) && !defined(__SANITIZE_ADDRESS__)
#if __has_include(<linux/landlock.h>)
#define HAVE_LANDLOCK 1
#endif
#endif

#ifdef HAVE_LANDLOCK
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ascgrad/encoder.h>
#include <ascgrad/runs.h>

#include "tools/cli.h"

enum {
    READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    /* A file is written aside, renamed into its place, and its folder brought to the disk. */
    WRITE = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE |
            LANDLOCK_ACCESS_FS_READ_DIR,
    KEEP = READ | WRITE | LANDLOCK_ACCESS_FS_MAKE_DIR,
    FIRST = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1, /* all rights of the first version */
};
#define REFER (1u << 13)    /* since the second version */
#define TRUNCATE (1u << 14) /* since the third */

/* Lets what is at the path, and below it, be opened. What is not there can't be. */
static void allow(int rules, const char *path, uint64_t rights)
{
    struct stat info;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent_fd < 0) {
        return;
    }
    if (fstat(rule.parent_fd, &info) == 0 && !S_ISDIR(info.st_mode)) {
        rule.allowed_access &= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE;
    }
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

/* To be freed; NULL without memory. */
static char *folder_of(const char *path)
{
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash) {
        slash[slash == folder] = '\0';
    } else if (folder) {
        free(folder);
        folder = strdup(".");
    }
    return folder;
}

/* What a person named: all of a folder. */
static void allow_reading(int rules, const char *path)
{
    allow(rules, path, READ);
}

/* What a stranger's file names: a file, of a folder those right in it that are not hidden. */
static void allow_files(int rules, const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        allow(rules, path, READ);
        return;
    }
    allow(rules, path, LANDLOCK_ACCESS_FS_READ_DIR);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char name[4096];
        struct stat info;
        int n = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && n < (int)sizeof name && stat(name, &info) == 0 && S_ISREG(info.st_mode)) {
            allow(rules, name, READ);
        }
    }
    closedir(folder);
}

typedef void allower(int rules, const char *path);

/* What is in the spec NAME:PATH:KEY=VALUE,NAME=PATH: every part that is the path of something. */
static void allow_spec(int rules, const char *spec, allower *allow_one)
{
    char *parts = spec ? strdup(spec) : NULL;
    if (!parts) {
        return;
    }
    allow_one(rules, spec);
    for (char *colon = strchr(parts, ':'); colon; colon = strchr(colon + 1, ':')) {
        *colon = '\0'; /* a path may have colons: what stands before each may be one, and what follows */
        allow_one(rules, parts);
        allow_one(rules, spec + (colon + 1 - parts));
        *colon = ':';
    }
    for (char *part = strtok(parts, ":,="); part; part = strtok(NULL, ":,=")) {
        allow_one(rules, part);
    }
    free(parts);
}

static char *text_of(const asc_run *run, const char *key)
{
    const char *json = run ? asc_run_setting(run, key) : NULL;
    json_t *value = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
    const char *text = json_string_value(value);
    char *copy = text ? strdup(text) : NULL;
    json_decref(value);
    return copy;
}

/* The run of a model, and of what that names what is read; whether that is an encoder. */
static bool allow_model(int rules, const char *path, const cage *c)
{
    struct stat info;
    bool is_run = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    char *folder = is_run ? strdup(path) : folder_of(path);
    asc_ctx *ctx = folder ? asc_ctx_new(&(asc_options){.threads = 1}) : NULL;
    asc_run *run = ctx ? asc_run_read(ctx, folder) : NULL;
    char *data = text_of(run, "data"), *encoder = text_of(run, "encoder");
    bool encodes = encoder && *encoder;
    allow(rules, path, READ);
    if (folder && !is_run) {
        allow_files(rules, folder);
    }
    if (encodes && c->reads_encoder && !c->encoder) {
        allow_files(rules, encoder);
    }
    if (c->reads_data && !c->data) {
        allow_spec(rules, data, allow_files);
    }
    free(folder);
    free(data);
    free(encoder);
    asc_run_free(run);
    asc_ctx_free(ctx);
    return encodes;
}

/* The cache of what an encoder makes, which has to be there: of what is made later nothing can be allowed. */
static void allow_cache(int rules, const char *given, uint64_t rights)
{
    char path[4096];
    size_t n = given ? (size_t)snprintf(path, sizeof path, "%s", given) : asc_cache_home(path, sizeof path);
    if (n == 0 || n >= sizeof path) {
        return;
    }
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    mkdir(path, 0777);
    allow(rules, path, rights);
}

void cage_enter(const cage *c)
{
    static const char *const machine[] = {"/proc/meminfo", "/proc/cpuinfo", "/proc/self/cgroup", "/sys/fs/cgroup",
                                          "/sys/devices/system", "/dev/null"};
    /* Who claims a part of the cache says which process that is. */
    static const char *const process[] = {"/proc/self", "/proc/sys/kernel/random/boot_id"};
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    uint64_t late = (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);
    struct landlock_ruleset_attr handled = {.handled_access_fs = FIRST | late};
    int rules = version < 1 ? -1 : (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0) {
        return;
    }
    bool encodes = c->model && allow_model(rules, c->model, c);
    encodes = (c->other && allow_model(rules, c->other, c)) || c->encoder || encodes;
    allow_spec(rules, c->data, allow_reading);
    allow_spec(rules, c->tokenizer, allow_reading);
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
        allow(rules, machine[i], READ);
    }
    if (c->input) {
        allow(rules, c->input, READ);
    }
    if (c->encoder) {
        allow(rules, c->encoder, READ);
    }
    char *folder = c->output ? folder_of(c->output) : NULL;
    if (folder) {
        allow(rules, folder, WRITE | (late & TRUNCATE));
    }
    free(folder);
    if (encodes && c->encodes) {
        for (size_t i = 0; i < sizeof process / sizeof *process; i++) {
            allow(rules, process[i], READ);
        }
        allow_cache(rules, c->cache, KEEP | (late & TRUNCATE));
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        syscall(SYS_landlock_restrict_self, rules, 0);
    }
    close(rules);
}

#else
void cage_enter(const cage *c)
{
    (void)c;
}
#endif
