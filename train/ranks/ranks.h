/* train/ranks/ranks.h: what rank 0 tells the others. */
#ifndef TRAIN_RANKS_H
#define TRAIN_RANKS_H

#include "train/trainer.h"

typedef enum asc_rank_order {
    ASC_RANK_ALIVE,  /* wait on */
    ASC_RANK_STEP,   /* take step number `step` with rank 0 */
    ASC_RANK_GATHER, /* hand over what the shards carry into it */
    ASC_RANK_KEPT,   /* hand over a tensor that the optimiser keeps */
    ASC_RANK_VALUES, /* hand over the parameters of one's share, or their averages */
    ASC_RANK_END,
} asc_rank_order;

typedef struct asc_rank_command {
    asc_rank_order order;
    int64_t step;
    int32_t param, slot; /* what is handed over */
    bool average;
    asc_verdict verdict; /* of the end, */
    bool reported;       /* and the result, if there is one */
    asc_train_result result;
} asc_rank_command;

/* What the shards carry goes from their ranks to rank 0, or from there to them. */
void asc_ranks_move_streams(asc_trainer *t, bool gather);

/* To the others, from rank 0. */
void asc_ranks_tell(asc_trainer *t, asc_rank_command c);

/* optim.c: of a divided optimiser what rank 0 asks for. */
void asc_ranks_hand_over(asc_trainer *t, const asc_rank_command *c);

#endif
