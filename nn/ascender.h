/* nn/ascender.h: an ASCender layer's parts, for the files that it is made of. */
#ifndef NN_ASCENDER_H
#define NN_ASCENDER_H

#include <ascgrad/mixing.h>

#include "nn/ascender_composed.h"
#include "nn/qk_norm.h"

typedef enum asc_heading { ASC_HEADING_K, ASC_HEADING_Q, ASC_HEADING_QK } asc_heading;

typedef struct asc_ascender_layer {
    asc_tensor q, k, v, u, p; /* weights [H d, D], [H d, D], [H d_v, D], [H d_z, D], [H d_a, D]; u: null where positions
                                 are the places */
    asc_affine o;             /* [D, H d_v] */
    asc_tensor rel_bias;      /* [H, 2R + 1], or null */
    asc_qk_norm qk_norm;
    asc_tensor scalar[ASC_ASCENDER_SCALARS]; /* [H]; those of the variant, in its order */
    asc_ascender_options options;
    int64_t d, d_value, d_z, d_a;
    const struct asc_ascender_values *values;
    bool background, rotary, composed, look_ahead;
    double spacing; /* of positions as places: 1/s; 0: places are x Uᵀ, and u is there */
    asc_heading heading;
    double aux_coh, aux_sep, aux_align; /* weights of the auxiliary losses */
} asc_ascender_layer;

/* The scalars that there are in either variant, in the order of their settings. */
enum { ASC_SCALAR_SETTINGS = 16 };

/* The values of its settings. */
typedef struct asc_ascender_values {
    int64_t heads, window, globals, random, rel, radius, d_head, d_value, dz, da;
    int mask, positions, variant, listing, neighbors, kernel, gate, stats, heading, coordinates, freeze_inert, qk_norm;
    bool look_ahead, neighbor_self, rho_self, sep_self, gamma, eta, unbiased, composed;
    asc_ints k;                             /* [H] */
    asc_reals scalar[ASC_SCALAR_SETTINGS]; /* [H] */
    double coordinate_scale;
    asc_ints freeze, share;                 /* which scalar, which head or -1 */
    double aux_coh, aux_sep, aux_align;
} asc_ascender_values;

/* The settings of a variant's scalars, in the op's order; NULL past the last. Their least value is kept in training,
 * too. */
const asc_setting *asc_scalar_setting(bool background, int i);
/* The place of a variant's scalar in the op's order; -1: it has none of that name. */
int asc_scalar_find(bool background, const char *name);
/* Of the variant's i-th scalar: its initial values, [H]; how many heads' are not trained, and whether head h's is; and
 * whether all heads have one. */
const double *asc_scalar_initial(const asc_ascender_layer *t, int i);
int64_t asc_scalar_frozen_heads(const asc_ascender_layer *t, int i);
bool asc_scalar_frozen(const asc_ascender_layer *t, int i, int64_t h);
bool asc_scalar_shared(const asc_ascender_layer *t, int i);

/* What asc_mixing has of these names. */
extern const asc_setting asc_ascender_settings[];
asc_status asc_ascender_check(asc_layer *l);
asc_status asc_ascender_init(asc_layer *l, asc_maker *maker);

#endif
