/*
 * program/experiment.h: experiments: systems with settings, a grid, seeds, and the runs that come of them, in a folder
 * that several processes and machines may work on. doc/experiments.md has the format.
 *
 *     asc_experiment *e = asc_experiment_open(ctx, "ablations");
 *     const asc_experiment_run *run;
 *     for (int i = 0; (run = asc_experiment_run_at(e, i)); i++) {
 *         printf("%s, seed %lld: %s\n", asc_experiment_system(e, run->system), (long long)run->seed,
 *                asc_experiment_state_name(run->state));
 *     }
 *     asc_experiment_free(e);
 *
 * The folder DIR of an experiment: experiment.json, the experiment in effect, its scale applied; runs/NAME, ordinary
 * RUNs (ascgrad/train.h); tune/NAME, the RUNs of the tuning, and tune/SYSTEM.json, what it chose; settings/NAME.json,
 * the settings of each run, as `train --config` takes them; done/NAME.json and failed/NAME.txt, which runs have ended
 * and how; claims/NAME, who trains which; logs/NAME.log; cache/, tokenised data. NAME is the system, the grid's keys
 * with their values, and the seed: "grassmann-lr0.001-3"; of tuning "tune-NAME", its RUN apart.
 */
#ifndef PROGRAM_EXPERIMENT_H
#define PROGRAM_EXPERIMENT_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_experiment asc_experiment;

typedef enum asc_experiment_state {
    ASC_EXPERIMENT_STATE_OPEN,        /* not begun */
    ASC_EXPERIMENT_STATE_WAITING,     /* its system is to be tuned first */
    ASC_EXPERIMENT_STATE_RUNNING,     /* a live process has claimed it */
    ASC_EXPERIMENT_STATE_INTERRUPTED, /* begun; who takes it goes on with it */
    ASC_EXPERIMENT_STATE_DONE,
    ASC_EXPERIMENT_STATE_FAILED,
} asc_experiment_state;

/* One run of the plan, of the tuning or of the experiment proper. Texts are borrowed from the experiment. */
typedef struct asc_experiment_run {
    const char *name;   /* of all that is kept of it */
    const char *folder; /* its RUN, which need not be there yet; NULL: the experiment has no folder */
    int system;         /* number of its system */
    int64_t seed;
    bool tuning;
    bool diverged;      /* of tuning, done: its loss was not finite */
    asc_experiment_state state; /* as of the last asc_experiment_refresh */
} asc_experiment_run;

/* Reads the experiment in the file `path`; new, freed before the context. `scale`: a name of its "scales", or "full",
 * which is the file as it stands where it has none of that name; NULL: the file as it stands. NULL with the error set:
 * ASC_ERR_IO, ASC_ERR_FORMAT: the file is no JSON object; ASC_ERR_ARG: a key or a name is wrong, which is said;
 * ASC_ERR_MEMORY. */
ASC_API asc_experiment *asc_experiment_read(asc_ctx *ctx, const char *path, const char *scale);

/* Opens the experiment in the folder `folder`, with the states of its runs. New. Errors as above. */
ASC_API asc_experiment *asc_experiment_open(asc_ctx *ctx, const char *folder);

/* NULL is accepted. Claims are given up. */
ASC_API void asc_experiment_free(asc_experiment *experiment);

/* Gives settings that all systems have, before the runs are looked at: `key` as asc_settings_set's, `value` as text.
 * ASC_ERR_ARG: the experiment has a folder, its grid, its tuning or every system gives the key, or as
 * asc_settings_set. */
ASC_API asc_status asc_experiment_set(asc_experiment *experiment, const char *key, const char *value);

/* Checks the settings of all runs, as far as that can be done without training: model, data and tokenizer are opened.
 * The first one that is wrong is said, with its system and key. ASC_ERR_ARG, ASC_ERR_IO, ASC_ERR_FORMAT,
 * ASC_ERR_MEMORY. */
ASC_API asc_status asc_experiment_check(asc_experiment *experiment);

/* Gives an experiment that was read a folder: a new one, or one that holds the same experiment, to which it may add
 * systems, seeds and values of the grid. ASC_ERR_ARG: it holds another, or something else; what differs is said.
 * ASC_ERR_IO, ASC_ERR_FORMAT, ASC_ERR_MEMORY. */
ASC_API asc_status asc_experiment_place(asc_experiment *experiment, const char *folder);

/* ---- the plan ---- */

/* Name, scale ("" without) and folder (NULL without); borrowed. */
ASC_API const char *asc_experiment_name(const asc_experiment *experiment);
ASC_API const char *asc_experiment_scale(const asc_experiment *experiment);
ASC_API const char *asc_experiment_folder(const asc_experiment *experiment);

/* The experiment in effect, or with a `key` its member ("report", "tune", "seeds"), as JSON text; NULL where it has
 * none. New, free it with asc_experiment_text_free. */
ASC_API char *asc_experiment_json(const asc_experiment *experiment, const char *key);
ASC_API void asc_experiment_text_free(char *text);

/* System number i by name; the grid's key number i; those that are tuned. NULL past the last. Borrowed. */
ASC_API const char *asc_experiment_system(const asc_experiment *experiment, int i);
ASC_API const char *asc_experiment_key(const asc_experiment *experiment, int i);
ASC_API const char *asc_experiment_tuned_key(const asc_experiment *experiment, int i);

/* Run number i, in the order in which they are to be trained: the tuning's, then seed by seed; NULL past the last. */
ASC_API const asc_experiment_run *asc_experiment_run_at(const asc_experiment *experiment, int i);

/* What run number i is to have under a key, of its settings, its system's, the grid's and the tuning's, as JSON text;
 * NULL: nothing is said of it, or it is tuned and not known yet. Borrowed until the next call with this run. */
ASC_API const char *asc_experiment_value(asc_experiment *experiment, int i, const char *key);

/* The folder in which run number i keeps tokenised text and what an encoder made, to path [size]: its setting `cache`,
 * or DIR/cache. ASC_ERR_ARG: not so long; no such run. */
ASC_API asc_status asc_experiment_cache(asc_experiment *experiment, int i, char *path, size_t size);

/* ---- tuning ---- */

/* What the tuning found for a system: the run with the smallest loss on the validation split, or, where the runs'
 * best_by is accuracy, the highest accuracy, of equal ones the smaller loss. */
typedef struct asc_experiment_tuning {
    int run; /* number of the run that it chose; -1: not known yet, as one has failed perhaps, or no loss is finite */
    int tried, done, failed; /* how many runs it has, how many have ended, and how many of them with no finite loss */
    int to_retry;            /* how many of them as their process failed: the choice waits for them to be tried again */
    int unread;              /* how many that are done can't be read: the choice waits for them, too */
    double valid_loss;       /* of the chosen run; NaN */
    double valid_accuracy;   /* of the chosen run, where it chose; NaN */
    bool at_edge; /* the chosen value is the first or last of the grid's, of several: a wider grid may do better */
} asc_experiment_tuning;

/* ASC_ERR_ARG: there is no such system, or nothing is tuned. */
ASC_API asc_status asc_experiment_tuning_of(asc_experiment *experiment, int system, asc_experiment_tuning *tuning);

/* ---- working on it ---- */

/* Looks at the folder again: the state of each run. ASC_ERR_ARG: the experiment has no folder; ASC_ERR_IO. */
ASC_API asc_status asc_experiment_refresh(asc_experiment *experiment);

/* Claims the next run that is to be trained, and writes its settings: *run, -1 where there is none. *later: there may
 * be some in a moment, as tuning that others do comes first. Runs that failed before the experiment got its folder are
 * tried again. ASC_ERR_IO, ASC_ERR_MEMORY. */
ASC_API asc_status asc_experiment_next(asc_experiment *experiment, int *run, bool *later);

/* The settings of a run that was claimed, as a file for `train --config`, and whether its RUN is there to be gone on
 * with. NULL: it is not claimed. Borrowed. */
ASC_API const char *asc_experiment_settings_file(asc_experiment *experiment, int run, bool *resume);

/* The folder of another run, begun before, that names the same data and the same tokenizer: what such runs are trained
 * on must not change between them. NULL: there is none. Borrowed. */
ASC_API const char *asc_experiment_data_of(asc_experiment *experiment, int run);

typedef enum asc_experiment_end {
    ASC_EXPERIMENT_END_DONE,
    ASC_EXPERIMENT_END_DIVERGED, /* a loss was not finite: of tuning a result, else a failure */
    ASC_EXPERIMENT_END_FAILED,
    ASC_EXPERIMENT_END_STOPPED,  /* to be gone on with */
} asc_experiment_end;

/* Notes how a run that was claimed has ended, and gives the claim up. `text`: what it said, for those that failed.
 * ASC_ERR_ARG: it is not claimed. ASC_ERR_IO. */
ASC_API asc_status asc_experiment_release(asc_experiment *experiment, int run, asc_experiment_end end,
                                          const char *text);

/* The name of a state: "open", "waiting", "running", "interrupted", "done", "failed"; NULL for another number. */
ASC_API const char *asc_experiment_state_name(asc_experiment_state state);

/* What is known of time: seconds of training that the ended runs took and that those begun have taken, how much of it
 * was tuning, and an estimate of what is left for one worker, from the runs of the same system where some have ended;
 * NaN: none has. */
typedef struct asc_experiment_time {
    double spent_s, tuning_s, left_s;
    double tuning_share; /* of the tuning in the whole: done and left; NaN: not known yet */
} asc_experiment_time;
ASC_API asc_status asc_experiment_time_of(asc_experiment *experiment, asc_experiment_time *time);

#ifdef __cplusplus
}
#endif
#endif
