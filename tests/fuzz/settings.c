/* tests/fuzz/settings.c: a file of settings, as --config has it, and the model that it describes. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

void fuzz_settings(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    asc_settings *settings = asc_settings_new(ctx);
    asc_settings_load(settings, fuzz_spill("settings.json", data, n));
    asc_settings_free(settings);
    asc_error_clear(ctx);
    char *text = malloc(n + 1);
    memcpy(text, data, n);
    text[n] = '\0';
    asc_lm_free(asc_lm_new(ctx, text, ASC_F32, 1));
    free(text);
}
