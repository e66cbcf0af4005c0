/* tensor/locale.h: numbers and names as the C locale has them, whatever locale the program that uses the library has
 * set: files, settings and messages have points in their numbers everywhere. tests/house/locale.sh sees to it that
 * nothing else in the library depends on a locale. */
#ifndef TENSOR_LOCALE_H
#define TENSOR_LOCALE_H

#include <stdarg.h>

#include <ascgrad/base.h>

/* As the functions of C and POSIX whose names they bear. */
double asc_strtod(const char *text, char **end);
int asc_snprintf(char *text, size_t size, const char *format, ...) ASC_PRINTF(3, 4);
int asc_vsnprintf(char *text, size_t size, const char *format, va_list args);
int asc_strcasecmp(const char *a, const char *b); /* of ASCII's letters only: I is i in Turkish too */
int asc_strncasecmp(const char *a, const char *b, size_t n);

/* Whether the pattern, "blocks.*.weight", stands for the name: '*' for any text, '?' for one character, "[0-9]" for one
 * of several, what stands behind '\\' for itself; or is the name, whatever that has in it. */
bool asc_name_matches(const char *pattern, const char *name);

/* Of ASCII. isdigit is the same in every locale. */
static inline bool asc_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The letter as a small one; others as they are. */
static inline int asc_small(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

static inline bool asc_is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

#endif
