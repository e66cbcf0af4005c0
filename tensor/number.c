/* tensor/number.c: numbers as people write them on a command line. */
#include <ascgrad/base.h>
#include <program/names.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/locale.h"

/* The digits of a decimal number, without the point: value = digits × 10^exponent. */
typedef struct decimal {
    int64_t digits;
    int exponent;
    bool any;
} decimal;

enum { MOST_DIGITS = 18 }; /* so that they fit in 64 bits */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits up to another character, which it returns; NULL if they are too many. */
static const char *read_digits(const char *text, decimal *d, bool behind_point)
{
    for (; is_digit(*text); text++) {
        if (d->digits >= INT64_C(100000000000000000)) {
            return NULL;
        }
        d->digits = 10 * d->digits + (*text - '0');
        d->exponent -= behind_point;
        d->any = true;
    }
    return text;
}

/* "e4", "k" or "M" at the end; NULL if it is something else. */
static const char *read_scale(const char *text, decimal *d)
{
    if (*text == 'e' || *text == 'E') {
        char *end;
        const char *number = text + 1 + (text[1] == '+' || text[1] == '-');
        long exponent = is_digit(*number) ? strtol(text + 1, &end, 10) : 0;
        if (!is_digit(*number) || exponent > MOST_DIGITS || exponent < -MOST_DIGITS) {
            return NULL;
        }
        d->exponent += (int)exponent;
        return end;
    }
    int scale = *text == 'k' || *text == 'K' ? 3 : *text == 'M' ? 6 : 0;
    d->exponent += scale;
    return text + (scale > 0);
}

bool asc_count_parse(const char *text, int64_t *value)
{
    if (!text || !value) {
        return false;
    }
    decimal d = {0};
    const char *at = read_digits(text + (*text == '-' || *text == '+'), &d, false);
    at = at && *at == '.' ? read_digits(at + 1, &d, true) : at;
    at = at && d.any ? read_scale(at, &d) : NULL;
    if (!at || *at) {
        return false;
    }
    for (; d.exponent > 0; d.exponent--) {
        if (d.digits > INT64_MAX / 10) {
            return false;
        }
        d.digits *= 10;
    }
    for (; d.exponent < 0 && d.digits; d.exponent++) {
        if (d.digits % 10) {
            return false; /* not a whole number */
        }
        d.digits /= 10;
    }
    *value = *text == '-' ? -d.digits : d.digits;
    return true;
}

/* strtod without what it takes beside decimal numbers: blanks before them, nan, 0x1. What stands behind the number. */
static const char *read_real(const char *text, double *value)
{
    const char *at = text + (*text == '-' || *text == '+');
    if (!(is_digit(*at) || (*at == '.' && is_digit(at[1]))) || (*at == '0' && (at[1] == 'x' || at[1] == 'X'))) {
        return NULL;
    }
    char *end;
    *value = asc_strtod(text, &end);
    return isfinite(*value) ? end : NULL;
}

bool asc_real_parse(const char *text, double *value)
{
    double got;
    const char *end = text && value ? read_real(text, &got) : NULL;
    if (!end || *end) {
        return false;
    }
    *value = got;
    return true;
}

static double seconds_of(char unit)
{
    return unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
}

bool asc_time_parse(const char *text, double unit_s, double *value)
{
    double got;
    const char *at = text && value && unit_s > 0 ? read_real(text, &got) : NULL;
    if (!at) {
        return false;
    }
    if (!*at) {
        *value = got;
        return true;
    }
    double total = 0;
    for (double each; (each = seconds_of(*at)) > 0;) {
        total += got * each;
        at++;
        if (!*at) {
            *value = total / unit_s;
            return isfinite(*value);
        }
        at = is_digit(*at) ? read_real(at, &got) : NULL;
        if (!at) {
            break;
        }
    }
    return false;
}
