/* data/tokenizer_word.c: a token is what stands between white space, or the end of a line. */
#include "data/tokenizer.h"

#include <string.h>

#include "data/utf8.h"

static const char UNKNOWN[] = "<unk>", EOS[] = "<eos>";

/* A new vocabulary starts with the two special tokens; one that was loaded has them anywhere. */
static asc_status prepare(asc_tokenizer *tokenizer, const char *path)
{
    asc_strings *words = &tokenizer->vocabulary;
    if (!path &&
        (asc_strings_add(words, UNKNOWN, strlen(UNKNOWN)) < 0 || asc_strings_add(words, EOS, strlen(EOS)) < 0)) {
        return ASC_ERR_MEMORY;
    }
    tokenizer->unknown = asc_strings_find(words, UNKNOWN, strlen(UNKNOWN));
    tokenizer->eos = asc_strings_find(words, EOS, strlen(EOS));
    if (tokenizer->unknown < 0 || tokenizer->eos < 0) {
        return asc_fail(tokenizer->ctx, ASC_ERR_FORMAT, "%s: there is no entry %s, expected a vocabulary of words",
                        path, tokenizer->unknown < 0 ? UNKNOWN : EOS);
    }
    return ASC_OK;
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
        if (n > 0 && asc_strings_add(&tokenizer->vocabulary, text + at, n) < 0) {
            return asc_error(tokenizer->ctx);
        }
        at += n;
    }
    return ASC_OK;
}

/* A word that spells <eos> ends no line: it is unknown. */
static int32_t word_id(const asc_tokenizer *tokenizer, const char *word, size_t n)
{
    int32_t id = asc_strings_find(&tokenizer->vocabulary, word, n);
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

static void decode(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes)
{
    if (id == decoder->tokenizer->eos) {
        asc_decoder_put(decoder, "\n", 1);
        decoder->started = false;
        return;
    }
    if (decoder->started) {
        asc_decoder_put(decoder, " ", 1);
    }
    asc_decoder_put(decoder, piece, bytes);
    decoder->started = true;
}

const asc_tokenizer_kind asc_tokenizer_word = {
    .name = "word",
    .has_vocabulary = true,
    .prepare = prepare,
    .collect = collect,
    .encode = encode,
    .decode = decode,
};
