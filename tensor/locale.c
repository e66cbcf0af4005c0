/* tensor/locale.c: the C locale for what goes into files, settings and messages: for the calling thread only, and for
 * the length of a call. */
#include "tensor/locale.h"

#include <fnmatch.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t plain; /* made once, never freed; 0, no memory for it: the thread's locale stays */

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* What the thread had, to be given to uselocale again. */
static locale_t enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain);
    return uselocale(plain);
}

double asc_strtod(const char *text, char **end)
{
    locale_t before = enter();
    double value = strtod(text, end);
    uselocale(before);
    return value;
}

int asc_vsnprintf(char *text, size_t size, const char *format, va_list args)
{
    locale_t before = enter();
    int n = vsnprintf(text, size, format, args);
    uselocale(before);
    return n;
}

int asc_snprintf(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = asc_vsnprintf(text, size, format, args);
    va_end(args);
    return n;
}

bool asc_name_matches(const char *pattern, const char *name)
{
    locale_t before = enter();
    bool found = strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
    uselocale(before);
    return found;
}

int asc_strncasecmp(const char *a, const char *b, size_t n)
{
    for (; n > 0 && *a && asc_small(*a) == asc_small(*b); a++, b++, n--) {
    }
    return n > 0 ? asc_small(*a) - asc_small(*b) : 0;
}

int asc_strcasecmp(const char *a, const char *b)
{
    return asc_strncasecmp(a, b, SIZE_MAX);
}
