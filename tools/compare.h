/* tools/compare.h: what ascgrad compare prints. */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include <ascgrad/compare.h>
#include <jansson.h>

/* What items are called, and what is measured of one, in JSON and in words; of classifiers a block is a sequence. */
typedef struct compare_words {
    const char *unit, *items, *measure, *measured;
} compare_words;
compare_words compare_words_of(asc_unit unit, bool classes);

/* The result as a JSON object; new. */
json_t *compare_describe(asc_ctx *ctx, const asc_system *systems, const asc_compared *c, const char *split);

/* The same as tables on stdout, within 100 columns. */
void compare_print(asc_ctx *ctx, const asc_system *systems, const asc_compared *c, const char *split);

#endif
