/* train/step.h: one step of training: forward, backward, clipping, the optimiser. */
#ifndef TRAIN_STEP_H
#define TRAIN_STEP_H

#include <ascgrad/train.h>

#include "train/batch.h"
#include "train/ranks/tree.h"

/* What does steps. */
typedef struct asc_stepper {
    asc_ctx *ctx;
    asc_lm *lm;
    asc_optim *optim;
    int64_t block, batch; /* inputs of a sequence, sequences of a forward pass */
    double dropout, clip;
    bool average; /* the optimiser keeps means of the parameters */
    uint64_t seed;
    asc_tree *tree; /* its shards are those of each batch; NULL: one */
    /* What each forward pass of a step goes on from, a batch's shards in order; NULL: from nothing. */
    asc_lm_carried *const *carried;
    /* Makes the batch of the sequences first … first+n-1 of the step, as new tensors. */
    asc_status (*make)(void *user, int64_t first, int64_t n, asc_batch *batch);
    /* What the mean over those divides by: how many targets they have, or what these weigh; NULL: all are targets. */
    double (*mass)(void *user, int64_t first, int64_t n);
    bool (*go_on)(void *user); /* asked now and then within the step; false: it is given up. NULL: not asked */
    void *user;
} asc_stepper;

/* Shards of a batch; the sequence of n at which one of them begins. */
static inline int64_t asc_stepper_shards(const asc_stepper *s)
{
    return s->tree ? s->tree->shards : 1;
}

static inline int64_t asc_shard_begin(int64_t n, int64_t shard, int64_t shards)
{
    return n * shard / shards;
}

typedef struct asc_step_result {
    double loss;      /* mean over the step's targets, without auxiliary losses */
    double grad_norm; /* before clipping */
    double flops;     /* of the forward passes' products */
} asc_step_result;

/* Step number `step` = 0, 1, …, on `sequences` sequences; the gradient is the mean over all of their targets. The
 * parameters are untouched on failure. ASC_ERR_NONFINITE: the loss or the gradient's norm, which stand in the
 * result; ASC_ERR_INTERRUPTED: `go_on` has said no. */
asc_status asc_step_run(const asc_stepper *s, int64_t step, int64_t sequences, double lr, asc_step_result *result);

#endif
