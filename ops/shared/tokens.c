/* ops/shared/tokens.c: the cut of tokens into tiles and chunks, and the join of the chunks' sums. */
#include "ops/shared/tokens.h"

#include <string.h>

enum { LEAST = 64 }; /* tokens of a tile: a product of fewer is mostly packing */

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

asc_tokens asc_tokens_of(int64_t rows)
{
    int64_t tile = round_up((rows + ASC_CHUNKS - 1) / ASC_CHUNKS, 32);
    asc_tokens t = {.rows = rows, .tile = tile < LEAST ? LEAST : tile > ASC_TILE ? ASC_TILE : tile};
    t.tiles = (rows + t.tile - 1) / t.tile;
    int64_t per_chunk = (t.tiles + ASC_CHUNKS - 1) / ASC_CHUNKS;
    t.chunk = (per_chunk > 0 ? per_chunk : 1) * t.tile;
    t.chunks = (rows + t.chunk - 1) / t.chunk;
    return t;
}

typedef struct join {
    const void *partial;
    int64_t count, n;
    void *out;
    bool fresh;
} join;

/* ---- float, and f64.awk makes the same for double ---- */

static void join_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const join *j = arg;
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, j->n);
    float *out = (float *)j->out + from;
    const float *partial = (const float *)j->partial + from;
    if (j->fresh) {
        memset(out, 0, (size_t)n * sizeof *out);
    }
    for (int64_t i = 0; i < j->count; i++) {
        asc_kernels_f32()->acc(out, partial + i * j->n, n);
    }
}

/* ---- end of float ---- */
#include "ops/shared/tokens.f64.h"

void asc_join_chunks(asc_ctx *ctx, asc_dtype dtype, const void *partial, int64_t count, int64_t n, void *out,
                     bool fresh)
{
    join j = {partial, count, n, out, fresh};
    asc_parallel(ctx, asc_pieces(n), BY_DTYPE(dtype, join_piece), &j);
}
