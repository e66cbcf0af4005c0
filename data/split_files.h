/* data/split_files.h: where the splits of a data set stand: in parts of one file, or in files of a folder. */
#ifndef DATA_SPLIT_FILES_H
#define DATA_SPLIT_FILES_H

#include <ascgrad/data.h>

enum { ASC_SPLITS = ASC_SPLIT_TEST + 1 };

/* Of one file the last 5 % are test, the 5 % before them valid: split s is the lines that start at byte cuts[s] …
 * cuts[s+1]-1 of the uncompressed text. *longest, unless NULL: the bytes of its longest line. Takes a pass over the
 * file. Errors of asc_text_next. */
asc_status asc_file_cuts(asc_ctx *ctx, const char *path, int64_t cuts[ASC_SPLITS + 1], int64_t *longest);

/* The path of a folder's file for a split, new; to be freed with asc_split_path_free. NULL with the error set:
 * ASC_ERR_IO, there is none, or there are several; ASC_ERR_MEMORY. */
char *asc_split_path(asc_ctx *ctx, const char *folder, asc_split_kind kind);
void asc_split_path_free(asc_ctx *ctx, char *path);

/* Whether a folder has a file for the training split whose name `fits`. */
bool asc_folder_fits(const char *folder, bool (*fits)(const char *name));

#endif
