/*
 * ascgrad/corpus.h: the contracts of a tokenizer and of a data source, the library's and users' alike.
 *
 * Each is one const descriptor. The library's stand in a table (data/tokenizer.c, data/dataset.c); a user's is
 * registered with a context. From then on a spec in that context may name it, for asc_tokenizer_new, asc_dataset_open
 * and the settings `tokenizer` and `data` of a training, and errors list it among what there is. examples/own_corpus.c
 * has one of each.
 *
 * Functions return ASC_OK, or the status of asc_fail on `ctx`, whose message names what is wrong.
 */
#ifndef ASCGRAD_CORPUS_H
#define ASCGRAD_CORPUS_H

#include <ascgrad/data.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASC_CORPUS_ABI 2

typedef struct asc_sink asc_sink; /* where a vocabulary is written to */

/* ---- tokenizers ---- */

typedef struct asc_tokenizer_kind asc_tokenizer_kind;

/* A tokenizer, as its kind sees it. */
struct asc_tokenizer {
    asc_ctx *ctx;
    const asc_tokenizer_kind *kind;
    void *self;           /* kind->size bytes, 0 at first */
    int32_t unknown, eos; /* the ids of unknown words and of the end of a line, set by the kind; -1 at first: none */
    struct asc_strings *vocabulary; /* private: the pieces by id; see asc_vocabulary_add */
};

/* A decoder, as the tokenizer's kind sees it. */
struct asc_decoder {
    const asc_tokenizer *tokenizer;
    void *self; /* kind->decoder_size bytes, 0 at the start of each text */
    /* private */
    char *out;
    size_t n, capacity;
};

struct asc_tokenizer_kind {
    unsigned abi;         /* ASC_CORPUS_ABI */
    const char *name;     /* "wordpiece"; no colon in it */
    /* What stands behind "NAME:" in a spec: "VOCAB_FILE"; "[N]" may be left out; NULL: none. Needs has_vocabulary: runs
     * and model files keep the name and the vocabulary, which says all that the argument changes. */
    const char *argument;
    bool is_path;         /* the argument is a path, which a run remembers in full */
    bool has_vocabulary;  /* of its own, which a run's vocab.txt and a model file keep; false: `make` is enough */
    size_t size, decoder_size; /* of tokenizer->self, decoder->self */
    /* A new tokenizer; argument NULL: none was given. */
    asc_status (*make)(asc_tokenizer *tokenizer, const char *argument);
    /* One with the vocabulary that was saved as `text`, in messages called `name`. Needed with has_vocabulary. */
    asc_status (*load)(asc_tokenizer *tokenizer, asc_text *text, const char *name);
    asc_status (*encode)(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags, asc_ids *ids);
    /* Gives asc_decoder_put what is to be printed for a piece. */
    asc_status (*decode)(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes);
    /* Each of these may be NULL. The vocabulary as it is saved; NULL: the pieces, one a line. */
    asc_status (*save)(const asc_tokenizer *tokenizer, asc_sink *sink);
    /* Takes what is new in a piece of the training split into the vocabulary; NULL: it is given from the start; */
    asc_status (*collect)(asc_tokenizer *tokenizer, const char *text, size_t bytes);
    /* whether it can encode: `collect` has found something; NULL: always. */
    bool (*is_ready)(const asc_tokenizer *tokenizer);
    /* What the decoder has kept back at the end of the ids; */
    asc_status (*finish)(asc_decoder *decoder);
    /* what `make` or `load` took beside the vocabulary goes, also where they failed. */
    void (*clear)(asc_tokenizer *tokenizer);
};

/* The id of a piece, which is added to the vocabulary if it is not there; -1 with the error set. */
ASC_API int32_t asc_vocabulary_add(asc_tokenizer *tokenizer, const char *piece, size_t bytes);
/* The id of a piece; -1 if it is not there. */
ASC_API int32_t asc_vocabulary_find(const asc_tokenizer *tokenizer, const char *piece, size_t bytes);
/* Adds the lines of a text to an empty vocabulary, without their ends ("\n" or "\r\n"). NULL, what a failed
 * asc_text_open returned, is accepted. ASC_ERR_FORMAT: there are none, one is empty, or there twice; errors of
 * asc_text_next. */
ASC_API asc_status asc_vocabulary_read(asc_tokenizer *tokenizer, asc_text *text, const char *name);
/* Appends one id. ASC_ERR_MEMORY. */
ASC_API asc_status asc_ids_push(asc_ctx *ctx, asc_ids *ids, int32_t id);
/* Appends to what the decoder prints. ASC_ERR_MEMORY. */
ASC_API asc_status asc_decoder_put(asc_decoder *decoder, const char *text, size_t bytes);
/* Appends to what `save` saves. ASC_ERR_MEMORY. */
ASC_API asc_status asc_sink_put(asc_sink *sink, const void *bytes, size_t n);

/* Adds a kind of the caller's; the descriptor must outlive the context. ASC_ERR_ARG: wrong ABI, a missing function, no
 * name or one with a colon, a name that is taken, or an argument without a vocabulary; ASC_ERR_MEMORY. */
ASC_API asc_status asc_tokenizer_register(asc_ctx *ctx, const asc_tokenizer_kind *kind);
/* Kind i: the library's, then those registered with the context (NULL: none); NULL past the last. */
ASC_API const asc_tokenizer_kind *asc_tokenizer_kind_at(const asc_ctx *ctx, int i);
/* The kind that a spec, or a name, asks for by what stands before its first colon; NULL if there is none. */
ASC_API const asc_tokenizer_kind *asc_tokenizer_kind_find(const asc_ctx *ctx, const char *spec);

/* ---- data sources ---- */

typedef struct asc_data_source asc_data_source;

/* A data set, as its source sees it. */
struct asc_dataset {
    asc_ctx *ctx;
    const asc_data_source *source;
    void *self; /* source->size bytes, 0 at first */
    const char *spec;
};

/* A reader of one split. */
typedef struct asc_source_reader {
    asc_dataset *data;
    asc_split_kind split;
    void *self; /* source->reader_size bytes, 0 at first */
    int64_t skipped; /* records that `next` has left out so far, as pairs without a label; 0 at first */
} asc_source_reader;

/* A piece of a split's text: a line with its '\n', or text that ends between words; whole characters in any case. */
typedef struct asc_text_piece {
    const char *text; /* borrowed until the next call; NULL: the split has ended */
    size_t bytes;
    bool given; /* its tokens are no targets: a task's question, of which only the answer is learned and scored */
    bool last;  /* of a source of sequences: the sequence ends with this piece */
    int32_t label; /* with `last`, of a source with classes: the sequence's class, 0, 1, … */
} asc_text_piece;

struct asc_data_source {
    unsigned abi;     /* ASC_CORPUS_ABI */
    const char *name; /* "builtin"; no colon in it */
    const char *spec; /* how it is asked for: "builtin[:WORDS[:SEED]]", "a text file" */
    bool is_path;     /* the spec, or what stands behind "NAME:" in it, is a path, which a run remembers in full */
    /* A split is sequences, each of which ends with a piece that is `last`: none sees another, and each is a block.
     * false: one stream. Pieces of sequences need not be lines, and what ends them says so itself. */
    bool sequences;
    size_t size, reader_size; /* of data->self, reader->self */
    /* Whether a spec that names no source is for this one, by a look at the file; a user's sources are asked first.
     * NULL: specs for it are NAME or begin with "NAME:". */
    bool (*takes)(const char *spec);
    /* Each of these but `begin` and `next` may be NULL. Opens data->spec; `argument` is what stands behind "NAME:",
     * NULL if nothing does. */
    asc_status (*open)(asc_dataset *data, const char *argument);
    /* What `open` took goes, also where it failed. */
    void (*close)(asc_dataset *data);
    /* Starts at the beginning of reader->split: the same text every time. */
    asc_status (*begin)(asc_source_reader *reader);
    /* The next piece, which comes as all zero. */
    asc_status (*next)(asc_source_reader *reader, asc_text_piece *piece);
    /* What `begin` took goes, also where it failed. */
    void (*end)(asc_source_reader *reader);
    /* See asc_dataset_entropy; NULL: the source does not know it. */
    asc_status (*entropy)(asc_dataset *data, asc_split_kind split, asc_entropy *entropy);
    /* See asc_dataset_class; then the first pieces of a sequence are given, and the last is its class in words. NULL:
     * sequences have no classes. */
    const char *(*class_name)(const asc_dataset *data, int32_t i);
    /* Gives the tokenizer, by asc_tokenizer_collect, all words that any split can have; NULL: those of the training
     * split are all. */
    asc_status (*words)(asc_dataset *data, asc_tokenizer *tokenizer);
    /* See asc_dataset_longest; NULL: it is not known before the text is. */
    int64_t (*longest)(const asc_dataset *data);
    /* See asc_dataset_stretch; NULL: the text is as long as it is. */
    asc_status (*stretch)(asc_dataset *data, int64_t length);
};

/* Adds a source of the caller's; the descriptor must outlive the context. Errors as asc_tokenizer_register. */
ASC_API asc_status asc_data_source_register(asc_ctx *ctx, const asc_data_source *source);
/* Source i: the library's, then those registered with the context (NULL: none); NULL past the last. */
ASC_API const asc_data_source *asc_data_source_at(const asc_ctx *ctx, int i);
/* The source that a spec is for; NULL if there is none. */
ASC_API const asc_data_source *asc_data_source_find(const asc_ctx *ctx, const char *spec);

#ifdef __cplusplus
}
#endif
#endif
