/* tools/encode/encode.h: what `ascgrad encode` reads, and the ways in which it gives it. */
#ifndef TOOLS_ENCODE_H
#define TOOLS_ENCODE_H

#include <ascgrad/encoder.h>

#include "tools/cli.h"
#include "tools/progress.h"

#define ENCODE_PARTS ".parts" /* behind the file's name: the folder of what is encoded by now */

typedef struct encoding {
    asc_ctx *ctx;
    asc_encoder *encoder;
    asc_sentences *sentences;
    asc_pooling_options pooling;
    bool more; /* the input has lines that were not read */
    progress bar;
    int64_t tokens; /* encoded so far */
} encoding;

/* The bar, after another `tokens`. */
void encode_progress(encoding *e, int64_t tokens);

enum { ENCODE_PATH = 4096 }; /* of parts, with its end */

/* Writes states and lengths to a file whose name ends in .npz or .safetensors. What is encoded before an error, or an
 * interrupt, stays beside it, and the next call goes on with it. */
asc_status encode_to_file(encoding *e, const char *path);

/* Tells the user what there is of it, if anything. */
void encode_tell_parts(const char *path);

/* All of it as JSON; new, NULL with the error set. */
json_t *encode_to_json(encoding *e);

/* A line for each sentence: its tokens, and which other sentence is the nearest. */
asc_status encode_to_table(encoding *e);

#endif
