/* data/tokenizer_word.c: a token is what stands between white space, or the end of a line. */
#include <string.h>

#include <ascgrad/corpus.h>

#include "data/utf8.h"

static const char UNKNOWN[] = "<unk>", EOS[] = "<eos>";

enum { SPECIAL = 2 };

/* A new vocabulary starts with the two special tokens. */
static asc_status make(asc_tokenizer *tokenizer, const char *argument)
{
    (void)argument; /* there is none */
    tokenizer->unknown = asc_vocabulary_add(tokenizer, UNKNOWN, strlen(UNKNOWN));
    tokenizer->eos = asc_vocabulary_add(tokenizer, EOS, strlen(EOS));
    return tokenizer->unknown < 0 || tokenizer->eos < 0 ? ASC_ERR_MEMORY : ASC_OK;
}

/* One that is loaded has them anywhere. */
static asc_status load(asc_tokenizer *tokenizer, asc_text *text, const char *name)
{
    asc_status status = asc_vocabulary_read(tokenizer, text, name);
    if (status) {
        return status;
    }
    tokenizer->unknown = asc_vocabulary_find(tokenizer, UNKNOWN, strlen(UNKNOWN));
    tokenizer->eos = asc_vocabulary_find(tokenizer, EOS, strlen(EOS));
    if (tokenizer->unknown < 0 || tokenizer->eos < 0) {
        return asc_fail(tokenizer->ctx, ASC_ERR_FORMAT, "%s: there is no entry %s, expected a vocabulary of words",
                        name, tokenizer->unknown < 0 ? UNKNOWN : EOS);
    }
    return ASC_OK;
}

static bool is_ready(const asc_tokenizer *tokenizer)
{
    return asc_tokenizer_size(tokenizer) > SPECIAL;
}

/* Finds the word that starts at or after *at: its length, with *at where it starts; 0 at the end of the text or, with
 * *at behind it, at the end of a line, which *line_end tells. */
static size_t next_word(const char *text, size_t bytes, size_t *at, bool *line_end)
{
    int space;
    *line_end = false;
    while (*at < bytes && (space = asc_utf8_space(text + *at, bytes - *at)) > 0) {
        *line_end = text[*at] == '\n';
        *at += (size_t)space;
        if (*line_end) {
            return 0;
        }
    }
    size_t end = *at;
    while (end < bytes && !asc_utf8_space(text + end, bytes - end)) {
        end++;
    }
    return end - *at;
}

static asc_status collect(asc_tokenizer *tokenizer, const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        bool line_end;
        size_t n = next_word(text, bytes, &at, &line_end);
        if (n > 0 && asc_vocabulary_add(tokenizer, text + at, n) < 0) {
            return asc_error(tokenizer->ctx);
        }
        at += n;
    }
    return ASC_OK;
}

/* A word that spells <eos> ends no line: it is unknown. */
static int32_t word_id(const asc_tokenizer *tokenizer, const char *word, size_t n)
{
    int32_t id = asc_vocabulary_find(tokenizer, word, n);
    return id < 0 || id == tokenizer->eos ? tokenizer->unknown : id;
}

static asc_status encode(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags, asc_ids *ids)
{
    size_t at = 0;
    bool line_end = true;
    asc_status status = ASC_OK;
    while (at < bytes && !status) {
        size_t n = next_word(text, bytes, &at, &line_end);
        if (n > 0 || line_end) {
            status = asc_ids_push(tokenizer->ctx, ids, n > 0 ? word_id(tokenizer, text + at, n) : tokenizer->eos);
        }
        at += n;
    }
    if (!status && !line_end && flags & ASC_ENCODE_CORPUS) {
        status = asc_ids_push(tokenizer->ctx, ids, tokenizer->eos);
    }
    return status;
}

/* Whether something is on the line already. */
typedef struct line {
    bool started;
} line;

static asc_status decode(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes)
{
    line *l = decoder->self;
    if (id == decoder->tokenizer->eos) {
        l->started = false;
        return asc_decoder_put(decoder, "\n", 1);
    }
    asc_status status = l->started ? asc_decoder_put(decoder, " ", 1) : ASC_OK;
    l->started = true;
    return status ? status : asc_decoder_put(decoder, piece, bytes);
}

const asc_tokenizer_kind asc_tokenizer_word = {
    .abi = ASC_CORPUS_ABI,
    .name = "word",
    .has_vocabulary = true,
    .decoder_size = sizeof(line),
    .make = make,
    .load = load,
    .encode = encode,
    .decode = decode,
    .collect = collect,
    .is_ready = is_ready,
};
