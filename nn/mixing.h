/* nn/mixing.h: mixing layers, for the files that make models of them. The contract is ascgrad/mixing.h; one file a
 * mixing, one line in list.h. */
#ifndef NN_MIXING_H
#define NN_MIXING_H

#include <ascgrad/mixing.h>
#include <ascgrad/ops.h>

#include "settings/reader.h"
#include "tensor/ctx.h"

/* Where the values of new parameters will come from, a file: `find` sets the error if it has none of that name and
 * shape, so that no memory is taken for what is not there; the parameters it has are made without initial values. */
typedef struct asc_values_source {
    asc_status (*find)(void *user, const char *name, int ndim, const int64_t *shape);
    void *user;
} asc_values_source;

/* asc_lm_new and asc_layer_new, with parameters that have no values yet: each is to be read from the source. NULL: with
 * initial values. */
asc_lm *asc_lm_new_from(asc_ctx *ctx, const char *config, asc_dtype dtype, uint64_t seed,
                        const asc_values_source *source);
asc_layer *asc_layer_new_from(asc_ctx *ctx, const char *mixing, int64_t d_model, const char *config, asc_dtype dtype,
                              uint64_t seed, const asc_values_source *source);

/* Where new parameters go. */
struct asc_maker {
    asc_ctx *ctx;
    asc_params *params;
    asc_dtype dtype;
    uint64_t seed;
    char prefix[64]; /* of the names: "blocks.0.mix." */
    const char *const *zeros; /* names without the prefix, of matrices that start from 0; or NULL */
    double narrowing; /* matrices start narrower by this factor; 0 stands for 1 */
    double bytes;    /* made so far */
    const asc_values_source *source; /* or NULL: initial values are drawn */
};

#define ASC_MIX_NONE "none" /* what stands for a mixing in models that have none */

/* Whether a list, NULL at its end or altogether, has the name. */
bool asc_name_in(const char *name, const char *const *list);

/* The mixing, which may be a user's, run on x: y and *aux, unless aux is NULL, are the caller's to let go of. */
asc_tensor asc_layer_run(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux);
/* y, which it gave for x since asc_own_begin: like x, or null with an error, which is made where it gave something
 * else. */
asc_tensor asc_layer_gave(asc_layer *l, asc_tensor x, asc_tensor y);

/* What the function that runs since asc_own_begin gave: t, or a view of it where t is not its own. */
asc_tensor asc_made_own(asc_ctx *ctx, asc_tensor t);

/* Fills in a layer of a model, from the settings at its place. On failure asc_layer_clear. */
asc_status asc_layer_init(asc_layer *l, const asc_mixing *mixing, int64_t D, asc_reader *reader, asc_maker *maker,
                          asc_place place);
/* Whether it has a list with one value a layer, not one for all; as asc_layer_given. */
bool asc_layer_spread(const asc_layer *l, const char *key);
void asc_layer_clear(asc_layer *l);
/* asc_lm_ramp of one layer, for `function`. */
asc_status asc_layer_try_ramp(asc_layer *l, double share, const char *function);
/* asc_lm_hold of one layer, and whether that has such a number; messages have no place yet. */
asc_status asc_layer_try_hold(asc_layer *l, const char *name, const double *value, bool *held);
/* Of the numbers that have one a head: which `name`, none of them, may mean; NULL: none. */
const char *asc_layer_guess_held(const asc_layer *l, const char *name);

/* x Wᵀ + b. */
static inline asc_tensor asc_affine_apply(asc_layer *l, asc_tensor x, asc_affine w)
{
    return asc_linear(l->ctx, x, w.weight, w.bias);
}

/* x (B, N, d) moved `by` positions later, 0 before; to be released. */
asc_tensor asc_later(asc_ctx *ctx, asc_tensor x, int64_t by);
/* x behind past, which may be null; to be released. */
asc_tensor asc_behind(asc_layer *l, asc_tensor past, asc_tensor x);
/* The last n positions of y, which goes. */
asc_tensor asc_last_of(asc_layer *l, asc_tensor y, int64_t n);

/* ASC_ERR_ARG of a composition that has no place for the state that goes on. */
asc_status asc_refuse_composed(const asc_layer *l, bool composed);

/* How many inputs before a block the layer looks at, of at most carry >= 1. Below 0 with the error set: it carries
 * nothing, and why. */
int64_t asc_layer_reach(asc_layer *l, int64_t carry);

/* What of the contract may be missing. */
const char *asc_layer_looks_ahead(const asc_layer *l);
asc_status asc_layer_show(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts);
asc_status asc_layer_cache_make(asc_layer *l, asc_layer_cache *cache, int64_t capacity);
asc_tensor asc_layer_next(asc_layer *l, asc_layer_cache *cache, asc_tensor x);

/* The mixings of the context: the library's, then those registered; NULL past the last. */
const asc_mixing *asc_mixing_of(const asc_ctx *ctx, int i);

/* The name of layer `layer`'s mixing in a configuration's "mix", one name or a list; NULL: it has none. */
static inline const char *asc_mix_of(const json_t *mix, size_t layer)
{
    return json_string_value(json_is_array(mix) ? json_array_get(mix, layer) : mix);
}

/* The mixing of a name that `setting` has; NULL with the error set, which offers the nearest. `or_none`: the caller has
 * ASC_MIX_NONE in its place, too. */
const asc_mixing *asc_mixing_choose(asc_ctx *ctx, const char *setting, const char *name, bool or_none);

#endif
