/*
 * ascgrad/batches.h: a loop over batches of examples that are rows of tensors, shuffled anew each time round.
 *
 *     asc_tensor batch[2];
 *     asc_batches *batches = asc_batches_new(ctx, (asc_tensor[]){x, y}, 2, 64, seed);
 *     for (int epoch = 0; epoch < epochs; epoch++) {
 *         while (asc_batches_next(batches, batch)) {
 *             …
 *         }
 *     }
 */
#ifndef ASCGRAD_BATCHES_H
#define ASCGRAD_BATCHES_H

#include <ascgrad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_batches asc_batches;

/* Batches of `batch` rows, the last of a round of what is left, of n tensors (N, ...) of any dtype, contiguous, which
 * are kept. The order depends on the seed and the number of the round alone. New; NULL with the error set: ASC_ERR_ARG,
 * other tensors; ASC_ERR_MEMORY. */
ASC_API asc_batches *asc_batches_new(asc_ctx *ctx, const asc_tensor *tensors, int n, int64_t batch, uint64_t seed);
ASC_API void asc_batches_free(asc_batches *batches); /* before the context; NULL is accepted */

/* The next batch into out[n], in a new scope, which the next call ends, or asc_batches_free: what is made of a batch
 * goes with it. false, with null tensors and no scope, after the last batch of the round, the next call then being the
 * first of another; and with an error. ASC_ERR_STATE, here and in asc_batches_free, which ends no scope then: one that
 * was begun after the batch has not ended, or one begun before it was to be ended before it. */
ASC_API bool asc_batches_next(asc_batches *batches, asc_tensor *out);

#ifdef __cplusplus
}
#endif
#endif
