/* train/path.h: texts and paths in the context's memory. */
#ifndef TRAIN_PATH_H
#define TRAIN_PATH_H

#include <ascgrad/base.h>

/* A copy of a text; new, freed with asc_path_free. NULL with the error set. */
char *asc_path_copy(asc_ctx *ctx, const char *text);

/* FOLDER/NAME; new, freed with asc_path_free. NULL with the error set. */
char *asc_path_join(asc_ctx *ctx, const char *folder, const char *name);

/* The folder that a file is in, "." without one; new. */
char *asc_path_folder(asc_ctx *ctx, const char *path);

/* NULL is accepted. */
void asc_path_free(asc_ctx *ctx, char *path);

/* Whether there is something of that name. */
bool asc_path_exists(const char *path);

/* Makes the folders above `path` that are not there, as far as it can; none that the path leaves again by "..". */
void asc_path_make_parents(const char *path);

/* Brings the entry of `path` in its folder to the disk, where the system can do that. */
void asc_path_sync(const char *path);

#endif
