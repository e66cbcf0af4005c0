/* train/stages.h: what the steps of a training take: how many sequences, of how many inputs, from where in the training
 * split, while batch and block grow (batch_schedule, block_schedule). A function of the settings, the split's length
 * and the step alone, so that resumes are exact. */
#ifndef TRAIN_STAGES_H
#define TRAIN_STAGES_H

#include "train/phases.h"

/* Steps that take as much, one as the other. */
typedef struct asc_stage {
    int64_t from;             /* the first of them */
    int64_t sequences, block; /* of a step; inputs of a stream's sequence */
    int64_t pass;             /* sequences of a forward pass, at most */
    int64_t blocks, steps;    /* of an epoch: blocks that are read, steps that read them */
    int64_t epoch, read;      /* where it begins: the number of its epoch, blocks of that which were read before */
    double tokens;            /* inputs of all steps before, each sequence as long as a block */
} asc_stage;

enum { ASC_STAGES = 2 * ASC_COURSE_POINTS };

typedef struct asc_stages {
    int n;
    asc_stage at[ASC_STAGES];
    asc_course batch, block; /* their points; none: the settings batch, accumulate and block */
    bool carry;              /* what is carried begins anew in each stage, and with it an epoch */
} asc_stages;

/* What a step takes: `n` blocks, in the order of epoch number `epoch` from number `first` on. */
typedef struct asc_stage_place {
    const asc_stage *stage;
    int64_t epoch, first, n;
} asc_stage_place;

/* Adds a stage that begins at step `next.from`, 0 or later than the last's: `next` has all but epoch, read, tokens. A
 * stage with other blocks begins a new epoch, another goes on in its order. One that is like the last is not added. */
void asc_stages_add(asc_stages *s, asc_stage next);

asc_stage_place asc_stages_at(const asc_stages *s, int64_t step);

/* Of the steps before `step`: their inputs, if each sequence is as long as a block; epochs with the fraction, where one
 * that was left early counts as a whole. */
double asc_stages_tokens(const asc_stages *s, int64_t step);
double asc_stages_epochs(const asc_stages *s, int64_t step);

/* The steps that `epochs` >= 0 epochs take; INT64_MAX: more than there are numbers for. */
int64_t asc_stages_steps(const asc_stages *s, int64_t epochs);

#endif
