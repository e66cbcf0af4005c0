/* tools/open.h: a model with the text that it is to be evaluated on. */
#ifndef TOOLS_OPEN_H
#define TOOLS_OPEN_H

#include <ascgrad/pairs.h>

typedef struct opened {
    asc_dataset *data;
    asc_model *model;
    asc_split *split;
    asc_encoder *encoder;   /* of a model of pairs that takes states; else NULL */
    asc_features *features; /* of the split, by that */
    bool its_own; /* the data are those of the model's run */
} opened;

/* Of "train", "valid" or "test". */
asc_split_kind open_kind(const char *name);

/* Opens data and model, whichever needs the other. `data` and `tokenizer` NULL: the run's. In any case to be closed;
 * incomplete with the error set. */
opened open_model(asc_ctx *ctx, const char *path, const char *data, const char *tokenizer);

/* The context's products become those that --precision names, or with NULL the run's. ASC_ERR_ARG: bf16 for a model of
 * float64. */
asc_status open_precision(asc_ctx *ctx, const asc_model *model, const char *given);

/* Opens a split in place of the one that is open, if any; `lines`: with its lines. Sequences have the length that is
 * asked for, or with 0 their own. The run's must be the split that the run had. */
asc_status open_split(asc_ctx *ctx, opened *o, asc_split_kind kind, bool lines, int64_t length);

/* Whether the folder of an encoder is there, and a vocabulary: in it, or the file `vocab`, unless that is NULL. What is
 * amiss with them otherwise is told by what opens them. */
asc_status open_check_encoder(asc_ctx *ctx, const char *folder, const char *vocab);

/* What a model of pairs that takes states is given in place of its run's; each may be NULL. */
typedef struct open_encoding {
    const char *folder, *vocab, *cache; /* the encoder's, its vocabulary, where its states are kept */
} open_encoding;

/* The model of pairs cuts sentences by `vocab`, if that is given. ASC_ERR_ARG: it takes tokens, and has no encoder. */
asc_status open_vocab(asc_ctx *ctx, asc_model *model, const open_encoding *how);

/* Opens the encoder of a model of pairs that takes states, and has it encode the split. Nothing for other models. */
asc_status open_features(asc_ctx *ctx, opened *o, asc_split_kind kind, const open_encoding *how);

void open_close(asc_ctx *ctx, opened *o);

#endif
