/* train/compare/scores.h: scores as they are made, for the files beside it. */
#ifndef TRAIN_COMPARE_SCORES_H
#define TRAIN_COMPARE_SCORES_H

#include <ascgrad/compare.h>

/* New scores with parts that are all zero; of no run. */
asc_scores *asc_scores_new(asc_ctx *ctx, int64_t n_blocks, int64_t n_lines, bool with_lines);

#endif
