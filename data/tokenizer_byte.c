/* data/tokenizer_byte.c: a token is a byte. */
#include <ascgrad/corpus.h>

#include "data/decoder.h"

static asc_status make(asc_tokenizer *tokenizer, const char *argument)
{
    (void)argument; /* there is none */
    for (int i = 0; i < 256; i++) {
        char byte = (char)i;
        if (asc_vocabulary_add(tokenizer, &byte, 1) < 0) {
            return ASC_ERR_MEMORY;
        }
    }
    return ASC_OK;
}

static asc_status encode(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags, asc_ids *ids)
{
    (void)flags;
    asc_status status = ASC_OK;
    for (size_t i = 0; i < bytes && !status; i++) {
        status = asc_ids_push(tokenizer->ctx, ids, (unsigned char)text[i]);
    }
    return status;
}

static asc_status decode(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes)
{
    (void)id;
    return asc_decoder_put_bytes(decoder, piece, bytes);
}

const asc_tokenizer_kind asc_tokenizer_byte = {
    .abi = ASC_CORPUS_ABI,
    .name = "byte",
    .decoder_size = sizeof(asc_decoder_kept),
    .make = make,
    .encode = encode,
    .decode = decode,
    .finish = asc_decoder_end_bytes,
};
