/* tests/fuzz/run.c: a run's folder. A valid one is changed, and then read, looked at as a model, and resumed. An input
 * is a byte for the file, one for the kind of change (all of it, a pair of the metadata, bytes from a place on), two
 * for the pair or the place, and what to write. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/run_files.h"

static void overwrite(int file, size_t at, const uint8_t *data, size_t n)
{
    static const char *const names[FUZZ_FILES] = {"run/config.json", "run/vocab.txt", "run/metrics.jsonl",
                                                  "run/checkpoint.safetensors", "run/model.safetensors"};
    size_t size;
    uint8_t *bytes = fuzz_slurp(names[file], &size);
    at = size ? at % size : 0;
    memcpy(bytes + at, data, n < size - at ? n : size - at);
    fuzz_run_replace(file, bytes, size);
    free(bytes);
}

static bool two_steps(void *user, const asc_train_progress *progress)
{
    (void)progress;
    return ++*(int *)user < 4;
}

void fuzz_run(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    if (n < 4) {
        return;
    }
    int file = data[0] % FUZZ_FILES, calls = 0;
    fuzz_run_restore();
    if (data[1] % 3 == 0) {
        fuzz_run_replace(file, data + 4, n - 4);
    } else if (data[1] % 3 == 1 && file >= FUZZ_CHECKPOINT) {
        fuzz_run_metadata(file, data[2], data + 4, n - 4);
    } else {
        overwrite(file, (size_t)data[2] << 8 | data[3], data + 4, n - 4);
    }
    char run[200];
    snprintf(run, sizeof run, "%s", fuzz_path("run"));
    asc_run_free(asc_run_read(ctx, run));
    asc_error_clear(ctx);
    asc_model_free(ctx, asc_model_open(ctx, run, NULL, NULL));
    asc_error_clear(ctx);
    asc_train_resume(ctx, run, &(asc_train_hooks){.progress = two_steps, .user = &calls}, NULL);
}
