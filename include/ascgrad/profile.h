/*
 * ascgrad/profile.h: where the time of a training goes: by phase, by part of the model, by op; and a trace to look at.
 *
 * A profile is an observer (ascgrad/op.h) that adds up. It tells apart, by the names of their spans,
 *
 *   "step" with what is right inside of it: "data", "forward", "backward", "clip", "optimiser", …
 *   any other outermost span: "set-up", "warm-up", "evaluation", "checkpoint", …, each as a whole.
 *
 * Ops and parts of the model count inside of steps only. asc_train and asc_bench_train begin and end these spans; a
 * loop of one's own does so with asc_span_begin.
 */
#ifndef ASCGRAD_PROFILE_H
#define ASCGRAD_PROFILE_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_profile asc_profile;

typedef enum asc_profile_table {
    ASC_PROFILE_TABLE_PHASES,
    ASC_PROFILE_TABLE_PARTS, /* labels, the numbers in them as N: all "blocks.N.mix" together */
    ASC_PROFILE_TABLE_OPS,
} asc_profile_table;

typedef enum asc_pass {
    ASC_PASS_FORWARD,
    ASC_PASS_AGAIN,    /* forward once more, inside of the backward pass */
    ASC_PASS_BACKWARD,
    ASC_PASSES,
} asc_pass;

/* A row of a table: sums over the profile. */
typedef struct asc_profile_row {
    char name[48];
    int64_t calls;
    double seconds;             /* an op's without those of the ops that it called */
    double work;                /* seconds that all threads together have worked: beside `seconds` times the
                                   threads, how busy they were */
    double flops;               /* of the products that the mathematics needs; 0: none */
    double bytes;               /* of arrays read and written, each once a call */
    double by_pass[ASC_PASSES]; /* `seconds` of a part or an op */
    asc_pass pass;              /* of an op */
    bool in_step;               /* a phase of the step */
} asc_profile_row;

typedef struct asc_profile_total {
    double seconds;   /* from asc_profile_new to asc_profile_stop, or to now */
    double step_seconds, flops, bytes, work; /* of all steps */
    int64_t steps;
} asc_profile_total;

/* Begins a profile: takes the place of the context's observer. Its trace will end with step number `traced_steps` of
 * this profile. New; NULL with the error set: ASC_ERR_ARG, ASC_ERR_MEMORY. */
ASC_API asc_profile *asc_profile_new(asc_ctx *ctx, int64_t traced_steps);

/* Ends it: nothing more is added up, and the context has no observer. NULL is accepted. */
ASC_API void asc_profile_stop(asc_profile *profile);

/* Stops and frees it. NULL is accepted. */
ASC_API void asc_profile_free(asc_profile *profile);

ASC_API asc_profile_total asc_profile_sum(const asc_profile *profile);

/* A table's rows, the longest time first; returns how many there are. Borrowed until something is added up. */
ASC_API int asc_profile_rows(asc_profile *profile, asc_profile_table table, const asc_profile_row **rows);

/* Writes the trace and the tables as JSON for chrome://tracing or Perfetto, atomically: {"traceEvents": [...], …}, one
 * complete event (ph X; ts, dur in microseconds) for each span and each call, calls under the phase that they ran in.
 * `sgemm` stands beside the tables: the machine's limit in GFLOP/s; 0: not known. ASC_ERR_IO, ASC_ERR_MEMORY. */
ASC_API asc_status asc_profile_write(asc_profile *profile, const char *path, double sgemm);

#ifdef __cplusplus
}
#endif
#endif
