/* tests/fuzz/bpe.c: a byte-level BPE in Hugging Face's tokenizer.json, which then cuts its own text. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

void fuzz_bpe(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    char spec[240];
    snprintf(spec, sizeof spec, "bpe:%s", fuzz_spill("tokenizer.json", data, n));
    asc_tokenizer *t = asc_tokenizer_new(ctx, spec);
    asc_ids ids = {0};
    if (t) {
        asc_tokenizer_encode(t, (const char *)data, n < 2000 ? n : 2000, 0, &ids);
        asc_tokenizer_save(t, fuzz_path("saved"));
    }
    asc_ids_free(ctx, &ids);
    asc_tokenizer_free(t);
}
