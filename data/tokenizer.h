/* data/tokenizer.h: what a kind of tokenizer gives, and what all have in common. */
#ifndef DATA_TOKENIZER_H
#define DATA_TOKENIZER_H

#include <ascgrad/data.h>

#include "data/strings.h"

typedef struct asc_tokenizer_kind {
    const char *name;
    bool has_vocabulary; /* one that differs, and so is saved and loaded */
    /* Fills an empty vocabulary, or checks the one that was loaded from `path`; sets unknown and eos. */
    asc_status (*prepare)(asc_tokenizer *tokenizer, const char *path);
    /* See asc_tokenizer_collect; NULL: the vocabulary is given. */
    asc_status (*collect)(asc_tokenizer *tokenizer, const char *text, size_t bytes);
    asc_status (*encode)(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags, asc_ids *ids);
    /* Appends what is to be printed for a piece to decoder->out: its length and ASC_DECODER_EXTRA bytes at most. */
    void (*decode)(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes);
    /* The same for what is kept back at the end; NULL: nothing ever is. */
    void (*finish)(asc_decoder *decoder);
} asc_tokenizer_kind;

struct asc_tokenizer {
    asc_ctx *ctx;
    const asc_tokenizer_kind *kind;
    asc_strings vocabulary;
    int32_t unknown, eos; /* -1: none */
};

enum { ASC_DECODER_EXTRA = 16 };

struct asc_decoder {
    const asc_tokenizer *tokenizer;
    char *out;
    size_t capacity, n;
    unsigned before; /* wordpiece: what the last piece means for the next, see there */
    bool in_quotes;  /* wordpiece: the last '"' opened */
    bool started;    /* word, wordpiece: something is on the line already */
    char kept[4];    /* byte: the start of a character */
    size_t n_kept;
};

extern const asc_tokenizer_kind asc_tokenizer_word, asc_tokenizer_byte, asc_tokenizer_wordpiece;

/* asc_tokenizer_load with flags for asc_text_open. */
asc_tokenizer *asc_tokenizer_load_with(asc_ctx *ctx, const char *name, const char *path, unsigned flags);

/* Appends one id; ASC_ERR_MEMORY. */
asc_status asc_ids_push(asc_ctx *ctx, asc_ids *ids, int32_t id);

/* Appends bytes to what the decoder prints. */
void asc_decoder_put(asc_decoder *decoder, const char *text, size_t bytes);

#endif
