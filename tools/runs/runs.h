/* tools/runs/runs.h: the runs that `ascgrad runs` lists, and what differs between them. */
#ifndef TOOLS_RUNS_RUNS_H
#define TOOLS_RUNS_RUNS_H

#include <ascgrad/runs.h>

#include "tools/cli.h"

typedef struct runs_list {
    asc_ctx *ctx;
    asc_run **runs;
    int n;
    int status; /* of the worst that happened */
} runs_list;

/* A setting by its key and by its name on the command line. */
typedef struct runs_setting {
    const char *key, *name;
    int rank, nth; /* how much it says: the lower comes first; where it was found */
} runs_setting;

/* How much a setting says: below RUNS_FIRST what a model is and how it learns, below RUNS_OTHER on what; others; those
 * that follow from others; those that do not shape the result. */
enum { RUNS_FIRST = 5, RUNS_OTHER = 8, RUNS_FOLLOWS, RUNS_SHAPELESS };

/* The settings that two of the runs have with different values, what says most first; how many. New. */
int runs_settings(const runs_list *l, runs_setting **found);

/* Prints all as wide as standard output is, and why runs have failed. Takes the steps out of `settings`, as they have a
 * column. */
void runs_print_table(const runs_list *l, runs_setting *settings, int n);

/* The same as one JSON object, with all settings; the exit status. */
int runs_print_json(const runs_list *l, const runs_setting *settings, int n);

/* Seconds since 1970. */
double runs_now(void);

#endif
