/* tools/experiment/child.c: a run in a process of its own: what crashes there takes nothing else along, and its memory
 * goes with it. */
#include "tools/experiment/child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <ascgrad/runs.h>
#include <program/file.h>
#include <program/names.h>

#include "tools/experiment/experiment.h"
#include "tools/next.h"

enum { PATH = 4400, ARGUMENTS = 16 };

/* The command line, whose texts stand in `text`. */
typedef struct command {
    char *argv[ARGUMENTS];
    int n;
    char text[5 * PATH];
    size_t used;
} command;

static void add(command *c, const char *word)
{
    size_t n = strlen(word) + 1;
    if (c->n < ARGUMENTS - 1 && n <= sizeof c->text - c->used) {
        c->argv[c->n++] = memcpy(c->text + c->used, word, n);
        c->used += n;
    }
}

static void add_option(command *c, const char *option, const char *value)
{
    add(c, option);
    add(c, value);
}

/* A setting of the run as a word; "" where there is none. */
static void setting(asc_experiment *e, int run, const char *key, char *text, size_t size)
{
    const char *value = asc_experiment_value(e, run, key);
    json_t *json = json_loads(value ? value : "null", JSON_DECODE_ANY, NULL);
    if (json_is_string(json)) {
        snprintf(text, size, "%s", json_string_value(json));
    } else {
        snprintf(text, size, "%s", value ? value : "");
    }
    json_decref(json);
}

/* `minutes` are an invocation's: of one that goes on, what those before it have left. */
static void add_minutes_left(command *c, const char *folder, const char *minutes)
{
    double whole = 0, spent = 0;
    if (!asc_time_parse(minutes, 60, &whole) || whole <= 0) {
        return;
    }
    asc_ctx *ctx = asc_ctx_new(&(asc_options){.threads = 1});
    asc_run *so_far = ctx ? asc_run_read(ctx, folder) : NULL;
    spent = so_far ? asc_run_info_of(so_far)->wall_s / 60 : 0;
    asc_run_free(so_far);
    asc_ctx_free(ctx);
    char left[40];
    snprintf(left, sizeof left, "%.6g", fmax(whole - spent, 1e-3)); /* 0 would be no limit */
    add_option(c, "--minutes", left);
}

/* What a person could type. */
static void build(command *c, asc_experiment *e, int run, int threads)
{
    char text[PATH];
    bool resume;
    const char *settings = asc_experiment_settings_file(e, run, &resume);
    *c = (command){.n = 0};
    add(c, "ascgrad");
    add(c, "train");
    add_option(c, "--out", asc_experiment_run_at(e, run)->folder);
    if (resume) {
        add(c, "--resume");
        setting(e, run, "minutes", text, sizeof text);
        add_minutes_left(c, asc_experiment_run_at(e, run)->folder, text);
    } else {
        setting(e, run, "preset", text, sizeof text);
        if (*text) {
            add_option(c, "--preset", text);
        }
        add_option(c, "--config", settings);
    }
    const char *alike = asc_experiment_data_of(e, run);
    if (alike) {
        add_option(c, "--data-of", alike);
    }
    if (asc_experiment_cache(e, run, text, sizeof text) == ASC_OK) {
        add_option(c, "--cache", text);
    }
    setting(e, run, "threads", text, sizeof text);
    if (!*text) {
        snprintf(text, sizeof text, "%d", threads);
        add_option(c, "--threads", text);
    }
}

static void note_command(int log, const command *c)
{
    char word[NEXT_WORD];
    for (int i = 0; i < c->n; i++) {
        dprintf(log, "%s%s", i ? " " : "", next_quote(c->argv[i], word, sizeof word));
    }
    dprintf(log, "\n");
}

/* A signal that the new process got under the parent's handlers would be lost: it has none of them when signals reach
 * it again. */
static void drop_handlers(const sigset_t *signals)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        struct sigaction action;
        if (sigaction(handled[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            signal(handled[i], SIG_DFL);
        }
    }
    sigprocmask(SIG_SETMASK, signals, NULL);
}

/* In the new process. It is in a group of its own, so that a Ctrl-C at the terminal reaches the parent, which passes it
 * on once; and it saves and ends where the parent is killed. */
static _Noreturn void become(const command *c, int log, pid_t parent, const sigset_t *signals)
{
    drop_handlers(signals);
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() != parent) {
        _exit(CLI_INTERRUPTED);
    }
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv("/proc/self/exe", c->argv);
    execvp(c->argv[0], c->argv);
    dprintf(STDERR_FILENO, "ascgrad: can't start again: %s\n", strerror(errno));
    _exit(CLI_IO);
}

bool child_start(asc_ctx *ctx, child *c, asc_experiment *e, int run, int threads, const char *log)
{
    static command line;
    build(&line, e, run, threads);
    int out = asc_file_create(ctx, log);
    if (out < 0) {
        cli_message("%s", asc_error_message(ctx));
        asc_error_clear(ctx);
        return false;
    }
    note_command(out, &line);
    pid_t parent = getpid();
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    c->pid = fork();
    if (c->pid == 0) {
        become(&line, out, parent, &before);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(out);
    c->run = run;
    if (c->pid < 0) {
        cli_message("no process can be had: %s", strerror(errno));
        c->pid = 0;
    }
    return c->pid > 0;
}

asc_experiment_end child_end(int status, const char *log, char *text, size_t size)
{
    *text = '\0';
    if (WIFEXITED(status)) {
        switch (WEXITSTATUS(status)) {
        case CLI_OK: return ASC_EXPERIMENT_END_DONE;
        case CLI_INTERRUPTED: return ASC_EXPERIMENT_END_STOPPED;
        }
        experiment_read_end(log, text, size);
        return WEXITSTATUS(status) == CLI_FAILED ? ASC_EXPERIMENT_END_DIVERGED : ASC_EXPERIMENT_END_FAILED;
    }
    int number = WTERMSIG(status);
    int n = snprintf(text, size, "killed by signal %d, %s%s\n", number, strsignal(number),
                     number == SIGKILL ? "; the system does so where memory runs out" : "");
    experiment_read_end(log, text + n, size - (size_t)n);
    return ASC_EXPERIMENT_END_FAILED;
}
