/* data/utf8.h: reading UTF-8 that may be wrong. */
#ifndef DATA_UTF8_H
#define DATA_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* What asc_utf8_next returns in place of a length. */
enum { ASC_UTF8_CUT = 0, ASC_UTF8_WRONG = -1 };

/* Decodes the character at the start of n >= 1 bytes: returns its length, 1 … 4; ASC_UTF8_CUT if the bytes are the
 * start of one; ASC_UTF8_WRONG if no character starts like this (surrogates and overlong forms among them). */
int asc_utf8_next(const char *text, size_t n, int32_t *code);

/* The number of bytes of text's well-formed beginning: n if all of it is UTF-8. */
size_t asc_utf8_check(const char *text, size_t n);

/* Writes a character, at most 4 bytes, and returns its length. */
int asc_utf8_put(int32_t code, char *text);

/* The length of the white space character (Unicode's White_Space, and 0x1c … 0x1f as Python has it) at the start of
 * n >= 1 bytes; 0 if there is none. */
int asc_utf8_space(const char *text, size_t n);

#endif
