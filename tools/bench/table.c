/* tools/bench/table.c: numbers in the columns of a table. */
#include <math.h>

#include "tools/bench/bench.h"


void bench_print_number(double value, int width)
{
    if (!isfinite(value)) {
        cli_print("%*s", width, "-");
        return;
    }
    int digits = value == 0 ? 0 : 2 - (int)floor(log10(fabs(value)));
    cli_print("%*.*f", width, digits < 0 ? 0 : digits > 5 ? 5 : digits, value);
}

void bench_print_share(double share, int width)
{
    if (isfinite(share)) {
        cli_print("%*.0f %%", width - 2, 100 * share);
    } else {
        cli_print("%*s  ", width - 2, "-");
    }
}
