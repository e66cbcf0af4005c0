/* tools/unknown.h: tokens that stand for words which a model does not know. */
#ifndef TOOLS_UNKNOWN_H
#define TOOLS_UNKNOWN_H

#include <ascgrad/train.h>

/* "  3.21 % unknown" behind a line of figures, where there are any; in `text`. */
const char *unknown_share(double share, char *text, size_t size);

/* A message, where the share is so large that bits per byte compare with nothing. */
void unknown_warn(double share);

/* A message that names a prompt's words which the model does not know, if there are any. */
void unknown_name_words(const asc_tokenizer *tokenizer, const char *text, size_t bytes);

#endif
