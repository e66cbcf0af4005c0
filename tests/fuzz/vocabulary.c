/* tests/fuzz/vocabulary.c: vocabularies of words and of WordPiece, which then cut a text and put it together again. */
#include "tests/fuzz/fuzz.h"

void fuzz_vocabulary(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    static const char *const kinds[] = {"word", "wordpiece", "wordpiece-cased", "byte"};
    static const char text[] = "The cat, caf\xc3\xa9 \xe4\xb8\xad sat un-affable [MASK] [CLS]\n";
    asc_tokenizer *t = n ? asc_tokenizer_load(ctx, kinds[*data % 4], fuzz_spill("vocab.txt", data + 1, n - 1)) : NULL;
    asc_ids ids = {0};
    if (t && asc_tokenizer_encode(t, text, sizeof text - 1, 0, &ids) == ASC_OK) {
        asc_decoder *decoder = asc_decoder_new(t);
        size_t bytes;
        for (size_t i = 0; i < ids.n; i++) {
            asc_decoder_next(decoder, ids.data[i], &bytes);
        }
        asc_decoder_end(decoder, &bytes);
        asc_decoder_free(decoder);
    }
    asc_ids_free(ctx, &ids);
    asc_tokenizer_free(t);
}
