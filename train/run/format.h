/*
 * train/run/format.h: the format of models and checkpoints, which are safetensors files with metadata.
 *
 *     1  no format_version. A model had no checksum, a checkpoint "format" 1 and one of its tensors alone, "checksum".
 *     2  "format_version" 2, and the checksums of ascgrad/safetensors.h over tensors and metadata, which other
 *        programs that save the file anew leave out.
 *
 * A version says which keys must be there. Others may stand beside them: the checksums cover them, readers that don't
 * know them pass over them. A key without which the file can't be understood makes a new version.
 */
#ifndef TRAIN_FORMAT_H
#define TRAIN_FORMAT_H

#include <ascgrad/safetensors.h>

#define ASC_FORMAT_KEY "format_version"
#define ASC_FORMAT "2"

/* Opens a model or checkpoint of any version. `own`: it lies in a run's folder, and must be no symbolic link. To be
 * closed with asc_safetensors_close. NULL with the error set: errors of asc_safetensors_open; ASC_ERR_FORMAT: a later
 * version, or one of the two checksums alone. */
asc_safetensors *asc_format_open(asc_ctx *ctx, const char *path, bool own);

/* The version of a file that asc_format_open opened; 1 for other programs' files. */
int asc_format_version(const asc_safetensors *file);

/* Tells the context's user where a file has no checksums. */
void asc_format_note(const asc_safetensors *file);

/* Reads all tensors, for nothing but their checksums. ASC_ERR_IO, ASC_ERR_FORMAT, ASC_ERR_MEMORY. */
asc_status asc_format_check_tensors(const asc_safetensors *file);

/* A value of the metadata as a number within [least, most], a real one within [0, most]; `nan`: or not a number. All of
 * the text, in the form that printf gives it, and no overflow. ASC_ERR_FORMAT: it is missing, or another text. */
asc_status asc_format_int(const asc_safetensors *file, const char *key, int64_t least, int64_t most, int64_t *value);
asc_status asc_format_real(const asc_safetensors *file, const char *key, double most, bool nan, double *value);

#endif
