/* data/bpe.h: byte-level byte-pair encoding (Sennrich, Haddow and Birch, ACL 2016; Radford et al. 2019), for the data/
 * files that split, merge, learn, read and write.
 *
 * Text is split into words; the bytes of a word are merged, two neighbours at a time, the pair that was learned first
 * before all others, until none of the pairs that are left was learned. */
#ifndef DATA_BPE_H
#define DATA_BPE_H

#include <ascgrad/corpus.h>

#include "data/strings.h"

/* ---- words ---- */

/* The length in bytes of the word at the start of n >= 1 bytes, as GPT-2 splits them:
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * A byte that is no UTF-8 counts as a character of the third kind. */
size_t asc_bpe_word(const char *text, size_t n);

/* ---- pairs ---- */

/* The slot, of a power of two of them, at which the search for a pair of tokens begins. */
static inline size_t asc_bpe_first_slot(int32_t left, int32_t right, size_t n_slots)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    key = (key ^ asc_hash_start()) * UINT64_C(0xbf58476d1ce4e5b9);
    key ^= key >> 29;
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (n_slots - 1);
}

/* Which pairs are merged: a hash table. */
typedef struct asc_bpe_merge {
    int32_t left, right; /* tokens; left -1: an empty slot */
    int32_t rank;        /* the order in which they were learned */
    int32_t token;       /* what they become */
} asc_bpe_merge;

typedef struct asc_bpe_merges {
    asc_ctx *ctx;
    asc_bpe_merge *slot;
    size_t n, n_slots; /* n_slots is 0 or a power of two */
} asc_bpe_merges;

void asc_bpe_merges_free(asc_bpe_merges *m);
/* Adds a pair, whose rank is how many there were; a pair that is there already keeps its place. ASC_ERR_MEMORY. */
asc_status asc_bpe_merges_add(asc_bpe_merges *m, int32_t left, int32_t right, int32_t token);
/* NULL: the pair is not merged. */
const asc_bpe_merge *asc_bpe_merges_find(const asc_bpe_merges *m, int32_t left, int32_t right);

/* ---- a tokenizer ---- */

/* One of the words whose tokens are known: the last that fell into its slot. */
typedef struct asc_bpe_known {
    uint32_t hash;
    uint8_t bytes, n;
    char text[26];
    int32_t token[8];
} asc_bpe_known;

enum { ASC_BPE_KNOWN = 1 << 15 };

/* Where a word is merged: grows to the longest. */
typedef struct asc_bpe_space {
    void *symbols, *queue;
    size_t symbols_capacity, queue_capacity;
} asc_bpe_space;

typedef struct asc_bpe {
    asc_ctx *ctx;
    asc_strings *vocabulary; /* borrowed: the bytes of each token */
    int32_t byte[256];       /* the token of a byte; -1: there is none */
    asc_bpe_merges merges;
    bool prefix_space; /* a text that does not start with a space gets one */
    asc_bpe_known *known; /* [ASC_BPE_KNOWN] */
    asc_bpe_space space;
} asc_bpe;

/* Sets `byte` from the vocabulary, and makes the table of known words. ASC_ERR_MEMORY. */
asc_status asc_bpe_begin(asc_bpe *b);
void asc_bpe_free(asc_bpe *b);
/* Appends the tokens of a text. ASC_ERR_FORMAT: it has a byte for which there is no token. */
asc_status asc_bpe_encode(asc_bpe *b, const char *text, size_t bytes, asc_ids *ids);

/* ---- files: Hugging Face's tokenizer.json ---- */

/* Whether a byte stands for itself in such a file. */
bool asc_bpe_prints(int byte);

/* Fills in vocabulary, merges and prefix_space; `name` is the file's in messages. ASC_ERR_FORMAT: no JSON, or what it
 * describes is no byte-level BPE of GPT-2's kind. */
asc_status asc_bpe_parse(asc_bpe *b, const char *name, const char *text, size_t bytes);
/* The text of such a file; new, to be freed with free(). NULL with the error set. */
char *asc_bpe_text(const asc_bpe *b);

#endif
