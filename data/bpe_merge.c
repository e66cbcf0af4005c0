/* data/bpe_merge.c: words to tokens. */
#include <string.h>

#include "data/bpe.h"
#include "tensor/ctx.h"

/* ---- pairs ---- */

void asc_bpe_merges_free(asc_bpe_merges *m)
{
    asc_free(m->ctx, m->slot, m->n_slots * sizeof *m->slot);
    m->slot = NULL;
    m->n = m->n_slots = 0;
}

/* The pair's slot, or the empty one where it belongs. */
static asc_bpe_merge *slot_of(const asc_bpe_merges *m, int32_t left, int32_t right)
{
    size_t i = asc_bpe_first_slot(left, right, m->n_slots);
    while (m->slot[i].left >= 0 && (m->slot[i].left != left || m->slot[i].right != right)) {
        i = (i + 1) & (m->n_slots - 1);
    }
    return &m->slot[i];
}

const asc_bpe_merge *asc_bpe_merges_find(const asc_bpe_merges *m, int32_t left, int32_t right)
{
    const asc_bpe_merge *merge = m->n_slots ? slot_of(m, left, right) : NULL;
    return merge && merge->left >= 0 ? merge : NULL;
}

static asc_status double_slots(asc_bpe_merges *m)
{
    asc_bpe_merges larger = {m->ctx, NULL, m->n, m->n_slots ? 2 * m->n_slots : 1024};
    larger.slot = asc_alloc(m->ctx, larger.n_slots * sizeof *larger.slot);
    if (!larger.slot) {
        return ASC_ERR_MEMORY;
    }
    for (size_t i = 0; i < larger.n_slots; i++) {
        larger.slot[i].left = -1;
    }
    for (size_t i = 0; i < m->n_slots; i++) {
        if (m->slot[i].left >= 0) {
            *slot_of(&larger, m->slot[i].left, m->slot[i].right) = m->slot[i];
        }
    }
    asc_bpe_merges_free(m);
    *m = larger;
    return ASC_OK;
}

asc_status asc_bpe_merges_add(asc_bpe_merges *m, int32_t left, int32_t right, int32_t token)
{
    if (2 * (m->n + 1) > m->n_slots && double_slots(m)) {
        return ASC_ERR_MEMORY;
    }
    asc_bpe_merge *merge = slot_of(m, left, right);
    if (merge->left < 0) {
        *merge = (asc_bpe_merge){left, right, (int32_t)m->n++, token};
    }
    return ASC_OK;
}

/* ---- a word ---- */

/* A symbol of a word, in a list; token -1: it has gone into its left neighbour. */
typedef struct symbol {
    int32_t token, next, before; /* places of its neighbours; -1: none */
} symbol;

/* Pair to be merged: that at `at` with its right neighbour, as long as they are still `left` and `right`. */
typedef struct candidate {
    int32_t rank, at;
    const asc_bpe_merge *merge;
} candidate;

typedef struct queue {
    candidate *heap; /* the first to be merged is heap[0] */
    size_t n;
} queue;

static bool comes_before(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(queue *q, candidate c)
{
    size_t i = q->n++;
    for (; i > 0 && comes_before(&c, &q->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        q->heap[i] = q->heap[(i - 1) / 2];
    }
    q->heap[i] = c;
}

static candidate pop(queue *q)
{
    candidate first = q->heap[0], last = q->heap[--q->n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < q->n; i = child) {
        child += child + 1 < q->n && comes_before(&q->heap[child + 1], &q->heap[child]);
        if (!comes_before(&q->heap[child], &last)) {
            break;
        }
        q->heap[i] = q->heap[child];
    }
    q->heap[i] = last;
    return first;
}

static void propose(const asc_bpe *b, queue *q, const symbol *s, int32_t at)
{
    if (at >= 0 && s[at].next >= 0) {
        const asc_bpe_merge *merge = asc_bpe_merges_find(&b->merges, s[at].token, s[s[at].next].token);
        if (merge) {
            push(q, (candidate){merge->rank, at, merge});
        }
    }
}

/* Each merge takes a symbol away and proposes two pairs: 3n candidates at most. */
static asc_status make_room(asc_bpe *b, size_t n)
{
    asc_bpe_space *s = &b->space;
    bool fits = asc_grow(b->ctx, &s->symbols, &s->symbols_capacity, n, sizeof(symbol)) &&
                asc_grow(b->ctx, &s->queue, &s->queue_capacity, 3 * n, sizeof(candidate));
    return fits ? ASC_OK : ASC_ERR_MEMORY;
}

static asc_status start_symbols(const asc_bpe *b, const char *word, size_t n, symbol *s)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)word[i];
        if (b->byte[byte] < 0) {
            return asc_fail(b->ctx, ASC_ERR_FORMAT, "tokenizer: the vocabulary has no token for the byte 0x%02x", byte);
        }
        s[i] = (symbol){b->byte[byte], i + 1 < n ? (int32_t)i + 1 : -1, (int32_t)i - 1};
    }
    return ASC_OK;
}

static asc_status merge_word(asc_bpe *b, const char *word, size_t n, asc_ids *ids)
{
    if (n > INT32_MAX / 4 || make_room(b, n)) {
        return n > INT32_MAX / 4 ? asc_fail(b->ctx, ASC_ERR_FORMAT, "tokenizer: a word of %zu bytes", n)
                                 : ASC_ERR_MEMORY;
    }
    symbol *s = b->space.symbols;
    queue q = {b->space.queue, 0};
    asc_status status = start_symbols(b, word, n, s);
    for (size_t i = 0; i + 1 < n && !status; i++) {
        propose(b, &q, s, (int32_t)i);
    }
    while (q.n > 0 && !status) {
        candidate c = pop(&q);
        symbol *left = &s[c.at];
        int32_t right = left->next;
        if (left->token != c.merge->left || right < 0 || s[right].token != c.merge->right) {
            continue; /* one of the two has been merged since */
        }
        left->token = c.merge->token;
        left->next = s[right].next;
        s[right].token = -1;
        if (left->next >= 0) {
            s[left->next].before = c.at;
        }
        propose(b, &q, s, left->before);
        propose(b, &q, s, c.at);
    }
    for (int32_t i = 0; i >= 0 && n > 0 && !status; i = s[i].next) {
        status = asc_ids_push(b->ctx, ids, s[i].token);
    }
    return status;
}

/* ---- texts ---- */

/* The tokens of a word: those of the last time, or merged anew. */
static asc_status encode_word(asc_bpe *b, const char *word, size_t n, asc_ids *ids)
{
    if (n > sizeof b->known->text) {
        return merge_word(b, word, n, ids);
    }
    uint32_t hash = asc_hash_start();
    for (size_t i = 0; i < n; i++) {
        hash = asc_hash_step(hash, word[i]);
    }
    asc_bpe_known *k = &b->known[(hash ^ hash >> 15) & (ASC_BPE_KNOWN - 1)];
    asc_status status = ASC_OK;
    if (k->hash == hash && k->bytes == n && memcmp(k->text, word, n) == 0) {
        for (int i = 0; i < k->n && !status; i++) {
            status = asc_ids_push(b->ctx, ids, k->token[i]);
        }
        return status;
    }
    size_t before = ids->n;
    status = merge_word(b, word, n, ids);
    size_t tokens = ids->n - before;
    if (!status && tokens <= sizeof k->token / sizeof *k->token) {
        *k = (asc_bpe_known){.hash = hash, .bytes = (uint8_t)n, .n = (uint8_t)tokens};
        memcpy(k->text, word, n);
        memcpy(k->token, ids->data + before, tokens * sizeof *k->token);
    }
    return status;
}

/* The first word, behind a space. A contraction there is none any more, and one white character that a word follows
 * stays by itself: the text is split anew. */
static asc_status encode_first(asc_bpe *b, const char *text, size_t bytes, size_t *used, asc_ids *ids)
{
    enum { AHEAD = 4 }; /* the character after the word has a say */
    void *copy = NULL;
    size_t capacity = 0, n = asc_bpe_word(text, bytes), all = bytes - n < AHEAD ? bytes : n + AHEAD;
    if (!asc_grow(b->ctx, &copy, &capacity, all + 1, 1)) {
        return ASC_ERR_MEMORY;
    }
    *(char *)copy = ' ';
    memcpy((char *)copy + 1, text, all);
    size_t word = asc_bpe_word(copy, all + 1);
    *used = word - 1;
    asc_status status = encode_word(b, copy, word, ids);
    asc_free(b->ctx, copy, capacity);
    return status;
}

asc_status asc_bpe_encode(asc_bpe *b, const char *text, size_t bytes, asc_ids *ids)
{
    size_t at = 0, before = ids->n;
    asc_status status = ASC_OK;
    if (b->prefix_space && bytes > 0 && *text != ' ') {
        status = encode_first(b, text, bytes, &at, ids);
    }
    while (at < bytes && !status) {
        size_t n = asc_bpe_word(text + at, bytes - at);
        status = encode_word(b, text + at, n, ids);
        at += n;
    }
    ids->n = status ? before : ids->n;
    return status;
}

asc_status asc_bpe_begin(asc_bpe *b)
{
    for (int i = 0; i < 256; i++) {
        char byte = (char)i;
        b->byte[i] = asc_strings_find(b->vocabulary, &byte, 1);
    }
    b->known = asc_alloc(b->ctx, ASC_BPE_KNOWN * sizeof *b->known);
    if (!b->known) {
        return ASC_ERR_MEMORY;
    }
    memset(b->known, 0, ASC_BPE_KNOWN * sizeof *b->known);
    return ASC_OK;
}

void asc_bpe_free(asc_bpe *b)
{
    asc_bpe_merges_free(&b->merges);
    asc_free(b->ctx, b->known, ASC_BPE_KNOWN * sizeof *b->known);
    asc_free(b->ctx, b->space.symbols, b->space.symbols_capacity * sizeof(symbol));
    asc_free(b->ctx, b->space.queue, b->space.queue_capacity * sizeof(candidate));
    b->known = NULL;
    b->space = (asc_bpe_space){0};
}
