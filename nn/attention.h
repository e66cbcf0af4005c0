/* nn/attention.h: words of settings that all who attend have in common. */
#ifndef NN_ATTENTION_H
#define NN_ATTENTION_H

#include <stddef.h>

enum { ASC_MASK_CAUSAL, ASC_MASK_FULL };
static const char *const asc_mask_names[] = {"causal", "full", NULL};

enum { ASC_POSITIONS_NONE, ASC_POSITIONS_ROTARY, ASC_POSITIONS_ALIBI };
static const char *const asc_position_names[] = {"none", "rotary", "alibi", NULL};

#endif
