/* tools/csv.h: fields of a CSV file (RFC 4180). */
#ifndef TOOLS_CSV_H
#define TOOLS_CSV_H

#include <stdio.h>

/* In quotes where it has to be. */
void csv_text(FILE *out, const char *text);

/* With as many digits as it takes to read the same number again; nothing for one that is not finite. */
void csv_number(FILE *out, double value);

#endif
