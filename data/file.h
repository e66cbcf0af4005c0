/*
 * data/file.h: opening regular files, and writing a file piece by piece, so that it appears as a whole or not at all.
 *
 * Two kinds of path: one that a person names may be a symbolic link; a file of our own, in the folder of a run, is
 * never one, as nobody else's file may be written through it. For those: O_NOFOLLOW.
 *
 *     asc_file file;
 *     asc_file_begin(&file, ctx, path);
 *     asc_file_write(&file, bytes, n);         as often as needed
 *     asc_status status = asc_file_commit(&file);
 *
 * The first failure removes the temporary file, stays in file.status and makes the calls after it do nothing, so
 * that the status of the commit is all that needs a look.
 */
#ifndef DATA_FILE_H
#define DATA_FILE_H

#include <sys/types.h>

#include <ascgrad/base.h>

/* What stands behind the name of a file while it is written: nobody has such files of their own. */
#define ASC_FILE_TEMPORARY ".ascgrad-tmp"

/* Opens a regular file with the flags of open(2) and O_CLOEXEC; the descriptor. With O_NOFOLLOW `path` must be no
 * symbolic link, though folders above it may be. Pipes and devices are refused without waiting for them.
 * -1 with the error set: ASC_ERR_IO, which says what stands there, or the system's reason. */
int asc_file_open(asc_ctx *ctx, const char *path, int flags);

/* ASC_ERR_IO if something other than a regular file stands at `path`, a symbolic link included. */
asc_status asc_file_check_own(asc_ctx *ctx, const char *path);

/* The same of something other than a folder. */
asc_status asc_folder_check_own(asc_ctx *ctx, const char *path);

typedef struct asc_file {
    asc_ctx *ctx;
    asc_status status;     /* of the first failure */
    int fd;                /* of the temporary file; -1: none */
    char *path;            /* the caller's, a copy */
    char *temporary;       /* path ASC_FILE_TEMPORARY */
    size_t path_bytes;     /* of `path`, with its end */
    unsigned char *buffer; /* small writes are gathered here */
    size_t used;
    mode_t mode; /* of the file that is replaced; 0: none is */
} asc_file;

/* Starts the file that will be `path`. A temporary one of a process that was killed serves again; one that a writer
 * holds at this moment, or that is no regular file, is refused, and so is a `path` that is a device or a pipe, which
 * would be replaced, or a folder. It gets the mode of the file that it replaces; of a symbolic link the link is
 * replaced, not what it names. ASC_ERR_ARG: no path; ASC_ERR_IO; ASC_ERR_MEMORY. */
asc_status asc_file_begin(asc_file *file, asc_ctx *ctx, const char *path);

/* Appends n bytes. ASC_ERR_IO. */
asc_status asc_file_write(asc_file *file, const void *bytes, size_t n);

/* Brings the bytes to the disk, gives the file its name and ends the writing. Returns file->status. */
asc_status asc_file_commit(asc_file *file);

/* Ends the writing without a result: `path` stays as it was. Nothing happens after a commit or a failure. */
void asc_file_discard(asc_file *file);

#endif
