/* data/builtin_labels.c: what is known about each token of the built-in corpus. */
#include <string.h>

#include <ascgrad/corpus.h>

#include "data/builtin.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

static const char *const classes[ASC_W_CLASSES + 1] = {
    [ASC_W_THE] = "the", [ASC_W_A] = "a", [ASC_W_SOME] = "some", [ASC_W_POSSESSIVE] = "possessive",
    [ASC_W_REFLEXIVE] = "reflexive", [ASC_W_THAT] = "that", [ASC_W_AND] = "and", [ASC_W_COMMA] = "comma",
    [ASC_W_PERIOD] = "period", [ASC_W_OPEN] = "open", [ASC_W_CLOSE] = "close", [ASC_W_ONCE] = "once",
    [ASC_W_THERE] = "there", [ASC_W_LIVED] = "lived", [ASC_W_WAS] = "was", [ASC_W_CALLED] = "called",
    [ASC_W_IN] = "in", [ASC_W_TO] = "to", [ASC_W_NAME] = "name", [ASC_W_ROLE] = "role", [ASC_W_OBJECT] = "object",
    [ASC_W_PLACE] = "place", [ASC_W_NOUN] = "noun", [ASC_W_NOUNS] = "nouns", [ASC_W_ADJECTIVE] = "adjective",
    [ASC_W_MEETS] = "meets", [ASC_W_MEET] = "meet", [ASC_W_SLEEPS] = "sleeps", [ASC_W_SLEEP] = "sleep",
    [ASC_W_SAYS] = "says", [ASC_W_SAY] = "say", [ASC_W_SEEKS] = "seeks", [ASC_W_SEEK] = "seek",
    [ASC_W_RETURNS] = "returns", [ASC_W_ADVERB] = "adverb", [ASC_W_PREPOSITION] = "preposition",
    [ASC_W_OPENER] = "opener", [ASC_W_CLASSES] = "end of line",
};

const char *asc_builtin_class_name(int64_t class)
{
    return class >= 0 && class <= ASC_W_CLASSES ? classes[class] : NULL;
}

/* ---- a text's own tokens ---- */

typedef struct collector {
    asc_builtin_label label;
    int64_t *labels, room, n;
    int64_t name, place; /* the last name in this story, or -1; how many tokens of this sentence came before */
    int64_t line;        /* the sentence's number in its story */
} collector;

static int64_t label_of(const collector *c, const asc_text_walk *walk, int word)
{
    switch (c->label) {
    case ASC_BUILTIN_LABEL_WORD_CLASS: return word < 0 ? ASC_W_CLASSES : (int64_t)asc_text_walk_class(walk, word);
    case ASC_BUILTIN_LABEL_SENTENCE: return c->line;
    case ASC_BUILTIN_LABEL_NAME: return c->name;
    case ASC_BUILTIN_LABEL_PLACE: return c->place;
    }
    return -1;
}

/* A word of the text, or -1 for the end of a line. */
static void collect(void *user, const asc_text_walk *walk, int word)
{
    collector *c = user;
    asc_word_class class = asc_text_walk_class(walk, word);
    c->line = c->place == 0 ? walk->story.lines : c->line;
    if (class == ASC_W_ONCE) { /* begins a story */
        c->line = 0;
        c->name = -1;
    } else if (class == ASC_W_NAME) {
        c->name = word - walk->lexicon.first[ASC_W_NAME];
    }
    if (c->n < c->room) {
        c->labels[c->n] = label_of(c, walk, word);
    }
    c->n++;
    c->place = word < 0 ? 0 : c->place + 1;
}

static asc_status check_label(asc_ctx *ctx, asc_builtin_label label)
{
    return label >= ASC_BUILTIN_LABEL_WORD_CLASS && label <= ASC_BUILTIN_LABEL_PLACE
               ? ASC_OK
               : asc_fail(ctx, ASC_ERR_ARG, "builtin_labels: label is %d, expected an asc_builtin_label", (int)label);
}

asc_status asc_builtin_labels(asc_ctx *ctx, const char *text, size_t bytes, asc_builtin_label label, int64_t *labels,
                              int64_t room, int64_t *tokens)
{
    asc_status status = ASC_NEED(ctx, "builtin_labels: text labels tokens", asc_unless_empty(text, bytes > 0),
                                 asc_unless_empty(labels, room > 0), tokens);
    if (status || (status = check_label(ctx, label))) {
        return status;
    }
    collector c = {.label = label, .labels = labels, .room = room, .name = -1};
    status = asc_text_walk_read(ctx, text, bytes, collect, &c);
    *tokens = status ? 0 : c.n;
    return status;
}

/* ---- any tokenizer's tokens ---- */

/* A walk along the text, beside its own tokens: words and ends of lines. */
typedef struct spot {
    const char *text;
    size_t bytes, at;
    int64_t word; /* own tokens that end before `at` */
} spot;

static bool is_blank(char c)
{
    return c == ' ' || c == '\n';
}

static void step(spot *s)
{
    char c = s->text[s->at], next = s->at + 1 < s->bytes ? s->text[s->at + 1] : ' ';
    s->word += c == '\n' || (c != ' ' && is_blank(next));
    s->at++;
}

static void skip_spaces(spot *s)
{
    while (s->at < s->bytes && s->text[s->at] == ' ') {
        step(s);
    }
}

/* Goes along a token that stands for so many bytes behind its spaces, or for a whole word (bytes < 0); returns the own
 * token where it begins. */
static int64_t pass(spot *s, int64_t bytes)
{
    skip_spaces(s);
    int64_t word = s->word;
    for (int64_t i = 0; s->at < s->bytes && (bytes < 0 ? !is_blank(s->text[s->at]) : i < bytes); i++) {
        step(s);
    }
    return word;
}

/* How many bytes a token has behind its spaces; -1 for an unknown word. */
static int64_t length_of(const asc_tokenizer *tokenizer, asc_decoder *decoder, int32_t id)
{
    size_t bytes = 0, spaces = 0;
    const char *text = asc_decoder_next(decoder, id, &bytes);
    while (text && spaces < bytes && text[spaces] == ' ') {
        spaces++;
    }
    return id == asc_tokenizer_unknown(tokenizer) ? -1 : (int64_t)(bytes - spaces);
}

/* The own tokens of a line's tokens, as far as there is room; *n more are filled in. */
static asc_status align_line(const asc_tokenizer *tokenizer, spot *s, size_t end, int64_t *labels, int64_t room,
                             int64_t *n)
{
    asc_ctx *ctx = tokenizer->ctx;
    asc_ids ids = {0};
    asc_decoder *decoder = asc_decoder_new(tokenizer);
    if (decoder && asc_tokenizer_encode(tokenizer, s->text + s->at, end - s->at, ASC_ENCODE_CORPUS, &ids) == ASC_OK) {
        for (size_t i = 0; i < ids.n && *n < room; i++) {
            labels[(*n)++] = pass(s, length_of(tokenizer, decoder, ids.data[i]));
        }
        while (s->at < end) { /* ends of lines that are no token */
            step(s);
        }
    }
    asc_decoder_free(decoder);
    asc_ids_free(ctx, &ids);
    return asc_error(ctx);
}

/* Where each token stands among the text's own. */
static asc_status align(const asc_tokenizer *tokenizer, const char *text, size_t bytes, int64_t *labels, int64_t n)
{
    spot s = {.text = text, .bytes = bytes};
    int64_t found = 0;
    while (s.at < bytes && found < n) {
        const char *end = memchr(text + s.at, '\n', bytes - s.at);
        if (align_line(tokenizer, &s, end ? (size_t)(end - text) + 1 : bytes, labels, n, &found)) {
            return asc_error(tokenizer->ctx);
        }
    }
    return found == n ? ASC_OK
                      : asc_fail(tokenizer->ctx, ASC_ERR_ARG, "builtin_token_labels: the text has %lld tokens, "
                                 "expected at least %lld", (long long)found, (long long)n);
}

asc_status asc_builtin_token_labels(const asc_tokenizer *tokenizer, const char *text, size_t bytes,
                                    asc_builtin_label label, int64_t *labels, int64_t n)
{
    asc_ctx *ctx = tokenizer ? tokenizer->ctx : NULL;
    asc_status status = ASC_NEED(ctx, "builtin_token_labels: tokenizer text labels", tokenizer,
                                 asc_unless_empty(text, bytes > 0), asc_unless_empty(labels, n));
    if (status || (status = check_label(ctx, label)) || (status = align(tokenizer, text, bytes, labels, n))) {
        return status;
    }
    int64_t known = 0, room = (int64_t)bytes;
    int64_t *own = asc_alloc(ctx, (size_t)(room + 1) * sizeof *own);
    status = own ? asc_builtin_labels(ctx, text, bytes, label, own, room, &known) : ASC_ERR_MEMORY;
    for (int64_t i = 0; !status && i < n; i++) {
        labels[i] = labels[i] < known ? own[labels[i]] : -1;
    }
    asc_free(ctx, own, (size_t)(room + 1) * sizeof *own);
    return status;
}
