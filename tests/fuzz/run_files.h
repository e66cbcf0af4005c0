/* tests/fuzz/run_files.h: a small run that is valid, and its files with changes. */
#ifndef TESTS_FUZZ_RUN_FILES_H
#define TESTS_FUZZ_RUN_FILES_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_CONFIG, FUZZ_VOCAB, FUZZ_METRICS, FUZZ_CHECKPOINT, FUZZ_MODEL, FUZZ_FILES };

/* Puts the run's files into the folder "run", as they were; makes them at the first call. */
void fuzz_run_restore(void);

/* Replaces one of them. */
void fuzz_run_replace(int file, const uint8_t *data, size_t n);

/* Writes the checkpoint or the model anew with another value for the metadata's pair number `pair`, and checksums that
 * fit. */
void fuzz_run_metadata(int file, int pair, const uint8_t *value, size_t n);

#endif
