/* train/pairs.c: the features of a data set's pairs, by a frozen encoder. */
#include <ascgrad/pairs.h>

#include <string.h>

#include "data/reading.h"
#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/encoder/sentences.h"
#include "train/path.h"

/* ---- the sentences of a split ---- */

/* Adds the given texts of a record, each by itself. One without a second text has an empty one. */
static asc_status add_apart(asc_sentences *sentences, asc_source_reader *reader, bool *more)
{
    asc_text_piece piece;
    int64_t added = 0;
    asc_status status = asc_reading_next(reader, &piece);
    *more = piece.text != NULL;
    while (!status && piece.text && !piece.last) {
        status = added++ < 2 ? asc_sentences_add(sentences, piece.text, piece.bytes) : ASC_OK;
        status = status ? status : asc_reading_next(reader, &piece);
    }
    for (; !status && *more && added < 2; added++) {
        status = asc_sentences_add(sentences, "", 0);
    }
    return status;
}

/* Appends a piece to a text. */
static asc_status append(asc_ctx *ctx, char **text, size_t *bytes, size_t *capacity, const asc_text_piece *piece)
{
    if (!asc_grow(ctx, text, capacity, *bytes + piece->bytes + 1, 1)) {
        return ASC_ERR_MEMORY;
    }
    if (piece->bytes > 0) {
        memcpy(*text + *bytes, piece->text, piece->bytes);
    }
    *bytes += piece->bytes;
    return ASC_OK;
}

/* Adds the given texts of a record as one sentence. */
static asc_status add_together(asc_sentences *sentences, asc_source_reader *reader, int64_t most, bool *more)
{
    asc_ctx *ctx = reader->data->ctx;
    asc_text_piece piece;
    char *text[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0}, capacity[2] = {0, 0};
    asc_status status = asc_reading_next(reader, &piece);
    *more = piece.text != NULL;
    for (int i = 0; !status && piece.text && !piece.last; i++) {
        status = i < 2 ? append(ctx, &text[i], &bytes[i], &capacity[i], &piece) : ASC_OK;
        status = status ? status : asc_reading_next(reader, &piece);
    }
    if (!status && *more) {
        const char *const given[] = {text[0] ? text[0] : "", text[1] ? text[1] : ""};
        status = asc_sentences_add_both(sentences, given, bytes, most);
    }
    asc_free(ctx, text[0], capacity[0]);
    asc_free(ctx, text[1], capacity[1]);
    return status;
}

/* together: the most tokens that each of the texts of a pair has; 0: each text is a sentence. */
static asc_status read_records(asc_sentences *sentences, asc_dataset *data, asc_split_kind kind, int64_t together)
{
    asc_source_reader reader;
    bool more = true;
    asc_status status = asc_reading_begin(&reader, data, kind);
    if (status) {
        return status;
    }
    while (!status && more) {
        status = together ? add_together(sentences, &reader, together, &more) : add_apart(sentences, &reader, &more);
    }
    asc_reading_end(&reader);
    return status;
}

asc_sentences *asc_pair_sentences(asc_dataset *data, asc_split_kind kind, const asc_tokenizer *tokenizer,
                                  int64_t max_tokens, bool together)
{
    asc_ctx *ctx = data ? data->ctx : tokenizer ? tokenizer->ctx : NULL;
    if (ASC_NEED(ctx, "pair_sentences: dataset tokenizer", data, tokenizer) || asc_error(ctx)) {
        return NULL;
    }
    if (!asc_dataset_class(data, 0)) {
        asc_fail_on(ctx, ASC_ERR_ARG, "data", ": %s has no texts with a class", data->spec);
        return NULL;
    }
    int64_t all = together && max_tokens > 1 ? 2 * max_tokens - 1 : max_tokens; /* they share [CLS] */
    asc_sentences *sentences = asc_sentences_new(ctx, tokenizer, all);
    if (sentences && read_records(sentences, data, kind, together ? max_tokens : 0)) {
        asc_sentences_free(sentences);
        return NULL;
    }
    return sentences;
}

/* ---- their features ---- */

asc_features *asc_pair_features(const asc_lm *lm, asc_encoder *encoder, asc_dataset *data, asc_split_kind kind,
                                const asc_tokenizer *tokenizer, const asc_features_options *options)
{
    asc_ctx *ctx = data ? data->ctx : tokenizer ? tokenizer->ctx : NULL;
    if (ASC_NEED(ctx, "pair_features: lm encoder dataset tokenizer options", lm, encoder, data, tokenizer, options) ||
        asc_error(ctx)) {
        return NULL;
    }
    asc_pair_inputs in = asc_lm_pair_inputs(lm);
    if (in.states != asc_encoder_dim(encoder)) {
        asc_fail_on(ctx, ASC_ERR_ARG, "encoder", ": its states have %lld entries, but the model takes %lld",
                    (long long)asc_encoder_dim(encoder), (long long)in.states);
        return NULL;
    }
    asc_features_options how = *options;
    how.pooling = (asc_pooling_options){ASC_POOLING_WINDOWS, in.window, in.stride, in.together};
    asc_sentences *sentences = asc_pair_sentences(data, kind, tokenizer, asc_lm_block(lm), in.together);
    asc_features *features = sentences ? asc_features_open(encoder, sentences, &how) : NULL;
    asc_sentences_free(sentences);
    return features;
}

/* ---- a model's encoder ---- */

asc_encoder *asc_model_encoder(asc_ctx *ctx, const asc_model *model, const char *folder, const char *vocab)
{
    if (ASC_NEED(ctx, "model_encoder: model", model) || asc_error(ctx)) {
        return NULL;
    }
    char *own = !vocab && model->run ? asc_path_join(ctx, model->run, "vocab.txt") : NULL;
    asc_encoder *encoder = NULL;
    if (!folder && !model->encoder) {
        asc_fail_on(ctx, ASC_ERR_ARG, "encoder", " is missing: the model takes states, and lies in no run that names "
                    "what made them; expected its RUN in its place");
    } else if (!asc_error(ctx)) {
        encoder = asc_encoder_open(ctx, folder ? folder : model->encoder, vocab ? vocab : own);
    }
    asc_path_free(ctx, own);
    if (encoder && *model->encoder_checksum &&
        strcmp(model->encoder_checksum, asc_encoder_fingerprint(encoder)) != 0) {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: is another encoder than the model's: checksum %s, expected %s",
                 folder ? folder : model->encoder, asc_encoder_fingerprint(encoder), model->encoder_checksum);
        asc_encoder_free(encoder);
        return NULL;
    }
    return encoder;
}
