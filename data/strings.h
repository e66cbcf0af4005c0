/* data/strings.h: a vocabulary: distinct strings, numbered from 0 in the order in which they came. */
#ifndef DATA_STRINGS_H
#define DATA_STRINGS_H

#include <ascgrad/data.h>

typedef struct asc_strings_slot {
    uint32_t hash;
    int32_t id; /* -1: empty */
} asc_strings_slot;

typedef struct asc_strings {
    asc_ctx *ctx;
    char *bytes; /* the strings, one after another */
    size_t bytes_capacity;
    size_t *ends; /* string i ends before bytes[ends[i]] */
    size_t ends_capacity;
    int32_t n;
    size_t longest;          /* bytes of the longest string */
    asc_strings_slot *slots; /* open addressing; n_slots is 0 or a power of two */
    size_t n_slots;
} asc_strings;

/* The hash of a string, byte by byte, so that one pass hashes every beginning: Fowler, Noll and Vo's FNV-1a, with the
 * high bits brought down at each byte, so that all of the start counts. That is another number in each process: a file
 * can't be made of strings that share a hash. */
uint32_t asc_hash_start(void);
static inline uint32_t asc_hash_step(uint32_t hash, char byte)
{
    hash = (hash ^ (unsigned char)byte) * UINT32_C(16777619);
    return hash ^ hash >> 15;
}

void asc_strings_free(asc_strings *s);

/* The number of a string; -1 if it is not there. */
int32_t asc_strings_find(const asc_strings *s, const char *text, size_t n);
/* The same for one whose hash is known. */
int32_t asc_strings_find_hashed(const asc_strings *s, const char *text, size_t n, uint32_t hash);

/* The number of a string, which is added if it is not there; -1 with the error set. */
int32_t asc_strings_add(asc_strings *s, const char *text, size_t n);

/* String `id`, 0 … n-1; borrowed until the next addition. */
const char *asc_strings_at(const asc_strings *s, int32_t id, size_t *n);

/* Adds the lines of a text to an empty vocabulary, without their ends ("\n" or "\r\n"); `name` is the text's in
 * messages. NULL, what a failed asc_text_open returned, is accepted.
 * ASC_ERR_FORMAT: there are none, one is empty, or there twice; errors of asc_text_open and asc_text_next. */
asc_status asc_strings_read(asc_strings *s, asc_text *text, const char *name);

#endif
