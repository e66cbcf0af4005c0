/* tests/tensor/test_cpu.c: what is made of a processor that need not be there: OpenBLAS' kernels and the advice about
 * them, how many threads to start. */
#ifdef __linux__
#define _GNU_SOURCE
#include <sched.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ascgrad/base.h>

#include "tensor/core_advice.h"
#include "tensor/processors.h"
#include "tests/suite.h"

/* ---- core types ---- */

#define DYNAMIC "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64"
#define FIXED   "OpenBLAS 0.3.21 NO_AFFINITY HASWELL MAX_THREADS=64"

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

START_TEST(advice_about_core_types)
{
    static const struct {
        enum asc_isa best;
        const char *core, *config, *chosen, *advice;
    } cases[] = {
        /* a model that 0.3.21 knows as a Zen, or not at all */
        {ASC_ISA_AVX512, "Haswell", DYNAMIC, NULL, "SkylakeX"},
        {ASC_ISA_AVX512, "Zen", DYNAMIC, NULL, "SkylakeX"},
        {ASC_ISA_AVX512, "Prescott", DYNAMIC, NULL, "SkylakeX"},
        {ASC_ISA_AVX2, "Prescott", DYNAMIC, NULL, "Haswell"},
        {ASC_ISA_AVX2, "Sandybridge", DYNAMIC, NULL, "Haswell"},
        {ASC_ISA_AVX2, "Unknown", DYNAMIC, NULL, "Haswell"},
        /* kernels that suit; names are compared without regard to case */
        {ASC_ISA_AVX512, "SkylakeX", DYNAMIC, NULL, NULL},
        {ASC_ISA_AVX512, "Cooperlake", DYNAMIC, NULL, NULL},
        {ASC_ISA_AVX512, "SAPPHIRERAPIDS", DYNAMIC, NULL, NULL},
        {ASC_ISA_AVX2, "Haswell", DYNAMIC, NULL, NULL},
        {ASC_ISA_AVX2, "ZEN", DYNAMIC, NULL, NULL},
        {ASC_ISA_AVX2, "SkylakeX", DYNAMIC, NULL, NULL},
        /* a name of later years */
        {ASC_ISA_AVX512, "Zen9", DYNAMIC, NULL, NULL},
        /* no kernels of ours for the processor: nothing is known of it */
        {ASC_ISA_PLAIN, "Prescott", DYNAMIC, NULL, NULL},
        {ASC_ISA_PLAIN, "neoversen1", DYNAMIC, NULL, NULL},
        /* a build with one core type does not read the variable */
        {ASC_ISA_AVX512, "HASWELL", FIXED, NULL, NULL},
        /* what the user chose stands, be it slow, empty or unknown */
        {ASC_ISA_AVX512, "Haswell", DYNAMIC, "Haswell", NULL},
        {ASC_ISA_AVX512, "Prescott", DYNAMIC, "Prescott", NULL},
        {ASC_ISA_AVX2, "Prescott", DYNAMIC, "", NULL},
        {ASC_ISA_AVX512, "Haswell", DYNAMIC, "nonsense", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = asc_core_advice(cases[i].best, cases[i].core, cases[i].config, cases[i].chosen);
        const char *want = cases[i].advice;
        ck_assert_msg(same(got, want), "%s on %s, chosen %s: %s, expected %s",
                      cases[i].core, asc_isa_name(cases[i].best), cases[i].chosen ? cases[i].chosen : "none",
                      got ? got : "none", want ? want : "none");
    }
}
END_TEST

/* The variable is OpenBLAS' own, which has read it long ago; here it only says that a user chose. */
START_TEST(a_choice_silences_the_advice)
{
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    ck_assert(!asc_machine_info().blas_advice);
    unsetenv("OPENBLAS_CORETYPE");
    asc_machine m = asc_machine_info();
    ck_assert(same(m.blas_advice, asc_core_advice(asc_isa_best(), m.blas_core, m.blas, NULL)));
}
END_TEST

/* ---- processors ---- */

static char root[] = "/tmp/ascgrad-groups-XXXXXX";

static void make_root(void)
{
    strcpy(root + sizeof root - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
}

/* Writes a file below the root, with the folders above it. */
static void put(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = strchr(path + sizeof root, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

START_TEST(no_groups_no_quota)
{
    ck_assert_int_eq(asc_processors_granted(root, 8), 8);
    put("proc/self/cgroup", "0::/user.slice\n"); /* no such folder */
    ck_assert_int_eq(asc_processors_granted(root, 8), 8);
    put("proc/self/cgroup", "");
    ck_assert_int_eq(asc_processors_granted(root, 8), 8);
    put("proc/self/cgroup", "0\n1:cpu\nnonsense\n::\n");
    ck_assert_int_eq(asc_processors_granted(root, 8), 8);
}
END_TEST

START_TEST(quotas_of_version_2)
{
    static const struct {
        const char *text;
        int granted;
    } cases[] = {{"max 100000\n", 8},   {"100000 100000\n", 1}, {"150000 100000\n", 2}, {"200000 100000\n", 2},
                 {"5000 100000\n", 1},  {"3200000 100000", 8},  {"", 8},                {"0 100000\n", 8},
                 {"100000\n", 8},       {"-1 100000\n", 8},     {"100 0\n", 8},         {"25000 10000\n", 3}};
    put("proc/self/cgroup", "0::/\n"); /* as a container with a name space of its own sees it */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("sys/fs/cgroup/cpu.max", cases[i].text);
        ck_assert_msg(asc_processors_granted(root, 8) == cases[i].granted, "'%s' is %d processors", cases[i].text,
                      asc_processors_granted(root, 8));
    }
}
END_TEST

START_TEST(the_least_quota_on_the_way_up)
{
    put("proc/self/cgroup", "0::/a.slice/b.scope\n");
    put("sys/fs/cgroup/a.slice/cpu.max", "300000 100000\n");
    put("sys/fs/cgroup/a.slice/b.scope/cpu.max", "500000 100000\n");
    ck_assert_int_eq(asc_processors_granted(root, 8), 3);
    put("sys/fs/cgroup/a.slice/b.scope/cpu.max", "200000 100000\n");
    ck_assert_int_eq(asc_processors_granted(root, 8), 2);
    put("sys/fs/cgroup/cpu.max", "100000 100000\n");
    ck_assert_int_eq(asc_processors_granted(root, 8), 1);
}
END_TEST

START_TEST(quotas_of_version_1)
{
    put("proc/self/cgroup", "9:name=systemd:/x\n4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n2:cpuset:/\n0::/\n");
    put("sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n"); /* another controller's */
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(asc_processors_granted(root, 8), 8);
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "350000\n"); /* the host's path is not there, only the mount */
    ck_assert_int_eq(asc_processors_granted(root, 8), 4);
    put("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "200000\n");
    put("sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(asc_processors_granted(root, 8), 2);
    put("proc/self/cgroup", "3:cpuacct:/docker/1\n2:cpuset,cpu:/\n");
    ck_assert_int_eq(asc_processors_granted(root, 8), 4);
}
END_TEST

START_TEST(long_paths_are_no_quota)
{
    static char line[3000];
    strcpy(line, "0::/");
    memset(line + 4, 'x', sizeof line - 6);
    put("proc/self/cgroup", line);
    put("sys/fs/cgroup/cpu.max", "100000 100000\n");
    ck_assert_int_eq(asc_processors_granted(root, 8), 8);
}
END_TEST

START_TEST(threads_are_the_allowed_processors)
{
    int n = asc_processors();
    ck_assert(n >= 1 && n <= 256);
    asc_ctx *ctx = asc_ctx_new(NULL);
    ck_assert_int_eq(asc_threads(ctx), n);
    asc_ctx_free(ctx);
#ifdef __linux__
    cpu_set_t old, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof old, &old), 0);
    int first = 0;
    while (!CPU_ISSET(first, &old)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(asc_processors(), 1);
    ctx = asc_ctx_new(NULL);
    ck_assert_int_eq(asc_threads(ctx), 1);
    asc_ctx_free(ctx);
    ctx = asc_ctx_new(&(asc_options){.threads = 3}); /* what is asked for is given */
    ck_assert_int_eq(asc_threads(ctx), 3);
    asc_ctx_free(ctx);
    ck_assert_int_eq(sched_setaffinity(0, sizeof old, &old), 0);
#endif
}
END_TEST

START_TEST(groups_limit_the_memory)
{
    put("proc/self/cgroup", "0::/a.slice\n");
    ck_assert_double_eq(asc_memory_granted(root, 1e9), 1e9);
    put("sys/fs/cgroup/a.slice/memory.max", "max\n");
    ck_assert_double_eq(asc_memory_granted(root, 1e9), 1e9);
    put("sys/fs/cgroup/a.slice/memory.max", "536870912\n");
    ck_assert_double_eq(asc_memory_granted(root, 1e9), 536870912);
    put("sys/fs/cgroup/memory.max", "1048576\n");
    ck_assert_double_eq(asc_memory_granted(root, 1e9), 1048576);
    put("proc/self/cgroup", "4:memory:/docker/1\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* version 1's way to say none */
    ck_assert_double_eq(asc_memory_granted(root, 1e9), 1e9);
    put("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "2097152\n");
    ck_assert_double_eq(asc_memory_granted(root, 1e9), 2097152);
    ck_assert(asc_memory_available() > 0 && asc_memory_available() <= asc_memory_bytes());
}
END_TEST

int main(void)
{
    TCase *cores = tcase_create("core types"), *groups = tcase_create("groups"), *threads = tcase_create("threads");
    tcase_add_test(cores, advice_about_core_types);
    tcase_add_test(cores, a_choice_silences_the_advice);
    tcase_add_checked_fixture(groups, make_root, remove_root);
    tcase_add_test(groups, no_groups_no_quota);
    tcase_add_test(groups, quotas_of_version_2);
    tcase_add_test(groups, the_least_quota_on_the_way_up);
    tcase_add_test(groups, quotas_of_version_1);
    tcase_add_test(groups, long_paths_are_no_quota);
    tcase_add_test(groups, groups_limit_the_memory);
    tcase_add_test(threads, threads_are_the_allowed_processors);
    return run_suite("tensor/cpu", cores, groups, threads);
}
