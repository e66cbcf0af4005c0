/* train/encoder/features.h: parts of features: which sentences they are of, and the files that they lie in. */
#ifndef TRAIN_FEATURES_H
#define TRAIN_FEATURES_H

#include <ascgrad/safetensors.h>

#include "train/encoder/encode.h"

/* Distinct sentences from … to-1, in the order of the encoding, and their rows: in a file, or in memory. */
typedef struct asc_features_part {
    int64_t from, to, rows;
    asc_safetensors *file;
    int64_t offset; /* in the file, of the first row */
    float *held;    /* [rows, E] */
} asc_features_part;

/* Where a sentence's rows are. */
typedef struct asc_features_place {
    int64_t row; /* of its part */
    int32_t part, rows, first; /* first: of the rows those of its first text */
} asc_features_place;

struct asc_features {
    asc_ctx *ctx;
    int64_t n, dim, most_rows;
    asc_features_place *place; /* [n] */
    asc_features_part *part;
    int64_t parts, capacity;
};

/* features_share.c: those of rank 0 of several to the others, which have none: the same, or new ones, held in memory.
 * On all ranks, after an error, too, which then is all's. ASC_ERR_MEMORY, ASC_ERR_IO. */
asc_features *asc_features_share(asc_ctx *ctx, asc_features *own);

/* A building of features under way. */
typedef struct asc_features_work {
    asc_features *f;
    asc_encoder *e;
    const asc_sentences *s;
    asc_sentence_order order;
    asc_features_options options; /* the pooling checked */
    char *folder;                 /* of the parts' files; NULL: all is held in memory */
    char key[120];                /* its name, and what the files say that they are of */
    int64_t tokens, done;         /* of distinct sentences: all; of parts that are there, and of those under way */
    double told_s;                /* when the progress was told */
} asc_features_work;

/* ---- features_part.c ---- */

/* Cuts the distinct sentences into parts, and finds each sentence's place. ASC_ERR_MEMORY. */
asc_status asc_features_cut(asc_features_work *w);

/* Opens the file of part i, if it is there, and checks it: *there. A damaged one is not there, which `tell` tells.
 * ASC_ERR_MEMORY. */
asc_status asc_features_load(asc_features_work *w, int64_t i, bool tell, bool *there);

/* Computes part i, and writes its file; where that can't be, which is told, the part is held in memory, and so is what
 * is computed after it. Errors as asc_encoder_encode. */
asc_status asc_features_compute(asc_features_work *w, int64_t i);

/* The tokens of part i's sentences. */
int64_t asc_features_tokens(const asc_features_work *w, int64_t i);

/* The path of part i's file, or with ".claim" of its claim. New: asc_path_free. NULL with the error set. */
char *asc_features_path(const asc_features_work *w, int64_t i, const char *ending);

/* Tells what goes wrong with the cache alone, and how it goes on, NULL: tells nothing; then it is over. Other errors
 * stay. */
void asc_features_excuse(asc_features_work *w, const char *after);
void asc_features_say(const asc_features_work *w, const char *text);

#endif
