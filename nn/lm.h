/* nn/lm.h: a language model's parts, for the files of this folder. */
#ifndef NN_LM_H
#define NN_LM_H

#include "nn/mixing.h"

/* The values of a model's settings, for one of its layers. */
typedef struct asc_lm_values {
    int64_t layers, d_model, d_ff, vocab, block;
    const char *mix;
    int block_norm;
    bool pos_emb, mix_residual;
} asc_lm_values;

extern const asc_setting asc_lm_settings[];

typedef struct asc_block {
    asc_lm *lm;
    asc_layer mix;
    asc_affine norm1, norm2, fc1, fc2;
    int64_t layer;
    bool residual; /* round the mixing */
    char label[2][32];
} asc_block;

struct asc_lm {
    asc_ctx *ctx;
    char *config; /* JSON text */
    asc_params *params;
    asc_dtype dtype;
    int64_t D, d_ff, layers, vocab, block_length;
    bool pre_norm, recompute, without_aux;
    double dropout;
    asc_tensor tok_emb, pos_emb; /* pos_emb: null without */
    asc_affine norm_f;           /* null without */
    asc_block *blocks;
};

/* How the mixing of layer `l` is run: in full, or on a cache. */
typedef asc_tensor asc_mix_fn(asc_layer *mix, asc_tensor x, int64_t l, void *arg);

/* Hidden states (B, N, D) before the head, of tokens i64 (B, N) that stand at positions start, start + 1, … */
asc_tensor asc_lm_hidden(asc_lm *lm, asc_tensor tokens, int64_t start, asc_mix_fn *mix, void *arg);

#endif
