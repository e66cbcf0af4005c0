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
#include "tools/spec.h"

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

/* What a stranger's file names: a file, of a folder those right in it that are not hidden. */
static void allow_files(void *user, const char *path)
{
    int rules = *(const int *)user;
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

/* What a person named: all of a folder, and the files that links right in it lead to. */
static void allow_reading(void *user, const char *path)
{
    allow(*(const int *)user, path, READ);
    allow_files(user, path);
}

/* The run of a model, and of what that names what is read; whether that is an encoder. */
static bool allow_model(int rules, const char *path, const cage *c)
{
    char *folder = spec_folder(path);
    asc_ctx *ctx = folder ? asc_ctx_new(&(asc_options){.threads = 1}) : NULL;
    asc_run *run = ctx ? asc_run_read(ctx, folder) : NULL;
    char *data = spec_of_run(run, "data"), *encoder = spec_of_run(run, "encoder");
    bool encodes = encoder && *encoder;
    allow(rules, path, READ);
    if (folder && strcmp(folder, path) != 0) {
        allow_files(&rules, folder);
    }
    if (encodes && c->reads_encoder && !c->encoder) {
        allow_files(&rules, encoder);
    }
    if (c->reads_data && !c->data) {
        spec_paths(data, allow_files, &rules);
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
    spec_paths(c->data, allow_reading, &rules);
    spec_paths(c->tokenizer, allow_reading, &rules);
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
        allow(rules, machine[i], READ);
    }
    if (c->input) {
        allow(rules, c->input, READ);
    }
    if (c->encoder) {
        allow_reading(&rules, c->encoder);
    }
    char *folder = c->output ? spec_folder(c->output) : NULL;
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
