/* train/run/metrics.h: metrics.jsonl, a line of JSON at a time. */
#ifndef TRAIN_METRICS_H
#define TRAIN_METRICS_H

#include <ascgrad/train.h>
#include <jansson.h>

typedef struct asc_metrics {
    asc_ctx *ctx;
    const char *path; /* borrowed */
    int fd;           /* -1: not open */
    int64_t bytes;
    struct asc_events *events; /* which get the lines, too; or NULL */
} asc_metrics;

/* Opens the file to go on after its first `bytes`; it is made if those are none, and what it has stays as it is. To be
 * closed in any case. ASC_ERR_IO; ASC_ERR_FORMAT: it is shorter. */
asc_status asc_metrics_open(asc_metrics *m, asc_ctx *ctx, const char *path, int64_t bytes);
void asc_metrics_close(asc_metrics *m);

/* Looks whether those bytes end in the line of `logged_step`; -1: whether there are none. ASC_ERR_FORMAT: no;
 * ASC_ERR_IO. */
asc_status asc_metrics_check(const asc_metrics *m, int64_t logged_step);

/* Cuts off what comes after those. ASC_ERR_IO. */
asc_status asc_metrics_cut(asc_metrics *m);

/* From here on, the lines in the file and those to come go to the event file of the run in the folder `run`, too.
 * ASC_ERR_IO, ASC_ERR_FORMAT, ASC_ERR_MEMORY. */
asc_status asc_metrics_add_events(asc_metrics *m, const char *run);

/* Appends a line, all of it or nothing; with the fields of an evaluation if `evaluated`, and the members of the object
 * `more`, unless it is NULL. ASC_ERR_IO, ASC_ERR_MEMORY. */
asc_status asc_metrics_write(asc_metrics *m, const asc_train_progress *p, bool evaluated, json_t *more);

/* Brings all lines to the disk. ASC_ERR_IO. */
asc_status asc_metrics_sync(asc_metrics *m);

#endif
