/* nn/grassmann.h: the Grassmann layer's parts, for the files that it is made of. */
#ifndef NN_GRASSMANN_H
#define NN_GRASSMANN_H

#include <ascgrad/mixing.h>
#include <ascgrad/ops.h>

typedef struct asc_grassmann_layer {
    asc_affine red, plu, gate;
    asc_affine forget;          /* of the memory; null without one, the weight also with a fixed one */
    asc_tensor offset_weight;   /* [pairs], or null: the same weight for all */
    asc_tensor mean_weight;     /* [D, P], or null: no running mean */
    int64_t r, groups, P;       /* P coordinates of a pair: of the wedge G C(r/G, k) */
    int n_offsets, n_pairs;     /* a token's pairs, or tuples; the memory is the last */
    int offset[ASC_SETTING_LIST];
    int k, n_tuples;            /* vectors wedged together, z_t among them: more than two by tuples, not offsets */
    int lag[ASC_SETTING_LIST * ASC_SUBSPACE_LAGS]; /* [n_tuples][k - 1] */
    int longest;                /* the largest offset or lag; 0: there is none */
    int nearest;                /* the least of the offsets, or of the tuples' largest lags: more tokens have a pair */
    asc_direction direction;
    asc_pair pair;
    bool memory, sum, composed; /* sum in place of the mean over pairs */
    double eps, eps_rel, scale; /* scale p/max(‖p‖, ε, …) */
    bool rms, raw;
    bool invariants;  /* into the gate */
    double smooth;    /* weight of the loss on what changes from layer to layer */
} asc_grassmann_layer;

/* The values of its settings. */
typedef struct asc_grassmann_values {
    asc_ints offsets;
    asc_tuples tuples;
    int64_t r, groups, learned;
    int64_t k; /* of a layer alone; 0: not given */
    int mask, direction, aggregate, scale, pair, forget;
    bool memory, running_mean, normalize, composed, invariants;
    double eps, eps_rel, smooth;
} asc_grassmann_values;

/* What asc_mixing has of these names. */
extern const asc_setting asc_grassmann_settings[];
asc_status asc_grassmann_check(asc_layer *l);
asc_status asc_grassmann_init(asc_layer *l, asc_maker *maker);

/* (B, N, 1): one over the number of tokens up to each that have a pair, 0 where there is none. The N tokens stand at
 * positions start, start + 1, …; lengths i64 (B) or null. For direction past. New. */
asc_tensor asc_grassmann_inverse_counts(asc_layer *l, int64_t B, int64_t N, int64_t start, asc_tensor lengths);

/* The k×k minors of x[0] … x[k - 1] (…, n), columns i_1 < … < i_k in lexicographic order: (…, C(n, k)), from primitive
 * ops. New. */
asc_tensor asc_grassmann_minors(asc_ctx *ctx, const asc_tensor *x, int k);

/* What σ makes the memory's f of, (B, N, r), for x (B, N, D). New. */
asc_tensor asc_grassmann_forget(asc_layer *l, asc_tensor x);

/* g (B, N, D) of the last N of `tokens` where none can have a pair: constant, so that parameters which had no part in
 * it get no gradient, and an optimiser leaves them alone; learned weights, which do share out nothing, have one of 0;
 * null where one can. New. */
asc_tensor asc_grassmann_without_pairs(asc_layer *l, int64_t B, int64_t N, int64_t tokens);

/* Σ_Δ c_Δ (weight p̂_Δ + bias) of the last N of z (B, skip + N, r) on the fused ops, (B, N, rows of the weight); before
 * (B, N, r): what the memory held, or null. `rms`: of the scaled p̂. New. */
asc_tensor asc_grassmann_project(asc_layer *l, asc_tensor z, int64_t skip, asc_tensor before, asc_tensor lengths,
                                 asc_affine w, bool rms);

/* Σ_Δ c_Δ p̂_Δ (B, N, P) of the same, not scaled, from primitive ops. New. */
asc_tensor asc_grassmann_sums(asc_layer *l, asc_tensor z, int64_t skip, asc_tensor before, asc_tensor lengths);
/* y of x, g (B, N, D) and what the gate sees beside them (B, N, 4), or null; from primitive ops. New. */
asc_tensor asc_grassmann_fuse(asc_layer *l, asc_tensor x, asc_tensor g, asc_tensor more);
/* The layer from primitive ops, as its definition reads. */
asc_tensor asc_grassmann_composed(asc_layer *l, asc_tensor x, asc_tensor lengths);
asc_status asc_grassmann_inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts);

/* ---- the flow (grassmann_flow.c) ---- */

/* u (B, N, G, P/G) of the same z: see nn/flow.h. New. */
asc_tensor asc_grassmann_directions(asc_layer *l, asc_tensor z, int64_t skip, asc_tensor before, asc_tensor lengths);
/* What asc_mixing has of these names. */
bool asc_grassmann_follows(const asc_layer *l, const asc_layer *below);
asc_tensor asc_grassmann_turn(asc_layer *l, asc_tensor u, asc_tensor below);

#endif
