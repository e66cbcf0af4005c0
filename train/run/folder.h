/*
 * train/run/folder.h: the folder of a run, and how its files stay together.
 *
 * The checkpoint is what commits. A better model is written as model.next first, then the checkpoint that knows of it,
 * then it takes its name; a process killed in between leaves what asc_folder_recover finishes or undoes.
 *
 * An evaluation where a limit of time stopped the run is no part of it: an uninterrupted run has none there. It comes
 * after the checkpoint, and its model, if it is the best so far, takes the name of the run's own best, which waits as
 * model.kept until the run does better, or ends. Then the run's own takes its name back, so that the end is that of an
 * uninterrupted run, and a stranger that was better stays as model.extra.
 *
 * A run whose learning rate falls at its end (wsd) keeps the checkpoint and the model of the last step before that
 * under second names. With more steps it goes on from there; its model then stands as a stranger's.
 */
#ifndef TRAIN_RUN_FOLDER_H
#define TRAIN_RUN_FOLDER_H

#include <ascgrad/base.h>

#define ASC_FOLDER_CLAIM "running" /* the file that says which process trains in the folder */

typedef struct asc_folder {
    asc_ctx *ctx;
    char *path, *config, *vocab, *metrics, *checkpoint, *summary;
    char *model, *next, *kept, *extra;
    char *stable, *stable_model; /* checkpoint and model from where the learning rate began to fall */
    struct asc_claim *claim; /* the file "running": one process at a time trains in it */
    int fd;       /* of the folder; -1 */
    bool created; /* by this process, and not complete yet */
} asc_folder;

/* Whether something is at the path that a new run must not write over: anything but an empty folder, or one that
 * a start left which was killed before config.json was there. */
bool asc_folder_taken(const char *path);

/* Opens the folder of a run, or makes a new one, and claims it; `path` itself may be a symbolic link. In any case to be
 * closed. ASC_ERR_ARG: it exists (new), another process trains in it; ASC_ERR_IO, also where a name of a run's file has
 * something other than a regular file. */
asc_status asc_folder_open(asc_folder *f, asc_ctx *ctx, const char *path, bool resume);

/* The same without the folder: its names alone, for who reads what another process has there. */
asc_status asc_folder_name(asc_folder *f, asc_ctx *ctx, const char *path);

/* Before anything is written: ASC_ERR_IO where another process has taken the run over, as one on another host may when
 * this one stood still for a minute. */
asc_status asc_folder_check_claim(asc_folder *f);

/* Gives the claim up; a folder that was made but never completed goes. */
void asc_folder_close(asc_folder *f);

/* From here on a new folder stays. */
void asc_folder_complete(asc_folder *f);

/* An evaluation that was the best of some; step -1, an infinite loss: there was none. */
typedef struct asc_best {
    int64_t step;
    double loss, bits; /* bits per byte */
    double wrong;      /* the share that is not right, where that counts before the loss; else 0 */
} asc_best;

/* Whether a is better. */
bool asc_best_beats(const asc_best *a, const asc_best *b);

asc_best asc_best_none(void);

/* Looks whether the models are those of the checkpoint, whose best evaluation is `best`, and changes nothing. *lost:
 * the best model is not there. ASC_ERR_IO, ASC_ERR_FORMAT: one can't be read, or another stands in the best one's
 * place. */
asc_status asc_folder_check(asc_folder *f, const asc_best *best, bool *lost);

/* Brings the files, which have been checked, to the state of the checkpoint. *stranger: the evaluation that is no part
 * of the run and whose model stands in the place of the run's own, its bits NaN; or none. */
asc_status asc_folder_recover(asc_folder *f, const asc_best *best, asc_best *stranger);

/* model.next takes the model's name. */
asc_status asc_folder_promote(asc_folder *f);

/* model.next waits as model.kept: the model is a better stranger. */
asc_status asc_folder_put_by(asc_folder *f);

/* Keeps the model, the run's own best, before a stranger takes its place. */
asc_status asc_folder_keep_model(asc_folder *f);

/* Checkpoint and model get their second names; without hard links they get none. */
void asc_folder_mark(asc_folder *f);

/* The checkpoint of then is the run's again, and its best model of then waits as model.kept. */
asc_status asc_folder_go_back(asc_folder *f);

/* The run's own best takes its name back; the stranger becomes model.extra. */
asc_status asc_folder_restore(asc_folder *f);

#endif
