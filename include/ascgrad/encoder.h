/*
 * ascgrad/encoder.h: sentences, a pretrained encoder that stays as it is, and its features kept on disk.
 *
 *     asc_encoder *encoder = asc_encoder_open(ctx, "all-MiniLM-L6-v2", NULL);
 *     asc_sentences *sentences = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), 48);
 *     asc_sentences_add(sentences, "A man plays the guitar.", 23);                      as many as there are
 *     asc_features *features = asc_features_open(encoder, sentences, &(asc_features_options){
 *         .pooling = {ASC_POOLING_WINDOWS}, .cache = "cache"});
 *     asc_features_fill(features, which, n, W, rows, lengths);                          a batch of them
 *
 * Models are BERT (Devlin et al. 2019, arXiv 1810.04805) and DistilBERT (Sanh et al. 2019, arXiv 1910.01108), in the
 * files that Hugging Face's transformers writes; doc/sentences.md has the equations and what of config.json is heeded.
 * All values are f32. No gradient flows through an encoder.
 *
 * Make objects outside of any scope, and free them before their context; functions that free accept NULL.
 */
#ifndef ASCGRAD_ENCODER_H
#define ASCGRAD_ENCODER_H

#include <ascgrad/data.h>
#include <ascgrad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sentences: lists of tokens, numbered from 0 in the order in which they came ---- */

typedef struct asc_sentences asc_sentences;

/* An empty list of sentences of at most `max_tokens` >= 2 tokens, [CLS] and [SEP] among them, by a tokenizer that has
 * these two in its vocabulary ("wordpiece"). The tokenizer must outlive it. Memory: 4 bytes a token, 16 a
 * sentence, up to twice that while it grows.
 * NULL with the error set: ASC_ERR_ARG; ASC_ERR_MEMORY. */
ASC_API asc_sentences *asc_sentences_new(asc_ctx *ctx, const asc_tokenizer *tokenizer, int64_t max_tokens);
ASC_API void asc_sentences_free(asc_sentences *sentences);

/* Adds [CLS] text [SEP]; the ends of lines are white space. One that is longer keeps its first max_tokens - 1 tokens,
 * and [SEP]; an empty one is [CLS] [SEP]. On ASC_ERR_MEMORY the list is as it was. */
ASC_API asc_status asc_sentences_add(asc_sentences *sentences, const char *text, size_t bytes);

/* Adds the two texts as one sentence, [CLS] first [SEP] second [SEP], the second and its [SEP] of token type 1. Where
 * they are too long, tokens go from the end of the longer one, of equal ones from the second. ASC_ERR_ARG: max_tokens
 * is below 3; ASC_ERR_MEMORY. */
ASC_API asc_status asc_sentences_add_pair(asc_sentences *sentences, const char *first, size_t first_bytes,
                                          const char *second, size_t second_bytes);

/* How many there are; the tokens of all; those of the longest; how many were too long, and cut. 0 for NULL. */
ASC_API int64_t asc_sentences_count(const asc_sentences *sentences);
ASC_API int64_t asc_sentences_total(const asc_sentences *sentences);
ASC_API int64_t asc_sentences_longest(const asc_sentences *sentences);
ASC_API int64_t asc_sentences_cut(const asc_sentences *sentences);

/* The ids of sentence i, of *n tokens, and of a pair in *second the number of tokens before its second text, else
 * *n; n and second may be NULL. Borrowed until the next addition. NULL, and 0, past the last. */
ASC_API const int32_t *asc_sentences_at(const asc_sentences *sentences, int64_t i, int64_t *n, int64_t *second);

/* The sentences which[0 … n-1] as a model takes them: tokens [n, T] and, unless NULL, their types [n, T], both 0 behind
 * the end of a sentence, and lengths [n]. ASC_ERR_ARG: there is no such sentence, or one has more than T tokens. */
ASC_API asc_status asc_sentences_fill(const asc_sentences *sentences, const int64_t *which, int64_t n, int64_t T,
                                      int64_t *tokens, int64_t *types, int64_t *lengths);

/* ---- the encoder ---- */

typedef struct asc_encoder asc_encoder;

/* Opens the model in `folder`: config.json, model.safetensors, vocab.txt, or `vocab` in its place where that is not
 * NULL, and tokenizer_config.json where there is one. The weights are read as f32, 4 bytes each. New; NULL with the
 * error set:
 * ASC_ERR_IO: a file is missing, can't be read, or is no regular file; ASC_ERR_FORMAT: a setting that is not known or
 * out of range, by name, a tensor that is missing or of another shape than config.json says, a vocabulary that does not
 * fit, a damaged file; ASC_ERR_MEMORY. */
ASC_API asc_encoder *asc_encoder_open(asc_ctx *ctx, const char *folder, const char *vocab);
ASC_API void asc_encoder_free(asc_encoder *encoder);

/* What it is: "bert" or "distilbert"; E, the entries of a state; layers; the most tokens that a sentence may have;
 * parameters, the word embedding among them, heads and pooler not. Static; 0 and "" for NULL. */
ASC_API const char *asc_encoder_type(const asc_encoder *encoder);
ASC_API int64_t asc_encoder_dim(const asc_encoder *encoder);
ASC_API int64_t asc_encoder_layers(const asc_encoder *encoder);
ASC_API int64_t asc_encoder_longest(const asc_encoder *encoder);
ASC_API int64_t asc_encoder_parameters(const asc_encoder *encoder);
/* Its tokenizer; borrowed. */
ASC_API const asc_tokenizer *asc_encoder_tokenizer(const asc_encoder *encoder);
/* 16 hexadecimal digits that follow from all that its states depend on: the values of the weights, whatever dtype and
 * names the file has for them, and the settings in effect; not from the vocabulary, which is in the tokens. Borrowed.
 * "" for NULL. */
ASC_API const char *asc_encoder_fingerprint(const asc_encoder *encoder);

/* The last hidden states (B, N, E) of tokens i64 (B, N), N <= asc_encoder_longest. types: i64 (B, N), token types, or
 * null for 0; a DistilBERT has none, and does not look at them. lengths: i64 (B), the tokens of each sentence that
 * count, or null: N; what stands behind them is anything, the same as what comes of it. Without a gradient.
 * ASC_ERR_ARG: other shapes, an id or type that there is not; ASC_ERR_MEMORY. */
ASC_API asc_tensor asc_encoder_states(asc_encoder *encoder, asc_tensor tokens, asc_tensor types, asc_tensor lengths);

/* ---- sentences to features ---- */

/* What is kept of a sentence's states: all, one for each token; their mean, [CLS] and [SEP] among them; the first,
 * [CLS]'s; or means over windows of tokens. */
typedef enum asc_pooling { ASC_POOLING_NONE, ASC_POOLING_MEAN, ASC_POOLING_CLS, ASC_POOLING_WINDOWS } asc_pooling;

/* Window w has the tokens stride·w … stride·w + window - 1, of those that the sentence has: there are as many as begin
 * within the sentence, and the last ones may be shorter. 0 stands for 8. */
typedef struct asc_pooling_options {
    asc_pooling kind;
    int64_t window, stride; /* of ASC_POOLING_WINDOWS … */
    bool by_text; /* … that begin anew at the second text of a pair (asc_sentences_add_pair), [SEP] being the first's */
} asc_pooling_options;

/* "none", "mean", "cls", "windows"; static. NULL for another value. */
ASC_API const char *asc_pooling_name(asc_pooling kind);

/* How many rows are kept of a sentence of so many tokens, or with by_text of one of its texts; 0 for NULL, or of
 * none. */
ASC_API int64_t asc_pooling_rows(const asc_pooling_options *pooling, int64_t tokens);

/* Takes the n rows [n, E] of sentence i; borrowed until it returns. What it returns other than ASC_OK ends the
 * encoding, which returns it, too: asc_fail says why. */
typedef asc_status asc_encoded_fn(void *user, int64_t i, int64_t n, const float *rows);

/* Encodes all sentences, and gives each to `take` once: in the order of their lengths, not of their numbers, so that a
 * batch has no padding. What is there several times is computed once. The same list gives the same bits on any number
 * of threads; a sentence among others differs by rounding, or not at all where rows of OpenBLAS' products don't depend
 * on one another (doc/sentences.md). On the context's
 * threads, `take` on the caller's. Memory: some thousand tokens' activations. ASC_ERR_ARG: a sentence is longer than
 * asc_encoder_longest, an id is not among the model's, a window or stride below 0; ASC_ERR_INTERRUPTED;
 * ASC_ERR_MEMORY. */
ASC_API asc_status asc_encoder_encode(asc_encoder *encoder, const asc_sentences *sentences,
                                      const asc_pooling_options *pooling, asc_encoded_fn *take, void *user);

/* ---- features, once computed and kept ----
 *
 * A cache is a folder. What is kept of a list of sentences is found by the encoder's fingerprint, the tokens of the
 * sentences, in whatever order, and the pooling: by the same words cut at the same length, wherever they come from. It
 * lies there in parts of some thousand sentences, each a file that is there as a whole or not at all, with checksums:
 * what was killed is gone on with, a part that is damaged is made anew. Several processes may use a cache, on several
 * machines as well; those that want the same at the same time divide the work.
 */

typedef struct asc_features asc_features;

typedef struct asc_features_options {
    asc_pooling_options pooling;
    const char *cache; /* the folder, which is made; NULL or "": all is computed, and held in memory */
    /* Told how much is there, 0 … 1, every second at least while something is computed; or NULL. */
    void (*progress)(void *user, double done);
    /* Told in a line what is no error: that a part is damaged, that the cache can't be written, and what is computed is
     * held in memory, that another process is waited for; or NULL. */
    void (*say)(void *user, const char *text);
    void *user;
} asc_features_options;

/* The features of all sentences, from the cache or computed; all of it is checked once. Needs neither encoder nor
 * sentences later. `options` NULL: mean states, held in memory. Memory: 24 bytes a sentence, and a part while it is
 * computed. New; NULL with the error set: those of asc_encoder_encode; after ASC_ERR_INTERRUPTED the parts that were
 * done are kept. */
ASC_API asc_features *asc_features_open(asc_encoder *encoder, const asc_sentences *sentences,
                                        const asc_features_options *options);
ASC_API void asc_features_free(asc_features *features);

/* The sentences; E; rows of sentence i, how many of them are its first text's (all but with by_text), and the most
 * that one has. 0 for NULL, or past the last. */
ASC_API int64_t asc_features_count(const asc_features *features);
ASC_API int64_t asc_features_dim(const asc_features *features);
ASC_API int64_t asc_features_rows(const asc_features *features, int64_t i);
ASC_API int64_t asc_features_first_rows(const asc_features *features, int64_t i);
ASC_API int64_t asc_features_most_rows(const asc_features *features);

/* Reads the rows of sentence i to rows [asc_features_rows, E]. From a file by its place, in any order.
 * ASC_ERR_ARG: there is none; ASC_ERR_IO, ASC_ERR_FORMAT: the cache's file can't be read any more, or was cut. */
ASC_API asc_status asc_features_read(const asc_features *features, int64_t i, float *rows);

/* The sentences which[0 … n-1] side by side: rows [n, W, E], 0 behind a sentence's own, and lengths [n], how many these
 * are. ASC_ERR_ARG also where one has more than W. */
ASC_API asc_status asc_features_fill(const asc_features *features, const int64_t *which, int64_t n, int64_t W,
                                     float *rows, int64_t *lengths);

/* The folder that caches usually lie in, "$XDG_CACHE_HOME/ascgrad" or "$HOME/.cache/ascgrad", into path[bytes] as
 * snprintf: returns the bytes of the whole, without the 0. "" where neither variable is an absolute path. */
ASC_API size_t asc_cache_home(char *path, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
