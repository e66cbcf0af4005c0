/* train/token_cache.h: tokenised text on disk, for runs that read the same. */
#ifndef TRAIN_TOKEN_CACHE_H
#define TRAIN_TOKEN_CACHE_H

#include <ascgrad/data.h>

/* As asc_split_load, by way of the folder `cache`, which is made: what was tokenised before, found by the checksums of
 * text and vocabulary, is read, else written. Of text from files alone: what is generated takes no less time than
 * reading. `say` is told, in a line, of a file that is damaged, and is made anew, and of one that can't be written: no
 * errors, there is the text. `cache` "": none. */
asc_split *asc_split_cached(asc_dataset *data, asc_split_kind kind, const asc_tokenizer *tokenizer, const char *cache,
                            void (*say)(void *user, const char *text), void *user);

#endif
