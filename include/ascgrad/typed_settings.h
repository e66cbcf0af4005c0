/*
 * ascgrad/typed_settings.h: a struct for the settings of the model and of each mixing. Made from the tables of them by
 * `make update-typed-settings`; ascgrad/typed.h says how they are used, doc/settings.md what they mean.
 */
#ifndef ASCGRAD_TYPED_SETTINGS_H
#define ASCGRAD_TYPED_SETTINGS_H

#include <ascgrad/typed.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- model ---- */

typedef enum asc_model_block_norm { ASC_MODEL_BLOCK_NORM_DEFAULT, ASC_MODEL_BLOCK_NORM_POST, ASC_MODEL_BLOCK_NORM_PRE }
    asc_model_block_norm;
typedef enum asc_model_head { ASC_MODEL_HEAD_DEFAULT, ASC_MODEL_HEAD_LM, ASC_MODEL_HEAD_CLASSIFIER, ASC_MODEL_HEAD_PAIRS
    } asc_model_head;
typedef enum asc_model_pool { ASC_MODEL_POOL_DEFAULT, ASC_MODEL_POOL_MEAN, ASC_MODEL_POOL_FIRST } asc_model_pool;
typedef enum asc_model_pairs { ASC_MODEL_PAIRS_DEFAULT, ASC_MODEL_PAIRS_APART, ASC_MODEL_PAIRS_TOGETHER }
    asc_model_pairs;
typedef enum asc_model_sees { ASC_MODEL_SEES_DEFAULT, ASC_MODEL_SEES_BOTH, ASC_MODEL_SEES_PREMISE,
    ASC_MODEL_SEES_HYPOTHESIS } asc_model_sees;
typedef enum asc_model_norm { ASC_MODEL_NORM_DEFAULT, ASC_MODEL_NORM_LAYER, ASC_MODEL_NORM_RMS } asc_model_norm;
typedef enum asc_model_activation { ASC_MODEL_ACTIVATION_DEFAULT, ASC_MODEL_ACTIVATION_GELU, ASC_MODEL_ACTIVATION_RELU2,
    ASC_MODEL_ACTIVATION_SWIGLU, ASC_MODEL_ACTIVATION_GEGLU } asc_model_activation;

typedef struct asc_model_settings {
    int none; /* so that ASC_MODEL(0) gives nothing */
    /* layers of the model */
    int64_t layers;
    /* what mixes the positions, by name */
    asc_texts mix;
    /* width of the model */
    int64_t d_model;
    /* width of the feed-forward layers */
    int64_t d_ff;
    /* number of tokens; a training has it from its tokenizer */
    int64_t vocab;
    /* tokens of a sequence, at most */
    int64_t block;
    /* where layer norms stand, after each residual sum or before each branch */
    asc_model_block_norm block_norm;
    /* learned positions */
    asc_bools pos_emb;
    /* tokens of the block before that a block looks back at, as earlier ones of its own; 0: none */
    int64_t carry;
    /* a residual sum round the mixing */
    asc_bools mix_residual;
    /* what is predicted: the next token, the class of a sequence, or of a pair of sentences */
    asc_model_head head;
    /* what a classifier looks at: the mean over the tokens' last states, or the first token's; for head=classifier */
    asc_model_pool pool;
    /* number of classes; a training has it from its data; for head=classifier|pairs */
    int64_t classes;
    /* entries of the states that the model of pairs is given, which a training has from its encoder; 0: it embeds
     * tokens itself; for head=pairs */
    int64_t states;
    /* tokens of a window, whose mean is a row; for head=pairs */
    int64_t window_tokens;
    /* tokens from one window to the next; for head=pairs */
    int64_t window_stride;
    /* width of the layer between the sentences' means and the classes; for head=pairs */
    int64_t head_ff;
    /* how the encoder reads two sentences: each by itself, or as one, [CLS] premise [SEP] hypothesis [SEP], in which
     * each token's state has seen both; for head=pairs */
    asc_model_pairs pairs;
    /* what the model is given; one sentence alone tells how far its class shows without the other; for head=pairs */
    asc_model_sees sees;
    /* layer norm, or RMS norm, which takes no mean off */
    asc_model_norm norm;
    /* of the feed-forward layers; swiglu and geglu have a gate, a third matrix */
    asc_model_activation activation;
    /* what projects back into the residual starts from 0 */
    bool zero_init;
    /* a norm on the embeddings */
    bool emb_norm;
    /* the head has the embedding's matrix; false: one of its own; for head=lm */
    asc_bools tied;
    /* c > 0 bounds the logits softly, by c tanh(s/c); for head=lm */
    double logit_cap;
    /* the width whose learning rate this model is to share: rates and initial values by width (µP); 0: not */
    int64_t mup_width;
} asc_model_settings;

static inline const asc_field *asc_model_fields(void)
{
    static const char *const block_norm[] = {"post", "pre", ASC_NULL};
    static const char *const head[] = {"lm", "classifier", "pairs", ASC_NULL};
    static const char *const pool[] = {"mean", "first", ASC_NULL};
    static const char *const pairs[] = {"apart", "together", ASC_NULL};
    static const char *const sees[] = {"both", "premise", "hypothesis", ASC_NULL};
    static const char *const norm[] = {"layer", "rms", ASC_NULL};
    static const char *const activation[] = {"gelu", "relu2", "swiglu", "geglu", ASC_NULL};
    static const asc_field fields[] = {
        {"layers", ASC_FIELD_INT, offsetof(asc_model_settings, layers), ASC_NULL},
        {"mix", ASC_FIELD_TEXTS, offsetof(asc_model_settings, mix), ASC_NULL},
        {"d_model", ASC_FIELD_INT, offsetof(asc_model_settings, d_model), ASC_NULL},
        {"d_ff", ASC_FIELD_INT, offsetof(asc_model_settings, d_ff), ASC_NULL},
        {"vocab", ASC_FIELD_INT, offsetof(asc_model_settings, vocab), ASC_NULL},
        {"block", ASC_FIELD_INT, offsetof(asc_model_settings, block), ASC_NULL},
        {"block_norm", ASC_FIELD_CHOICE, offsetof(asc_model_settings, block_norm), block_norm},
        {"pos_emb", ASC_FIELD_BOOLS, offsetof(asc_model_settings, pos_emb), ASC_NULL},
        {"carry", ASC_FIELD_INT, offsetof(asc_model_settings, carry), ASC_NULL},
        {"mix_residual", ASC_FIELD_BOOLS, offsetof(asc_model_settings, mix_residual), ASC_NULL},
        {"head", ASC_FIELD_CHOICE, offsetof(asc_model_settings, head), head},
        {"pool", ASC_FIELD_CHOICE, offsetof(asc_model_settings, pool), pool},
        {"classes", ASC_FIELD_INT, offsetof(asc_model_settings, classes), ASC_NULL},
        {"states", ASC_FIELD_INT, offsetof(asc_model_settings, states), ASC_NULL},
        {"window_tokens", ASC_FIELD_INT, offsetof(asc_model_settings, window_tokens), ASC_NULL},
        {"window_stride", ASC_FIELD_INT, offsetof(asc_model_settings, window_stride), ASC_NULL},
        {"head_ff", ASC_FIELD_INT, offsetof(asc_model_settings, head_ff), ASC_NULL},
        {"pairs", ASC_FIELD_CHOICE, offsetof(asc_model_settings, pairs), pairs},
        {"sees", ASC_FIELD_CHOICE, offsetof(asc_model_settings, sees), sees},
        {"norm", ASC_FIELD_CHOICE, offsetof(asc_model_settings, norm), norm},
        {"activation", ASC_FIELD_CHOICE, offsetof(asc_model_settings, activation), activation},
        {"zero_init", ASC_FIELD_BOOL, offsetof(asc_model_settings, zero_init), ASC_NULL},
        {"emb_norm", ASC_FIELD_BOOL, offsetof(asc_model_settings, emb_norm), ASC_NULL},
        {"tied", ASC_FIELD_BOOLS, offsetof(asc_model_settings, tied), ASC_NULL},
        {"logit_cap", ASC_FIELD_REAL, offsetof(asc_model_settings, logit_cap), ASC_NULL},
        {"mup_width", ASC_FIELD_INT, offsetof(asc_model_settings, mup_width), ASC_NULL},
        {ASC_NULL, ASC_FIELD_INT, 0, ASC_NULL},
    };
    return fields;
}
#define ASC_MODEL(...) \
    ((asc_typed){"model", asc_model_fields(), &(const asc_model_settings){__VA_ARGS__}})

/* ---- transformer ---- */

typedef enum asc_transformer_mask { ASC_TRANSFORMER_MASK_DEFAULT, ASC_TRANSFORMER_MASK_CAUSAL, ASC_TRANSFORMER_MASK_FULL
    } asc_transformer_mask;
typedef enum asc_transformer_positions { ASC_TRANSFORMER_POSITIONS_DEFAULT, ASC_TRANSFORMER_POSITIONS_NONE,
    ASC_TRANSFORMER_POSITIONS_ROTARY, ASC_TRANSFORMER_POSITIONS_ALIBI } asc_transformer_positions;
typedef enum asc_transformer_qk_norm { ASC_TRANSFORMER_QK_NORM_DEFAULT, ASC_TRANSFORMER_QK_NORM_NONE,
    ASC_TRANSFORMER_QK_NORM_RMS, ASC_TRANSFORMER_QK_NORM_GAIN } asc_transformer_qk_norm;

typedef struct asc_transformer_settings {
    int none; /* so that ASC_TRANSFORMER(0) gives nothing */
    /* attention heads */
    int64_t heads;
    /* who sees whom; a language model is causal */
    asc_transformer_mask mask;
    /* w > 0: only |i - j| < w, and the global tokens */
    int64_t window;
    /* tokens at the start that all look at, beside a window */
    int64_t globals;
    /* n > 0: so many random links a token, beside a window */
    int64_t random;
    /* positions in attention, beside or in place of learned ones */
    asc_transformer_positions positions;
    /* R > 0: a learned bias for each distance up to R */
    int64_t rel;
    /* queries and keys of RMS 1 in each head, alone or with a learned gain */
    asc_transformer_qk_norm qk_norm;
    /* c > 0 bounds the scores softly, by c tanh(s/c), before position biases */
    double attn_cap;
} asc_transformer_settings;

static inline const asc_field *asc_transformer_fields(void)
{
    static const char *const mask[] = {"causal", "full", ASC_NULL};
    static const char *const positions[] = {"none", "rotary", "alibi", ASC_NULL};
    static const char *const qk_norm[] = {"none", "rms", "gain", ASC_NULL};
    static const asc_field fields[] = {
        {"heads", ASC_FIELD_INT, offsetof(asc_transformer_settings, heads), ASC_NULL},
        {"mask", ASC_FIELD_CHOICE, offsetof(asc_transformer_settings, mask), mask},
        {"window", ASC_FIELD_INT, offsetof(asc_transformer_settings, window), ASC_NULL},
        {"globals", ASC_FIELD_INT, offsetof(asc_transformer_settings, globals), ASC_NULL},
        {"random", ASC_FIELD_INT, offsetof(asc_transformer_settings, random), ASC_NULL},
        {"positions", ASC_FIELD_CHOICE, offsetof(asc_transformer_settings, positions), positions},
        {"rel", ASC_FIELD_INT, offsetof(asc_transformer_settings, rel), ASC_NULL},
        {"qk_norm", ASC_FIELD_CHOICE, offsetof(asc_transformer_settings, qk_norm), qk_norm},
        {"attn_cap", ASC_FIELD_REAL, offsetof(asc_transformer_settings, attn_cap), ASC_NULL},
        {ASC_NULL, ASC_FIELD_INT, 0, ASC_NULL},
    };
    return fields;
}
#define ASC_TRANSFORMER(...) \
    ((asc_typed){"transformer", asc_transformer_fields(), &(const asc_transformer_settings){__VA_ARGS__}})

/* ---- grassmann ---- */

typedef enum asc_grassmann_pair { ASC_GRASSMANN_PAIR_DEFAULT, ASC_GRASSMANN_PAIR_WEDGE, ASC_GRASSMANN_PAIR_SYMMETRIC,
    ASC_GRASSMANN_PAIR_PRODUCT, ASC_GRASSMANN_PAIR_CONCAT } asc_grassmann_pair;
typedef enum asc_grassmann_mask { ASC_GRASSMANN_MASK_DEFAULT, ASC_GRASSMANN_MASK_CAUSAL, ASC_GRASSMANN_MASK_FULL }
    asc_grassmann_mask;
typedef enum asc_grassmann_direction { ASC_GRASSMANN_DIRECTION_DEFAULT, ASC_GRASSMANN_DIRECTION_PAST,
    ASC_GRASSMANN_DIRECTION_FUTURE, ASC_GRASSMANN_DIRECTION_BOTH } asc_grassmann_direction;
typedef enum asc_grassmann_aggregate { ASC_GRASSMANN_AGGREGATE_DEFAULT, ASC_GRASSMANN_AGGREGATE_MEAN,
    ASC_GRASSMANN_AGGREGATE_SUM } asc_grassmann_aggregate;
typedef enum asc_grassmann_forget { ASC_GRASSMANN_FORGET_DEFAULT, ASC_GRASSMANN_FORGET_GATED, ASC_GRASSMANN_FORGET_FIXED
    } asc_grassmann_forget;
typedef enum asc_grassmann_scale { ASC_GRASSMANN_SCALE_DEFAULT, ASC_GRASSMANN_SCALE_UNIT, ASC_GRASSMANN_SCALE_RMS }
    asc_grassmann_scale;

typedef struct asc_grassmann_settings {
    int none; /* so that ASC_GRASSMANN(0) gives nothing */
    /* distances Δ to the tokens paired with, or a name for such lists */
    asc_ints offsets;
    /* lists of lags, in the offsets' place: with one lag planes, with two or three larger subspaces */
    asc_tuples tuples;
    /* reduced width of a token */
    asc_ints r;
    /* cuts r into G pieces of r/G, a plane or subspace each */
    asc_ints groups;
    /* what is made of two tokens; all but the wedge are controls, to see what it is worth */
    asc_grassmann_pair pair;
    /* who sees whom; a language model is causal */
    asc_grassmann_mask mask;
    /* where the tokens paired with stand; a language model looks at the past */
    asc_grassmann_direction direction;
    /* what is made of the pairs */
    asc_grassmann_aggregate aggregate;
    /* learned weights of the pairs in place of the mean: true, or the number of pairs */
    int64_t learned;
    /* one more pair, with a memory of all tokens before */
    asc_bools memory;
    /* how the memory fades: as a gate of each token says, or in each channel always alike */
    asc_grassmann_forget forget;
    /* a second feature, the mean of the coordinates so far */
    bool running_mean;
    /* length of a group's coordinates: 1, or the root of the number of all groups' */
    asc_grassmann_scale scale;
    /* coordinates are divided by their length; false: p as it is */
    asc_bools normalize;
    /* least denominator of the coordinates */
    double eps;
    /* sine of the angle below which a pair fades; without positions 1e-3 */
    double eps_rel;
    /* the gate sees the path of the coordinates, too: alignment with their mean, curvature, means of both */
    bool invariants;
    /* weight of a loss on coordinates that change from one layer to the next */
    double smooth;
    /* built from primitive ops, slow, to compare with */
    bool composed;
} asc_grassmann_settings;

static inline const asc_field *asc_grassmann_fields(void)
{
    static const char *const pair[] = {"wedge", "symmetric", "product", "concat", ASC_NULL};
    static const char *const mask[] = {"causal", "full", ASC_NULL};
    static const char *const direction[] = {"past", "future", "both", ASC_NULL};
    static const char *const aggregate[] = {"mean", "sum", ASC_NULL};
    static const char *const forget[] = {"gated", "fixed", ASC_NULL};
    static const char *const scale[] = {"unit", "rms", ASC_NULL};
    static const asc_field fields[] = {
        {"offsets", ASC_FIELD_LIST, offsetof(asc_grassmann_settings, offsets), ASC_NULL},
        {"tuples", ASC_FIELD_TUPLES, offsetof(asc_grassmann_settings, tuples), ASC_NULL},
        {"r", ASC_FIELD_INTS, offsetof(asc_grassmann_settings, r), ASC_NULL},
        {"groups", ASC_FIELD_INTS, offsetof(asc_grassmann_settings, groups), ASC_NULL},
        {"pair", ASC_FIELD_CHOICE, offsetof(asc_grassmann_settings, pair), pair},
        {"mask", ASC_FIELD_CHOICE, offsetof(asc_grassmann_settings, mask), mask},
        {"direction", ASC_FIELD_CHOICE, offsetof(asc_grassmann_settings, direction), direction},
        {"aggregate", ASC_FIELD_CHOICE, offsetof(asc_grassmann_settings, aggregate), aggregate},
        {"learned", ASC_FIELD_COUNT, offsetof(asc_grassmann_settings, learned), ASC_NULL},
        {"memory", ASC_FIELD_BOOLS, offsetof(asc_grassmann_settings, memory), ASC_NULL},
        {"forget", ASC_FIELD_CHOICE, offsetof(asc_grassmann_settings, forget), forget},
        {"running_mean", ASC_FIELD_BOOL, offsetof(asc_grassmann_settings, running_mean), ASC_NULL},
        {"scale", ASC_FIELD_CHOICE, offsetof(asc_grassmann_settings, scale), scale},
        {"normalize", ASC_FIELD_BOOLS, offsetof(asc_grassmann_settings, normalize), ASC_NULL},
        {"eps", ASC_FIELD_REAL, offsetof(asc_grassmann_settings, eps), ASC_NULL},
        {"eps_rel", ASC_FIELD_REAL, offsetof(asc_grassmann_settings, eps_rel), ASC_NULL},
        {"invariants", ASC_FIELD_BOOL, offsetof(asc_grassmann_settings, invariants), ASC_NULL},
        {"smooth", ASC_FIELD_REAL, offsetof(asc_grassmann_settings, smooth), ASC_NULL},
        {"composed", ASC_FIELD_BOOL, offsetof(asc_grassmann_settings, composed), ASC_NULL},
        {ASC_NULL, ASC_FIELD_INT, 0, ASC_NULL},
    };
    return fields;
}
#define ASC_GRASSMANN(...) \
    ((asc_typed){"grassmann", asc_grassmann_fields(), &(const asc_grassmann_settings){__VA_ARGS__}})

/* ---- ascender ---- */

typedef enum asc_ascender_listing { ASC_ASCENDER_LISTING_DEFAULT, ASC_ASCENDER_LISTING_NONE,
    ASC_ASCENDER_LISTING_INTENDED, ASC_ASCENDER_LISTING_REFERENCE } asc_ascender_listing;
typedef enum asc_ascender_variant { ASC_ASCENDER_VARIANT_DEFAULT, ASC_ASCENDER_VARIANT_SWARM,
    ASC_ASCENDER_VARIANT_BACKGROUND } asc_ascender_variant;
typedef enum asc_ascender_mask { ASC_ASCENDER_MASK_DEFAULT, ASC_ASCENDER_MASK_CAUSAL, ASC_ASCENDER_MASK_FULL }
    asc_ascender_mask;
typedef enum asc_ascender_positions { ASC_ASCENDER_POSITIONS_DEFAULT, ASC_ASCENDER_POSITIONS_NONE,
    ASC_ASCENDER_POSITIONS_ROTARY, ASC_ASCENDER_POSITIONS_ALIBI } asc_ascender_positions;
typedef enum asc_ascender_neighbors { ASC_ASCENDER_NEIGHBORS_DEFAULT, ASC_ASCENDER_NEIGHBORS_SEMANTIC,
    ASC_ASCENDER_NEIGHBORS_BASE, ASC_ASCENDER_NEIGHBORS_WINDOW, ASC_ASCENDER_NEIGHBORS_HYBRID_UNION,
    ASC_ASCENDER_NEIGHBORS_HYBRID_INTERSECTION } asc_ascender_neighbors;
typedef enum asc_ascender_kernel { ASC_ASCENDER_KERNEL_DEFAULT, ASC_ASCENDER_KERNEL_TAU, ASC_ASCENDER_KERNEL_TAU2 }
    asc_ascender_kernel;
typedef enum asc_ascender_gate { ASC_ASCENDER_GATE_DEFAULT, ASC_ASCENDER_GATE_BEFORE, ASC_ASCENDER_GATE_NONE,
    ASC_ASCENDER_GATE_AFTER } asc_ascender_gate;
typedef enum asc_ascender_stats { ASC_ASCENDER_STATS_DEFAULT, ASC_ASCENDER_STATS_ALLOWED, ASC_ASCENDER_STATS_ALL }
    asc_ascender_stats;
typedef enum asc_ascender_heading { ASC_ASCENDER_HEADING_DEFAULT, ASC_ASCENDER_HEADING_K, ASC_ASCENDER_HEADING_Q,
    ASC_ASCENDER_HEADING_QK } asc_ascender_heading;
typedef enum asc_ascender_coordinates { ASC_ASCENDER_COORDINATES_DEFAULT, ASC_ASCENDER_COORDINATES_LEARNED,
    ASC_ASCENDER_COORDINATES_POSITION } asc_ascender_coordinates;
typedef enum asc_ascender_freeze_inert { ASC_ASCENDER_FREEZE_INERT_DEFAULT, ASC_ASCENDER_FREEZE_INERT_FALSE,
    ASC_ASCENDER_FREEZE_INERT_TRUE, ASC_ASCENDER_FREEZE_INERT_MEASURED } asc_ascender_freeze_inert;
typedef enum asc_ascender_qk_norm { ASC_ASCENDER_QK_NORM_DEFAULT, ASC_ASCENDER_QK_NORM_NONE, ASC_ASCENDER_QK_NORM_RMS,
    ASC_ASCENDER_QK_NORM_GAIN } asc_ascender_qk_norm;

typedef struct asc_ascender_settings {
    int none; /* so that ASC_ASCENDER(0) gives nothing */
    /* attention heads */
    int64_t heads;
    /* settings as the authors' listing has them, intended or as it runs, which others then change */
    asc_ascender_listing listing;
    /* which biases, the background ones being those of the second draft */
    asc_ascender_variant variant;
    /* who sees whom; a language model is causal */
    asc_ascender_mask mask;
    /* w > 0: only |i - j| < w, and the global tokens */
    int64_t window;
    /* tokens at the start that all look at, beside a window */
    int64_t globals;
    /* n > 0: so many random links a token, beside a window */
    int64_t random;
    /* positions in attention, beside or in place of learned ones */
    asc_ascender_positions positions;
    /* R > 0: a learned bias for each distance up to R */
    int64_t rel;
    /* a language model takes this layer even where it sees the tokens to predict */
    bool look_ahead;
    /* who the neighbours of a token are */
    asc_ascender_neighbors neighbors;
    /* neighbours by score */
    asc_ints k;
    /* of the window of neighbours */
    asc_ints radius;
    /* a token is a candidate to be its own neighbour */
    asc_bools neighbor_self;
    /* a token counts in its own density */
    asc_bools rho_self;
    /* a token separates from itself */
    asc_bools sep_self;
    /* exp(-d²/τ), or exp(-d²/τ²) */
    asc_ascender_kernel kernel;
    /* where λ, γ and η act, seen from the row normalisation */
    asc_ascender_gate gate;
    /* alignment and cohesion have gates γ; false: γ = 1, in whatever order; for variant=swarm */
    asc_bools gamma;
    /* separation has its density η; false: η = 1; for variant=swarm */
    asc_bools eta;
    /* the rows' sample deviation */
    asc_bools unbiased;
    /* what statistics are over; all: the whole row, the mask at the softmax only */
    asc_ascender_stats stats;
    /* what headings are made of; other than k for the background variant only */
    asc_ascender_heading heading;
    /* places z: learned, xUᵀ, or the token's position j/s, in one dimension and without u.weight; for
     * variant=background */
    asc_ascender_coordinates coordinates;
    /* s of positions as places; for coordinates=position */
    double coordinate_scale;
    /* width of a head's queries and keys */
    int64_t d_head;
    /* width of a head's values */
    int64_t d_value;
    /* width of a head's places */
    int64_t dz;
    /* width of a head's features */
    int64_t da;
    /* initial strength of alignment; for variant=swarm */
    asc_reals lambda_align;
    /* initial strength of separation; for variant=swarm */
    asc_reals lambda_sep;
    /* initial strength of cohesion; for variant=swarm */
    asc_reals lambda_coh;
    /* initial width of separation */
    asc_reals tau_sep;
    /* initial width of cohesion; for variant=swarm */
    asc_reals tau_coh;
    /* initial density at which separation is full; for variant=swarm */
    asc_reals kappa;
    /* initial cosine above which tokens separate; for variant=swarm */
    asc_reals delta;
    /* initial slope of alignment's gate; below 0: the less the neighbours agree, the weaker; for variant=swarm */
    asc_reals alpha_align;
    /* initial slope of cohesion's gate; for variant=swarm */
    asc_reals alpha_coh;
    /* initial weight of alignment's normalised bias */
    asc_reals omega_align;
    /* initial weight of separation's */
    asc_reals omega_sep;
    /* initial weight of cohesion's */
    asc_reals omega_coh;
    /* initial temperature of the softmax */
    asc_reals tau_score;
    /* initial strength of the distance in separation; for variant=background */
    asc_reals lambda_dist;
    /* initial strength of the density in separation; for variant=background */
    asc_reals lambda_rho;
    /* initial threshold of cohesion; for variant=background */
    asc_reals theta_coh;
    /* scalars that are not trained, in all heads or, as omega_sep:0, in one */
    asc_texts freeze;
    /* nor are those that the gate order makes idle by name; measured: those that, doubled, move no output by more than
     * rounding when the training starts */
    asc_ascender_freeze_inert freeze_inert;
    /* scalars that all heads have one of */
    asc_texts share;
    /* weight of the auxiliary loss of cohesion */
    double aux_coh;
    /* weight of the auxiliary loss of separation */
    double aux_sep;
    /* weight of the auxiliary loss of alignment */
    double aux_align;
    /* queries and keys of RMS 1 in each head, alone or with a learned gain */
    asc_ascender_qk_norm qk_norm;
    /* built of primitive ops, slow, to check the fused one */
    bool composed;
} asc_ascender_settings;

static inline const asc_field *asc_ascender_fields(void)
{
    static const char *const listing[] = {"none", "intended", "reference", ASC_NULL};
    static const char *const variant[] = {"swarm", "background", ASC_NULL};
    static const char *const mask[] = {"causal", "full", ASC_NULL};
    static const char *const positions[] = {"none", "rotary", "alibi", ASC_NULL};
    static const char *const neighbors[] = {"semantic", "base", "window", "hybrid_union", "hybrid_intersection",
        ASC_NULL};
    static const char *const kernel[] = {"tau", "tau2", ASC_NULL};
    static const char *const gate[] = {"before", "none", "after", ASC_NULL};
    static const char *const stats[] = {"allowed", "all", ASC_NULL};
    static const char *const heading[] = {"k", "q", "qk", ASC_NULL};
    static const char *const coordinates[] = {"learned", "position", ASC_NULL};
    static const char *const freeze_inert[] = {"false", "true", "measured", ASC_NULL};
    static const char *const qk_norm[] = {"none", "rms", "gain", ASC_NULL};
    static const asc_field fields[] = {
        {"heads", ASC_FIELD_INT, offsetof(asc_ascender_settings, heads), ASC_NULL},
        {"listing", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, listing), listing},
        {"variant", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, variant), variant},
        {"mask", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, mask), mask},
        {"window", ASC_FIELD_INT, offsetof(asc_ascender_settings, window), ASC_NULL},
        {"globals", ASC_FIELD_INT, offsetof(asc_ascender_settings, globals), ASC_NULL},
        {"random", ASC_FIELD_INT, offsetof(asc_ascender_settings, random), ASC_NULL},
        {"positions", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, positions), positions},
        {"rel", ASC_FIELD_INT, offsetof(asc_ascender_settings, rel), ASC_NULL},
        {"look_ahead", ASC_FIELD_BOOL, offsetof(asc_ascender_settings, look_ahead), ASC_NULL},
        {"neighbors", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, neighbors), neighbors},
        {"k", ASC_FIELD_INTS, offsetof(asc_ascender_settings, k), ASC_NULL},
        {"radius", ASC_FIELD_INTS, offsetof(asc_ascender_settings, radius), ASC_NULL},
        {"neighbor_self", ASC_FIELD_BOOLS, offsetof(asc_ascender_settings, neighbor_self), ASC_NULL},
        {"rho_self", ASC_FIELD_BOOLS, offsetof(asc_ascender_settings, rho_self), ASC_NULL},
        {"sep_self", ASC_FIELD_BOOLS, offsetof(asc_ascender_settings, sep_self), ASC_NULL},
        {"kernel", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, kernel), kernel},
        {"gate", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, gate), gate},
        {"gamma", ASC_FIELD_BOOLS, offsetof(asc_ascender_settings, gamma), ASC_NULL},
        {"eta", ASC_FIELD_BOOLS, offsetof(asc_ascender_settings, eta), ASC_NULL},
        {"unbiased", ASC_FIELD_BOOLS, offsetof(asc_ascender_settings, unbiased), ASC_NULL},
        {"stats", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, stats), stats},
        {"heading", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, heading), heading},
        {"coordinates", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, coordinates), coordinates},
        {"coordinate_scale", ASC_FIELD_REAL, offsetof(asc_ascender_settings, coordinate_scale), ASC_NULL},
        {"d_head", ASC_FIELD_INT, offsetof(asc_ascender_settings, d_head), ASC_NULL},
        {"d_value", ASC_FIELD_INT, offsetof(asc_ascender_settings, d_value), ASC_NULL},
        {"dz", ASC_FIELD_INT, offsetof(asc_ascender_settings, dz), ASC_NULL},
        {"da", ASC_FIELD_INT, offsetof(asc_ascender_settings, da), ASC_NULL},
        {"lambda_align", ASC_FIELD_REALS, offsetof(asc_ascender_settings, lambda_align), ASC_NULL},
        {"lambda_sep", ASC_FIELD_REALS, offsetof(asc_ascender_settings, lambda_sep), ASC_NULL},
        {"lambda_coh", ASC_FIELD_REALS, offsetof(asc_ascender_settings, lambda_coh), ASC_NULL},
        {"tau_sep", ASC_FIELD_REALS, offsetof(asc_ascender_settings, tau_sep), ASC_NULL},
        {"tau_coh", ASC_FIELD_REALS, offsetof(asc_ascender_settings, tau_coh), ASC_NULL},
        {"kappa", ASC_FIELD_REALS, offsetof(asc_ascender_settings, kappa), ASC_NULL},
        {"delta", ASC_FIELD_REALS, offsetof(asc_ascender_settings, delta), ASC_NULL},
        {"alpha_align", ASC_FIELD_REALS, offsetof(asc_ascender_settings, alpha_align), ASC_NULL},
        {"alpha_coh", ASC_FIELD_REALS, offsetof(asc_ascender_settings, alpha_coh), ASC_NULL},
        {"omega_align", ASC_FIELD_REALS, offsetof(asc_ascender_settings, omega_align), ASC_NULL},
        {"omega_sep", ASC_FIELD_REALS, offsetof(asc_ascender_settings, omega_sep), ASC_NULL},
        {"omega_coh", ASC_FIELD_REALS, offsetof(asc_ascender_settings, omega_coh), ASC_NULL},
        {"tau_score", ASC_FIELD_REALS, offsetof(asc_ascender_settings, tau_score), ASC_NULL},
        {"lambda_dist", ASC_FIELD_REALS, offsetof(asc_ascender_settings, lambda_dist), ASC_NULL},
        {"lambda_rho", ASC_FIELD_REALS, offsetof(asc_ascender_settings, lambda_rho), ASC_NULL},
        {"theta_coh", ASC_FIELD_REALS, offsetof(asc_ascender_settings, theta_coh), ASC_NULL},
        {"freeze", ASC_FIELD_NAMES, offsetof(asc_ascender_settings, freeze), ASC_NULL},
        {"freeze_inert", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, freeze_inert), freeze_inert},
        {"share", ASC_FIELD_NAMES, offsetof(asc_ascender_settings, share), ASC_NULL},
        {"aux_coh", ASC_FIELD_REAL, offsetof(asc_ascender_settings, aux_coh), ASC_NULL},
        {"aux_sep", ASC_FIELD_REAL, offsetof(asc_ascender_settings, aux_sep), ASC_NULL},
        {"aux_align", ASC_FIELD_REAL, offsetof(asc_ascender_settings, aux_align), ASC_NULL},
        {"qk_norm", ASC_FIELD_CHOICE, offsetof(asc_ascender_settings, qk_norm), qk_norm},
        {"composed", ASC_FIELD_BOOL, offsetof(asc_ascender_settings, composed), ASC_NULL},
        {ASC_NULL, ASC_FIELD_INT, 0, ASC_NULL},
    };
    return fields;
}
#define ASC_ASCENDER(...) \
    ((asc_typed){"ascender", asc_ascender_fields(), &(const asc_ascender_settings){__VA_ARGS__}})

/* ---- linear ---- */

typedef enum asc_linear_mask { ASC_LINEAR_MASK_DEFAULT, ASC_LINEAR_MASK_CAUSAL, ASC_LINEAR_MASK_FULL } asc_linear_mask;
typedef enum asc_linear_feature { ASC_LINEAR_FEATURE_DEFAULT, ASC_LINEAR_FEATURE_ELU, ASC_LINEAR_FEATURE_FAVOR }
    asc_linear_feature;
typedef enum asc_linear_decay { ASC_LINEAR_DECAY_DEFAULT, ASC_LINEAR_DECAY_NONE, ASC_LINEAR_DECAY_FIXED,
    ASC_LINEAR_DECAY_GATED } asc_linear_decay;
typedef enum asc_linear_qk_norm { ASC_LINEAR_QK_NORM_DEFAULT, ASC_LINEAR_QK_NORM_NONE, ASC_LINEAR_QK_NORM_RMS,
    ASC_LINEAR_QK_NORM_GAIN } asc_linear_qk_norm;

typedef struct asc_linear_settings {
    int none; /* so that ASC_LINEAR(0) gives nothing */
    /* attention heads */
    int64_t heads;
    /* who sees whom; a language model is causal */
    asc_linear_mask mask;
    /* what takes the exponential's place */
    asc_linear_feature feature;
    /* random features of a head; for feature=favor */
    int64_t features;
    /* how earlier tokens fade: not, by 1 - 2^(-5-h) a token, or as a gate says */
    asc_linear_decay decay;
    /* queries and keys of RMS 1 in each head, alone or with a learned gain */
    asc_linear_qk_norm qk_norm;
    /* built from primitive ops, slow, to compare with */
    bool composed;
} asc_linear_settings;

static inline const asc_field *asc_linear_fields(void)
{
    static const char *const mask[] = {"causal", "full", ASC_NULL};
    static const char *const feature[] = {"elu", "favor", ASC_NULL};
    static const char *const decay[] = {"none", "fixed", "gated", ASC_NULL};
    static const char *const qk_norm[] = {"none", "rms", "gain", ASC_NULL};
    static const asc_field fields[] = {
        {"heads", ASC_FIELD_INT, offsetof(asc_linear_settings, heads), ASC_NULL},
        {"mask", ASC_FIELD_CHOICE, offsetof(asc_linear_settings, mask), mask},
        {"feature", ASC_FIELD_CHOICE, offsetof(asc_linear_settings, feature), feature},
        {"features", ASC_FIELD_INT, offsetof(asc_linear_settings, features), ASC_NULL},
        {"decay", ASC_FIELD_CHOICE, offsetof(asc_linear_settings, decay), decay},
        {"qk_norm", ASC_FIELD_CHOICE, offsetof(asc_linear_settings, qk_norm), qk_norm},
        {"composed", ASC_FIELD_BOOL, offsetof(asc_linear_settings, composed), ASC_NULL},
        {ASC_NULL, ASC_FIELD_INT, 0, ASC_NULL},
    };
    return fields;
}
#define ASC_LINEAR(...) \
    ((asc_typed){"linear", asc_linear_fields(), &(const asc_linear_settings){__VA_ARGS__}})

/* ---- conv ---- */

typedef enum asc_conv_mask { ASC_CONV_MASK_DEFAULT, ASC_CONV_MASK_CAUSAL, ASC_CONV_MASK_FULL } asc_conv_mask;

typedef struct asc_conv_settings {
    int none; /* so that ASC_CONV(0) gives nothing */
    /* channels R of the convolution or the recurrence */
    asc_ints inner;
    /* taps of the short convolution */
    asc_ints width;
    /* who sees whom; a language model is causal */
    asc_conv_mask mask;
} asc_conv_settings;

static inline const asc_field *asc_conv_fields(void)
{
    static const char *const mask[] = {"causal", "full", ASC_NULL};
    static const asc_field fields[] = {
        {"inner", ASC_FIELD_INTS, offsetof(asc_conv_settings, inner), ASC_NULL},
        {"width", ASC_FIELD_INTS, offsetof(asc_conv_settings, width), ASC_NULL},
        {"mask", ASC_FIELD_CHOICE, offsetof(asc_conv_settings, mask), mask},
        {ASC_NULL, ASC_FIELD_INT, 0, ASC_NULL},
    };
    return fields;
}
#define ASC_CONV(...) \
    ((asc_typed){"conv", asc_conv_fields(), &(const asc_conv_settings){__VA_ARGS__}})

/* ---- recurrent ---- */

typedef enum asc_recurrent_mask { ASC_RECURRENT_MASK_DEFAULT, ASC_RECURRENT_MASK_CAUSAL, ASC_RECURRENT_MASK_FULL }
    asc_recurrent_mask;

typedef struct asc_recurrent_settings {
    int none; /* so that ASC_RECURRENT(0) gives nothing */
    /* channels R of the convolution or the recurrence */
    asc_ints inner;
    /* taps of the short convolution */
    asc_ints width;
    /* who sees whom; a language model is causal */
    asc_recurrent_mask mask;
    /* built from primitive ops, slow, to compare with */
    bool composed;
} asc_recurrent_settings;

static inline const asc_field *asc_recurrent_fields(void)
{
    static const char *const mask[] = {"causal", "full", ASC_NULL};
    static const asc_field fields[] = {
        {"inner", ASC_FIELD_INTS, offsetof(asc_recurrent_settings, inner), ASC_NULL},
        {"width", ASC_FIELD_INTS, offsetof(asc_recurrent_settings, width), ASC_NULL},
        {"mask", ASC_FIELD_CHOICE, offsetof(asc_recurrent_settings, mask), mask},
        {"composed", ASC_FIELD_BOOL, offsetof(asc_recurrent_settings, composed), ASC_NULL},
        {ASC_NULL, ASC_FIELD_INT, 0, ASC_NULL},
    };
    return fields;
}
#define ASC_RECURRENT(...) \
    ((asc_typed){"recurrent", asc_recurrent_fields(), &(const asc_recurrent_settings){__VA_ARGS__}})

#ifdef __cplusplus
}
#endif
#endif
