/* data/bpe_learn.c: learning pairs from text: the pair of neighbours that is there most often becomes a token, again
 * and again; of several the one with the lowest ids. Words count as often as they are there; pairs don't cross them.
 *
 * Each pair knows the words that may have it, and pairs wait in a heap under the count that they had when they were put
 * there, which is corrected when they come up: a merge costs the words that have it. */
#include <program/file.h>
#include <stdlib.h>
#include <string.h>

#include "data/bpe.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

enum { MOST_TOKENS = 1 << 20 };

/* Lists of words: each entry is an index of `next` entries, one for each pair that has it. */
typedef struct place {
    int32_t word, next; /* next: the entry after it, -1 at the end */
} place;

typedef struct pair {
    int32_t left, right;
    int64_t count;
    int32_t places; /* the first entry; -1: none */
    int32_t grown;  /* the last merge that made it more frequent */
} pair;

typedef struct waiting {
    int64_t count;
    int32_t pair;
} waiting;

typedef struct word {
    int64_t count;
    size_t start;
    int32_t n; /* symbols[start … start + n - 1] */
} word;

struct asc_bpe_learner {
    asc_ctx *ctx;
    asc_strings words;
    void *counts; /* int64_t of each word */
    size_t counts_capacity;
};

/* What is built while learning. */
typedef struct state {
    asc_ctx *ctx;
    asc_bpe *b;
    word *word;
    int32_t words;
    int32_t *symbol;
    size_t symbols;
    void *pairs, *places, *heap;
    size_t n_pairs, pairs_capacity, n_places, places_capacity, n_heap, heap_capacity;
    int32_t *slot; /* a hash table of pairs; -1: empty */
    size_t n_slots;
    void *grown; /* int32_t, the pairs that this merge made more frequent */
    size_t n_grown, grown_capacity;
    int32_t merges;
} state;

/* ---- counting words ---- */

asc_bpe_learner *asc_bpe_learner_new(asc_ctx *ctx)
{
    asc_bpe_learner *l = ctx ? asc_alloc(ctx, sizeof *l) : NULL;
    if (l) {
        *l = (asc_bpe_learner){.ctx = ctx, .words = {.ctx = ctx}};
    }
    return l;
}

void asc_bpe_learner_free(asc_bpe_learner *l)
{
    if (l) {
        asc_strings_free(&l->words);
        asc_free(l->ctx, l->counts, l->counts_capacity * sizeof(int64_t));
        asc_free(l->ctx, l, sizeof *l);
    }
}

asc_status asc_bpe_learner_add(asc_bpe_learner *l, const char *text, size_t bytes)
{
    asc_status status = ASC_NEED(l ? l->ctx : NULL, "bpe_learner_add: text", asc_unless_empty(text, bytes > 0));
    if (status) {
        return status;
    }
    for (size_t at = 0, n; at < bytes; at += n) {
        n = asc_bpe_word(text + at, bytes - at);
        int32_t before = l->words.n, id;
        if (!asc_grow(l->ctx, &l->counts, &l->counts_capacity, (size_t)before + 1, sizeof(int64_t)) ||
            (id = asc_strings_add(&l->words, text + at, n)) < 0) {
            return asc_error(l->ctx);
        }
        int64_t *count = (int64_t *)l->counts + id;
        *count = id == before ? 1 : *count + 1;
    }
    return ASC_OK;
}

/* ---- pairs ---- */

static pair *pair_at(const state *s, int32_t i)
{
    return (pair *)s->pairs + i;
}

static int32_t *slot_of(const state *s, int32_t left, int32_t right)
{
    size_t i = asc_bpe_first_slot(left, right, s->n_slots);
    while (s->slot[i] >= 0 && (pair_at(s, s->slot[i])->left != left || pair_at(s, s->slot[i])->right != right)) {
        i = (i + 1) & (s->n_slots - 1);
    }
    return &s->slot[i];
}

static asc_status double_slots(state *s)
{
    size_t n = s->n_slots ? 2 * s->n_slots : 1 << 16;
    int32_t *slot = asc_alloc(s->ctx, n * sizeof *slot);
    if (!slot) {
        return ASC_ERR_MEMORY;
    }
    memset(slot, -1, n * sizeof *slot);
    asc_free(s->ctx, s->slot, s->n_slots * sizeof *s->slot);
    s->slot = slot;
    s->n_slots = n;
    for (size_t i = 0; i < s->n_pairs; i++) {
        *slot_of(s, pair_at(s, (int32_t)i)->left, pair_at(s, (int32_t)i)->right) = (int32_t)i;
    }
    return ASC_OK;
}

/* The number of a pair, new or not; -1 with the error set. */
static int32_t find_pair(state *s, int32_t left, int32_t right)
{
    if (2 * (s->n_pairs + 1) > s->n_slots && double_slots(s)) {
        return -1;
    }
    int32_t *slot = slot_of(s, left, right);
    if (*slot < 0) {
        if (!asc_grow(s->ctx, &s->pairs, &s->pairs_capacity, s->n_pairs + 1, sizeof(pair))) {
            return -1;
        }
        *pair_at(s, (int32_t)s->n_pairs) = (pair){left, right, 0, -1, -1};
        *slot = (int32_t)s->n_pairs++;
    }
    return *slot;
}

/* Notes a pair for the heap, once a merge. */
static asc_status note_grown(state *s, int32_t p)
{
    if (pair_at(s, p)->grown == s->merges) {
        return ASC_OK;
    }
    if (!asc_grow(s->ctx, &s->grown, &s->grown_capacity, s->n_grown + 1, sizeof(int32_t))) {
        return ASC_ERR_MEMORY;
    }
    pair_at(s, p)->grown = s->merges;
    ((int32_t *)s->grown)[s->n_grown++] = p;
    return ASC_OK;
}

/* A pair is there `times` more often, in this word too. */
static asc_status change(state *s, int32_t left, int32_t right, int64_t times, int32_t in)
{
    int32_t p = find_pair(s, left, right);
    if (p < 0) {
        return ASC_ERR_MEMORY;
    }
    pair_at(s, p)->count += times;
    if (times > 0 && note_grown(s, p)) {
        return ASC_ERR_MEMORY;
    }
    place *last = pair_at(s, p)->places >= 0 ? (place *)s->places + pair_at(s, p)->places : NULL;
    if (times < 0 || (last && last->word == in)) {
        return ASC_OK;
    }
    if (!asc_grow(s->ctx, &s->places, &s->places_capacity, s->n_places + 1, sizeof(place))) {
        return ASC_ERR_MEMORY;
    }
    ((place *)s->places)[s->n_places] = (place){in, pair_at(s, p)->places};
    pair_at(s, p)->places = (int32_t)s->n_places++;
    return ASC_OK;
}

/* ---- the heap ---- */

static bool comes_before(const state *s, waiting a, waiting b)
{
    const pair *p = pair_at(s, a.pair), *q = pair_at(s, b.pair);
    return a.count != b.count ? a.count > b.count : p->left != q->left ? p->left < q->left : p->right < q->right;
}

static asc_status push(state *s, int32_t p)
{
    if (!asc_grow(s->ctx, &s->heap, &s->heap_capacity, s->n_heap + 1, sizeof(waiting))) {
        return ASC_ERR_MEMORY;
    }
    waiting w = {pair_at(s, p)->count, p}, *heap = s->heap;
    size_t i = s->n_heap++;
    for (; i > 0 && comes_before(s, w, heap[(i - 1) / 2]); i = (i - 1) / 2) {
        heap[i] = heap[(i - 1) / 2];
    }
    heap[i] = w;
    return ASC_OK;
}

static waiting pop(state *s)
{
    waiting *heap = s->heap, first = heap[0], last = heap[--s->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < s->n_heap; i = child) {
        child += child + 1 < s->n_heap && comes_before(s, heap[child + 1], heap[child]);
        if (!comes_before(s, heap[child], last)) {
            break;
        }
        heap[i] = heap[child];
    }
    heap[i] = last;
    return first;
}

/* ---- merging ---- */

/* Merges a pair in a word, from the left, and says what that changes. */
static asc_status merge_in(state *s, int32_t in, int32_t left, int32_t right, int32_t token)
{
    word *w = &s->word[in];
    int32_t *x = s->symbol + w->start, n = 0;
    asc_status status = ASC_OK;
    for (int32_t i = 0; i < w->n; i++) {
        if (status || i + 1 == w->n || x[i] != left || x[i + 1] != right) {
            x[n++] = x[i];
            continue;
        }
        if (n > 0) {
            status = change(s, x[n - 1], left, -w->count, in);
            status = status ? status : change(s, x[n - 1], token, w->count, in);
        }
        if (i + 2 < w->n) {
            status = status ? status : change(s, right, x[i + 2], -w->count, in);
            status = status ? status : change(s, token, x[i + 2], w->count, in);
        }
        x[n++] = token;
        i++;
    }
    w->n = n;
    return status;
}

/* The token that a pair becomes, by its bytes. */
static int32_t join(state *s, const pair *p)
{
    asc_strings *v = s->b->vocabulary;
    size_t n, m;
    asc_strings_at(v, p->left, &n);
    asc_strings_at(v, p->right, &m);
    char *bytes = asc_alloc(s->ctx, n + m);
    if (!bytes) {
        return -1;
    }
    memcpy(bytes, asc_strings_at(v, p->left, &n), n);
    memcpy(bytes + n, asc_strings_at(v, p->right, &m), m);
    int32_t token = asc_strings_add(v, bytes, n + m);
    asc_free(s->ctx, bytes, n + m);
    return token;
}

/* Pairs that are more frequent now wait under what they have. */
static asc_status push_grown(state *s)
{
    asc_status status = ASC_OK;
    for (size_t i = 0; i < s->n_grown && !status; i++) {
        int32_t p = ((const int32_t *)s->grown)[i];
        status = pair_at(s, p)->count > 0 ? push(s, p) : ASC_OK;
    }
    return status;
}

static asc_status merge(state *s, int32_t p)
{
    int32_t left = pair_at(s, p)->left, right = pair_at(s, p)->right, token = join(s, pair_at(s, p));
    asc_status status = token < 0 ? ASC_ERR_MEMORY : asc_bpe_merges_add(&s->b->merges, left, right, token);
    int32_t at = pair_at(s, p)->places;
    pair_at(s, p)->count = 0;
    pair_at(s, p)->places = -1;
    s->merges++;
    s->n_grown = 0;
    for (; at >= 0 && !status; at = ((place *)s->places)[at].next) {
        status = merge_in(s, ((place *)s->places)[at].word, left, right, token);
    }
    return status ? status : push_grown(s);
}

/* ---- from words to a vocabulary ---- */

/* The bytes in the order of the letters that stand for them in files. */
static asc_status add_bytes(asc_bpe *b)
{
    for (int round = 0; round < 2; round++) {
        for (int byte = 0; byte < 256; byte++) {
            char c = (char)byte;
            if (asc_bpe_prints(byte) == (round == 0) && asc_strings_add(b->vocabulary, &c, 1) < 0) {
                return ASC_ERR_MEMORY;
            }
        }
    }
    return asc_bpe_begin(b);
}

static asc_status start(state *s, const asc_bpe_learner *l)
{
    size_t at = 0, n;
    for (int32_t i = 0; i < l->words.n; i++) {
        const char *text = asc_strings_at(&l->words, i, &n);
        s->word[i] = (word){((const int64_t *)l->counts)[i], at, (int32_t)n};
        for (size_t k = 0; k < n; k++) {
            s->symbol[at++] = s->b->byte[(unsigned char)text[k]];
        }
    }
    for (int32_t i = 0; i < s->words; i++) {
        const int32_t *x = s->symbol + s->word[i].start;
        for (int32_t k = 0; k + 1 < s->word[i].n; k++) {
            if (change(s, x[k], x[k + 1], s->word[i].count, i)) {
                return ASC_ERR_MEMORY;
            }
        }
    }
    return push_grown(s);
}

static asc_status grow_vocabulary(state *s, int64_t size)
{
    asc_status status = ASC_OK;
    while (!status && s->n_heap > 0 && s->b->vocabulary->n < size) {
        waiting w = pop(s);
        int64_t count = pair_at(s, w.pair)->count;
        if (count != w.count) {
            status = count > 0 ? push(s, w.pair) : ASC_OK;
        } else if (count < 2) {
            break; /* what is there once can't be said to be frequent */
        } else {
            status = merge(s, w.pair);
        }
    }
    return status;
}

static void state_free(state *s)
{
    asc_free(s->ctx, s->word, (size_t)(s->words + 1) * sizeof *s->word);
    asc_free(s->ctx, s->symbol, (s->symbols + 1) * sizeof *s->symbol);
    asc_free(s->ctx, s->pairs, s->pairs_capacity * sizeof(pair));
    asc_free(s->ctx, s->places, s->places_capacity * sizeof(place));
    asc_free(s->ctx, s->heap, s->heap_capacity * sizeof(waiting));
    asc_free(s->ctx, s->slot, s->n_slots * sizeof *s->slot);
    asc_free(s->ctx, s->grown, s->grown_capacity * sizeof(int32_t));
}

static asc_status learn(const asc_bpe_learner *l, int64_t size, asc_bpe *b)
{
    state s = {.ctx = l->ctx, .b = b, .words = l->words.n, .symbols = l->words.n ? l->words.ends[l->words.n - 1] : 0};
    s.word = asc_alloc(s.ctx, (size_t)(s.words + 1) * sizeof *s.word);
    s.symbol = asc_alloc(s.ctx, (s.symbols + 1) * sizeof *s.symbol);
    asc_status status = s.word && s.symbol ? add_bytes(b) : ASC_ERR_MEMORY;
    status = status ? status : start(&s, l);
    status = status ? status : grow_vocabulary(&s, size);
    state_free(&s);
    return status;
}

asc_status asc_bpe_learner_save(asc_bpe_learner *l, int64_t size, const char *path, int64_t *learned)
{
    asc_status status = ASC_NEED(l ? l->ctx : NULL, "bpe_learner_save: path", path);
    if (status) {
        return status;
    }
    if (size < 256 || size > MOST_TOKENS) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "bpe_learner_save: vocab_size is %lld, expected 256 to %d",
                        (long long)size, MOST_TOKENS);
    }
    asc_strings vocabulary = {.ctx = l->ctx};
    asc_bpe b = {.ctx = l->ctx, .vocabulary = &vocabulary, .merges = {.ctx = l->ctx}};
    status = learn(l, size, &b);
    char *text = status ? NULL : asc_bpe_text(&b);
    if (text) {
        status = asc_file_write_atomic(l->ctx, path, text, strlen(text));
        free(text);
    }
    if (learned) {
        *learned = vocabulary.n;
    }
    asc_bpe_free(&b);
    asc_strings_free(&vocabulary);
    return status ? status : asc_error(l->ctx);
}
