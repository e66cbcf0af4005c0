/* tests/fuzz/metrics.c: a run's metrics.jsonl, as `runs` and `plot` read it. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#include "tests/fuzz/run_files.h"

void fuzz_metrics(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    static bool there;
    if (!there) {
        fuzz_run_restore();
    }
    there = true;
    fuzz_run_replace(FUZZ_METRICS, data, n);
    char run[200];
    snprintf(run, sizeof run, "%s", fuzz_path("run"));
    asc_run *r = asc_run_read(ctx, run);
    const char *key;
    for (int i = 0; r && (key = asc_run_key_at(r, i)); i++) {
        asc_run_value(r, 0, key);
    }
    asc_run_free(r);
}
