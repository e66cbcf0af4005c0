/*
 * ascgrad/nn.h: language models and the mixing layers in them.
 *
 * A model is described by a JSON object, so that a run's config.json, a model file's metadata and a program's
 * literal are the same thing:
 *
 *   {"mix": "transformer", "d_model": 256, "d_ff": 1024, "layers": 6, "heads": 4, "vocab": 30522, "block": 128}
 *
 * asc_lm_schema lists all keys; doc/settings.md is made of it. doc/model.md has the equations.
 */
#ifndef ASCGRAD_NN_H
#define ASCGRAD_NN_H

#include <ascgrad/params.h>
#include <ascgrad/setting.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_lm asc_lm;
typedef struct asc_layer asc_layer;
typedef struct asc_lm_carried asc_lm_carried;

/* A new model with initial values drawn from `seed` (doc/model.md), dtype f32 or f64. `config`: the JSON object, as
 * text. NULL with the error set: a key that is unknown (the nearest one is named), missing, or of a wrong type or
 * range. */
ASC_API asc_lm *asc_lm_new(asc_ctx *ctx, const char *config, asc_dtype dtype, uint64_t seed);
ASC_API void asc_lm_free(asc_lm *lm); /* NULL is accepted */

/* The settings of a configuration: the model's (i = 0), then each mixing's of asc_mixing_at; owner NULL past the
 * last. */
ASC_API asc_schema asc_lm_schema(const asc_ctx *ctx, int i);

/* The configuration with every setting in effect, as JSON text; borrowed. */
ASC_API const char *asc_lm_config(const asc_lm *lm);
ASC_API int64_t asc_lm_layers(const asc_lm *lm);
ASC_API int64_t asc_lm_vocab(const asc_lm *lm);
ASC_API int64_t asc_lm_block(const asc_lm *lm);
/* The classes of a classifier ("head": "classifier"); 0 of a language model. */
ASC_API int64_t asc_lm_classes(const asc_lm *lm);
/* The longest sequence that it takes: asc_lm_block with learned positions, INT64_MAX without. */
ASC_API int64_t asc_lm_longest(const asc_lm *lm);
/* How many tokens of the block before a block looks back at ("carry"); 0: it begins with nothing before it. */
ASC_API int64_t asc_lm_carry(const asc_lm *lm);
/* The parameters, named as in doc/model.md; borrowed. */
ASC_API asc_params *asc_lm_params(asc_lm *lm);

/* The factor on the learning rate of parameter number `param` of asc_lm_params: 1, and with "mup_width" what
 * doc/model-switches.md says, for an optimiser that normalises its step, as AdamW and Muon do. 1 for what is no
 * parameter. */
ASC_API double asc_lm_rate_scale(const asc_lm *lm, int param);

/* The dropout of the calls from here on, 0 <= p < 1; 0, the initial value, for evaluation. ASC_ERR_ARG: another; it
 * stays as it was. */
ASC_API asc_status asc_lm_set_dropout(asc_lm *lm, double p);

/* Whether the calls from here on keep only the hidden states between the blocks for the backward pass, which computes
 * each block again (asc_recompute): less memory, more time, the same bits. The model must then outlive that
 * pass, and what it carries go on behind it (else the pass is ASC_ERR_STATE). false, the initial value, keeps all. */
ASC_API void asc_lm_set_recompute(asc_lm *lm, bool recompute);

/* Brings parameters back to where they have a meaning: ASCender's τ and τ_score to at least 1e-3, its κ to at least 0.
 * Call it after every step of an optimiser; parameters in their range stay as they are, to the bit. */
ASC_API void asc_lm_project(asc_lm *lm);

/* Phases in what layers want to come late in a training, such as ASCender's separation, by its weight ω_sep: with
 * 0 <= share <= 1 it is held at `share` of its initial strength, and not trained; with share < 0 it is trained from
 * here on, from the value that it has, unless the settings freeze it. Layers that phase nothing in stay as they are.
 * ASC_ERR_ARG: another share. */
ASC_API asc_status asc_lm_ramp(asc_lm *lm, double share);

/* Holds a number of the layers that training would find itself, as ASCender's omega_sep or tau_score, at *value in all
 * heads of all layers that have it, not trained; with NULL it is trained from here on, from the value that it has,
 * unless the settings freeze it. ASC_ERR_ARG: no layer has one of that name, or *value is out of its range. */
ASC_API asc_status asc_lm_hold(asc_lm *lm, const char *name, const double *value);

/* Whether asc_lm_objective counts auxiliary losses from here on; true, the initial value. */
ASC_API void asc_lm_set_aux(asc_lm *lm, bool counts);

/* How far the output of layer number `layer` moves, for the tokens i64 (1, N), if its number `name` (as of asc_lm_hold)
 * is doubled, or becomes 1 where it is 0: of each head the largest difference over the largest entry, f64 (H). A number
 * that moves nothing by more than rounding has a gradient of rounding errors. New; null where the layer has none of
 * that name, and with the error set. Cost: a forward pass, and the layer once more. */
ASC_API asc_tensor asc_lm_moves(asc_lm *lm, asc_tensor tokens, int64_t layer, const char *name);

/* A value of layer number `layer`, named by its mixing and a name of its own; borrowed until the function returns. */
typedef void asc_log_fn(void *user, int64_t layer, const char *mixing, const char *name, asc_tensor value);
/* Tells what a training is to write down of the layers, as their mixings have it: of ASCender ω and λ, one a head.
 * `tokens`, i64 (B, N): and what takes a look inside the layers for them, of ASCender each head's mean gate γ and
 * density η; null: without. No gradient. Errors as asc_lm_inspect. */
ASC_API asc_status asc_lm_log(asc_lm *lm, asc_tensor tokens, asc_log_fn *tell, void *user);

/* Mean next-token cross-entropy in nats. x, y: i64 (B, N), N <= asc_lm_longest; y[b, t] follows x[b, t]; negative
 * entries of y are ignored. If token_loss is not NULL it gets each token's loss, (B, N), without a gradient. No B·N×V
 * logits are held. ASC_ERR_ARG, here and in what follows: more tokens, one of x or of y beyond the vocabulary, another
 * shape. */
ASC_API asc_tensor asc_lm_loss(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss);
/* The same. If top is not NULL it gets (B, N, 2), of use where y is not negative: the probability of the token that the
 * model holds most probable, and 1 where that is the target, or as probable, else 0. */
ASC_API asc_tensor asc_lm_loss_top(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss, asc_tensor *top);
/* What training minimises: that cross-entropy, and the auxiliary losses that the layers' settings give a weight, summed
 * over the layers. If loss is not NULL it gets the value of the cross-entropy alone, which is what is reported. */
ASC_API asc_tensor asc_lm_objective(asc_lm *lm, asc_tensor x, asc_tensor y, double *loss);
/* The mixing layer of block number `layer`, to give it neighbours, a mask or a bias of one's own (asc_layer_restrict,
 * asc_layer_set_bias), which the model's passes and caches then heed; borrowed, and not to be freed. Its parameters are
 * the model's: asc_layer_params has none. NULL with the error set for a layer that is not there. */
ASC_API asc_layer *asc_lm_layer(asc_lm *lm, int64_t layer);

/* Logits (B, N, V). */
ASC_API asc_tensor asc_lm_logits(asc_lm *lm, asc_tensor x);
/* The states (B, N, D) after the last block, which the head is applied to. lengths: i64 (B), the tokens of each
 * sequence that count, or null; what stands behind them is anything. */
ASC_API asc_tensor asc_lm_states(asc_lm *lm, asc_tensor x, asc_tensor lengths);

/* ---- carried context (Dai et al., Transformer-XL, arXiv 1901.02860; doc/carry.md) ----
 *
 * A text is read block after block, and what the layers were given for the last `tokens` tokens of the block before
 * stands before a block's own, as earlier tokens of the same sequence. No gradient flows through it. A pass of
 * asc_lm_loss, asc_lm_objective, asc_lm_logits or asc_lm_states goes on from it:
 *
 *     asc_lm_carried *c = asc_lm_carried_new(lm, 64);
 *     asc_lm_set_carried(lm, c);
 *     for each block of each row's stream: asc_lm_objective, asc_backward, asc_lm_carried_advance(c), the optimiser's
 *     step; asc_lm_carried_reset(c) where the streams begin anew
 */

/* Room for what the model's layers carry of `tokens` >= 1 tokens, which need not be the model's own setting; empty. The
 * model must outlive it, and it the passes that go on from it. Memory: for each row and layer two times the inputs of
 * so many tokens, or less where a layer looks at fewer, and its states. NULL with the error set: ASC_ERR_ARG, a layer
 * carries nothing, positions are learned, or it is a classifier; ASC_ERR_MEMORY. */
ASC_API asc_lm_carried *asc_lm_carried_new(asc_lm *lm, int64_t tokens);
ASC_API void asc_lm_carried_free(asc_lm_carried *carried); /* NULL is accepted; no longer set from then on */
/* From here on, passes go on from `carried`; NULL, as in the beginning: from nothing. Generation, and what looks inside
 * of layers, does not heed it. ASC_ERR_ARG: it is another model's. */
ASC_API asc_status asc_lm_set_carried(asc_lm *lm, asc_lm_carried *carried);
/* What the last pass has left takes the place of what it went on from: to be called when that pass' gradients have been
 * computed. Until then the same pass can be done again. ASC_ERR_STATE: there was no pass. */
ASC_API asc_status asc_lm_carried_advance(asc_lm_carried *carried);
/* The streams begin anew, of any number of rows. */
ASC_API void asc_lm_carried_reset(asc_lm_carried *carried);
/* The tokens that each stream has had since then. */
ASC_API int64_t asc_lm_carried_length(const asc_lm_carried *carried);
/* Adds copies of all that is held to `tensors`, for a checkpoint: "LAYER.inputs" (B, p, D), "LAYER.state.I". */
ASC_API asc_status asc_lm_carried_save(const asc_lm_carried *carried, asc_params *tensors);
/* Takes it from there, for streams of `rows` rows that have had `length` tokens: what save added, no more and no less.
 * ASC_ERR_FORMAT: a tensor is missing, one too many, of other rows, or inputs of another shape; it is then empty. */
ASC_API asc_status asc_lm_carried_load(asc_lm_carried *carried, const asc_params *tensors, int64_t rows,
                                       int64_t length);

/* ---- classifiers: models with "head": "classifier", whose layers may look ahead. asc_lm_loss, asc_lm_objective,
 * asc_lm_logits and generation are for language models alone ---- */

/* Logits (B, C) of sequences x, i64 (B, N), of `lengths` tokens each, i64 (B), or null: N. */
ASC_API asc_tensor asc_lm_classify(asc_lm *lm, asc_tensor x, asc_tensor lengths);
/* What training minimises: the mean cross-entropy of the classes `labels`, i64 (B), -1 for none, and the auxiliary
 * losses of the layers. If loss is not NULL it gets the value of the cross-entropy alone. */
ASC_API asc_tensor asc_lm_class_objective(asc_lm *lm, asc_tensor x, asc_tensor lengths, asc_tensor labels,
                                          double *loss);
/* The weight that a sequence of each class has in the objective from here on, which is then Σ w_y l / Σ w_y of the
 * pass; `weights`: as many as asc_lm_classes, copied. NULL, as in the beginning: all alike. ASC_ERR_ARG: one is below
 * 0, or not finite; ASC_ERR_MEMORY. */
ASC_API asc_status asc_lm_set_class_weights(asc_lm *lm, const double *weights);
/* The highest of the last dimension of logits (..., C), contiguous, for each of the others into top[]; of equal ones
 * the lower. ASC_ERR_ARG. */
ASC_API asc_status asc_top_classes(asc_ctx *ctx, asc_tensor logits, int64_t *top);
/* Means over the first lengths_b rows of x (B, N, D): (B, D); 0 for a length of 0. lengths i64 (B), or null: N. What
 * stands behind them has no part, whatever it is. ASC_ERR_ARG: shapes, or a length that is not 0 to N. */
ASC_API asc_tensor asc_mean_within(asc_ctx *ctx, asc_tensor x, asc_tensor lengths);

/* ---- models of pairs of sentences ("head": "pairs"): classifiers of a premise and a hypothesis (doc/nli.md).
 * asc_lm_classify, asc_lm_class_objective and asc_lm_states take as x
 *   of a model with "states": E   the rows of both sentences (B, N, E), the premise's and then the hypothesis's: means
 *                                 of a frozen encoder's states over windows of tokens, in the model's dtype
 *   without                       their tokens i64 (B, N), which the model embeds, and takes the windows' means itself
 * and as lengths i64 (B, 2): how many of them are the premise's, how many the hypothesis's. What stands behind both is
 * anything finite. ---- */

/* What a model of pairs takes; all zero for another model, or NULL. */
typedef struct asc_pair_inputs {
    bool pairs;             /* it is a model of pairs */
    int64_t states;         /* E; 0: tokens */
    int64_t window, stride; /* of a row, in tokens */
    bool together;          /* the states are those of both sentences read as one */
    bool left_out[2];       /* the premise, the hypothesis: what it is not to be given ("sees"); its length is then 0 */
} asc_pair_inputs;
ASC_API asc_pair_inputs asc_lm_pair_inputs(const asc_lm *lm);

/* How many windows begin within so many tokens, one every `stride`: ⌈tokens/stride⌉; 0 where one of them is below 1. */
ASC_API int64_t asc_window_count(int64_t tokens, int64_t stride);
/* Means over windows of tokens: those of `window` tokens from every `stride`-th one on, the last over what is left. x
 * (B, N, D) has in each row S sentences one after another, of lengths i64 (B, S); the result (B, W, D) their windows
 * likewise, 0 behind the last, W >= 1 the most that a row has. *counts, unless counts is NULL, gets how many, i64
 * (B, S). What x has behind its sentences must be finite. ASC_ERR_ARG: other shapes, a window or stride below 1. */
ASC_API asc_tensor asc_window_means(asc_ctx *ctx, asc_tensor x, asc_tensor lengths, int64_t window, int64_t stride,
                                    asc_tensor *counts);

/* What layer number `layer` computes inside for the tokens i64 (B, N): see asc_layer_inspect; and its block's output,
 * "hidden" (B, N, D), alone where the mixing shows nothing of its inside. ASC_ERR_ARG also for a layer that is not
 * there. No gradient. */
ASC_API asc_status asc_lm_inspect(asc_lm *lm, asc_tensor tokens, int64_t layer, asc_params *parts);

/* Adds to `features` what layer number `layer` has of the tokens i64 (B, N), as f64 (units, B N, width), a row for each
 * token; units are heads or pairs.
 *   hidden          (1, B N, D)               the block's output
 *   attention       (H, B N, min(N, reach))   weights by distance: A_i,i-Δ, Δ = 0, 1, …; 0 where there is none
 *   attention_rows  (H, B N, N)               weights as they are
 *   z               (H, B N, d_z)             of ASCender; (1, B N, r) of Grassmann mixing, its reduced vectors
 *   plucker         (m, B N, P)               of Grassmann mixing
 * A sequence at a time is looked into: time as asc_lm_inspect's B times, memory of it once and of the features.
 * ASC_ERR_ARG. */
ASC_API asc_status asc_lm_features(asc_lm *lm, asc_tensor tokens, int64_t layer, int64_t reach, asc_params *features);

/* ---- generation, on a cache ---- */

typedef struct asc_lm_cache asc_lm_cache;

/* Whether a sequence may go on for ever: no learned positions end, and no layer keeps something of every token (of
 * Grassmann mixing, linear attention, convolution or recurrence without pos_emb), or it carries context
 * (asc_lm_carry): a block at a time then, behind the last tokens of the one before, as in training. Memory and time a
 * token then do not depend on the position. */
ASC_API bool asc_lm_streams(const asc_lm *lm);
#define ASC_LM_ENDLESS INT64_MAX

/* A cache for one sequence of at most `capacity` tokens: at most the block length where positions are learned;
 * ASC_LM_ENDLESS for a model that streams. The model must outlive it. NULL with the error set: ASC_ERR_ARG: another
 * capacity, or a classifier; ASC_ERR_MEMORY. */
ASC_API asc_lm_cache *asc_lm_cache_new(asc_lm *lm, int64_t capacity);
ASC_API void asc_lm_cache_free(asc_lm_cache *cache); /* NULL is accepted */
ASC_API void asc_lm_cache_reset(asc_lm_cache *cache);
ASC_API int64_t asc_lm_cache_length(const asc_lm_cache *cache);
ASC_API int64_t asc_lm_cache_capacity(const asc_lm_cache *cache);
/* Appends n >= 1 tokens and returns the logits (V) after the last, equal to the full pass to rounding; to that of a
 * model that carries context, block after block from the cache's first token on. ASC_ERR_ARG: a token outside of the
 * vocabulary, or no room. After a failure the cache has the tokens that it had, and of several blocks those that were
 * done: asc_lm_cache_length. No gradient. */
ASC_API asc_tensor asc_lm_next(asc_lm_cache *cache, const int64_t *tokens, int64_t n);

/* ---- one layer alone ---- */

/* A mixing layer by name (asc_mixing_at), on width d_model; `config`: its JSON settings, "{}" for none. NULL with the
 * error set: ASC_ERR_ARG: no such mixing, a setting that is unknown, out of range or missing (`heads`);
 * ASC_ERR_MEMORY. */
ASC_API asc_layer *asc_layer_new(asc_ctx *ctx, const char *mixing, int64_t d_model, const char *config,
                                 asc_dtype dtype, uint64_t seed);
ASC_API void asc_layer_free(asc_layer *layer); /* NULL, or a layer of a model, which stays, is accepted */
ASC_API asc_params *asc_layer_params(asc_layer *layer); /* borrowed */
/* x (B, N, D) to (B, N, D). lengths: i64 (B), the tokens of each sequence that count, or null. ASC_ERR_ARG: x
 * has another width or dtype, lengths another shape. */
ASC_API asc_tensor asc_layer_forward(asc_layer *layer, asc_tensor x, asc_tensor lengths);
/* The same; *aux, if aux is not NULL, gets the layer's auxiliary loss, a scalar with its weight in it, or null if its
 * settings ask for none. */
ASC_API asc_tensor asc_layer_forward_aux(asc_layer *layer, asc_tensor x, asc_tensor lengths, asc_tensor *aux);

/* From here on the layer looks only where `mask` allows it, too: u8 that broadcasts to (B, H, N, N), not 0 where
 * allowed (transformer, ascender); and an ASCender layer's neighbours are those of the list `neighbors`, i64
 * (1 or B, 1 or H, N, m) with -1 for none, not those that its settings choose: of a graph, a grid
 * (asc_grid_neighbors), a syntax. Null: as the settings say. N may be more than the positions of a call, of which it
 * then takes the first, and a cache as many as it comes to. Borrowed: they must live as long as they are used.
 * ASC_ERR_ARG: the mixing has no such thing. */
ASC_API asc_status asc_layer_restrict(asc_layer *layer, asc_tensor mask, asc_tensor neighbors);
/* From here on the layer adds `bias`, (N, N), (1 or H, N, N) or (1 or B, 1 or H, N, N) of its dtype, to the scores
 * (transformer, ascender); null: nothing. It gets a gradient if it requires one. N, lifetime and error as above. */
ASC_API asc_status asc_layer_set_bias(asc_layer *layer, asc_tensor bias);

/* Cross-attention (transformer, ascender): the tokens of x (B, N, D) look at those of `context` (B, M, D), of which the
 * first lengths_b count, i64 (B), or all with null, and not at one another; N and M are any. Queries come from x, keys
 * and values from the context, and of an ASCender layer places and features of each from itself, by the layer's same
 * matrices. The setting `mask` has no say; a mask, neighbours and a bias of the caller's are for N queries and M keys.
 * What goes by position is refused: window, globals, random, positions, rel; of an ASCender layer also neighbours in a
 * window, the background variant, listings, stats all, and auxiliary losses. ASC_ERR_ARG. */
ASC_API asc_tensor asc_layer_cross(asc_layer *layer, asc_tensor x, asc_tensor context, asc_tensor lengths);

/* What a model has, of a layer alone: its settings in effect, as JSON, borrowed; asc_lm_project, to be called after
 * every step; asc_lm_ramp; asc_lm_hold, which freezes a number at *value, or lets it be trained again. */
ASC_API const char *asc_layer_config(const asc_layer *layer);
ASC_API void asc_layer_project(asc_layer *layer);
ASC_API asc_status asc_layer_ramp(asc_layer *layer, double share);
ASC_API asc_status asc_layer_hold(asc_layer *layer, const char *name, const double *value);

/* Adds to `parts` what the layer computes inside for x (B, N, D); no gradient. The list keeps the tensors.
 *   transformer  s, attn (B, H, N, N): scores with their biases, attention; 0 outside of the allowed set; entropy (H),
 *                -Σ_j A_ij log A_ij in nats, its mean over batch and rows; entropy_rows (B, H, N), each row's, f64;
 *                where there are positions in it, or a bias of the caller's, b_other (B, H, N, N), what these add, and
 *                s_base
 *   ascender     the same, and s_base, b_align, b_sep, b_coh (B, H, N, N); gamma_align, gamma_coh, eta (B, H, N, 1),
 *                the gates, and loss_coh, loss_sep, loss_align, scalars without their weights (neither of the
 *                background variant); z (B, H, N, d_z), and attn_without_sep, the attention with ω_sep = 0
 *   grassmann    plucker (B, N, m, P), normalised, 0 where there is no pair; flow (B, N, G, P/G), the directions of
 *                their sum, one a group; gate (B, N, D); z (B, N, r)
 *   linear       s, attn, entropy, entropy_rows as the transformer, attn the weight of each key and s its logarithm but
 *                for the divisor; decay (B, N, H), where there is one
 *   recurrent    decay and input_gate (B, N, R); filter (R, W), the convolution's
 *   conv         filter (R, W) */
ASC_API asc_status asc_layer_inspect(asc_layer *layer, asc_tensor x, asc_tensor lengths, asc_params *parts);
/* The same of asc_layer_cross; pairs are then (B, H, N, M), and z is the context's. */
ASC_API asc_status asc_layer_inspect_cross(asc_layer *layer, asc_tensor x, asc_tensor context, asc_tensor lengths,
                                           asc_params *parts);

/* The names of the mixings, the library's and then those registered with the context (NULL: none); NULL past the
 * last. */
ASC_API const char *asc_mixing_at(const asc_ctx *ctx, int i);
/* Whether the mixing of that name has a setting `key`; false for a name that is none, or NULL. */
ASC_API bool asc_mixing_takes(const asc_ctx *ctx, const char *mixing, const char *key);

#ifdef __cplusplus
}
#endif
#endif
