/* data/tokenizer.h: vocabularies that are read and written. */
#ifndef DATA_TOKENIZER_H
#define DATA_TOKENIZER_H

#include <ascgrad/corpus.h>

/* asc_tokenizer_load with flags for asc_text_open. */
asc_tokenizer *asc_tokenizer_load_with(asc_ctx *ctx, const char *name, const char *path, unsigned flags);

/* vocabulary.c: whether it can encode. */
bool asc_tokenizer_is_ready(const asc_tokenizer *tokenizer);

/* Where a vocabulary is written to: memory that grows. */
struct asc_sink {
    asc_ctx *ctx;
    void *bytes;
    size_t n, capacity;
};

#endif
