/*
 * ascgrad/mixing.h: mixings of one's own: what moves information between positions of a sequence, as attention does.
 *
 * A mixing is a table of functions. asc_mixing_register adds one to a context, by name; from then on asc_lm_new with
 * "mix": "NAME", alone or in a list with others, asc_layer_new, training, evaluation and generation with this context
 * take it like the library's own, which are made by the same contract. examples/own_mixing.c is one.
 */
#ifndef ASCGRAD_MIXING_H
#define ASCGRAD_MIXING_H

#include <ascgrad/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASC_MIXING_ABI 3u /* what asc_mixing.abi has to be */

typedef struct asc_mixing asc_mixing;

/* A layer, as its mixing sees it. */
struct asc_layer {
    asc_ctx *ctx;
    const asc_mixing *mixing;
    int64_t D;       /* width */
    asc_dtype dtype; /* f32 or f64, of inputs and parameters */
    int index;       /* which layer of the model; 0 alone */
    void *settings;  /* mixing->settings_size bytes: the values of its settings */
    void *self;      /* mixing->size bytes, all zero before `init`: its parameters, and what else it keeps */
    asc_tensor mask, neighbors, bias; /* of the caller's, or null: asc_layer_restrict, asc_layer_set_bias */
    asc_tensor context; /* (B, M, D): what x looks at in place of itself, within asc_layer_cross; else null */
    unsigned carried_states; /* the mixing's; `init` takes out those that its settings leave out */
    /* private */
    struct asc_reader *reader;
    bool alone; /* of no model */
    asc_params *params;
    char *config; /* of one alone */
};

/* Whether the layer's settings name this one, rather than leave it to its default; within `check` and `init` only.
 * false elsewhere, and where an argument is NULL. */
ASC_API bool asc_layer_given(const asc_layer *layer, const char *key);

/* ---- parameters ---- */

/* Where the parameters of a layer that is being made go. */
typedef struct asc_maker asc_maker;

/* Initial values. */
typedef enum asc_init {
    ASC_INIT_ZERO,
    ASC_INIT_ONE,
    ASC_INIT_LINEAR,    /* uniform ±1/√fan_in, fan_in the last size; decays */
    ASC_INIT_EMBEDDING, /* N(0, 0.02²); decays */
} asc_init;

/* Adds a parameter to the layer, that requires its gradient; borrowed. Its values depend on the model's seed and its
 * full name, "blocks.0.mix.NAME", of at most 127 bytes, alone. Null with the error set. */
ASC_API asc_tensor asc_make_param(asc_maker *maker, const char *name, asc_init init, int ndim, const int64_t *shape);
/* The same of n given values, [n]; it does not decay. */
ASC_API asc_tensor asc_make_values(asc_maker *maker, const char *name, int64_t n, const double *values);

/* weight [out, in] and bias [out] of "NAME.weight", "NAME.bias": asc_linear's. */
typedef struct asc_affine {
    asc_tensor weight, bias;
} asc_affine;
ASC_API asc_affine asc_make_linear(asc_maker *maker, const char *name, int64_t in, int64_t out);
/* The same of a layer norm: [width] each, ones and zeros. */
ASC_API asc_affine asc_make_norm(asc_maker *maker, const char *name, int64_t width);

/* ---- generation ---- */

enum { ASC_STATES = 6 };

/* What a layer keeps of the tokens before, for generation. */
typedef struct asc_layer_cache {
    int64_t length;                /* tokens held */
    asc_tensor state[ASC_STATES];  /* the mixing's own; of no meaning while the length is 0 */
    asc_tensor staged[ASC_STATES]; /* of asc_cache_stage: take state's place once all layers have done their part */
} asc_layer_cache;

/* State number `which` of one sequence: room for `capacity` rows of `width` values. */
ASC_API asc_status asc_cache_make(asc_layer *layer, asc_layer_cache *cache, int which, int64_t width, int64_t capacity);
/* Writes rows (1, n, width), which go, behind those held, and returns all of them, (1, length + n, width). ASC_ERR_ARG:
 * the state was not made, or has no room for them. */
ASC_API asc_tensor asc_cache_append(asc_layer *layer, const asc_layer_cache *cache, int which, asc_tensor rows);
/* Stages a tensor as the next state `which`, in the place of one that was staged: one that the mixing has made in this
 * call goes into the cache's hands, another, an input, say, stays whose it is. ASC_ERR_ARG. */
ASC_API asc_status asc_cache_stage(asc_layer *layer, asc_layer_cache *cache, int which, asc_tensor state);

/* What asc_mixing.carry may be: `forward` on past and x, of which the rows of x are kept. */
ASC_API asc_tensor asc_carry_again(asc_layer *layer, asc_layer_cache *held, asc_tensor past, asc_tensor x);

/* ---- what a training writes down ---- */

/* A value of a layer that goes into metrics.jsonl, under the mixing's name. */
typedef struct asc_logged {
    const char *name;
    bool inspected; /* from what `inspect` adds: at evaluations only, as that takes a pass of its own */
} asc_logged;

/* ---- the contract: abi, name and forward are needed, all else may be NULL or 0 ---- */

struct asc_mixing {
    unsigned abi;     /* ASC_MIXING_ABI */
    const char *name; /* in "mix" and --model */
    const asc_setting *settings; /* its own (ascgrad/setting.h) */
    size_t settings_size;        /* of the struct of their values */
    size_t size;                 /* of `self` */
    const char *sample; /* settings, in JSON, for a small layer of width 8, to check it with; NULL: {} */
    bool bare;          /* in a post-norm block no residual goes round it, unless that is asked for */
    bool takes_mask, takes_neighbors, takes_bias, takes_context; /* heeds the layer's */
    /* The settings have been read, each within its range. Checks them against each other and the width, and fills in
     * those whose defaults follow from others. */
    asc_status (*check)(asc_layer *layer);
    /* Makes the parameters. */
    asc_status (*init)(asc_layer *layer, asc_maker *maker);
    /* x (B, N, D) to (B, N, D), which the caller releases; lengths i64 (B) or null: a causal mixing may pass them over,
     * as rows behind a sequence's end are anything; with a context they are the context's. What is made on the way goes
     * with the caller's scope, if there is one; earlier by asc_release, or with scopes of its own (asc_scope_end_but),
     * which have ended when it returns. `aux`, if not NULL, comes as null, and may be given the layer's auxiliary loss,
     * a scalar with its weight in it; with NULL none is computed. */
    asc_tensor (*forward)(asc_layer *layer, asc_tensor x, asc_tensor lengths, asc_tensor *aux);
    /* Adds to `parts`, under names of its own, what the layer computes inside for x. NULL: asc_layer_inspect refuses
     * it. */
    asc_status (*inspect)(asc_layer *layer, asc_tensor x, asc_tensor lengths, asc_params *parts);
    /* Makes the cache's state for `capacity` tokens of one sequence. NULL: its size does not depend on that, and `next`
     * makes it. */
    asc_status (*cache)(asc_layer *layer, asc_layer_cache *cache, int64_t capacity);
    /* x (1, n, D), the next n tokens, to (1, n, D). The caller adds n to the length. What is held for the tokens before
     * stays as it is, so that after a failure all can be done again: rows behind them, or staged states, are new. What
     * is made on the way goes with a scope of the call.
     * NULL: the layer keeps its inputs and runs `forward` on all of them for every token. With `next` and no `cache`
     * the layer is one of a stream without end. */
    asc_tensor (*next)(asc_layer *layer, asc_layer_cache *cache, asc_tensor x);
    /* With carried context: x (B, n, D), the next n tokens of B streams, one a row, to (B, n, D), computed as if the p
     * tokens before were earlier ones of the same sequences; the caller releases it. past (B, p, D) is what the layer
     * was given for those, through which no gradient flows; null where there are none. Of `held` the states of
     * `carried_states` go on from block to block, without a gradient: those that asc_cache_stage was given for the
     * block before. Its length is the tokens that each stream has had; while it is 0, states have no meaning. There is
     * no auxiliary loss. NULL: a model that carries context refuses the mixing. asc_carry_again serves a mixing that
     * has no states. */
    asc_tensor (*carry)(asc_layer *layer, asc_layer_cache *held, asc_tensor past, asc_tensor x);
    /* How many inputs before a block it looks at, of at most `carry` >= 1. NULL: all of them. Below 0 with the error
     * set: with these settings it carries nothing, and why. */
    int64_t (*reach)(asc_layer *layer, int64_t carry);
    unsigned carried_states; /* bit i: state i goes on, staged for every block; in generation the others are made anew
                              * from the inputs before */
    /* NULL, or returns NULL, if no output looks ahead: a language model takes no other. Else why one does, for the
     * message: borrowed. asc_causal_check finds out whether that is true. */
    const char *(*looks_ahead)(const asc_layer *layer);
    /* What `check` and `init` took beside memory for `self`, settings and parameters goes; */
    void (*clear)(asc_layer *layer);
    /* after an optimiser's step, parameters are brought back to where they have a meaning; */
    void (*project)(asc_layer *layer);
    /* what a training phases in is held at `share`, 0 … 1, of its initial strength; below 0: trained from here on. */
    void (*ramp)(asc_layer *layer, double share);
    /* a number of the layer's is held at *value in all heads, and not trained; NULL: trained from here on, if its
     * settings have it so. false: there is none of that name. Its row among the settings says what it may be. */
    bool (*hold)(asc_layer *layer, const char *name, const double *value);
    /* How far the output for x (1, N, D) moves if the number of that name is doubled, or becomes 1 where it is 0: in
     * each head the largest difference over the largest entry, f64 (H). Null: there is none of that name. */
    asc_tensor (*moves)(asc_layer *layer, asc_tensor x, const char *name);
    /* What a training writes down of each layer: the list, name NULL at the end, and the value of a name, of any shape;
     * null where this layer has none. `parts`: of a value that is inspected what `inspect` has added; else NULL. With
     * `logged` comes `log`, and `inspect` where something is inspected. */
    const asc_logged *logged;
    asc_tensor (*log)(asc_layer *layer, const char *name, const asc_params *parts);
    /* Paths through the layers. Whether the layer is to stay close to the one below it, of the same mixing; below NULL:
     * whether its settings ask for that. With it come both of the next. */
    bool (*follows)(const asc_layer *layer, const asc_layer *below);
    /* What is compared, (B, N, …) for x and lengths as forward has them, which the caller releases; */
    asc_tensor (*flow)(asc_layer *layer, asc_tensor x, asc_tensor lengths);
    /* and the loss on the layer's and on that of the layer below, a scalar with its weight in it. */
    asc_tensor (*turn)(asc_layer *layer, asc_tensor flow, asc_tensor below);
    /* Names of parameters, NULL at the end: of the matrices that project back into the residual, which the model's
     * setting zero_init starts from 0 (NULL: it refuses the mixing); and of those whose fan-in does not grow with the
     * width, whose rates mup_width leaves alone (NULL: there are none). */
    const char *const *outputs;
    const char *const *narrow;
};

/* Adds a mixing to the context, which borrows it. ASC_ERR_ARG: another ABI, something needed is missing, a setting's
 * row is not whole, its key is one of the model's, or of another mixing's and of another type or a wider range; or
 * there is a mixing of this name. ASC_ERR_MEMORY. */
ASC_API asc_status asc_mixing_register(asc_ctx *ctx, const asc_mixing *mixing);

/* A mixing by name: the library's, or one registered with this context (NULL: none); NULL if there is none. */
ASC_API const asc_mixing *asc_mixing_find(const asc_ctx *ctx, const char *name);

#ifdef __cplusplus
}
#endif
#endif
