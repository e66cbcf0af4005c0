/* ops/grassmann/grassmann.h: what the files of the ops grassmann and subspace share; ops/grassmann/grassmann.c and
 * subspace.c say what is computed.
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

/* Of both ops: grassmann has offsets, subspace k and lags. */
typedef struct asc_grassmann_attrs {
    double eps, eps_rel;
    int64_t skip;
    int32_t groups, n_offsets, offset[ASC_WEDGE_OFFSETS];
    int32_t direction, pair; /* asc_direction, asc_pair */
    int32_t k, n_tuples, lag[ASC_SUBSPACE_TUPLES][ASC_SUBSPACE_LAGS];
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

/* Tuples of lags as a tree: at its root is z_t itself, a path to a leaf is a tuple, and what tuples have in common is
 * computed once. Nodes stand before those below them. */
typedef struct asc_grassmann_node {
    int lag, depth;
    int path[ASC_SUBSPACE_LAGS + 1]; /* the nodes from the root to this one, which is path[depth] */
    int end;                         /* the nodes below it stand before this one */
    int shift;                       /* which of the job's */
} asc_grassmann_node;

enum { ASC_GRASSMANN_NODES = 1 + ASC_SUBSPACE_TUPLES * ASC_SUBSPACE_LAGS };

typedef struct asc_grassmann_tree {
    int k, nodes;
    asc_grassmann_node node[ASC_GRASSMANN_NODES];
    int leaf[ASC_SUBSPACE_TUPLES];                 /* of each tuple, and */
    double sign[ASC_SUBSPACE_TUPLES];              /* that of its lags' order there */
    int64_t coordinates[ASC_SUBSPACE_LAGS + 2];    /* of a form of 0, 1, … k vectors in a group: C(r/G, ·) */
    int32_t *term[ASC_SUBSPACE_LAGS + 2];          /* strip_form's of the same */
} asc_grassmann_tree;

typedef struct asc_grassmann_job asc_grassmann_job;
typedef struct asc_grassmann_worker asc_grassmann_worker;
typedef struct asc_grassmann_strip asc_grassmann_strip;

/* Makes the coordinates of a group of a strip, p [R] entries ld apart; or, p being their cotangents, keeps the
 * gradients of the vectors for `gather`, and then makes the coordinates in their place. */
typedef void asc_grassmann_group_fn(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s,
                                    int64_t group, void *p, int64_t ld);

/* What is made of a token's vectors. */
typedef struct asc_grassmann_kind {
    asc_grassmann_group_fn *forward_f32, *forward_f64, *backward_f32, *backward_f64;
    asc_piece_fn *gather_f32, *gather_f64; /* a strip of rows of z gathers its gradient */
} asc_grassmann_kind;
extern const asc_grassmann_kind asc_grassmann_wedges, asc_grassmann_controls, asc_grassmann_subspaces;

/* A call. Tokens are the B n positions that g has; their vectors stand in B N rows. */
struct asc_grassmann_job {
    asc_call *call;
    const asc_grassmann_attrs *attrs;
    const asc_grassmann_kind *kind;
    const int64_t *lengths;  /* or NULL */
    bool learned;            /* weights */
    int64_t B, N, n;         /* n = N - skip */
    int64_t r, G, width, R;  /* width = r/G, R its coordinates; */
    int64_t P, D;            /* P = G R */
    int pairs;               /* or tuples, with the shift of the vector that is farthest */
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
    /* or, without q and shares, the gradients of the vectors at each shift from a token: [shifts][r] */
    asc_columns others;
    int64_t shift[ASC_GRASSMANN_NODES];
    int shifts;
    asc_grassmann_tree *tree; /* of subspaces */
    void *dw, *db;           /* [chunks][D, P], [chunks][D]; NULL: not wanted */
    double *doffset;         /* [chunks][pairs]; NULL: not wanted */
};

/* What is known of the vector x of a node of the tree, lane by lane, */
typedef struct asc_grassmann_lanes {
    double weight[ASC_STRIP];  /* of a leaf: Σ c of its tuples, with their signs */
    double there[ASC_STRIP];   /* 0 where no tuple with the vector is */
    double square[ASC_STRIP];  /* ‖x‖² */
    double along[ASC_SUBSPACE_LAGS][ASC_STRIP]; /* x's share of each x⊥ above it */
    asc_strip_first of;        /* x⊥ */
    double factor[ASC_STRIP], regular[ASC_STRIP], relative[ASC_STRIP]; /* of a leaf: asc_strip_pair */
    double on_unit[ASC_STRIP], on_x[ASC_STRIP]; /* what of the gradient is along x̂⊥, and along x/‖x‖² */
} asc_grassmann_lanes;

/* and all of it. Of a leaf form, q and B are NULL. */
typedef struct asc_grassmann_vector {
    asc_grassmann_lanes *lanes;
    double *across, *grad; /* x⊥ = x less what the vectors above it have of it; */
    void *unit;            /* x̂⊥ */
    void *form;            /* Σ of what is below it: x̂⊥ of each node there wedged with its own form */
    void *q, *B;           /* the cotangent of x̂⊥ ∧ form contracted with x̂⊥, and with the form */
} asc_grassmann_vector;

/* What a worker needs for a tile, in its part of job->workers. Vectors of a strip are [width][ASC_STRIP]. */
struct asc_grassmann_worker {
    double *u, *y, *du;
    double *across;          /* v⊥: [pairs], or of one pair unless job->keeps */
    asc_strip_pair *pair;    /* the same of what is known of a pair */
    double *weight, *share;  /* [pairs][ASC_STRIP]: c; Σ of the groups' p̂·g */
    double *total;           /* [tile + ASC_STRIP]: Σ c of each token */
    void *unit, *sum;        /* û and y, in the call's dtype; */
    void *turning;           /* y of the pairs that can turn */
    void *q, *Mb;
    double *product, *spare; /* of controls */
    void *tile;              /* [P][tile + ASC_STRIP]: coordinates, or their cotangents, of the tile's tokens */
    asc_grassmann_vector *vector; /* of each node of the tree */
};

asc_grassmann_worker asc_grassmann_worker_of(const asc_grassmann_job *job, int worker);
/* The bytes of a worker's part. */
size_t asc_grassmann_worker_bytes(const asc_grassmann_job *job);

/* Tokens of one sequence, side by side: `lanes` from position t on; `column` within the tile. */
struct asc_grassmann_strip {
    int64_t b, t, column;
    int lanes;
};

/* The strip at `column` of a tile that begins with token `first` and has `rows`. */
asc_grassmann_strip asc_grassmann_strip_at(const asc_grassmann_job *job, int64_t first, int64_t rows, int64_t column);

/* c of every pair and lane of a strip, 0 where there is no such pair or lane, and their sums over the pairs. */
void asc_grassmann_weights(const asc_grassmann_job *job, asc_grassmann_strip s, double *weight, double *total);
/* doffset[pair] += the gradient of the softmax's logits from a strip. */
void asc_grassmann_weights_grad(const asc_grassmann_job *job, const asc_grassmann_worker *w, double *doffset);

/* Pieces, for asc_parallel with the job: ASC_TILE rows of z, of the memory; a tile; a chunk; a strip of rows, for
 * kinds that keep `others`. */
asc_piece_fn asc_grassmann_lay_z_f32, asc_grassmann_lay_z_f64, asc_grassmann_lay_memory_f32,
    asc_grassmann_lay_memory_f64, asc_grassmann_forward_f32, asc_grassmann_forward_f64, asc_grassmann_backward_f32,
    asc_grassmann_backward_f64, asc_grassmann_gather_others_f32, asc_grassmann_gather_others_f64;

/* ---- a call of either op, z, weight and bias being its first inputs ---- */

/* What both ops' functions read in one way: the number of groups, and what raw coordinates come from. */
void asc_grassmann_fill_in(asc_grassmann_attrs *a, int64_t groups);
/* eps and eps_rel; that z is (B, N, r) in groups of at least `least`; skip. */
asc_status asc_grassmann_check_call(asc_call *call, int64_t least);
/* The sizes of a call whose groups have R coordinates each; pairs, kind and optional inputs are the caller's. */
asc_grassmann_job asc_grassmann_job_of(asc_call *call, int64_t R);
asc_status asc_grassmann_run(asc_grassmann_job *job);
asc_status asc_grassmann_run_backward(asc_grassmann_job *job);
double asc_grassmann_flops(const asc_call *call);

/* ---- what the files with strips share ---- */

static inline bool asc_strip_any(const double *x)
{
    bool some = false;
    for (int l = 0; l < ASC_STRIP; l++) {
        some |= x[l] != 0;
    }
    return some;
}

/* y += by x, [width][ASC_STRIP]. */
static inline void asc_strip_add(const asc_grassmann_job *job, double *y, const double *by, const double *x)
{
    asc_kernels_f64()->strip_axpy(y, by, x, job->width);
}

/* 0 for the lanes that have no pairs. */
static inline void asc_strip_there(const asc_grassmann_job *job, const asc_grassmann_worker *w, double *there)
{
    for (int l = 0; l < ASC_STRIP; l++) {
        there[l] = 0;
    }
    for (int p = 0; p < job->pairs; p++) {
        asc_kernels_f64()->acc(there, w->weight + p * ASC_STRIP, ASC_STRIP);
    }
}

/* The row of a strip's first token in z, and in the memory. */
static inline int64_t asc_strip_row(const asc_grassmann_job *job, asc_grassmann_strip s)
{
    return s.b * job->N + s.t;
}

static inline int64_t asc_strip_token(const asc_grassmann_job *job, asc_grassmann_strip s)
{
    return s.b * job->n + s.t - job->attrs->skip;
}

/* A group's own gradient from a row on, and that of its vectors at a shift. */
static inline double *asc_own_at(const asc_grassmann_job *job, int64_t group, int64_t row)
{
    return (double *)job->own.x + group * job->width * job->own.ld + ASC_STRIP + row;
}

static inline double *asc_others_at(const asc_grassmann_job *job, int shift, int64_t group, int64_t row)
{
    return (double *)job->others.x + (shift * job->r + group * job->width) * job->others.ld + ASC_STRIP + row;
}

/* Entry 0 of a group of a row in columns. */
static inline float *asc_column_at_f32(const asc_columns *c, int64_t first_entry, int64_t row)
{
    return (float *)c->x + first_entry * c->ld + ASC_STRIP + row;
}

static inline double *asc_column_at_f64(const asc_columns *c, int64_t first_entry, int64_t row)
{
    return (double *)c->x + first_entry * c->ld + ASC_STRIP + row;
}

/* The second vectors of a pair in a group, v [width][ASC_STRIP], 0 in the lanes whose weight is 0. */
void asc_grassmann_load_second_f32(const asc_grassmann_job *job, asc_grassmann_strip s, int pair, int64_t group,
                                   const double *weight, double *v);
void asc_grassmann_load_second_f64(const asc_grassmann_job *job, asc_grassmann_strip s, int pair, int64_t group,
                                   const double *weight, double *v);

/* `n` entries of a strip's lanes into columns, and into rows `ld` apart, dx[lane] (+)=. */
void asc_put_columns(double *to, int64_t ld, const double *strip, int64_t n, int lanes);
void asc_put_rows_f32(float *dx, int64_t ld, const double *strip, int64_t n, int lanes, bool fresh);
void asc_put_rows_f64(double *dx, int64_t ld, const double *strip, int64_t n, int lanes, bool fresh);

#endif
