/* train/layer_log.h: what the layers have to say of themselves while they are trained, for metrics.jsonl. */
#ifndef TRAIN_LAYER_LOG_H
#define TRAIN_LAYER_LOG_H

#include <ascgrad/train.h>
#include <jansson.h>

/* {MIXING: {NAME: [[values] a layer], …}, …}, as asc_lm_log tells it; null for a layer that has no such value. With a
 * split, what takes a look inside, too, for its first tokens, 128 at most: that leaves dropout at 0. New; NULL where no
 * layer has anything to say, and on failure, with the error set. */
json_t *asc_layers_log(asc_ctx *ctx, asc_lm *lm, const asc_split *split);

#endif
