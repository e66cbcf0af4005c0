/* nn/encoder.h: the network of a BERT or DistilBERT, on weights that are given. Equations: doc/sentences.md. */
#ifndef NN_ENCODER_H
#define NN_ENCODER_H

#include <ascgrad/mixing.h>

typedef enum asc_encoder_activation {
    ASC_ENCODER_GELU,
    ASC_ENCODER_GELU_TANH,
    ASC_ENCODER_RELU
} asc_encoder_activation;

typedef struct asc_encoder_layer {
    asc_affine q, k, v, o, norm1; /* attention, and the norm behind its sum */
    asc_affine fc1, fc2, norm2;   /* the feed-forward layer, and the norm behind its sum */
} asc_encoder_layer;

typedef struct asc_encoder_net {
    int64_t vocab, dim, layers, heads, inner, positions;
    int64_t types; /* 0: a DistilBERT, which has none */
    double eps;    /* of the norms */
    asc_encoder_activation activation;
    asc_tensor word;  /* (vocab, dim) */
    asc_tensor place; /* (types positions, dim): row t·positions + p is the sum of type t's and position p's, or p's */
    asc_affine norm;  /* of the embeddings */
    asc_encoder_layer *layer;
} asc_encoder_net;

/* The last hidden states: see asc_encoder_states in ascgrad/encoder.h. The sizes of the inputs are checked here. */
asc_tensor asc_encoder_net_states(asc_ctx *ctx, const asc_encoder_net *net, asc_tensor tokens, asc_tensor types,
                                  asc_tensor lengths);

#endif
