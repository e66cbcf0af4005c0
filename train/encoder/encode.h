/* train/encoder/encode.h: distinct sentences through an encoder, batch by batch. */
#ifndef TRAIN_ENCODE_H
#define TRAIN_ENCODE_H

#include "train/encoder/encoder.h"
#include "train/encoder/sentences.h"

/* The first sentence of those that are equal: what they are encoded as. */
static inline int64_t asc_distinct(const asc_sentence_order *order, int64_t d)
{
    return order->at[order->starts[d]];
}

/* How many rows are kept of a sentence whose second text begins at token `second`; tokens: it has none. */
static inline int64_t asc_pooled_rows(const asc_pooling_options *p, int64_t tokens, int64_t second)
{
    return p->by_text && p->kind == ASC_POOLING_WINDOWS
               ? asc_pooling_rows(p, second) + asc_pooling_rows(p, tokens - second)
               : asc_pooling_rows(p, tokens);
}

/* What asc_encoder_encode refuses: sentences that are too long, a wrong pooling. */
asc_status asc_encode_check(const asc_encoder *e, const asc_sentences *s, asc_pooling_options *pooling);

/* Encodes the distinct sentences from … to-1, and gives each to `take` by its number among the distinct ones. */
asc_status asc_encode_distinct(asc_encoder *e, const asc_sentences *s, const asc_sentence_order *order, int64_t from,
                               int64_t to, const asc_pooling_options *pooling, asc_encoded_fn *take, void *user);

#endif
