/* ops/shared/channels.h: (B, N, R) arrays for ops that go through time, channel by channel: a piece is some channels of
 * a sequence. */
#ifndef OPS_CHANNELS_H
#define OPS_CHANNELS_H

#include "ops/shared/op.h"

enum { ASC_CHANNELS = 64 }; /* of a piece, at most */

typedef struct asc_channels {
    int64_t sequence, first, width;
} asc_channels;

/* Pieces of a sequence of R channels. */
static inline int64_t asc_channel_pieces(int64_t R)
{
    return (R + ASC_CHANNELS - 1) / ASC_CHANNELS;
}

static inline asc_channels asc_channels_at(int64_t piece, int64_t R)
{
    int64_t pieces = asc_channel_pieces(R), first = piece % pieces * ASC_CHANNELS;
    return (asc_channels){piece / pieces, first, R - first < ASC_CHANNELS ? R - first : ASC_CHANNELS};
}

#endif
