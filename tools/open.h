/* tools/open.h: a model with the text that it is to be evaluated on. */
#ifndef TOOLS_OPEN_H
#define TOOLS_OPEN_H

#include <ascgrad/train.h>

typedef struct opened {
    asc_dataset *data;
    asc_model *model;
    asc_split *split;
} opened;

/* "train", "valid" or "test"; ends the program with status 2 for another --split. */
asc_split_kind open_kind(const char *name);

/* Opens data and model, whichever needs the other, and the split; `lines`: with its lines. `data` and `tokenizer` NULL:
 * the run's, whose split must be the one that it had. In any case to be closed; incomplete with the error set. */
opened open_model(asc_ctx *ctx, const char *path, const char *data, const char *tokenizer, asc_split_kind kind,
                  bool lines);
void open_close(asc_ctx *ctx, opened *o);

#endif
