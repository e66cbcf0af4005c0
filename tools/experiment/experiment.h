/* tools/experiment/experiment.h: the kinds of ascgrad experiment, and what they share. */
#ifndef TOOLS_EXPERIMENT_EXPERIMENT_H
#define TOOLS_EXPERIMENT_EXPERIMENT_H

#include <program/experiment.h>

#include "tools/cli.h"

extern const cli_command experiment_run, experiment_status, experiment_report;

/* Whether every key of the experiment's "report" is known, and says something that can be done. ASC_ERR_ARG. */
asc_status experiment_check_report(asc_ctx *ctx, const asc_experiment *e);

/* How many runs are in each state, of the tuning too. */
typedef struct experiment_counts {
    int all, of[ASC_EXPERIMENT_STATE_FAILED + 1];
} experiment_counts;
experiment_counts experiment_count(const asc_experiment *e);

/* "12 runs: 3 done, 1 failed, 8 open". */
const char *experiment_counts_text(const experiment_counts *c, char *text, size_t size);
json_t *experiment_counts_json(const experiment_counts *c); /* new */

/* The end of a file, as far as there is room; "" where there is none. */
void experiment_read_end(const char *path, char *text, size_t size);

/* What a failed run has said at its end; "": nothing is known of it. */
enum { EXPERIMENT_SAID = 2000 };
void experiment_failure(const asc_experiment *e, const asc_experiment_run *run, char text[EXPERIMENT_SAID]);

#endif
