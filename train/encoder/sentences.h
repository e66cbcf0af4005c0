/* train/encoder/sentences.h: a list of sentences, and the order in which they are encoded. */
#ifndef TRAIN_SENTENCES_H
#define TRAIN_SENTENCES_H

#include <ascgrad/encoder.h>

struct asc_sentences {
    asc_ctx *ctx;
    const asc_tokenizer *tokenizer;
    int64_t max_tokens;
    int32_t cls, sep;
    asc_ids ids; /* of all sentences, one after another */
    int64_t n, capacity;
    int64_t *ends;    /* [capacity]: sentence i ends before ids.data[ends[i]] */
    int64_t *seconds; /* [capacity]: and its second text begins at so many tokens; its length: there is none */
    int64_t longest, cut;
};

/* asc_sentences_add_pair, in which each text keeps as many of its first tokens as it would by itself, where it had at
 * most `most` with [CLS] and [SEP]. */
asc_status asc_sentences_add_both(asc_sentences *sentences, const char *const text[2], const size_t bytes[2],
                                  int64_t most);

/* The distinct sentences, the shorter first, of one length by their tokens. */
typedef struct asc_sentence_order {
    int64_t n;       /* how many they are */
    int64_t all;     /* with those that are there several times */
    int64_t *at;     /* [all]: numbers of sentences, equal ones side by side */
    int64_t *starts; /* [n + 1]: distinct sentence d is at[starts[d]] … at[starts[d + 1] - 1] */
} asc_sentence_order;

/* In any case asc_sentence_order_free. ASC_ERR_MEMORY. */
asc_status asc_sentence_order_make(const asc_sentences *sentences, asc_sentence_order *order);
void asc_sentence_order_free(asc_ctx *ctx, asc_sentence_order *order);

/* Where sentence i begins in ids, and how many tokens it has. */
static inline int64_t asc_sentence_begin(const asc_sentences *s, int64_t i)
{
    return i > 0 ? s->ends[i - 1] : 0;
}
static inline int64_t asc_sentence_length(const asc_sentences *s, int64_t i)
{
    return s->ends[i] - asc_sentence_begin(s, i);
}

#endif
