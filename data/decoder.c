/* data/decoder.c: ids back to text, one by one, for tokenizers of any kind. */
#include <string.h>

#include <ascgrad/corpus.h>

#include "data/decoder.h"
#include "data/strings.h"
#include "data/utf8.h"
#include "tensor/ctx.h"

enum { EXTRA = 16 }; /* bytes beside the longest piece: a space, what was kept back */

asc_decoder *asc_decoder_new(const asc_tokenizer *tokenizer)
{
    if (!tokenizer) {
        return NULL;
    }
    asc_ctx *ctx = tokenizer->ctx;
    asc_decoder *decoder = asc_alloc(ctx, sizeof *decoder);
    if (!decoder) {
        return NULL;
    }
    *decoder = (asc_decoder){.tokenizer = tokenizer, .capacity = tokenizer->vocabulary->longest + EXTRA};
    decoder->self = asc_alloc(ctx, tokenizer->kind->decoder_size);
    decoder->out = asc_alloc(ctx, decoder->capacity);
    if (!decoder->out || !decoder->self) {
        asc_decoder_free(decoder);
        return NULL;
    }
    memset(decoder->self, 0, tokenizer->kind->decoder_size);
    return decoder;
}

asc_status asc_decoder_put(asc_decoder *decoder, const char *text, size_t bytes)
{
    if (!decoder || !text) {
        return ASC_ERR_ARG;
    }
    if (!asc_grow(decoder->tokenizer->ctx, &decoder->out, &decoder->capacity, decoder->n + bytes, 1)) {
        return ASC_ERR_MEMORY;
    }
    memcpy(decoder->out + decoder->n, text, bytes);
    decoder->n += bytes;
    return ASC_OK;
}

const char *asc_decoder_next(asc_decoder *decoder, int32_t id, size_t *bytes)
{
    size_t unwanted;
    bytes = bytes ? bytes : &unwanted;
    *bytes = 0;
    if (!decoder) {
        return NULL;
    }
    const asc_tokenizer *tokenizer = decoder->tokenizer;
    size_t n;
    const char *piece = asc_tokenizer_piece(tokenizer, id, &n);
    if (!piece) {
        asc_fail(tokenizer->ctx, ASC_ERR_ARG, "decoder: id %d, expected 0 … %lld", (int)id,
                 (long long)asc_tokenizer_size(tokenizer) - 1);
        return NULL;
    }
    decoder->n = 0;
    if (asc_reason(tokenizer->ctx, tokenizer->kind->decode(decoder, id, piece, n), tokenizer->kind->name, "decode")) {
        return NULL;
    }
    *bytes = decoder->n;
    return decoder->out;
}

const char *asc_decoder_end(asc_decoder *decoder, size_t *bytes)
{
    size_t unwanted;
    bytes = bytes ? bytes : &unwanted;
    *bytes = 0;
    if (!decoder) {
        return NULL;
    }
    const asc_tokenizer_kind *kind = decoder->tokenizer->kind;
    decoder->n = 0;
    asc_status status = kind->finish ? kind->finish(decoder) : ASC_OK;
    asc_reason(decoder->tokenizer->ctx, status, kind->name, "finish");
    memset(decoder->self, 0, kind->decoder_size);
    *bytes = status ? 0 : decoder->n;
    return status ? NULL : decoder->out;
}

void asc_decoder_free(asc_decoder *decoder)
{
    if (decoder) {
        asc_ctx *ctx = decoder->tokenizer->ctx;
        asc_free(ctx, decoder->out, decoder->capacity);
        asc_free(ctx, decoder->self, decoder->tokenizer->kind->decoder_size);
        asc_free(ctx, decoder, sizeof *decoder);
    }
}

/* ---- bytes ---- */

static asc_status print_kept(asc_decoder *decoder, bool at_end)
{
    asc_decoder_kept *k = decoder->self;
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

asc_status asc_decoder_put_bytes(asc_decoder *decoder, const char *bytes, size_t n)
{
    asc_decoder_kept *k = decoder->self;
    asc_status status = ASC_OK;
    for (size_t i = 0; i < n && !status; i++) {
        k->bytes[k->n++] = bytes[i];
        status = print_kept(decoder, false);
    }
    return status;
}

asc_status asc_decoder_end_bytes(asc_decoder *decoder)
{
    return print_kept(decoder, true);
}
