/* tools/csv.c: fields of a CSV file. */
#include "tools/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void csv_text(FILE *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        fputs(*text == '"' ? "\"" : "", out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void csv_number(FILE *out, double value)
{
    char text[40] = "";
    if (isinf(value)) {
        snprintf(text, sizeof text, "%sinf", value < 0 ? "-" : "");
    }
    for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    fputs(text, out);
}
