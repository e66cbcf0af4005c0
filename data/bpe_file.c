/* data/bpe_file.c: Hugging Face's tokenizer.json.
 *
 * In it the bytes of a token are letters: those that print stand for themselves, the others, in rising order, for the
 * characters from U+0100 on ("Ġ" is a space). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/bpe.h"
#include "data/json.h"
#include "data/utf8.h"

bool asc_bpe_prints(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The character of each byte. */
static void letters_of_bytes(int32_t letter[256])
{
    for (int byte = 0, next = 0x100; byte < 256; byte++) {
        letter[byte] = asc_bpe_prints(byte) ? byte : next++;
    }
}

/* ---- reading ---- */

typedef struct reader {
    asc_bpe *b;
    const char *name;   /* of the file */
    int byte_of[0x200]; /* the byte of a character; -1: none */
    char *spare;        /* [longest entry] */
    size_t spare_capacity;
} reader;

static asc_status refuse(const reader *r, const char *what, const json_t *got, const char *expected)
{
    char *text = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    asc_fail(r->b->ctx, ASC_ERR_FORMAT, "%s: %s is %.60s, expected %s", r->name, what, text ? text : "missing",
             expected);
    free(text);
    return ASC_ERR_FORMAT;
}

static bool is_absent(const json_t *value)
{
    return !value || json_is_null(value);
}

/* What would change the tokens and is not built here is refused by its name. */
static asc_status check_model(const reader *r, const json_t *model)
{
    static const char *const absent[] = {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"};
    const json_t *type = json_object_get(model, "type");
    if (!json_is_object(model) ||
        (type && strcmp(json_string_value(type) ? json_string_value(type) : "", "BPE") != 0)) {
        return refuse(r, "model.type", json_is_object(model) ? type : model, "\"BPE\"");
    }
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        const json_t *value = json_object_get(model, absent[i]);
        if (!is_absent(value) && strcmp(json_string_value(value) ? json_string_value(value) : "?", "") != 0) {
            char what[60];
            snprintf(what, sizeof what, "model.%s", absent[i]);
            return refuse(r, what, value, "null");
        }
    }
    if (json_is_true(json_object_get(model, "byte_fallback"))) {
        return refuse(r, "model.byte_fallback", json_true(), "false");
    }
    return json_is_true(json_object_get(model, "ignore_merges"))
               ? refuse(r, "model.ignore_merges", json_true(), "false")
               : ASC_OK;
}

static asc_status check_file(const reader *r, const json_t *file)
{
    const json_t *split = json_object_get(file, "pre_tokenizer"), *regex = json_object_get(split, "use_regex");
    const char *type = json_string_value(json_object_get(split, "type"));
    if (!is_absent(json_object_get(file, "normalizer"))) {
        return refuse(r, "normalizer", json_object_get(file, "normalizer"), "null");
    }
    if (!is_absent(json_object_get(file, "truncation"))) {
        return refuse(r, "truncation", json_object_get(file, "truncation"), "null");
    }
    if (!type || strcmp(type, "ByteLevel") != 0) {
        return refuse(r, "pre_tokenizer.type", json_object_get(split, "type"), "\"ByteLevel\", as GPT-2 has it");
    }
    if (regex && !json_is_true(regex)) {
        return refuse(r, "pre_tokenizer.use_regex", regex, "true");
    }
    r->b->prefix_space = !json_is_false(json_object_get(split, "add_prefix_space")); /* true is the default */
    return check_model(r, json_object_get(file, "model"));
}

/* The bytes that letters stand for, in r->spare; their number, -1 if a character is none of the letters. */
static int64_t bytes_of(const reader *r, const char *text, size_t n)
{
    int64_t count = 0;
    for (size_t at = 0; at < n; count++) {
        int32_t code;
        int length = asc_utf8_next(text + at, n - at, &code);
        if (length <= 0 || code >= 0x200 || r->byte_of[code] < 0) {
            return -1;
        }
        r->spare[count] = (char)r->byte_of[code];
        at += (size_t)length;
    }
    return count;
}

/* Room for a text's bytes. */
static asc_status make_room(reader *r, size_t n)
{
    if (n <= r->spare_capacity) {
        return ASC_OK;
    }
    char *more = realloc(r->spare, 2 * n);
    if (!more) {
        return asc_fail(r->b->ctx, ASC_ERR_MEMORY, "%s: out of memory", r->name);
    }
    r->spare = more;
    r->spare_capacity = 2 * n;
    return ASC_OK;
}

/* The token of a text in letters; -1: there is none. */
static int32_t token_of(reader *r, const char *text, size_t n)
{
    int64_t bytes = make_room(r, n + 1) ? -1 : bytes_of(r, text, n);
    return bytes < 0 ? -1 : asc_strings_find(r->b->vocabulary, r->spare, (size_t)bytes);
}

/* Adds an entry, whose id must be the next one. A special token's text stands for itself. */
static asc_status add_entry(reader *r, const char *text, size_t n, bool special)
{
    if (make_room(r, n + 1)) {
        return ASC_ERR_MEMORY;
    }
    int64_t bytes = special ? -1 : bytes_of(r, text, n);
    int32_t next = r->b->vocabulary->n;
    int32_t id = bytes < 0 ? asc_strings_add(r->b->vocabulary, text, n)
                           : asc_strings_add(r->b->vocabulary, r->spare, (size_t)bytes);
    if (id < 0) {
        return asc_error(r->b->ctx);
    }
    if (id != next || n == 0) {
        return asc_fail(r->b->ctx, ASC_ERR_FORMAT, "%s: the entry '%.40s' is %s", r->name, text,
                        n == 0 ? "empty" : "there twice");
    }
    return ASC_OK;
}

typedef struct entry {
    const char *text;
    size_t n;
    bool special;
} entry;

/* Puts an entry where its id says. */
static asc_status place(const reader *r, entry *all, size_t n, const json_t *id, entry e)
{
    int64_t i = json_is_integer(id) ? json_integer_value(id) : -1;
    if (i < 0 || i >= (int64_t)n) {
        char expected[60];
        snprintf(expected, sizeof expected, "a whole number from 0 to %zu", n - 1);
        return refuse(r, "the id of a token", id, expected);
    }
    if (all[i].text && (all[i].n != e.n || memcmp(all[i].text, e.text, e.n) != 0)) {
        return asc_fail(r->b->ctx, ASC_ERR_FORMAT, "%s: two tokens have the id %lld", r->name, (long long)i);
    }
    all[i] = e;
    return ASC_OK;
}

/* Collects the entries of "vocab" and "added_tokens" by their ids, which must be 0 … n-1. */
static asc_status read_vocabulary(reader *r, const json_t *vocab, const json_t *added)
{
    size_t i, most = json_object_size(vocab) + json_array_size(added);
    entry *all = calloc(most + 1, sizeof *all);
    asc_status status = all ? ASC_OK : asc_fail(r->b->ctx, ASC_ERR_MEMORY, "%s: out of memory", r->name);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)vocab, key, value)
    {
        status = status ? status : place(r, all, most, value, (entry){key, strlen(key), false});
    }
    json_array_foreach(added, i, value)
    {
        const json_t *text = json_object_get(value, "content");
        if (!status && !json_is_string(text)) {
            status = refuse(r, "added_tokens[].content", text, "a text");
        }
        if (!status && json_is_false(json_object_get(value, "special"))) { /* texts are cut at such ones, too */
            status = refuse(r, "added_tokens[].special", json_false(), "true");
        }
        entry e = {json_string_value(text), json_string_length(text), true};
        status = status ? status : place(r, all, most, json_object_get(value, "id"), e);
    }
    size_t n = most;
    while (!status && n > 0 && !all[n - 1].text) {
        n--; /* added tokens are usually in the vocabulary, too */
    }
    for (i = 0; i < n && !status; i++) {
        status = all[i].text ? add_entry(r, all[i].text, all[i].n, all[i].special)
                             : asc_fail(r->b->ctx, ASC_ERR_FORMAT,
                                        "%s: no token has the id %zu, but some have higher ones", r->name, i);
    }
    free(all);
    return status ? status : n > 0 ? ASC_OK : refuse(r, "model.vocab", vocab, "an object of tokens and their ids");
}

/* "LEFT RIGHT", or ["LEFT", "RIGHT"]. */
static asc_status read_merge(reader *r, const json_t *merge)
{
    const char *text = json_string_value(merge), *space = text ? strchr(text, ' ') : NULL;
    const json_t *first = json_array_get(merge, 0), *second = json_array_get(merge, 1);
    entry left = {text, space ? (size_t)(space - text) : 0, false}, right = {NULL, 0, false};
    if (space) {
        right = (entry){space + 1, strlen(space + 1), false};
    } else if (json_array_size(merge) == 2 && json_is_string(first) && json_is_string(second)) {
        left = (entry){json_string_value(first), json_string_length(first), false};
        right = (entry){json_string_value(second), json_string_length(second), false};
    } else {
        return refuse(r, "an entry of model.merges", merge, "\"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"]");
    }
    int32_t l = token_of(r, left.text, left.n), m = token_of(r, right.text, right.n), both = -1;
    if (l >= 0 && m >= 0 && !make_room(r, left.n + right.n + 1)) {
        int64_t n = bytes_of(r, left.text, left.n);
        char *whole = r->spare;
        r->spare += n;
        n += bytes_of(r, right.text, right.n);
        r->spare = whole;
        both = asc_strings_find(r->b->vocabulary, whole, (size_t)n);
    }
    if (asc_error(r->b->ctx)) {
        return asc_error(r->b->ctx);
    }
    if (both < 0) {
        return refuse(r, "an entry of model.merges", merge, "two tokens that together are one, all of the vocabulary");
    }
    size_t before = r->b->merges.n;
    asc_status status = asc_bpe_merges_add(&r->b->merges, l, m, both);
    bool again = !status && r->b->merges.n == before;
    return again ? refuse(r, "an entry of model.merges", merge, "each pair once") : status;
}

asc_status asc_bpe_parse(asc_bpe *b, const char *name, const char *text, size_t bytes)
{
    json_error_t where;
    json_t *file = asc_json_parse(text, bytes, ASC_JSON_TOKENIZER, JSON_REJECT_DUPLICATES, &where), *merge;
    if (!json_is_object(file)) {
        asc_fail(b->ctx, ASC_ERR_FORMAT, "%s: line %d: %s", name, file ? 1 : where.line,
                 file ? "not a JSON object" : where.text);
        json_decref(file);
        return ASC_ERR_FORMAT;
    }
    reader r = {.b = b, .name = name};
    int32_t letter[256];
    letters_of_bytes(letter);
    memset(r.byte_of, -1, sizeof r.byte_of);
    for (int byte = 0; byte < 256; byte++) {
        r.byte_of[letter[byte]] = byte;
    }
    const json_t *model = json_object_get(file, "model"), *merges = json_object_get(model, "merges");
    asc_status status = check_file(&r, file);
    status =
        status ? status : read_vocabulary(&r, json_object_get(model, "vocab"), json_object_get(file, "added_tokens"));
    if (!status && !json_is_array(merges)) {
        status = refuse(&r, "model.merges", merges, "a list of pairs");
    }
    size_t i;
    json_array_foreach(merges, i, merge)
    {
        status = status ? status : read_merge(&r, merge);
    }
    free(r.spare);
    json_decref(file);
    return status;
}

/* ---- writing ---- */

/* A token's bytes as letters. */
static json_t *spell(const asc_bpe *b, int32_t token)
{
    int32_t letter[256];
    letters_of_bytes(letter);
    size_t n, at = 0;
    const char *bytes = asc_strings_at(b->vocabulary, token, &n);
    char *text = malloc(2 * n + 1);
    for (size_t i = 0; text && i < n; i++) {
        at += (size_t)asc_utf8_put(letter[(unsigned char)bytes[i]], text + at);
    }
    json_t *spelt = text ? json_stringn(text, at) : NULL;
    free(text);
    return spelt;
}

static json_t *list_merges(const asc_bpe *b)
{
    const asc_bpe_merges *m = &b->merges;
    const asc_bpe_merge **by_rank = calloc(m->n + 1, sizeof *by_rank);
    json_t *list = by_rank ? json_array() : NULL;
    for (size_t i = 0; list && i < m->n_slots; i++) {
        if (m->slot[i].left >= 0) {
            by_rank[m->slot[i].rank] = &m->slot[i];
        }
    }
    for (size_t i = 0; list && i < m->n; i++) {
        json_array_append_new(list, json_pack("[o, o]", spell(b, by_rank[i]->left), spell(b, by_rank[i]->right)));
    }
    free(by_rank);
    return list;
}

char *asc_bpe_text(const asc_bpe *b)
{
    json_t *vocab = json_object(), *merges = list_merges(b);
    for (int32_t id = 0; vocab && id < b->vocabulary->n; id++) {
        json_t *spelt = spell(b, id);
        json_object_set_new_nocheck(vocab, json_string_value(spelt) ? json_string_value(spelt) : "", json_integer(id));
        json_decref(spelt);
    }
    bool whole = vocab && merges && json_object_size(vocab) == (size_t)b->vocabulary->n &&
                 json_array_size(merges) == b->merges.n;
    json_t *file =
        json_pack("{s:s, s:n, s:n, s:[], s:n, s:{s:s, s:b, s:b, s:b}, s:n, s:{s:s, s:b, s:b, s:b},"
                  " s:{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:o}}",
                  "version", "1.0", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "type",
                  "ByteLevel", "add_prefix_space", b->prefix_space, "trim_offsets", 1, "use_regex", 1, "post_processor",
                  "decoder", "type", "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1, "use_regex", 1, "model",
                  "type", "BPE", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                  0, "byte_fallback", 0, "ignore_merges", 0, "vocab", vocab, "merges", merges);
    char *text = file && whole ? json_dumps(file, JSON_INDENT(1)) : NULL;
    if (!text) {
        asc_fail(b->ctx, ASC_ERR_MEMORY, "tokenizer: out of memory");
    }
    json_decref(file);
    return text;
}
