/*
 * ascgrad/nn.h: language models and the mixing layers in them.
 *
 * A model is described by a JSON object (its keys are those of models.py's configuration, spec.md §4), so that a
 * run's config.json, a model file's metadata and a program's literal are the same thing:
 *
 *   {"mix": "transformer", "d_model": 256, "d_ff": 1024, "layers": 6, "heads": 4, "vocab": 30522, "block": 128}
 *
 * asc_lm_setting_at lists all keys.
 */
#ifndef ASCGRAD_NN_H
#define ASCGRAD_NN_H

#include <ascgrad/params.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_lm asc_lm;

/* A new model with initial values drawn from `seed` (spec.md §4), dtype f32 or f64. `config`: the JSON object, as text.
 * NULL with the error set: a key that is unknown (the nearest one is named), missing, or of a wrong type or range. */
ASC_API asc_lm *asc_lm_new(asc_ctx *ctx, const char *config, asc_dtype dtype, uint64_t seed);
ASC_API void asc_lm_free(asc_lm *lm); /* NULL is accepted */

/* The keys of a configuration, the models' and then each mixing's own, with a line of help each; NULL past the last. */
ASC_API const char *asc_lm_setting_at(int i, const char **help);

/* The configuration with every setting in effect, as JSON text; borrowed. */
ASC_API const char *asc_lm_config(const asc_lm *lm);
ASC_API int64_t asc_lm_vocab(const asc_lm *lm);
ASC_API int64_t asc_lm_block(const asc_lm *lm);
/* The parameters, named as in spec.md §4; borrowed. */
ASC_API asc_params *asc_lm_params(asc_lm *lm);

/* The dropout of the calls from here on, 0 <= p < 1; 0, the initial value, for evaluation. */
ASC_API void asc_lm_set_dropout(asc_lm *lm, double p);

/* Mean next-token cross-entropy in nats. x, y: i64 (B, N), N <= block; y[b, t] follows x[b, t]; negative entries of y are
 * ignored. If token_loss is not NULL it gets each token's loss, (B, N), without a gradient. No B·N×V logits are held. */
ASC_API asc_tensor asc_lm_loss(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss);
/* Logits (B, N, V). */
ASC_API asc_tensor asc_lm_logits(asc_lm *lm, asc_tensor x);

/* ---- generation, on a cache ---- */

typedef struct asc_lm_cache asc_lm_cache;

/* A cache for one sequence of at most `capacity` tokens (at most the block length where positions are learned). The
 * model must outlive it. */
ASC_API asc_lm_cache *asc_lm_cache_new(asc_lm *lm, int64_t capacity);
ASC_API void asc_lm_cache_free(asc_lm_cache *cache); /* NULL is accepted */
ASC_API void asc_lm_cache_reset(asc_lm_cache *cache);
ASC_API int64_t asc_lm_cache_length(const asc_lm_cache *cache);
ASC_API int64_t asc_lm_cache_capacity(const asc_lm_cache *cache);
/* Appends n >= 1 tokens and returns the logits (V) after the last, equal to the full pass to rounding.
 * ASC_ERR_ARG: a token outside of the vocabulary, or no room. No gradient. */
ASC_API asc_tensor asc_lm_next(asc_lm_cache *cache, const int64_t *tokens, int64_t n);

/* ---- one layer alone ---- */

typedef struct asc_layer asc_layer;

/* A mixing layer by name ("transformer"), on width d_model; `config`: its JSON settings. */
ASC_API asc_layer *asc_layer_new(asc_ctx *ctx, const char *mixing, int64_t d_model, const char *config,
                                 asc_dtype dtype, uint64_t seed);
ASC_API void asc_layer_free(asc_layer *layer); /* NULL is accepted */
ASC_API asc_params *asc_layer_params(asc_layer *layer); /* borrowed */
/* x (B, N, D) to (B, N, D). lengths: i64 (B), the tokens of each sequence that count, or null. */
ASC_API asc_tensor asc_layer_forward(asc_layer *layer, asc_tensor x, asc_tensor lengths);

/* The names of the mixings, NULL past the last. */
ASC_API const char *asc_mixing_at(int i);

#ifdef __cplusplus
}
#endif
#endif
