/* tools/report/report.h: what the files of ascgrad experiment report share. */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <ascgrad/compare.h>
#include <program/experiment.h>
#include <ascgrad/runs.h>
#include <ascgrad/stats.h>

#include "tools/figure/figure.h"
#include "tools/report/document.h"

enum { REPORT_NAME = 160 };

/* A run that is done, with what its model makes of the split. */
typedef struct trained {
    asc_run *run;
    int64_t seed;
    asc_scores *scores; /* NULL: no model of the report could be evaluated */
    bool by_itself;     /* so the run's own evaluation stands for them */
    double hard;        /* its accuracy on what `report.hard` gets wrong; NaN: not known */
    double mixing_gflop; /* a token of training: attention, or what stands in its place; NaN: not known */
    asc_spread speed;    /* tokens/s of training steps that were timed for the report; NaN: none were */
} trained;

/* A system with one value of each key of the grid, and its runs, one a seed. */
typedef struct variant {
    char name[REPORT_NAME], cut[REPORT_NAME]; /* that others may have, too, when it was cut */
    int system, cell;
    int failed, first;  /* runs that have, and the number of its first */
    trained *runs;
    int64_t n;          /* runs that are done, once scored those that are not left out */
    const char *mark;   /* the stars behind its result */
} variant;

/* Variants with the same values of the grid are compared with each other. */
typedef struct cell {
    char name[REPORT_NAME]; /* "layers 6"; "" without a grid; "… #2" where a longer one would be another's */
    int run;                /* the number of a run that has the values */
    int baseline;           /* the variant that the others are compared with; -1: none */
    int *order;             /* [n]: the variants, the baseline first: the systems of `compared` */
    int64_t n;
    asc_compared *compared; /* NULL: there is nothing to compare, */
    char reason[400];       /* or this is why it can't be; "" */
} cell;

typedef struct report {
    asc_ctx *ctx;
    asc_experiment *experiment;
    const char *folder, *split;
    json_t *wants;     /* the experiment's "report" */
    bool carry;        /* models are evaluated with the context that they were trained to carry */
    variant *variants;
    int n_variants;
    cell *cells;
    int n_cells;
    const char *metric; /* of the learning curves: a key of metrics.jsonl */
    document doc;
    json_t *files;
    const asc_scores *items; /* of a model of the system `hard`; NULL: not known */
    int64_t n_hard;          /* of its blocks, those that most models of the system get wrong */
    int bench_threads; /* of the training steps that were timed for the report; 0: none were */
    json_t *left_out;  /* runs that could not be read, or their models not be evaluated, each with why */
    int status;        /* the worst of what was read and drawn */
} report;

/* ---- what there is (gather.c) ---- */

/* Reads the runs and puts them in order. */
asc_status report_gather(report *r);
void report_free(report *r);

/* A number of each run of a variant where it is known: mean and deviation, infinite with one that is. */
typedef double report_number(const trained *t);
asc_spread report_spread(report *r, const variant *v, report_number *number);

/* The same of n numbers. */
asc_spread report_spread_of(report *r, const double *values, int64_t n);

/* Room for n numbers, in the scope; NULL with the error set. */
double *report_numbers(report *r, int64_t n);

/* ---- scores (scores.c) ---- */

/* Evaluates the models that are not in DIR/scores yet; where some can be, runs of those that can't are left out of the
 * report. ASC_ERR_FORMAT: runs that differ in their seeds alone were evaluated on different texts. */
asc_status report_score(report *r);

/* What one model makes of the split in blocks of `block` tokens (0: its own), from DIR/scores or computed; new. NULL
 * with the error set. */
asc_scores *report_score_one(report *r, const asc_run *run, int64_t block);

/* Tells, and notes for the report, that the error left something out; it is cleared. */
void report_leave_out(report *r, const char *what);

/* A variant's runs that have scores as a system, its list of the scope; no list: out of memory. */
asc_system report_system(report *r, const variant *v);

/* Compares the variants of each cell, and sets their marks. */
asc_status report_compare(report *r);

/* ---- what it took (speeds.c) ---- */

/* What a training spends. Minutes are of its own clock, or of the speed that was measured for the report. */
typedef enum report_axis { REPORT_TOKENS, REPORT_MINUTES, REPORT_PRODUCTS } report_axis;
enum { REPORT_AXES = 3 };

/* "minutes by the runs' clocks". */
const char *report_axis_title(const report *r, report_axis axis);

/* What a run had spent at a line of its metrics: the number there under *key, times *scale, NaN where it is not known.
 */
void report_axis_of(const report *r, const trained *t, report_axis axis, const char **key, double *scale);

/* Times training steps of each variant on this machine, on `threads` threads (0: one per processor). What can't be
 * timed is told, and has no speed. */
asc_status report_measure_speeds(report *r, int64_t threads);
void report_speeds(report *r); /* what came of it */

/* ---- what is said, each in the file of its name ---- */

void report_results(report *r);
void report_significance(report *r);
void report_settings(report *r);
void report_machines(report *r);
void report_failures(report *r); /* machines.c */
void report_targets(report *r);
void report_crossings(report *r);

/* Whether no model could be evaluated, so that the runs' own evaluations stand for all. */
bool report_is_by_itself(const report *r);

/* Whether its model is a classifier; whether all are. */
bool report_is_classifier(const trained *t);
bool report_is_of_classes(const report *r);

/* What figures call quality: of classifiers the share that they get wrong; else perplexity on the split, on the
 * validation split where no model could be evaluated, and bits per byte where they have different tokens, whose
 * perplexities don't compare. */
report_number *report_quality(const report *r);
bool report_tokens_differ(const report *r);

/* The share of a variant's tokens that are unknown words, and whether one is so large, where tokens differ, that bits
 * per byte do not compare. */
double report_unknown(const variant *v);
bool report_unknown_counts(const report *r);

/* Whether the grid or systems have texts of their own, so that no number says which of all models is the best. */
bool report_texts_differ(const report *r);
const char *report_quality_title(const report *r);

/* ---- figures (curves.c, figures.c, insides.c) ---- */

/* A variant's learning curve, the mean over its seeds with their deviation: of the scope. n 0: there is none. */
figure_series report_curve(report *r, const variant *v, report_axis axis);

void report_learning_curves(report *r);

/* The figures, by name or by the papers' number; whether there is one, and drawing those that were asked for. */
enum { REPORT_MOST = 32 }; /* entries of a list that an experiment asks for */

#define REPORT_FIGURES "decomposition (1), cost (2), ablation (3), heads (4), length (5), omega"
bool report_knows_figure(const json_t *wanted);
const char *report_guess_figure(const char *name); /* the one that is meant, or NULL */
void report_figures(report *r);

void report_figure_omega(report *r);
void report_figure_decomposition(report *r);
void report_figure_heads(report *r);

/* Ends a figure under DIR/figures/NAME, and puts it into the document. */
void report_end_figure(report *r, figure *f, const char *name, const char *caption);

#endif
