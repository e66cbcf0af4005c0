/* tests/fuzz/model.c: a MODEL by itself, which then writes a few tokens. The first byte 0: the rest is the file; else
 * it is the value of that pair of a valid model's metadata. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#include "tests/fuzz/run_files.h"

static bool three(void *user, int32_t id)
{
    (void)id;
    return ++*(int *)user < 3;
}

void fuzz_model(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    if (n == 0) {
        return;
    }
    char path[200];
    int tokens = 0;
    if (*data == 0) {
        snprintf(path, sizeof path, "%s", fuzz_spill("alone.safetensors", data + 1, n - 1));
    } else {
        fuzz_run_restore();
        fuzz_run_metadata(FUZZ_MODEL, *data - 1, data + 1, n - 1);
        snprintf(path, sizeof path, "%s", fuzz_path("run/model.safetensors"));
    }
    asc_model *model = asc_model_open(ctx, path, NULL, NULL);
    if (model) {
        asc_generate(ctx, model, &(int32_t){0}, 1, 3, &(asc_sampling){.temperature = 1}, three, &tokens);
    }
    asc_model_free(ctx, model);
}
