/*
 * ascgrad/data.h: text, tokenizers, and the token streams that language models are trained on.
 *
 *     asc_dataset *data = asc_dataset_open(ctx, "wikitext-2/");
 *     asc_tokenizer *words = asc_tokenizer_new(ctx, "word");
 *     asc_dataset_collect(data, words);                              the vocabulary, from the train split
 *     asc_split *train = asc_split_load(data, ASC_SPLIT_TRAIN, words);     tokens, ready for asc_block_fill
 *
 * Objects belong to the caller, who frees them before their context. Functions that take one accept NULL, what a
 * failed builder returned: they do nothing, and return NULL or ASC_ERR_ARG.
 */
#ifndef ASCGRAD_DATA_H
#define ASCGRAD_DATA_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- text: lines of a plain or gzip file, told apart by content ---- */

typedef struct asc_text asc_text;

enum {
    ASC_TEXT_NUL = 1, /* let bytes of value 0 through: plain text that is no corpus */
    ASC_TEXT_OWN = 2, /* of a RUN's own: a regular file, neither a symbolic link nor a pipe, which is not waited for */
};

/* Opens a file for reading, "-" for standard input; new. `flags`: 0, or of ASC_TEXT_…
 * ASC_ERR_IO: it is missing, a directory, or can't be read; ASC_ERR_ARG; ASC_ERR_MEMORY. */
ASC_API asc_text *asc_text_open(asc_ctx *ctx, const char *path, unsigned flags);

/* The same over `bytes` of memory, which must stay until the close; `name` stands for the path in messages. */
ASC_API asc_text *asc_text_open_memory(asc_ctx *ctx, const char *name, const char *data, size_t bytes,
                                       unsigned flags);

/* Reads the next line, of a file up to 128 MiB, with its '\n' if it has one (the last may not); *line is NULL at the
 * end. Borrowed until the next call. Memory: the longest line. A failure is final. A byte order mark at the beginning
 * of a file that was opened with flags 0 is passed over.
 * ASC_ERR_FORMAT, with the line: gzip data that is cut short or damaged, a line that is longer, or a byte that is no
 * UTF-8 text (NUL among them), with its offset in the uncompressed text; ASC_ERR_IO; ASC_ERR_MEMORY. */
ASC_API asc_status asc_text_next(asc_text *text, const char **line, size_t *bytes);

/* Uncompressed bytes, and lines, that asc_text_next has returned so far; 0 for NULL. */
ASC_API int64_t asc_text_bytes(const asc_text *text);
ASC_API int64_t asc_text_lines(const asc_text *text);

/* NULL is accepted. */
ASC_API void asc_text_close(asc_text *text);

/* ---- tokenizers ----
 *
 * word       Words between white space (Unicode's), unknown ones as <unk>; the end of a line is <eos>. Ids: <unk> 0,
 *            <eos> 1, then the words in the order in which the train split has them first.
 * byte       A token is a byte, its id the byte's value; the end of a line is the byte '\n'.
 * wordpiece  BERT uncased (Devlin et al. 2019, arXiv 1810.04805): control characters are dropped, Chinese characters
 *            stand alone, letters are lower-cased one by one, accents stripped (NFD without Mn), punctuation stands
 *            alone; a word of at most 100 characters is then cut into the longest pieces of the vocabulary from the
 *            left, "##" before all but the first, or is [UNK]. The end of a line is no token.
 * wordpiece-cased   The same of BERT cased: letters and their accents stay as they are.
 * bpe        Byte-level byte-pair encoding (Radford et al. 2019) of a tokenizer.json in Hugging Face's format: text
 *            is split into words as GPT-2 does, spaces and the ends of lines among them, and their bytes merged.
 *            Nothing is unknown but a byte that the file lacks; text that spells a special token is plain text.
 */

typedef struct asc_tokenizer asc_tokenizer;

/* A growing list of ids; starts as all zero. */
typedef struct asc_ids {
    int32_t *data;
    size_t n;
    size_t capacity;
} asc_ids;

ASC_API void asc_ids_free(asc_ctx *ctx, asc_ids *ids);

enum {
    ASC_ENCODE_CORPUS = 1, /* a word "<unk>" is the unknown token; `word`: a line without '\n' ends with <eos> too */
};

/* A new tokenizer from "word", "byte", "wordpiece:VOCAB_FILE" and so on. `word` knows no words yet:
 * asc_dataset_collect or asc_tokenizer_collect gives them.
 * ASC_ERR_ARG: another spec; ASC_ERR_FORMAT: the vocabulary is empty, not text, has an entry that is empty or there
 * twice, or no [UNK]; ASC_ERR_IO; ASC_ERR_MEMORY. */
ASC_API asc_tokenizer *asc_tokenizer_new(asc_ctx *ctx, const char *spec);

/* The tokenizer `name` ("word", "byte", "wordpiece", "wordpiece-cased", "bpe") with the vocabulary that
 * asc_tokenizer_save wrote to `path`; of "byte" the path is not looked at. Errors as asc_tokenizer_new; `word` must
 * have <unk> and <eos>. */
ASC_API asc_tokenizer *asc_tokenizer_load(asc_ctx *ctx, const char *name, const char *path);

/* The same with those lines in memory, where a byte order mark is part of the first; `source` names them in
 * messages. */
ASC_API asc_tokenizer *asc_tokenizer_parse(asc_ctx *ctx, const char *name, const char *source, const char *vocabulary,
                                           size_t bytes);

/* Writes the vocabulary, an entry a line in the order of ids, of "bpe" a tokenizer.json, atomically; "byte" writes
 * nothing. ASC_ERR_IO, ASC_ERR_MEMORY. */
ASC_API asc_status asc_tokenizer_save(const asc_tokenizer *tokenizer, const char *path);

/* What that writes, as text ended by 0; new, *bytes without the 0: free it with asc_free(ctx, text, *capacity). ""
 * where nothing is written. NULL: without memory, or of NULL. */
ASC_API char *asc_tokenizer_text(const asc_tokenizer *tokenizer, size_t *bytes, size_t *capacity);

/* NULL is accepted. */
ASC_API void asc_tokenizer_free(asc_tokenizer *tokenizer);

/* Adds the words of `text` that are not there yet; nothing where the vocabulary is given ("byte", "wordpiece"). */
ASC_API asc_status asc_tokenizer_collect(asc_tokenizer *tokenizer, const char *text, size_t bytes);

/* Appends the ids of `text` to `ids`. `text` is one line with its '\n', or any piece of text that ends between words;
 * each '\n' is <eos> for `word`. Text that spells a special token is plain text (but see ASC_ENCODE_CORPUS).
 * Bytes that are not UTF-8 count as U+FFFD, which `wordpiece` drops. ASC_ERR_FORMAT: a byte that a
 * `bpe` file has no token for; ASC_ERR_MEMORY. On an error `ids` has what it had. */
ASC_API asc_status asc_tokenizer_encode(const asc_tokenizer *tokenizer, const char *text, size_t bytes,
                                        unsigned flags, asc_ids *ids);

/* Finds a word between white space, at byte *at of the text or later, of which a part is unknown: its length, *at where
 * it starts. 0: there is none, or the error is set (ASC_ERR_ARG, ASC_ERR_MEMORY). Start with *at 0, then go on behind
 * what was found. A word that spells the unknown token is unknown. */
ASC_API size_t asc_tokenizer_find_unknown(const asc_tokenizer *tokenizer, const char *text, size_t bytes, size_t *at);

/* The kind, "word", "byte", "wordpiece-cased"; borrowed. Of NULL: "". */
ASC_API const char *asc_tokenizer_name(const asc_tokenizer *tokenizer);
/* The number of ids: 0 … size-1. Of NULL: 0. */
ASC_API int64_t asc_tokenizer_size(const asc_tokenizer *tokenizer);
/* The id of unknown words, and of the end of a line; -1 if there is none. */
ASC_API int32_t asc_tokenizer_unknown(const asc_tokenizer *tokenizer);
ASC_API int32_t asc_tokenizer_eos(const asc_tokenizer *tokenizer);
/* The vocabulary's entry of an id ("##ing"), of *bytes bytes, not ended by 0; borrowed until the next collect or the
 * free. NULL, *bytes 0, for an id that there is not. Here and below `bytes` may be NULL. */
ASC_API const char *asc_tokenizer_piece(const asc_tokenizer *tokenizer, int32_t id, size_t *bytes);

/* ---- a vocabulary of one's own: byte-pair encoding, learned from text ----
 *
 * The bytes are the first 256 tokens; then the pair of neighbours within words that is there most often becomes a
 * token, and so on, as long as there is one that is there twice. Words are split as GPT-2 does. */

typedef struct asc_bpe_learner asc_bpe_learner;

ASC_API asc_bpe_learner *asc_bpe_learner_new(asc_ctx *ctx);
/* NULL is accepted. */
ASC_API void asc_bpe_learner_free(asc_bpe_learner *learner);
/* Counts the words of a line, or of any text that ends between words. ASC_ERR_MEMORY. */
ASC_API asc_status asc_bpe_learner_add(asc_bpe_learner *learner, const char *text, size_t bytes);
/* Learns a vocabulary of at most `vocab_size` tokens, 256 to 2^20, from what was counted, and writes it as a
 * tokenizer.json, atomically; *learned, unless NULL, becomes its size. ASC_ERR_ARG, ASC_ERR_IO, ASC_ERR_MEMORY. */
ASC_API asc_status asc_bpe_learner_save(asc_bpe_learner *learner, int64_t vocab_size, const char *path,
                                        int64_t *learned);

/* ---- ids to readable text, one by one ---- */

typedef struct asc_decoder asc_decoder;

/* A new decoder, at the start of a text. Free it before its tokenizer. ASC_ERR_ARG, ASC_ERR_MEMORY. */
ASC_API asc_decoder *asc_decoder_new(const asc_tokenizer *tokenizer);

/* The bytes to print for the next id, the space before it among them where one belongs there. UTF-8, whatever the
 * ids: `byte` keeps the start of a character until it is complete, and shows U+FFFD for bytes that never are one.
 * Borrowed until the next call. NULL with ASC_ERR_ARG for an id that there is not. */
ASC_API const char *asc_decoder_next(asc_decoder *decoder, int32_t id, size_t *bytes);

/* What is still kept back at the end of the ids; the decoder is then at the start of a text again. Borrowed. */
ASC_API const char *asc_decoder_end(asc_decoder *decoder, size_t *bytes);

/* NULL is accepted. */
ASC_API void asc_decoder_free(asc_decoder *decoder);

/* ---- data sets ---- */

typedef enum asc_split_kind { ASC_SPLIT_TRAIN, ASC_SPLIT_VALID, ASC_SPLIT_TEST } asc_split_kind;

typedef struct asc_dataset asc_dataset;

/* Opens a data set; new. `spec` is one of
 *   builtin[:WORDS[:SEED]]  the generated corpus of ascgrad/builtin.h (ASC_BUILTIN_WORDS, ASC_BUILTIN_SEED);
 *   a text file             its last 5 % are test, the 5 % before them valid, the rest train: a line belongs where
 *                           its first byte is;
 *   task:NAME[:KEY=VALUE,…] examples with known answers, made as they are asked for: doc/tasks.md;
 *   a .jsonl or .tsv file   records, each of which is a sequence: doc/tasks.md; and a folder with such files;
 *   a folder                with a file for each split that is asked for: its name has a part between '.', '_' and
 *                           '-' that is train; valid, validation, val or dev; or test ("wiki.train.tokens.gz"). Of
 *                           NAME and NAME.gz the first is taken.
 * Files are plain or gzip; they are read by asc_split_load and asc_dataset_collect.
 * ASC_ERR_ARG: a wrong builtin spec; ASC_ERR_IO: there is nothing of that name, or neither file nor folder. */
ASC_API asc_dataset *asc_dataset_open(asc_ctx *ctx, const char *spec);

/* NULL is accepted. */
ASC_API void asc_dataset_free(asc_dataset *dataset);

/* How probable a text is under the source that it is drawn from: what a perfect model of the source would reach. */
typedef struct asc_entropy {
    double nats;    /* −log of the probability of all tokens but the first */
    int64_t tokens; /* their number, in the source's own tokens: of builtin words and ends of lines */
} asc_entropy;

/* From here on a data set that generates its sequences at any length, as tasks do, has them with `length` inputs.
 * ASC_ERR_ARG: it has no such length, or its text has the length that it has. */
ASC_API asc_status asc_dataset_stretch(asc_dataset *dataset, int64_t length);

/* The most inputs that one of its sequences can have, as words; 0: not known, or for NULL. */
ASC_API int64_t asc_dataset_longest(const asc_dataset *dataset);

/* The name of class i of its sequences; borrowed until the next call.
 * NULL past the last, and where sequences have none, or for NULL. */
ASC_API const char *asc_dataset_class(const asc_dataset *dataset, int32_t i);

/* The entropy of a split, where the source knows it, as builtin does. false: it does not (text from files), or it
 * failed, with the error set; nats are NaN then, tokens 0. */
ASC_API bool asc_dataset_entropy(asc_dataset *dataset, asc_split_kind kind, asc_entropy *entropy);

/* Gives the tokenizer the words of the train split, or of a task all that there can be; nothing where its vocabulary is
 * given.
 * Errors as asc_split_load; ASC_ERR_FORMAT: there are none. */
ASC_API asc_status asc_dataset_collect(asc_dataset *dataset, asc_tokenizer *tokenizer);

/* A piece of a stream's text that was made tokens by itself, so that it ends where a token ends whatever the tokenizer:
 * a line with its newline, of most sources. */
typedef struct asc_split_line {
    int64_t tokens, bytes;
} asc_split_line;

/* A split's tokens: one stream, the lines one after another; or sequences, none of which sees another, as the examples
 * of a task (ascgrad/corpus.h). To be read only. */
typedef struct asc_split {
    const int32_t *tokens;
    int64_t n_tokens;  /* >= 2 */
    int64_t bytes;     /* of its text, uncompressed, newlines among them: what bits per byte divide by */
    const uint8_t *given; /* [n_tokens]: not 0 for a token that is no target (ascgrad/corpus.h); NULL: there is none */
    int64_t n_sequences;  /* 0: one stream */
    const int64_t *starts; /* [n_sequences + 1]: sequence s is the tokens starts[s] … starts[s+1]-1, two or more */
    const int32_t *labels; /* [n_sequences]: the class of each; NULL: they have none */
    int32_t classes;       /* how many there are */
    uint32_t checksum; /* CRC-32 of its text */
    int32_t unknown;   /* the id of tokens that the tokenizer does not know; -1: there is none */
    const asc_split_line *lines; /* [n_lines], in order, together all of it; NULL but of asc_split_load_lines */
    int64_t n_lines;
    const int64_t *seconds; /* [n_sequences]: of sequences with a class that are two texts, where the second begins; of
                             * one text, where it ends. NULL: they have no class */
    int64_t skipped;        /* records that are none of the sequences, as they have no class */
} asc_split;

/* Reads and tokenizes a split; new.
 * ASC_ERR_IO: the file can't be read, or a folder has none for this split, or several; ASC_ERR_FORMAT: it is no text
 * (see asc_text_next), or the split has less than two tokens; ASC_ERR_STATE: `word` has no words yet;
 * ASC_ERR_MEMORY. Memory: 4 bytes a token, up to three times that while reading. */
ASC_API asc_split *asc_split_load(asc_dataset *dataset, asc_split_kind kind, const asc_tokenizer *tokenizer);

/* The same with its lines, at 16 bytes each. */
ASC_API asc_split *asc_split_load_lines(asc_dataset *dataset, asc_split_kind kind, const asc_tokenizer *tokenizer);

/* The text of a split, its pieces one after another. *text: new, of *bytes bytes without a terminating 0; the caller
 * frees it with asc_free(ctx, *text, *capacity). On failure *text is NULL. Errors as asc_split_load. */
ASC_API asc_status asc_dataset_text(asc_dataset *dataset, asc_split_kind kind, char **text, size_t *bytes,
                                    size_t *capacity);

/* NULL is accepted. */
ASC_API void asc_split_free(asc_ctx *ctx, asc_split *split);

/* "train", "valid", "test"; static. NULL for another value. */
ASC_API const char *asc_split_name(asc_split_kind kind);

/* ---- blocks: of a stream, block i has the inputs iL … iL+L-1 and the targets one later; of sequences, block i is
 * sequence i, all tokens but the last its inputs, whatever L is ---- */

/* How many blocks of L tokens a stream of n tokens has, and with `partial` the last, shorter one too, if there is
 * one; 0 if n < 2 or L < 1. */
ASC_API int64_t asc_block_count(int64_t n_tokens, int64_t length, bool partial);

/* The number of inputs of block i: L, less for the last, shorter one, 0 past it. */
ASC_API int64_t asc_block_length(int64_t n_tokens, int64_t length, int64_t i);

/* The order of an epoch: a random permutation of 0 … blocks-1, the same for the same (seed, epoch) everywhere.
 * ASC_ERR_ARG: blocks is not in 0 … 2^31-1. Source: Fisher and Yates 1938 (Durstenfeld 1964), with Philox. */
ASC_API asc_status asc_block_order(asc_ctx *ctx, int64_t blocks, uint64_t seed, uint64_t epoch, int32_t *order);

/* The order in which rows 0 … R-1 read streams: step after step the next block of each, row b from block b·blocks/R on.
 * ASC_ERR_ARG: blocks is no multiple of R >= 1, or not in 0 … 2^31-1. */
ASC_API asc_status asc_block_streams(asc_ctx *ctx, int64_t blocks, int64_t rows, int32_t *order);

/* How many blocks a split has; `partial` as in asc_block_count. 0 for NULL. */
ASC_API int64_t asc_split_blocks(const asc_split *split, int64_t length, bool partial);

/* The most inputs that one of the blocks which[0 … n-1] has. 0 for NULL. */
ASC_API int64_t asc_split_width(const asc_split *split, int64_t length, const int32_t *which, int64_t n);

/* The inputs of the longest sequence; 0 for a stream, or NULL. */
ASC_API int64_t asc_split_longest(const asc_split *split);

/* How many targets the blocks which[0 … n-1] have: all of their tokens but those that are given. 0 for NULL. */
ASC_API int64_t asc_block_targets(const asc_split *split, int64_t length, const int32_t *which, int64_t n);

/* How many targets a split has in all. 0 for NULL. */
ASC_API int64_t asc_split_targets(const asc_split *split);

/* Fills inputs and targets [n, W] with the blocks which[0 … n-1], W = asc_split_width of them; the target is -1 where
 * the token is given. Sequences that are shorter end in inputs of 0 with targets of -1.
 * ASC_ERR_ARG: there is no such block, or blocks of a stream that differ in length are mixed. */
ASC_API asc_status asc_block_fill(asc_ctx *ctx, const asc_split *split, int64_t length, const int32_t *which,
                                  int64_t n, int64_t *inputs, int64_t *targets);

/* ---- classes: of a sequence with a class the tokens that are given, from the first on, are the input ---- */

/* The most inputs that one of the sequences which[0 … n-1] has, or with which NULL one of 0 … n-1. 0 for NULL. */
ASC_API int64_t asc_class_width(const asc_split *split, const int32_t *which, int64_t n);

/* Fills inputs [n, W], W = asc_class_width of the sequences which[0 … n-1], 0 behind those that are shorter; lengths
 * [n] of inputs; labels [n]. ASC_ERR_ARG: there is no such sequence, nothing of it is given, or it has no class. */
ASC_API asc_status asc_class_fill(asc_ctx *ctx, const asc_split *split, const int32_t *which, int64_t n,
                                  int64_t *inputs, int64_t *lengths, int64_t *labels);

/* ---- pairs: of a sequence with a class the two texts that are given, one after the other ---- */

/* The most inputs that one of the sequences which[0 … n-1] has, of at most `most` tokens from each text. 0 for NULL. */
ASC_API int64_t asc_pair_width(const asc_split *split, const int32_t *which, int64_t n, int64_t most);

/* Fills inputs [n, W], W = asc_pair_width, with the first text and the second behind it, 0 behind both; lengths [n, 2]
 * of the texts; labels [n]. A text of more than `most` tokens keeps its first most-1 and its last.
 * ASC_ERR_ARG: there is no such sequence, it has no class, or most < 1. */
ASC_API asc_status asc_pair_fill(asc_ctx *ctx, const asc_split *split, const int32_t *which, int64_t n, int64_t most,
                                 int64_t *inputs, int64_t *lengths, int64_t *labels);

#ifdef __cplusplus
}
#endif
#endif
