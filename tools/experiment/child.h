/* tools/experiment/child.h: a run of an experiment, trained by a process of its own, `ascgrad train`. */
#ifndef TOOLS_EXPERIMENT_CHILD_H
#define TOOLS_EXPERIMENT_CHILD_H

#include <sys/types.h>

#include <program/experiment.h>

typedef struct child {
    pid_t pid; /* 0: none */
    int run;
} child;

/* Starts a run that was claimed; what it says goes to `log`. false, after a message: neither can be had. */
bool child_start(asc_ctx *ctx, child *c, asc_experiment *e, int run, int threads, const char *log);

/* How a process ended: of the library's, with `text`, what a failed one said at its end. */
asc_experiment_end child_end(int status, const char *log, char *text, size_t size);

#endif
