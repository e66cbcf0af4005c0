/* tools/bench/startup.c: ascgrad bench startup: how long the program takes before it does anything. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/bench.h"

extern char **environ;

struct args {
    int64_t runs, threads;
    bool json;
};

static const cli_option options[] = {
    {"runs", 0, "N", CLI_INT, offsetof(struct args, runs), 1, 1e6, "runs of each (20)"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* ---- processes ---- */

/* Runs this program, quietly; CLI_OK, or CLI_IO after a message. */
static int run_program(char *const *argv)
{
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int status, failure = posix_spawn(&child, "/proc/self/exe", &quiet, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (failure || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != CLI_OK) {
        cli_message("ascgrad %s: %s", argv[1], failure ? strerror(failure) : "failed");
        return CLI_IO;
    }
    return CLI_OK;
}

/* The median time of `runs` processes, after one that fills the system's caches. */
static int time_program(char *const *argv, int64_t runs, double *ms)
{
    double *times = malloc((size_t)runs * sizeof *times);
    int status = times ? run_program(argv) : CLI_IO;
    for (int64_t i = 0; i < runs && status == CLI_OK; i++) {
        double start = cli_clock();
        status = run_program(argv);
        times[i] = 1e3 * (cli_clock() - start);
    }
    if (status == CLI_OK) {
        *ms = cli_median(times, runs);
    }
    free(times);
    return status;
}

/* ---- a tiny model ---- */

/* Removes a folder of files. */
static void drop_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        unlinkat(dirfd(folder), e->d_name, 0); /* but for . and .., which it refuses */
    }
    if (folder) {
        closedir(folder);
    }
    rmdir(path);
}

/* Makes a run. */
static int make_run(const char *path)
{
    return run_program((char *[]){"ascgrad", "train", "--preset", "tiny", "--data", "builtin:3000", "--tokenizer",
                                  "word", "--steps", "1", "--out", (char *)path, NULL});
}

static int time_model(const struct args *args, double *ms)
{
    const char *place = getenv("TMPDIR");
    char folder[4096], path[4100 + 8], threads[24];
    snprintf(folder, sizeof folder, "%s/ascgrad-bench-XXXXXX", place && *place ? place : "/tmp");
    snprintf(threads, sizeof threads, "%lld", (long long)args->threads);
    if (!mkdtemp(folder)) {
        cli_message("%s: %s", folder, strerror(errno));
        return CLI_IO;
    }
    snprintf(path, sizeof path, "%s/run", folder);
    int status = make_run(path);
    if (status == CLI_OK) {
        status = time_program((char *[]){"ascgrad", "generate", path, "--tokens", "1", "--threads", threads, NULL},
                              args->runs, ms);
    }
    drop_folder(path);
    drop_folder(folder);
    return status;
}

/* ---- the kind ---- */

static int run(int argc, char **argv)
{
    struct args args = {.runs = 20};
    double info, model;
    int n = cli_parse(&bench_startup, argc, argv, &args);
    cli_expect_operands(n, argv, 0, 0, "");
    unsetenv("OPENBLAS_CORETYPE"); /* the program sets it for itself, and starts again: a part of every start */
    int status = time_program((char *[]){"ascgrad", "info", NULL}, args.runs, &info);
    if (status == CLI_OK) {
        status = time_model(&args, &model);
    }
    if (status != CLI_OK) {
        return status;
    }
    if (args.json) {
        return cli_print_json(json_pack("{s:I, s:f, s:f}", "runs", (json_int_t)args.runs, "info_ms", info, "model_ms",
                                        model));
    }
    cli_print("%10s  %s\n", "ms", "process");
    bench_print_number(info, 10);
    puts("  ascgrad info");
    bench_print_number(model, 10);
    puts("  ascgrad generate: loads a tiny model, writes one token");
    return CLI_OK;
}

const cli_command bench_startup = {
    "bench startup", "times the program's start, without and with a tiny model", "",
    "Each run is a process of its own; the median.", "ascgrad bench startup --runs 50", options, run,
};
