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

static int64_t label_of(const collector *c, const asc_walk *walk, int word)
{
    switch (c->label) {
    case ASC_LABEL_WORD_CLASS: return word < 0 ? ASC_W_CLASSES : (int64_t)asc_walk_class(walk, word);
    case ASC_LABEL_SENTENCE: return c->line;
    case ASC_LABEL_NAME: return c->name;
    case ASC_LABEL_PLACE: return c->place;
    }
    return -1;
}

/* A word of the text, or -1 for the end of a line. */
static void collect(void *user, const asc_walk *walk, int word)
{
    collector *c = user;
    asc_word_class class = asc_walk_class(walk, word);
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
    return label >= ASC_LABEL_WORD_CLASS && label <= ASC_LABEL_PLACE
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
    status = asc_walk_read(ctx, text, bytes, collect, &c);
    *tokens = status ? 0 : c.n;
    return status;
}

/* ---- any tokenizer's tokens ---- */

/* Text, and where each token stands in it. */
typedef struct spelling {
    asc_ctx *ctx;
    char *text;
    size_t bytes, capacity;
} spelling;

static bool append(spelling *s, const char *text, size_t bytes)
{
    if (!asc_grow(s->ctx, (void **)&s->text, &s->capacity, s->bytes + bytes, 1)) {
        return false;
    }
    if (bytes > 0) {
        memcpy(s->text + s->bytes, text, bytes);
    }
    s->bytes += bytes;
    return true;
}

/* The tokens' text, and in begins[i] where the i-th one's first byte that is no space stands. */
static asc_status spell(spelling *s, const asc_tokenizer *tokenizer, const int32_t *ids, int64_t n, int64_t *begins)
{
    asc_decoder *decoder = asc_decoder_new(tokenizer);
    for (int64_t i = 0; decoder && i < n && !asc_error(s->ctx); i++) {
        size_t bytes = 0;
        const char *text = asc_decoder_next(decoder, ids[i], &bytes);
        size_t spaces = 0;
        while (text && spaces < bytes && text[spaces] == ' ') {
            spaces++;
        }
        begins[i] = (int64_t)(s->bytes + spaces);
        if (!text || !append(s, text, bytes)) {
            break;
        }
    }
    asc_decoder_free(decoder);
    return asc_error(s->ctx);
}

/* Cuts the text behind its last whole word. */
static void cut(spelling *s)
{
    while (s->bytes > 0 && s->text[s->bytes - 1] != ' ' && s->text[s->bytes - 1] != '\n') {
        s->bytes--;
    }
}

/* Which of the text's words and ends of lines byte `at` belongs to, `*word` and `*byte` being those of a byte before
 * it. */
static int64_t word_at(const spelling *s, int64_t at, int64_t *word, int64_t *byte)
{
    for (; *byte < at; (*byte)++) {
        char c = s->text[*byte], next = *byte + 1 < (int64_t)s->bytes ? s->text[*byte + 1] : ' ';
        bool ends_word = c != ' ' && c != '\n' && (next == ' ' || next == '\n');
        *word += ends_word || c == '\n';
    }
    return *word;
}

asc_status asc_builtin_token_labels(const asc_tokenizer *tokenizer, const int32_t *ids, int64_t n,
                                    asc_builtin_label label, int64_t *labels)
{
    asc_ctx *ctx = tokenizer ? tokenizer->ctx : NULL;
    asc_status status = ASC_NEED(ctx, "builtin_token_labels: tokenizer ids labels", tokenizer,
                                 asc_unless_empty(ids, n), asc_unless_empty(labels, n));
    if (status || (status = check_label(ctx, label)) || n < 1) {
        return status;
    }
    spelling s = {.ctx = ctx};
    int64_t known = 0, word = 0, byte = 0;
    int64_t *own = NULL;
    size_t room = 0;
    if (spell(&s, tokenizer, ids, n, labels) == ASC_OK) {
        cut(&s);
        room = s.bytes;
        own = asc_alloc(ctx, room * sizeof *own);
    }
    status = own || room == 0 ? asc_error(ctx) : ASC_ERR_MEMORY;
    status = status || room == 0 ? status : asc_builtin_labels(ctx, s.text, s.bytes, label, own, (int64_t)room, &known);
    for (int64_t i = 0; !status && i < n; i++) {
        int64_t at = labels[i] < (int64_t)s.bytes ? word_at(&s, labels[i], &word, &byte) : known;
        labels[i] = at < known ? own[at] : -1;
    }
    asc_free(ctx, own, room * sizeof *own);
    asc_free(ctx, s.text, s.capacity);
    return status;
}
