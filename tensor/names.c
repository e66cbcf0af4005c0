/* tensor/names.c: how far a name is from the one that was probably meant. */
#include <ascgrad/base.h>
#include <program/names.h>

#include <stdio.h>
#include <string.h>

#include "tensor/locale.h"

enum { LONGEST = 63, LONGER = 4 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Damerau and Levenshtein's distance, with transpositions of neighbours (optimal string alignment); capital letters are
 * as far from others as small ones. */
int asc_name_distance(const char *a, const char *b)
{
    a = a ? a : "";
    b = b ? b : "";
    int rows[3][LONGEST + 1];
    int *before = rows[0], *last = rows[1], *now = rows[2];
    int na = (int)strlen(a), nb = (int)strlen(b), beyond = 0;
    if (na > LONGEST || nb > LONGEST) {
        beyond = (na > nb ? na : nb) - LONGEST;
        na = least(na, LONGEST);
        nb = least(nb, LONGEST);
    }
    for (int j = 0; j <= nb; j++) {
        last[j] = j;
    }
    for (int i = 1; i <= na; i++) {
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            now[j] = least(last[j - 1] + (asc_small(a[i - 1]) != asc_small(b[j - 1])), least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && asc_small(a[i - 1]) == asc_small(b[j - 2]) &&
                asc_small(a[i - 2]) == asc_small(b[j - 1])) {
                now[j] = least(now[j], before[j - 2] + 1);
            }
        }
        int *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[nb] + beyond;
}

static bool begins(const char *name, const char *meant)
{
    size_t n = 0;
    while (name[n] && asc_small(name[n]) == asc_small(meant[n])) {
        n++;
    }
    return n >= 2 && name[n] == '\0';
}

/* Of two at one distance what the name begins with comes first: "seeds" means "seed" rather than "sees". */
const char *asc_name_nearest(const char *name, const char *const *names)
{
    const char *best = names ? names[0] : NULL, *typed = name ? name : "";
    for (; best && *names; names++) {
        int nearer = asc_name_distance(typed, best) - asc_name_distance(typed, *names);
        bool begun = begins(*names, typed) && !begins(best, typed);
        best = nearer > 0 || (nearer == 0 && begun) ? *names : best;
    }
    return best;
}

bool asc_name_close(const char *name, const char *meant)
{
    if (!name || !meant) {
        return false;
    }
    bool longer = strlen(meant) >= LONGER && begins(meant, name); /* "batchsize" means "batch" */
    return longer || begins(name, meant) || asc_name_distance(name, meant) <= ((int)strlen(name) + 2) / 3;
}

/* A name that begins so comes before one that is nearer. */
const char *asc_name_guess(const char *name, const char *const *names)
{
    for (const char *const *n = names; name && n && *n; n++) {
        if (begins(name, *n)) {
            return *n;
        }
    }
    const char *best = asc_name_nearest(name, names);
    return asc_name_close(name, best) ? best : NULL;
}

const char *asc_name_hint(const char *guess, char *text)
{
    if (text) {
        text[0] = '\0';
    }
    if (text && guess) {
        snprintf(text, ASC_NAME_HINT, "; did you mean '%s'?", guess);
    }
    return text ? text : "";
}

asc_name_list asc_list_begin(char *text, size_t bytes)
{
    if (text && bytes > 0) {
        text[0] = '\0';
    }
    return (asc_name_list){text, text ? bytes : 0, 0};
}

void asc_list_add(asc_name_list *list, const char *item, bool last)
{
    if (list && item && list->n < list->bytes) {
        const char *between = list->n == 0 ? "" : last ? " or " : ", ";
        list->n += (size_t)snprintf(list->text + list->n, list->bytes - list->n, "%s%s", between, item);
    }
}
