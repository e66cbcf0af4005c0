/* train/experiment/experiment.h: an experiment in memory: what is defined, and the runs that come of it. */
#ifndef TRAIN_EXPERIMENT_EXPERIMENT_H
#define TRAIN_EXPERIMENT_EXPERIMENT_H

#include <program/experiment.h>
#include <jansson.h>

#include "train/run/claim.h"
#include "train/path.h"

enum { DIGITS = 15 /* of numbers in files */, MOST_RUNS = 10000 };

typedef struct asc_plan_run {
    asc_experiment_run info; /* its texts are this one's own */
    json_t *base;            /* settings of all systems; what a system takes back is not among them */
    json_t *own;             /* its system's, the grid's, the tuning's candidate, its seed */
    bool first;              /* of those that differ in their seeds alone */
    bool retry;              /* it had failed before the experiment got its folder */
    asc_claim *claim;        /* NULL: not claimed by this process */
    char *settings;          /* the file of its settings, or NULL */
    char *value;             /* what asc_experiment_value returned */
    bool measured;           /* it was done when it was read: */
    double valid_loss, wall_s;
    double valid_accuracy; /* NaN, unless it is what makes an evaluation the best */
    int64_t step, steps;
} asc_plan_run;

struct asc_experiment {
    asc_ctx *ctx;
    char *folder;   /* NULL: none */
    json_t *def;    /* the experiment in effect: name, scale, common, systems, grid, seeds, more_seeds, tune, report */
    asc_plan_run *runs;
    int n, n_tuning; /* runs in all, and of the tuning, which stand first */
    size_t bytes;    /* of `runs` */
    bool swept;      /* by this process: what killed workers left */
};

/* ---- define.c: what a file says ---- */

/* The definition that `given` (borrowed) makes with a scale or NULL, keys of settings spelt in one way; new. NULL
 * with the error set: ASC_ERR_ARG. */
json_t *asc_define(asc_ctx *ctx, const json_t *given, const char *scale);

/* Whether a value is among the first n of a list, or of what is none. */
bool asc_list_holds(const json_t *list, size_t n, const json_t *value);

/* Lays settings over others: null takes one back; `steps` and `epochs` take each other's place. */
asc_status asc_lay(asc_ctx *ctx, json_t *base, const json_t *over);

/* Which setting takes the place of `key`; NULL: none. */
const char *asc_define_rival(const char *key);

/* The key of a setting's table for a key or option; "preset" is one, too. ASC_ERR_ARG. */
const char *asc_define_key(asc_ctx *ctx, const char *name);

/* ---- plan.c ---- */

/* The runs that the definition comes to. ASC_ERR_ARG: two would have one name. */
asc_status asc_plan(asc_experiment *e);
void asc_plan_clear(asc_experiment *e);

/* What a run has beside or in the place of what all systems have, what was tuned among it if `tuned` is not NULL. New.
 */
json_t *asc_plan_own(const asc_experiment *e, const asc_plan_run *r, const asc_plan_run *tuned);

/* The settings of a run, in effect. New. */
json_t *asc_plan_settings(const asc_experiment *e, const asc_plan_run *r, const asc_plan_run *tuned);

/* ---- folder.c ---- */

/* DIR/FOLDER/NAME, with `ending`. New. */
char *asc_experiment_path(const asc_experiment *e, const char *sub, const char *name, const char *ending);

/* Gives all runs their folders and looks at their states. */
asc_status asc_folder_attach(asc_experiment *e);

/* The state of a run as it is now. */
void asc_folder_look(asc_experiment *e, asc_plan_run *r);

/* One process at a time is between the two. */
asc_status asc_folder_enter(asc_experiment *e, asc_claim **claim);

/* How long another process is waited for: a message after silent_ms, an error after most_ms. */
typedef struct asc_folder_patience {
    int pause_ms, silent_ms, most_ms; /* multiples of the first */
} asc_folder_patience;
asc_status asc_folder_wait(asc_experiment *e, const asc_folder_patience *patience, asc_claim **claim);

static inline bool asc_is_over(const asc_plan_run *r)
{
    return r->info.state == ASC_EXPERIMENT_STATE_DONE || r->info.state == ASC_EXPERIMENT_STATE_FAILED;
}

/* ---- tuning.c ---- */

/* The run that the tuning of a system has chosen; NULL: nothing is tuned, or not known yet. */
asc_plan_run *asc_tuned(asc_experiment *e, int system);

#endif
