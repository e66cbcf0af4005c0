/* train/run/lines.h: the lines of a metrics.jsonl as numbers with names. */
#ifndef TRAIN_RUN_LINES_H
#define TRAIN_RUN_LINES_H

#include "data/strings.h"

typedef struct asc_row_number {
    int32_t key;
    double value;
} asc_row_number;

typedef struct asc_run_lines {
    asc_ctx *ctx;
    asc_strings keys; /* each with the 0 at its end */
    void *numbers;    /* asc_row_number: row after row, in a row by key */
    size_t n_numbers, numbers_capacity;
    void *ends; /* size_t: where row i ends in the numbers */
    size_t n, ends_capacity;
} asc_run_lines;

/* Reads a file; one that isn't there has no rows. `rows` is to be freed in any case. ASC_ERR_IO; ASC_ERR_FORMAT, with
 * the line; ASC_ERR_MEMORY. */
asc_status asc_run_lines_read(asc_run_lines *rows, asc_ctx *ctx, const char *path);
void asc_run_lines_free(asc_run_lines *rows);

/* The number that a row has under a key; NaN where there is none. */
double asc_run_lines_value(const asc_run_lines *rows, size_t row, const char *key);

#endif
