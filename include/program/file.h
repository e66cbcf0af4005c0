/*
 * program/file.h: files that are there as a whole, or not at all.
 */
#ifndef PROGRAM_FILE_H
#define PROGRAM_FILE_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes `n` bytes to the file `path`, in place of what it held: whoever opens it, even after a power cut, finds
 * the earlier content or the new one, never a part. The bytes go to `path`.tmp in the same folder, to the disk,
 * and then take the name. On failure the earlier file is as it was and `path`.tmp is gone.
 * ASC_ERR_ARG: `path` is NULL, or `bytes` is with n > 0; ASC_ERR_IO, with the system's reason; ASC_ERR_MEMORY. */
ASC_API asc_status asc_file_write_atomic(asc_ctx *ctx, const char *path, const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif
#endif
