/* train/swarm.h: what ASCender layers' scalars are while they are trained, for metrics.jsonl. */
#ifndef TRAIN_SWARM_H
#define TRAIN_SWARM_H

#include <ascgrad/train.h>
#include <jansson.h>

/* {"omega_align": [[one a head], … one a layer], …}: every ω and λ; null for a layer that has none. New; NULL for a
 * model without ASCender layers. */
json_t *asc_swarm_describe(asc_lm *lm);

/* Adds gamma_align, gamma_coh and eta, where the variant has them: their means over the first tokens of a split, 128 at
 * most. With the error set on failure. */
void asc_swarm_measure(asc_ctx *ctx, asc_lm *lm, const asc_split *split, json_t *swarm);

#endif
