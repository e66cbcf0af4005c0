/* train/batch.h: what a pass is run on. */
#ifndef TRAIN_BATCH_H
#define TRAIN_BATCH_H

#include <ascgrad/encoder.h>
#include <ascgrad/nn.h>

/* x: tokens i64 (B, N), or of pairs of encoded sentences the states of their windows (B, N, E). y: the next tokens
 * (B, N); of a classifier the classes (B), and in lengths what of x counts, (B), or of pairs of each sentence, (B,
 * 2). */
typedef struct asc_batch {
    asc_tensor x, y, lengths; /* lengths null: all */
} asc_batch;

/* Where batches come from: blocks of a split, of a stream `block` tokens long; with the features of its sentences where
 * the model takes states. */
typedef struct asc_batch_source {
    asc_ctx *ctx;
    const asc_lm *lm;
    const asc_split *split;
    const asc_features *features; /* 2s and 2s + 1 are the sentences of pair s; or NULL */
    int64_t block;
} asc_batch_source;

/* The blocks which[0 … n-1], as new tensors. ASC_ERR_ARG, ASC_ERR_MEMORY; ASC_ERR_IO: features can't be read. */
asc_status asc_batch_make(const asc_batch_source *s, const int32_t *which, int64_t n, asc_batch *batch);

/* The rows of x that a block takes by itself: tokens, or windows of them. */
int64_t asc_batch_rows(const asc_batch_source *s, int32_t which);

#endif
