/* data/gunzip.h: the bytes of a file, plain or gzip, one after another. */
#ifndef DATA_GUNZIP_H
#define DATA_GUNZIP_H

#include <ascgrad/base.h>

typedef struct asc_gunzip asc_gunzip;

/* Reads from fd, which it takes, also where it fails. `name` and *line, the lines that were read before, are for
 * messages; both must outlive it. New; NULL with ASC_ERR_MEMORY. */
asc_gunzip *asc_gunzip_new(asc_ctx *ctx, int fd, const char *name, const int64_t *line);

/* Up to n bytes into buffer, as soon as there are any; *got is how many, 0 at the end. ASC_ERR_IO; ASC_ERR_MEMORY;
 * ASC_ERR_FORMAT, with the line: gzip data that are cut short or damaged, or are followed by what is none. */
asc_status asc_gunzip_read(asc_gunzip *u, char *buffer, size_t n, size_t *got);

/* Whether a read of plain text would have to wait for a pipe or a terminal. */
bool asc_gunzip_waits(const asc_gunzip *u);

void asc_gunzip_free(asc_gunzip *u); /* NULL is accepted */

#endif
