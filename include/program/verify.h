/*
 * program/verify.h: whether runs and models are whole.
 */
#ifndef PROGRAM_VERIFY_H
#define PROGRAM_VERIFY_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was looked at. */
typedef struct asc_verified {
    const char *file;    /* its path */
    const char *problem; /* what does not hold; NULL: all does */
    int64_t tensors;     /* that were read, and their bytes; 0 of a file that has none */
    int64_t bytes;
    bool has_checksum; /* so that a changed bit would have been noticed */
} asc_verified;

/* Reads all of a RUN or MODEL, with checksums, and compares what its files say of each other: settings with what the
 * checkpoint was trained with, the vocabulary with its checksum, metrics with the checkpoint, model and vocabulary with
 * the configuration. `tell` is told of each file in turn; its text is lent. *problems: of how many something does not
 * hold. ASC_ERR_ARG: a NULL; ASC_ERR_IO: there is no such RUN or MODEL, or a file can't be read; ASC_ERR_MEMORY. */
ASC_API asc_status asc_verify(asc_ctx *ctx, const char *path, void (*tell)(void *user, const asc_verified *file),
                              void *user, int64_t *problems);

#ifdef __cplusplus
}
#endif
#endif
