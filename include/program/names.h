/*
 * program/names.h: what people type: slips of the pen in names, and numbers.
 */
#ifndef PROGRAM_NAMES_H
#define PROGRAM_NAMES_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many letters must be put in, left out, changed or swapped with their neighbour to make `a` of `b`: to offer
 * the nearest of the names that there are. A capital letter is its small one; names longer than 63 bytes are compared
 * by their beginnings; NULL is "". */
ASC_API int asc_name_distance(const char *a, const char *b);

/* The nearest to `name` of `names`, a list that ends with NULL; of several one that `name` begins with,
 * else the first. NULL if there are none. */
ASC_API const char *asc_name_nearest(const char *name, const char *const *names);

/* Whether `name` may be a slip of the pen for `meant`: their distance is at most a third of its length, rounded
 * up, or it is the beginning, of two letters or more, or begins with `meant`, of four or more. */
ASC_API bool asc_name_close(const char *name, const char *meant);

/* The nearest of `names`, if it is close: what to offer to whoever wrote `name`. NULL if none is. */
ASC_API const char *asc_name_guess(const char *name, const char *const *names);

/* What an error message ends with: "; did you mean 'GUESS'?", or "" if that is NULL, into text[ASC_NAME_HINT]. Returns
 * text. */
enum { ASC_NAME_HINT = 160 };
ASC_API const char *asc_name_hint(const char *guess, char *text);

/* "a, b or c" into text[bytes], item by item. */
typedef struct asc_name_list {
    char *text;
    size_t bytes, n;
} asc_name_list;
ASC_API asc_name_list asc_list_begin(char *text, size_t bytes);
ASC_API void asc_list_add(asc_name_list *list, const char *item, bool last);

/* ---- numbers as people write them ----
 * All of the text must be the number: no blanks, no other base, nothing that is not finite. false: it is none, and
 * *value stays. */

/* A whole number, exactly: "250", "1e4", "-3", "2.5e3"; with k a thousand, with M a million of them: "1.5k", "2M". */
ASC_API bool asc_count_parse(const char *text, int64_t *value);

/* A number: "0.1", ".1", "1e-3". */
ASC_API bool asc_real_parse(const char *text, double *value);

/* A time in units of `unit_s` seconds, > 0: a number of them, or numbers with s, m and h: "90s", "1.5h", "1h30m". */
ASC_API bool asc_time_parse(const char *text, double unit_s, double *value);

#ifdef __cplusplus
}
#endif
#endif
