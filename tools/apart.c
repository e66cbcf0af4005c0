/* tools/apart.c: work in a process of its own, and its messages: a line of JSON each, through a pipe. */
#include "tools/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* ---- the process ---- */

void apart_tell(FILE *to, const char *name, json_t *value)
{
    json_t *message = json_pack("{s:o}", name, value ? value : json_null());
    json_dumpf(message, to, JSON_COMPACT);
    json_decref(message);
    fputc('\n', to);
    fflush(to);
}

static _Noreturn void be_apart(apart_work *work, void *user, int pipe, pid_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) {
        _exit(CLI_IO);
    }
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    setvbuf(stdout, NULL, _IOLBF, 0); /* what is printed there comes before what is told next */
    FILE *to = fdopen(pipe, "w");
    if (to) {
        work(user, to);
        fclose(to);
    }
    _exit(CLI_OK);
}

/* ---- the parent ---- */

typedef struct listener {
    int pipe;
    char *text; /* what has come, and is no whole line yet */
    size_t n, capacity;
} listener;

/* Waits until there is something to read, or the end of it; false: not within the time. */
static bool wait_for(int pipe, double seconds)
{
    double end = cli_clock() + seconds;
    struct pollfd p = {.fd = pipe, .events = POLLIN};
    for (;;) {
        double left = end - cli_clock();
        int wait = seconds > 0 ? (int)(left * 1000) + 1 : -1;
        if (seconds > 0 && left <= 0) {
            return false;
        }
        int ready = poll(&p, 1, wait);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return true;
        }
    }
}

/* Reads what there is; false at the end. */
static bool read_more(listener *l)
{
    if (l->capacity - l->n < 4096) {
        char *larger = realloc(l->text, l->capacity + (1 << 16));
        if (!larger) {
            return false;
        }
        l->text = larger;
        l->capacity += 1 << 16;
    }
    ssize_t n;
    do {
        n = read(l->pipe, l->text + l->n, l->capacity - l->n);
    } while (n < 0 && errno == EINTR);
    l->n += n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* Hands over the whole lines; false if one of them ends the process. */
static bool hear_lines(listener *l, apart_hear *hear, void *user)
{
    bool on = true;
    for (char *end; on && (end = memchr(l->text, '\n', l->n)) != NULL;) {
        size_t line = (size_t)(end - l->text) + 1;
        json_t *message = json_loadb(l->text, line, 0, NULL);
        void *at = json_object_iter(message);
        on = !at || hear(user, json_object_iter_key(at), json_object_iter_value(at));
        json_decref(message);
        l->n -= line;
        memmove(l->text, l->text + line, l->n);
    }
    return on;
}

static const char *why_ended(int status)
{
    static char text[128];
    if (WIFSIGNALED(status)) {
        snprintf(text, sizeof text, "ended by signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        snprintf(text, sizeof text, "ended the process, exit status %d", WEXITSTATUS(status));
    }
    return text;
}

/* NULL: heard to its end. */
static const char *listen_to(pid_t child, int pipe, double seconds, apart_hear *hear, void *user)
{
    static char late[64];
    listener l = {.pipe = pipe};
    bool on = true, in_time = true, more = true;
    while (on && more && (in_time = wait_for(pipe, seconds))) {
        more = read_more(&l);
        on = !more || hear_lines(&l, hear, user);
    }
    free(l.text);
    int status = 0;
    if (!on) {
        wait_for(pipe, 2); /* for the last words of what ends itself */
    }
    if (!on || !in_time) {
        kill(child, SIGKILL);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    snprintf(late, sizeof late, "no sign for %g s", seconds);
    return !on ? NULL : in_time ? why_ended(status) : late;
}

const char *apart_run(double seconds, apart_work *work, apart_hear *hear, void *user)
{
    int ends[2];
    pid_t parent = getpid();
    cli_flush();
    fflush(stderr);
    if (pipe(ends) != 0) {
        return "no process can be had";
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_apart(work, user, ends[1], parent);
    }
    close(ends[1]);
    const char *why = child > 0 ? listen_to(child, ends[0], seconds, hear, user) : "no process can be had";
    close(ends[0]);
    return why;
}
