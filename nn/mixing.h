/* nn/mixing.h: the contract of a mixing layer: what moves information between the positions of a sequence. One file a
 * mixing, one line in mixing.c's table. */
#ifndef NN_MIXING_H
#define NN_MIXING_H

#include <ascgrad/nn.h>

#include "nn/config.h"

typedef struct asc_mixing asc_mixing;

/* Initial values (spec.md §4). */
typedef enum asc_init {
    ASC_INIT_ZERO,
    ASC_INIT_ONE,
    ASC_INIT_LINEAR,    /* uniform ±1/√fan_in, fan_in the last size; decays */
    ASC_INIT_EMBEDDING, /* N(0, 0.02²); decays */
} asc_init;

/* Where new parameters go. */
typedef struct asc_maker {
    asc_ctx *ctx;
    asc_params *params;
    asc_dtype dtype;
    uint64_t seed;
    char prefix[64]; /* of the names: "blocks.0.mix." */
    double bytes;    /* made so far */
} asc_maker;

/* Adds a parameter of prefix + name, that requires its gradient; borrowed. Null with the error set. */
asc_tensor asc_make_param(asc_maker *maker, const char *name, asc_init init, int ndim, const int64_t *shape);
/* The same of n given values, [n]. */
asc_tensor asc_make_values(asc_maker *maker, const char *name, int64_t n, const double *values);
/* weight [out, in] and bias [out] of "name.weight", "name.bias". */
typedef struct asc_affine {
    asc_tensor weight, bias;
} asc_affine;
asc_affine asc_make_linear(asc_maker *maker, const char *name, int64_t in, int64_t out);
asc_affine asc_make_norm(asc_maker *maker, const char *name, int64_t width);

enum { ASC_STATES = 6 };

/* What a layer keeps of the tokens before, for generation. */
typedef struct asc_layer_cache {
    int64_t length;                /* tokens held */
    asc_tensor state[ASC_STATES];  /* the mixing's own; kept */
    asc_tensor staged[ASC_STATES]; /* kept; take state's place, where not null, once all layers have done their part */
} asc_layer_cache;

struct asc_layer {
    asc_ctx *ctx;
    const asc_mixing *mixing;
    asc_params *params; /* of a layer alone; NULL in a model */
    int64_t D;
    asc_dtype dtype;
    void *self;         /* mixing->size bytes */
    asc_tensor mask, neighbors; /* of the caller's, or null: asc_layer_restrict */
};

/* State number `which` of one sequence: room for `capacity` rows of `width` values. */
asc_status asc_cache_make(asc_layer *l, asc_layer_cache *cache, int which, int64_t width, int64_t capacity);
/* Writes rows (1, n, width), which go, behind those held, and returns all of them, (1, length + n, width). */
asc_tensor asc_cache_append(asc_layer *l, const asc_layer_cache *cache, int which, asc_tensor rows);

/* A setting, for those who list them; its type, default and range are where it is read. */
typedef struct asc_setting {
    const char *key, *help;
} asc_setting;

/* A value of a layer that a training writes down. */
typedef struct asc_logged {
    const char *name;
    bool inspected; /* from what `inspect` adds: at evaluations only, as that takes a pass of its own */
} asc_logged;

struct asc_mixing {
    const char *name;
    const asc_setting *settings; /* its own, key NULL at the end */
    const char *sample;          /* its settings for a small layer of width 8, to check it with */
    bool bare;                   /* in a post-norm block no residual goes round it, unless that is asked for */
    bool takes_mask, takes_neighbors; /* heeds the layer's */
    size_t size;
    /* Reads the settings and makes the parameters. `layer` of `layers`: for settings with one entry a layer. */
    asc_status (*init)(asc_layer *l, asc_config *config, asc_maker *maker, int layer, int layers);
    /* x (B, N, D) to (B, N, D); lengths i64 (B) or null. `aux`, if not NULL, comes as null, and may be given the
     * layer's auxiliary loss, a scalar with its weight in it; with NULL none is computed. */
    asc_tensor (*forward)(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux);
    /* Adds to `parts`, under the names that asc_layer_inspect lists, what the layer computes inside for x. */
    asc_status (*inspect)(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts);
    /* Makes the cache's state for `capacity` tokens of one sequence. NULL: its size does not depend on that, and `next`
     * makes it. */
    asc_status (*cache)(asc_layer *l, asc_layer_cache *cache, int64_t capacity);
    /* x (1, n, D), the next n tokens, to (1, n, D). The caller adds n to the length. What is held for the tokens before
     * stays as it is, so that after a failure all can be done again: rows behind them, or staged states, are new. */
    asc_tensor (*next)(asc_layer *l, asc_layer_cache *cache, asc_tensor x);
    /* NULL if no output looks ahead: a language model takes no other. Else why one does, for the message: borrowed. */
    const char *(*looks_ahead)(const asc_layer *l);
    /* Each of these may be NULL. What `init` took beside its memory and parameters goes; */
    void (*clear)(asc_layer *l);
    /* after an optimiser's step, parameters are brought back to where they have a meaning; */
    void (*project)(asc_layer *l);
    /* what a training phases in is held at `share`, 0 … 1, of its initial strength; below 0: trained from here on. */
    void (*ramp)(asc_layer *l, double share);
    /* What a training writes down of each layer, under the mixing's name: the list, name NULL at the end, and the value
     * of a name, of any shape; null where this layer has none. `parts`: of one that is inspected what `inspect` has
     * added; else NULL. */
    const asc_logged *logged;
    asc_tensor (*log)(asc_layer *l, const char *name, const asc_params *parts);
};

/* Fills in a layer of a model. On failure asc_layer_clear. */
asc_status asc_layer_init(asc_layer *l, const asc_mixing *mixing, int64_t D, asc_config *config, asc_maker *maker,
                          int layer, int layers);
void asc_layer_clear(asc_layer *l);

/* The mixings' names, for asc_config_choice, and the mixing of an index among them; NULL past the last. */
extern const char *const asc_mixing_names[];
const asc_mixing *asc_mixing_of(int i);

#endif
