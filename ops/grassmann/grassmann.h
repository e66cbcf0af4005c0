/* ops/grassmann/grassmann.h: what the files of the op grassmann share; ops/grassmann/grassmann.c says what is computed.
 *
 * A tile is tokens whose coordinates are in cache until their product with the weight is done; a strip is up to
 * ASC_STRIP tokens of a tile, of one sequence, side by side as the lanes of a register. */
#ifndef OPS_GRASSMANN_H
#define OPS_GRASSMANN_H

#include "ops/shared/tokens.h"

enum { ASC_GRASSMANN_Z, ASC_GRASSMANN_W, ASC_GRASSMANN_B, ASC_GRASSMANN_OFFSET_W, ASC_GRASSMANN_MEMORY,
       ASC_GRASSMANN_LENGTHS };

enum { ASC_GRASSMANN_PAIRS = 2 * ASC_WEDGE_OFFSETS + 1 }; /* of a token, at most: both sides and the memory */

/* Below a floor p̂ is p over the floor; so p itself is p̂ with a floor above any, times that floor: a power of 2, which
 * changes no bit. */
#define ASC_GRASSMANN_FLOOR 0x1p40

typedef struct asc_grassmann_attrs {
    double eps, eps_rel;
    int64_t skip;
    int32_t groups, n_offsets, offset[ASC_WEDGE_OFFSETS];
    int32_t direction; /* asc_direction */
    bool sum, rms, raw;
} asc_grassmann_attrs;

/* Where the second vectors of a pair come from: z at `shift` from the token, or the memory at it. */
typedef struct asc_grassmann_pair {
    int64_t shift;
    bool memory;
} asc_grassmann_pair;

/* Vectors of rows side by side, entry by entry: x[i ld + row], with room for a strip before the first and after the
 * last. */
typedef struct asc_columns {
    void *x;
    int64_t ld;
} asc_columns;

/* A call. Tokens are the B n positions that g has; their vectors stand in B N rows. */
typedef struct asc_grassmann_job {
    asc_call *call;
    const asc_grassmann_attrs *attrs;
    int64_t B, N, n;         /* n = N - skip */
    int64_t r, G, width, R;  /* width = r/G, R its coordinates; */
    int64_t P, D;            /* P = G R */
    int pairs;
    asc_grassmann_pair pair[ASC_GRASSMANN_PAIRS];
    double logit[ASC_GRASSMANN_PAIRS]; /* the offset weights, if there are any */
    double scale;
    asc_tokens tokens;
    asc_columns z, memory;
    bool keeps;              /* the backward pass: a strip's pairs are kept until their cotangent is there */
    char *workers;           /* [workers][worker_bytes] */
    size_t worker_bytes;
    /* backward, in columns of rows: q = Mᵀû, what a token adds to its own gradient, and what its pairs add to
     * others': on_q, on_v and on_u of asc_strip_pair, [pairs][G][3] */
    asc_columns q, own, shares;
    void *dw, *db;           /* [chunks][D, P], [chunks][D]; NULL: not wanted */
    double *doffset;         /* [chunks][pairs]; NULL: not wanted */
} asc_grassmann_job;

/* What a worker needs for a tile, in its part of job->workers. Vectors of a strip are [width][ASC_STRIP]. */
typedef struct asc_grassmann_worker {
    double *u, *y, *du;
    double *across;          /* v⊥: [pairs], or of one pair unless job->keeps */
    asc_strip_pair *pair;    /* the same of what is known of a pair */
    double *weight, *share;  /* [pairs][ASC_STRIP]: c; Σ of the groups' p̂·g */
    double *total;           /* [tile + ASC_STRIP]: Σ c of each token */
    void *unit, *sum;        /* û and y, in the call's dtype; */
    void *turning;           /* y of the pairs that can turn */
    void *q, *Mb;
    void *tile;              /* [P][tile + ASC_STRIP]: coordinates, or their cotangents, of the tile's tokens */
} asc_grassmann_worker;

asc_grassmann_worker asc_grassmann_worker_of(const asc_grassmann_job *job, int worker);
/* The bytes of a worker's part. */
size_t asc_grassmann_worker_bytes(const asc_grassmann_job *job);

/* Tokens of one sequence, side by side: `lanes` from position t on; `column` within the tile. */
typedef struct asc_grassmann_strip {
    int64_t b, t, column;
    int lanes;
} asc_grassmann_strip;

/* The strip at `column` of a tile that begins with token `first` and has `rows`. */
asc_grassmann_strip asc_grassmann_strip_at(const asc_grassmann_job *job, int64_t first, int64_t rows, int64_t column);

/* c of every pair and lane of a strip, 0 where there is no such pair or lane, and their sums over the pairs. */
void asc_grassmann_weights(const asc_grassmann_job *job, asc_grassmann_strip s, double *weight, double *total);
/* doffset[pair] += the gradient of the softmax's logits from a strip. */
void asc_grassmann_weights_grad(const asc_grassmann_job *job, const asc_grassmann_worker *w, double *doffset);

/* Pieces, for asc_parallel with the job: ASC_TILE rows of z, of the memory; a tile; a chunk; a strip of rows. */
asc_piece_fn asc_grassmann_lay_z_f32, asc_grassmann_lay_z_f64, asc_grassmann_lay_memory_f32,
    asc_grassmann_lay_memory_f64, asc_grassmann_forward_f32, asc_grassmann_forward_f64, asc_grassmann_backward_f32,
    asc_grassmann_backward_f64, asc_grassmann_gather_f32, asc_grassmann_gather_f64;

#endif
