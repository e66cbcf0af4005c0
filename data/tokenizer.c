/* data/tokenizer.c: tokenizers and decoders of any kind. */
#include "data/tokenizer.h"

#include <string.h>

#include "tensor/ctx.h"

static const asc_tokenizer_kind *const kinds[] = {&asc_tokenizer_word, &asc_tokenizer_byte, &asc_tokenizer_wordpiece};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* The kind whose name is the first `n` bytes of `name`; NULL if there is none. */
static const asc_tokenizer_kind *find_kind(const char *name, size_t n)
{
    for (int i = 0; i < N_KINDS; i++) {
        if (strlen(kinds[i]->name) == n && memcmp(kinds[i]->name, name, n) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

/* Refuses a name that is no kind's, and offers the nearest. */
static void refuse_name(asc_ctx *ctx, const char *name, const char *expected)
{
    const char *names[N_KINDS + 1] = {NULL};
    for (int i = 0; i < N_KINDS; i++) {
        names[i] = kinds[i]->name;
    }
    asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer", ": got '%s', expected %s; did you mean '%s'?", name, expected,
             asc_name_nearest(name, names));
}

/* A tokenizer with the vocabulary in `text`, whose name is `path`; without one if that is NULL. */
static asc_tokenizer *make(asc_ctx *ctx, const asc_tokenizer_kind *kind, const char *path, asc_text *text)
{
    asc_tokenizer *tokenizer = asc_alloc(ctx, sizeof *tokenizer);
    if (!tokenizer) {
        return NULL;
    }
    *tokenizer = (asc_tokenizer){.ctx = ctx, .kind = kind, .vocabulary.ctx = ctx, .unknown = -1, .eos = -1};
    if ((path && asc_strings_read(&tokenizer->vocabulary, text, path)) || kind->prepare(tokenizer, path)) {
        asc_tokenizer_free(tokenizer);
        return NULL;
    }
    return tokenizer;
}

/* The same with the vocabulary in a file. */
static asc_tokenizer *make_from_file(asc_ctx *ctx, const asc_tokenizer_kind *kind, const char *path)
{
    asc_text *text = path ? asc_text_open(ctx, path, 0) : NULL;
    asc_tokenizer *tokenizer = make(ctx, kind, path, text);
    asc_text_close(text);
    return tokenizer;
}

/* The kind of a vocabulary that was saved; NULL with the error set. */
static const asc_tokenizer_kind *saved_kind(asc_ctx *ctx, const char *name, const void *vocabulary)
{
    const asc_tokenizer_kind *kind = name ? find_kind(name, strlen(name)) : NULL;
    if (!kind) {
        refuse_name(ctx, name ? name : "", "word, byte or wordpiece");
    } else if (kind->has_vocabulary && !vocabulary) {
        asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer", ": no vocabulary file was given for %s", name);
        return NULL;
    }
    return kind;
}

asc_tokenizer *asc_tokenizer_new(asc_ctx *ctx, const char *spec)
{
    const char *colon = spec ? strchr(spec, ':') : NULL;
    const asc_tokenizer_kind *kind = spec ? find_kind(spec, colon ? (size_t)(colon - spec) : strlen(spec)) : NULL;
    static const char expected[] = "word, byte or wordpiece:VOCAB_FILE";
    if (!kind) {
        refuse_name(ctx, spec ? spec : "", expected);
        return NULL;
    }
    bool needs_file = kind == &asc_tokenizer_wordpiece;
    if (needs_file != (colon != NULL) || (colon && !colon[1])) {
        asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer", ": got '%s', expected %s", spec, expected);
        return NULL;
    }
    return make_from_file(ctx, kind, needs_file ? colon + 1 : NULL);
}

asc_tokenizer *asc_tokenizer_load(asc_ctx *ctx, const char *name, const char *path)
{
    const asc_tokenizer_kind *kind = saved_kind(ctx, name, path);
    return kind ? make_from_file(ctx, kind, kind->has_vocabulary ? path : NULL) : NULL;
}

asc_tokenizer *asc_tokenizer_parse(asc_ctx *ctx, const char *name, const char *source, const char *vocabulary,
                                   size_t bytes)
{
    const asc_tokenizer_kind *kind = saved_kind(ctx, name, vocabulary);
    if (!kind || !kind->has_vocabulary) {
        return kind ? make(ctx, kind, NULL, NULL) : NULL;
    }
    asc_text *text = asc_text_open_memory(ctx, source, vocabulary, bytes, 0);
    asc_tokenizer *tokenizer = make(ctx, kind, source, text);
    asc_text_close(text);
    return tokenizer;
}

void asc_tokenizer_free(asc_tokenizer *tokenizer)
{
    if (tokenizer) {
        asc_strings_free(&tokenizer->vocabulary);
        asc_free(tokenizer->ctx, tokenizer, sizeof *tokenizer);
    }
}

asc_status asc_tokenizer_save(const asc_tokenizer *tokenizer, const char *path)
{
    if (!tokenizer) {
        return ASC_ERR_ARG;
    }
    return tokenizer->kind->has_vocabulary ? asc_strings_save(&tokenizer->vocabulary, path) : ASC_OK;
}

asc_status asc_tokenizer_collect(asc_tokenizer *tokenizer, const char *text, size_t bytes)
{
    if (!tokenizer) {
        return ASC_ERR_ARG;
    }
    return tokenizer->kind->collect ? tokenizer->kind->collect(tokenizer, text, bytes) : ASC_OK;
}

asc_status asc_tokenizer_encode(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags,
                                asc_ids *ids)
{
    if (!tokenizer) {
        return ASC_ERR_ARG;
    }
    size_t n = ids->n;
    asc_status status = tokenizer->kind->encode(tokenizer, text, bytes, flags, ids);
    if (status) {
        ids->n = n;
    }
    return status;
}

const char *asc_tokenizer_name(const asc_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->kind->name : "";
}

int64_t asc_tokenizer_size(const asc_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->vocabulary.n : 0;
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
    *bytes = 0;
    if (id < 0 || id >= asc_tokenizer_size(tokenizer)) {
        return NULL;
    }
    return asc_strings_at(&tokenizer->vocabulary, id, bytes);
}

void asc_ids_free(asc_ctx *ctx, asc_ids *ids)
{
    asc_free(ctx, ids->data, ids->capacity * sizeof *ids->data);
    *ids = (asc_ids){NULL, 0, 0};
}

asc_status asc_ids_push(asc_ctx *ctx, asc_ids *ids, int32_t id)
{
    if (ids->n == ids->capacity) {
        void *array = ids->data;
        if (!asc_grow(ctx, &array, &ids->capacity, ids->n + 1, sizeof id)) {
            return ASC_ERR_MEMORY;
        }
        ids->data = array;
    }
    ids->data[ids->n++] = id;
    return ASC_OK;
}

/* ---- decoders ---- */

asc_decoder *asc_decoder_new(const asc_tokenizer *tokenizer)
{
    if (!tokenizer) {
        return NULL;
    }
    asc_decoder *decoder = asc_alloc(tokenizer->ctx, sizeof *decoder);
    if (!decoder) {
        return NULL;
    }
    *decoder = (asc_decoder){.tokenizer = tokenizer, .capacity = tokenizer->vocabulary.longest + ASC_DECODER_EXTRA};
    decoder->out = asc_alloc(tokenizer->ctx, decoder->capacity);
    if (!decoder->out) {
        asc_decoder_free(decoder);
        return NULL;
    }
    return decoder;
}

void asc_decoder_put(asc_decoder *decoder, const char *text, size_t bytes)
{
    memcpy(decoder->out + decoder->n, text, bytes);
    decoder->n += bytes;
}

const char *asc_decoder_next(asc_decoder *decoder, int32_t id, size_t *bytes)
{
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
    tokenizer->kind->decode(decoder, id, piece, n);
    *bytes = decoder->n;
    return decoder->out;
}

const char *asc_decoder_end(asc_decoder *decoder, size_t *bytes)
{
    *bytes = 0;
    if (!decoder) {
        return NULL;
    }
    decoder->n = 0;
    if (decoder->tokenizer->kind->finish) {
        decoder->tokenizer->kind->finish(decoder);
    }
    *bytes = decoder->n;
    decoder->before = 0;
    decoder->in_quotes = decoder->started = false;
    decoder->n_kept = 0;
    return decoder->out;
}

void asc_decoder_free(asc_decoder *decoder)
{
    if (decoder) {
        asc_ctx *ctx = decoder->tokenizer->ctx;
        asc_free(ctx, decoder->out, decoder->capacity);
        asc_free(ctx, decoder, sizeof *decoder);
    }
}
