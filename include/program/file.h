/*
 * program/file.h: files that are there as a whole, or not at all, and what a person names to be read.
 */
#ifndef PROGRAM_FILE_H
#define PROGRAM_FILE_H

#include <ascgrad/data.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes `n` bytes to the file `path`, in place of what it held: whoever opens it, even after a power cut, finds
 * the earlier content or the new one, never a part. The bytes go to `path`.ascgrad-tmp in the same folder, to
 * the disk, and then take the name. On failure the earlier file is as it was and that one is gone.
 * ASC_ERR_ARG: `path` is NULL, or `bytes` is with n > 0; ASC_ERR_IO, with the system's reason; ASC_ERR_MEMORY. */
ASC_API asc_status asc_file_write_atomic(asc_ctx *ctx, const char *path, const void *bytes, size_t n);

/* Opens what a person named to be read: a file, a pipe that has a writer, a terminal, or "-", standard input. The
 * descriptor, to be closed. A pipe without a writer is waited for, 20 seconds at most, of which asc_options.message
 * hears after the first. -1 with the error set: ASC_ERR_ARG: no path; ASC_ERR_IO, also of a folder, of a device that
 * never ends, and of a pipe that nothing came to write to. */
ASC_API int asc_input_open(asc_ctx *ctx, const char *path);

/* Whether asc_text_next would have to wait for whoever writes into a pipe or types: then what is answered so far is
 * due. false for NULL, before the first line, and of gzip. */
ASC_API bool asc_text_waits(const asc_text *text);

/* Opens a regular file to be read, one that a program has made rather than a person named; NULL where there is none,
 * or something else, which is not waited for. */
ASC_API FILE *asc_file_read(const char *path);

/* Opens a regular file that a program makes, to be written from its beginning; the descriptor. What stands there may be
 * a stranger's: a link, a pipe or the like is refused, and neither followed nor waited for. -1 with the error set. */
ASC_API int asc_file_create(asc_ctx *ctx, const char *path);

/* A file of results that is written piece by piece, with the promises of asc_file_write_atomic: the file `path` at the
 * end, or what was there. New, to be ended; NULL with the error set: ASC_ERR_ARG: no path; ASC_ERR_IO, also of a pipe
 * or a device, which is not waited for, and of a folder; ASC_ERR_MEMORY. */
typedef struct asc_output asc_output;
ASC_API asc_output *asc_output_begin(asc_ctx *ctx, const char *path);

/* Whether asc_output_begin would begin a file of that name, which it leaves as it is: for who works long before there
 * is something to write. ASC_ERR_IO, ASC_ERR_MEMORY. */
ASC_API asc_status asc_output_check(asc_ctx *ctx, const char *path);

/* Appends n bytes. ASC_ERR_IO; the first failure stays. */
ASC_API asc_status asc_output_write(asc_output *output, const void *bytes, size_t n);

/* Ends the writing: the file is there then, unless the context has an error, from writing or anything else. Returns
 * that. */
ASC_API asc_status asc_output_end(asc_output *output);

/* Whether a part of a file's name tells that a folder of data has the split there: "train"; "valid", "validation",
 * "val", "dev"; "test". */
ASC_API bool asc_name_tells(const char *name, asc_split_kind kind);

/* Makes a folder that a program keeps its files in, or takes the one that stands there. A link is refused: what is
 * written into it would be written elsewhere. ASC_ERR_IO. */
ASC_API asc_status asc_folder_make(asc_ctx *ctx, const char *path);

#ifdef __cplusplus
}
#endif
#endif
