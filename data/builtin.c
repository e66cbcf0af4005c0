/* data/builtin.c: splits of the built-in corpus, and the score of a text. */
#include "data/builtin.h"

#include <math.h>
#include <string.h>

#include "tensor/need.h"

enum { HELD_OUT_PART = 20, HELD_OUT_LEAST = 2000 };

static const char *const splits[] = {"train", "valid", "test"};

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static asc_text_walk *walk_new(asc_ctx *ctx)
{
    asc_text_walk *walk = asc_alloc(ctx, sizeof *walk);
    if (walk) {
        *walk = (asc_text_walk){.ctx = ctx, .likelihood = 1};
        asc_lexicon_init(&walk->lexicon);
    }
    return walk;
}

/* The first token of a text is always the same, so that its −log probability is 0: the sum over all tokens is the one
 * over all but the first. */
static void report(const asc_text_walk *walk, double *nats, int64_t *tokens)
{
    if (nats) {
        *nats = walk->nats - log(walk->likelihood);
    }
    if (tokens) {
        *tokens = walk->words + walk->lines > 0 ? walk->words + walk->lines - 1 : 0;
    }
}

asc_status asc_builtin_text(asc_ctx *ctx, int64_t words, uint64_t seed, const char *split, char **text,
                            size_t *bytes, size_t *capacity, double *source_nats, int64_t *source_tokens)
{
    if (text) {
        *text = NULL;
    }
    asc_status status = ASC_NEED(ctx, "builtin_text: split text bytes capacity", split, text, bytes, capacity);
    if (status) {
        return status;
    }
    size_t stream = 0, n_splits = sizeof splits / sizeof *splits;
    while (stream < n_splits && strcmp(splits[stream], split) != 0) {
        stream++;
    }
    if (words < 1 || words > ASC_BUILTIN_MAX_WORDS || stream == n_splits) {
        return asc_fail(ctx, ASC_ERR_ARG,
                        "builtin: split %.20s of %lld words, expected train, valid or test of 1 to %d", split,
                        (long long)words, ASC_BUILTIN_MAX_WORDS);
    }
    int64_t held_out = words / HELD_OUT_PART > HELD_OUT_LEAST ? words / HELD_OUT_PART : HELD_OUT_LEAST;
    int64_t target = stream == 0 ? words : held_out;
    asc_text_walk *walk = walk_new(ctx);
    if (!walk) {
        return ASC_ERR_MEMORY;
    }
    walk->writes = true;
    walk->random = mix(mix(seed + 1) + stream);
    while (walk->words < target && !walk->stopped) {
        asc_builtin_line(walk);
    }
    status = walk->status;
    if (status) {
        asc_free(ctx, walk->text, walk->capacity);
    } else {
        *text = walk->text;
        *bytes = walk->at;
        *capacity = walk->capacity;
        report(walk, source_nats, source_tokens);
    }
    asc_free(ctx, walk, sizeof *walk);
    return status;
}

asc_status asc_builtin_score(asc_ctx *ctx, const char *text, size_t bytes, int64_t memory, double *nats,
                             int64_t *tokens)
{
    asc_status status = ASC_NEED(ctx, "builtin_score: text", asc_unless_empty(text, bytes > 0));
    if (status) {
        return status;
    }
    if (memory < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "builtin: memory is %lld words, expected at least 0", (long long)memory);
    }
    asc_text_walk *walk = walk_new(ctx);
    if (!walk) {
        return ASC_ERR_MEMORY;
    }
    walk->text = (char *)text; /* only read from */
    walk->capacity = bytes;
    walk->memory = memory;
    while (!walk->stopped) {
        asc_builtin_line(walk);
    }
    status = walk->status;
    if (!status) {
        report(walk, nats, tokens);
    }
    asc_free(ctx, walk, sizeof *walk);
    return status;
}

asc_status asc_text_walk_read(asc_ctx *ctx, const char *text, size_t bytes,
                         void (*tell)(void *user, const asc_text_walk *walk, int word), void *user)
{
    asc_text_walk *walk = walk_new(ctx);
    if (!walk) {
        return ASC_ERR_MEMORY;
    }
    walk->text = (char *)text; /* only read from */
    walk->capacity = bytes;
    walk->tell = tell;
    walk->user = user;
    while (!walk->stopped) {
        asc_builtin_line(walk);
    }
    asc_status status = walk->status;
    asc_free(ctx, walk, sizeof *walk);
    return status;
}
