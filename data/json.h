/*
 * data/json.h: JSON from files that anyone may have written: what is no file of a sensible size, or would become more
 * values than such a file holds, is refused before memory is taken for it.
 */
#ifndef DATA_JSON_H
#define DATA_JSON_H

#include <ascgrad/base.h>
#include <jansson.h>

/* Values of one text, more than real files have: a tokenizer of 256,000 tokens and 600,000 merges is 2.5 million,
 * a model of 90,000 tensors 0.8 million. A value takes jansson some 30 to 100 bytes. */
enum { ASC_JSON_TOKENIZER = 8000000, ASC_JSON_TENSORS = 2000000, ASC_JSON_RECORD = 1000000 };

/* json_loadb of at most `most` values; *where tells that it is more, too. A byte order mark is no part of the text. */
json_t *asc_json_parse(const char *text, size_t n, int64_t most, size_t flags, json_error_t *where);

/* Frees a text that jansson made. */
void asc_text_drop(char *text);

/* Reads a file that holds a JSON object, of at most 4 MiB. `own`: it lies in a run's folder, and must be a regular
 * file; else it may be a link, or a pipe that has a writer. New; NULL with the error set: ASC_ERR_IO,
 * ASC_ERR_FORMAT. */
json_t *asc_json_read(asc_ctx *ctx, const char *path, bool own);
/* The same of a regular file, or a link to one, with jansson's flags. */
json_t *asc_json_read_as(asc_ctx *ctx, const char *path, size_t flags);

/* Writes an object or a list, which it takes, as a file (asc_file_write_atomic) of lines for people, numbers with so
 * many digits. NULL, as either, stands for what there was no memory for. ASC_ERR_IO, ASC_ERR_MEMORY; with an error that
 * stands nothing is written. */
asc_status asc_json_write(asc_ctx *ctx, const char *path, json_t *value, size_t digits);

#endif
