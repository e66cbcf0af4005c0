/* train/inputs.c: how many inputs the blocks of a training have: of a stream all as many, of sequences their own. */
#include "train/trainer.h"

int64_t asc_trainer_width(const asc_trainer *t, const asc_split *split, const int32_t *which, int64_t n)
{
    return asc_lm_classes(t->lm) > 0 ? asc_class_width(split, which, n)
                                     : asc_split_width(split, t->stepper.block, which, n);
}

asc_batch_source asc_trainer_source(const asc_trainer *t)
{
    return (asc_batch_source){t->ctx, t->lm, t->train, t->features[ASC_SPLIT_TRAIN], t->stepper.block};
}

int64_t asc_trainer_inputs(const asc_trainer *t, const int32_t *which, int64_t n)
{
    if (t->train->n_sequences == 0) {
        return n * t->stepper.block;
    }
    int64_t inputs = 0;
    for (int64_t i = 0; i < n; i++) {
        inputs += asc_trainer_width(t, t->train, which + i, 1);
    }
    return inputs;
}
