/* tools/bench/table.c: lists of numbers on the command line, and numbers in the columns of a table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"

enum { GREATEST = 1 << 24 };

int bench_numbers(const char *option, const char *text, int64_t least, int64_t numbers[BENCH_LENGTHS])
{
    int n = 0;
    for (const char *at = text; n == 0 || *at; n++) {
        char word[32];
        size_t length = strcspn(at, ",");
        int64_t value;
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), at);
        if (!asc_count_parse(word, &value) || value < least || value > GREATEST || n == BENCH_LENGTHS) {
            cli_wrong_usage("--%s: got '%s', expected at most %d whole numbers from %lld to %d, with commas", option,
                            text, BENCH_LENGTHS, (long long)least, GREATEST);
        }
        numbers[n] = value;
        at += length + (at[length] == ',');
    }
    return n;
}

void bench_print_number(double value, int width)
{
    if (!isfinite(value)) {
        printf("%*s", width, "-");
        return;
    }
    int digits = value == 0 ? 0 : 2 - (int)floor(log10(fabs(value)));
    printf("%*.*f", width, digits < 0 ? 0 : digits > 5 ? 5 : digits, value);
}

void bench_print_share(double share, int width)
{
    if (isfinite(share)) {
        printf("%*.0f %%", width - 2, 100 * share);
    } else {
        printf("%*s  ", width - 2, "-");
    }
}
