/* data/blocks.c: a split cut into blocks, of a stream or one a sequence, and the order of an epoch. */
#include <ascgrad/data.h>

#include "data/dice.h"
#include "tensor/need.h"

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

asc_status asc_block_order(asc_ctx *ctx, int64_t blocks, uint64_t seed, uint64_t epoch, int32_t *order)
{
    asc_status status = ASC_NEED(ctx, "block_order: order", asc_unless_empty(order, blocks));
    if (status) {
        return status;
    }
    if (blocks < 0 || blocks > INT32_MAX) {
        return asc_fail(ctx, ASC_ERR_ARG, "block_order: %lld blocks, expected 0 … %d", (long long)blocks, INT32_MAX);
    }
    asc_dice d = asc_dice_at(seed, (uint32_t)(epoch >> 32), (uint32_t)epoch);
    for (int32_t i = 0; i < (int32_t)blocks; i++) {
        uint32_t j = asc_dice_below(&d, (uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return ASC_OK;
}

asc_status asc_block_streams(asc_ctx *ctx, int64_t blocks, int64_t rows, int32_t *order)
{
    asc_status status = ASC_NEED(ctx, "block_streams: order", asc_unless_empty(order, blocks));
    if (status || (status = asc_error(ctx))) {
        return status;
    }
    if (rows < 1 || blocks < 0 || blocks % rows || blocks > INT32_MAX) {
        return asc_fail(ctx, ASC_ERR_ARG, "block streams: %lld blocks for %lld rows, expected a multiple of them up to "
                        "%d", (long long)blocks, (long long)rows, INT32_MAX);
    }
    for (int64_t i = 0; i < blocks; i++) {
        order[i] = (int32_t)(i % rows * (blocks / rows) + i / rows);
    }
    return ASC_OK;
}

/* ---- what a block is: so many tokens of a stream, or a sequence ---- */

/* The first token of block i, and how many inputs it has: of a sequence all tokens but the last. */
static int64_t find_block(const asc_split *split, int64_t length, int64_t i, int64_t *inputs)
{
    if (split->n_sequences == 0) {
        *inputs = asc_block_length(split->n_tokens, length, i);
        return *inputs > 0 ? i * length : 0;
    }
    bool there = i >= 0 && i < split->n_sequences;
    *inputs = there ? split->starts[i + 1] - split->starts[i] - 1 : 0;
    return there ? split->starts[i] : 0;
}

int64_t asc_split_blocks(const asc_split *split, int64_t length, bool partial)
{
    return !split ? 0 : split->n_sequences ? split->n_sequences : asc_block_count(split->n_tokens, length, partial);
}

int64_t asc_split_width(const asc_split *split, int64_t length, const int32_t *which, int64_t n)
{
    int64_t widest = 0, inputs;
    for (int64_t b = 0; split && which && b < n; b++) {
        find_block(split, length, which[b], &inputs);
        widest = inputs > widest ? inputs : widest;
    }
    return widest;
}

int64_t asc_split_longest(const asc_split *split)
{
    int64_t longest = 0, inputs;
    for (int64_t i = 0; split && i < split->n_sequences; i++) {
        find_block(split, 0, i, &inputs);
        longest = inputs > longest ? inputs : longest;
    }
    return longest;
}

static bool is_target(const asc_split *split, int64_t at)
{
    return !split->given || !split->given[at];
}

int64_t asc_block_targets(const asc_split *split, int64_t length, const int32_t *which, int64_t n)
{
    int64_t targets = 0, inputs;
    for (int64_t b = 0; split && which && b < n; b++) {
        int64_t first = find_block(split, length, which[b], &inputs) + 1;
        for (int64_t t = 0; t < inputs; t++) {
            targets += is_target(split, first + t);
        }
    }
    return targets;
}

int64_t asc_split_targets(const asc_split *split)
{
    int64_t targets = 0;
    for (int64_t at = 1, next = 0; split && at < split->n_tokens; at++) {
        while (next < split->n_sequences && split->starts[next] < at) {
            next++;
        }
        bool first = next < split->n_sequences && split->starts[next] == at;
        targets += !first && is_target(split, at);
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
    int64_t width = asc_split_width(split, length, which, split->n_sequences || n == 0 ? n : 1);
    for (int64_t b = 0; b < n; b++) {
        int64_t its, first = find_block(split, length, which[b], &its);
        if (its == 0 || (!split->n_sequences && its != width)) {
            return asc_fail(ctx, ASC_ERR_ARG, "block fill: block %d has %lld inputs, expected %lld", (int)which[b],
                            (long long)its, (long long)(width ? width : length));
        }
        for (int64_t t = 0; t < width; t++) {
            inputs[b * width + t] = t < its ? split->tokens[first + t] : 0;
            targets[b * width + t] = t < its && is_target(split, first + t + 1) ? split->tokens[first + t + 1] : -1;
        }
    }
    return ASC_OK;
}

/* ---- classes: what is given of a sequence is the input ---- */

/* The tokens of sequence i that are given, from its first on; 0 for one that there is not. */
static int64_t given_tokens(const asc_split *split, int64_t i)
{
    if (i < 0 || i >= split->n_sequences || !split->given) {
        return 0;
    }
    int64_t at = split->starts[i];
    while (at < split->starts[i + 1] && split->given[at]) {
        at++;
    }
    return at - split->starts[i];
}

int64_t asc_class_width(const asc_split *split, const int32_t *which, int64_t n)
{
    int64_t widest = 0;
    for (int64_t b = 0; split && b < n; b++) {
        int64_t its = given_tokens(split, which ? which[b] : b);
        widest = its > widest ? its : widest;
    }
    return widest;
}

asc_status asc_class_fill(asc_ctx *ctx, const asc_split *split, const int32_t *which, int64_t n, int64_t *inputs,
                          int64_t *lengths, int64_t *labels)
{
    asc_status status =
        ASC_NEED(ctx, "class_fill: split which inputs lengths labels", split, asc_unless_empty(which, n),
                 asc_unless_empty(inputs, n), asc_unless_empty(lengths, n), asc_unless_empty(labels, n));
    if (status) {
        return status;
    }
    int64_t width = asc_class_width(split, which, n);
    for (int64_t b = 0; b < n; b++) {
        int64_t its = given_tokens(split, which[b]);
        if (its == 0 || !split->labels) {
            return asc_fail(ctx, ASC_ERR_ARG, "class fill: sequence %d has %lld inputs%s, expected some, and a class",
                            (int)which[b], (long long)its, split->labels ? "" : " and no class");
        }
        for (int64_t t = 0; t < width; t++) {
            inputs[b * width + t] = t < its ? split->tokens[split->starts[which[b]] + t] : 0;
        }
        lengths[b] = its;
        labels[b] = split->labels[which[b]];
    }
    return ASC_OK;
}
