/* train/run/no_run.h: the error where a run was expected and is none. */
#ifndef TRAIN_NO_RUN_H
#define TRAIN_NO_RUN_H

#include <ascgrad/base.h>

/* Whether the path is a folder with a config.json. */
bool asc_is_run(const char *path);

/* ASC_ERR_IO: there is no run of that path; the message names those that are near: one of nearly that name, those in
 * the folder, or those beside it. */
asc_status asc_fail_no_run(asc_ctx *ctx, const char *path);

/* ASC_ERR_ARG: something has the name that a new run was to have. */
asc_status asc_fail_taken(asc_ctx *ctx, const char *path);

#endif
