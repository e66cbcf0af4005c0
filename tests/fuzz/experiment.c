/* tests/fuzz/experiment.c: an experiment's file, and the runs that it plans. */
#include "tests/fuzz/fuzz.h"

#include <program/experiment.h>

void fuzz_experiment(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    static const char *const scales[] = {NULL, "tiny", "small", "full"};
    const char *scale = n ? scales[data[n - 1] % 4] : NULL;
    asc_experiment *e = asc_experiment_read(ctx, fuzz_spill("experiment.json", data, n), scale);
    for (int i = 0; e && asc_experiment_run_at(e, i); i++) {
        asc_experiment_value(e, i, "lr");
    }
    asc_experiment_free(e);
}
