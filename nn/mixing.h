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
} asc_maker;

/* Adds a parameter of prefix + name, that requires its gradient; borrowed. Null with the error set. */
asc_tensor asc_make_param(asc_maker *maker, const char *name, asc_init init, int ndim, const int64_t *shape);
/* weight [out, in] and bias [out] of "name.weight", "name.bias". */
typedef struct asc_affine {
    asc_tensor weight, bias;
} asc_affine;
asc_affine asc_make_linear(asc_maker *maker, const char *name, int64_t in, int64_t out);
asc_affine asc_make_norm(asc_maker *maker, const char *name, int64_t width);

/* What a layer keeps of the tokens before, for generation. */
typedef struct asc_layer_cache {
    int64_t length;      /* tokens held */
    asc_tensor state[4]; /* the mixing's own; kept */
} asc_layer_cache;

struct asc_layer {
    asc_ctx *ctx;
    const asc_mixing *mixing;
    asc_params *params; /* of a layer alone; NULL in a model */
    int64_t D;
    asc_dtype dtype;
    void *self;         /* mixing->size bytes */
};

/* A setting, for those who list them; its type, default and range are where it is read. */
typedef struct asc_setting {
    const char *key, *help;
} asc_setting;

struct asc_mixing {
    const char *name;
    const asc_setting *settings; /* its own, key NULL at the end */
    size_t size;
    /* Reads the settings and makes the parameters. `layer` of `layers`: for settings with one entry a layer. */
    asc_status (*init)(asc_layer *l, asc_config *config, asc_maker *maker, int layer, int layers);
    /* x (B, N, D) to (B, N, D); lengths i64 (B) or null. */
    asc_tensor (*forward)(asc_layer *l, asc_tensor x, asc_tensor lengths);
    /* Makes the cache's state for `capacity` tokens of one sequence. */
    asc_status (*cache)(asc_layer *l, asc_layer_cache *cache, int64_t capacity);
    /* x (1, n, D), the next n tokens, to (1, n, D). The caller adds n to the length. */
    asc_tensor (*next)(asc_layer *l, asc_layer_cache *cache, asc_tensor x);
    /* Whether no output looks ahead: a language model takes no other. */
    bool (*causal)(const asc_layer *l);
};

/* Fills in a layer of a model. On failure asc_layer_clear. */
asc_status asc_layer_init(asc_layer *l, const asc_mixing *mixing, int64_t D, asc_config *config, asc_maker *maker,
                          int layer, int layers);
void asc_layer_clear(asc_layer *l);

/* The mixings' names, for asc_config_choice, and the mixing of an index among them; NULL past the last. */
extern const char *const asc_mixing_names[];
const asc_mixing *asc_mixing_of(int i);

#endif
