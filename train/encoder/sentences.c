/* train/encoder/sentences.c: sentences as lists of tokens. */
#include "train/encoder/sentences.h"

#include <stdlib.h>
#include <string.h>

#include <ascgrad/corpus.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

enum { MARKS = 2 /* [CLS] and [SEP] */ };

static int32_t find_mark(asc_ctx *ctx, const asc_tokenizer *tokenizer, const char *mark)
{
    int32_t id = asc_vocabulary_find(tokenizer, mark, strlen(mark));
    if (id < 0) {
        asc_fail(ctx, ASC_ERR_ARG, "sentences: the vocabulary has no entry %s", mark);
    }
    return id;
}

asc_sentences *asc_sentences_new(asc_ctx *ctx, const asc_tokenizer *tokenizer, int64_t max_tokens)
{
    if (ASC_NEED(ctx, "sentences_new: tokenizer", tokenizer) || asc_error(ctx)) {
        return NULL;
    }
    if (max_tokens < MARKS) {
        asc_fail_on(ctx, ASC_ERR_ARG, "max_tokens", " is %lld, expected at least %d, [CLS] and [SEP]",
                    (long long)max_tokens, MARKS);
        return NULL;
    }
    int32_t cls = find_mark(ctx, tokenizer, "[CLS]"), sep = cls < 0 ? -1 : find_mark(ctx, tokenizer, "[SEP]");
    asc_sentences *s = sep < 0 ? NULL : asc_alloc(ctx, sizeof *s);
    if (s) {
        *s = (asc_sentences){.ctx = ctx, .tokenizer = tokenizer, .max_tokens = max_tokens, .cls = cls, .sep = sep};
    }
    return s;
}

void asc_sentences_free(asc_sentences *s)
{
    if (s) {
        asc_ids_free(s->ctx, &s->ids);
        asc_free(s->ctx, s->ends, (size_t)s->capacity * sizeof *s->ends);
        asc_free(s->ctx, s->seconds, (size_t)s->capacity * sizeof *s->seconds);
        asc_free(s->ctx, s, sizeof *s);
    }
}

/* ---- adding ---- */

static asc_status make_room(asc_sentences *s)
{
    if (s->n < s->capacity) {
        return ASC_OK;
    }
    int64_t capacity = s->capacity ? 2 * s->capacity : 256;
    size_t bytes = (size_t)capacity * sizeof *s->ends, used = (size_t)s->n * sizeof *s->ends;
    int64_t *ends = asc_alloc(s->ctx, bytes), *seconds = ends ? asc_alloc(s->ctx, bytes) : NULL;
    if (!seconds) {
        asc_free(s->ctx, ends, bytes);
        return ASC_ERR_MEMORY;
    }
    if (used > 0) {
        memcpy(ends, s->ends, used);
        memcpy(seconds, s->seconds, used);
    }
    asc_free(s->ctx, s->ends, (size_t)s->capacity * sizeof *s->ends);
    asc_free(s->ctx, s->seconds, (size_t)s->capacity * sizeof *s->seconds);
    s->ends = ends;
    s->seconds = seconds;
    s->capacity = capacity;
    return ASC_OK;
}

/* Appends the tokens of a text; *n of them. */
static asc_status append(asc_sentences *s, const char *text, size_t bytes, int64_t *n)
{
    size_t before = s->ids.n;
    asc_status status = asc_tokenizer_encode(s->tokenizer, text, bytes, 0, &s->ids);
    *n = (int64_t)(s->ids.n - before);
    return status;
}

/* What was appended from `begin` on is the next sentence. */
static asc_status complete(asc_sentences *s, int64_t begin, int64_t second, bool cut, asc_status status)
{
    if (status || (status = asc_ids_push(s->ctx, &s->ids, s->sep)) || (status = make_room(s))) {
        s->ids.n = (size_t)begin;
        return status;
    }
    int64_t length = (int64_t)s->ids.n - begin;
    s->seconds[s->n] = second > 0 ? second : length;
    s->ends[s->n++] = (int64_t)s->ids.n;
    s->longest = length > s->longest ? length : s->longest;
    s->cut += cut;
    return ASC_OK;
}

asc_status asc_sentences_add(asc_sentences *s, const char *text, size_t bytes)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "sentences_add: text", asc_unless_empty(text, bytes > 0));
    if (status) {
        return status;
    }
    int64_t begin = (int64_t)s->ids.n, n = 0;
    if (!(status = asc_ids_push(s->ctx, &s->ids, s->cls))) {
        status = append(s, text, bytes, &n);
    }
    bool cut = n > s->max_tokens - MARKS;
    if (cut) {
        s->ids.n = (size_t)(begin + s->max_tokens - 1);
    }
    return complete(s, begin, 0, cut, status);
}

/* Two texts as one sentence, of each at most `each` tokens. */
static asc_status add_two(asc_sentences *s, const char *const text[2], const size_t bytes[2], int64_t each)
{
    asc_status status;
    int64_t begin = (int64_t)s->ids.n, a = 0, b = 0;
    if (!(status = asc_ids_push(s->ctx, &s->ids, s->cls)) && !(status = append(s, text[0], bytes[0], &a)) &&
        !(status = asc_ids_push(s->ctx, &s->ids, s->sep))) {
        status = append(s, text[1], bytes[1], &b);
    }
    int64_t most = s->max_tokens - MARKS - 1, kept_a = a < each ? a : each, kept_b = b < each ? b : each;
    while (kept_a + kept_b > most) {
        *(kept_a > kept_b ? &kept_a : &kept_b) -= 1;
    }
    if (!status && kept_a + kept_b < a + b) {
        int32_t *ids = s->ids.data + begin + 1;                             /* behind [CLS] */
        memmove(ids + kept_a, ids + a, (size_t)(kept_b + 1) * sizeof *ids); /* [SEP] and the second */
        s->ids.n = (size_t)(begin + 1 + kept_a + 1 + kept_b);
    }
    return complete(s, begin, kept_a + MARKS, kept_a + kept_b < a + b, status);
}

asc_status asc_sentences_add_pair(asc_sentences *s, const char *first, size_t first_bytes, const char *second,
                                  size_t second_bytes)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "sentences_add_pair: first second",
                                 asc_unless_empty(first, first_bytes > 0), asc_unless_empty(second, second_bytes > 0));
    if (status) {
        return status;
    }
    if (s->max_tokens <= MARKS) {
        return asc_fail_on(s->ctx, ASC_ERR_ARG, "max_tokens", " is %lld, expected at least %d for a pair",
                           (long long)s->max_tokens, MARKS + 1);
    }
    return add_two(s, (const char *const[]){first, second}, (const size_t[]){first_bytes, second_bytes}, INT64_MAX);
}

asc_status asc_sentences_add_both(asc_sentences *s, const char *const text[2], const size_t bytes[2], int64_t most)
{
    return add_two(s, text, bytes, most - MARKS);
}

/* ---- asking ---- */

int64_t asc_sentences_count(const asc_sentences *s)
{
    return s ? s->n : 0;
}

int64_t asc_sentences_total(const asc_sentences *s)
{
    return s ? (int64_t)s->ids.n : 0;
}

int64_t asc_sentences_longest(const asc_sentences *s)
{
    return s ? s->longest : 0;
}

int64_t asc_sentences_cut(const asc_sentences *s)
{
    return s ? s->cut : 0;
}

const int32_t *asc_sentences_at(const asc_sentences *s, int64_t i, int64_t *n, int64_t *second)
{
    bool there = s && i >= 0 && i < s->n;
    if (n) {
        *n = there ? asc_sentence_length(s, i) : 0;
    }
    if (second) {
        *second = there ? s->seconds[i] : 0;
    }
    return there ? s->ids.data + asc_sentence_begin(s, i) : NULL;
}

asc_status asc_sentences_fill(const asc_sentences *s, const int64_t *which, int64_t n, int64_t T, int64_t *tokens,
                              int64_t *types, int64_t *lengths)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "sentences_fill: which tokens lengths", asc_unless_empty(which, n),
                                 asc_unless_empty(tokens, n), asc_unless_empty(lengths, n));
    for (int64_t row = 0; row < n && !status; row++) {
        int64_t length, second;
        const int32_t *ids = asc_sentences_at(s, which[row], &length, &second);
        if (!ids || length > T) {
            return asc_fail(s->ctx, ASC_ERR_ARG,
                            ids ? "sentences_fill: sentence %lld has more than %lld tokens"
                                : "sentences_fill: there is no sentence %lld of %lld",
                            (long long)which[row], (long long)(ids ? T : s->n));
        }
        for (int64_t t = 0; t < T; t++) {
            tokens[row * T + t] = t < length ? ids[t] : 0;
            if (types) {
                types[row * T + t] = t >= second && t < length;
            }
        }
        lengths[row] = length;
    }
    return status;
}
