/* train/measure/profile.h: what the files of a profile share. */
#ifndef TRAIN_PROFILE_H
#define TRAIN_PROFILE_H

#include <ascgrad/op.h>
#include <ascgrad/profile.h>

enum { ASC_PROFILE_MOST = 256, ASC_PROFILE_DEPTH = 16 };

/* One complete event of the trace. */
typedef struct asc_trace_mark {
    const asc_op *op; /* NULL: a span */
    char name[40], label[40], shapes[120];
    asc_pass pass;
    double start_s, end_s, work_s, flops, bytes;
} asc_trace_mark;

typedef struct asc_trace {
    asc_trace_mark *mark;
    size_t n, cap;
    int64_t steps_left; /* that are to be traced in full */
} asc_trace;

typedef struct asc_rows {
    asc_profile_row row[ASC_PROFILE_MOST];
    int n;
} asc_rows;

typedef struct asc_spent {
    double seconds, work; /* of the thread that calls; of all threads together */
} asc_spent;

struct asc_profile {
    asc_ctx *ctx;
    double start_s, stop_s; /* stop_s is NaN while it goes on */
    asc_profile_total total;
    asc_rows phases, parts, ops;
    asc_spent inside[ASC_PROFILE_DEPTH + 1]; /* calls that ended at a depth, inside of one that runs */
    asc_trace trace;
};

extern const char asc_step_name[];

/* A name as it may stand in JSON. */
void asc_profile_name(char *text, size_t size, const char *name);

/* Adds an event to the trace, if its step is one to be traced. */
void asc_trace_add(asc_profile *p, const asc_event *event, asc_pass pass);

#endif
