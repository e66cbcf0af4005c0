/* train/ranks.h: what rank 0 tells the others. */
#ifndef TRAIN_RANKS_H
#define TRAIN_RANKS_H

#include "train/trainer.h"

typedef enum asc_rank_order {
    ASC_RANK_ALIVE,  /* wait on */
    ASC_RANK_STEP,   /* take step number `step` with rank 0 */
    ASC_RANK_GATHER, /* hand over what the shards carry into it */
    ASC_RANK_END,
} asc_rank_order;

typedef struct asc_rank_command {
    asc_rank_order order;
    int64_t step;
    asc_verdict verdict; /* of the end */
} asc_rank_command;

/* What the shards carry goes from their ranks to rank 0, or from there to them. */
void asc_ranks_move_streams(asc_trainer *t, bool gather);

#endif
