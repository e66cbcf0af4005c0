/* tools/unknown.c: tokens that stand for words which a model does not know. */
#include "tools/unknown.h"

#include <stdio.h>
#include <string.h>

#include "tools/cli.h"

const char *unknown_share(double share, char *text, size_t size)
{
    text[0] = '\0';
    if (share > 0) {
        snprintf(text, size, ", %.3g %% unknown", 100 * share);
    }
    return text;
}

void unknown_warn(double share)
{
    if (share > ASC_UNKNOWN_MOST) {
        cli_message("%.3g %% of the tokens are unknown words: these bits per byte don't compare with another "
                    "vocabulary's", 100 * share);
    }
}

enum { NAMED = 8, TEXT = 600 };

/* Whether the word is among those that are named already, each in quotes. */
static bool is_named(const char *list, const char *word, size_t n)
{
    for (const char *at = list; (at = strchr(at, '\'')); at++) {
        if (strncmp(at + 1, word, n) == 0 && at[n + 1] == '\'') {
            return true;
        }
    }
    return false;
}

void unknown_name_words(const asc_tokenizer *tokenizer, const char *text, size_t bytes)
{
    char list[TEXT] = "";
    size_t at = 0, used = 0;
    int named = 0;
    for (size_t n; (n = asc_tokenizer_find_unknown(tokenizer, text, bytes, &at)) > 0; at += n) {
        if (is_named(list, text + at, n)) {
            continue;
        }
        if (named == NAMED || used + n + 8 > TEXT) {
            snprintf(list + used, TEXT - used, ", ...");
            break;
        }
        used += (size_t)snprintf(list + used, TEXT - used, "%s'%.*s'", named++ ? ", " : "", (int)n, text + at);
    }
    if (*list) {
        cli_message("the model does not know these words of the prompt: %s", list);
    }
}
