/*
 * ascgrad/pairs.h: pairs of sentences and their classes, with the features of a frozen encoder.
 *
 * A data set of records with two texts and a class (doc/tasks.md) becomes a split of sequences, as any other; here are
 * the features of its texts, for a model of pairs (ascgrad/nn.h) that takes states.
 */
#ifndef ASCGRAD_PAIRS_H
#define ASCGRAD_PAIRS_H

#include <ascgrad/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The texts of a split's records: 2s and 2s + 1 are those of sequence s of asc_split_load, each of at most `max_tokens`
 * tokens; `together`: s is both as one sentence, [CLS] first [SEP] second [SEP], each with the tokens that it had by
 * itself. Of a record with one text the second is empty. New; NULL with the error set: ASC_ERR_ARG, the data's
 * sequences have no class, or the tokenizer no [CLS] and [SEP]; those of asc_split_load. */
ASC_API asc_sentences *asc_pair_sentences(asc_dataset *dataset, asc_split_kind split, const asc_tokenizer *tokenizer,
                                          int64_t max_tokens, bool together);

/* Their features, as the model takes them: windows of its size, of at most asc_lm_block tokens; `options` but for the
 * pooling. New; NULL with the error set: ASC_ERR_ARG, the encoder's states are not of the width that the model takes;
 * those of asc_pair_sentences and asc_features_open. */
ASC_API asc_features *asc_pair_features(const asc_lm *lm, asc_encoder *encoder, asc_dataset *dataset,
                                        asc_split_kind split, const asc_tokenizer *tokenizer,
                                        const asc_features_options *options);

/* The encoder of a model's run, or the one in `folder`, unless that is NULL; with the run's vocabulary, or the file
 * `vocab`. New; NULL with the error set: ASC_ERR_ARG, there is neither run nor folder; ASC_ERR_FORMAT, it is not the
 * one whose states the model was trained on; those of asc_encoder_open. */
ASC_API asc_encoder *asc_model_encoder(asc_ctx *ctx, const asc_model *model, const char *folder, const char *vocab);

typedef struct asc_text_pair {
    const char *premise, *hypothesis;
} asc_text_pair;

/* The probabilities [n, C] of the classes of n pairs, C = asc_lm_classes; encoder: of a model that takes states, else
 * NULL. ASC_ERR_ARG: the model is none of pairs, or needs an encoder; ASC_ERR_FORMAT: texts without a token;
 * ASC_ERR_MEMORY, ASC_ERR_INTERRUPTED. */
ASC_API asc_status asc_pair_predict(asc_ctx *ctx, const asc_model *model, asc_encoder *encoder,
                                    const asc_text_pair *pairs, int64_t n, double *probabilities);

#ifdef __cplusplus
}
#endif
#endif
