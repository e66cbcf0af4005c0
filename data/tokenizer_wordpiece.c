/* data/tokenizer_wordpiece.c: BERT's tokenizers, uncased and cased, to the id, in one pass over the text and without
 * memory of its own. Source: BasicTokenizer and WordpieceTokenizer of Devlin et al. 2019,
 * https://github.com/google-research/bert, with all of Unicode's category C dropped, as Hugging Face's transformers
 * does.
 *
 * BERT cleans the text, sets Chinese characters apart, splits at white space, lower-cases, decomposes (NFD), drops
 * Mn, and splits at punctuation. Each step looks at single characters, only the decomposition's order of marks at
 * more: so each character goes through all steps at once, and marks are sorted as they arrive at their word. BERT cased
 * leaves out lower-casing, decomposition and dropping. */
#include <string.h>
#include <utf8proc.h>

#include <ascgrad/corpus.h>

#include "data/strings.h"
#include "data/utf8.h"

enum {
    MAX_CHARACTERS = 100, /* of a word that is cut into pieces */
    MAX_BYTES = 4 * MAX_CHARACTERS,
    PREFIX = 2, /* bytes of "##" */
    MAX_DECOMPOSED = 8,
    REPLACEMENT = 0xfffd,
};

extern const asc_tokenizer_kind asc_tokenizer_wordpiece, asc_tokenizer_wordpiece_cased;

static const char UNKNOWN[] = "[UNK]", CORPUS_UNKNOWN[] = "<unk>";

/* A word under way, and where its pieces go. */
typedef struct cutter {
    const asc_tokenizer *tokenizer;
    asc_ids *ids;
    bool cased;
    asc_status status;
    int32_t code[MAX_CHARACTERS];
    uint8_t mark_class[MAX_CHARACTERS]; /* canonical combining classes */
    int n;
    int marks; /* code[marks … n-1] came after the last character of class 0 */
    bool too_long;
} cutter;

static asc_status load(asc_tokenizer *tokenizer, asc_text *text, const char *name)
{
    asc_status status = asc_vocabulary_read(tokenizer, text, name);
    if (status) {
        return status;
    }
    tokenizer->unknown = asc_vocabulary_find(tokenizer, UNKNOWN, strlen(UNKNOWN));
    if (tokenizer->unknown < 0) {
        return asc_fail(tokenizer->ctx, ASC_ERR_FORMAT, "%s: there is no entry %s, expected a WordPiece vocabulary",
                        name, UNKNOWN);
    }
    return ASC_OK;
}

static asc_status make(asc_tokenizer *tokenizer, const char *path)
{
    asc_text *text = asc_text_open(tokenizer->ctx, path, 0);
    asc_status status = text ? load(tokenizer, text, path) : asc_error(tokenizer->ctx);
    asc_text_close(text);
    return status;
}

static void push(cutter *c, int32_t id)
{
    if (!c->status) {
        c->status = asc_ids_push(c->tokenizer->ctx, c->ids, id);
    }
}

/* ---- words to pieces ---- */

/* The longest entry that key[0 … n-1] starts with, of more than `least` bytes; *length is its. -1: none. */
static int32_t longest_entry(const asc_strings *vocabulary, const char *key, size_t n, size_t least, size_t *length)
{
    uint32_t hash[PREFIX + MAX_BYTES + 1];
    if (n > vocabulary->longest) {
        n = vocabulary->longest;
    }
    hash[0] = asc_hash_start();
    for (size_t i = 0; i < n; i++) {
        hash[i + 1] = asc_hash_step(hash[i], key[i]);
    }
    for (; n > least; n--) {
        int32_t id = asc_strings_find_hashed(vocabulary, key, n, hash[n]);
        if (id >= 0) {
            *length = n;
            return id;
        }
    }
    return -1;
}

/* Cuts word[PREFIX … end-1] from the left. The "##" of a later piece is written over what lies before it: entries
 * are UTF-8, so one that matches ends where a character does. */
static void cut(cutter *c, char *word, size_t end)
{
    size_t before = c->ids->n, at = PREFIX, length;
    while (at < end) {
        size_t prefix = at > PREFIX ? PREFIX : 0;
        memcpy(word + at - prefix, "##", prefix);
        int32_t id = longest_entry(c->tokenizer->vocabulary, word + at - prefix, end - at + prefix, prefix, &length);
        if (id < 0) {
            c->ids->n = before;
            push(c, c->tokenizer->unknown);
            return;
        }
        push(c, id);
        at += length - prefix;
    }
}

static void end_word(cutter *c)
{
    if (c->too_long) {
        push(c, c->tokenizer->unknown);
    } else if (c->n > 0) {
        char word[PREFIX + MAX_BYTES];
        size_t end = PREFIX;
        for (int i = 0; i < c->n; i++) {
            end += (size_t)asc_utf8_put(c->code[i], word + end);
        }
        cut(c, word, end);
    }
    c->n = c->marks = 0;
    c->too_long = false;
}

/* ---- characters to words ---- */

/* Adds a character at the end; a mark in front of the marks of higher classes (Unicode's canonical ordering). */
static void add(cutter *c, int32_t code, uint8_t mark_class)
{
    if (c->n == MAX_CHARACTERS) {
        c->too_long = true;
        return;
    }
    int at = c->n++;
    while (mark_class && at > c->marks && c->mark_class[at - 1] > mark_class) {
        c->code[at] = c->code[at - 1];
        c->mark_class[at] = c->mark_class[at - 1];
        at--;
    }
    c->code[at] = code;
    c->mark_class[at] = mark_class;
    if (!mark_class) {
        c->marks = c->n;
    }
}

static void add_alone(cutter *c, int32_t code)
{
    end_word(c);
    add(c, code, 0);
    end_word(c);
}

static void add_ascii(cutter *c, char byte)
{
    bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    if (letter || (byte >= '0' && byte <= '9')) {
        add(c, c->cased ? byte : byte | 0x20, 0); /* digits have this bit already */
    } else if (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
        end_word(c);
    } else if (byte > ' ' && byte < 0x7f) {
        add_alone(c, byte);
    }
}

static bool is_chinese(int32_t code)
{
    return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf) ||
           (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
           (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b820 && code <= 0x2ceaf) ||
           (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f);
}

/* Adds a letter or the like, or sets punctuation apart. */
static void add_by_category(cutter *c, int32_t code, const utf8proc_property_t *property, uint8_t mark_class)
{
    if (property->category >= UTF8PROC_CATEGORY_PC && property->category <= UTF8PROC_CATEGORY_PO) {
        add_alone(c, code);
    } else {
        add(c, code, mark_class);
    }
}

/* Adds a character that is in canonical decomposition and lower case. */
static void add_decomposed(cutter *c, int32_t code)
{
    if (code < 0x80) {
        add_ascii(c, (char)code);
        return;
    }
    const utf8proc_property_t *property = utf8proc_get_property(code);
    uint8_t mark_class = (uint8_t)property->combining_class;
    if (property->category != UTF8PROC_CATEGORY_MN) {
        add_by_category(c, code, property, mark_class);
    } else if (!mark_class) {
        c->marks = c->n; /* dropped, and yet no mark moves across it */
    }
}

static void add_letters(cutter *c, int32_t code)
{
    if (c->cased) {
        add_by_category(c, code, utf8proc_get_property(code), 0);
        return;
    }
    utf8proc_int32_t parts[MAX_DECOMPOSED];
    int boundary;
    utf8proc_ssize_t n =
        utf8proc_decompose_char(utf8proc_tolower(code), parts, MAX_DECOMPOSED, UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 0; i < n && i < MAX_DECOMPOSED; i++) {
        add_decomposed(c, parts[i]);
    }
}

static void add_wide(cutter *c, int32_t code)
{
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
        break;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        end_word(c);
        break;
    default:
        if (code == REPLACEMENT) {
            break;
        }
        if (is_chinese(code)) {
            end_word(c);
            add_letters(c, code);
            end_word(c);
        } else {
            add_letters(c, code);
        }
    }
}

/* The length of a word "<unk>" at text[at], where a word starts; 0 if there is another. */
static size_t corpus_unknown(const char *text, size_t bytes, size_t at)
{
    size_t n = sizeof CORPUS_UNKNOWN - 1, left = bytes - at;
    if (left < n || memcmp(text + at, CORPUS_UNKNOWN, n) != 0) {
        return 0;
    }
    return left == n || asc_utf8_space(text + at + n, left - n) ? n : 0;
}

static asc_status encode(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags, asc_ids *ids)
{
    cutter c = {.tokenizer = tokenizer, .ids = ids, .cased = tokenizer->kind == &asc_tokenizer_wordpiece_cased};
    bool at_start = flags & ASC_ENCODE_CORPUS;
    for (size_t i = 0; i < bytes && !c.status;) {
        size_t unknown = at_start ? corpus_unknown(text, bytes, i) : 0;
        if (unknown) {
            end_word(&c);
            push(&c, tokenizer->unknown);
            i += unknown;
            at_start = false;
            continue;
        }
        at_start = flags & ASC_ENCODE_CORPUS && asc_utf8_space(text + i, bytes - i);
        int32_t code;
        int length = asc_utf8_next(text + i, bytes - i, &code);
        if (length == 1) {
            add_ascii(&c, text[i]);
        } else if (length > 1) {
            add_wide(&c, code);
        }
        i += length > 0 ? (size_t)length : 1;
    }
    end_word(&c);
    return c.status;
}

/* ---- pieces to text ---- */

enum { NO_SPACE_BEFORE = 1, NO_SPACE_AFTER = 2, APOSTROPHE = 4 };

typedef struct spacer {
    unsigned before; /* what the last piece means for the next: bits of the above */
    bool in_quotes;  /* the last '"' opened */
    bool started;    /* something is printed already */
} spacer;

/* Pieces that stand close to their neighbours; and what an English apostrophe is followed by within a word. */
static const struct spacing {
    unsigned rule;
    const char *pieces;
} spacings[] = {
    {NO_SPACE_BEFORE, ". , ! ? ; : ) ] } % ” … »"},
    {NO_SPACE_AFTER, "( [ { $ £ # “ «"},
    {NO_SPACE_BEFORE | NO_SPACE_AFTER, "- – / _ @"},
    {NO_SPACE_BEFORE | APOSTROPHE, "' ’"},
};
static const char contractions[] = "s t d m ll re ve";

/* Whether a piece is in a list whose items are parted by single spaces. */
static bool is_listed(const char *list, const char *piece, size_t bytes)
{
    for (const char *item = list; item; item = *item ? item + 1 : NULL) {
        size_t n = strcspn(item, " ");
        if (n == bytes && memcmp(item, piece, n) == 0) {
            return true;
        }
        item += n;
    }
    return false;
}

static unsigned spacing_of(spacer *s, const char *piece, size_t bytes)
{
    if (bytes == 1 && *piece == '"') {
        s->in_quotes = !s->in_quotes;
        return s->in_quotes ? NO_SPACE_AFTER : NO_SPACE_BEFORE;
    }
    if (s->before & APOSTROPHE && is_listed(contractions, piece, bytes)) {
        return NO_SPACE_BEFORE;
    }
    for (size_t i = 0; i < sizeof spacings / sizeof spacings[0]; i++) {
        if (is_listed(spacings[i].pieces, piece, bytes)) {
            return spacings[i].rule;
        }
    }
    return 0;
}

static asc_status decode(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes)
{
    (void)id;
    spacer *s = decoder->self;
    asc_status status = ASC_OK;
    if (bytes > PREFIX && memcmp(piece, "##", PREFIX) == 0) {
        status = asc_decoder_put(decoder, piece + PREFIX, bytes - PREFIX);
        s->before = 0;
    } else {
        unsigned rule = spacing_of(s, piece, bytes);
        if (s->started && !(s->before & NO_SPACE_AFTER) && !(rule & NO_SPACE_BEFORE)) {
            status = asc_decoder_put(decoder, " ", 1);
        }
        status = status ? status : asc_decoder_put(decoder, piece, bytes);
        s->before = rule;
    }
    s->started = true;
    return status;
}

#define WORDPIECE(called)                                                                                              \
    {                                                                                                                  \
        .abi = ASC_CORPUS_ABI, .name = called, .argument = "VOCAB_FILE", .is_path = true, .has_vocabulary = true,      \
        .decoder_size = sizeof(spacer), .make = make, .load = load, .encode = encode, .decode = decode,                \
    }

const asc_tokenizer_kind asc_tokenizer_wordpiece = WORDPIECE("wordpiece");
const asc_tokenizer_kind asc_tokenizer_wordpiece_cased = WORDPIECE("wordpiece-cased");
