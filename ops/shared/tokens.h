/* ops/shared/tokens.h: tokens cut into tiles, and tiles into chunks, for ops that make something wide of each token and
 * multiply it with a weight while it is in cache. A tile is a product's rows. The weights' gradients are sums over
 * tokens: a chunk of tiles, in order, adds up one of its own, and the chunks are joined in order. All sizes depend on
 * the number of tokens alone. */
#ifndef OPS_TOKENS_H
#define OPS_TOKENS_H

#include "ops/shared/op.h"

enum { ASC_TILE = 256, ASC_CHUNKS = 16 }; /* tokens of a tile, and chunks, at most */

typedef struct asc_tokens {
    int64_t rows;
    int64_t tile, tiles;   /* tokens of a tile; the last may have fewer */
    int64_t chunk, chunks; /* tokens of a chunk, a multiple of a tile's */
} asc_tokens;

asc_tokens asc_tokens_of(int64_t rows);

/* out[n] (+)= the sum of partial[count][n] over count, in order; written where `fresh`. */
void asc_join_chunks(asc_ctx *ctx, asc_dtype dtype, const void *partial, int64_t count, int64_t n, void *out,
                     bool fresh);

#endif
