/* tensor/processors.c: the processors and the memory of this process: affinity, and the limits of control groups
 * (cgroups(7); kernel documentation, cgroup-v2, "cpu.max" and "memory.max"; sched-bwc, "cpu.cfs_quota_us"; cgroup-v1,
 * "memory.limit_in_bytes"). */
#ifdef __linux__
#define _GNU_SOURCE
#include <sched.h>
#endif

#include "tensor/locale.h"
#include "tensor/processors.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 256, PATH = 1024, LINE = 2048 };

static bool read_line(const char *folder, const char *file, char line[LINE])
{
    char path[PATH + 64];
    int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = n > 0 && n < (int)sizeof path ? fopen(path, "r") : NULL;
    bool read = f && fgets(line, LINE, f);
    if (f) {
        fclose(f);
    }
    return read;
}

/* A group's quota in processors, or infinity. Version 2: "QUOTA PERIOD", or "max PERIOD". Version 1: two files, and -1
 * is no quota. */
static double group_quota(const char *folder, bool version_2)
{
    char line[LINE], other[LINE], *end = line;
    bool read = read_line(folder, version_2 ? "cpu.max" : "cpu.cfs_quota_us", line) &&
                (version_2 || read_line(folder, "cpu.cfs_period_us", other));
    double quota = read ? asc_strtod(line, &end) : 0; /* 0 of a text that is no number */
    double period = read ? asc_strtod(version_2 ? end : other, NULL) : 0;
    return quota > 0 && period > 0 ? quota / period : (double)INFINITY;
}

/* A group's limit of memory in bytes, or infinity. "max" is none. */
static double group_memory(const char *folder, bool version_2)
{
    char line[LINE];
    bool read = read_line(folder, version_2 ? "memory.max" : "memory.limit_in_bytes", line);
    double bytes = read ? asc_strtod(line, NULL) : 0;
    return bytes > 0 ? bytes : (double)INFINITY;
}

typedef double group_limit(const char *folder, bool version_2);

/* The least limit of the group `path` and of those above it, up to where the groups are mounted. A container that has
 * no name space for groups sees a path of its host, which is not there: only the mount is. */
static double least_limit(group_limit *limit, const char *mount, const char *path, bool version_2)
{
    double least = (double)INFINITY;
    char folder[PATH];
    size_t top = strlen(mount);
    if (snprintf(folder, sizeof folder, "%s%s", mount, path) >= (int)sizeof folder) {
        return least;
    }
    for (;;) {
        least = fmin(least, limit(folder, version_2));
        char *slash = strrchr(folder + top, '/');
        if (!slash) {
            return least;
        }
        *slash = 0;
    }
}

/* Whether a list with commas has the word. */
static bool lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n) {
        if ((at == list || at[-1] == ',') && (at[n] == ',' || !at[n])) {
            return true;
        }
    }
    return false;
}

/* What the control groups leave of `controller`, or infinity. */
static double granted(const char *root, const char *controller, group_limit *limit)
{
    char path[PATH], line[LINE];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    double least = (double)INFINITY;
    while (f && fgets(line, sizeof line, f)) { /* "ID:CONTROLLERS:PATH"; without controllers it is version 2 */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) {
            continue;
        }
        *group++ = 0;
        bool version_2 = !*++controllers;
        if (version_2 || lists(controllers, controller)) {
            char mount[PATH];
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, version_2 ? "" : "/",
                     version_2 ? "" : controller);
            least = fmin(least, least_limit(limit, mount, group, version_2));
        }
    }
    if (f) {
        fclose(f);
    }
    return least;
}

int asc_processors_granted(const char *root, int most)
{
    double least = granted(root, "cpu", group_quota);
    return least >= most ? most : (int)ceil(least);
}

double asc_memory_granted(const char *root, double most)
{
    return fmin(granted(root, "memory", group_memory), most);
}

static double memory_bytes;

static void read_memory(void)
{
    memory_bytes = asc_memory_granted("", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
}

double asc_memory_bytes(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_memory);
    return memory_bytes;
}

double asc_memory_available(void)
{
    static const char *const key = "MemAvailable:";
    double all = asc_memory_bytes();
    char line[LINE];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        double kib = strncmp(line, key, strlen(key)) == 0 ? asc_strtod(line + strlen(key), NULL) : 0;
        all = kib > 0 ? fmin(all, 1024 * kib) : all;
    }
    if (f) {
        fclose(f);
    }
    return all;
}

static int allowed(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int asc_processors(void)
{
    int n = allowed();
    n = asc_processors_granted("", n < 1 ? 1 : n);
    return n > MOST ? MOST : n;
}

/* ---- the processor's name ---- */

static char name[128] = "unknown";

static void read_name(void)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[LINE];
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strstr(line, ": ");
        if (strncmp(line, "model name", 10) == 0 && colon) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (f) {
        fclose(f);
    }
}

const char *asc_processor_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_name);
    return name;
}
