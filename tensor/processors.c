/* tensor/processors.c: the processors of this process: affinity, and the quotas of control groups (cgroups(7); kernel
 * documentation, cgroup-v2, "cpu.max", and sched-bwc, "cpu.cfs_quota_us"). */
#ifdef __linux__
#define _GNU_SOURCE
#include <sched.h>
#endif

#include "tensor/processors.h"

#include <math.h>
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
    char line[LINE], other[LINE];
    double quota = 0, period = 0;
    bool read = version_2 ? read_line(folder, "cpu.max", line) && sscanf(line, "%lf %lf", &quota, &period) == 2
                          : read_line(folder, "cpu.cfs_quota_us", line) && sscanf(line, "%lf", &quota) == 1 &&
                                read_line(folder, "cpu.cfs_period_us", other) && sscanf(other, "%lf", &period) == 1;
    return read && quota > 0 && period > 0 ? quota / period : (double)INFINITY;
}

/* The least quota of the group `path` and of those above it, up to where the groups are mounted. A container that has
 * no name space for groups sees a path of its host, which is not there: only the mount is. */
static double least_quota(const char *mount, const char *path, bool version_2)
{
    double least = (double)INFINITY;
    char folder[PATH];
    size_t top = strlen(mount);
    if (snprintf(folder, sizeof folder, "%s%s", mount, path) >= (int)sizeof folder) {
        return least;
    }
    for (;;) {
        least = fmin(least, group_quota(folder, version_2));
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

int asc_processors_granted(const char *root, int most)
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
        if (version_2 || lists(controllers, "cpu")) {
            char mount[PATH];
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, version_2 ? "" : "/cpu");
            least = fmin(least, least_quota(mount, group, version_2));
        }
    }
    if (f) {
        fclose(f);
    }
    return least >= most ? most : (int)ceil(least);
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
