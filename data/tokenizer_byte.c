/* data/tokenizer_byte.c: a token is a byte. */
#include <string.h>

#include <ascgrad/corpus.h>

#include "data/utf8.h"

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

/* The start of a character. */
typedef struct kept {
    char bytes[4];
    size_t n;
} kept;

/* Prints the characters that are complete, U+FFFD for a byte with which none can start. */
static asc_status print_kept(asc_decoder *decoder, bool at_end)
{
    kept *k = decoder->self;
    size_t used = 0;
    asc_status status = ASC_OK;
    while (used < k->n && !status) {
        int32_t code;
        int length = asc_utf8_next(k->bytes + used, k->n - used, &code);
        if (length == ASC_UTF8_CUT && !at_end) {
            break;
        }
        status = length > 0 ? asc_decoder_put(decoder, k->bytes + used, (size_t)length)
                            : asc_decoder_put(decoder, "\xef\xbf\xbd", 3);
        used += length > 0 ? (size_t)length : 1;
    }
    k->n -= used;
    memmove(k->bytes, k->bytes + used, k->n);
    return status;
}

static asc_status decode(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes)
{
    (void)id;
    (void)bytes;
    kept *k = decoder->self;
    k->bytes[k->n++] = *piece;
    return print_kept(decoder, false);
}

static asc_status finish(asc_decoder *decoder)
{
    return print_kept(decoder, true);
}

const asc_tokenizer_kind asc_tokenizer_byte = {
    .abi = ASC_CORPUS_ABI,
    .name = "byte",
    .decoder_size = sizeof(kept),
    .make = make,
    .encode = encode,
    .decode = decode,
    .finish = finish,
};
