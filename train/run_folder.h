/*
 * train/run_folder.h: the folder of a run, and how its files stay together.
 *
 * The checkpoint is what commits. A better model is written as model.next first, then the checkpoint that knows of it,
 * then it takes its name; a process killed in between leaves what asc_folder_recover finishes or undoes. An evaluation
 * that only the end of an invocation asked for is no part of the run: it comes after the checkpoint, the model that it
 * displaces is kept, and a resume puts it back.
 */
#ifndef TRAIN_RUN_FOLDER_H
#define TRAIN_RUN_FOLDER_H

#include <ascgrad/base.h>

typedef struct asc_folder {
    asc_ctx *ctx;
    char *path, *config, *vocab, *metrics, *checkpoint;
    char *model, *next, *kept;
    int lock;     /* descriptor of the folder, locked; -1 */
    bool created; /* by this process, and not complete yet */
} asc_folder;

/* Whether something is at the path that a new run must not write over: anything but an empty folder, or one that
 * a start left which was killed before config.json was there. */
bool asc_folder_taken(const char *path);

/* Opens the folder of a run, or makes a new one, and locks it. In any case to be closed.
 * ASC_ERR_ARG: it exists (new), another process trains in it; ASC_ERR_IO. */
asc_status asc_folder_open(asc_folder *f, asc_ctx *ctx, const char *path, bool resume);

/* Unlocks; a folder that was made but never completed goes. */
void asc_folder_close(asc_folder *f);

/* From here on a new folder stays. */
void asc_folder_complete(asc_folder *f);

/* Brings the files to the state of the checkpoint, whose best model is of step `best_step` (-1: none). */
asc_status asc_folder_recover(asc_folder *f, int64_t best_step);

/* model.next takes the model's name. */
asc_status asc_folder_promote(asc_folder *f);

/* Keeps the model for the next resume, before another takes its place. */
asc_status asc_folder_keep_model(asc_folder *f);

#endif
