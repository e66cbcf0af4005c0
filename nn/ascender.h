/* nn/ascender.h: an ASCender layer's parts, for the files that it is made of. */
#ifndef NN_ASCENDER_H
#define NN_ASCENDER_H

#include "nn/ascender_composed.h"
#include "nn/mixing.h"

typedef enum asc_heading { ASC_HEADING_K, ASC_HEADING_Q, ASC_HEADING_QK } asc_heading;

typedef struct asc_ascender_layer {
    asc_tensor q, k, v, u, p; /* weights [H d, D], [H d, D], [H d_v, D], [H d_z, D], [H d_a, D] */
    asc_affine o;             /* [D, H d_v] */
    asc_tensor rel_bias;      /* [H, 2R + 1], or null */
    asc_tensor scalar[ASC_ASCENDER_SCALARS]; /* [H]; those of the variant, in its order */
    asc_ascender_options options;
    int64_t *k_of;            /* [H]; options.k_of, or NULL */
    int64_t d, d_value, d_z, d_a;
    double *omega_sep;        /* [H], initial values, for the training's ramp */
    bool background, rotary, composed, look_ahead, sep_frozen;
    asc_heading heading;
    double aux_coh, aux_sep, aux_align; /* weights of the auxiliary losses */
} asc_ascender_layer;

/* The scalars' names, NULL at the end, and how they start. */
typedef struct asc_scalar_info {
    const char *name;
    double initial, least;    /* the least is kept while training, too */
} asc_scalar_info;
const asc_scalar_info *asc_ascender_scalars(bool background);

/* The settings, for asc_mixing; what `init` and `clear` of asc_mixing do. */
extern const asc_setting asc_ascender_settings[];
asc_status asc_ascender_init(asc_layer *l, asc_config *config, asc_maker *maker, int layer, int layers);
void asc_ascender_clear(asc_layer *l);

#endif
