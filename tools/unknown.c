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

typedef struct word {
    const char *text; /* in the prompt; it may have quotes and zeros in it */
    size_t n;
} word;

static bool is_named(const word *named, int n, word w)
{
    for (int i = 0; i < n; i++) {
        if (named[i].n == w.n && memcmp(named[i].text, w.text, w.n) == 0) {
            return true;
        }
    }
    return false;
}

/* Appends the word in quotes, with a question mark for a zero, which would end the text; the text's length. */
static size_t append(char *list, size_t used, word w)
{
    used += (size_t)snprintf(list + used, TEXT - used, "%s'", used ? ", " : "");
    for (size_t i = 0; i < w.n; i++) {
        list[used++] = w.text[i] ? w.text[i] : '?';
    }
    return used + (size_t)snprintf(list + used, TEXT - used, "'");
}

void unknown_name_words(const asc_tokenizer *tokenizer, const char *text, size_t bytes)
{
    char list[TEXT] = "";
    size_t at = 0, used = 0;
    word named[NAMED];
    int n = 0;
    for (word w; (w.n = asc_tokenizer_find_unknown(tokenizer, text, bytes, &at)) > 0; at += w.n) {
        w.text = text + at;
        if (is_named(named, n, w)) {
            continue;
        }
        if (n == NAMED || used + w.n + 8 > TEXT) {
            snprintf(list + used, TEXT - used, "%s...", used ? ", " : "");
            break;
        }
        named[n++] = w;
        used = append(list, used, w);
    }
    if (*list) {
        cli_message("the model does not know these words of the prompt: %s", list);
    }
}
