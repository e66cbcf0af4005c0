/* nn/grassmann.h: the Grassmann layer's parts, for the files that it is made of. */
#ifndef NN_GRASSMANN_H
#define NN_GRASSMANN_H

#include <ascgrad/mixing.h>
#include <ascgrad/ops.h>

typedef struct asc_grassmann_layer {
    asc_affine red, plu, gate;
    asc_affine forget;          /* of the memory; null without one */
    asc_tensor offset_weight;   /* [pairs], or null: the same weight for all */
    asc_tensor mean_weight;     /* [D, P], or null: no running mean */
    int64_t r, groups, P;       /* P = G C(r/G, 2) coordinates of a pair */
    int n_offsets, n_pairs;     /* a token's pairs; the memory is the last */
    int offset[ASC_SETTING_LIST];
    int longest;                /* the largest offset; 0: there is none */
    asc_direction direction;
    bool memory, sum, composed; /* sum in place of the mean over pairs */
    double eps, eps_rel, scale;
} asc_grassmann_layer;

/* The values of its settings. */
typedef struct asc_grassmann_values {
    asc_ints offsets;
    int64_t r, groups, learned;
    int mask, direction, aggregate, scale;
    bool memory, running_mean, composed;
    double eps, eps_rel;
} asc_grassmann_values;

/* What asc_mixing has of these names. */
extern const asc_setting asc_grassmann_settings[];
asc_status asc_grassmann_check(asc_layer *l);
asc_status asc_grassmann_init(asc_layer *l, asc_maker *maker);

/* (B, N, 1): one over the number of tokens up to each that have a pair, 0 where there is none. The N tokens stand at
 * positions start, start + 1, …; lengths i64 (B) or null. For direction past. New. */
asc_tensor asc_grassmann_inverse_counts(asc_layer *l, int64_t B, int64_t N, int64_t start, asc_tensor lengths);

/* The layer from primitive ops, as its definition reads. */
asc_tensor asc_grassmann_composed(asc_layer *l, asc_tensor x, asc_tensor lengths);
asc_status asc_grassmann_inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts);

#endif
