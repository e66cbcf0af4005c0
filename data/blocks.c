/* data/blocks.c: a stream of tokens cut into blocks, and the order of an epoch. */
#include <ascgrad/data.h>

#include "tensor/need.h"
#include "tensor/random.h"

int64_t asc_block_count(int64_t n_tokens, int64_t length, bool partial)
{
    if (n_tokens < 2 || length < 1) {
        return 0;
    }
    int64_t inputs = n_tokens - 1;
    return inputs / length + (partial && inputs % length > 0);
}

int64_t asc_block_length(int64_t n_tokens, int64_t length, int64_t i)
{
    if (i < 0 || i >= asc_block_count(n_tokens, length, true)) {
        return 0;
    }
    int64_t left = n_tokens - 1 - i * length;
    return left < length ? left : length;
}

/* Draws of 32 bits: word i % 4 of Philox' output number i / 4 for the epoch. */
typedef struct draws {
    uint32_t key[2], counter[4], words[4];
    int used;
} draws;

static uint32_t draw(draws *d)
{
    if (d->used == 4) {
        asc_philox(d->key, d->counter, d->words);
        d->counter[0]++;
        d->counter[1] += d->counter[0] == 0;
        d->used = 0;
    }
    return d->words[d->used++];
}

/* Uniform on 0 … bound-1 without bias (Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019). */
static uint32_t draw_below(draws *d, uint32_t bound)
{
    uint64_t product = (uint64_t)draw(d) * bound;
    if ((uint32_t)product < bound) {
        uint32_t least = -bound % bound;
        while ((uint32_t)product < least) {
            product = (uint64_t)draw(d) * bound;
        }
    }
    return (uint32_t)(product >> 32);
}

asc_status asc_block_order(asc_ctx *ctx, int64_t blocks, uint64_t seed, uint64_t epoch, int32_t *order)
{
    asc_status status = ASC_NEED(ctx, "block_order: order", asc_unless_empty(order, blocks));
    if (status) {
        return status;
    }
    if (blocks < 0 || blocks > INT32_MAX) {
        return asc_fail(ctx, ASC_ERR_ARG, "block order: %lld blocks, expected 0 … %d", (long long)blocks, INT32_MAX);
    }
    draws d = {.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
               .counter = {0, 0, (uint32_t)epoch, (uint32_t)(epoch >> 32)},
               .used = 4};
    for (int32_t i = 0; i < (int32_t)blocks; i++) {
        uint32_t j = draw_below(&d, (uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return ASC_OK;
}

static bool is_target(const asc_split *split, int64_t at)
{
    return !split->given || !split->given[at];
}

int64_t asc_block_targets(const asc_split *split, int64_t length, const int32_t *which, int64_t n)
{
    int64_t targets = 0;
    for (int64_t b = 0; split && which && b < n; b++) {
        int64_t width = asc_block_length(split->n_tokens, length, which[b]), first = which[b] * length + 1;
        for (int64_t t = 0; t < width; t++) {
            targets += is_target(split, first + t);
        }
    }
    return targets;
}

asc_status asc_block_fill(asc_ctx *ctx, const asc_split *split, int64_t length, const int32_t *which, int64_t n,
                          int64_t *inputs, int64_t *targets)
{
    asc_status status = ASC_NEED(ctx, "block_fill: split which inputs targets", split, asc_unless_empty(which, n),
                                 asc_unless_empty(inputs, n), asc_unless_empty(targets, n));
    if (status) {
        return status;
    }
    if (n < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "block fill: %lld blocks, expected at least 0", (long long)n);
    }
    int64_t width = n > 0 ? asc_block_length(split->n_tokens, length, which[0]) : 0;
    for (int64_t b = 0; b < n; b++) {
        int64_t its = asc_block_length(split->n_tokens, length, which[b]);
        if (its == 0 || its != width) {
            return asc_fail(ctx, ASC_ERR_ARG, "block fill: block %d has %lld inputs, expected %lld", (int)which[b],
                            (long long)its, (long long)(width ? width : length));
        }
        int64_t first = which[b] * length;
        for (int64_t t = 0; t < width; t++) {
            inputs[b * width + t] = split->tokens[first + t];
            targets[b * width + t] = is_target(split, first + t + 1) ? split->tokens[first + t + 1] : -1;
        }
    }
    return ASC_OK;
}
