/* data/tokenizer_byte.c: a token is a byte. */
#include "data/tokenizer.h"

#include <string.h>

#include "data/utf8.h"

static asc_status prepare(asc_tokenizer *tokenizer, const char *path)
{
    (void)path;
    for (int i = 0; i < 256; i++) {
        char byte = (char)i;
        if (asc_strings_add(&tokenizer->vocabulary, &byte, 1) < 0) {
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

/* Prints the characters that are complete, U+FFFD for a byte with which none can start. */
static void print_kept(asc_decoder *decoder, bool at_end)
{
    size_t used = 0;
    while (used < decoder->n_kept) {
        int32_t code;
        int length = asc_utf8_next(decoder->kept + used, decoder->n_kept - used, &code);
        if (length == ASC_UTF8_CUT && !at_end) {
            break;
        }
        if (length > 0) {
            asc_decoder_put(decoder, decoder->kept + used, (size_t)length);
        } else {
            asc_decoder_put(decoder, "\xef\xbf\xbd", 3);
        }
        used += length > 0 ? (size_t)length : 1;
    }
    decoder->n_kept -= used;
    memmove(decoder->kept, decoder->kept + used, decoder->n_kept);
}

static void decode(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes)
{
    (void)id;
    (void)bytes;
    decoder->kept[decoder->n_kept++] = *piece;
    print_kept(decoder, false);
}

static void finish(asc_decoder *decoder)
{
    print_kept(decoder, true);
}

const asc_tokenizer_kind asc_tokenizer_byte = {
    .name = "byte",
    .prepare = prepare,
    .encode = encode,
    .decode = decode,
    .finish = finish,
};
