/* nn/lm.h: a language model's parts, for the files of this folder. */
#ifndef NN_LM_H
#define NN_LM_H

#include "nn/mixing.h"

/* The values of a model's settings, for one of its layers. */
typedef struct asc_lm_values {
    int64_t layers, d_model, d_ff, vocab, block, classes, carry;
    const char *mix;
    int block_norm, head, pool, norm, activation;
    int64_t mup_width, states, window_tokens, window_stride, head_ff;
    int sees, pairs;
    double logit_cap;
    bool pos_emb, mix_residual, zero_init, tied, emb_norm;
} asc_lm_values;

enum { ASC_HEAD_LM, ASC_HEAD_CLASSIFIER, ASC_HEAD_PAIRS };
enum { ASC_PAIRS_APART, ASC_PAIRS_TOGETHER };
enum { ASC_SEES_BOTH, ASC_SEES_PREMISE, ASC_SEES_HYPOTHESIS };
enum { ASC_POOL_MEAN, ASC_POOL_FIRST };
enum { ASC_NORM_LAYER, ASC_NORM_RMS };
typedef enum asc_activation {
    ASC_ACTIVATION_GELU,
    ASC_ACTIVATION_RELU2,
    ASC_ACTIVATION_SWIGLU,
    ASC_ACTIVATION_GEGLU,
} asc_activation;

extern const asc_setting asc_lm_settings[];

typedef struct asc_block {
    asc_lm *lm;
    asc_layer mix;
    asc_affine norm1, norm2, fc1, fc2;
    asc_affine gate; /* of the feed-forward layer; null without */
    int64_t layer;
    bool residual; /* round the mixing */
    char label[2][32];
} asc_block;

/* What a model of pairs has in place of the embedding of tokens, and as its head. */
typedef struct asc_pairs {
    int64_t states, window, stride, head_ff; /* as its settings have them; states 0: tokens */
    int sees;
    bool together;
    asc_affine proj; /* null without states */
    asc_affine fc1, fc2;
    asc_tensor pos_emb, seg_emb; /* pos_emb: null without */
} asc_pairs;

struct asc_lm {
    asc_ctx *ctx;
    char *config; /* JSON text */
    asc_params *params;
    asc_dtype dtype;
    int64_t D, d_ff, layers, vocab, block_length;
    int64_t mup_width; /* 0: values and rates don't depend on the width */
    int64_t classes; /* of a classifier; 0: a language model */
    int64_t carry;           /* of its settings */
    asc_lm_carried *carried; /* what passes in full go on from, and leave behind; or NULL */
    int64_t carried_states;  /* how many there have been */
    double *class_weights; /* [classes]; NULL: all alike */
    asc_pairs pairs;       /* of a model of pairs; else empty */
    bool is_pairs, pre_norm, recompute, without_aux, pool_first, rms_norm, zero_init, tied, has_emb_norm;
    asc_activation activation;
    double dropout, logit_cap;   /* logit_cap: 0 without */
    asc_tensor tok_emb, pos_emb; /* pos_emb: null without */
    asc_tensor head;             /* tok_emb, or a table of its own */
    asc_affine norm_f, emb_norm; /* null without */
    asc_affine classifier;       /* null in a language model, and one of pairs */
    asc_block *blocks;
};

/* How the mixing of layer `l` is run: in full, or on a cache. */
typedef asc_tensor asc_mix_fn(asc_layer *mix, asc_tensor x, int64_t l, void *arg);

/* Hidden states (B, N, D) before the head, of tokens i64 (B, N) that stand at positions start, start + 1, … */
asc_tensor asc_lm_hidden(asc_lm *lm, asc_tensor tokens, int64_t start, asc_mix_fn *mix, void *arg);

/* The same of whole sequences, of `lengths` tokens where that is not null, i64 (B). *aux, if not NULL, which comes as
 * null, gets the sum of the layers' auxiliary losses, if there are any. */
asc_tensor asc_lm_hidden_in_full(asc_lm *lm, asc_tensor tokens, asc_tensor lengths, asc_tensor *aux);

/* lm_pairs.c: what a model of pairs is made of, before and behind its blocks. */
asc_status asc_lm_make_pairs(asc_lm *lm, asc_maker *m, bool pos_emb);
asc_status asc_lm_make_pairs_head(asc_lm *lm, asc_maker *m);
/* The rows (B, W, D) of pairs, before dropout, and how many each has in all, i64 (B). */
asc_tensor asc_pairs_begin(asc_lm *lm, asc_tensor x, asc_tensor lengths, asc_tensor *all);
/* Logits (B, C) of hidden states; h goes. */
asc_tensor asc_pairs_classify(asc_lm *lm, asc_tensor h, asc_tensor lengths);

/* carried.c: whether the model can carry so many tokens. ASC_ERR_ARG. */
asc_status asc_lm_check_carry(asc_lm *lm, int64_t carry);

/* The mixing of layer l of a pass in full, on what is carried; leaves behind what the next block needs. */
asc_tensor asc_carried_mix(asc_lm_carried *c, asc_layer *mix, asc_tensor x, int64_t l);
/* That the pass's sequences are the streams; and that all layers have left theirs, of N tokens. */
asc_status asc_carried_begin(asc_lm_carried *c, asc_tensor tokens, asc_tensor lengths);
void asc_carried_end(asc_lm_carried *c, int64_t B, int64_t N);
/* The number of what is held, another after each advance and reset; 0 of NULL. */
int64_t asc_carried_state(const asc_lm_carried *c);

/* The weight of a class in the loss. */
static inline double asc_lm_class_weight(const asc_lm *lm, int64_t c)
{
    return !lm->class_weights ? 1 : c >= 0 && c < lm->classes ? lm->class_weights[c] : 0;
}

/* lm_run.c: what a function of a model begins with: `names` is its name and "lm", `head` the one that it is for, or
 * -1. */
bool asc_lm_given(const asc_lm *lm, asc_tensor tokens, const char *names, int head);

#endif
