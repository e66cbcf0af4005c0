/* train/encoder/encoder.h: what an open encoder is, and the steps of opening it. */
#ifndef TRAIN_ENCODER_H
#define TRAIN_ENCODER_H

#include <ascgrad/encoder.h>

#include "nn/encoder.h"

struct asc_encoder {
    asc_ctx *ctx;
    asc_encoder_net net;
    bool distil; /* a DistilBERT */
    asc_tokenizer *tokenizer;
    int64_t parameters;
    char fingerprint[17];
};

/* Reads sizes, activation and epsilon from folder/config.json. ASC_ERR_IO, ASC_ERR_FORMAT. */
asc_status asc_encoder_read_config(asc_encoder *e, const char *folder);

/* Whether the tokenizer keeps case and accents, by folder/tokenizer_config.json, where there is one; else not.
 * ASC_ERR_IO; ASC_ERR_FORMAT: it asks for what there is not. */
asc_status asc_encoder_read_case(asc_ctx *ctx, const char *folder, bool *cased);

/* Reads the tensors of folder/model.safetensors, once the configuration is there, and makes parameters and fingerprint
 * of them. ASC_ERR_IO; ASC_ERR_FORMAT; ASC_ERR_MEMORY. */
asc_status asc_encoder_read_weights(asc_encoder *e, const char *folder);
/* Their memory goes. */
void asc_encoder_clear_weights(asc_encoder *e);

#endif
