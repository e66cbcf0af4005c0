/* data/tokenizer.h: a run's own vocabulary. */
#ifndef DATA_TOKENIZER_H
#define DATA_TOKENIZER_H

#include <ascgrad/data.h>

/* asc_tokenizer_load with flags for asc_text_open. */
asc_tokenizer *asc_tokenizer_load_with(asc_ctx *ctx, const char *name, const char *path, unsigned flags);

#endif
