/* data/vocabulary.c: what callers and kinds ask of a tokenizer that there is: its pieces, ids and text to ids. */
#include <ascgrad/corpus.h>
#include <string.h>

#include "data/strings.h"
#include "data/tokenizer.h"
#include "data/utf8.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

asc_status asc_tokenizer_collect(asc_tokenizer *tokenizer, const char *text, size_t bytes)
{
    asc_status status = ASC_NEED(tokenizer ? tokenizer->ctx : NULL, "tokenizer_collect: text",
                                 asc_unless_empty(text, bytes > 0));
    if (status) {
        return status;
    }
    const asc_tokenizer_kind *kind = tokenizer->kind;
    return !kind->collect ? ASC_OK
                          : asc_reason(tokenizer->ctx, kind->collect(tokenizer, text, bytes), kind->name, "collect");
}

bool asc_tokenizer_is_ready(const asc_tokenizer *tokenizer)
{
    return !tokenizer->kind->is_ready || tokenizer->kind->is_ready(tokenizer);
}

/* That ids from number `first` on are the vocabulary's. */
static asc_status check_ids(const asc_tokenizer *tokenizer, const asc_ids *ids, size_t first)
{
    int64_t size = asc_tokenizer_size(tokenizer);
    for (size_t i = first; i < ids->n; i++) {
        if (ids->data[i] < 0 || ids->data[i] >= size) {
            return asc_fail(tokenizer->ctx, ASC_ERR_ARG, "%s: its encode gave id %d, expected 0 to %lld",
                            tokenizer->kind->name, (int)ids->data[i], (long long)size - 1);
        }
    }
    return ASC_OK;
}

asc_status asc_tokenizer_encode(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags,
                                asc_ids *ids)
{
    asc_status status = ASC_NEED(tokenizer ? tokenizer->ctx : NULL, "tokenizer_encode: text ids",
                                 asc_unless_empty(text, bytes > 0), ids);
    if (status) {
        return status;
    }
    size_t n = ids->n;
    status = asc_reason(tokenizer->ctx, tokenizer->kind->encode(tokenizer, text, bytes, flags, ids),
                        tokenizer->kind->name, "encode");
    status = status ? status : check_ids(tokenizer, ids, n);
    if (status) {
        ids->n = n;
    }
    return status;
}

/* Whether a part of the word is unknown; false with the error set, too. */
static bool is_unknown(const asc_tokenizer *tokenizer, const char *word, size_t n)
{
    asc_ids ids = {0};
    bool found = false;
    asc_tokenizer_encode(tokenizer, word, n, 0, &ids);
    for (size_t i = 0; i < ids.n; i++) {
        found = found || ids.data[i] == tokenizer->unknown;
    }
    asc_ids_free(tokenizer->ctx, &ids);
    return found;
}

size_t asc_tokenizer_find_unknown(const asc_tokenizer *tokenizer, const char *text, size_t bytes, size_t *at)
{
    if (ASC_NEED(tokenizer ? tokenizer->ctx : NULL, "tokenizer_find_unknown: tokenizer text at", tokenizer,
                 asc_unless_empty(text, bytes > 0), at) || tokenizer->unknown < 0) {
        return 0;
    }
    while (*at < bytes && asc_error(tokenizer->ctx) == ASC_OK) {
        size_t n = 0;
        while (*at + n < bytes && !asc_utf8_space(text + *at + n, bytes - *at - n)) {
            n++;
        }
        if (n > 0 && is_unknown(tokenizer, text + *at, n)) {
            return n;
        }
        *at += n;
        *at += *at < bytes ? (size_t)asc_utf8_space(text + *at, bytes - *at) : 0;
    }
    return 0;
}

const char *asc_tokenizer_name(const asc_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->kind->name : "";
}

int64_t asc_tokenizer_size(const asc_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->vocabulary->n : 0;
}

int32_t asc_tokenizer_unknown(const asc_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->unknown : -1;
}

int32_t asc_tokenizer_eos(const asc_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->eos : -1;
}

const char *asc_tokenizer_piece(const asc_tokenizer *tokenizer, int32_t id, size_t *bytes)
{
    size_t unwanted;
    bytes = bytes ? bytes : &unwanted;
    *bytes = 0;
    if (id < 0 || id >= asc_tokenizer_size(tokenizer)) {
        return NULL;
    }
    return asc_strings_at(tokenizer->vocabulary, id, bytes);
}

/* ---- for kinds ---- */

int32_t asc_vocabulary_add(asc_tokenizer *tokenizer, const char *piece, size_t bytes)
{
    asc_status status = ASC_NEED(tokenizer ? tokenizer->ctx : NULL, "vocabulary_add: piece", piece);
    return status ? -1 : asc_strings_add(tokenizer->vocabulary, piece, bytes);
}

int32_t asc_vocabulary_find(const asc_tokenizer *tokenizer, const char *piece, size_t bytes)
{
    return tokenizer && piece ? asc_strings_find(tokenizer->vocabulary, piece, bytes) : -1;
}

asc_status asc_vocabulary_read(asc_tokenizer *tokenizer, asc_text *text, const char *name)
{
    return tokenizer ? asc_strings_read(tokenizer->vocabulary, text, name) : ASC_ERR_ARG;
}

asc_status asc_sink_put(asc_sink *sink, const void *bytes, size_t n)
{
    if (!sink || (n > 0 && !bytes)) {
        return ASC_ERR_ARG;
    }
    if (!asc_grow(sink->ctx, &sink->bytes, &sink->capacity, sink->n + n, 1)) {
        return ASC_ERR_MEMORY;
    }
    if (n > 0) {
        memcpy((char *)sink->bytes + sink->n, bytes, n);
    }
    sink->n += n;
    return ASC_OK;
}
