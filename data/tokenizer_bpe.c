/* data/tokenizer_bpe.c: byte-level byte-pair encoding from a tokenizer.json. */
#include <stdlib.h>
#include <string.h>

#include <ascgrad/corpus.h>

#include "data/bpe.h"
#include "data/decoder.h"
#include "tensor/ctx.h"

/* Takes the text of a tokenizer.json. */
static asc_status take(asc_tokenizer *tokenizer, const char *name, const char *text, size_t bytes)
{
    asc_bpe *b = tokenizer->self;
    *b = (asc_bpe){.ctx = tokenizer->ctx, .vocabulary = tokenizer->vocabulary, .merges = {.ctx = tokenizer->ctx}};
    asc_status status = asc_bpe_parse(b, name, text, bytes);
    return status ? status : asc_bpe_begin(b);
}

static asc_status load(asc_tokenizer *tokenizer, asc_text *text, const char *name)
{
    void *all = NULL;
    size_t n = 0, capacity = 0, bytes;
    const char *line;
    asc_status status = text ? ASC_OK : asc_error(tokenizer->ctx);
    while (!status && !(status = asc_text_next(text, &line, &bytes)) && line) {
        if (!asc_grow(tokenizer->ctx, &all, &capacity, n + bytes, 1)) {
            status = ASC_ERR_MEMORY;
            break;
        }
        memcpy((char *)all + n, line, bytes);
        n += bytes;
    }
    status = status ? status : take(tokenizer, name, all ? all : "", n);
    asc_free(tokenizer->ctx, all, capacity);
    return status;
}

static asc_status make(asc_tokenizer *tokenizer, const char *path)
{
    asc_text *text = asc_text_open(tokenizer->ctx, path, 0);
    asc_status status = load(tokenizer, text, path);
    asc_text_close(text);
    return status;
}

static asc_status save(const asc_tokenizer *tokenizer, asc_sink *sink)
{
    char *text = asc_bpe_text(tokenizer->self);
    asc_status status = text ? asc_sink_put(sink, text, strlen(text)) : asc_error(tokenizer->ctx);
    free(text);
    return status;
}

static asc_status encode(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags, asc_ids *ids)
{
    (void)flags;
    return asc_bpe_encode(tokenizer->self, text, bytes, ids);
}

static asc_status decode(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes)
{
    (void)id;
    return asc_decoder_put_bytes(decoder, piece, bytes);
}

static void clear(asc_tokenizer *tokenizer)
{
    asc_bpe *b = tokenizer->self;
    if (b->ctx) {
        asc_bpe_free(b);
    }
}

const asc_tokenizer_kind asc_tokenizer_bpe = {
    .abi = ASC_CORPUS_ABI,
    .name = "bpe",
    .argument = "TOKENIZER_JSON",
    .is_path = true,
    .has_vocabulary = true,
    .size = sizeof(asc_bpe),
    .decoder_size = sizeof(asc_decoder_kept),
    .make = make,
    .load = load,
    .save = save,
    .encode = encode,
    .decode = decode,
    .finish = asc_decoder_end_bytes,
    .clear = clear,
};
