/*
 * ascgrad/builtin.h: the built-in corpus, text from a grammar whose exact entropy is known.
 *
 * Stories of several sentences, a sentence a line, words and punctuation parted by single spaces. Each next word is
 * drawn from a distribution that the words before it determine, so that the text's probability is known to the last
 * digit: no model can do better on average, and the distance to it is what a model has yet to learn. What there is
 * to learn: agreement across clauses, nested brackets, names and places that a story binds once and takes up
 * hundreds of words later, and word pairs for n-grams. doc/builtin-corpus.md describes the grammar.
 */
#ifndef ASCGRAD_BUILTIN_H
#define ASCGRAD_BUILTIN_H

#include <ascgrad/data.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASC_BUILTIN_WORDS 400000   /* of the training split, unless said otherwise */
#define ASC_BUILTIN_SEED 1
#define ASC_BUILTIN_MAX_WORDS 1000000000

/* Writes one split of the corpus, the same for the same (words, seed, split) everywhere: "train" of at least `words`
 * words (1 … ASC_BUILTIN_MAX_WORDS), "valid" and "test" of at least max(words/20, 2000), each up to the end of the
 * sentence that reaches the number. The splits share grammar and vocabulary, and are drawn independently.
 * `*text`: new, of `*bytes` bytes without a terminating 0; the caller frees it with asc_free(ctx, *text, *capacity).
 * `*source_nats` (may be NULL): −log of the probability, under the grammar, of all tokens but the first. A token is a
 * word, a punctuation mark, or the end of a line. `*source_tokens` (may be NULL): their number.
 * exp(source_nats / source_tokens) is the perplexity that a perfect model of the source would have on this text.
 * On failure *text is NULL. ASC_ERR_ARG: words out of range, an unknown split, NULL; ASC_ERR_MEMORY. */
ASC_API asc_status asc_builtin_text(asc_ctx *ctx, int64_t words, uint64_t seed, const char *split, char **text,
                                    size_t *bytes, size_t *capacity, double *source_nats, int64_t *source_tokens);

/* The same −log probability and number of tokens of a text that is given, from its words alone. `text` is one that
 * the grammar may write, from the start of a story; it may end anywhere between two words.
 * `memory` > 0 asks what is left to a reader that forgets what a story has bound (who is in it, who is called what,
 * what lies where) once it was not mentioned for that many words, and falls back on the frequency of the words, yet
 * still follows every sentence; 0 forgets nothing.
 * ASC_ERR_ARG: NULL or a negative size; ASC_ERR_FORMAT: a word that can't stand where it does, named with its line;
 * ASC_ERR_MEMORY. */
ASC_API asc_status asc_builtin_score(asc_ctx *ctx, const char *text, size_t bytes, int64_t memory, double *nats,
                                     int64_t *tokens);

/* ---- what is known about each token: labels to look for in a model ---- */

typedef enum asc_builtin_label {
    ASC_BUILTIN_LABEL_WORD_CLASS, /* asc_builtin_class_name's number; the end of a line is a class of its own */
    ASC_BUILTIN_LABEL_SENTENCE,   /* the sentence's number within its story, from 0 */
    ASC_BUILTIN_LABEL_NAME,       /* who was named last in the story, this token counted: each a number; -1: nobody */
    ASC_BUILTIN_LABEL_PLACE,      /* how many tokens of the sentence stand before this one */
} asc_builtin_label;

/* The name of a class of words, "noun", "seeks", "end of line"; NULL past the last. */
ASC_API const char *asc_builtin_class_name(int64_t word_class);

/* Labels of the tokens (words, punctuation, ends of lines) of a text as asc_builtin_score takes it: the first `room` of
 * them into labels; *tokens is how many there are. Errors as there. */
ASC_API asc_status asc_builtin_labels(asc_ctx *ctx, const char *text, size_t bytes, asc_builtin_label label,
                                      int64_t *labels, int64_t room, int64_t *tokens);

/* The same of the first n tokens that asc_tokenizer_encode makes of the text: labels[i] is that of the word or end of
 * line which token i belongs to, a space before a word counted to it; an unknown token is a word. ASC_ERR_ARG too where
 * the text has fewer. */
ASC_API asc_status asc_builtin_token_labels(const asc_tokenizer *tokenizer, const char *text, size_t bytes,
                                            asc_builtin_label label, int64_t *labels, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
