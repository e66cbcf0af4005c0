/* train/inert.h: freezing what does nothing, by measurement. */
#ifndef TRAIN_INERT_H
#define TRAIN_INERT_H

#include <ascgrad/data.h>
#include <ascgrad/nn.h>

/* A model's configuration with "freeze_inert": "measured" replaced by what the measurement found: "freeze" has, layer
 * by layer, what it had, and the numbers that, doubled, move their layer's output by no more than rounding for the
 * first block of the split. New, to be freed with asc_text_drop; NULL where nothing is to be measured, or with the
 * error set. Cost: for each number of each layer a forward pass of one block. */
char *asc_inert_settle(asc_ctx *ctx, asc_lm *lm, const asc_split *split);

#endif
