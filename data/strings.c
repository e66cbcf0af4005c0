/* data/strings.c: a vocabulary in memory, and its reading from text. */
#include "data/strings.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ascgrad/data.h>

#include "tensor/ctx.h"

enum { FIRST_SLOTS = 1024 };

void asc_strings_free(asc_strings *s)
{
    asc_free(s->ctx, s->bytes, s->bytes_capacity);
    asc_free(s->ctx, s->ends, s->ends_capacity * sizeof *s->ends);
    asc_free(s->ctx, s->slots, s->n_slots * sizeof *s->slots);
}

const char *asc_strings_at(const asc_strings *s, int32_t id, size_t *n)
{
    size_t start = id > 0 ? s->ends[id - 1] : 0;
    *n = s->ends[id] - start;
    return s->bytes + start;
}

/* From what differs between processes: the time, and where the system has put this one's data and stack. */
static uint32_t make_start(void)
{
    static const char data = 0;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t x = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 32 ^ (uint64_t)(uintptr_t)&data << 16 ^
                 (uint64_t)(uintptr_t)&now ^ (uint64_t)getpid() << 48;
    x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(x >> 32) | 1;
}

uint32_t asc_hash_start(void)
{
    static _Atomic uint32_t start; /* 0: not chosen yet */
    uint32_t chosen = atomic_load(&start);
    if (chosen == 0) {
        uint32_t made = make_start();
        chosen = atomic_compare_exchange_strong(&start, &chosen, made) ? made : chosen;
    }
    return chosen;
}

/* FNV's low bits are weak: the high ones of a product choose the slot (Knuth, TAOCP 3, 6.4: multiplicative hashing). */
static size_t first_slot(uint32_t hash, size_t n_slots)
{
    return (size_t)(((uint64_t)hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (n_slots - 1);
}

int32_t asc_strings_find_hashed(const asc_strings *s, const char *text, size_t n, uint32_t hash)
{
    if (s->n_slots == 0) {
        return -1;
    }
    for (size_t i = first_slot(hash, s->n_slots);; i = (i + 1) & (s->n_slots - 1)) {
        const asc_strings_slot *slot = &s->slots[i];
        if (slot->id < 0) {
            return -1;
        }
        if (slot->hash == hash) {
            size_t length;
            const char *string = asc_strings_at(s, slot->id, &length);
            if (length == n && memcmp(string, text, n) == 0) {
                return slot->id;
            }
        }
    }
}

static uint32_t hash_of(const char *text, size_t n)
{
    uint32_t hash = asc_hash_start();
    for (size_t i = 0; i < n; i++) {
        hash = asc_hash_step(hash, text[i]);
    }
    return hash;
}

int32_t asc_strings_find(const asc_strings *s, const char *text, size_t n)
{
    return asc_strings_find_hashed(s, text, n, hash_of(text, n));
}

static void enter(asc_strings_slot *slots, size_t n_slots, asc_strings_slot entry)
{
    size_t i = first_slot(entry.hash, n_slots);
    while (slots[i].id >= 0) {
        i = (i + 1) & (n_slots - 1);
    }
    slots[i] = entry;
}

/* Makes room for one more entry: at least half of the slots stay empty. */
static bool grow_slots(asc_strings *s)
{
    if ((size_t)s->n + 1 <= s->n_slots / 2) {
        return true;
    }
    size_t n_slots = s->n_slots ? s->n_slots * 2 : FIRST_SLOTS;
    asc_strings_slot *slots = asc_alloc(s->ctx, n_slots * sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < n_slots; i++) {
        slots[i] = (asc_strings_slot){0, -1};
    }
    for (size_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].id >= 0) {
            enter(slots, n_slots, s->slots[i]);
        }
    }
    asc_free(s->ctx, s->slots, s->n_slots * sizeof *s->slots);
    s->slots = slots;
    s->n_slots = n_slots;
    return true;
}

static bool grow_strings(asc_strings *s, size_t bytes)
{
    return asc_grow(s->ctx, &s->bytes, &s->bytes_capacity, bytes, 1) &&
           asc_grow(s->ctx, &s->ends, &s->ends_capacity, (size_t)s->n + 1, sizeof *s->ends);
}

int32_t asc_strings_add(asc_strings *s, const char *text, size_t n)
{
    uint32_t hash = hash_of(text, n);
    int32_t id = asc_strings_find_hashed(s, text, n, hash);
    if (id >= 0) {
        return id;
    }
    if (s->n == INT32_MAX) {
        asc_fail(s->ctx, ASC_ERR_ARG, "vocabulary: more than %d entries", INT32_MAX);
        return -1;
    }
    size_t start = s->n > 0 ? s->ends[s->n - 1] : 0;
    if (!grow_slots(s) || !grow_strings(s, start + n)) {
        return -1;
    }
    memcpy(s->bytes + start, text, n);
    s->ends[s->n] = start + n;
    s->longest = n > s->longest ? n : s->longest;
    enter(s->slots, s->n_slots, (asc_strings_slot){hash, s->n});
    return s->n++;
}

/* ---- from a text ---- */

static asc_status add_line(asc_strings *s, const char *path, const char *line, size_t n)
{
    n -= n > 0 && line[n - 1] == '\n';
    n -= n > 0 && line[n - 1] == '\r';
    int32_t number = s->n + 1;
    if (n == 0) {
        return asc_fail(s->ctx, ASC_ERR_FORMAT, "%s: line %d: is empty, expected an entry of the vocabulary", path,
                        number);
    }
    int32_t id = asc_strings_add(s, line, n);
    if (id < 0) {
        return asc_error(s->ctx);
    }
    if (id + 1 < number) {
        int shown = n < 64 ? (int)n : 64;
        return asc_fail(s->ctx, ASC_ERR_FORMAT,
                        "%s: line %d: \"%.*s\" is on line %d already, expected distinct entries", path, number, shown,
                        line, id + 1);
    }
    return ASC_OK;
}

asc_status asc_strings_read(asc_strings *s, asc_text *text, const char *name)
{
    if (!text) {
        return asc_error(s->ctx);
    }
    const char *line;
    size_t bytes;
    asc_status status;
    while (!(status = asc_text_next(text, &line, &bytes)) && line && !(status = add_line(s, name, line, bytes))) {
    }
    if (!status && s->n == 0) {
        status = asc_fail(s->ctx, ASC_ERR_FORMAT, "%s: is empty, expected a vocabulary, an entry a line", name);
    }
    return status;
}
