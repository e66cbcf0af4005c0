/* tests/fuzz/text.c: a text, plain or gzip, cut by each tokenizer that needs no file. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

void fuzz_text(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    const char *spec = fuzz_spill("text.txt", data, n);
    static const char *const kinds[] = {"byte", "word"};
    for (int k = 0; k < 2; k++) {
        asc_dataset *text = asc_dataset_open(ctx, spec);
        asc_tokenizer *t = asc_tokenizer_new(ctx, kinds[k]);
        if (text && t && asc_dataset_collect(text, t) == ASC_OK) {
            asc_split_free(ctx, asc_split_load(text, ASC_SPLIT_TEST, t));
        }
        asc_tokenizer_free(t);
        asc_dataset_free(text);
        asc_error_clear(ctx);
    }
}
