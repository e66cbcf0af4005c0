/* train/pairs_predict.c: the classes of pairs of sentences that stand in memory. */
#include <string.h>

#include <ascgrad/corpus.h>
#include <ascgrad/ops.h>
#include <ascgrad/pairs.h>

#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/batch.h"

/* ---- texts in memory as a data source: of each pair two pieces that are given, and a class that means nothing ---- */

typedef struct texts {
    const asc_text_pair *pairs;
    int64_t n;
} texts;

typedef struct reader {
    int64_t at, part; /* of pair `at`: its first text, its second, its class */
    void *text;
    size_t capacity;
} reader;

static asc_status begin(asc_source_reader *r)
{
    (void)r;
    return ASC_OK;
}

/* A text, with the end of a line behind it, as a record's. */
static asc_status next(asc_source_reader *r, asc_text_piece *piece)
{
    const texts *all = r->data->self;
    reader *at = r->self;
    if (at->at == all->n) {
        return ASC_OK;
    }
    const asc_text_pair *pair = &all->pairs[at->at];
    const char *text = at->part == 0 ? pair->premise : at->part == 1 ? pair->hypothesis : "";
    size_t n = strlen(text);
    if (!asc_grow(r->data->ctx, &at->text, &at->capacity, n + 1, 1)) {
        return ASC_ERR_MEMORY;
    }
    char *line = memcpy(at->text, text, n);
    line[n] = '\n';
    *piece = (asc_text_piece){.text = line, .bytes = n + 1, .given = at->part < 2, .last = at->part == 2};
    at->part = (at->part + 1) % 3;
    at->at += at->part == 0;
    return ASC_OK;
}

static void end(asc_source_reader *r)
{
    const reader *at = r->self;
    asc_free(r->data->ctx, at->text, at->capacity);
}

static const char *class_name(const asc_dataset *data, int32_t i)
{
    (void)data;
    return i == 0 ? "-" : NULL;
}

static const asc_data_source memory = {.abi = ASC_CORPUS_ABI, .name = "memory", .spec = "pairs in memory",
                                       .sequences = true, .reader_size = sizeof(reader), .begin = begin, .next = next,
                                       .end = end, .class_name = class_name};

/* ---- classes ---- */

static asc_status classify(asc_ctx *ctx, asc_lm *lm, const asc_split *split, const asc_features *features,
                           double *probabilities)
{
    int64_t n = split->n_sequences, C = asc_lm_classes(lm);
    const asc_batch_source from = {ctx, lm, split, features, asc_lm_block(lm)};
    size_t bytes = (size_t)n * sizeof(int32_t);
    int32_t *which = asc_alloc(ctx, bytes);
    bool recording = asc_set_recording(ctx, false);
    asc_batch batch;
    for (int32_t i = 0; which && i < (int32_t)n; i++) {
        which[i] = i;
    }
    asc_scope_begin(ctx);
    asc_lm_set_dropout(lm, 0);
    if (which && asc_batch_make(&from, which, n, &batch) == ASC_OK) {
        asc_tensor logits = asc_lm_classify(lm, batch.x, batch.lengths);
        asc_tensor share = asc_cast(ctx, asc_softmax(ctx, logits, asc_null()), ASC_F64);
        if (!asc_is_null(share)) {
            memcpy(probabilities, asc_data(share), (size_t)(n * C) * sizeof *probabilities);
        }
    }
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    asc_free(ctx, which, bytes);
    return asc_error(ctx);
}

asc_status asc_pair_predict(asc_ctx *ctx, const asc_model *model, asc_encoder *encoder, const asc_text_pair *pairs,
                            int64_t n, double *probabilities)
{
    asc_status status = ASC_NEED(ctx, "pair_predict: model pairs probabilities", model, asc_unless_empty(pairs, n),
                                 asc_unless_empty(probabilities, n));
    if (status || n == 0) {
        return status;
    }
    asc_pair_inputs in = asc_lm_pair_inputs(model->lm);
    if (!in.pairs || n < 0 || n > INT32_MAX || (in.states > 0 && !encoder)) {
        return asc_fail(ctx, ASC_ERR_ARG, "pair_predict: %s", !in.pairs ? "the model is none of pairs"
                                                              : in.states > 0 && !encoder
                                                                  ? "encoder is NULL, and the model takes states"
                                                                  : "n is below 0 or too many");
    }
    for (int64_t i = 0; i < n; i++) {
        if (ASC_NEED(ctx, "pair_predict: premise hypothesis", pairs[i].premise, pairs[i].hypothesis)) {
            return ASC_ERR_ARG;
        }
    }
    texts all = {pairs, n};
    asc_dataset data = {ctx, &memory, &all, "pairs"};
    asc_split *split = asc_split_load(&data, ASC_SPLIT_TEST, model->tokenizer);
    asc_features *features = NULL;
    if (split && in.states > 0) {
        features = asc_pair_features(model->lm, encoder, &data, ASC_SPLIT_TEST, model->tokenizer,
                                     &(asc_features_options){0});
    }
    status = asc_error(ctx) ? asc_error(ctx) : classify(ctx, model->lm, split, features, probabilities);
    asc_features_free(features);
    asc_split_free(ctx, split);
    return status;
}
