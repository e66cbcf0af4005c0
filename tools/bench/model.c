/* tools/bench/model.c: the models that are measured, and what they may take of the machine. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <program/settings.h>

#include "tools/bench/bench.h"
#include "tools/limited.h"

/* ---- settings ---- */

/* Where a training's own default is another. */
static const cli_initial defaults[] = {{"layers", "6"}, {"dim", "256"}, {NULL, NULL}};

static void set_all(asc_settings *s, const cli_initial *d)
{
    for (; d && d->key; d++) {
        asc_settings_option(s, d->key, d->value);
    }
}

const cli_option *bench_options(const cli_option *table, const cli_initial *more)
{
    return cli_fill_settings(table, defaults, more);
}

/* What is the benchmark's own, as --steps, a training's setting of that name, or of what others call so, has no part
 * in. */
static void refuse_own(const char *pair)
{
    char key[CLI_KEY];
    const char *value = cli_split_pair(pair, key);
    const char *known = asc_setting_synonym(key);
    const cli_option *o = cli_known_option(known ? known : key);
    if (o && o->type != CLI_LIST) {
        cli_wrong_usage("--set: %s is an option here: --%s %s", key, o->name, value);
    }
}

asc_settings *bench_settings(asc_ctx *ctx, const bench_model *model, const cli_initial *more)
{
    asc_settings *s = asc_settings_new(ctx);
    set_all(s, defaults);
    set_all(s, more);
    if (model->preset && asc_error(ctx) == ASC_OK) {
        asc_settings_preset(s, model->preset);
    }
    for (int i = 0; i < model->sets.n; i++) {
        refuse_own(model->sets.value[i]);
        cli_set_pair(s, model->sets.value[i]);
    }
    for (int i = 0; i < model->given.n && asc_error(ctx) == ASC_OK; i++) {
        asc_settings_option(s, model->given.name[i], model->given.value[i]);
    }
    return s;
}

const char *bench_model_at(const char *model, int i)
{
    return !model ? asc_mixing_at(NULL, i) : i == 0 ? model : NULL;
}

/* ---- memory with a limit ---- */

/* Three quarters of what is free, here or in the control group: a system that takes more than it has would rather kill
 * us than refuse. */
static size_t free_memory(void)
{
    double free_here = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double granted = asc_machine_info().memory_bytes;
    return (size_t)(0.75 * (granted > 0 && granted < free_here ? granted : free_here));
}

asc_ctx *bench_open(int64_t threads, int64_t mib)
{
    limited_set(mib > 0 ? (size_t)mib << 20 : free_memory());
    asc_options options = {.threads = (int)threads, .allocator = limited_allocator()};
    asc_ctx *ctx = asc_ctx_new(&options);
    if (!ctx) {
        cli_message("out of memory, or of threads");
    }
    return ctx;
}

/* ---- processes ---- */

static bool move_all(ssize_t (*move)(int file, void *data, size_t n), int file, void *data, size_t n)
{
    for (ssize_t moved; n > 0; data = (char *)data + moved, n -= (size_t)moved) {
        if ((moved = move(file, data, n)) <= 0) {
            return false;
        }
    }
    return true;
}

static ssize_t put(int file, void *data, size_t n)
{
    return write(file, data, n);
}

/* In the process: the result goes to `file`. */
static _Noreturn void measure_alone(int (*measure)(const void *arg, void *result), const void *arg, double seconds,
                                    void *result, size_t size, int file)
{
    alarm((unsigned)ceil(seconds)); /* ends it */
    int status = measure(arg, result);
    _exit(move_all(put, file, result, size) ? status : CLI_IO);
}

int bench_apart(int (*measure)(const void *arg, void *result), const void *arg, double seconds, void *result,
                size_t size)
{
    int ends[2], status = 0;
    cli_flush();
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child < 0) {
        cli_message("no process of its own can be had");
        return CLI_IO;
    }
    if (child == 0) {
        close(ends[0]);
        measure_alone(measure, arg, seconds, result, size, ends[1]);
    }
    close(ends[1]);
    bool whole = move_all(read, ends[0], result, size);
    close(ends[0]);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        return CLI_OK;
    }
    if (!WIFEXITED(status)) {
        cli_message("the process that measured was ended by signal %d", WTERMSIG(status));
        return CLI_IO;
    }
    return whole || WEXITSTATUS(status) != CLI_OK ? WEXITSTATUS(status) : CLI_IO;
}
